"""Figures of sweeps: lines over one key, heat maps over two and three, points for drawn samples."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, Normalize
from matplotlib.image import AxesImage
from matplotlib.ticker import NullFormatter, NullLocator, StrMethodFormatter

from ackclock.errors import InputError
from ackclock.metrics import Array
from ackclock.plots.draw import MARKERS, in_legend
from ackclock.plots.figure import Figure
from ackclock.plots.style import colours, on_colour, style
from ackclock.sweeps.axes import Axis, numbers

if TYPE_CHECKING:
    from ackclock.sweeps.result import Place, Sweep

LOG_FROM = 20.0
"""A swept key whose values cover this factor or more has a logarithmic axis."""
TENFOLD = 10.0
"""A metric whose values differ by more has a logarithmic axis, or scale of colours."""
MOST_WRITTEN_CELLS = 80
"""Heat maps of more cells have no numbers in them."""
MOST_PANELS = 40
MOST_LETTERS = 6
"""Longer values stand askew below the columns of a heat map."""
LEAST_TALL = 2.6
"""The least height of heat maps, in inches: the title of their colours stands beside them."""
MOST_TICKS = 8
"""An axis of no more values has a tick at each of them."""


def draw_sweep(sweep: Sweep, metric: str) -> Figure:
    """The figure of a metric of a sweep: see ``Sweep.plot``. Raises InputError."""
    axes = sweep.design.axes
    if sweep.design.samples is not None:
        return _samples(sweep, metric)
    if len(axes) > 3:
        raise InputError(f"a sweep over {len(axes)} axes: figures have at most 3; use the tables")
    if len(axes) <= 1:
        return _lines(sweep, metric)
    return _heat_maps(sweep, metric)


def _places(sweep: Sweep, fits: Callable[[Place], bool]) -> list[Place]:
    return [place for place in sweep.values if fits(place)]


def _lines(sweep: Sweep, metric: str) -> Figure:
    """Median and interval of each controller over the values of the key."""
    from ackclock.sweeps.result import METRICS

    with style():
        figure = Figure(figsize=(6.1, 3.4))
        axes = figure.subplots()
        scale = _Scale(sweep.design.axes[0]) if sweep.design.axes else None
        shown: list[float] = []
        for number, (cc, colour) in enumerate(zip(sweep.controllers, _colours(sweep), strict=True)):
            places = _places(sweep, lambda place, cc=cc: place.controller == cc)  # type: ignore[misc]
            found = [(place, interval) for place in places if (interval := sweep.interval(place, metric))]
            if not found:
                continue
            x = [float(number) if scale is None else scale.at(place.point[0][1]) for place, _ in found]
            low, median, high = np.array([interval for _, interval in found]).T
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
            axes.set_xticks(range(len(sweep.controllers)), [in_legend(cc) for cc in sweep.controllers])
        else:
            scale.apply(axes)
        axes.set_ylabel(METRICS[metric].axis)
        low_end, high_end = axes.get_ylim()
        if shown and min(shown) > 0.0 and max(shown) > TENFOLD * min(shown):
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter("{x:g}")
        elif low_end > 0.0 and low_end < 0.5 * high_end:
            axes.set_ylim(0.0, high_end)
        figure.legend(loc="outside right upper")
    return figure


def _heat_maps(sweep: Sweep, metric: str) -> Figure:
    """A map for each controller, over the first two axes; a row of maps for each value of the third."""
    from ackclock.sweeps.result import METRICS

    first, second, *third = sweep.design.axes
    rows = third[0].values if third else [()]
    if len(rows) * len(sweep.controllers) > MOST_PANELS:
        raise InputError(
            f"{len(rows) * len(sweep.controllers)} heat maps: a figure has at most {MOST_PANELS}"
        )
    grids = [[_grid(sweep, metric, cc, row, third) for cc in sweep.controllers] for row in rows]
    known = np.concatenate([grid[np.isfinite(grid)] for line in grids for grid in line])
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    norm = (LogNorm if low > 0.0 and high > TENFOLD * low else Normalize)(low, high)
    with style():
        wide, tall = 1.2 + 0.55 * len(first.values), 0.9 + 0.34 * len(second.values)
        figure = Figure(
            figsize=(max(6.1, 1.4 + wide * len(sweep.controllers)), max(LEAST_TALL, 0.5 + tall * len(rows)))
        )
        panels = figure.subplots(len(rows), len(sweep.controllers), squeeze=False, sharex=True, sharey=True)
        image: Any = None
        for line, row, line_of_grids in zip(panels, rows, grids, strict=True):
            for axes, cc, grid in zip(line, sweep.controllers, line_of_grids, strict=True):
                image = axes.imshow(grid, aspect="auto", origin="lower", norm=norm, cmap="cividis")
                axes.grid(visible=False)
                names = [_name(one) for one in first.values]
                axes.set_xticks(
                    range(len(names)), names, rotation=40 if max(map(len, names)) > MOST_LETTERS else 0
                )
                axes.set_yticks(range(len(second.values)), [_name(one) for one in second.values])
                of_row = f", {_keys(third[0])} = {_name(row)}" if third else ""
                axes.set_title(f"{cc}{of_row}")
                if grid.size <= MOST_WRITTEN_CELLS:
                    _write_cells(axes, grid, image)
        for axes in panels[-1, :]:
            axes.set_xlabel(_keys(first))
        for axes in panels[:, 0]:
            axes.set_ylabel(_keys(second))
        bar = figure.colorbar(
            image, ax=panels, label=METRICS[metric].axis, format=StrMethodFormatter("{x:g}")
        )
        bar.ax.yaxis.set_minor_formatter(NullFormatter())
    return figure


def _grid(sweep: Sweep, metric: str, cc: str, row: Sequence[str], third: Sequence[Axis]) -> Array:
    """The medians of a controller: a row for each value of the second axis, a column for one of the first."""
    first, second = sweep.design.axes[:2]
    column = {values: number for number, values in enumerate(first.values)}
    line = {values: number for number, values in enumerate(second.values)}
    grid = np.full((len(line), len(column)), np.nan)
    for place in sweep.values:
        point = dict(place.point)
        if place.controller != cc or (third and tuple(point[key] for key in third[0].keys) != tuple(row)):
            continue
        if (interval := sweep.interval(place, metric)) is not None:
            at = line[tuple(point[k] for k in second.keys)], column[tuple(point[k] for k in first.keys)]
            grid[at] = interval.median
    return grid


def _write_cells(axes: Axes, grid: Array, image: AxesImage) -> None:
    shades = image.to_rgba(grid)
    for (y, x), value in np.ndenumerate(grid):
        if math.isfinite(value):
            colour = on_colour(shades[y, x])
            axes.text(x, y, f"{value:.3g}", ha="center", va="center", fontsize=7, color=colour)


def _samples(sweep: Sweep, metric: str) -> Figure:
    """The value of each drawn point over each key, a panel for each."""
    from ackclock.sweeps.result import METRICS

    design = sweep.design
    with style():
        columns = min(3, len(design.axes))
        rows = math.ceil(len(design.axes) / columns)
        figure = Figure(figsize=(2.6 * columns + 1.4, 2.7 * rows + 0.2))
        panels = figure.subplots(rows, columns, squeeze=False, sharey=True)
        for axes, axis in zip(panels.flat, design.axes, strict=False):
            scale = _Scale(axis)
            for cc, colour in zip(sweep.controllers, _colours(sweep), strict=True):
                places = _places(sweep, lambda place, cc=cc: place.controller == cc)  # type: ignore[misc]
                found = [(place, interval) for place in places if (interval := sweep.interval(place, metric))]
                x = [scale.at(dict(place.point)[axis.keys[0]]) for place, _ in found]
                y = [interval.median for _, interval in found]
                axes.plot(x, y, ".", color=colour, markersize=3.0, alpha=0.7, label=in_legend(cc))
            scale.apply(axes)
        for axes in panels.flat[len(design.axes) :]:
            axes.set_axis_off()
        for axes in panels[:, 0]:
            axes.set_ylabel(METRICS[metric].axis)
        figure.legend(*panels.flat[0].get_legend_handles_labels(), loc="outside right upper")
    return figure


class _Scale:
    """Where the values of a swept key lie on an axis: at their numbers, or one after the other."""

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
        """Where a value lies."""
        if not self.ordered:
            return float(self.places[text])
        number = numbers([text, "0"] if self.convert else [text])[0][0]
        return math.nan if number is None else number

    def apply(self, axes: Axes) -> None:
        """Labels and scale of the axis."""
        if not self.ordered:
            axes.set_xticks(range(len(self.names)), self.names, rotation=40 if len(self.names) > 4 else 0)
        elif min(self.known) > 0.0 and max(self.known) >= LOG_FROM * min(self.known):
            axes.set_xscale("log")
            axes.xaxis.set_major_formatter("{x:g}")
        if self.ordered and 1 < len(self.names) <= MOST_TICKS:
            axes.set_xticks(sorted(set(self.known)))
            axes.xaxis.set_minor_locator(NullLocator())
        axes.set_xlabel(f"{self.label} ({self.unit})" if self.unit else self.label)


def _colours(sweep: Sweep) -> list[str]:
    return colours(list(sweep.controllers))


def _keys(axis: Axis) -> str:
    return ", ".join(key.removeprefix("path.") for key in axis.keys)


def _name(values: Sequence[str]) -> str:
    return ", ".join(values)
