"""A figure in words, for screen readers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection, QuadMesh
from matplotlib.container import BarContainer, ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

MOST_PANELS = 6
MOST_CURVES = 8
"""Longer sentences say how many panels or curves follow."""


def described(figure: Figure) -> str:
    """A sentence for each panel: its axes, with the ends and the median of each curve that has a name."""
    panels = [panel for panel in figure.axes if panel.axison and panel.get_label() != "<colorbar>"]
    said = [_panel(panel) for panel in panels[:MOST_PANELS]]
    more = [f"{len(panels) - MOST_PANELS} further panels."] if len(panels) > MOST_PANELS else []
    return " ".join([*said, *more])


def _panel(axes: Axes) -> str:
    shared = axes.figure.axes[0]
    x, y = (one or other for one, other in (
        (axes.get_xlabel(), shared.get_xlabel()), (axes.get_ylabel(), shared.get_ylabel())
    ))  # fmt: skip
    curves = list(_curves(axes)) or list(_unnamed(axes))
    said = [f"{name} {_range(values)}" for name, values in curves[:MOST_CURVES]]
    if len(curves) > MOST_CURVES:
        said.append(f"{len(curves) - MOST_CURVES} more")
    head = f"{axes.get_title('left')}: " if axes.get_title("left") else ""
    of = f"{y} against {x}" if x and y else y or x or "values"
    return f"{head}{of}: {'; '.join(said) or 'nothing to show'}."


def _curves(axes: Axes) -> Iterator[tuple[str, Any]]:
    """Names and values of the curves and points of a panel."""
    along = 0 if getattr(axes.figure, "rows", False) else 1
    for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
        if isinstance(handle, ErrorbarContainer):
            handle = handle[0]
        if isinstance(handle, Line2D):
            yield label.strip(), np.asarray(handle.get_data()[along], float)
        elif isinstance(handle, PathCollection):
            yield label.strip(), np.asarray(handle.get_offsets(), float)[:, along]
        elif isinstance(handle, BarContainer):
            yield (
                label.strip(),
                np.array([bar.get_width() if along == 0 else bar.get_height() for bar in handle]),
            )
    for cells in axes.collections:
        if isinstance(cells, QuadMesh):
            yield "cells", np.ma.filled(np.ma.asarray(cells.get_array(), float), np.nan).ravel()


def _unnamed(axes: Axes) -> Iterator[tuple[str, Any]]:
    """The number and the values of curves of which a legend would name too many."""
    if axes.lines:
        yield (
            f"{len(axes.lines)} curves",
            np.concatenate([np.asarray(one.get_ydata(), float) for one in axes.lines]),
        )


def _range(values: Any) -> str:
    known = values[np.isfinite(values)]
    if not known.size:
        return "without values"
    low, median, high = np.percentile(known, (0, 50, 100))
    # Rounding leaves 1e-12 where a sum is 0.
    low, median, high = (0.0 if abs(one) < 1e-9 * np.abs(known).max() else one for one in (low, median, high))
    if low == high:
        return _number(low)
    return f"{_number(low)} to {_number(high)}, median {_number(median)}"


def _number(value: float) -> str:
    """Three digits, and no power of ten below a million."""
    return f"{float(f'{value:.3g}'):g}"
