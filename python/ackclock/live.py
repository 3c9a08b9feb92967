"""Live runs: scenarios on the TCP of this machine's kernel, across a path that ackclock emulates."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, overload

from ackclock import _engine
from ackclock.jobs import Job, Progress, drained
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
    """Runs jobs in real time, one after the other."""

    retries: int = 0
    """How often a run that went past its error budget is repeated."""
    any_controller = True

    def check(self, resolved: str) -> None:
        """Refuses what cannot run live here, by the name of the flow or key."""
        check_built_in()
        _engine.live_check(resolved)

    def finished(self, jobs: Sequence[Job], progress: Progress | None = None) -> Iterator[tuple[int, Run]]:
        """See ``Engine.finished``. A run that stays past its budget is handed out, marked as invalid."""
        check_built_in()

        def at(fraction: float) -> None:
            if progress is not None:
                progress((index + fraction) / len(jobs))

        for index, job in enumerate(jobs):
            for attempt in range(1, self.retries + 2):
                ((_, found),) = drained(_engine.live(job.resolved, job.seed), at)
                run = Run.from_engine(found, job.resolved, job.seed)
                run.engine["attempts"] = attempt
                if run.valid:
                    break
            yield index, run


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
    progress: Callable[[float], None] | None = None,
) -> Run | Runs:
    """Runs on the TCP of this machine's kernel what :func:`ackclock.simulate` simulates, in real time::

        run = ackclock.live(ackclock.Path("10mbit", "40ms", "84p"), ["cdg", "bbr"], duration="20s", retries=2)
        print(run.valid, run.engine["lateness_us"])

    Arguments and result are those of ``simulate``, without threads: repetitions run one after the other.
    Flows may name any controller that the kernel has. A run that goes past its error budget is repeated up to
    ``retries`` times; one that stays past it is handed out all the same, with ``run.valid`` false and the
    reasons in ``run.engine["reasons"]``.

    Raises ScenarioError for a scenario that cannot run live, MachineError where this machine, or this build
    of ackclock, lacks something for it.
    """
    check_built_in()
    if retries < 0:
        raise ValueError(f"retries is {retries}: must not be negative")
    engine = Live(retries)
    given = {"duration": duration, "warmup": warmup, "seed": seed}
    resolved, _ = compiled(scenario, flows, given, any_controller=True)
    engine.check(resolved)
    return in_order(repetitions(resolved, repeat), engine, progress)
