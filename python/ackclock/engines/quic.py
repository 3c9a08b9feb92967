"""QUIC as an engine: the connections of noq in virtual time, many runs at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from ackclock import _engine
from ackclock.engines import Job, NamedEngine, Progress
from ackclock.engines.options import threads
from ackclock.engines.simulator import drained
from ackclock.result import Run


@dataclass(frozen=True)
class Quic(NamedEngine):
    """Runs jobs over QUIC, in simulated time."""

    name: ClassVar[str] = "quic"
    words: ClassVar[str] = "QUIC (noq)"
    in_real_time: ClassVar[str | None] = "quic-live"

    own: ClassVar[Sequence[str]] = ("noq:newreno", "noq:cubic", "noq:bbr3")

    threads: int | None = threads()
    controllers: Sequence[Callable[[], Any]] = ()
    """Makers of the controllers that are written in Python."""

    @classmethod
    def require(cls) -> None:
        """Raises MachineError where ackclock was built without QUIC."""
        if cls.name not in _engine.engines():
            raise _engine.MachineError(
                "this ackclock was built without QUIC: run `make build QUIC=1` in its sources"
            )

    def alone(self) -> Self:
        """See ``NamedEngine.alone``."""
        return replace(self, threads=1)

    def run(self, jobs: Sequence[Job], progress: Progress | None = None) -> Iterator[tuple[int, Run]]:
        """See ``Engine.run``."""
        self.require()
        batch = _engine.Batch(
            [(job.plan, job.seed) for job in jobs],
            engine=self.name,
            threads=self.threads,
            controllers=list(self.controllers),
            pcap=[job.pcap for job in jobs],
            pcap_at=self.pcap_at,
        )
        for index, run in drained(batch, progress):
            yield index, Run.from_engine(run, jobs[index].plan, jobs[index].seed)
