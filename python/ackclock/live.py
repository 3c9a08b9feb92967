"""Live runs: scenarios on the TCP of this machine's kernel, across a path that ackclock emulates."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, overload

from ackclock import _engine
from ackclock.jobs import POLL_S, Job, Progress
from ackclock.result import Run, Runs
from ackclock.scenario import Path, Scenario
from ackclock.simulate import Flows, compiled, in_order, repetitions


def check_built_in() -> None:
    """Refuses where ackclock was built without live runs. Raises MachineError."""
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
    """How many run at the same time. They take time from each other, as each run's lateness tells."""
    gso_max_segs: int | None = None
    """How many segments TCP sends at once, at most; none leaves it to the kernel."""
    any_controller = True

    def check(self, resolved: str) -> None:
        """Refuses what cannot run live here, by the name of the flow or key."""
        check_built_in()
        _engine.live_check(resolved)

    def finished(self, jobs: Sequence[Job], progress: Progress | None = None) -> Iterator[tuple[int, Run]]:
        """See ``Engine.finished``. A run that stays past its budget is handed out, marked as invalid."""
        check_built_in()
        waiting = deque((index, 1) for index in range(len(jobs)))
        running: dict[int, _Attempt] = {}
        done = 0
        try:
            while waiting or running:
                while waiting and len(running) < self.at_once:
                    index, number = waiting.popleft()
                    job = jobs[index]
                    batch = _engine.live(job.resolved, job.seed, self.gso_max_segs)
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


@overload
def live(
    scenario: Scenario | Path | str | os.PathLike[str],
    flows: Flows | None = None,
    *,
    duration: str | None = None,
    warmup: str | None = None,
    seed: int | None = None,
    repeat: Literal[1] = 1,
    retries: int = 0,
    gso_max_segs: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> Run: ...


@overload
def live(
    scenario: Scenario | Path | str | os.PathLike[str],
    flows: Flows | None = None,
    *,
    duration: str | None = None,
    warmup: str | None = None,
    seed: int | None = None,
    repeat: int,
    retries: int = 0,
    gso_max_segs: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> Run | Runs: ...


def live(
    scenario: Scenario | Path | str | os.PathLike[str],
    flows: Flows | None = None,
    *,
    duration: str | None = None,
    warmup: str | None = None,
    seed: int | None = None,
    repeat: int = 1,
    retries: int = 0,
    gso_max_segs: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> Run | Runs:
    """Runs on the TCP of this machine's kernel what :func:`ackclock.simulate` simulates, in real time::

        run = ackclock.live(ackclock.Path("10mbit", "40ms", "84p"), ["cdg", "bbr"], duration="20s", retries=2)
        print(run.valid, run.engine["lateness_us"])

    Arguments and result are those of ``simulate``, without threads: repetitions run one after the other.
    Flows may name any controller that the kernel has. A run that goes past its error budget is repeated up to
    ``retries`` times; one that stays past it is handed out all the same, with ``run.valid`` false and the
    reasons in ``run.engine["reasons"]``. ``gso_max_segs`` bounds how many segments TCP sends at once.

    Raises ScenarioError for a scenario that cannot run live, MachineError where this machine, or this build
    of ackclock, lacks something for it.
    """
    check_built_in()
    if retries < 0:
        raise ValueError(f"retries is {retries}: must not be negative")
    if gso_max_segs is not None and gso_max_segs < 1:
        raise ValueError(f"gso_max_segs is {gso_max_segs}: must be at least 1")
    engine = Live(retries, gso_max_segs=gso_max_segs)
    given = {"duration": duration, "warmup": warmup, "seed": seed}
    resolved, _ = compiled(scenario, flows, given, any_controller=True)
    engine.check(resolved)
    return in_order(repetitions(resolved, repeat), engine, progress)
