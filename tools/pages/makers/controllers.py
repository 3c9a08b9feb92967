"""Tables of a controller: its parameters and its probes, as the registry has them."""

from __future__ import annotations

from typing import Any

import ackclock
from pages.tables import PageError, Table, maker


def _entry(name: str) -> dict[str, Any]:
    """The entry of a controller in the registry."""
    for entry in ackclock.controllers():
        if entry["name"] == name:
            return entry
    raise PageError(f"there is no controller `{name}`")


@maker("parameters")
def parameters(controller: str) -> Table:
    """A row for each parameter."""
    headings = ("parameter", "default", "unit", "allowed", "meaning", "source")
    rows = [
        [f"`{one['name']}`", f"`{one['default']}`", one["unit"], one["range"], one["meaning"], one["source"]]
        for one in _entry(controller)["parameters"]
    ]
    return Table(headings, rows)


@maker("probes")
def probes(controller: str) -> Table:
    """A row for each probe."""
    rows = [[f"`{one['name']}`", one["unit"], one["meaning"]] for one in _entry(controller)["probes"]]
    return Table(("probe", "unit", "meaning"), rows)
