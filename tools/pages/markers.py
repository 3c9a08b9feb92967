"""Markers in pages, and the tables below them."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import shlex

from pages import makers
from pages.measurements import Measurement, MeasurementError
from pages.tables import MAKERS, PageError, Table

END = "<!-- /table -->"

MARKER = re.compile(
    rf"^<!-- table: (?P<words>.*?) -->$(?:\n(?:(?!<!-- ).*\n)*{re.escape(END)}$)?", re.MULTILINE
)
"""A marker on a line of its own, and its table up to the end marker, if there is one already."""


def render(page: str, name: str = "page") -> tuple[str, list[Measurement]]:
    """The page with a new table below each marker, and the measurements that they come from."""
    used: list[Measurement] = []

    def tabled(marker: re.Match[str]) -> str:
        line = page.count("\n", 0, marker.start()) + 1
        try:
            table = made(marker["words"])
        except (PageError, MeasurementError) as fault:
            raise PageError(f"{name}:{line}: {fault}") from fault
        used.extend(table.measured)
        return f"<!-- table: {marker['words']} -->\n\n{table.markdown()}\n{END}"

    return MARKER.sub(tabled, page), used


def made(words: str) -> Table:
    """The table of a marker with these words."""
    _import_makers()
    name, *rest = shlex.split(words)
    if name not in MAKERS:
        raise PageError(f"there is no table `{name}`; there are {', '.join(sorted(MAKERS))}")
    positional = [word for word in rest if "=" not in word]
    named = dict(word.split("=", 1) for word in rest if "=" in word)
    try:
        inspect.signature(MAKERS[name]).bind(*positional, **named)
    except TypeError as fault:
        raise PageError(f"table `{words}`: {fault}") from fault
    table = MAKERS[name](*positional, **named)
    if not table.rows:
        raise PageError(f"table `{words}` is empty")
    if uneven := [row for row in table.rows if len(row) != len(table.headings)]:
        raise PageError(
            f"table `{words}`: {len(table.headings)} headings, but a row has {len(uneven[0])} cells"
        )
    return table


def _import_makers() -> None:
    for module in pkgutil.iter_modules(makers.__path__):
        importlib.import_module(f"{makers.__name__}.{module.name}")
