"""Expressions: the small language in which experiment files say what is measured.

A leaf names a metric of ``ackclock.metrics`` with its arguments, the run (or runs, pooled) and the point of
the sweep it is taken at, and the statistic over repetitions::

    { metric = "goodput", run = "cdg", flow = "cdg-0", from = "20s", to = "40s",
      relative_to = "total", where = { "path.loss" = "1%" } }

A point may hold a list of values, or "all": they are pooled as repetitions are. ``relative_to`` divides each
repetition by its own "link rate", "total" goodput or "buffer".

Leaves combine: ``{ ratio = [A, B] }``, ``difference``, ``largest``, ``smallest``, ``mean``, ``median``,
``sum`` and ``product`` of expressions; ``{ count = […], above = 0.0 }`` (or ``below``), how many are so;
``{ farthest = […], reference = 1.0 }``, the one that differs most. ``{ slope_of = A, along = "path.loss",
points = […] }`` is the slope of log measure against log parameter, or with ``against`` against the log of
another measure. ``{ model = "mathis", … }`` and ``{ value = 3.0 }`` are numbers. Any takes ``times``, a
constant factor.

In place of a list, or of one of its members, ``{ each = A, along = "path.queue", points = […] }`` stands for
A at each point of the sweep, and ``{ each = A, runs = […] }`` for A in each run. Points that ``--quick``
leaves out are left out.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from ackclock.metrics import METRICS, MODELS, MetricError
from ackclock.papers.catalogue import CatalogueError, Experiment
from ackclock.papers.measure import (
    REFERENCES,
    STATISTICS,
    Condition,
    Sample,
    Samples,
    checked,
    conditions_of,
    points_of,
    quantity,
)


class Expression(ABC):
    """Something that has a value once the runs are done."""

    @abstractmethod
    def demands(self) -> Iterator[tuple[Condition, Sample]]:
        """The samples that it needs."""

    @abstractmethod
    def value(self, samples: Samples) -> float:
        """Its value; raises ``MetricError`` where it has none."""


@dataclass(frozen=True)
class Leaf(Expression):
    """A metric, pooled over conditions, with a statistic over the repetitions."""

    conditions: tuple[Condition, ...]
    sample: Sample
    statistic: str
    over: str | None
    times: float

    def demands(self) -> Iterator[tuple[Condition, Sample]]:
        """The samples that it needs."""
        return ((condition, self.sample) for condition in self.conditions)

    def values(self, samples: Samples) -> list[Any]:
        """What every repetition of every condition yielded."""
        return [v for condition in self.conditions for v in samples.of(condition, self.sample)]

    def value(self, samples: Samples) -> float:
        """Its value."""
        values = self.values(samples)
        if not values:
            raise MetricError(samples.reason(self.conditions[0], self.sample))
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

    def demands(self) -> Iterator[tuple[Condition, Sample]]:
        """The samples that it needs."""
        return iter(())

    def value(self, samples: Samples) -> float:  # noqa: ARG002
        """Its value."""
        return self.number


def _difference(values: Sequence[float]) -> float:
    return values[0] - values[1]


def quotient(a: float, b: float) -> float:
    """The ratio of two numbers: infinite where only the second is 0, without value where both are."""
    if b:
        return a / b
    if not a:
        raise MetricError("both sides of a ratio are 0")
    return math.copysign(math.inf, a)


def _ratio(values: Sequence[float]) -> float:
    return quotient(*values)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _median(values: Sequence[float]) -> float:
    return float(np.median(values))


def _count(values: Sequence[float], above: float = -math.inf, below: float = math.inf) -> float:
    return float(sum(above < value < below for value in values))


def _farthest(values: Sequence[float], reference: float) -> float:
    return max(values, key=lambda value: abs(value - reference))


COMBINATIONS: Mapping[str, Callable[..., float]] = {
    "ratio": _ratio,
    "difference": _difference,
    "largest": max,
    "smallest": min,
    "mean": _mean,
    "median": _median,
    "sum": sum,
    "product": math.prod,
    "count": _count,
    "farthest": _farthest,
}
_BESIDE = {"count": {"above", "below"}, "farthest": {"reference"}}
HEADS = ("metric", "model", "value", "slope_of", *COMBINATIONS)


@dataclass(frozen=True)
class Combination(Expression):
    """Several expressions made one."""

    how: Callable[..., float]
    parts: tuple[Expression, ...]
    times: float

    def demands(self) -> Iterator[tuple[Condition, Sample]]:
        """The samples that it needs."""
        return (demand for part in self.parts for demand in part.demands())

    def value(self, samples: Samples) -> float:
        """Its value."""
        return self.how([part.value(samples) for part in self.parts]) * self.times


@dataclass(frozen=True)
class Slope(Expression):
    """Least-squares slope of log(measure) against the logarithm of a parameter or of another measure."""

    at: tuple[Expression, ...]
    parts: tuple[Expression, ...]

    def demands(self) -> Iterator[tuple[Condition, Sample]]:
        """The samples that it needs."""
        return (demand for part in (*self.at, *self.parts) for demand in part.demands())

    def value(self, samples: Samples) -> float:
        """Its value."""
        at, values = ([part.value(samples) for part in parts] for parts in (self.at, self.parts))
        if min(*at, *values) <= 0:
            raise MetricError("the slope of a logarithm needs positive values")
        return float(np.polyfit(np.log(at), np.log(values), 1)[0])


@dataclass(frozen=True)
class Scope:
    """What stands around an expression: the experiment, and the run and point that an ``each`` has chosen."""

    experiment: Experiment
    where: str
    """The place in the file, for error messages."""
    run: str | None = None
    point: Mapping[str, str] = field(default_factory=dict)

    def at(self, place: str) -> Scope:
        """The same a step further into the file."""
        return replace(self, where=f"{self.where}.{place}")

    def mistake(self, sentence: object) -> CatalogueError:
        """What is wrong here."""
        return CatalogueError(f"{self.where}: {sentence}")


def parse(tree: Any, experiment: Experiment, where: str) -> Expression:
    """Reads an expression of an experiment file; a mistake gives a ``CatalogueError`` that says where."""
    return _parse(tree, Scope(experiment, where))


def parse_leaf(tree: Mapping[str, Any], experiment: Experiment, where: str) -> Leaf:
    """Reads a leaf."""
    return _leaf(tree, Scope(experiment, where))


def parse_groups(tree: Any, experiment: Experiment, where: str) -> list[tuple[Expression, ...]]:
    """Reads a list of expressions, once, or with ``each`` around it once for each point or run."""
    scope = Scope(experiment, where)
    each = isinstance(tree, Mapping) and isinstance(tree.get("each"), list)
    scopes = _scopes(tree, scope) if each else [scope]
    members = tree["each"] if each else tree
    if not isinstance(members, list) or len(members) < 2:
        raise scope.mistake("an ordering is measured by a list of two measures or more")
    return [tuple(_parse(m, s.at(str(i))) for i, m in enumerate(members)) for s in scopes]


def _parse(tree: Any, scope: Scope) -> Expression:
    if not isinstance(tree, Mapping):
        raise scope.mistake(f"{tree!r} is not a measure")
    heads = [key for key in HEADS if key in tree]
    if len(heads) != 1:
        raise scope.mistake(f"a measure has exactly one of {', '.join(HEADS)}")
    head, rest = heads[0], {key: value for key, value in tree.items() if key != heads[0]}
    try:
        if head == "metric":
            return _leaf(tree, scope)
        if head == "slope_of":
            return _slope(tree, scope)
        times = quantity(rest.pop("times", 1.0))
        if head == "model":
            return Constant(float(_model(tree[head], rest)) * times)
        if head != "value":
            return _combination(head, tree[head], rest, times, scope)
        if rest:
            raise scope.mistake(f"unknown key `{min(rest)}` beside `{head}`")
        return Constant(quantity(tree[head]) * times)
    except ValueError as error:
        raise error if isinstance(error, CatalogueError) else scope.mistake(error) from None


def _combination(
    head: str, operands: Any, rest: Mapping[str, Any], times: float, scope: Scope
) -> Combination:
    listed = operands if isinstance(operands, list) else [operands]
    parts = tuple(part for i, tree in enumerate(listed) for part in _operand(tree, scope.at(f"{head}.{i}")))
    if head in ("ratio", "difference") and len(parts) != 2:
        raise scope.mistake(f"`{head}` takes two measures, not {len(parts)}")
    if not parts:
        raise scope.mistake(f"`{head}` takes at least one measure")
    if stray := set(rest) - _BESIDE.get(head, set()):
        raise scope.mistake(f"unknown key `{min(stray)}` beside `{head}`")
    if head == "farthest" and "reference" not in rest:
        raise scope.mistake("`farthest` needs a `reference`")
    given = {key: quantity(value) for key, value in rest.items()}
    return Combination(partial(COMBINATIONS[head], **given), parts, times)


def _operand(tree: Any, scope: Scope) -> Iterator[Expression]:
    """The expressions that a member of a list stands for."""
    if isinstance(tree, Mapping) and "each" in tree:
        for inner in _scopes(tree, scope):
            yield from _operand(tree["each"], inner)
    else:
        yield _parse(tree, scope)


def _scopes(tree: Mapping[str, Any], scope: Scope) -> list[Scope]:
    """The points and runs that an ``each`` goes through."""
    if set(tree) - {"each", "along", "points", "runs"} or not {"along", "runs"} & set(tree):
        raise scope.mistake("`each` has `along`, a key of the sweep, with or without `points`, or `runs`")
    scopes = [replace(scope, run=run) for run in tree["runs"]] if "runs" in tree else [scope]
    if "along" in tree:
        along = _along(tree, scope)
        points = points_of(scope.experiment, along, tree.get("points", "all"), scope.where)
        scopes = [replace(s, point={**s.point, along: value}) for s in scopes for value in points]
    return scopes


def _along(tree: Mapping[str, Any], scope: Scope) -> str:
    along = str(tree.get("along"))
    if along not in scope.experiment.sweep:
        raise scope.mistake(f'along = "{along}" is not a key of the sweep')
    return along


def _model(name: str, arguments: Mapping[str, Any]) -> Any:
    if name not in MODELS:
        raise ValueError(f"there is no model `{name}` (there are {', '.join(MODELS)})")
    return MODELS[name](**checked(MODELS[name], arguments))


def _slope(tree: Mapping[str, Any], scope: Scope) -> Expression:
    if set(tree) - {"slope_of", "along", "points", "against"}:
        raise scope.mistake(
            "a slope has `along`, a key of the sweep, `points`, some of its values, and `against`"
        )
    along = _along(tree, scope)
    points = points_of(scope.experiment, along, tree.get("points", "all"), scope.where)
    if len(points) < 2:
        raise scope.mistake(f"fewer than two of the points {', '.join(tree['points'])} are in the sweep")
    scopes = [replace(scope, point={**scope.point, along: point}) for point in points]
    at: list[Expression] = [Constant(quantity(point)) for point in points]
    if "against" in tree:
        at = [_parse(tree["against"], s) for s in scopes]
    return Slope(tuple(at), tuple(_parse(tree["slope_of"], s) for s in scopes))


_OF_A_LEAF = {"metric", "run", "where", "relative_to", "statistic", "over", "times"}


def _leaf(tree: Mapping[str, Any], scope: Scope) -> Leaf:
    name = tree["metric"]
    if name not in METRICS:
        raise scope.mistake(f"there is no metric `{name}` (there are {', '.join(METRICS)})")
    relative = tree.get("relative_to")
    if relative is not None and relative not in REFERENCES:
        known = ", ".join(f'"{reference}"' for reference in REFERENCES)
        raise scope.mistake(f"relative_to = {relative!r} must be one of {known}")
    for key in ("statistic", "over"):
        if tree.get(key, "median") not in STATISTICS:
            raise scope.mistake(f"{key} = {tree[key]!r} must be one of {', '.join(STATISTICS)}")
    try:
        arguments = checked(
            METRICS[name], {k: v for k, v in tree.items() if k not in _OF_A_LEAF | {"metric"}}
        )
        times = quantity(tree.get("times", 1.0))
    except ValueError as error:
        raise scope.mistake(error) from None
    point = {**scope.point, **tree.get("where", {})}
    conditions = tuple(conditions_of(scope.experiment, tree.get("run", scope.run), point, scope.where))
    sample = Sample(name, tuple(sorted(arguments.items())), relative)
    return Leaf(conditions, sample, tree.get("statistic", "median"), tree.get("over"), times)
