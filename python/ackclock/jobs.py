"""Running many jobs at once: results as they finish, progress, and a clean stop."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from ackclock import _engine
from ackclock.result import Run

POLL_S = 0.1
"""How long one look for a finished job may take: the delay of progress and of Ctrl-C."""


LARGEST_SEED = 2**63 - 1
"""What a scenario file can hold."""


class Job(NamedTuple):
    """One run to do."""

    resolved: str
    """The resolved scenario as JSON, from ``_engine.resolve``."""
    seed: int
    pcap: str | None = None
    """Where to write the packet capture, if anywhere."""


def finished(
    jobs: Sequence[Job],
    *,
    threads: int | None = None,
    controllers: Sequence[Callable[[], Any]] = (),
    progress: Callable[[float], None] | None = None,
) -> Iterator[tuple[int, Run]]:
    """Runs the jobs and yields (index of the job, run) as each one finishes.

    They run on ``threads`` threads (default: one a core). ``progress`` is called with the fraction done,
    several times a second. Leaving the iterator early, as Ctrl-C does, stops the jobs that still run; what
    was yielded stays good.
    """
    batch = _engine.Batch(
        [(job.resolved, job.seed) for job in jobs],
        threads=threads,
        controllers=list(controllers),
        pcap=[job.pcap for job in jobs],
    )
    try:
        while not batch.done:
            found = batch.next(POLL_S)
            if progress is not None:
                progress(batch.progress())
            if found is not None:
                index, engine_run = found
                yield index, Run.from_engine(engine_run, jobs[index].resolved, jobs[index].seed)
    finally:
        batch.cancel()
