"""Groups of flows that a table or plot shows as one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import pyarrow as pa


class Group(NamedTuple):
    """Copies of a flow, or the connections that it makes one after the other."""

    name: str
    """The name without a number, and the number of flows: ``240 x web``."""
    cc: str
    flows: list[int]
    """Places of the flows among the names."""


def grouped(names: Sequence[str], controllers: Sequence[str]) -> list[Group]:
    """The flows by controller and name without the number at its end (``web-17`` is of ``web``)."""
    found: dict[tuple[str, str], list[int]] = {}
    for flow, (name, cc) in enumerate(zip(names, controllers, strict=True)):
        stem, _, number = name.rpartition("-")
        found.setdefault((stem if stem and number.isdigit() else name, cc), []).append(flow)
    return [
        Group(name if len(flows) == 1 else f"{len(flows)} x {name}", cc, flows)
        for (name, cc), flows in found.items()
    ]


def only_controller(flows: pa.Table) -> str:
    """The controller of all flows of a run, or nothing where it has several."""
    of_all = {str(cc) for cc in flows["cc"].to_pylist()}
    return of_all.pop() if len(of_all) == 1 else ""
