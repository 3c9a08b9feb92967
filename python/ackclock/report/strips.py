"""Small multiples of bars and boxes as plain elements of a page, which follow its width and colours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ackclock import spread
from ackclock.figure import StripRow, Strips

BOXES = (
    "Box: the middle half of the repetitions (25th to 75th percentile); line: the smallest to the largest; "
    "tick: the median"
)


def as_html(rows: Sequence[StripRow]) -> list[dict[str, Any]]:
    """The rows with places in percent, for the template of a page."""
    return [
        {"name": row.name, "cells": [_cell(one) for one in row.cells], "notes": row.notes} for row in rows
    ]


def key(rows: Sequence[StripRow]) -> str:
    """The meaning of the shapes, in words."""
    counts = [one.values.size for row in rows for cell in row.cells for one in cell.strips]
    if max(counts, default=0) < 2:
        return "Each axis begins at 0 and ends at the largest value of its cell. One run for each bar."
    interval = f"; bar below: {spread.INTERVAL}" if _have_intervals(counts) else ""
    return f"{BOXES}{interval}. Each axis begins at 0 and ends at the largest value of its cell."


def _have_intervals(counts: Sequence[int]) -> bool:
    return max(counts, default=0) >= spread.LEAST


def _cell(strips: Strips) -> dict[str, Any]:
    from ackclock.plots.style import looks

    most = max((float(value) for one in strips.strips for value in one.values if value == value), default=0.0)
    seen = looks([(one.label, one.cc) for one in strips.strips])
    return {
        "title": strips.title,
        "unit": strips.unit,
        "strips": [
            {
                "label": one.label,
                "colour": seen[one.label, one.cc]["colour"],
                "dark": seen[one.label, one.cc]["dark"],
                "shapes": _shapes(spread.spread(one.values), most),
                "text": median(spread.spread(one.values), strips.digits),
            }
            for one in strips.strips
        ],
    }


def median(of: spread.Spread | None, digits: int) -> str:
    """A median as text."""
    return "-" if of is None else f"{of.median:.{digits}f}"


def text(of: spread.Spread | None, digits: int) -> str:
    """A median, with its interval in brackets where there is one."""
    if of is None or of.interval is None:
        return median(of, digits)
    low, high = (f"{end:.{digits}f}" for end in of.interval)
    return f"{median(of, digits)} [{low}, {high}]"


def _shapes(of: spread.Spread | None, most: float) -> list[tuple[str, float, float]]:
    """The shapes of a strip, with their left ends and widths in percent of the axis."""
    if of is None:
        return []

    def between(shape: str, low: float, high: float) -> tuple[str, float, float]:
        scale = 100.0 / most if most > 0 else 0.0
        return shape, round(low * scale, 2), round((high - low) * scale, 2)

    if of.count == 1:
        return [between("bar", 0.0, of.median)]
    shapes = [between("reach", of.low, of.high), between("box", of.q1, of.q3)]
    if of.interval is not None:
        shapes.append(between("interval", *of.interval))
    return [*shapes, between("median", of.median, of.median)]
