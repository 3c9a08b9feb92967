"""Measuring: the small language in which experiment files say what is measured.

A leaf names a metric of ``ackclock.metrics`` with its arguments, the run (or runs, pooled) and the point of
the sweep it is taken at, and the statistic over repetitions::

    { metric = "goodput", run = "cdg", flow = "cdg-0", from = "20s", to = "40s",
      relative_to = "total", where = { "path.loss" = "1%" } }

Leaves combine: ``{ ratio = [A, B] }``, ``difference``, ``largest``, ``smallest``, ``mean`` and ``sum`` of
expressions, ``{ slope_of = LEAF, along = "path.loss", points = […] }`` (of log measure against log
parameter), ``{ first_of = LEAF, at_least = 0.99, among = { small = 10, big = 20 } }`` (the number of the
first of these runs in which the measure is so large), ``{ model = "mathis", … }`` and ``{ value = 3.0 }``.
Any of them but the slope and the first takes ``times``, a constant factor.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ackclock import metrics
from ackclock.metrics import Array, MetricError, Tables
from ackclock.papers.catalogue import CatalogueError, Experiment, Point

Cell = tuple[str, Point]
"""One configuration at one point of the sweep; its repetitions differ only in the seed."""

METRICS: Mapping[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        metrics.goodput,
        metrics.goodput_windows,
        metrics.throughput,
        metrics.utilization,
        metrics.rtt_percentile,
        metrics.rtt_range,
        metrics.rtt_mean,
        metrics.rtt_deviation,
        metrics.queue_delay,
        metrics.queue_length,
        metrics.loss_rate,
        metrics.event_count,
        metrics.event_value,
        metrics.event_share,
        metrics.jain_index,
        metrics.max_min_ratio,
        metrics.time_to_share,
        metrics.settling_time,
        metrics.signal_percentile,
        metrics.signal_at,
        metrics.change_at,
        metrics.lag,
        metrics.signal_when,
        metrics.rise_until,
        metrics.correlation,
        metrics.packets_arrived,
        metrics.goodput_by_flow,
        metrics.signal_by_flow,
    )
}

MODELS: Mapping[str, Callable[..., Any]] = {"mathis": metrics.mathis}

STATISTICS: Mapping[str, Callable[[Array], Array]] = {
    "median": lambda x: np.median(x, axis=0),
    "mean": lambda x: np.mean(x, axis=0),
    "smallest": lambda x: np.min(x, axis=0),
    "largest": lambda x: np.max(x, axis=0),
    "p20": lambda x: np.percentile(x, 20, axis=0),
    "p80": lambda x: np.percentile(x, 80, axis=0),
    "p80-p20": lambda x: np.percentile(x, 80, axis=0) - np.percentile(x, 20, axis=0),
}
"""Statistics over repetitions."""

_TIME = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0}
_RATE = {"bit": 1.0, "kbit": 1e3, "mbit": 1e6, "gbit": 1e9}
_UNITS: Mapping[str, float] = _TIME | _RATE | {"%": 0.01, "B": 1.0, "kB": 1e3, "MB": 1e6}
_UNIT = "|".join(sorted(_UNITS, key=len, reverse=True))
_QUANTITY = re.compile(rf"\s*([-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?)\s*({_UNIT})?\s*")


def quantity(value: Any) -> float:
    """A number with or without unit ("40ms", "1%", "1448B", 0.8) in seconds, fractions, bytes or bit/s."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    match = _QUANTITY.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise ValueError(f"{value!r} is not a number with a unit ({', '.join(_UNITS)})")
    return float(match[1]) * _UNITS.get(match[2], 1.0)


@dataclass(frozen=True)
class Sample:
    """What a single repetition yields: a metric with its arguments."""

    metric: str
    arguments: tuple[tuple[str, Any], ...]
    relative_to: str | None = None

    def of(self, run: Tables) -> Any:
        """Measures it on one run."""
        arguments = dict(self.arguments)
        value = METRICS[self.metric](run, **arguments)
        if self.relative_to == "link rate":
            return value / metrics.link_rate(run)
        if self.relative_to == "total":
            return value / metrics.goodput(run, None, arguments.get("start"), arguments.get("stop"))
        return value


class Samples:
    """What finished runs yielded, by cell, sample and repetition. Runs themselves are not kept."""

    def __init__(self) -> None:
        self._wanted: dict[Cell, dict[Sample, dict[int, Any]]] = {}

    def want(self, cell: Cell, sample: Sample) -> None:
        """Asks for a sample of every repetition of a cell."""
        self._wanted.setdefault(cell, {}).setdefault(sample, {})

    def cells(self) -> list[Cell]:
        """The cells of which something is wanted."""
        return list(self._wanted)

    def add(self, cell: Cell, repetition: int, run: Tables) -> None:
        """Takes what is wanted of a finished run."""
        for sample, found in self._wanted.get(cell, {}).items():
            try:
                found[repetition] = sample.of(run)
            except MetricError as error:
                found[repetition] = error

    def of(self, cell: Cell, sample: Sample) -> list[Any]:
        """The sample of every finished repetition, in order, without those where it could not be taken."""
        found = self._wanted.get(cell, {}).get(sample, {})
        return [found[r] for r in sorted(found) if not isinstance(found[r], MetricError)]

    def reason(self, cell: Cell, sample: Sample) -> str:
        """Why a sample has no value."""
        found = self._wanted.get(cell, {}).get(sample, {})
        errors = [str(value) for value in found.values() if isinstance(value, MetricError)]
        return errors[0] if errors else "no repetition has finished"


class Expression:
    """Something that has a value once the runs are done."""

    def demands(self) -> Iterator[tuple[Cell, Sample]]:
        """The samples that it needs."""
        raise NotImplementedError

    def value(self, samples: Samples) -> float:
        """Its value; raises ``MetricError`` where it has none."""
        raise NotImplementedError


@dataclass(frozen=True)
class Leaf(Expression):
    """A metric, pooled over cells, with a statistic over the repetitions."""

    cells: tuple[Cell, ...]
    sample: Sample
    statistic: str
    over: str | None
    times: float

    def demands(self) -> Iterator[tuple[Cell, Sample]]:
        """The samples that it needs."""
        return ((cell, self.sample) for cell in self.cells)

    def value(self, samples: Samples) -> float:
        """Its value."""
        values = [v for cell in self.cells for v in samples.of(cell, self.sample)]
        if not values:
            raise MetricError(samples.reason(self.cells[0], self.sample))
        result = np.asarray(STATISTICS[self.statistic](np.asarray(values, dtype=np.float64)))
        if self.over is not None:
            result = np.asarray(STATISTICS[self.over](result))
        if result.ndim:
            raise MetricError(
                f'`{self.sample.metric}` gives a value per window: say `over = "mean"` or the like'
            )
        return float(result) * self.times


@dataclass(frozen=True)
class Constant(Expression):
    """A number, or a model at given parameters."""

    number: float

    def demands(self) -> Iterator[tuple[Cell, Sample]]:
        """The samples that it needs."""
        return iter(())

    def value(self, samples: Samples) -> float:  # noqa: ARG002
        """Its value."""
        return self.number


def _difference(values: Sequence[float]) -> float:
    return values[0] - values[1]


def _ratio(values: Sequence[float]) -> float:
    return values[0] / values[1] if values[1] else math.copysign(math.inf, values[0])


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


COMBINATIONS: Mapping[str, Callable[[Sequence[float]], float]] = {
    "ratio": _ratio,
    "difference": _difference,
    "largest": max,
    "smallest": min,
    "mean": _mean,
    "sum": sum,
}


@dataclass(frozen=True)
class Combination(Expression):
    """Several expressions made one."""

    how: str
    parts: tuple[Expression, ...]
    times: float

    def demands(self) -> Iterator[tuple[Cell, Sample]]:
        """The samples that it needs."""
        return (demand for part in self.parts for demand in part.demands())

    def value(self, samples: Samples) -> float:
        """Its value."""
        return COMBINATIONS[self.how]([part.value(samples) for part in self.parts]) * self.times


@dataclass(frozen=True)
class Slope(Expression):
    """Least-squares slope of log(measure) against log(parameter of the sweep)."""

    at: tuple[float, ...]
    parts: tuple[Expression, ...]

    def demands(self) -> Iterator[tuple[Cell, Sample]]:
        """The samples that it needs."""
        return (demand for part in self.parts for demand in part.demands())

    def value(self, samples: Samples) -> float:
        """Its value."""
        values = [part.value(samples) for part in self.parts]
        if min(values) <= 0:
            raise MetricError("the slope of a logarithm needs positive values")
        return float(np.polyfit(np.log(self.at), np.log(values), 1)[0])


@dataclass(frozen=True)
class First(Expression):
    """The number that belongs to the first of several measures that is large enough."""

    numbers: tuple[float, ...]
    parts: tuple[Expression, ...]
    at_least: float

    def demands(self) -> Iterator[tuple[Cell, Sample]]:
        """The samples that it needs."""
        return (demand for part in self.parts for demand in part.demands())

    def value(self, samples: Samples) -> float:
        """Its value."""
        for number, part in zip(self.numbers, self.parts, strict=True):
            if part.value(samples) >= self.at_least:
                return number
        raise MetricError(f"the measure is below {self.at_least:g} in every run")


_OF_A_LEAF = {"run", "where", "relative_to", "statistic", "over", "times"}
_RENAMED = {"from": "start", "to": "stop", "bin": "width"}


def parse(tree: Any, experiment: Experiment, where: str) -> Expression:
    """Reads an expression of an experiment file; a mistake gives a ``CatalogueError`` that says where."""
    if not isinstance(tree, Mapping):
        raise CatalogueError(f"{where}: {tree!r} is not a measure")
    heads = [
        key for key in ("metric", "model", "value", "slope_of", "first_of", *COMBINATIONS) if key in tree
    ]
    if len(heads) != 1:
        known = ", ".join(["metric", "model", "value", "slope_of", "first_of", *COMBINATIONS])
        raise CatalogueError(f"{where}: a measure has exactly one of {known}")
    head, rest = heads[0], {key: value for key, value in tree.items() if key != heads[0]}
    try:
        if head == "metric":
            return parse_leaf(tree, experiment, where)
        if head == "slope_of":
            return _slope(tree, experiment, where)
        if head == "first_of":
            return _first(tree, experiment, where)
        times = quantity(rest.pop("times", 1.0))
        if head == "model":
            return Constant(float(_model(tree[head], rest)) * times)
        if rest:
            raise CatalogueError(f"{where}: unknown key `{min(rest)}` beside `{head}`")
        if head == "value":
            return Constant(quantity(tree[head]) * times)
    except ValueError as error:
        raise error if isinstance(error, CatalogueError) else CatalogueError(f"{where}: {error}") from None
    parts = tuple(parse(part, experiment, f"{where}.{head}.{i}") for i, part in enumerate(tree[head]))
    if head in ("ratio", "difference") and len(parts) != 2:
        raise CatalogueError(f"{where}: `{head}` takes two measures, not {len(parts)}")
    return Combination(head, parts, times)


def _model(name: str, arguments: Mapping[str, Any]) -> Any:
    if name not in MODELS:
        raise ValueError(f"there is no model `{name}` (there are {', '.join(MODELS)})")
    return MODELS[name](**checked(MODELS[name], arguments))


def _slope(tree: Mapping[str, Any], experiment: Experiment, where: str) -> Expression:
    along = str(tree.get("along"))
    if along not in experiment.sweep or set(tree) - {"slope_of", "along", "points"}:
        raise CatalogueError(
            f"{where}: a slope has `along`, a key of the sweep, and `points`, some of its values"
        )
    wanted = tree.get("points", experiment.sweep[along])
    points = [point for point in wanted if point in experiment.sweep[along]]
    if len(points) < 2:
        raise CatalogueError(f"{where}: fewer than two of the points {', '.join(wanted)} are in the sweep")
    leaf = tree["slope_of"]
    parts = tuple(
        parse(leaf | {"where": leaf.get("where", {}) | {along: point}}, experiment, where) for point in points
    )
    return Slope(tuple(quantity(point) for point in points), parts)


def _first(tree: Mapping[str, Any], experiment: Experiment, where: str) -> Expression:
    if set(tree) != {"first_of", "at_least", "among"} or not isinstance(tree["among"], Mapping):
        raise CatalogueError(
            f"{where}: `first_of` has `at_least` and `among`, a number for each of some runs"
        )
    parts = tuple(parse(tree["first_of"] | {"run": run}, experiment, where) for run in tree["among"])
    return First(tuple(map(quantity, tree["among"].values())), parts, quantity(tree["at_least"]))


def parse_leaf(tree: Mapping[str, Any], experiment: Experiment, where: str) -> Leaf:
    """Reads a leaf."""
    name = tree["metric"]
    if name not in METRICS:
        raise CatalogueError(f"{where}: there is no metric `{name}` (there are {', '.join(METRICS)})")
    arguments = {k: v for k, v in tree.items() if k not in _OF_A_LEAF | {"metric"}}
    relative = tree.get("relative_to")
    if relative not in (None, "link rate", "total"):
        raise CatalogueError(f'{where}: relative_to = {relative!r} must be "link rate" or "total"')
    for key in ("statistic", "over"):
        if tree.get(key, "median") not in STATISTICS:
            raise CatalogueError(f"{where}: {key} = {tree[key]!r} must be one of {', '.join(STATISTICS)}")
    try:
        checked_arguments = checked(METRICS[name], arguments)
        times = quantity(tree.get("times", 1.0))
    except ValueError as error:
        raise CatalogueError(f"{where}: {error}") from None
    sample = Sample(name, tuple(sorted(checked_arguments.items())), relative)
    cells = tuple(cells_of(experiment, tree.get("run"), tree.get("where", {}), where))
    return Leaf(cells, sample, tree.get("statistic", "median"), tree.get("over"), times)


def checked(function: Callable[..., Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of a metric as it takes them: names checked, quantities read, lists made hashable."""
    known = {k: p for k, p in inspect.signature(function).parameters.items() if k != "run"}
    given: dict[str, Any] = {}
    for key, value in arguments.items():
        name = _RENAMED.get(key, key)
        if name not in known:
            shown = ", ".join({v: k for k, v in _RENAMED.items()}.get(k, k) for k in known)
            raise ValueError(f"`{function.__name__}` has no argument `{key}` (it has {shown})")
        if "float" in str(known[name].annotation):
            given[name] = tuple(map(quantity, value)) if isinstance(value, list) else quantity(value)
        else:
            given[name] = tuple(value) if isinstance(value, list) else value
    for name, parameter in known.items():
        if parameter.default is parameter.empty and name not in given:
            raise ValueError(f"`{function.__name__}` needs the argument `{name}`")
    return given


def cells_of(experiment: Experiment, run: Any, where_point: Mapping[str, str], where: str) -> Iterator[Cell]:
    """The cells that ``run`` (a name, or several) and ``where`` (a point of the sweep) mean."""
    if run is None:
        if len(experiment.setups) > 1:
            raise CatalogueError(f"{where}: say which `run`")
        run = experiment.setups[0].name
    keys = list(experiment.sweep)
    if set(where_point) != set(keys):
        raise CatalogueError(
            f"{where}: `where` must give a value for each key of the sweep ({', '.join(keys) or 'none'})"
        )
    for key, value in where_point.items():
        if value not in experiment.sweep[key]:
            raise CatalogueError(
                f'{where}: {key} = "{value}" is not in the sweep ({", ".join(experiment.sweep[key])})'
            )
    for name in [run] if isinstance(run, str) else run:
        yield experiment.setup(name).name, tuple((key, where_point[key]) for key in keys)
