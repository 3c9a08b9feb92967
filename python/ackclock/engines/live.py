"""Engines in real time: runs on this machine, across a path that is emulated.

``Live`` has the kernel's own TCP.
"""

from __future__ import annotations

import platform
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, TypedDict

from ackclock import _engine
from ackclock.engines import POLL_S, Job, NamedEngine, Progress
from ackclock.engines.options import check, option, segments_at_once
from ackclock.result import Run

NOT_BUILT_IN = (
    "this ackclock was built without live runs: on Linux install clang, pkg-config, and libelf "
    "and zlib with their headers (Debian: clang pkg-config libelf-dev zlib1g-dev), and run "
    "`make build` in its sources"
)


class LiveOptions(TypedDict, total=False):
    """The options of ``Live``."""

    retries: int
    at_once: int
    gso_max_segs: int | None


@dataclass(frozen=True)
class RealTime(NamedEngine):
    """Runs jobs in real time, and repeats those that went past their error budget."""

    real_time: ClassVar[bool] = True

    retries: int = option(
        0,
        "How often a live run past its error budget is repeated.",
        low=0,
        high=100,
    )
    at_once: int = option(
        1,
        "Live runs at the same time; each wants a core.",
        low=1,
        high=64,
    )
    """The number of parallel runs. They slow each other down, which shows in each run's lateness."""

    def __post_init__(self) -> None:
        check(self)

    def check(self, plan: _engine.Plan) -> None:
        """Refuses what cannot run live here, by the name of the flow or key."""
        self.require()
        super().check(plan)

    def identity(self) -> Mapping[str, Any]:
        """See ``NamedEngine.identity``."""
        return {**super().identity(), "kernel": platform.release()}

    def run(self, jobs: Sequence[Job], progress: Progress | None = None) -> Iterator[tuple[int, Run]]:
        """See ``Engine.run``. A run that stays past its budget is yielded, marked as invalid."""
        self.require()
        waiting = deque((index, 1) for index in range(len(jobs)))
        running: dict[int, _Attempt] = {}
        done = 0
        try:
            while waiting or running:
                while waiting and len(running) < self.at_once:
                    index, number = waiting.popleft()
                    running[index] = _Attempt(number, self._start(jobs[index]))
                for index, attempt in list(running.items()):
                    found = attempt.batch.next(POLL_S / len(running))
                    if progress is not None:
                        under_way = sum(one.batch.progress() for one in running.values())
                        progress((done + under_way) / len(jobs))
                    if found is None:
                        continue
                    del running[index]
                    run = Run.from_engine(found[1], jobs[index].plan, jobs[index].seed)
                    run.engine["attempts"] = attempt.number
                    if not run.valid and attempt.number <= self.retries:
                        waiting.appendleft((index, attempt.number + 1))
                        continue
                    done += 1
                    yield index, run
        finally:
            for attempt in running.values():
                attempt.batch.cancel()

    def _options(self, _job: Job) -> Mapping[str, Any]:
        """The options of the engine below."""
        return {}

    def _start(self, job: Job) -> _engine.Batch:
        return _engine.Batch(
            [(job.plan, job.seed)],
            engine=self.name,
            pcap=[job.pcap],
            pcap_at=self.pcap_at,
            **self._options(job),
        )


@dataclass(frozen=True)
class Live(RealTime):
    """Runs jobs on the TCP of this machine's kernel."""

    name: ClassVar[str] = "live"
    words: ClassVar[str] = "the kernel's TCP"
    stack: ClassVar[str | None] = "linux"
    no_python: ClassVar[str | None] = "the kernel runs no controllers in Python"

    gso_max_segs: int | None = segments_at_once()

    @classmethod
    def require(cls) -> None:
        """Raises MachineError where ackclock was built without live runs."""
        if cls.name not in _engine.engines():
            raise _engine.MachineError(NOT_BUILT_IN)

    def identity(self) -> Mapping[str, Any]:
        """See ``NamedEngine.identity``."""
        return {**super().identity(), "gso_max_segs": self.gso_max_segs}

    def _options(self, _job: Job) -> Mapping[str, Any]:
        return {"gso_max_segs": self.gso_max_segs}


class _Attempt(NamedTuple):
    """A run that is under way, the first or a repetition."""

    number: int
    batch: _engine.Batch
