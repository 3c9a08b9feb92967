"""``ackclock controllers``: what there is."""

from __future__ import annotations

import difflib
from typing import Annotated

import typer
from rich.table import Table

from ackclock import _engine
from ackclock.cli import output
from ackclock.errors import InputError


def controllers(
    name: Annotated[str | None, typer.Argument(help="A controller, to see its parameters.")] = None,
    as_json: output.JsonOption = False,
) -> None:
    """List the controllers, or the parameters of one.

    Example: `ackclock controllers cdg`
    """
    every = _engine.controllers()
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
        nearest = difflib.get_close_matches(name, names, 1, 0.0)[0]
        raise InputError(
            f"there is no controller `{name}`; did you mean `{nearest}`? (there are {', '.join(names)})"
        )
    if as_json:
        output.print_json(chosen)
        return
    output.show(f"{chosen['title']}: {chosen['summary']}. {chosen['source']}.", as_json=False)
    if not chosen["parameters"]:
        output.show("It has no parameters.", as_json=False)
        return
    table = Table("parameter", "default", "unit", "range", "meaning", "source")
    for p in chosen["parameters"]:
        table.add_row(*(str(p[key]) for key in ("name", "default", "unit", "range", "meaning", "source")))
    output.show(table, as_json=False)
