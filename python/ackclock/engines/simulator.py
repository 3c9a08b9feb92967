"""The simulator as an engine: many runs at once, each in simulated time on one thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ackclock import _engine
from ackclock.engines import POLL_S, Job, Progress
from ackclock.result import Run


@dataclass(frozen=True)
class Simulator:
    """Runs jobs in simulated time, many at once."""

    threads: int | None = None
    """One a core by default."""
    controllers: Sequence[Callable[[], Any]] = ()
    """Makers of the controllers that are written in Python."""
    pcap_at: str = "sender"
    """Where packet captures are taken: ``sender``, ``receiver``, ``bottleneck`` or ``all``."""
    any_controller = False

    def check(self, resolved: str) -> None:
        """Everything that can be resolved can be simulated."""

    def run(self, jobs: Sequence[Job], progress: Progress | None = None) -> Iterator[tuple[int, Run]]:
        """See ``Engine.run``."""
        batch = _engine.Batch(
            [(job.resolved, job.seed) for job in jobs],
            threads=self.threads,
            controllers=list(self.controllers),
            pcap=[job.pcap for job in jobs],
            pcap_at=self.pcap_at,
        )
        for index, run in drained(batch, progress):
            yield index, Run.from_engine(run, jobs[index].resolved, jobs[index].seed)


def drained(batch: _engine.Batch, progress: Progress | None = None) -> Iterator[tuple[int, _engine.Run]]:
    """The runs of a batch as they finish. The batch is stopped when the iterator is left."""
    try:
        while not batch.done:
            found = batch.next(POLL_S)
            if progress is not None:
                progress(batch.progress())
            if found is not None:
                yield found
    finally:
        batch.cancel()
