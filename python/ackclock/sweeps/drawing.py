"""Figures of sweeps: lines over one key, heat maps over two and three, points for drawn samples."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, Normalize
from matplotlib.ticker import NullFormatter, NullLocator, StrMethodFormatter

from ackclock.errors import InputError
from ackclock.figure import HeatMap
from ackclock.metrics import Array
from ackclock.plots.draw import MARKERS, in_legend
from ackclock.plots.figure import Figure
from ackclock.plots.heat_maps import heat_map
from ackclock.plots.style import colours, logarithmic, style
from ackclock.sweeps.axes import Axis, Design, numbers
from ackclock.sweeps.drawing_fleet import MOST_WRITTEN_CELLS, TENFOLD, distribution
from ackclock.sweeps.metrics import Interval, Place

LOG_FROM = 20.0
"""A swept key whose values cover this factor or more has a logarithmic axis."""
MOST_PANELS = 40
MOST_LETTERS = 6
"""Longer values are written askew below the columns of a heat map."""
LEAST_TALL = 2.6
"""The least height of heat maps, in inches: the title of their colours needs this height."""
MOST_NAMES = 24
"""An axis of more texts names every second of them, or third."""
MOST_TICKS = 8
"""An axis of no more values has a tick at each of them."""


Intervals = Mapping[Place, Interval]
"""The intervals of one metric, of the places with a value."""


def draw_sweep(design: Design, controllers: Sequence[str], label: str, found: Intervals) -> Figure:
    """The figure of one metric: see ``Sweep.plot``. Raises InputError."""
    if design.lines is not None:
        return distribution(design, controllers, label, found)
    if design.samples is not None:
        return _samples(design, controllers, label, found)
    if len(design.axes) > 3:
        raise InputError(f"a sweep over {len(design.axes)} axes: figures have at most 3; use the tables")
    if len(design.axes) <= 1:
        return _lines(design, controllers, label, found)
    return _heat_maps(design, controllers, label, found)


def _of(controller: str, found: Intervals) -> list[tuple[Place, Interval]]:
    """The places of a controller."""
    return [(place, interval) for place, interval in found.items() if place.controller == controller]


def _lines(design: Design, controllers: Sequence[str], label: str, found: Intervals) -> Figure:
    """Median and interval of each controller over the values of the key."""
    with style():
        figure = Figure(figsize=(6.1, 3.4))
        axes = figure.subplots()
        scale = _Scale(design.axes[0]) if design.axes else None
        shown: list[float] = []
        for number, (cc, colour) in enumerate(zip(controllers, colours(controllers), strict=True)):
            own = _of(cc, found)
            if not own:
                continue
            x = [float(number) if scale is None else scale.at(place.point[0][1]) for place, _ in own]
            low, median, high = np.array([interval for _, interval in own]).T
            shown += [*low, *median]
            axes.errorbar(
                x,
                median,
                [median - low, high - median],
                color=colour,
                marker=MARKERS[number % len(MARKERS)],
                linestyle="-" if scale is not None and scale.ordered else "none",
                capsize=2.5,
                elinewidth=0.9,
                label=in_legend(cc),
            )
        if scale is None:
            axes.set_xticks(range(len(controllers)), [in_legend(cc) for cc in controllers])
        else:
            scale.apply(axes)
        axes.set_ylabel(label)
        low_end, high_end = axes.get_ylim()
        if shown and min(shown) > 0.0 and max(shown) > TENFOLD * min(shown):
            logarithmic(axes.yaxis)
        elif low_end > 0.0:
            axes.set_ylim(0.0, high_end)
        if shown:
            figure.legend(loc="outside right upper")
    return figure


def _heat_maps(design: Design, controllers: Sequence[str], label: str, found: Intervals) -> Figure:
    """A map for each controller, over the first two axes, and a row of maps for each value of the third."""
    first, second, *third = design.axes
    rows = third[0].values if third else [()]
    if len(rows) * len(controllers) > MOST_PANELS:
        raise InputError(f"{len(rows) * len(controllers)} heat maps: a figure has at most {MOST_PANELS}")
    maps = [[_map(design, cc, row, found) for cc in controllers] for row in rows]
    known = np.concatenate([one.values[np.isfinite(one.values)] for line in maps for one in line])
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    norm = (LogNorm if low > 0.0 and high > TENFOLD * low else Normalize)(low, high)
    with style():
        wide, tall = 1.2 + 0.55 * len(first.values), 0.9 + 0.34 * len(second.values)
        size = max(6.1, 1.4 + wide * len(controllers)), max(LEAST_TALL, 0.5 + tall * len(rows))
        figure = Figure(figsize=size)
        panels = figure.subplots(len(rows), len(controllers), squeeze=False, sharex=True, sharey=True)
        image: Any = None
        for line, line_of_maps in zip(panels, maps, strict=True):
            for axes, shown in zip(line, line_of_maps, strict=True):
                written = shown.values.size <= MOST_WRITTEN_CELLS
                image = heat_map(axes, shown, written, norm=norm)
                askew = max(map(len, shown.columns)) > MOST_LETTERS
                axes.set_xticks(range(len(shown.columns)), shown.columns, rotation=40 if askew else 0)
                axes.set_yticks(range(len(shown.rows)), shown.rows)
        for axes in panels[-1, :]:
            axes.set_xlabel(_keys(first))
        for axes in panels[:, 0]:
            axes.set_ylabel(_keys(second))
        bar = figure.colorbar(image, ax=panels, label=label, format=StrMethodFormatter("{x:g}"))
        bar.ax.yaxis.set_minor_formatter(NullFormatter())
    return figure


def _map(design: Design, cc: str, row: Sequence[str], found: Intervals) -> HeatMap:
    """The medians of a controller: a row for each value of the second axis, a column for one of the first."""
    first, second, *third = design.axes
    column = {values: number for number, values in enumerate(first.values)}
    line = {values: number for number, values in enumerate(second.values)}
    grid: Array = np.full((len(line), len(column)), np.nan)
    for place, interval in _of(cc, found):
        point = dict(place.point)
        if third and tuple(point[key] for key in third[0].keys) != tuple(row):
            continue
        grid[line[tuple(point[k] for k in second.keys)], column[tuple(point[k] for k in first.keys)]] = (
            interval.median
        )
    title = f"{cc}, {_keys(third[0])} = {_name(row)}" if third else cc
    columns, rows = ([_name(values) for values in axis.values] for axis in (first, second))
    return HeatMap(title, columns, rows, grid, [[f"{value:.3g}" for value in cells] for cells in grid])


def _samples(design: Design, controllers: Sequence[str], label: str, found: Intervals) -> Figure:
    """The value of each drawn point over each key, a panel for each."""
    with style():
        columns = min(3, len(design.axes))
        rows = math.ceil(len(design.axes) / columns)
        figure = Figure(figsize=(2.6 * columns + 1.4, 2.7 * rows + 0.2))
        panels = figure.subplots(rows, columns, squeeze=False, sharey=True)
        for axes, axis in zip(panels.flat, design.axes, strict=False):
            scale = _Scale(axis)
            shown: list[tuple[float, float, str]] = []
            for cc, colour in zip(controllers, colours(controllers), strict=True):
                axes.plot([], [], ".", color=colour, label=in_legend(cc))
                for place, interval in _of(cc, found):
                    shown.append((scale.at(dict(place.point)[axis.keys[0]]), interval.median, colour))
            # In an order of chance, so that no controller covers the others.
            order = np.random.default_rng(0).permutation(len(shown))
            x, y, of = zip(*(shown[one] for one in order), strict=True) if shown else ((), (), ())
            axes.scatter(x, y, s=9.0, c=of, alpha=0.7, linewidths=0.0)
            scale.apply(axes)
        for axes in panels.flat[len(design.axes) :]:
            axes.set_axis_off()
        for axes in panels[:, 0]:
            axes.set_ylabel(label)
        figure.legend(*panels.flat[0].get_legend_handles_labels(), loc="outside right upper")
    return figure


class _Scale:
    """The positions of the values of a swept key: at their numbers, or one after the other."""

    def __init__(self, axis: Axis) -> None:
        self.label = _keys(axis)
        if axis.range is not None and not axis.values:
            texts = [axis.at(share)[axis.keys[0]] for share in (0.0, 1.0)]
        else:
            texts = [values[0] for values in axis.values]
        found, unit = numbers(texts)
        self.ordered = all(number is not None for number in found) and len(axis.keys) == 1
        self.unit = unit if self.ordered else ""
        self.names = [_name(values) for values in axis.values]
        self.places = {text: place for place, text in enumerate(texts)}
        self.known = [number for number in found if number is not None]
        self.convert = len({text.lstrip("+-.0123456789eE") for text in texts}) > 1

    def at(self, text: str) -> float:
        """The position of a value."""
        if not self.ordered:
            return float(self.places[text])
        number = numbers([text, "0"] if self.convert else [text])[0][0]
        return math.nan if number is None else number

    def apply(self, axes: Axes) -> None:
        """Labels and scale of the axis."""
        if not self.ordered:
            step = math.ceil(len(self.names) / MOST_NAMES)
            named = range(0, len(self.names), step)
            axes.set_xticks(named, self.names[::step], rotation=40 if len(named) > 4 else 0)
        elif min(self.known) > 0.0 and max(self.known) >= LOG_FROM * min(self.known):
            logarithmic(axes.xaxis)
        if self.ordered and 1 < len(self.names) <= MOST_TICKS:
            axes.set_xticks(sorted(set(self.known)))
            axes.xaxis.set_minor_locator(NullLocator())
            texts = {f"{one:.3g}" for one in self.known}
            axes.xaxis.set_major_formatter("{x:.3g}" if len(texts) == len(self.names) else "{x:g}")
        axes.set_xlabel(f"{self.label} ({self.unit})" if self.unit else self.label)


def _keys(axis: Axis) -> str:
    return ", ".join(key.removeprefix("path.") for key in axis.keys)


def _name(values: Sequence[str]) -> str:
    return ", ".join(values)
