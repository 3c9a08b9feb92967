"""The figure of a matrix: heat maps of what each controller has beside each other."""

from __future__ import annotations

import math

import numpy as np
from matplotlib.axes import Axes
from matplotlib.image import AxesImage

from ackclock.matrix import QUANTITIES, Matrix
from ackclock.metrics import Array
from ackclock.plots.draw import in_legend
from ackclock.plots.figure import Figure
from ackclock.plots.style import on_colour, style

MOST_WRITTEN = 12
"""Maps of more controllers have no numbers in them."""

RANGES = {"share": (0.0, 100.0), "harm_goodput": (-1.0, 1.0), "harm_rtt": (-1.0, 1.0)}
"""What the colours cover; of other quantities that of the values."""

MAPS = {"share": "RdBu", "harm_goodput": "RdBu_r", "harm_rtt": "RdBu_r", "rtt_mean_ms": "cividis"}
"""Where a map has two colours, red is what is bad for the flow: a small share, and harm."""


def draw_matrix(matrix: Matrix) -> Figure:
    """A heat map for each of ``QUANTITIES``: a row for the flow that has it, a column for the other."""
    side = max(2.6, 1.0 + 0.42 * len(matrix.names))
    with style():
        figure = Figure(figsize=(2 * (side + 1.3), 2 * (side + 0.5)))
        panels = figure.subplots(2, 2, sharex=True, sharey=True)
        for axes, (name, quantity) in zip(panels.flat, QUANTITIES.items(), strict=True):
            grid = _grid(matrix, name)
            known = grid[np.isfinite(grid)]
            ends = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
            low, high = RANGES.get(name, ends)
            image = axes.imshow(grid, vmin=low, vmax=high, cmap=MAPS[name])
            axes.grid(visible=False)
            axes.set_title(quantity.words)
            names = [in_legend(one) for one in matrix.names]
            axes.set_xticks(range(len(names)), names, rotation=60)
            axes.set_yticks(range(len(names)), names)
            if len(names) <= MOST_WRITTEN:
                _write(axes, matrix, grid, name, image)
            figure.colorbar(image, ax=axes, shrink=0.8)
        for axes in panels[-1, :]:
            axes.set_xlabel("beside")
        for axes in panels[:, 0]:
            axes.set_ylabel("a flow of")
    return figure


def _grid(matrix: Matrix, quantity: str) -> Array:
    factor = QUANTITIES[quantity].factor
    values = [
        [matrix.median(quantity, controller, beside) for beside in matrix.names]
        for controller in matrix.names
    ]
    return np.array([[math.nan if v is None else v * factor for v in row] for row in values])


def _write(axes: Axes, matrix: Matrix, grid: Array, name: str, image: AxesImage) -> None:
    """The numbers, black or white as the colour below them is light or dark."""
    shades = image.to_rgba(grid)
    for (y, x), value in np.ndenumerate(grid):
        if math.isfinite(value):
            text = matrix.shown(name, matrix.names[y], matrix.names[x])
            colour = on_colour(shades[y, x])
            axes.text(x, y, text, ha="center", va="center", fontsize=7, color=colour)
