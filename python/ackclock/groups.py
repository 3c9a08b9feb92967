"""Groups of flows that a table or plot shows as one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Group(NamedTuple):
    """Copies of a flow, or the connections that it makes one after the other."""

    name: str
    """The name without a number, and how many there are: ``240 x web``."""
    cc: str
    flows: list[int]
    """Indices of the flows."""


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
