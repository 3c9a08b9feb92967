"""QUIC in real time as an engine: the connections of noq over UDP sockets, across a path that is emulated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ackclock import _engine
from ackclock.engines import Job
from ackclock.engines.live import NOT_BUILT_IN, Live, RealTime
from ackclock.engines.options import stack_in_c, stack_log, stack_sources
from ackclock.engines.quic import Quic, check_log, log_options, sources


@dataclass(frozen=True)
class QuicLive(RealTime):
    """Runs jobs over QUIC, in real time."""

    name: ClassVar[str] = "quic-live"
    words: ClassVar[str] = "QUIC (noq) in real time"
    no_python: ClassVar[str | None] = "in real time a controller in Python would be late"
    own: ClassVar[Sequence[str]] = Quic.own

    qlog: str | None = stack_log()
    noq: str | None = stack_sources("noq", "noq-proto")
    quinn: str | None = stack_sources("quinn", "quinn-proto")
    quiche: str | None = stack_sources("quiche", "quiche")
    c: str | None = stack_in_c()

    @classmethod
    def require(cls) -> None:
        """Raises MachineError where ackclock was built without QUIC, or without live runs."""
        Quic.require()
        if Live.name not in _engine.engines():
            raise _engine.MachineError(NOT_BUILT_IN)

    def check(self, plan: _engine.Plan) -> None:
        """See ``RealTime.check``."""
        check_log(self.qlog)
        super().check(plan)

    def _options(self, job: Job) -> Mapping[str, Any]:
        return {**sources(self), **log_options(self.qlog, [job])}
