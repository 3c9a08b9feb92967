"""The figure model: axes, curves, points and heat maps as plain values.

``overview``, ``papers``, ``sweeps``, ``matrix`` and ``evaluation`` describe figures with it. ``plots`` draws
them with matplotlib, ``report`` writes them as the JSON of interactive charts, ``papers`` as Parquet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ackclock.metrics import Array


@dataclass(frozen=True)
class Axis:
    """The label, scale and ends of an axis."""

    label: str = ""
    scale: str = "linear"
    """"linear" or "log"."""
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Series:
    """One curve."""

    label: str
    """Its text in the legend, or empty for none."""
    cc: str
    """The controller, for the colour, or empty for a curve without one."""
    x: Array
    y: Array
    low: Array | None = None
    high: Array | None = None
    """Ends of the percentile bars, or of the band around the curve."""
    look: str = "line"
    """A line, unless it says one of these:

    - "dashed": with the dashes of its controller, where a panel has several curves
    - "marked": a line with a marker at each point
    - "points": dots alone
    - "model": dashed
    - "reported": a star at each point, with its bars
    - "across": the same with bars to the sides, whose ends are values of x
    - "band": dashed, with the area between the ends
    - "background": one of several thin grey lines, which share an entry of the legend
    - "level": a dotted grey line for comparison
    """
    aside: float = 0.0
    """Shift along x, so that the bars of several curves do not hide each other."""


@dataclass(frozen=True)
class Ticks:
    """Instants marked along the lower edge of a panel."""

    label: str
    cc: str
    at: Array


@dataclass(frozen=True)
class Panel:
    """One set of axes."""

    title: str
    series: Sequence[Series]
    name: str = ""
    """Its name in a report."""
    x: Axis = Axis()
    y: Axis = Axis()
    """Its own axes, where the panels of a figure do not share them."""
    ticks: Sequence[Ticks] = ()

    @property
    def curves(self) -> list[Series]:
        """The curves without the levels."""
        return [one for one in self.series if one.look != "level"]

    @property
    def levels(self) -> list[Series]:
        """The levels alone."""
        return [one for one in self.series if one.look == "level"]


@dataclass(frozen=True)
class Points:
    """Points of one label."""

    label: str
    cc: str
    x: Array
    y: Array


@dataclass(frozen=True)
class Plane:
    """Points on two axes."""

    x: Axis
    y: Axis
    points: Sequence[Points]


@dataclass(frozen=True)
class HeatMap:
    """A grid of coloured cells."""

    title: str
    columns: Sequence[str]
    rows: Sequence[str]
    values: Array
    """A line of cells for each of ``rows``, with NaN for missing cells."""
    texts: Sequence[Sequence[str]]
    """The text in each cell."""
    colours: str = "cividis"
    """A colour map of matplotlib."""
    low: float | None = None
    high: float | None = None
    """The values at the ends of the colour map."""


@dataclass(frozen=True)
class Strip:
    """The values of one label: one for each repetition."""

    label: str
    cc: str
    values: Array


@dataclass(frozen=True)
class Strips:
    """A quantity of several labels on one axis, which begins at 0."""

    title: str
    unit: str
    strips: Sequence[Strip]
    digits: int = 1
    """Of numbers, behind the point."""


@dataclass(frozen=True)
class StripRow:
    """A line of small multiples: a cell for each quantity."""

    name: str
    cells: Sequence[Strips]
    notes: Sequence[str] = ()
    """Sentences above it on a page."""


@dataclass(frozen=True)
class Interval:
    """A value with its interval on a line of its own, beside others on the same line."""

    label: str
    value: float
    low: float
    high: float
    beside: Sequence[float]
    """The values that it is compared with."""
    verdict: str
    """``worse``, ``like`` or ``better``."""


@dataclass(frozen=True)
class Cross:
    """A point with an interval on each axis."""

    label: str
    x: tuple[float, float, float]
    """The value, and the ends of its interval."""
    y: tuple[float, float, float]
    is_first: bool
    """Drawn in colour, with the line of its kind through it."""
