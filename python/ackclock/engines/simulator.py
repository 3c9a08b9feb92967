"""The simulator as an engine: many runs at once, each in simulated time, by default on one core."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, TypedDict

from ackclock import _engine
from ackclock.engines import POLL_S, Job, NamedEngine, Progress
from ackclock.engines.options import option, threads
from ackclock.result import Run


class SimulatorOptions(TypedDict, total=False):
    """The options of ``Simulator``."""

    threads: int | None
    cores: int


@dataclass(frozen=True)
class Simulator(NamedEngine):
    """Runs jobs in simulated time, many at once."""

    name: ClassVar[str] = "sim"
    words: ClassVar[str] = "the simulator"

    threads: int | None = threads()
    cores: int = option(
        1, "Cores that one run may use; the results are the same for any number.", low=1, high=1024
    )
    controllers: Sequence[Callable[[], Any]] = ()
    """Makers of the controllers that are written in Python."""

    def alone(self) -> Self:
        """See ``NamedEngine.alone``."""
        return replace(self, threads=1)

    def run(self, jobs: Sequence[Job], progress: Progress | None = None) -> Iterator[tuple[int, Run]]:
        """See ``Engine.run``."""
        batch = _engine.Batch(
            [(job.plan, job.seed) for job in jobs],
            engine=Simulator.name,
            threads=self.threads,
            cores=self.cores,
            controllers=list(self.controllers),
            pcap=[job.pcap for job in jobs],
            pcap_at=self.pcap_at,
        )
        for index, run in drained(batch, progress):
            yield index, Run.from_engine(run, jobs[index].plan, jobs[index].seed)


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
