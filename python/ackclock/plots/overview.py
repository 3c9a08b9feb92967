"""The figures of the first page of a report, for papers: the stack over time, and the distributions."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from ackclock.figure import Panel
from ackclock.overview import Overview
from ackclock.plots.draw import in_legend
from ackclock.plots.figure import Figure
from ackclock.plots.style import NEUTRAL, logarithmic, looks, style

LEGEND_LIMIT = 12
"""A figure with more curves than this has no legend: it would be too long to read."""


def stack(shown: Overview) -> Figure:
    """Throughput, RTT, queue and window over the same time, one above the other."""
    return _panels(shown, shown.stack, columns=1)


def distributions(shown: Overview) -> Figure:
    """The distribution functions side by side."""
    return _panels(shown, shown.distributions, columns=min(2, len(shown.distributions)))


def curve_looks(shown: Overview) -> Mapping[tuple[str, str], Mapping[str, Any]]:
    """The look of every curve of an overview: see ``style.looks``."""
    panels = [*shown.stack, *shown.distributions]
    curves = [(one.label, one.cc) for panel in panels for one in panel.curves]
    points = [(one.label, one.cc) for one in shown.plane.points]
    ticks = [(one.label, one.cc) for panel in panels for one in panel.ticks]
    return looks(list(dict.fromkeys([*curves, *points, *ticks])))


def _panels(shown: Overview, panels: Sequence[Panel], columns: int) -> Figure:
    of_curves = curve_looks(shown)
    with style():
        rows = -(-len(panels) // columns)
        figure = Figure(
            figsize=(6.4 if columns == 1 else 8.0, 0.5 + 1.55 * rows if columns == 1 else 2.8 * rows)
        )
        grid = figure.subplots(rows, columns, sharex=columns == 1, squeeze=False)
        for axes, panel in zip(grid.flat, panels, strict=False):
            _panel(axes, panel, of_curves)
            if columns > 1:
                axes.set_xlabel(panel.x.label)
        for axes in grid.flat[len(panels) :]:
            axes.set_axis_off()
        if columns == 1:
            grid[-1, 0].set_xlabel(panels[0].x.label)
        handles, labels = grid[0, 0].get_legend_handles_labels()
        if 1 < len(labels) <= LEGEND_LIMIT:
            figure.legend(handles, labels, loc="outside upper center", ncols=min(4, len(labels)))
    return figure


def _panel(axes: Axes, panel: Panel, of_curves: Mapping[tuple[str, str], Mapping[str, Any]]) -> None:
    for band in panel.curves:
        look = of_curves[band.label, band.cc]
        dash = (0, tuple(look["dash"])) if look["dash"] else "-"
        axes.plot(
            band.x,
            band.y,
            color=look["colour"],
            linestyle=dash,
            linewidth=1.1,
            label=in_legend(band.label),
        )
        if band.low is not None and band.high is not None:
            axes.fill_between(band.x, band.low, band.high, color=look["colour"], alpha=0.18, linewidth=0)
    for level in panel.levels:
        axes.plot(level.x, level.y, color=NEUTRAL, linestyle=":", linewidth=0.9)
        known = level.y[np.isfinite(level.y)]
        if known.size:
            _annotate(axes, level.label, "data", float(known[-1]))
    if any(ticks.at.size for ticks in panel.ticks):
        _annotate(axes, "drops", "axes fraction", 0.02 + 0.025 * len(panel.ticks))
    for number, ticks in enumerate(panel.ticks):
        low, colour = 0.02 + 0.05 * number, of_curves[ticks.label, ticks.cc]["colour"]
        across = axes.get_xaxis_transform()
        axes.vlines(ticks.at, low, low + 0.04, transform=across, color=colour, linewidth=0.5)
    if panel.y.scale == "log":
        logarithmic(axes.yaxis)
        axes.set_ylim(bottom=panel.y.low and panel.y.low / 1.1)
    elif panel.y.low is not None:
        axes.set_ylim(bottom=panel.y.low)
    if panel.x.scale == "log":
        logarithmic(axes.xaxis)
    axes.set_ylabel(panel.y.label)


def _annotate(axes: Axes, name: str, of: str, y: float) -> None:
    """Writes the name of a line to the right of its end."""
    axes.annotate(
        textwrap.fill(name, 9),
        (1.0, y),
        xycoords=("axes fraction", of),
        xytext=(3, 0),
        textcoords="offset points",
        va="center",
        fontsize=7,
        color=NEUTRAL,
        annotation_clip=False,
    )
