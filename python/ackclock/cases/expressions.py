"""Expressions: the small language of measures in experiment files.

A leaf names a metric of ``ackclock.metrics`` with its arguments, the run (or runs, pooled) and the point of
the sweep it is taken at, and the statistic over repetitions:

    { metric = "goodput", run = "cdg", flow = "cdg-0", from = "20s", to = "40s",
      relative_to = "total", where = { "path.loss" = "1%" } }

A metric that has a value for each event (``PerEvent``) is pooled over repetitions before the statistic.
A point may hold a list of values, or "all": they are pooled as repetitions are. ``relative_to`` divides each
repetition by its own "link rate", "total" goodput or "buffer".

Leaves combine: ``{ ratio = [A, B] }``, ``difference``, ``largest``, ``smallest``, ``mean`` and ``sum`` of
expressions. ``{ farthest = […], reference = 1.0 }`` is the one that differs most from the reference.
``{ slope_of = A, along = "path.loss", points = […] }`` is the slope of log measure against log parameter.
``{ model = "mathis", … }`` and ``{ value = 3.0 }`` are numbers. Any takes ``times``, a constant factor.

In place of a list, or of one of its members, ``{ each = A, along = "path.queue", points = […] }`` gives A at
each point of the sweep, and ``{ each = A, runs = […] }`` gives A in each run. Points that ``--quick`` leaves
out are left out.

The language is frozen: it gets no more words. A claim that they cannot express calls a function of
``papers/<paper>/measures.py``. ``{ function = "median", ratios = […] }`` calls ``median(ratios)`` with the
values of the listed expressions. A function whose first argument is ``run`` is a metric of that paper, and a
leaf names it.
"""

from __future__ import annotations

import inspect
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from ackclock.cases.document import CaseError
from ackclock.cases.measure import (
    REFERENCES,
    STATISTICS,
    Sample,
    Samples,
    checked,
    conditions_of,
    is_metric,
    points_of,
    quantity,
)
from ackclock.cases.model import Case, Condition
from ackclock.errors import did_you_mean
from ackclock.metrics import METRICS, MODELS, MetricError, PerEvent


class Expression(ABC):
    """A term with a value once the runs are done."""

    def leaves(self) -> Iterator[Leaf]:
        """The metrics that it is made of."""
        return (leaf for part in self.inside() for leaf in part.leaves())

    def inside(self) -> Sequence[Expression]:
        """The expressions that it combines."""
        return ()

    def demands(self) -> Iterator[tuple[Condition, Sample]]:
        """The samples that it needs."""
        return ((condition, leaf.sample) for leaf in self.leaves() for condition in leaf.conditions)

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

    def leaves(self) -> Iterator[Leaf]:
        """Itself."""
        yield self

    def finished(self, samples: Samples) -> int:
        """The number of finished repetitions of all its conditions."""
        return sum(len(samples.found(condition, self.sample)) for condition in self.conditions)

    def values(self, samples: Samples) -> list[Any]:
        """The samples of every repetition of every condition."""
        return [v for condition in self.conditions for v in samples.of(condition, self.sample)]

    def value(self, samples: Samples) -> float:
        """Its value."""
        values = self.values(samples)
        if not values:
            raise MetricError(samples.reason(self.conditions[0], self.sample))
        if 2 * len(values) < (finished := self.finished(samples)):
            raise MetricError(f"only {len(values)} of {finished} repetitions have a value")
        pooled = isinstance(values[0], PerEvent)
        drawn = np.concatenate([one.values for one in values]) if pooled else np.asarray(values, np.float64)
        result = np.asarray(STATISTICS[self.statistic](drawn))
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


def _farthest(values: Sequence[float], reference: float) -> float:
    return max(values, key=lambda value: abs(value - reference))


COMBINATIONS: Mapping[str, Callable[..., float]] = {
    "ratio": _ratio,
    "difference": _difference,
    "largest": max,
    "smallest": min,
    "mean": _mean,
    "sum": sum,
    "farthest": _farthest,
}
HEADS = ("metric", "model", "value", "slope_of", "function", *COMBINATIONS)
"""The words of which an expression has exactly one."""
LEAF_KEYS = frozenset({"metric", "run", "where", "relative_to", "statistic", "over", "times"})
"""The keys of a leaf beside the arguments of its metric."""
EACH_KEYS = frozenset({"each", "along", "points", "runs"})
SLOPE_KEYS = frozenset({"slope_of", "along", "points"})


@dataclass(frozen=True)
class Combination(Expression):
    """Several expressions made one."""

    how: Callable[..., float]
    parts: tuple[Expression, ...]
    times: float

    def inside(self) -> Sequence[Expression]:
        """The expressions that it combines."""
        return self.parts

    def value(self, samples: Samples) -> float:
        """Its value."""
        values = [part.value(samples) for part in self.parts]
        if any(math.isnan(value) for value in values):
            # The largest of them, say, would depend on their order.
            raise MetricError("one of the combined measures has no value")
        return self.how(values) * self.times


@dataclass(frozen=True)
class Call(Expression):
    """A function of the paper's own, of lists of expressions by the names of its arguments."""

    function: Callable[..., float]
    arguments: tuple[tuple[str, tuple[Expression, ...]], ...]
    times: float

    def inside(self) -> Sequence[Expression]:
        """The expressions that it is called with."""
        return [part for _, parts in self.arguments for part in parts]

    def value(self, samples: Samples) -> float:
        """Its value."""
        values = {name: [part.value(samples) for part in parts] for name, parts in self.arguments}
        try:
            return self.function(**values) * self.times
        except (ArithmeticError, LookupError, ValueError) as error:
            raise MetricError(f"`{self.function.__name__}`: {error}") from error


@dataclass(frozen=True)
class Slope(Expression):
    """Least-squares slope of log(measure) against log(parameter)."""

    at: tuple[float, ...]
    parts: tuple[Expression, ...]

    def inside(self) -> Sequence[Expression]:
        """The expressions that it combines."""
        return self.parts

    def value(self, samples: Samples) -> float:
        """Its value."""
        values = [part.value(samples) for part in self.parts]
        if min(*self.at, *values) <= 0:
            raise MetricError("the slope of a logarithm needs positive values")
        return float(np.polyfit(np.log(self.at), np.log(values), 1)[0])


@dataclass(frozen=True)
class Scope:
    """The context of an expression: the experiment, and the run and point that an ``each`` has chosen."""

    case: Case
    where: str
    """The place in the file, for error messages."""
    run: str | None = None
    point: Mapping[str, str] = field(default_factory=dict)

    def at(self, place: str) -> Scope:
        """The same a step further into the file."""
        return replace(self, where=f"{self.where}.{place}")

    def word(self, tree: Mapping[str, Any], key: str) -> Any:
        """The text under a key, None without it. Raises CaseError for anything else."""
        if not isinstance(word := tree.get(key), str | None):
            raise self.mistake(f"{key} = {word!r} must be text")
        return word

    def mistake(self, sentence: object) -> CaseError:
        """An error at this place."""
        return CaseError(f"{self.where}: {sentence}")


def parse(tree: Any, case: Case, where: str) -> Expression:
    """Reads an expression of an experiment file. Raises CaseError with the place of a mistake."""
    return _parse(tree, Scope(case, where))


def parse_leaf(tree: Mapping[str, Any], case: Case, where: str) -> Leaf:
    """Reads a leaf."""
    return _leaf(tree, Scope(case, where))


def parse_groups(tree: Any, case: Case, where: str) -> list[tuple[Expression, ...]]:
    """Reads a list of expressions, once, or with ``each`` around it once for each point or run."""
    scope = Scope(case, where)
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
        if head == "function":
            return _call(scope.word(tree, head), rest, times, scope)
        if head == "model":
            return Constant(float(_model(scope.word(tree, head), rest)) * times)
        if head != "value":
            return _combination(head, tree[head], rest, times, scope)
        if rest:
            raise scope.mistake(f"unknown key `{min(rest)}` beside `{head}`")
        return Constant(quantity(tree[head]) * times)
    except ValueError as error:
        raise error if isinstance(error, CaseError) else scope.mistake(error) from None


def _combination(
    head: str, operands: Any, rest: Mapping[str, Any], times: float, scope: Scope
) -> Combination:
    listed = operands if isinstance(operands, list) else [operands]
    parts = tuple(part for i, tree in enumerate(listed) for part in _operand(tree, scope.at(f"{head}.{i}")))
    if head in ("ratio", "difference") and len(parts) != 2:
        raise scope.mistake(f"`{head}` takes two measures, not {len(parts)}")
    if not parts:
        raise scope.mistake(f"`{head}` takes at least one measure")
    if stray := set(rest) - ({"reference"} if head == "farthest" else set()):
        raise scope.mistake(f"unknown key `{min(stray)}` beside `{head}`")
    if head == "farthest" and "reference" not in rest:
        raise scope.mistake("`farthest` needs a `reference`")
    given = {key: quantity(value) for key, value in rest.items()}
    return Combination(partial(COMBINATIONS[head], **given), parts, times)


def _operand(tree: Any, scope: Scope) -> Iterator[Expression]:
    """The expressions of a member of a list."""
    if isinstance(tree, Mapping) and "each" in tree:
        for inner in _scopes(tree, scope):
            yield from _operand(tree["each"], inner)
    else:
        yield _parse(tree, scope)


def _scopes(tree: Mapping[str, Any], scope: Scope) -> list[Scope]:
    """The points and runs that an ``each`` goes through."""
    if set(tree) - EACH_KEYS or not {"along", "runs"} & set(tree):
        raise scope.mistake("`each` has `along`, a key of the sweep, with or without `points`, or `runs`")
    runs = tree.get("runs", [])
    if not isinstance(runs, list) or not all(isinstance(run, str) for run in runs):
        raise scope.mistake(f"runs = {runs!r} must be a list of names of runs")
    scopes = [replace(scope, run=run) for run in runs] if "runs" in tree else [scope]
    if "along" in tree:
        along = _along(tree, scope)
        points = points_of(scope.case, along, tree.get("points", "all"), scope.where)
        scopes = [replace(s, point={**s.point, along: value}) for s in scopes for value in points]
    return scopes


def _along(tree: Mapping[str, Any], scope: Scope) -> str:
    along = str(tree.get("along"))
    if along not in scope.case.sweep:
        raise scope.mistake(f'along = "{along}" is not a key of the sweep')
    return along


def _model(name: str, arguments: Mapping[str, Any]) -> Any:
    if name not in MODELS:
        raise ValueError(f"there is no model `{name}` (there are {', '.join(MODELS)})")
    return MODELS[name](**checked(MODELS[name], arguments))


def _call(name: Any, operands: Mapping[str, Any], times: float, scope: Scope) -> Call:
    function = scope.case.measures.get(name)
    known = ", ".join(scope.case.measures) or "none"
    if function is None or is_metric(function):
        raise scope.mistake(f"`measures.py` of the paper has no function `{name}` (it has {known})")
    wanted = inspect.signature(function).parameters
    if set(operands) != set(wanted):
        raise scope.mistake(f"`{name}` takes {', '.join(wanted)}, each a list of measures")
    arguments = tuple(
        (key, tuple(part for i, one in enumerate(listed) for part in _operand(one, scope.at(f"{key}.{i}"))))
        for key, value in operands.items()
        for listed in [value if isinstance(value, list) else [value]]
    )
    return Call(function, arguments, times)


def _slope(tree: Mapping[str, Any], scope: Scope) -> Expression:
    if set(tree) - SLOPE_KEYS:
        raise scope.mistake("a slope has `along`, a key of the sweep, and `points`, some of its values")
    along = _along(tree, scope)
    points = points_of(scope.case, along, tree.get("points", "all"), scope.where)
    if len(points) < 2:
        raise scope.mistake(f"a slope needs two points of `{along}`, and here is only {points[0]}")
    scopes = [replace(scope, point={**scope.point, along: point}) for point in points]
    return Slope(tuple(map(quantity, points)), tuple(_parse(tree["slope_of"], s) for s in scopes))


def _leaf(tree: Mapping[str, Any], scope: Scope) -> Leaf:
    name = scope.word(tree, "metric")
    own = {key: one for key, one in scope.case.measures.items() if is_metric(one)}
    if name not in METRICS and name not in own:
        every = [*METRICS, *own]
        near = did_you_mean(str(name), every) or f" (there are {', '.join(every)})"
        raise scope.mistake(f"there is no metric `{name}`{near}")
    # The function of a paper is what its runs are measured by, also where the package has one of the name.
    function = own.get(name) or METRICS[name]
    relative = scope.word(tree, "relative_to")
    if relative is not None and relative not in REFERENCES:
        known = ", ".join(f'"{reference}"' for reference in REFERENCES)
        raise scope.mistake(f"relative_to = {relative!r} must be one of {known}")
    for key in ("statistic", "over"):
        if (scope.word(tree, key) or "median") not in STATISTICS:
            raise scope.mistake(f"{key} = {tree[key]!r} must be one of {', '.join(STATISTICS)}")
    try:
        arguments = checked(function, {k: v for k, v in tree.items() if k not in LEAF_KEYS})
        times = quantity(tree.get("times", 1.0))
    except ValueError as error:
        raise scope.mistake(error) from None
    where = tree.get("where", {})
    if not isinstance(where, Mapping):
        raise scope.mistake(f"where = {where!r} must be a table of keys of the sweep")
    point = {**scope.point, **where}
    conditions = tuple(conditions_of(scope.case, tree.get("run", scope.run), point, scope.where))
    sample = Sample(name, tuple(sorted(arguments.items())), relative, own.get(name))
    return Leaf(conditions, sample, tree.get("statistic", "median"), tree.get("over"), times)
