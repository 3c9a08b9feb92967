"""Tables and the page of a sweep over a file of lines."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from rich.table import Table
from rich.text import Text

from ackclock.errors import InputError
from ackclock.report import Page
from ackclock.sweeps import METRICS
from ackclock.sweeps.fleet import QUANTILES, WORST, Fleet, shown

MOST_WORST = 5
"""The terminal shows fewer of the worst lines than the page."""


def printed(fleet: Fleet, title: str) -> list[Table | str]:
    """The lines for a terminal: quantiles, answers, and the first of the worst lines."""
    heads, rows = _quantiles(fleet)
    table = Table(title=f"{title}, quantiles over {len(fleet.axis.values)} lines", title_justify="left")
    for place, head in enumerate(heads):
        table.add_column(head, justify="left" if place < 2 else "right")
    for row in rows:
        table.add_row(*map(Text, row))
    heads, rows = _worst(fleet)
    worst = Table(title=f"worst lines by {METRICS[fleet.conditions[0].metric].axis}", title_justify="left")
    for head in heads:
        worst.add_column(head)
    for row in rows[:MOST_WORST]:
        worst.add_row(*map(Text, row))
    return [table, *fleet.sentences(), worst]


def fill(page: Page, fleet: Fleet, folder: Path, formats: Sequence[str] = ()) -> None:
    """Puts the lines on the page of a report. The map has ``formats`` beside PNG."""
    for sentence in fleet.sentences():
        page.paragraph(f"{sentence[:1].upper()}{sentence[1:]}.")
    page.paragraph(f"Quantiles over {len(fleet.axis.values)} lines:")
    page.table(*_quantiles(fleet))
    first = fleet.conditions[0].metric
    page.paragraph(f"The {WORST} worst lines by {METRICS[first].axis}:")
    page.table(*_worst(fleet))
    try:
        columns = fleet.mapped()
    except InputError:
        columns = None
    if columns is not None:
        over = " and ".join(key.removeprefix("path.") for key in columns)
        caption = f"{METRICS[first].axis} over {over}"
        page.draw(folder / "map.png", caption, partial(fleet.draw_map, first), formats)


def _quantiles(fleet: Fleet) -> tuple[list[str], list[list[str]]]:
    rows = [
        [str(group), METRICS[name].axis, *shown(values, name)]
        for group in fleet.groups
        for name in METRICS
        if (values := fleet.quantiles(group, name)) and not _is_alike(name, values)
    ]
    return ["controller", "metric", *(f"{quantile:g} %" for quantile in QUANTILES)], rows


def _is_alike(name: str, values: Sequence[float]) -> bool:
    """True for Jain's index of single flows, which says nothing."""
    return name == "jain" and min(values) == 1.0


def _worst(fleet: Fleet) -> tuple[list[str], list[list[str]]]:
    metric = fleet.conditions[0].metric
    rows = [[*fleet.named(line), *shown(values, metric)] for line, values in fleet.worst()]
    return [*fleet.heads(), *map(str, fleet.groups)], rows
