"""Running many jobs: what executes them, results as they finish, progress, and a clean stop."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from ackclock import _engine
from ackclock.result import Run

POLL_S = 0.1
"""How long one look for a finished job may take: the delay of progress and of Ctrl-C."""


LARGEST_SEED = 2**63 - 1
"""What a scenario file can hold."""

Progress = Callable[[float], None]
"""Called with the fraction done, several times a second."""


class Job(NamedTuple):
    """One run to do."""

    resolved: str
    """The resolved scenario as JSON, from ``_engine.resolve``."""
    seed: int
    pcap: str | None = None
    """Where to write the packet capture, if anywhere."""


class Engine(Protocol):
    """What executes jobs: the simulator, or the kernel's TCP (``ackclock.live``)."""

    any_controller: bool
    """Whether flows may name controllers that ``ackclock controllers`` does not list."""

    def check(self, resolved: str) -> None:
        """Refuses a resolved scenario that it cannot run, before anything starts. Raises ScenarioError."""

    def finished(self, jobs: Sequence[Job], progress: Progress | None = None) -> Iterator[tuple[int, Run]]:
        """Runs the jobs and yields (index of the job, run) as each one finishes.

        Leaving the iterator early, as Ctrl-C does, stops the jobs that still run; what was yielded stays good.
        """


@dataclass(frozen=True)
class Simulator:
    """Runs jobs in simulated time, many at once."""

    threads: int | None = None
    """One a core by default."""
    controllers: Sequence[Callable[[], Any]] = ()
    """What makes the controllers that are written in Python."""
    any_controller = False

    def check(self, resolved: str) -> None:
        """Everything that can be resolved can be simulated."""

    def finished(self, jobs: Sequence[Job], progress: Progress | None = None) -> Iterator[tuple[int, Run]]:
        """See ``Engine.finished``."""
        batch = _engine.Batch(
            [(job.resolved, job.seed) for job in jobs],
            threads=self.threads,
            controllers=list(self.controllers),
            pcap=[job.pcap for job in jobs],
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
