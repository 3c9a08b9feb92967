"""Small multiples of bars and boxes, for papers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from ackclock import spread
from ackclock.figure import StripRow, Strips
from ackclock.plots.draw import in_legend
from ackclock.plots.figure import Figure
from ackclock.plots.style import NEUTRAL, looks, style


def strips(rows: Sequence[StripRow]) -> Figure:
    """A line of axes for each row and a column for each quantity.

    A single value is a bar from 0. Several are a box plot: quartiles, the smallest and largest, the median,
    and below the box the bootstrap interval of the median.
    """
    columns = max(len(row.cells) for row in rows)
    heights = [max(len(cell.strips) for cell in row.cells) for row in rows]
    with style():
        figure = Figure(figsize=(2.6 * columns, 0.4 + 0.35 * len(rows) + 0.27 * sum(heights)))
        figure.rows = True
        ratios = [one + 1.2 for one in heights]
        grid = figure.subplots(len(rows), columns, squeeze=False, height_ratios=ratios)
        for line, row in zip(grid, rows, strict=True):
            for axes, cell in zip(line, row.cells, strict=False):
                _cell(axes, cell)
            line[0].set_title(in_legend(row.name))
            for axes in line[len(row.cells) :]:
                axes.set_axis_off()
        for axes, cell in zip(grid[-1], rows[-1].cells, strict=False):
            axes.set_xlabel(f"{cell.title} ({cell.unit})")
    return figure


def _cell(axes: Axes, cell: Strips) -> None:
    seen = looks([(one.label, one.cc) for one in cell.strips])
    for place, one in enumerate(cell.strips):
        found, colour = spread.spread(one.values), seen[one.label, one.cc]["colour"]
        if found is None:
            continue
        if found.count == 1:
            axes.barh(place, found.median, height=0.6, color=colour, label=in_legend(one.label))
            continue
        extent = [found.low, found.median, found.high]
        axes.plot(extent, [place] * 3, color=colour, linewidth=0.8, label=in_legend(one.label))
        axes.barh(place, found.q3 - found.q1, left=found.q1, height=0.5, color=colour, alpha=0.45)
        axes.plot([found.median] * 2, [place - 0.3, place + 0.3], color="black", linewidth=1.4)
        if found.interval is not None:
            axes.plot(found.interval, [place + 0.38] * 2, color=NEUTRAL, linewidth=2.0)
    axes.set_yticks(np.arange(len(cell.strips)), [in_legend(one.label) for one in cell.strips])
    axes.set_ylim(len(cell.strips) - 0.4, -0.6)
    axes.use_sticky_edges = False
    axes.margins(x=0.04)
    axes.set_xlim(left=0.0)
    axes.grid(visible=False, axis="y")
