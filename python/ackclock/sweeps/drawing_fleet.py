"""Figures of many lines: the distribution of a metric, and its median over two columns of their file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.colors import LogNorm, Normalize
from matplotlib.ticker import NullFormatter, StrMethodFormatter

from ackclock.figure import HeatMap
from ackclock.metrics import Array
from ackclock.plots.draw import in_legend
from ackclock.plots.figure import Figure
from ackclock.plots.heat_maps import heat_map
from ackclock.plots.style import colours, logarithmic, style
from ackclock.sweeps.axes import Axis, Design, numbers
from ackclock.sweeps.metrics import Interval, Place

TENFOLD = 10.0
"""A metric whose values differ by more has a logarithmic axis, or scale of colours."""
MOST_WRITTEN_CELLS = 80
"""Heat maps of more cells have no numbers in them."""
DASHES = ("-", "--", ":", "-.")
MOST_BINS = 8
"""The most columns and rows of a map. Each has about as many lines as the others."""


def distribution(
    design: Design, controllers: Sequence[str], label: str, found: Mapping[Place, Interval]
) -> Figure:
    """The share of lines with a value of at most x: a curve for each controller and point of other keys."""
    own = () if design.lines is None else design.lines.keys
    curves: dict[tuple[str, str], list[float]] = {}
    for place, interval in found.items():
        rest = (f"{key.removeprefix('path.')}={value}" for key, value in place.point if key not in own)
        curves.setdefault((place.controller, ", ".join([place.controller, *rest])), []).append(
            interval.median
        )
    with style():
        figure = Figure(figsize=(6.1, 3.4))
        axes = figure.subplots()
        colour = dict(zip(controllers, colours(controllers), strict=True))
        turns = dict.fromkeys(controllers, -1)
        for (cc, name), values in curves.items():
            turns[cc] += 1
            dash = DASHES[turns[cc] % len(DASHES)]
            share = 100.0 * np.arange(1, len(values) + 1) / len(values)
            axes.step(
                sorted(values), share, where="post", color=colour[cc], linestyle=dash, label=in_legend(name)
            )
        every = [value for values in curves.values() for value in values]
        if every and min(every) > 0.0 and max(every) > TENFOLD * min(every):
            logarithmic(axes.xaxis)
        axes.set_xlabel(label)
        axes.set_ylabel("lines (%)")
        axes.set_ylim(0.0, 100.0)
        if curves:
            figure.legend(loc="outside right upper")
    return figure


@dataclass(frozen=True)
class Positions:
    """The places of lines along a column of a map."""

    label: str
    bins: Sequence[int]
    """The number of its bin for each line."""
    names: list[str]

    @classmethod
    def of(cls, axis: Axis, key: str) -> Positions:
        """Bins of a key of the lines: its values if they are few, or ranges with as many lines each."""
        column = [values[axis.keys.index(key)] for values in axis.values]
        found, unit = numbers(column)
        at = np.array([np.nan if one is None else one for one in found])
        known = np.unique(at)
        label = f"{key.removeprefix('path.')} ({unit})" if unit else key.removeprefix("path.")
        if len(known) <= MOST_BINS:
            return cls(label, np.searchsorted(known, at).tolist(), [f"{one:g}" for one in known])
        edges = np.unique(np.percentile(at, np.linspace(0.0, 100.0, MOST_BINS + 1)))
        bins = np.clip(np.searchsorted(edges, at, side="right") - 1, 0, len(edges) - 2)
        names = [f"{low:.3g} to {high:.3g}" for low, high in pairwise(edges)]
        return cls(label, bins.tolist(), names)


def fleet_map(
    label: str, across: Positions, up: Positions, values: Mapping[str, Mapping[int, float]]
) -> Figure:
    """The median over the lines in each cell, a map for each name in ``values``, whose keys are lines."""
    maps = [_map(name, across, up, found) for name, found in values.items()]
    known = np.concatenate([one.values[np.isfinite(one.values)] for one in maps])
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    norm = (LogNorm if low > 0.0 and high > TENFOLD * low else Normalize)(low, high)
    with style():
        size = max(6.1, 2.0 + 4.2 * len(maps)), 1.6 + 0.4 * len(up.names)
        figure = Figure(figsize=size)
        panels = figure.subplots(1, len(maps), squeeze=False, sharey=True)[0]
        image: Any = None
        for axes, shown in zip(panels, maps, strict=True):
            written = shown.values.size <= MOST_WRITTEN_CELLS
            image = heat_map(axes, shown, written, norm=norm)
            axes.set_xticks(range(len(shown.columns)), shown.columns, rotation=40)
            axes.set_yticks(range(len(shown.rows)), shown.rows)
            axes.set_xlabel(across.label)
        panels[0].set_ylabel(up.label)
        bar = figure.colorbar(image, ax=list(panels), label=label, format=StrMethodFormatter("{x:g}"))
        bar.ax.yaxis.set_minor_formatter(NullFormatter())
    return figure


def _map(title: str, across: Positions, up: Positions, found: Mapping[int, float]) -> HeatMap:
    grid: Array = np.full((len(up.names), len(across.names)), np.nan)
    cells: dict[tuple[int, int], list[float]] = {}
    for line, value in found.items():
        cells.setdefault((up.bins[line], across.bins[line]), []).append(value)
    for cell, of in cells.items():
        grid[cell] = np.median(of)
    return HeatMap(title, across.names, up.names, grid, [[f"{one:.3g}" for one in row] for row in grid])
