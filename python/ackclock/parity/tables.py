"""Tables of cells, each as ``parity --json`` prints it: of a comparison that ran, or of one in a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ackclock.parity.comparison import OF_THE_LINK, QUANTITIES
from ackclock.report import number
from ackclock.scenario import display_name

Cell = Mapping[str, Any]

HEADINGS = (
    "flows",
    *(quantity.heading for quantity in QUANTITIES.values()),
    "windows, completion",
    "near",
    "",
)
"""Of ``row``."""

MARK = " *"


def row(cell: Cell, ranges: bool = True) -> list[str]:
    """A cell under ``HEADINGS``."""
    return [
        cell["name"],
        *(_both(cell, key, ranges) for key in QUANTITIES),
        _besides(cell),
        verdict(cell),
        _validity(cell),
    ]


def verdict(cell: Cell) -> str:
    """Near, or the quantities in which it is not, and if the spread of the seeds explains them."""
    if cell["near"]:
        return "near"
    far = ", ".join(check["what"] for check in cell["checks"] if not check["near"])
    return f"within spread: {far}" if cell["within_spread"] else f"far: {far}"


def summary_headings(cells: Sequence[Cell]) -> list[str]:
    """The headings of the summary: a column for each controller."""
    return ["situation", *(display_name(cc) for cc in _controllers(cells))]


def summary(cells: Sequence[Cell]) -> list[list[str]]:
    """A row for each situation, a column for each controller: the verdict, or how many cells are near."""
    groups = dict.fromkeys(cell["group"] for cell in cells)
    return [summary_row(group, [cell for cell in cells if cell["group"] == group], cells) for group in groups]


def summary_row(name: str, of_row: Sequence[Cell], cells: Sequence[Cell]) -> list[str]:
    """The row of some of the cells, with the columns of all."""
    columns = _controllers(cells)
    return [name, *(_entry([cell for cell in of_row if cell["cc"] == cc]) for cc in columns)]


def tally(cells: Sequence[Cell]) -> str:
    """How many cells are near, in a sentence. Invalid ones do not count."""
    valid = _valid(cells)
    near, within = _counts(valid)
    others = f", {within} more within the spread of the seeds" if within else ""
    invalid = len(cells) - len(valid)
    left_out = f"; {invalid} cell{'s are' if invalid > 1 else ' is'} invalid" if invalid else ""
    return f"{near} of {len(valid)} cells are near{others}{left_out}."


def engine_of(cells: Sequence[Cell]) -> str:
    """The name of the engine beside the simulator, or ``live`` if there are several."""
    names = {run["engine"]["kind"] for cell in cells for run in cell["runs"]}
    return names.pop() if len(names) == 1 else "live"


def far_headings(cells: Sequence[Cell]) -> list[str]:
    """The headings of ``far_rows``."""
    return ["situation", "flows", "far in", "simulated", engine_of(cells)]


def far_rows(cells: Sequence[Cell]) -> list[list[str]]:
    """The quantities in which valid cells are not near, under ``far_headings``."""
    return [
        [cell["path"], cell["name"], check["what"], _of(check["simulated"]), _of(check["live"])]
        for cell in _valid(cells)
        for check in cell["checks"]
        if not check["near"]
    ]


def _both(cell: Cell, key: str, ranges: bool) -> str:
    simulated, live = (_spread(cell[engine][key], ranges) for engine in ("simulated", "live"))
    return f"{simulated} / {live}{MARK if key in cell['differs'] else ''}"


def _spread(spread: Mapping[str, float], ranges: bool) -> str:
    mean, low, high = (number(spread[key]) for key in ("mean", "low", "high"))
    return f"{mean} ({low} to {high})" if ranges and low != high else mean


def _besides(cell: Cell) -> str:
    """The compared quantities besides the bottleneck's."""
    return "; ".join(
        f"{check['what']}: {_of(check['simulated'])} / {_of(check['live'])}"
        for check in cell["checks"]
        if check["what"] not in OF_THE_LINK
    )


def _of(value: float | None) -> str:
    return "none" if value is None else number(value)


def _validity(cell: Cell) -> str:
    runs = cell["runs"]
    invalid = sum(not run["engine"]["valid"] for run in runs)
    if not invalid:
        return ""
    return "invalid" if len(runs) == 1 else f"{invalid} of {len(runs)} invalid"


def _controllers(cells: Sequence[Cell]) -> list[str]:
    return list(dict.fromkeys(cell["cc"] for cell in cells))


def _entry(cells: Sequence[Cell]) -> str:
    """The verdict of one cell, or how many of several are near."""
    valid = _valid(cells)
    if not valid:
        return "invalid" if cells else "-"
    if len(cells) == 1:
        return verdict(valid[0])
    near, within = _counts(valid)
    return f"{near} of {len(valid)}" + (f", {within} within spread" if within else "")


def _valid(cells: Sequence[Cell]) -> list[Cell]:
    return [cell for cell in cells if cell["valid"]]


def _counts(valid: Sequence[Cell]) -> tuple[int, int]:
    """How many are near, and how many others within the spread."""
    return sum(cell["near"] for cell in valid), sum(
        cell["within_spread"] and not cell["near"] for cell in valid
    )
