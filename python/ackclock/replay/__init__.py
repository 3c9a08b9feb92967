"""Packet scripts in the language of packetdrill, run against a TCP endpoint: simulated, or the kernel's.

A script lists the packets that arrive at an endpoint, the calls of its application, the packets that the
endpoint has to send, and assertions on its state. ``replay`` runs one and gives the verdict, ``replay_live``
does so on the kernel's TCP.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ackclock import reading
from ackclock.errors import InputError, of_file
from ackclock.replay.endpoint import Endpoint
from ackclock.replay.kernel import Kernel, in_namespace
from ackclock.replay.parser import parse
from ackclock.replay.player import Player
from ackclock.replay.script import DivergenceError, ScriptError, UnsupportedError

__all__ = [
    "DivergenceError",
    "ScriptError",
    "UnsupportedError",
    "Verdict",
    "each",
    "replay",
    "replay_live",
]

LATENESS_S = 0.001
"""The lateness up to which a divergence on the kernel's TCP counts: well below the tolerance of times."""
LARGEST_FILE = 256 << 10
"""The largest size of a script in bytes."""


@dataclass(frozen=True)
class Verdict:
    """The result of a script."""

    file: str
    verdict: Literal["match", "divergence", "unsupported", "no script"]
    line: int | None = None
    """The divergence, or the unsupported statement. None for a match. What is no script has it in ``why``."""
    why: str = ""
    late_s: float = 0.0
    """The largest lateness of packets and calls on the kernel's TCP."""

    @property
    def is_valid(self) -> bool:
        """True if it is about the endpoint, and not about a machine that was too late."""
        return self.verdict != "divergence" or self.late_s <= LATENESS_S

    def as_dict(self) -> dict[str, Any]:
        """The verdict as it is printed with ``--json``."""
        late = "" if self.is_valid else f"; this machine was late by {self.late_s * 1e3:.1f} ms"
        return {"file": self.file, "verdict": self.verdict, "line": self.line, "why": self.why + late}


def replay(file: Path, make: Callable[[], Endpoint]) -> Verdict:
    """Runs a script on the endpoint of ``make``. Raises InputError for a file that is no script."""
    text = _read(file)
    try:
        script = parse(text, str(file))
    except UnsupportedError as error:
        return Verdict(str(file), "unsupported", error.line, error.why)
    endpoint = make()
    try:
        Player(script, endpoint, file.parent).play()
    except UnsupportedError as error:
        return Verdict(str(file), "unsupported", error.line, error.why)
    except DivergenceError as error:
        return Verdict(str(file), "divergence", error.line, error.why, endpoint.late)
    finally:
        endpoint.close()
    return Verdict(str(file), "match")


def replay_live(file: Path, controller: str | None = None, retries: int = 0) -> Verdict:
    """Runs the script in ``file`` on the kernel's TCP, again while it diverges and the machine was late.

    Raises InputError for a file that is no script, and MachineError without a namespace or device.
    """
    while True:
        verdict = in_namespace(lambda: replay(file, lambda: Kernel(controller)))
        if verdict.is_valid or retries == 0:
            return verdict
        retries -= 1


def each(files: Sequence[Path], run: Callable[[Path], Verdict]) -> list[Verdict]:
    """The verdict of ``run`` on each file. One of several that is no script has that as its verdict.

    Raises InputError for a file that cannot be read, and ScriptError for the only file.
    """
    verdicts = []
    for file in files:
        try:
            verdicts.append(run(file))
        except ScriptError as error:
            if len(files) == 1:
                raise
            verdicts.append(Verdict(str(file), "no script", why=str(error)))
    return verdicts


def _read(file: Path) -> str:
    try:
        return reading.text(file, LARGEST_FILE)
    except UnicodeDecodeError:
        raise ScriptError(f"{file}: is no text in UTF-8") from None
    except OSError as error:
        raise InputError(f"{file}: {of_file(error)}") from None
