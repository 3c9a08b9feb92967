"""Tables of a controller: its parameters and its probes, as the registry has them."""

from __future__ import annotations

from typing import Any

import ackclock
from ackclock import _engine
from pages.tables import PageError, Table, maker


def _entry(name: str) -> dict[str, Any]:
    """The entry of a controller in the registry."""
    for entry in ackclock.controllers() + _engine.media_controllers():
        if entry["name"] == name:
            return entry
    raise PageError(f"there is no controller `{name}`")


@maker("parameters")
def parameters(controller: str) -> Table:
    """A row for each parameter, and for each that only the form of a stack has."""
    headings = ("parameter", "default", "unit", "allowed", "meaning", "source")
    entry = _entry(controller)
    rows = [_row(one, one["meaning"]) for one in entry["parameters"]]
    rows += [
        _row(one, f'{one["meaning"]} (`stack = "{form["stack"]}"`)')
        for form in entry["forms"]
        for one in form["others"]
    ]
    return Table(headings, rows)


def _row(one: dict[str, Any], meaning: str) -> list[str]:
    """The row of a parameter."""
    return [f"`{one['name']}`", f"`{one['default']}`", one["unit"], one["range"], meaning, one["source"]]


@maker("probes")
def probes(controller: str) -> Table:
    """A row for each probe."""
    rows = [[f"`{one['name']}`", one["unit"], one["meaning"]] for one in _entry(controller)["probes"]]
    return Table(("probe", "unit", "meaning"), rows)


@maker("controllers")
def controllers(*names: str) -> Table:
    """A row for each of these controllers, with a link to its page."""
    entries = [_entry(name) for name in names]
    rows = [[f"[{one['name']}]({one['name']}.md)", one["summary"], one["source"]] for one in entries]
    return Table(("controller", "rule", "source"), rows)


@maker("variants")
def variants(controller: str) -> Table:
    """A column for each stack with a form of its own, a row for each parameter with another value there."""
    entry = _entry(controller)
    defaults = {one["name"]: one["default"] for one in entry["parameters"]}
    stacks = {
        form["stack"]: {name: _shown(value) for name, value in form["parameters"].items()}
        for form in entry["forms"]
    }
    rows = [
        [f"`{name}`", f"`{default}`", *(f"`{own[name]}`" if name in own else "" for own in stacks.values())]
        for name, default in defaults.items()
        if any(own.get(name, default) != default for own in stacks.values())
    ]
    above = "An empty cell is of a form without this parameter." if any("" in row for row in rows) else ""
    return Table(("parameter", "standard", *stacks), rows, above=above)


def _shown(value: object) -> str:
    """A value as scenarios spell it."""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)
