"""``--trust``: without it the code that a file on the command line names does not run."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ackclock import _engine
from ackclock.errors import InputError
from ackclock.trust import code_of, sentence


def check(file: Path, plan: _engine.Plan, given: Iterable[str], trust: bool) -> None:
    """Refuses code that a scenario names, but for files among the values ``given`` on the command line."""
    places = (Path(), file.parent)
    named = {(place / value.strip().strip("\"'")).resolve() for value in given for place in places}
    refusal = sentence(file, [code for code in code_of(plan) if Path(code).resolve() not in named])
    if refusal is not None and not trust:
        raise InputError(refusal)
