"""Tables of the TCP profiles and their options, from the stacks and the JSON schema."""

from __future__ import annotations

import json

import ackclock
from pages.makers.scenario import bounds
from pages.tables import Table, maker


@maker("profiles")
def profiles() -> Table:
    """A row for each profile."""
    return Table(("profile", "stack"), [[f"`{one['name']}`", one["summary"]] for one in ackclock.profiles()])


@maker("transport-options")
def transport_options() -> Table:
    """A row for each option with its value in every profile."""
    stacks = ackclock.profiles()
    flow = json.loads(ackclock.schema())["$defs"]["Flow"]
    options = flow["properties"]["transport"]["properties"]
    rows = [
        [
            f"`{name}`",
            *(f"`{_toml(one['options'][name])}`" for one in stacks),
            options[name]["description"] + bounds(options[name]),
        ]
        for name in stacks[0]["options"]
    ]
    return Table(("option", *(one["name"] for one in stacks), "meaning"), rows)


def _toml(value: object) -> str:
    """A value as a scenario spells it."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_toml(inner)}" for key, inner in value.items()) + " }"
    return json.dumps(value)
