"""The series of a run as exports need them: one flow's samples, and one link's."""

from __future__ import annotations

from collections.abc import Mapping

from ackclock.metrics import Array, column
from ackclock.result import Run


def of_flow(run: Run, flow: int) -> Mapping[str, Array]:
    """The columns of ``flow_series`` for the flow of that number."""
    return _rows(run, "flow_series", "flow", flow)


def of_link(run: Run, link: int) -> Mapping[str, Array]:
    """The columns of ``link_series`` for the link of that number."""
    return _rows(run, "link_series", "link", link)


def bottleneck(run: Run) -> int:
    """The number of the bottleneck, or of the first link."""
    marked = run.links["is_bottleneck"].to_pylist()
    row = marked.index(True) if True in marked else 0
    return int(run.links["link"][row].as_py())


def _rows(run: Run, table: str, key: str, number: int) -> Mapping[str, Array]:
    rows = run.table(table)
    chosen = column(rows, key) == number
    numeric = [name for name in rows.column_names if name not in (key, "state")]
    return {name: column(rows, name)[chosen] for name in numeric}
