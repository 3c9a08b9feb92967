"""Tables of the command line, from the commands themselves."""

from __future__ import annotations

import inspect
import re
from typing import Any

import click

from ackclock.cli.app import HIDDEN, NAMES, application
from ackclock.cli.show import engine_rows
from pages.tables import PageError, Table, maker


@maker("commands")
def commands() -> Table:
    """A row for each command."""
    rows = [[f"`ackclock {name}`", _first(_commands()[name].help)] for name in NAMES]
    return Table(("command", "does"), rows)


@maker("options")
def options(command: str, without: str = "") -> Table:
    """A row for each option of a command, but for those that the command ``without`` has."""
    left_out = _options(without) if without else {}
    rows = [list(row) for row in _options(command).items() if row[0] not in left_out]
    return Table(("option", "means"), rows)


@maker("engine-options")
def engine_options() -> Table:
    """A row for each option of an engine."""
    rows = [
        [
            f"`{engine['name']}:{option['name']}=`",
            engine["words"],
            "" if option["default"] is None else str(option["default"]),
            _plain(option["meaning"]),
        ]
        for engine in engine_rows()
        for option in engine["options"]
    ]
    return Table(("engine and option", "runs on", "default", "means"), rows)


def _commands() -> dict[str, Any]:
    """The commands by name. Commands of groups give way to others of the same name."""
    context = click.Context(application)
    found: dict[str, Any] = {name: application.get_command(context, name) for name in (*NAMES, *HIDDEN)}
    groups = [one for one in found.values() if isinstance(one, click.Group)]
    return {name: one for group in groups for name, one in group.commands.items()} | found


def _options(command: str) -> dict[str, str]:
    """The help of each option, by how it is written."""
    if command not in _commands():
        raise PageError(f"there is no command `{command}`")
    of = _commands()[command]
    context = click.Context(of, show_default=True)
    records = [one.get_help_record(context) for one in of.params if isinstance(one, click.Option)]
    return {f"`{name}`": _plain(text) for name, text in filter(None, records)}


def _plain(text: str) -> str:
    """Help as a cell. Paths and values in it are no Markdown."""
    return re.sub(r"([*_<>])", r"\\\1", " ".join(text.split()))


def _first(text: str | None) -> str:
    """The first paragraph of a help text."""
    return _plain(inspect.cleandoc(text or "").split("\n\n")[0])
