"""Blocks in backticks: the sysctls that they set.

A block is not run. Its commands are recognised: ``sysctl``, ``echo VALUE > /proc/sys/…``, shell files of such
commands, and commands that change nothing for one flow on a device of its own (``tc``, ``ethtool``).
"""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ackclock import reading
from ackclock.replay.expressions import evaluate
from ackclock.replay.script import UnsupportedError

ARITHMETIC = re.compile(r"\$\(\(([^()]*)\)\)")
RESTORE = re.compile(r"/tmp/sysctl_restore_\S*\.sh")
NO_OPS = ("ethtool", "true", ":", "modprobe")
DEEPEST = 5
"""The deepest nesting of shell files."""
QUIET = {"-q", "-w", "-e", "-n", "-qw", "-eq", "-qe"}


@dataclass(frozen=True)
class Setting:
    """A sysctl, or a parameter of a module, and its value."""

    name: str
    """``net.ipv4.tcp_sack``, ``tcp_cubic.hystart_detect``."""
    value: str


@dataclass(frozen=True)
class Discipline:
    """A ``tc`` command that sets the queue discipline of the device."""

    command: str

    @property
    def paces(self) -> bool:
        """True if segments leave at the pacing rate of TCP."""
        return self.command.split()[-1:] == ["fq"] or " fq " in self.command


def settings(text: str, folder: Path, depth: int = 0) -> Iterator[Setting | Discipline]:
    """The sysctls of a block. Its shell files are beside ``folder``. Raises UnsupportedError."""
    for command in re.split(r"[;\n]|&&", text.replace("\\\n", " ")):
        try:
            words = shlex.split(_computed(command), comments=True)
        except ValueError as error:
            raise UnsupportedError(f"the shell command `{command.strip()}` cannot be read: {error}") from None
        if words:
            yield from _command(words, folder, depth)


def _computed(command: str) -> str:
    """The command with ``$((1024*1024))`` computed."""

    def number(found: re.Match[str]) -> str:
        return str(evaluate(ast.parse(found.group(1).strip(), mode="eval").body, {}))

    try:
        return ARITHMETIC.sub(number, command)
    except (SyntaxError, ValueError):
        raise UnsupportedError(f"the shell command `{command.strip()}` is not modelled") from None


def _command(words: list[str], folder: Path, depth: int) -> Iterator[Setting | Discipline]:
    name, arguments = words[0], _without_redirection(words[1:])
    if name == "sysctl":
        for argument in arguments:
            if argument not in QUIET:
                yield _setting(argument)
    elif name == "echo" and ">" in words and words.index(">") == len(words) - 2:
        yield _setting(f"{words[-1]}={' '.join(words[1:-2])}")
    elif name == "tc":
        yield Discipline(" ".join(arguments))
    elif name in NO_OPS or arguments[:2] == ["tcp_metrics", "flush"] or RESTORE.fullmatch(name):
        return
    elif Path(name).name == "set_sysctls.py":
        for argument in arguments:
            yield _setting(argument)
    elif name.endswith(".sh") and not arguments:
        yield from _file(folder / name, name, depth)
    else:
        raise UnsupportedError(f"the shell command `{shlex.join(words)[:60]}` is not modelled")


def _file(file: Path, name: str, depth: int) -> Iterator[Setting | Discipline]:
    if depth >= DEEPEST:
        raise UnsupportedError(f"the shell file {name} calls others more than {DEEPEST} deep")
    try:
        text = reading.text(file)
    except (OSError, UnicodeDecodeError):
        raise UnsupportedError(f"the shell file {name} cannot be read") from None
    yield from settings(text, file.parent, depth + 1)


def _without_redirection(words: list[str]) -> list[str]:
    kept: list[str] = []
    skips = False
    for word in words:
        if skips or re.fullmatch(r"\d?>(&\d|/dev/null)", word):
            skips = False
        elif word in (">", "2>", ">>"):
            skips = True
        else:
            kept.append(word)
    return kept


def _setting(text: str) -> Setting:
    name, equals, value = text.partition("=")
    module = re.fullmatch(r"/sys/module/(\w+)/parameters/(\w+)", name)
    if module:
        name = f"{module.group(1)}.{module.group(2)}"
    name = name.removeprefix("/proc/sys/").replace("/", ".")
    if not equals or not re.fullmatch(r"\w+(\.[\w-]+)+", name):
        raise UnsupportedError(f"`{text[:60]}` sets no sysctl")
    return Setting(name, value.strip())
