"""Figures as text: every line, area and marker with its look and extent, and the words for screen readers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import Collection, PathCollection, PolyCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Annotation, Text
from matplotlib.ticker import FixedLocator

from ackclock.plots.described import described


def as_text(figure: Figure) -> str:
    """The size of a figure, and a line for each artist of its axes."""
    wide, tall = figure.get_size_inches()
    lines = [f"figure {wide:.3g} x {tall:.3g} in"]
    for axes in figure.axes:
        lines += [f"  axes {_limits(axes)}", *(f"    {one}" for one in _artists(axes))]
    of_axes = [axes.get_legend() for axes in figure.axes]
    every = [*figure.legends, *(legend for legend in of_axes if legend is not None)]
    legends = [text.get_text().strip() for legend in every for text in legend.get_texts()]
    return "\n".join([*lines, f"  legend {legends}", f"  words {described(figure)}", ""])


def _limits(axes: Axes) -> str:
    x, y = (", ".join(f"{one:.4g}" for one in ends) for ends in (axes.get_xlim(), axes.get_ylim()))
    ticks = "".join(
        f"; ticks {[label.get_text() for label in own.get_ticklabels()]} at {own.get_ticklocs().tolist()}"
        for own in (axes.xaxis, axes.yaxis)
        if isinstance(own.get_major_locator(), FixedLocator)
    )
    return f"x {x}; y {y}; {axes.get_xscale()} {axes.get_yscale()}{ticks}"


def _artists(axes: Axes) -> Iterator[str]:
    for one in [*axes.lines, *axes.collections, *axes.patches, *axes.texts]:
        alpha = "" if one.get_alpha() is None else f" alpha {one.get_alpha():g}"
        # The library names others by their numbers.
        label = "" if str(one.get_label()).startswith("_child") else f" {one.get_label()!r}"
        yield f"{_look(one)}{alpha}{label}"


def _look(one: object) -> str:
    match one:
        case Line2D():
            stroke = f"{to_hex(one.get_color())} {one.get_linestyle()} {one.get_linewidth():g}"
            marker = f"marker {one.get_marker()} {one.get_markersize():g}"
            return f"line {stroke} {marker} {_extent(one.get_xydata())}"
        case Collection():
            widths = ", ".join(f"{width:g}" for width in np.unique(one.get_linewidths()))
            colours = sorted({to_hex(colour, keep_alpha=True) for colour in one.get_facecolors()})
            points = [path.vertices for path in one.get_paths()]
            if isinstance(one, PathCollection):
                points = [one.get_offsets()]
                widths += "".join(f" size {size:g}" for size in np.unique(one.get_sizes()))
            name = "area" if isinstance(one, PolyCollection) else type(one).__name__
            return f"{name} {colours} {widths} {_extent(np.concatenate(points or [[]]))}"
        case Patch():
            points = one.get_path().transformed(one.get_patch_transform()).vertices
            colour = f"{to_hex(one.get_facecolor())} {one.get_linewidth():g}"
            return f"{type(one).__name__} {colour} {_extent(points)}"
        case Text():
            at = ", ".join(f"{float(place):.4g}" for place in one.get_position())
            if isinstance(one, Annotation):
                at += " from " + ", ".join(f"{float(place):.4g}" for place in one.xy)
            look = f"{to_hex(one.get_color())} {one.get_fontsize():g} {one.get_rotation():g}"
            return f"text {one.get_text()!r} {look} at {at}"
    raise TypeError(one)


def _extent(points: object) -> str:
    """The number of points, and the smallest and largest."""
    known = np.asarray(points, dtype=float)
    if not known.size:
        return "empty"
    low, high = np.nanmin(known, axis=0), np.nanmax(known, axis=0)
    return f"{len(known)} in {low[0]:.4g}, {low[1]:.4g} to {high[0]:.4g}, {high[1]:.4g}"
