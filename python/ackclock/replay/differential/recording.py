"""Recorded answers of a kernel: its behaviour in drawn situations, in a compressed JSON file."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ackclock.errors import InputError
from ackclock.replay.differential.playing import answer, play
from ackclock.replay.differential.situation import (
    FAULTS,
    GENERATOR,
    DrawnSituation,
    Faults,
    drawn,
    one_of,
)
from ackclock.replay.differential.trace import Difference, Trace, compared
from ackclock.replay.simulated import Simulated

LARGEST_FILE = 64 << 20
"""The largest recording in bytes, once unpacked."""


@dataclass(frozen=True)
class Origin:
    """Where a recording comes from."""

    kernel: str
    hz: int
    date: str
    command: str


@dataclass(frozen=True)
class RecordedRun:
    """A recorded situation."""

    seed: int
    faults: Faults
    trace: Trace

    @property
    def situation(self) -> DrawnSituation:
        """The situation that was played."""
        return drawn(self.seed, self.faults)

    def compared(self) -> Difference | None:
        """Where the simulation parts from the recorded kernel."""
        return parted(self.situation, self.trace)


def parted(situation: DrawnSituation, kernel: Trace) -> Difference | None:
    """Where the simulation parts from a kernel in a situation."""
    if not kernel.met:
        return compared(play(situation, Simulated()).trace, kernel)
    first, *others = [
        answer(one_of(situation, number), one.met, Simulated()).trace
        for number, one in enumerate((kernel, *kernel.others))
    ]
    return compared(replace(first, others=tuple(others)), kernel)


@dataclass(frozen=True)
class Recording:
    """Recorded runs of one kernel."""

    origin: Origin
    runs: Sequence[RecordedRun]

    def write(self, file: Path) -> None:
        """Writes it. The same runs give the same bytes."""
        document = {
            "generator": GENERATOR,
            "origin": asdict(self.origin),
            "runs": [*map(_as_json, self.runs)],
        }
        text = json.dumps(document, separators=(",", ":"))
        file.write_bytes(gzip.compress(text.encode(), mtime=0))

    @classmethod
    def read(cls, file: Path) -> Recording:
        """Reads one. Raises InputError."""
        try:
            with gzip.open(file) as packed:
                data = packed.read(LARGEST_FILE + 1)
        except (OSError, EOFError) as error:
            why = (
                getattr(error, "strerror", None)
                or "is no recording of `ackclock kernel differential --record`"
            )
            raise InputError(f"{file}: {why}") from None
        if len(data) > LARGEST_FILE:
            raise InputError(f"{file}: a recording has at most {LARGEST_FILE >> 20} MiB")
        try:
            document = json.loads(data)
            generator = document["generator"]
            found = cls(Origin(**document["origin"]), [*_runs(document["runs"])])
        except (ValueError, KeyError, TypeError):
            raise InputError(f"{file}: is no recording of `ackclock kernel differential --record`") from None
        if generator != GENERATOR:
            raise InputError(
                f"{file}: was recorded with generator {generator}, and this is {GENERATOR}: "
                "record it anew with --live"
            )
        return found


def _as_json(run: RecordedRun) -> dict[str, Any]:
    return {"seed": run.seed, "faults": run.faults, **run.trace.as_json()}


def _runs(values: Any) -> Iterator[RecordedRun]:
    for value in values:
        if value["faults"] not in FAULTS:
            raise ValueError(value["faults"])
        yield RecordedRun(value["seed"], value["faults"], Trace.from_json(value))
