"""Linux in virtual time as an engine: a kernel that is a program for each run, several side by side.

A kernel of its own makes a run the same each time, whatever ran before it. It boots in less than a second.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import shutil
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self, TypedDict

from ackclock import _engine
from ackclock.engines import POLL_S, Job, NamedEngine, Progress
from ackclock.engines.options import check, option, segments_at_once
from ackclock.result import Run
from ackclock.uml import kernels


class UmlOptions(TypedDict, total=False):
    """The options of ``Uml``, besides the options of live runs."""

    linux: str | None
    kernels: int | None
    disciplines: Literal["kernel", "simulated"] | None


@dataclass(frozen=True)
class Uml(NamedEngine):
    """Runs jobs on the TCP of a kernel that ``ackclock kernel build`` has made."""

    name: ClassVar[str] = "uml"
    words: ClassVar[str] = "Linux in virtual time"
    stack: ClassVar[str | None] = "linux"
    no_python: ClassVar[str | None] = "the kernel runs no controllers in Python"

    linux: str | None = option(
        None,
        "The version of the kernel in virtual time. Default: the newest that is built.",
        kind=str,
        known=lambda: [kernel.release for kernel in kernels.built()],
    )
    kernels: int | None = option(
        None, "Kernels in virtual time side by side. Default: one a core.", low=1, high=64
    )
    disciplines: Literal["kernel", "simulated"] | None = option(
        None,
        "The queue disciplines of links: the kernel's, or the simulator's. Default: the kernel's where the "
        "scenario names one that `tc` has, elsewhere the simulator's.",
        kind=Literal["kernel", "simulated"],
    )
    gso_max_segs: int | None = segments_at_once()

    def __post_init__(self) -> None:
        check(self)

    @classmethod
    def require(cls) -> None:
        """Raises MachineError where ackclock was built without live runs, or no kernel is built."""
        super().require()
        kernels.find()

    def check(self, plan: _engine.Plan) -> None:
        """Refuses what cannot run on the kernel, by the name of the flow or key."""
        kernel = kernels.find(self.linux)
        _engine.check_virtual_time(plan, list(kernel.controllers), list(kernel.disciplines), self.disciplines)

    def identity(self) -> Mapping[str, Any]:
        """See ``NamedEngine.identity``."""
        kernel = kernels.find(self.linux)
        built = hashlib.sha256(kernel.program.read_bytes()).hexdigest()[:16]
        given = {"disciplines": self.disciplines, "gso_max_segs": self.gso_max_segs}
        return {**super().identity(), "linux": kernel.release, "program": built, **given}

    def alone(self) -> Self:
        """See ``NamedEngine.alone``."""
        return replace(self, kernels=1)

    def run(self, jobs: Sequence[Job], progress: Progress | None = None) -> Iterator[tuple[int, Run]]:
        """See ``Engine.run``."""
        kernel = kernels.find(self.linux)
        side_by_side = self.kernels or len(os.sched_getaffinity(0))
        waiting = deque(range(len(jobs)))
        done = 0
        with ExitStack() as stack:
            running: list[_Boot] = []
            while waiting or running:
                while waiting and len(running) < side_by_side:
                    index = waiting.popleft()
                    running.append(_Boot(self, kernel, index, jobs[index], stack))
                for boot in list(running):
                    run = boot.finished()
                    if run is not None:
                        running.remove(boot)
                        done += 1
                        yield boot.index, run
                if progress is not None:
                    progress((done + sum(boot.under_way() for boot in running)) / max(1, len(jobs)))
                if running:
                    time.sleep(POLL_S)


class _Boot:
    """One kernel with its run."""

    def __init__(self, engine: Uml, kernel: kernels.Kernel, index: int, job: Job, stack: ExitStack) -> None:
        # Neither can be imported where there is no Linux.
        from ackclock.uml.guest import RunScenario
        from ackclock.uml.machine import Machine

        self.index, self._job, self._begun = index, job, time.monotonic()
        options = {
            "pcap_at": engine.pcap_at,
            "gso_max_segs": engine.gso_max_segs,
            "disciplines": engine.disciplines,
            "offered": list(kernel.disciplines),
        }
        task = RunScenario(job.plan, job.seed, job.pcap is not None, options)
        self._stack = stack.enter_context(ExitStack())
        self._machine = self._stack.enter_context(Machine(kernel.program, task))
        self._cpu_s = 0.0

    def finished(self) -> Run | None:
        """The run, once it is over. Raises what ended it."""
        self._cpu_s = max(self._cpu_s, self._machine.cpu_s())
        if self._machine.running():
            return None
        results = self._machine.results
        if (failed := results / "error").exists():
            raise pickle.loads(failed.read_bytes())
        run: Run = pickle.loads((results / "run").read_bytes())
        if self._job.pcap is not None:
            shutil.copyfile(results / "capture", self._job.pcap)
        self._stack.close()
        # The kernel's own clock does not advance while it computes.
        run.engine["wall_s"], run.engine["cpu_s"] = time.monotonic() - self._begun, self._cpu_s
        return run

    def under_way(self) -> float:
        """The share of the run that is done."""
        return float(self._machine.report() or 0.0)
