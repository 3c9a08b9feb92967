"""``ackclock --man``: the manual page, made from the ``--help`` of each command."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from ackclock import _engine

STATUSES = (
    ("0", "done"),
    ("1", "a claim missed its band"),
    ("2", "bad input, or output that cannot be written"),
    ("3", "a live run went past its error budget"),
    ("70", "an error in ackclock itself"),
    ("130", "interrupted"),
    ("141", "the reader of the output closed it"),
)


def page(command: Any, context: Any) -> str:
    """The page in roff, of an application of Click and the context of its call."""
    lines = [
        f'.TH ACKCLOCK 1 "" "ackclock {_engine.version()}" "User Commands"',
        ".SH NAME",
        "ackclock \\- a congestion-control laboratory",
        ".SH SYNOPSIS",
        ".B ackclock\n.I COMMAND\n[ARGUMENT...] [OPTION...]",
        ".SH DESCRIPTION",
        _roff(command.help),
        ".SH COMMANDS",
    ]
    for name, one in _commands(command, context, ""):
        lines += _command(name, one, context)
    lines.append(".SH EXIT STATUS")
    for status, meaning in STATUSES:
        lines += [".TP", f".B {status}", meaning]
    lines += [".SH SEE ALSO", "The documentation in the folder docs of the sources."]
    return "\n".join(lines) + "\n"


def _commands(group: Any, context: Any, before: str) -> Iterable[tuple[str, Any]]:
    """The commands of a group and of its groups, with their names."""
    for name in group.list_commands(context):
        one = group.get_command(context, name)
        if hasattr(one, "list_commands"):
            yield from _commands(one, context, f"{before}{name} ")
        else:
            yield f"{before}{name}", one


def _command(name: str, command: Any, context: Any) -> list[str]:
    """The section of a command: its usage, its description, its arguments and options."""
    usage = " ".join(command.collect_usage_pieces(context))
    lines = [f".SS ackclock {_roff(name)} {_roff(usage)}"]
    for paragraph in (command.help or "").split("\n\n"):
        lines += [".PP", _roff(" ".join(paragraph.split()))]
    for parameter in [one for one in command.params if not getattr(one, "hidden", False)]:
        words = parameter.make_metavar(context)
        if parameter.param_type_name == "option":
            options = ", ".join((*parameter.opts, *parameter.secondary_opts))
            words = options if parameter.is_flag else f"{options} {words}"
        lines += [".TP", f".B {_roff(words)}", _roff(" ".join((parameter.help or "").split()))]
    return lines


def _roff(text: str) -> str:
    """Plain text, without characters that roff or Markdown would read as commands."""
    text = re.sub(r"`([^`]*)`", r"\1", text).replace("\\", "\\e").replace("-", "\\-").replace("…", "...")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.MULTILINE)
