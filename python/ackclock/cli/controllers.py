"""``ackclock show controllers``: the controllers, their parameters and probes."""

from __future__ import annotations

import json
from typing import Any

from rich.table import Column, Table

from ackclock import _engine
from ackclock.cli import completing, output
from ackclock.cli.command import Argument, command
from ackclock.cli.options import JSON
from ackclock.errors import InputError, did_you_mean


@command(
    Argument(
        "name",
        required=False,
        metavar="[NAME]",
        help="A controller, to see its parameters.",
        completes=completing.controllers,
    ),
    JSON,
)
def controllers(name: str | None, as_json: bool) -> None:
    """List the controllers, or the parameters and probes of one.

    Example: `ackclock show controllers cdg`
    """
    from ackclock.checks.target import AIMS

    every = _engine.controllers() + _engine.media_controllers()
    if name is None:
        if as_json:
            output.print_json({"controllers": every})
            return
        table = Table("name", "controller", "source")
        for one in every:
            table.add_row(one["name"], f"{one['title']}: {one['summary']}", one["source"])
        output.show(table, as_json=False)
        return
    chosen = next((one for one in every if one["name"] == name), None)
    if chosen is None:
        names = [one["name"] for one in every]
        meant = did_you_mean(name, names)
        raise InputError(f"there is no controller `{name}`{meant} (there are {', '.join(names)})")
    if as_json:
        output.print_json(chosen)
        return
    output.show(
        f"{chosen['title']}: {chosen['summary']}. {chosen['source']}. For {AIMS[chosen['aim']]}.",
        as_json=False,
    )
    _show("parameter", chosen["parameters"], ("default", "unit", "range", "meaning", "source"))
    if _starts_slowly(name):
        output.show(
            "`slow_start` among its parameters takes another slow start: see the page of slow start.",
            as_json=False,
        )
    if chosen["forms"]:
        output.show(
            "A profile gives it the form of its stack; `stack` among its parameters names another.",
            as_json=False,
        )
        standard = {one["name"]: one["schema"]["default"] for one in chosen["parameters"]}
        rows = [
            {"name": one["stack"], "parameters": _values(_differing(standard, one["parameters"]))}
            for one in chosen["forms"]
        ]
        _show("form", rows, ("parameters",))
    _show("probe", chosen["probes"], ("unit", "meaning"))


def _starts_slowly(name: str) -> bool:
    """True if controller ``name`` takes another slow start."""
    own = json.loads(_engine.schema())["$defs"][f"parameters-{name}"]["properties"]
    return "$ref" in own.get("slow_start", {})


def _differing(standard: dict[str, Any], form: dict[str, Any]) -> dict[str, Any]:
    """The parameters of ``form`` that differ from ``standard``."""
    return {name: value for name, value in form.items() if standard.get(name) != value}


def _values(values: dict[str, Any]) -> str:
    """``values`` as a scenario writes them."""
    return ", ".join(f"{name} = {json.dumps(value)}" for name, value in values.items())


def _show(kind: str, rows: list[dict[str, Any]], columns: tuple[str, ...]) -> None:
    """Prints ``rows`` as a table of names and ``columns``, or says that there are none."""
    if not rows:
        output.show(f"It has no {kind}s.", as_json=False)
        return
    # Names are for copying: folded rather than cut.
    table = Table(Column(kind, overflow="fold"), *columns)
    for row in rows:
        table.add_row(*(str(row[key]) for key in ("name", *columns)))
    output.show(table, as_json=False)
