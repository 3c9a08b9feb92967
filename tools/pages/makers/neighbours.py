"""What each controller gets and does beside others: the whole table, and the row of one controller."""

from __future__ import annotations

from pages.measurements import Measurement, load_csv
from pages.tables import PageError, Table, maker

FILE = "controllers/neighbours.csv"
"""Each controller beside NewReno, CUBIC, BBR and itself, as `tests/python/test_neighbours.py` writes it."""

COMMON = ("newreno", "cubic", "bbr1")

Pairs = dict[tuple[str, str], dict[str, str]]
"""Rows by the controller and the one beside it."""


def _pairs() -> tuple[Measurement, Pairs]:
    measured, rows = load_csv(FILE)
    return measured, {(row["controller"], row["beside"]): row for row in rows}


def _harm_to_other(pairs: Pairs, controller: str, beside: str) -> str:
    """The harm, in bold if it is above the harm by a second flow of the other's kind."""
    harm = pairs[controller, beside]["harm_to_other"]
    bar = pairs[beside, beside]["harm_goodput"]
    return f"**{harm}**" if float(harm) > float(bar) else harm


@maker("neighbours")
def neighbours(controller: str) -> Table:
    """A row for each flow beside which `controller` ran."""
    measured, pairs = _pairs()
    found = {beside: row for (one, beside), row in pairs.items() if one == controller}
    if not found:
        raise PageError(f"measurements/{FILE}: there is no controller `{controller}`")
    rows = [
        [
            "itself" if beside == controller else f"[{beside}]({beside}.md)",
            f"{row['share_percent']} %",
            f"{row['rtt_mean_ms']} ms",
            row["harm_goodput"],
            row["harm_rtt"],
            _harm_to_other(pairs, controller, beside),
            pairs[beside, beside]["harm_goodput"],
        ]
        for beside, row in found.items()
    ]
    headings = (
        *("beside", "share", "mean RTT", "harm to its goodput", "harm to its RTT"),
        *("harm to the other", "harm by the other's own kind"),
    )
    above = "The [overview](index.md#beside-others) describes the path and the columns."
    return Table(headings, rows, [measured], above)


@maker("neighbours-of-all")
def neighbours_of_all() -> Table:
    """A row for each controller."""
    measured, pairs = _pairs()
    rows = []
    for one in dict.fromkeys(controller for controller, _ in pairs):
        cells = [
            f"{pairs[one, beside]['share_percent']} %, {_harm_to_other(pairs, one, beside)}"
            for beside in COMMON
        ]
        rows.append([f"[{one}]({one}.md)", *cells, f"{pairs[one, one]['rtt_mean_ms']} ms"])
    headings = ("controller", *(f"beside {beside}" for beside in COMMON), "beside itself")
    return Table(headings, rows, [measured])
