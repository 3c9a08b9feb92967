"""The kernel as an engine: runs on this machine's own TCP, in real time, across a path that is emulated."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ackclock import _engine
from ackclock.engines import POLL_S, Job, Progress
from ackclock.result import Run


def check_built_in() -> None:
    """Raises MachineError where ackclock was built without live runs."""
    if not hasattr(_engine, "live"):
        raise _engine.MachineError(
            "this ackclock was built without live runs: on Linux install clang, pkg-config, and libelf and "
            "zlib with their headers (Debian: clang pkg-config libelf-dev zlib1g-dev), and run `make build`"
        )


@dataclass(frozen=True)
class Live:
    """Runs jobs in real time."""

    retries: int = 0
    """How often a run that went past its error budget is repeated."""
    at_once: int = 1
    """How many run at the same time. They slow each other down, which shows in each run's lateness."""
    gso_max_segs: int | None = None
    """How many segments TCP sends at once, at most; none leaves it to the kernel."""
    pcap_at: str = "sender"
    """Where packet captures are taken: ``sender``, ``receiver``, ``bottleneck`` or ``all``."""
    any_controller = True

    def check(self, resolved: str) -> None:
        """Refuses what cannot run live here, by the name of the flow or key."""
        check_built_in()
        _engine.live_check(resolved)

    def run(self, jobs: Sequence[Job], progress: Progress | None = None) -> Iterator[tuple[int, Run]]:
        """See ``Engine.run``. A run that stays past its budget is yielded, marked as invalid."""
        check_built_in()
        plans = {job.resolved: _engine.Plan(job.resolved, any_controller=True) for job in jobs}
        waiting = deque((index, 1) for index in range(len(jobs)))
        running: dict[int, _Attempt] = {}
        done = 0
        try:
            while waiting or running:
                while waiting and len(running) < self.at_once:
                    index, number = waiting.popleft()
                    job = jobs[index]
                    plan = plans[job.resolved]
                    batch = _engine.live(plan, job.seed, self.gso_max_segs, job.pcap, self.pcap_at)
                    running[index] = _Attempt(number, batch)
                for index, attempt in list(running.items()):
                    found = attempt.batch.next(POLL_S / len(running))
                    if progress is not None:
                        under_way = sum(one.batch.progress() for one in running.values())
                        progress((done + under_way) / len(jobs))
                    if found is None:
                        continue
                    del running[index]
                    run = Run.from_engine(found[1], jobs[index].resolved, jobs[index].seed)
                    run.engine["attempts"] = attempt.number
                    if not run.valid and attempt.number <= self.retries:
                        waiting.appendleft((index, attempt.number + 1))
                        continue
                    done += 1
                    yield index, run
        finally:
            for attempt in running.values():
                attempt.batch.cancel()


class _Attempt(NamedTuple):
    """A run that is under way, the first or a repetition."""

    number: int
    batch: _engine.Batch
