"""Plots: functions that take runs and return a matplotlib figure, in one style.

Every controller has a fixed colour, from a palette that colour-blind readers can tell apart; flows of the
same controller differ in shade and marker. Axes carry units, legends stand beside the data.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

from ackclock import metrics
from ackclock.metrics import Array, Tables

COLOURS: Mapping[str, str] = {
    "newreno": "#D55E00",
    "cubic": "#0072B2",
    "cdg": "#009E73",
    "vegas": "#CC79A7",
    "aimd": "#8C6D1F",
    "siad": "#AA3377",
    "htcp": "#E69F00",
    "highspeed": "#56B4E9",
    "scalable": "#44AA99",
    "da": "#4477AA",
    "jk": "#CC6677",
    "": "#444444",
}
"""Colour of each controller (palettes of Okabe and Ito, and Tol); others take the spare ones in order."""

SPARE = ("#332288", "#999933", "#DDCC77", "#661100", "#117733", "#6699CC")
MARKERS = "os^Dv<>P*X"
LEGEND_LIMIT = 10
"""A panel with more curves than this has no legend: nobody could read it."""
SHORT_LOG_AXIS = 300.0
"""A logarithmic axis that covers less than this factor has labels at 2 and 5 as well."""
MANY_FLOWS = 16
"""With more flows than this, those of one name and controller are one curve over time."""
LEGEND_COLUMNS = 4
LEGEND_ROW_POINTS = 13

STYLE: Any = {
    "figure.constrained_layout.use": True,
    "figure.dpi": 100,
    "savefig.dpi": 200,
    "font.size": 9.0,
    "axes.titlesize": 9.5,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#666666",
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.6,
    "xtick.color": "#444444",
    "ytick.color": "#444444",
    "lines.linewidth": 1.3,
    "lines.markersize": 4.0,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
}


@dataclass(frozen=True)
class Series:
    """One curve as it is drawn."""

    label: str
    cc: str
    """The controller, for the colour; empty for a curve that is none's."""
    x: Array
    y: Array
    low: Array | None = None
    high: Array | None = None
    """Ends of the percentile bars."""
    look: str = "line"
    """"line", "marked" (line with a marker at each point), "points" (dots alone) or "model" (dashed)."""


@dataclass(frozen=True)
class Panel:
    """One set of axes."""

    title: str
    series: Sequence[Series]


@dataclass(frozen=True)
class Axis:
    """How an axis is labelled and scaled."""

    label: str
    scale: str = "linear"
    """"linear" or "log"."""
    low: float | None = None
    high: float | None = None


def style() -> AbstractContextManager[None]:
    """The style of the house, to be used as a context."""
    return mpl.rc_context(STYLE)


def colours(controllers: Sequence[str]) -> list[str]:
    """A colour for each curve of a panel: its controller's own, in another shade for each further flow."""
    spare = [cc for cc in dict.fromkeys(controllers) if cc not in COLOURS]
    seen: dict[str, int] = {}
    result = []
    for cc in controllers:
        base = COLOURS[cc] if cc in COLOURS else SPARE[spare.index(cc) % len(SPARE)]
        turn = seen.get(cc, 0)
        seen[cc] = turn + 1
        result.append(_shade(base, (0.0, -0.35, 0.42, -0.6, 0.62)[turn % 5]))
    return result


def _shade(colour: str, amount: float) -> str:
    """``colour`` mixed with white (positive amount) or black (negative)."""
    target = 1.0 if amount > 0 else 0.0
    red, green, blue = (c + (target - c) * abs(amount) for c in to_rgb(colour))
    return to_hex((red, green, blue))


def draw(
    panels: Sequence[Panel], x: Axis, y: Axis, columns: int = 1, title: str = "", wide: float = 7.2
) -> Figure:
    """Panels in a grid of ``columns``, sharing both axes."""
    columns = min(columns, len(panels))
    rows = math.ceil(len(panels) / columns)
    with style():
        figure = Figure(
            figsize=(
                wide * {1: 0.85, 2: 1.0}.get(columns, columns / 2.25),
                0.6 + (2.5 if rows > 1 else 2.9) * rows,
            )
        )
        grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
        for axes, panel in zip(grid.flat, panels, strict=False):
            _panel(axes, panel)
            axes.tick_params(labelbottom=True)
        for axes in grid.flat[len(panels) :]:
            axes.set_axis_off()
        _axes(grid, x, y)
        _legend(figure, list(grid.flat[: len(panels)]))
        if title:
            figure.suptitle(title, fontsize=10.5, x=0.01, ha="left")
    return figure


def _panel(axes: Axes, panel: Panel) -> None:
    few = len(panel.series) <= LEGEND_LIMIT
    for number, (series, colour) in enumerate(zip(panel.series, _colours(panel.series), strict=True)):
        marker = MARKERS[number % len(MARKERS)]
        look: dict[str, Any] = {"color": colour, "label": series.label if few else None}
        if series.look == "points":
            axes.plot(series.x, series.y, ".", markersize=2.2, alpha=0.7, **look)
        elif series.look == "model":
            axes.plot(series.x, series.y, "--", linewidth=1.0, **look)
        elif series.low is not None and series.high is not None:
            bars = [series.y - series.low, series.high - series.y]
            axes.errorbar(series.x, series.y, bars, marker=marker, capsize=2.5, elinewidth=0.9, **look)
        elif series.look == "marked":
            axes.plot(series.x, series.y, marker=marker, **look)
        else:
            axes.plot(series.x, series.y, linewidth=1.1 if few else 0.6, alpha=1.0 if few else 0.6, **look)
    axes.set_title(panel.title)


def _colours(series: Sequence[Series]) -> list[str]:
    """The colour of each curve; a model of a controller follows the curve before it."""
    own = [s.look != "model" or not s.cc for s in series]
    fresh = iter(colours([s.cc for s, is_own in zip(series, own, strict=True) if is_own]))
    shown: list[str] = []
    for is_own in own:
        shown.append(next(fresh) if is_own else shown[-1])
    return shown


def _axes(grid: Any, x: Axis, y: Axis) -> None:
    first = grid[0, 0]
    for axis, set_scale, set_limits, own in (
        (x, first.set_xscale, first.set_xlim, first.xaxis),
        (y, first.set_yscale, first.set_ylim, first.yaxis),
    ):
        if axis.scale != "linear":
            set_scale(axis.scale)
            own.set_major_formatter(StrMethodFormatter("{x:g}"))
            own.set_minor_formatter(NullFormatter())
            low, high = own.get_view_interval()
            if high < SHORT_LOG_AXIS * low:
                own.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        set_limits(axis.low, axis.high)
    for axes in grid[-1, :]:
        axes.set_xlabel(x.label)
    for axes in grid[:, 0]:
        axes.set_ylabel(y.label)


def _legend(figure: Figure, axes: Sequence[Axes]) -> None:
    """One legend beside the figure when all panels have the same curves, else one beside each panel."""
    found = [a.get_legend_handles_labels() for a in axes]
    keys = [tuple(zip(names, _colours_of(handles), strict=True)) for handles, names in found]
    if not any(keys):
        return
    if len(set(keys)) == 1:
        figure.legend(*found[0], loc="outside right upper")
    else:
        for one, (_, names) in zip(axes, found, strict=True):
            if not names:
                continue
            rows = math.ceil(len(names) / LEGEND_COLUMNS)
            one.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=LEGEND_COLUMNS, borderaxespad=0.2)
            one.set_title(one.get_title(loc="left"), loc="left", pad=6 + LEGEND_ROW_POINTS * rows)


def _colours_of(handles: Sequence[Any]) -> list[str]:
    """The colours of the curves behind a legend: of a line itself, or of the line of an error bar."""
    lines = [h.lines[0] if isinstance(h, ErrorbarContainer) else h for h in handles]
    return [to_hex(line.get_color()) for line in lines]


# -- runs ----------------------------------------------------------------------------------------------------

Runs = Mapping[str, Sequence[Tables]]
"""Runs to compare: repetitions by label. Curves over time show the first repetition."""


def _over_time(
    runs: Runs, curves: Callable[[Tables], Sequence[metrics.Curve]], y: Axis, factor: float = 1.0
) -> Figure:
    panels = [
        Panel(label, [Series(c.name, c.cc, c.times, c.values * factor) for c in curves(repetitions[0])])
        for label, repetitions in runs.items()
    ]
    return draw(panels, Axis("time (s)"), y, columns=1 if len(panels) == 1 else 2)


def goodput_over_time(runs: Runs, width: float = 1.0) -> Figure:
    """Goodput of every flow in bins of ``width`` seconds, a panel for each label.

    Of many flows those of one name together.
    """

    def curves(run: Tables) -> list[metrics.Curve]:
        return (metrics.goodput_by_group if _many(run) else metrics.goodput_by_flow)(run, width)

    return _over_time(runs, curves, Axis("goodput (Mbit/s)", low=0.0), 1e-6)


def rtt_over_time(runs: Runs) -> Figure:
    """RTT samples of every flow, a panel for each label; of many flows the mean by name."""
    return _over_time(runs, lambda run: _signal(run, "rtt"), Axis("RTT (ms)"))


def window_over_time(runs: Runs) -> Figure:
    """Congestion window of every flow, a panel for each label; of many flows the mean by name."""
    return _over_time(runs, lambda run: _signal(run, "window"), Axis("window (segments)", low=0.0))


def _signal(run: Tables, signal: str) -> list[metrics.Curve]:
    return (metrics.signal_by_group if _many(run) else metrics.signal_by_flow)(run, signal)


def _many(run: Tables) -> bool:
    return bool(run.flows.num_rows > MANY_FLOWS)


def queue_over_time(runs: Runs) -> Figure:
    """Waiting packets of the bottleneck, a panel for each label."""

    def curves(run: Tables) -> list[metrics.Curve]:
        of_all = {str(cc) for cc in run.flows["cc"].to_pylist()}
        return [metrics.queue_curve(run)._replace(cc=of_all.pop() if len(of_all) == 1 else "")]

    return _over_time(runs, curves, Axis("queue (packets)", low=0.0))


def delay_throughput(runs: Runs) -> Figure:
    """The delay-throughput plane: median queueing delay against goodput.

    A point for each flow of each repetition. The ellipse covers one standard deviation around the mean of a
    label's points. Better is up and to the right: the delay axis runs backwards, as is usual for this plane.
    """
    with style():
        figure = Figure(figsize=(6.1, 3.6))
        axes = figure.subplots()
        firsts = [str(repetitions[0].flows["cc"][0].as_py()) for repetitions in runs.values()]
        for number, (label, colour) in enumerate(zip(runs, colours(firsts), strict=True)):
            points = np.array([p for run in runs[label] for p in _delay_and_goodput(run)])
            marker = MARKERS[number % len(MARKERS)]
            axes.scatter(
                points[:, 0], points[:, 1], s=16, color=colour, alpha=0.8, marker=marker, label=label
            )
            _ellipse(axes, points, colour)
        axes.invert_xaxis()
        axes.set_xlabel("median queueing delay (ms), less is to the right")
        axes.set_ylabel("goodput of a flow (Mbit/s)")
        axes.set_ylim(0.0, 1.04 * axes.get_ylim()[1])
        figure.legend(loc="outside right upper")
    return figure


def _delay_and_goodput(run: Tables) -> list[tuple[float, float]]:
    delay = metrics.column(run.flows, "rtt_p50_ms") - metrics.column(run.flows, "base_rtt_ms")
    goodput = metrics.column(run.flows, "goodput_bps") / 1e6
    seen = np.isfinite(delay)
    return list(zip(delay[seen].tolist(), goodput[seen].tolist(), strict=True))


def _ellipse(axes: Axes, points: Array, colour: str) -> None:
    if len(points) < 3:
        return
    values, vectors = np.linalg.eigh(np.cov(points.T))
    wide, high = 2 * np.sqrt(np.maximum(values, 0.0))
    angle = math.degrees(math.atan2(vectors[1, 0], vectors[0, 0]))
    centre = (float(points[:, 0].mean()), float(points[:, 1].mean()))
    axes.add_patch(Ellipse(centre, wide, high, angle=angle, facecolor=colour, alpha=0.15, edgecolor=colour))
