"""Tables of the results of ``ackclock kernel parity --json``, from files in ``measurements/parity/``.

Each maker takes one file or several, and all cells in their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ackclock import parity
from pages.measurements import Measurement, load
from pages.tables import Table, maker

Cell = dict[str, Any]


def _cells(files: Sequence[str]) -> tuple[list[Measurement], list[Cell]]:
    """The heads of all files, and their cells."""
    loaded = [load(f"parity/{file}.json") for file in files]
    return [measured for measured, _ in loaded], [
        cell for _, one in loaded for cell in one["result"]["cells"]
    ]


@maker("parity-situations")
def situations() -> Table:
    """A row for each situation beside the grid of greedy flows."""
    rows = [[f"`{one.name}`", one.title, ", ".join(one.compare)] for one in parity.catalogue().values()]
    return Table(("situation", "in words", "compares"), rows)


@maker("parity-summary")
def summary(*files: str) -> Table:
    """A row for each situation, a column for each controller, and all cells in the last row."""
    measured, cells = _cells(files)
    rows = [*parity.summary(cells), parity.summary_row("**all**", cells, cells)]
    return Table(parity.summary_headings(cells), rows, measured)


@maker("parity-far")
def far(*files: str) -> Table:
    """A row for each thing that is not near."""
    measured, cells = _cells(files)
    return Table(parity.far_headings(cells), parity.far_rows(cells), measured)


@maker("parity-cells")
def every_cell(*files: str) -> Table:
    """A row for each cell, simulated beside live, with the verdict in front."""
    measured, cells = _cells(files)
    flows, *quantities, _, _ = parity.HEADINGS
    rows = []
    for cell in cells:
        name, *values, verdict, _ = parity.row(cell)
        rows.append([cell["path"], name, verdict, *values])
    return Table(("situation", flows, "verdict", *quantities), rows, measured)
