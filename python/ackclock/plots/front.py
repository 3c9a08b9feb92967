"""Points with intervals on two axes, and the line through those that no other beats in both."""

from __future__ import annotations

from collections.abc import Sequence

from ackclock.figure import Axis, Cross
from ackclock.plots.draw import in_legend
from ackclock.plots.figure import Figure
from ackclock.plots.style import NEUTRAL, logarithmic, style

FIRST = "#b2182b"
"""The colour of the points of the front."""


def draw_front(crosses: Sequence[Cross], x: Axis, y: Axis) -> Figure:
    """Each point with its name; the front is red, and a line joins its points by their x."""
    with style():
        figure = Figure(figsize=(7.2, 5.4))
        axes = figure.subplots()
        for one in crosses:
            colour = FIRST if one.is_first else NEUTRAL
            bars = [[[abs(at[0] - at[1])], [abs(at[2] - at[0])]] for at in (one.x, one.y)]
            axes.errorbar(
                [one.x[0]],
                [one.y[0]],
                bars[1],
                bars[0],
                "o",
                color=colour,
                markersize=3,
                elinewidth=0.6,
                label=in_legend(one.label),
            )
            axes.annotate(
                in_legend(one.label),
                (one.x[0], one.y[0]),
                xytext=(3, 3),
                textcoords="offset points",
                fontsize=6.5,
                color=colour,
            )
        first = sorted((one.x[0], one.y[0]) for one in crosses if one.is_first)
        axes.plot([at for at, _ in first], [at for _, at in first], color=FIRST, linewidth=0.8)
        for axis, own in ((x, axes.xaxis), (y, axes.yaxis)):
            if axis.scale != "linear":
                logarithmic(own)
        axes.set_xlabel(x.label)
        axes.set_ylabel(y.label)
    return figure
