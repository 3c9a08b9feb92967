"""Heat maps: coloured cells with their values written into them."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.image import AxesImage

from ackclock.figure import HeatMap
from ackclock.plots.style import on_colour


def heat_map(axes: Axes, shown: HeatMap, written: bool, **options: Any) -> AxesImage:
    """Draws a heat map, ``written`` with the text of each cell. ``options`` go to imshow."""
    image = axes.imshow(shown.values, cmap=shown.colours, **options)
    axes.grid(visible=False)
    axes.set_title(shown.title)
    if written:
        colours = image.to_rgba(shown.values)
        for (row, column), value in np.ndenumerate(shown.values):
            if np.isfinite(value):
                text, colour = shown.texts[row][column], on_colour(colours[row, column])
                axes.text(column, row, text, ha="center", va="center", fontsize=7, color=colour)
    return image
