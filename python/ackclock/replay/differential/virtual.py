"""Plays situations on the TCP of a kernel in virtual time, which is never late."""

from __future__ import annotations

import pickle
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ackclock.replay.differential.live import play_live
from ackclock.replay.differential.playing import Played
from ackclock.replay.differential.situation import DrawnSituation
from ackclock.uml import guest
from ackclock.uml.kernels import Kernel
from ackclock.uml.machine import REPORT, Machine

PLAYED = "played"
POLL_S = 0.05


@dataclass(frozen=True)
class Situations:
    """Plays situations inside the kernel, one after the other in one boot."""

    drawn: Sequence[DrawnSituation]

    def run(self, results: Path) -> None:
        """See ``Task.run``. The result is the file ``played``."""
        guest.wait_for_begin()
        guest.seed_randomness(results, 1)
        found = []
        for number, situation in enumerate(self.drawn):
            (results / REPORT).write_text(str(number), "utf-8")
            found.append(play_live(situation, retries=0))
        (results / PLAYED).write_bytes(pickle.dumps(found))


def play_virtual(
    situations: Sequence[DrawnSituation], kernel: Kernel
) -> Iterator[tuple[DrawnSituation, Played]]:
    """Plays situations on ``kernel``, in their order. Raises MachineError."""
    with Machine(kernel.program, Situations(situations)) as machine:
        while machine.running():
            time.sleep(POLL_S)
        played: list[Played] = pickle.loads((machine.results / PLAYED).read_bytes())
    yield from zip(situations, played, strict=True)
