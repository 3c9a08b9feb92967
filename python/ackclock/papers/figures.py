"""Figures of papers: read from data, filled from samples, drawn and tabulated.

Tables under ``[[figures]]`` become panels of curves. The same curves go into the picture and into the
Parquet file beside it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from ackclock.cases.document import CaseError, refuse_unknown
from ackclock.cases.expressions import Leaf, parse_leaf
from ackclock.cases.measure import (
    Sample,
    Samples,
    checked,
    conditions_of,
    is_metric,
    quantity,
)
from ackclock.cases.model import Condition
from ackclock.figure import Axis, Panel, Series
from ackclock.metrics import MODELS, Array, Curve
from ackclock.papers import reported
from ackclock.papers.experiment import Experiment
from ackclock.report.charts import panels_as_json

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PERCENTILES = (20, 50, 80)
"""Low end, marker and high end of percentile bars."""

BARS: Mapping[str, Callable[[Sequence[float]], Any]] = {
    "percentiles": lambda values: np.percentile(values, PERCENTILES),
    "range": lambda values: (np.min(values), np.mean(values), np.max(values)),
}
"""Low end, marker and high end of the bars over repetitions, by the name of the bars."""

_COMMON = {"name", "kind", "title", "columns", "x", "y", "panels"}


class PaperFigure(ABC):
    """One figure of an experiment."""

    kind: str
    extra: frozenset[str] = frozenset()
    x_label = "time (s)"

    def __init__(self, spec: Mapping[str, Any], experiment: Experiment) -> None:
        self.name = str(spec.get("name", ""))
        self.where = f"{experiment.file.name}, figure {self.name}".rstrip()
        refuse_unknown(spec, _COMMON | self.extra, self.where)
        if not spec.get("panels"):
            raise CaseError(f"{self.where}: a figure has panels")
        self.spec, self.experiment = spec, experiment
        self.title = str(spec.get("title", experiment.title))
        self.x, self.y = (
            self._axis("x", {"label": self.x_label, "low": quantity(spec.get("from", 0.0))}),
            self._axis("y", {}),
        )
        self.columns = int(spec.get("columns", 1))
        self.times = quantity(spec.get("y", {}).get("times", 1.0))

    def _axis(self, name: str, default: Mapping[str, Any]) -> Axis:
        given = self.spec.get(name, {})
        # A logarithmic axis has no 0.
        usual = default if given.get("scale", "linear") == "linear" else {**default, "low": None}
        spec = {"label": "", **usual, **given}
        spec.pop("times", None)
        try:
            return Axis(**spec)
        except TypeError:
            known = "label, scale, low, high, times"
            raise CaseError(f"{self.where}: `{name}` has the keys {known}") from None

    def condition(self, panel: Mapping[str, Any]) -> Condition:
        """The condition that a panel shows."""
        return next(conditions_of(self.experiment, panel.get("run"), panel.get("where", {}), self.where))

    @abstractmethod
    def demands(self) -> Iterator[tuple[Condition, Sample]]:
        """The samples that the figure needs."""

    @abstractmethod
    def series(self, panel: Mapping[str, Any], samples: Samples) -> list[Series]:
        """The curves of one panel."""

    def panels(self, samples: Samples) -> list[Panel]:
        """The panels with their curves, none without finished runs, and the reported values."""
        return [Panel(str(p.get("title", "")), self._with_claims(p, samples)) for p in self.spec["panels"]]

    def _with_claims(self, panel: Mapping[str, Any], samples: Samples) -> list[Series]:
        """The curves of a panel and of its ``claims``, which ``reported.series`` draws."""
        drawn = self.series(panel, samples)
        labelled = any(one.label == reported.REPORTED for one in drawn)
        claims = panel.get("claims", [])
        return drawn + reported.series(claims, self.experiment, self.where, self.times, labelled)

    def check(self) -> None:
        """Reads the whole figure of the file. Raises CaseError for a mistake."""
        self.panels(Samples())

    def draw(self, panels: Sequence[Panel]) -> Figure:
        """The picture."""
        from ackclock.plots import draw

        return draw(panels, self.x, self.y, self.columns)

    def as_json(self, panels: Sequence[Panel]) -> list[dict[str, Any]]:
        """The panels for interactive charts."""
        from ackclock.plots.draw import page_looks

        return panels_as_json(panels, self.x, self.y, page_looks(panels))


def table(panels: Sequence[Panel]) -> pa.Table:
    """The curves of a figure in long form. ``low`` and ``high`` are the ends of the bars, or null."""
    rows: dict[str, list[Any]] = {name: [] for name in ("panel", "curve", "cc", "x", "y", "low", "high")}
    for panel in panels:
        for s in panel.series:
            rows["panel"] += [panel.title] * s.x.size
            rows["curve"] += [s.label] * s.x.size
            rows["cc"] += [s.cc] * s.x.size
            rows["x"] += s.x.tolist()
            rows["y"] += s.y.tolist()
            for name, end in (("low", s.low), ("high", s.high)):
                rows[name] += [None] * s.x.size if end is None else end.tolist()
    number = ("x", "y", "low", "high")
    return pa.table({k: pa.array(v, pa.float64() if k in number else pa.string()) for k, v in rows.items()})


PAUSE, PAUSES = 0.005, 20
"""A line is broken where it has no value for this share of the time drawn, and for so many usual steps."""
ASIDE = 0.06
"""The shift between the ranges of neighbouring curves, as a share of the least distance of points."""


class AgainstSweep(PaperFigure):
    """A measure against a swept parameter, with bars over repetitions and curves of models."""

    kind = "against-sweep"
    extra = frozenset({"along", "bars"})
    x_label = ""

    def __init__(self, spec: Mapping[str, Any], experiment: Experiment) -> None:
        super().__init__(spec, experiment)
        self.along = str(spec.get("along"))
        if self.along not in experiment.sweep:
            raise CaseError(f'{self.where}: along = "{self.along}" is not a key of the sweep')
        self.points = experiment.sweep[self.along]
        self.x_times = quantity(spec.get("x", {}).get("times", 1.0))
        self.bars = str(spec.get("bars", "percentiles"))
        if self.bars not in BARS:
            raise CaseError(f'{self.where}: bars = "{self.bars}" must be one of {", ".join(BARS)}')
        if self.bars == "range" and any(len(panel.get("curves", [])) > 1 for panel in spec["panels"]):
            self.x = replace(self.x, label=f"{self.x.label}, curves set apart")

    def _leaves(self, curve: Mapping[str, Any]) -> list[Leaf]:
        tree = curve["measure"]
        return [
            parse_leaf(
                tree | {"where": tree.get("where", {}) | {self.along: point}}, self.experiment, self.where
            )
            for point in self.points
        ]

    def demands(self) -> Iterator[tuple[Condition, Sample]]:
        """The samples that it needs."""
        for panel in self.spec["panels"]:
            for curve in panel.get("curves", []):
                for leaf in self._leaves(curve):
                    yield from leaf.demands()

    def series(self, panel: Mapping[str, Any], samples: Samples) -> list[Series]:
        """The curves of one panel."""
        at = np.array([quantity(point) for point in self.points])
        drawn = []
        for curve in panel.get("curves", []):
            leaves = self._leaves(curve)
            values = [leaf.values(samples) for leaf in leaves]
            there = [i for i, v in enumerate(values) if v]
            if there:
                ends = np.array([BARS[self.bars](values[i]) for i in there]).T * leaves[0].times * self.times
                label = str(curve["label"])
                drawn.append(
                    Series(
                        label, str(curve.get("cc", "")), at[there] * self.x_times, ends[1], ends[0], ends[2]
                    )
                )
        if self.bars == "range" and len(at) > 1:
            # The ranges of several curves at one point would hide each other.
            step = ASIDE * self.x_times * float(np.min(np.diff(np.sort(at))))
            middle = (len(drawn) - 1) / 2
            drawn = [replace(one, aside=(number - middle) * step) for number, one in enumerate(drawn)]
        drawn += self._reported(panel)
        return drawn + [self._model(model, at) for model in panel.get("models", [])]

    def _reported(self, panel: Mapping[str, Any]) -> list[Series]:
        """The reported numbers of a curve at the points of the sweep, with their bands."""
        found: list[tuple[float, float, float, float]] = []
        for curve in panel.get("curves", []):
            tree = curve["measure"]
            for point in self.points:
                at = {**tree, "where": {**tree.get("where", {}), self.along: point}}
                x = quantity(point) * self.x_times
                about = [claim for claim in self.experiment.claims if claim.measure == at]
                ends = [reported.ends(claim, self.times) for claim in about]
                found += [(x, *one) for one in ends if one is not None]
        if not found:
            return []
        x, y, low, high = np.array(found).T
        return [Series(reported.REPORTED, "", x, y, low, high, "reported")]

    def _model(self, spec: Mapping[str, Any], at: Array) -> Series:
        function = MODELS[spec["model"]]
        arguments = {k: v for k, v in spec.items() if k not in ("model", "label", "along", "high")}
        positive = at[at > 0]
        fine = np.geomspace(positive.min(), positive.max(), 200)
        values = function(**checked(function, arguments | {spec["along"]: 1.0}) | {spec["along"]: fine})
        shown = values <= quantity(spec.get("high", float("inf")))
        return Series(
            str(spec["label"]), "", fine[shown] * self.x_times, values[shown] * self.times, look="model"
        )


class GoodputOverTime(PaperFigure):
    """Goodput of every flow in bins, with percentile bars over repetitions."""

    kind = "goodput-over-time"
    extra = frozenset({"bin"})

    def __init__(self, spec: Mapping[str, Any], experiment: Experiment) -> None:
        super().__init__(spec, experiment)
        self.sample = Sample("goodput_by_flow", (("width", quantity(spec.get("bin"))),))

    def demands(self) -> Iterator[tuple[Condition, Sample]]:
        """The samples that it needs."""
        return ((self.condition(panel), self.sample) for panel in self.spec["panels"])

    def series(self, panel: Mapping[str, Any], samples: Samples) -> list[Series]:
        """The curves of one panel."""
        repetitions: list[list[Curve]] = samples.of(self.condition(panel), self.sample)
        drawn = []
        labels = panel.get("labels", {})
        for flow in zip(*repetitions, strict=True):
            name, cc, times, _ = flow[0]
            ends = np.percentile([curve.values for curve in flow], PERCENTILES, axis=0) * self.times
            drawn.append(Series(str(labels.get(name, name)), cc, times, ends[1], ends[0], ends[2], "marked"))
        return drawn


class SamplesOverTime(PaperFigure):
    """Every recorded sample of a signal, of the first repetition, as dots."""

    kind = "samples-over-time"
    extra = frozenset({"signal"})

    def __init__(self, spec: Mapping[str, Any], experiment: Experiment) -> None:
        super().__init__(spec, experiment)
        self.sample = Sample("signal_by_flow", (("signal", spec.get("signal")),))

    def demands(self) -> Iterator[tuple[Condition, Sample]]:
        """The samples that it needs."""
        return ((self.condition(panel), self.sample) for panel in self.spec["panels"])

    def series(self, panel: Mapping[str, Any], samples: Samples) -> list[Series]:
        """The curves of one panel."""
        repetitions: list[list[Curve]] = samples.of(self.condition(panel), self.sample)
        labels = panel.get("labels", {})
        return [
            Series(str(labels.get(c.name, c.name)), c.cc, c.times, c.values * self.times, look="points")
            for curves in repetitions[:1]
            for c in curves
        ]


def broken(times: Array, values: Array) -> tuple[Array, Array]:
    """A curve with a break where it has no values for long.

    ACKs of retransmissions bring no RTT sample, so a series by ACKs has no rows in recovery.
    """
    steps = np.diff(times)
    if not steps.size:
        return times, values
    least = max(PAUSE * float(times[-1] - times[0]), PAUSES * float(np.median(steps)))
    after = np.flatnonzero(steps > least) + 1
    return np.insert(times, after, times[after - 1]), np.insert(values.astype(np.float64), after, np.nan)


class Traces(PaperFigure):
    """Chosen signals of chosen flows, and queues, over time, of one repetition, as lines.

    It is the first one, or ``repetition`` (from 1), if that has run. A curve has a ``flow`` and its
    ``signal``, or a ``link`` whose queue it is. ``mean`` adds a dashed line at the mean of the drawn values.
    ``look = "background"`` is for all but the curves that matter.
    """

    kind = "traces"
    extra = frozenset({"from", "to", "repetition"})

    def _drawn(self, condition: Condition, sample: Sample, samples: Samples) -> list[Any]:
        """The sample of the repetition that is drawn. Empty if none has it."""
        chosen = samples.single(condition, sample, int(quantity(self.spec.get("repetition", 1))) - 1)
        return chosen or samples.of(condition, sample)[:1]

    def _sample(self, curve: Mapping[str, Any]) -> Sample:
        if "link" in curve:
            return Sample("queue_curve", (("link", curve["link"]), *self._window()))
        return Sample(
            "signal_by_flow", (("flows", (curve["flow"],)), ("signal", curve["signal"]), *self._window())
        )

    def _window(self) -> list[tuple[str, float]]:
        ends = (("from", "start"), ("to", "stop"))
        return [(name, quantity(self.spec[key])) for key, name in ends if key in self.spec]

    def _extent(self) -> str:
        """The interval of a mean in words, if it is not the whole run."""
        ends = dict(self._window())
        return f" of {ends['start']:g} to {ends['stop']:g} s" if len(ends) == 2 else ""

    def demands(self) -> Iterator[tuple[Condition, Sample]]:
        """The samples that it needs."""
        for panel in self.spec["panels"]:
            for curve in panel.get("curves", []):
                yield self.condition(panel), self._sample(curve)

    def series(self, panel: Mapping[str, Any], samples: Samples) -> list[Series]:
        """The curves of one panel."""
        drawn = []
        for curve in panel.get("curves", []):
            for found in self._drawn(self.condition(panel), self._sample(curve), samples):
                for c in [found] if isinstance(found, Curve) else found:
                    label, look = str(curve["label"]), str(curve.get("look", "line"))
                    cc = "" if look == "background" else str(curve.get("cc", c.cc))
                    values = c.values * self.times
                    drawn.append(Series(label, cc, *broken(c.times, values), look=look))
                    if curve.get("mean"):
                        ends = np.array([c.times[0], c.times[-1]])
                        mean = np.full(2, float(np.mean(values)))
                        drawn.append(Series(f"{label}, mean{self._extent()}", cc, ends, mean, look="model"))
        return drawn


class Curves(PaperFigure):
    """Curves that functions of the paper's own compute, of a model or of a run.

    A curve has a ``label``, a ``function`` of the paper's measures and its arguments. The function gives the
    values of x and of y. One whose first argument is ``run`` takes the first repetition of ``run`` at
    ``where``. ``look`` is "line", "marked", "points" or "model" (dashed). ``cc`` gives the colour.
    """

    kind = "curves"
    x_label = ""

    def __init__(self, spec: Mapping[str, Any], experiment: Experiment) -> None:
        super().__init__(spec, experiment)
        self.computed: dict[int, Series] = {}

    def _function(self, curve: Mapping[str, Any]) -> Callable[..., Any]:
        name = curve.get("function")
        if name not in self.experiment.measures:
            known = ", ".join(self.experiment.measures) or "none"
            raise CaseError(f"{self.where}: the paper has no function `{name}` (it has {known})")
        return self.experiment.measures[str(name)]

    def _sample(self, curve: Mapping[str, Any]) -> Sample:
        function = self._function(curve)
        arguments = checked(function, {k: v for k, v in curve.items() if k not in _KEYS_OF_A_CURVE})
        return Sample(function.__name__, tuple(sorted(arguments.items())), None, function)

    def demands(self) -> Iterator[tuple[Condition, Sample]]:
        """The samples that it needs."""
        for panel in self.spec["panels"]:
            for curve in panel.get("curves", []):
                if is_metric(self._function(curve)):
                    yield self.condition(curve), self._sample(curve)

    def check(self) -> None:
        """Reads all of it, but computes no model."""
        for panel in self.spec["panels"]:
            for curve in panel.get("curves", []):
                str(curve["label"])
                self._sample(curve)
            reported.series(panel.get("claims", []), self.experiment, self.where, self.times)

    def series(self, panel: Mapping[str, Any], samples: Samples) -> list[Series]:
        """The curves of one panel. Curves of models are computed once."""
        drawn = []
        for curve in panel.get("curves", []):
            if not is_metric(self._function(curve)):
                if id(curve) not in self.computed:
                    sample = self._sample(curve)
                    self.computed[id(curve)] = self._drawn(
                        curve, self._function(curve)(**dict(sample.arguments))
                    )
                drawn.append(self.computed[id(curve)])
            elif found := samples.of(self.condition(curve), self._sample(curve)):
                drawn.append(self._drawn(curve, found[0]))
        return drawn

    def _drawn(self, curve: Mapping[str, Any], values: tuple[Any, Any]) -> Series:
        x, y = (np.asarray(one, dtype=np.float64) for one in values)
        label, look = str(curve["label"]), str(curve.get("look", "line"))
        return Series(label, str(curve.get("cc", "")), x, y * self.times, look=look)


_KEYS_OF_A_CURVE = frozenset({"label", "cc", "look", "function", "run", "where"})

KINDS: Mapping[str, type[PaperFigure]] = {
    kind.kind: kind for kind in (AgainstSweep, GoodputOverTime, SamplesOverTime, Traces, Curves)
}


def figures(experiment: Experiment) -> list[PaperFigure]:
    """The figures of an experiment."""
    found = []
    for spec in experiment.figures:
        if spec.get("kind") not in KINDS:
            raise CaseError(
                f"{experiment.file.name}: figure kind {spec.get('kind')!r} must be one of {', '.join(KINDS)}"
            )
        found.append(KINDS[spec["kind"]](spec, experiment))
    return found
