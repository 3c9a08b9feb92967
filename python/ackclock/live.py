"""Live runs: scenarios on the TCP of this machine's kernel, across a path that ackclock emulates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ackclock import _engine
from ackclock.jobs import Job, Progress, drained
from ackclock.mistakes import InputError
from ackclock.result import Run


def check_built_in() -> None:
    """Refuses where ackclock was built without live runs."""
    if not hasattr(_engine, "live"):
        raise InputError(
            "this ackclock was built without live runs: on Linux install clang, pkg-config, and libelf and "
            "zlib with their headers (Debian: clang pkg-config libelf-dev zlib1g-dev), and run `make build`"
        )


@dataclass(frozen=True)
class Live:
    """Runs jobs in real time, one after the other."""

    retries: int = 0
    """How often a run that went past its error budget is repeated."""
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

        def at(fraction: float) -> None:
            if progress is not None:
                progress((index + fraction) / len(jobs))

        for index, job in enumerate(jobs):
            for attempt in range(1, self.retries + 2):
                ((_, found),) = drained(_engine.live(job.resolved, job.seed, self.gso_max_segs), at)
                run = Run.from_engine(found, job.resolved, job.seed)
                run.engine["attempts"] = attempt
                if run.valid:
                    break
            yield index, run
