"""Tables of what ``ackclock parity --json`` measured, from files in ``measurements/parity/``.

Each maker takes one file or several, and all cells in their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ackclock import parity
from ackclock.parity.comparison import OF_THE_LINK, QUANTITIES
from ackclock.report import number
from ackclock.scenario import display_name
from pages.measurements import Measurement, load
from pages.tables import Table, maker

Cell = dict[str, Any]


def _cells(files: Sequence[str]) -> tuple[list[Measurement], list[Cell]]:
    """The heads of all files, and their valid cells."""
    loaded = [load(f"parity/{file}.json") for file in files]
    cells = [cell for _, document in loaded for cell in document["result"]["cells"] if cell["valid"]]
    return [measured for measured, _ in loaded], cells


def _path(cell: Cell) -> str:
    """The situation of a cell in words; of a greedy flow its path."""
    if cell["situation"] != parity.GREEDY:
        return parity.catalogue()[cell["situation"]].title
    loss = [] if cell["loss"] == "0%" else [f"loss {cell['loss']}"]
    return ", ".join([cell["rate"], cell["rtt"], cell["queue"], *loss])


def _group(cell: Cell) -> str:
    """The row of the summary that counts a cell."""
    if cell["situation"] != parity.GREEDY:
        return _path(cell)
    if cell["beside"]:
        return f"greedy, beside {cell['beside']}"
    return f"greedy, {cell['flows']} flow{'s' if cell['flows'] > 1 else ''}"


def _flows(cell: Cell) -> str:
    name = display_name(cell["cc"])
    return f"{name} beside {cell['beside']}" if cell["beside"] else f"{cell['flows']} x {name}"


def _verdict(cell: Cell) -> str:
    if cell["near"]:
        return "near"
    far = ", ".join(check["what"] for check in cell["checks"] if not check["near"])
    return f"{'within spread' if cell['within_spread'] else 'far'}: {far}"


def _counted(cells: Sequence[Cell]) -> str:
    """The verdict of one cell, or how many of several are near."""
    if not cells:
        return "-"
    if len(cells) == 1:
        return _verdict(cells[0])
    within = sum(cell["within_spread"] and not cell["near"] for cell in cells)
    near = f"{sum(cell['near'] for cell in cells)} of {len(cells)}"
    return f"{near}, {within} within spread" if within else near


@maker("parity-situations")
def situations() -> Table:
    """A row for each situation beside the grid of greedy flows."""
    rows = [[f"`{one.name}`", one.title, ", ".join(one.compare)] for one in parity.catalogue().values()]
    return Table(("situation", "in words", "compares"), rows)


@maker("parity-summary")
def summary(*files: str) -> Table:
    """A row for each situation, a column for each controller, and below all of them."""
    measured, cells = _cells(files)
    controllers = list(dict.fromkeys(cell["cc"] for cell in cells))

    def row(name: str, of_row: Sequence[Cell]) -> list[str]:
        return [name, *(_counted([one for one in of_row if one["cc"] == cc]) for cc in controllers)]

    groups = dict.fromkeys(map(_group, cells))
    rows = [row(group, [cell for cell in cells if _group(cell) == group]) for group in groups]
    return Table(["situation", *map(display_name, controllers)], [*rows, row("**all**", cells)], measured)


@maker("parity-far")
def far(*files: str) -> Table:
    """A row for each thing that is not near."""
    measured, cells = _cells(files)
    rows = [
        [_path(cell), _flows(cell), check["what"], number(check["simulated"]), number(check["live"])]
        for cell in cells
        for check in cell["checks"]
        if not check["near"]
    ]
    return Table(("situation", "flows", "far in", "simulated", "live"), rows, measured)


@maker("parity-cells")
def every_cell(*files: str) -> Table:
    """A row for each cell, simulated beside live."""
    measured, cells = _cells(files)
    headings = ["situation", "flows", "verdict", *(quantity.heading for quantity in QUANTITIES.values())]
    rows = [
        [_path(cell), _flows(cell), _verdict(cell), *(_both(cell, key) for key in QUANTITIES), _checks(cell)]
        for cell in cells
    ]
    return Table([*headings, "windows, completion, share"], rows, measured)


def _checks(cell: Cell) -> str:
    """The quantities that a cell compares besides those of the link."""
    return "; ".join(
        f"{check['what']}: {number(check['simulated'])} / {number(check['live'])}"
        for check in cell["checks"]
        if check["what"] not in OF_THE_LINK
    )


def _both(cell: Cell, key: str) -> str:
    mark = " *" if key in cell["differs"] else ""
    return f"{_spread(cell['simulated'][key])} / {_spread(cell['live'][key])}{mark}"


def _spread(spread: dict[str, float]) -> str:
    mean, low, high = (number(spread[key]) for key in ("mean", "low", "high"))
    return mean if low == high else f"{mean} ({low} to {high})"
