"""Packet scripts in the language of packetdrill, run against a TCP endpoint.

A script says what arrives at an endpoint and when, what its application does, what the endpoint has to send,
and what has to hold of its state. ``replay`` runs one and gives the verdict.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from ackclock.errors import InputError
from ackclock.replay.arm import Arm
from ackclock.replay.parser import parse
from ackclock.replay.player import Player
from ackclock.replay.script import DivergenceError, ScriptError, UnsupportedError

__all__ = ["DivergenceError", "ScriptError", "UnsupportedError", "Verdict", "replay"]

LARGEST_FILE = 256 << 10
"""Bytes that a script may have."""


@dataclass(frozen=True)
class Verdict:
    """What came of a script."""

    file: str
    verdict: Literal["match", "divergence", "unsupported"]
    line: int | None = None
    """Where it diverged, or what is not supported; None for a match."""
    why: str = ""

    def as_dict(self) -> dict[str, Any]:
        """The verdict as it is printed with ``--json``."""
        return asdict(self)


def replay(file: Path, make: Callable[[], Arm]) -> Verdict:
    """Runs the script in ``file`` on the endpoint of ``make``. Raises InputError for what is no script."""
    text = _read(file)
    try:
        script = parse(text, str(file))
        arm = make()
        try:
            Player(script, arm, file.parent).play()
        finally:
            arm.close()
    except UnsupportedError as error:
        return Verdict(str(file), "unsupported", error.line, error.why)
    except DivergenceError as error:
        return Verdict(str(file), "divergence", error.line, error.why)
    return Verdict(str(file), "match")


def _read(file: Path) -> str:
    try:
        if file.stat().st_size > LARGEST_FILE:
            raise InputError(f"{file}: a script has at most {LARGEST_FILE >> 10} KiB")
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise InputError(f"{file}: is no text in UTF-8") from None
    except OSError as error:
        raise InputError(f"{file}: {error.strerror or error}") from None
