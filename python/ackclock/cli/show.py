"""``ackclock show``: controllers, engines, examples and the state of this machine."""

from __future__ import annotations

from typing import Any

from rich.table import Column, Table

from ackclock import _engine
from ackclock.cli import output
from ackclock.cli.command import command, group
from ackclock.cli.controllers import controllers
from ackclock.cli.examples import examples
from ackclock.cli.machine import machine
from ackclock.cli.options import JSON
from ackclock.engines.options import declared, spelled
from ackclock.engines.registry import ENGINES


@command(JSON)
def engines(as_json: bool) -> None:
    """List the engines, with the options that `--engine NAME:OPTION=VALUE,…` takes.

    Example: `ackclock show engines`
    """
    rows = engine_rows()
    if as_json:
        output.print_json({"engines": rows})
        return
    table = Table("engine", "runs on", "here", Column("option", no_wrap=True), "default", "means")
    before = ""
    for row in rows:
        options: list[dict[str, Any]] = row["options"]
        for option in options:
            first = row["name"] != before
            before = row["name"]
            head = (row["name"], row["words"], "yes" if row["built_in"] else "no") if first else ("", "", "")
            default = "" if option["default"] is None else str(option["default"])
            table.add_row(*head, option["name"], default, option["meaning"])
    output.show(table, as_json=False)


def engine_rows() -> list[dict[str, Any]]:
    """The engines with their options."""
    return [
        {
            "name": name,
            "words": kind.words,
            "built_in": name in _engine.engines(),
            "options": [
                {"name": spelled(option), "default": of.default, "meaning": about.meaning}
                for option, (of, about) in declared(kind).items()
            ],
        }
        for name, kind in ENGINES.items()
    ]


show = group(
    "show",
    "Show what there is: controllers, engines, examples, and what this machine has.",
    controllers,
    engines,
    examples,
    machine,
)
