"""The figure of a matrix: heat maps over pairs of controllers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ackclock.figure import HeatMap
from ackclock.plots.draw import in_legend
from ackclock.plots.figure import Figure
from ackclock.plots.heat_maps import heat_map
from ackclock.plots.style import style

MOST_WRITTEN = 12
"""Maps of more controllers have no numbers in them."""


def draw_matrix(maps: Sequence[HeatMap]) -> Figure:
    """Draws maps of the same controllers, two in a row."""
    names = [in_legend(name) for name in maps[0].rows]
    side, lines = max(2.6, 1.0 + 0.42 * len(names)), math.ceil(len(maps) / 2)
    with style():
        figure = Figure(figsize=(2 * (side + 1.3), lines * (side + 0.5)))
        panels = figure.subplots(lines, 2, sharex=True, sharey=True, squeeze=False)
        for axes, shown in zip(panels.flat, maps, strict=True):
            known = shown.values[np.isfinite(shown.values)]
            low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
            ends = (low if shown.low is None else shown.low, high if shown.high is None else shown.high)
            image = heat_map(axes, shown, len(names) <= MOST_WRITTEN, vmin=ends[0], vmax=ends[1])
            axes.set_aspect("equal")
            axes.set_ylim(len(names) - 0.5, -0.5)
            axes.set_xticks(range(len(names)), names, rotation=60)
            axes.set_yticks(range(len(names)), names)
            figure.colorbar(image, ax=axes, shrink=0.8)
        for axes in panels[-1, :]:
            axes.set_xlabel("beside")
        for axes in panels[:, 0]:
            axes.set_ylabel("a flow of")
    return figure
