"""Packet scripts on the TCP of a kernel in virtual time, which is never late."""

from __future__ import annotations

import os
import pickle
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from ackclock._engine import MachineError
from ackclock.errors import InputError
from ackclock.replay import Verdict, each, replay_live
from ackclock.uml import guest, kernels
from ackclock.uml.machine import REPORT, Machine

VERDICTS, ERROR = "verdicts", "error"
POLL_S = 0.05


@dataclass(frozen=True)
class Scripts:
    """Runs the scripts in ``files``, seen from ``folder``, one after the other in one boot."""

    files: Sequence[Path]
    controller: str | None
    folder: str

    def run(self, results: Path) -> None:
        """See ``Task.run``.

        The verdicts are the file ``verdicts``, an error that ended them is the file ``error``.
        """
        guest.wait_for_begin()
        guest.seed_randomness(results, 1)
        os.chdir(self.folder)
        numbers = count()

        def replayed(file: Path) -> Verdict:
            (results / REPORT).write_text(str(next(numbers)), "utf-8")
            return replay_live(file, self.controller)

        try:
            found = each(self.files, replayed)
        except (InputError, MachineError) as error:
            (results / ERROR).write_bytes(pickle.dumps(error))
        else:
            (results / VERDICTS).write_bytes(pickle.dumps(found))


def replay_virtual(
    files: Sequence[Path], controller: str | None = None, linux: str | None = None
) -> list[Verdict]:
    """Runs the scripts in ``files`` on the kernel of version ``linux``.

    Raises InputError for a file that is no script, and MachineError without such a kernel.
    """
    with Machine(kernels.find(linux).program, Scripts(files, controller, str(Path.cwd()))) as machine:
        while machine.running():
            time.sleep(POLL_S)
        if (failed := machine.results / ERROR).exists():
            raise pickle.loads(failed.read_bytes())
        verdicts: list[Verdict] = pickle.loads((machine.results / VERDICTS).read_bytes())
        return verdicts
