"""Code that files name: controllers in C, objects, measures of a paper. It can do all that its user can.

The door is ``_engine.Files``, which reads the files that scenarios name. Without ``--trust`` it opens no code
but the files that the command line names.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Protocol

from ackclock import _engine


class Named(Protocol):
    """A controller of the command line."""

    @property
    def cc(self) -> str:
        """Its spelling."""


def named(
    compared: Iterable[Named] = (), settings: Iterable[tuple[str, str]] = (), beside: Path | None = None
) -> _engine.Files:
    """The files of scenarios in which only code runs that the command line names: controllers, settings."""
    code = [one.cc for one in compared] + [value.strip().strip("\"'") for _, value in settings]
    return _engine.Files(code, beside=beside)


def all_named() -> _engine.Files:
    """The files of scenarios whose user trusts them: ``--trust``, or a program of his own."""
    return _engine.Files(trusted=True)


def sentence(where: Path | str, code: Collection[str]) -> str | None:
    """The refusal of measures that a folder has, or None without any."""
    first = next(iter(code), None)
    if first is None:
        return None
    return (
        f"{where}: names {first}, which is code and can do all that you can; "
        "look at it, and give --trust to run it"
    )
