"""Numbers and tables as text."""

from __future__ import annotations

from collections.abc import Sequence


def number(value: float | None, digits: int = 4) -> str:
    """A number for a table: four significant digits, a dash where there is none."""
    if value is None or value != value:
        return "-"
    if value in (float("inf"), float("-inf")):
        return "∞" if value > 0 else "-∞"
    text = f"{value:.{digits}g}"
    return f"{value:.0f}" if "e+" in text and abs(value) < 1e12 else text


def markdown(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown, for documentation."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |\n" for line in lines)
