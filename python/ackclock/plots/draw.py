"""Drawing: panels of curves on axes with units, legends beside the data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.container import ErrorbarContainer
from matplotlib.lines import Line2D
from matplotlib.textpath import TextPath

from ackclock.figure import Axis, Panel, Series
from ackclock.plots.figure import Figure
from ackclock.plots.style import NEUTRAL, colours, dashes_of, logarithmic, on_dark, style

MARKERS = "os^Dv<>P*X"
LEGEND_LIMIT = 10
"""A panel with more curves than this has no legend: it would be too long to read."""
LEGEND_COLUMNS = 4
DOT, LARGE_DOT, FEW_DOTS = 2.2, 6.0, 50
"""Sizes of dots: of a cloud, and of so few that each has to be found."""
HAIR_SPACE = "\u200a"
LEGEND_ROW_POINTS = 13
LEGEND_HANDLE_POINTS = 38
"""The width of an entry of a legend beside its text: line and gaps."""
LEGEND_BESIDE = 0.2
"""A legend wider than this share of the figure is above the panels, not beside them."""
PANEL_SHARE = 0.75
"""The part of its column that a panel has for its own legend."""
_OF_A_PAPER = ("reported", "across", "band")


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
        shown = [series.cc for panel in panels for series in panel.series]
        for axes, panel in zip(grid.flat, panels, strict=False):
            _panel(axes, panel, shown)
            axes.tick_params(labelbottom=True)
        for axes in grid.flat[len(panels) :]:
            axes.set_axis_off()
        _axes(grid, x, y)
        _legends(figure, list(grid.flat[: len(panels)]), panels, columns)
        if title:
            figure.suptitle(title, fontsize=10.5, x=0.01, ha="left")
    return figure


def _panel(axes: Axes, panel: Panel, controllers: Sequence[str]) -> None:
    others = [one.label for one in panel.series if one.look == "background"]
    few = len(panel.series) - len(others) <= LEGEND_LIMIT
    dashes = dashes_of([series.cc for series in panel.series])
    turns = _turns(panel.series)
    for number, (series, colour) in enumerate(
        zip(panel.series, _colours(panel.series, controllers), strict=True)
    ):
        marker = MARKERS[number % len(MARKERS)]
        look: dict[str, Any] = {"color": colour, "label": in_legend(series.label) if few else ""}
        if series.look == "background":
            several = f"{others[0]} to {others[-1]}" if len(others) > 1 else others[0]
            together = several if series.label == others[0] else ""
            axes.plot(series.x, series.y, color=NEUTRAL, linewidth=0.6, alpha=0.45, label=in_legend(together))
        elif series.look == "points":
            size = DOT if len(series.x) > FEW_DOTS else LARGE_DOT
            axes.plot(series.x, series.y, ".", markersize=size, alpha=0.7, **look)
        elif series.look in ("reported", "across"):
            at = series.y if series.look == "reported" else series.x
            ends = [at if end is None else end for end in (series.low, series.high)]
            # A reported value may be outside its band.
            bars = [np.maximum(at - ends[0], 0.0), np.maximum(ends[1] - at, 0.0)]
            up, aside = (bars, None) if series.look == "reported" else (None, bars)
            axes.errorbar(
                series.x, series.y, up, aside, fmt="*", markersize=8, capsize=4, elinewidth=0.7, **look
            )
        elif series.look == "band":
            axes.plot(series.x, series.y, "--", linewidth=0.9, **look)
            if series.low is not None and series.high is not None:
                axes.fill_between(series.x, series.low, series.high, color=colour, alpha=0.12, linewidth=0)
        elif series.look == "model":
            dashed = (0, MODELS[turns[number]]) if turns[number] else "--"
            axes.plot(series.x, series.y, linestyle=dashed, linewidth=1.0, **look)
        elif series.low is not None and series.high is not None:
            bars = [series.y - series.low, series.high - series.y]
            axes.errorbar(
                series.x + series.aside, series.y, bars, marker=marker, capsize=2.5, elinewidth=0.9, **look
            )
        elif series.look == "marked":
            axes.plot(series.x, series.y, marker=marker, **look)
        else:
            if series.look == "dashed" and few and len(panel.series) > 1:
                look["linestyle"] = (0, dash) if (dash := dashes[number]) else "-"
            axes.plot(series.x, series.y, linewidth=1.1 if few else 0.6, alpha=1.0 if few else 0.6, **look)
    axes.set_title(panel.title)


DASHED = (6, 3)
"""The dashes of a model and of a band, on a page."""
MODELS = (DASHED, (2, 2), (9, 3, 2, 3))
"""The dashes of models of one controller, or of none, that follow each other."""


def _turns(series: Sequence[Series]) -> list[int]:
    """The place of each model in ``MODELS``."""
    turns: list[int] = []
    for number, one in enumerate(series):
        before = series[number - 1] if number else None
        follows = before is not None and (before.look, before.cc) == ("model", one.cc)
        turns.append((turns[-1] + 1) % len(MODELS) if follows and one.look == "model" else 0)
    return turns


def page_looks(panels: Sequence[Panel]) -> list[list[dict[str, Any]]]:
    """The colours and dashes of the curves of each panel in charts of a page, as ``draw`` chooses them."""
    controllers = [series.cc for panel in panels for series in panel.series]
    return [_panel_looks(panel.series, controllers) for panel in panels]


def _panel_looks(series: Sequence[Series], controllers: Sequence[str]) -> list[dict[str, Any]]:
    own = dashes_of([one.cc for one in series])
    dashes: dict[str, Sequence[tuple[int, ...]]] = {"dashed": own}
    dashes |= {"model": [MODELS[turn] for turn in _turns(series)], "band": [DASHED] * len(own)}
    found: list[dict[str, Any]] = []
    for number, (one, colour) in enumerate(zip(series, _colours(series, controllers), strict=True)):
        dash = dashes[one.look][number] if one.look in dashes else ()
        found.append({"colour": colour, "dark": on_dark(colour), "dash": list(dash)})
    return found


def in_legend(label: str) -> str:
    """A label as a legend shows it: matplotlib leaves out one that begins with ``_``."""
    return f"{HAIR_SPACE}{label}" if label.startswith("_") else label


def _colours(series: Sequence[Series], controllers: Sequence[str]) -> list[str]:
    """The colour of each curve of a panel, in a figure of these controllers.

    A model of a controller has the colour of the curve before it, if there is one. A reported value has the
    colour of the first curve of its controller.
    """
    first = {s.cc: number for number, s in reversed(list(enumerate(series))) if s.look not in _OF_A_PAPER}
    follows = [
        first.get(s.cc) if s.look in _OF_A_PAPER else number - 1 if s.look == "model" and number else None
        for number, s in enumerate(series)
    ]
    follows = [other if s.cc else None for s, other in zip(series, follows, strict=True)]
    own = [s.cc for s, other in zip(series, follows, strict=True) if other is None]
    fresh = iter(colours(own, controllers))
    shown: list[str] = []
    for other in follows:
        shown.append(next(fresh) if other is None else shown[other])
    return shown


def _axes(grid: Any, x: Axis, y: Axis) -> None:
    first = grid[0, 0]
    for axis, set_limits, own in ((x, first.set_xlim, first.xaxis), (y, first.set_ylim, first.yaxis)):
        if axis.scale != "linear":
            logarithmic(own)
        set_limits(axis.low, axis.high)
    for axes in grid[-1, :]:
        axes.set_xlabel(x.label)
    for axes in grid[:, 0]:
        axes.set_ylabel(y.label)


Entry = tuple[Any, str]
"""An entry of a legend: its handle and its name."""


def _legends(figure: Figure, axes: Sequence[Axes], panels: Sequence[Panel], columns: int) -> None:
    """One legend for the figure, or one for each panel where a name has another colour in another panel.

    Reported values have one entry for the whole figure.
    """
    entries = [list(zip(*one.get_legend_handles_labels(), strict=True)) for one in axes]
    of_paper = {in_legend(one.label) for panel in panels for one in panel.series if one.look in _OF_A_PAPER}
    keyed = [{_key(entry, of_paper): entry for entry in found} for found in entries]
    every = {key for found in keyed for key in found}
    if len({name for _, name in every}) < len(every) or len(every) > LEGEND_LIMIT:
        every = {key for key in every if key[1] in of_paper}
    shared = {key: entry for found in keyed for key, entry in found.items() if key in every}
    own = [[entry for key, entry in found.items() if key not in every] for found in keyed]
    figure_points = 72 * figure.get_figwidth()
    named = sorted(shared.values(), key=lambda entry: entry[1] in of_paper)
    rows = _of_figure(figure, named, figure_points, beside=not any(own))
    rows += _of_panels(axes, own, PANEL_SHARE * figure_points / columns, columns)
    figure.set_figheight(figure.get_figheight() + rows * LEGEND_ROW_POINTS / 72)


def _key(entry: Entry, of_paper: set[str]) -> tuple[str, str]:
    """The colour and the name of an entry. A reported value has no colour of its own."""
    handle, name = entry
    return ("" if name in of_paper else _colour_of(handle), name)


def _of_figure(figure: Figure, entries: Sequence[Entry], points: float, beside: bool) -> int:
    """Draws the legend of a figure. Returns the number of rows that it takes above the panels."""
    if not entries:
        return 0
    handles, names = zip(*entries, strict=True)
    if beside and _widest(names) <= LEGEND_BESIDE * points:
        figure.legend(handles, names, loc="outside right upper", markerscale=_marker_scale(handles))
        return 0
    columns = _fitting(names, points)
    figure.legend(handles, names, loc="outside upper left", ncols=columns, markerscale=_marker_scale(handles))
    return math.ceil(len(names) / columns)


def _of_panels(axes: Sequence[Axes], own: Sequence[Sequence[Entry]], points: float, columns: int) -> int:
    """Draws the legend of each panel. Returns the rows that they take beyond the first, in all lines."""
    beyond = [0] * math.ceil(len(axes) / columns)
    for number, (one, entries) in enumerate(zip(axes, own, strict=True)):
        if not entries:
            continue
        handles, names = zip(*entries, strict=True)
        across = min(_fitting(names, points), LEGEND_COLUMNS)
        rows = math.ceil(len(names) / across)
        beyond[number // columns] = max(beyond[number // columns], rows - 1)
        one.legend(
            handles,
            names,
            loc="lower left",
            bbox_to_anchor=(0.0, 1.0),
            ncols=across,
            borderaxespad=0.2,
            markerscale=_marker_scale(handles),
        )
        one.set_title(one.get_title(loc="left"), loc="left", pad=6 + LEGEND_ROW_POINTS * rows)
    return sum(beyond)


def _marker_scale(handles: Sequence[Any]) -> float:
    """Enlarges the markers of a legend of dots, which are small in the panel."""
    return 3.0 if all(isinstance(one, Line2D) and one.get_marker() == "." for one in handles) else 1.0


def _fitting(names: Sequence[str], points: float) -> int:
    """The number of entries of a legend that fit side by side, as few as its number of rows allows."""
    most = max(1, min(len(names), int(points / _widest(names))))
    return math.ceil(len(names) / math.ceil(len(names) / most))


def _widest(names: Sequence[str]) -> float:
    """The width of the widest entry of a legend, in points."""
    size = float(mpl.rcParams["legend.fontsize"])
    widths = [TextPath((0, 0), name, size=size).get_extents().width for name in names]
    return LEGEND_HANDLE_POINTS + float(max(widths))


def _colour_of(handle: Any) -> str:
    """The colour of the curve behind an entry: of a line itself, or of the line of an error bar."""
    line = handle.lines[0] if isinstance(handle, ErrorbarContainer) else handle
    return to_hex(line.get_color())
