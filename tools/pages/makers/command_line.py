"""Tables of the command line, from the commands themselves."""

from __future__ import annotations

import inspect
import re
from typing import Any

import typer

from ackclock.cli.app import application
from pages.tables import PageError, Table, maker


@maker("commands")
def commands() -> Table:
    """A row for each command."""
    rows = [[f"`ackclock {name}`", _first(command.help)] for name, command in _commands().items()]
    return Table(("command", "does"), rows)


@maker("options")
def options(command: str, without: str = "") -> Table:
    """A row for each option of a command, but for those that the command ``without`` has."""
    left_out = _options(without) if without else {}
    rows = [list(row) for row in _options(command).items() if row[0] not in left_out]
    return Table(("option", "means"), rows)


def _commands() -> dict[str, Any]:
    found: dict[str, Any] = vars(typer.main.get_command(application()))["commands"]
    return found


def _options(command: str) -> dict[str, str]:
    """The help of each option, by how it is written."""
    if command not in _commands():
        raise PageError(f"there is no command `{command}`")
    of = _commands()[command]
    context = typer.Context(of)
    # Arguments have a record as well.
    records = [one.get_help_record(context) for one in of.params if one.opts[0].startswith("--")]
    return {f"`{_spelled(name)}`": _plain(text) for name, text in filter(None, records)}


def _spelled(option: str) -> str:
    """An option as a user writes it: types become words."""
    return option.replace("<int range>", "N").replace("<float>", "X").replace("<str>", "VALUE")


def _plain(text: str) -> str:
    """Help as a cell, without ranges; paths and values in it are no Markdown."""
    text = re.sub(r"(; )?(\d+<=)?x[<>]=\d+", "", " ".join(text.split())).replace(" []", "")
    return re.sub(r"([*_<>])", r"\\\1", text)


def _first(text: str | None) -> str:
    """The first paragraph of a help text."""
    return _plain(inspect.cleandoc(text or "").split("\n\n")[0])
