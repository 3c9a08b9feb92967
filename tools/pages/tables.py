"""The table that a maker gives, and the list of all makers."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pages.measurements import Measurement


class PageError(ValueError):
    """A marker that cannot become a table."""


@dataclass(frozen=True)
class Table:
    """A table in Markdown."""

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    measured: Sequence[Measurement] = field(default=())
    """The files it was made from. Each is named below the table."""
    above: str = ""
    """A sentence above it."""

    def markdown(self) -> str:
        """The table, and below it a line for each measurement."""
        lines = [self.headings, ["---"] * len(self.headings), *self.rows]
        rows = "\n".join(f"| {' | '.join(_cell(cell) for cell in line)} |" for line in lines)
        heads = dict.fromkeys(measurement.line() for measurement in self.measured)
        return "\n\n".join(part for part in (self.above, rows, *heads) if part) + "\n"


def _cell(text: str) -> str:
    """A line break would end the cell, and so would a bar outside code."""
    parts = re.split(r"(`[^`]*`)", text.replace("\n", " ").replace("\\|", "|"))
    return "".join(part if part.startswith("`") else part.replace("|", "\\|") for part in parts)


Maker = Callable[..., Table]
"""It takes the words of its marker: ``key=value`` by name, all others in order."""

MAKERS: dict[str, Maker] = {}
"""All makers by the name that markers use."""


def maker(name: str) -> Callable[[Maker], Maker]:
    """Registers a function under ``name``."""

    def register(function: Maker) -> Maker:
        if name in MAKERS:
            raise PageError(f"two makers are named {name}")
        MAKERS[name] = function
        return function

    return register
