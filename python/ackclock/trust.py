"""Code that files name: controllers in C, objects, measures of a paper. It can do all that its user can."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

from ackclock import _engine

CODE = (".c", ".so", ".rs", "Cargo.toml")
"""The ends of the names of controllers in files."""


def code_of(plan: _engine.Plan) -> list[str]:
    """The controllers in files of a plan, by their absolute paths."""
    return [os.fspath(file) for file in plan.files if os.fspath(file).endswith(CODE)]


def sentence(where: Path | str, code: Collection[str]) -> str | None:
    """The refusal of code that a file or folder names, or None without any."""
    first = next(iter(code), None)
    if first is None:
        return None
    return (
        f"{where}: names {first}, which is code and can do all that you can; "
        "look at it, and give --trust to run it"
    )
