"""Several engines side by side: the plan of a job decides its engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ackclock import _engine
from ackclock.engines import Engine, Job, Progress
from ackclock.result import Run


class ByPlan:
    """Runs each plan on its own engine, one engine after the other."""

    def __init__(self, engines: Mapping[_engine.Plan, Engine]) -> None:
        self.engines = engines
        """The engine of each plan. Plans must differ, at least in their names."""

    def check(self, plan: _engine.Plan) -> None:
        """See ``Engine.check``."""
        self.engines[plan].check(plan)

    def run(self, jobs: Sequence[Job], progress: Progress | None = None) -> Iterator[tuple[int, Run]]:
        """See ``Engine.run``."""
        before = 0
        for engine in dict.fromkeys(self.engines[job.plan] for job in jobs):
            chosen = [index for index, job in enumerate(jobs) if self.engines[job.plan] is engine]

            def at(fraction: float, before: int = before, share: int = len(chosen)) -> None:
                if progress is not None:
                    progress((before + fraction * share) / len(jobs))

            for number, run in engine.run([jobs[index] for index in chosen], at):
                yield chosen[number], run
            before += len(chosen)
