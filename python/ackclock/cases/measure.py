"""Measuring runs: each sample is a metric of ``ackclock.metrics`` with its arguments.

``Samples`` collects the samples from the runs as they finish. Expressions (``ackclock.cases.expressions``)
make numbers of them.
"""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ackclock import _engine, metrics
from ackclock.cases.document import CaseError
from ackclock.cases.model import Case, Condition
from ackclock.metrics import METRICS, Array, MetricError, PerEvent, Tables

STATISTICS: Mapping[str, Callable[[Array], Array]] = {
    "median": lambda x: np.median(x, axis=0),
    "mean": lambda x: np.mean(x, axis=0),
    "smallest": lambda x: np.min(x, axis=0),
    "largest": lambda x: np.max(x, axis=0),
    "p5": lambda x: np.percentile(x, 5, axis=0),
    "p95": lambda x: np.percentile(x, 95, axis=0),
    "p20": lambda x: np.percentile(x, 20, axis=0),
    "p80": lambda x: np.percentile(x, 80, axis=0),
    "p80-p20": lambda x: np.percentile(x, 80, axis=0) - np.percentile(x, 20, axis=0),
}
"""Statistics over repetitions."""

COUNTED = ("bdp", "p")
"""Units of queue limits, whose size the path decides."""


def quantity(value: Any) -> float:
    """A value of an experiment file as a number: seconds, bit/s, bytes, a share of 1, or a plain count.

    Text with a unit is read by the engine, as in scenarios (``"40ms"``, ``"10mbit"``, ``"1448B"``, ``"1%"``).
    ``"84p"``, ``"1bdp"`` and ``"3"`` are their numbers. Raises ValueError for anything else.
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is neither a number nor text with a unit")
    unit = next((unit for unit in COUNTED if value.endswith(unit)), "")
    try:
        return float(value.removesuffix(unit))
    except ValueError:
        return _engine.quantity(value)


def _total(run: Tables, arguments: Mapping[str, Any]) -> float:
    return metrics.goodput(run, None, arguments.get("start"), arguments.get("stop"))


REFERENCES: Mapping[str, Callable[[Tables, Mapping[str, Any]], float]] = {
    "link rate": lambda run, _: metrics.link_rate(run),
    "total": _total,
    "buffer": lambda run, _: metrics.buffer(run),
}
"""The divisors of a metric in each repetition."""


@dataclass(frozen=True)
class Sample:
    """A metric with its arguments, measured on a single repetition."""

    metric: str
    arguments: tuple[tuple[str, Any], ...]
    relative_to: str | None = None
    own: Callable[..., Any] | None = None
    """The metric itself where it is the paper's own."""

    def of(self, run: Tables) -> Any:
        """Measures it on one run."""
        arguments = dict(self.arguments)
        value = (self.own or METRICS[self.metric])(run, **arguments)
        return value if self.relative_to is None else value / REFERENCES[self.relative_to](run, arguments)


class Samples:
    """The samples of finished runs, by condition, sample and repetition. The runs are not stored."""

    def __init__(self) -> None:
        self._wanted: dict[Condition, dict[Sample, dict[int, Any]]] = {}

    def want(self, condition: Condition, sample: Sample) -> Condition:
        """Requests a sample of every repetition of a condition, which it returns."""
        self._wanted.setdefault(condition, {}).setdefault(sample, {})
        return condition

    def conditions(self) -> list[Condition]:
        """The conditions with requested samples."""
        return list(self._wanted)

    def add(self, condition: Condition, repetition: int, run: Tables) -> None:
        """Takes the samples of a finished run."""
        for sample, found in self._wanted.get(condition, {}).items():
            try:
                value = sample.of(run)
                if isinstance(value, PerEvent) and not value.values.size:
                    raise MetricError(f"`{sample.metric}` finds no event")
                found[repetition] = value
            except MetricError as error:
                found[repetition] = error

    def found(self, condition: Condition, sample: Sample) -> Mapping[int, Any]:
        """The sample of every finished repetition by its number, or a MetricError in place of a value."""
        return self._wanted.get(condition, {}).get(sample, {})

    def of(self, condition: Condition, sample: Sample) -> list[Any]:
        """The sample of every finished repetition, in order, without those where it has no value."""
        found = self.found(condition, sample)
        return [found[r] for r in sorted(found) if not isinstance(found[r], MetricError)]

    def single(self, condition: Condition, sample: Sample, repetition: int) -> list[Any]:
        """The sample of one repetition, counted from 0. Empty if it has not run or has no value."""
        value = self.found(condition, sample).get(repetition)
        return [] if value is None or isinstance(value, MetricError) else [value]

    def reason(self, condition: Condition, sample: Sample) -> str:
        """The reason why a sample has no value."""
        found = self.found(condition, sample)
        errors = [str(value) for value in found.values() if isinstance(value, MetricError)]
        return errors[0] if errors else "no repetition has finished"


class Member(Samples):
    """Samples of other conditions, or of a single repetition, under the names of the set-up.

    The conditions belong to one member of a variation, or to another controller in the same case.
    """

    def __init__(
        self, whole: Samples, instead: Callable[[Condition], Condition], repetition: int | None = None
    ) -> None:
        super().__init__()
        self.whole, self.condition, self.repetition = whole, instead, repetition

    def want(self, condition: Condition, sample: Sample) -> Condition:
        """Requests a sample of this member."""
        return self.whole.want(self.condition(condition), sample)

    def found(self, condition: Condition, sample: Sample) -> Mapping[int, Any]:
        """The sample of its finished repetitions, by their numbers."""
        found = self.whole.found(self.condition(condition), sample)
        only = self.repetition
        return found if only is None else {only: found[only]} if only in found else {}


@functools.cache
def is_metric(function: Callable[..., Any]) -> bool:
    """True if a function of ``measures.py`` measures a run: its first argument is ``run``."""
    return next(iter(inspect.signature(function).parameters), None) == "run"


_RENAMED = {"from": "start", "to": "stop", "bin": "width"}


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
        if not all(isinstance(one, str | int | float) for one in _members(given[name])):
            raise ValueError(f"{key} = {value!r}: must be text, a number, or a list of them")
        if name == "percentile" and not 0 <= given[name] <= 100:
            raise ValueError(f"{key} = {value!r}: must be from 0 to 100")
    for name, parameter in known.items():
        if parameter.default is parameter.empty and name not in given:
            raise ValueError(f"`{function.__name__}` needs the argument `{name}`")
    return given


def _members(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def conditions_of(case: Case, run: Any, point: Mapping[str, Any], where: str) -> Iterator[Condition]:
    """The conditions that ``run`` (a name, or several) and ``point`` mean, pooled where there are several.

    ``point`` gives each key of the sweep a value, a list of values, or "all". Listed values that are not in
    the sweep are ignored.
    """
    if run is None:
        if len(case.setups) > 1:
            raise CaseError(f"{where}: say which `run`")
        run = case.setups[0].name
    names = [run] if isinstance(run, str) else run
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise CaseError(f"{where}: run = {run!r} must be the name of a run, or a list of names")
    keys = list(case.sweep)
    if not isinstance(point, Mapping):
        raise CaseError(f"{where}: where = {point!r} must be a table of keys of the sweep")
    if set(point) != set(keys):
        raise CaseError(
            f"{where}: `where` must give a value for each key of the sweep ({', '.join(keys) or 'none'})"
        )
    values = [points_of(case, key, point[key], where) for key in keys]
    for name in names:
        for combined in itertools.product(*values):
            yield case.setup(name).name, tuple(zip(keys, combined, strict=True))


def points_of(case: Case, key: str, wanted: Any, where: str) -> tuple[str, ...]:
    """The values of a swept key that ``wanted`` means: one, every one of a list that is there, or "all"."""
    there = case.sweep[key]
    listed = (wanted,) if isinstance(wanted, str) else wanted
    if not isinstance(listed, list | tuple) or not all(isinstance(one, str) for one in listed):
        raise CaseError(f"{where}: {key} = {wanted!r} must be text as in the sweep ({', '.join(there)})")
    found = there if wanted == "all" else tuple(value for value in there if value in listed)
    if not found:
        raise CaseError(f'{where}: {key} = "{wanted}" is not in the sweep ({", ".join(there)})')
    return found
