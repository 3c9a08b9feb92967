"""QUIC as an engine: the connections of noq in virtual time, many runs at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self, TypedDict

from ackclock import _engine, quic_stacks
from ackclock.engines import Job, NamedEngine, Progress
from ackclock.engines.options import stack_in_c, stack_log, stack_sources, threads
from ackclock.engines.simulator import drained
from ackclock.errors import InputError
from ackclock.result import Run


class QuicOptions(TypedDict, total=False):
    """The options of ``Quic``, besides the simulator's."""

    qlog: str | None


@dataclass(frozen=True)
class Quic(NamedEngine):
    """Runs jobs over QUIC, in simulated time."""

    name: ClassVar[str] = "quic"
    words: ClassVar[str] = "QUIC (noq)"
    in_real_time: ClassVar[str | None] = "quic-live"

    own: ClassVar[Sequence[str]] = tuple(
        f"{stack}:{name}" for stack, names in quic_stacks.OWN.items() for name in names
    )

    threads: int | None = threads()
    qlog: str | None = stack_log()
    noq: str | None = stack_sources("noq", "noq-proto")
    quinn: str | None = stack_sources("quinn", "quinn-proto")
    quiche: str | None = stack_sources("quiche", "quiche")
    c: str | None = stack_in_c()
    controllers: Sequence[Callable[[], Any]] = ()
    """Makers of the controllers that are written in Python."""

    @classmethod
    def require(cls) -> None:
        """Raises MachineError where ackclock was built without QUIC."""
        if cls.name not in _engine.engines():
            raise _engine.MachineError(
                "this ackclock was built without QUIC: run `make build QUIC=1` in its sources"
            )

    def check(self, plan: _engine.Plan) -> None:
        """Refuses what cannot run over QUIC, by the name of the flow or key."""
        check_log(self.qlog)
        super().check(plan)

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
            **sources(self),
            **log_options(self.qlog, jobs),
        )
        for index, run in drained(batch, progress):
            yield index, Run.from_engine(run, jobs[index].plan, jobs[index].seed)


def sources(engine: Any) -> Mapping[str, str | None]:
    """The options of the engine below for the sources of stacks, as the engine has them."""
    return {stack: getattr(engine, stack) for stack in quic_stacks.OWN}


def check_log(folder: str | None) -> None:
    """Raises MachineError where the log of the stack is asked for and not built in."""
    if folder is not None and not _engine.has_qlog():
        raise _engine.MachineError(
            "this ackclock was built without the log of noq: run `make build QLOG=1` in its sources"
        )


def log_options(folder: str | None, jobs: Sequence[Job]) -> Mapping[str, Any]:
    """The options of the engine below for the log of the stack. The folder is made.

    Raises InputError where files of two runs would have the same names.
    """
    if folder is None:
        return {}
    check_log(folder)
    seen = [(job.plan.name, job.seed) for job in jobs]
    if twice := [name for name in seen if seen.count(name) > 1]:
        raise InputError(f"qlog={folder}: two runs have the name `{twice[0][0]}` and the seed {twice[0][1]}")
    Path(folder).mkdir(parents=True, exist_ok=True)
    return {"qlog": folder}
