"""Heat maps: coloured cells with their values written into them."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh

from ackclock.figure import HeatMap
from ackclock.plots.style import on_colour


def heat_map(axes: Axes, shown: HeatMap, written: bool, **options: Any) -> QuadMesh:
    """Draws a heat map, ``written`` with the text of each cell. The first row is the lowest.

    Cell (0, 0) has its middle at (0, 0). ``options`` go to pcolormesh, which fills a rectangle for each cell:
    an image of the cells would be enlarged to the pixels of the figure before it is coloured.
    """
    across, down = (np.arange(size + 1) - 0.5 for size in shown.values.T.shape)
    cells = axes.pcolormesh(across, down, shown.values, cmap=shown.colours, **options)
    axes.grid(visible=False)
    axes.set_title(shown.title)
    if written:
        colours = cells.to_rgba(shown.values)
        for (row, column), value in np.ndenumerate(shown.values):
            if np.isfinite(value):
                text, colour = shown.texts[row][column], on_colour(colours[row, column])
                axes.text(column, row, text, ha="center", va="center", fontsize=7, color=colour)
    return cells
