"""Engines run scenarios: the simulator, the kernel's TCP, and either with its runs cached in a folder.

An engine takes jobs and yields runs as they finish. Commands work with any engine.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, Protocol, Self

from ackclock import _engine
from ackclock.result import Run

POLL_S = 0.1
"""The longest wait for a finished run: progress and Ctrl-C are late by this much at most."""

LARGEST_SEED = 2**63 - 1
"""A value of a scenario file."""

Progress = Callable[[float], None]
"""Called with the fraction done, several times a second."""


class Job(NamedTuple):
    """One run to do."""

    plan: _engine.Plan
    """The scenario, from ``_engine.resolve``."""
    seed: int
    pcap: str | None = None
    """The file of the packet capture, if there is one."""


class Engine(Protocol):
    """Runs jobs."""

    def check(self, plan: _engine.Plan) -> None:
        """Refuses a plan that it cannot run, before anything starts. Raises ScenarioError."""

    def run(self, jobs: Sequence[Job], progress: Progress | None = None) -> Iterator[tuple[int, Run]]:
        """Runs the jobs and yields (index of the job, run) as each one finishes.

        Leaving the iterator early, as Ctrl-C does, stops the jobs that still run. The runs already yielded
        stay valid.
        """


@dataclass(frozen=True)
class NamedEngine(ABC):
    """An engine that can be asked for by name. Its fields are its options."""

    name: ClassVar[str]
    """Its name in results, on the command line and in Python."""
    words: ClassVar[str]
    """Its runs in words."""
    real_time: ClassVar[bool] = False
    """Its runs take the time of the scenario, on this machine alone."""
    in_real_time: ClassVar[str | None] = None
    """The engine that runs the same in real time, if there is one."""
    stack: ClassVar[str | None] = None
    """The profile of its endpoints, whatever the scenario says. None if it has every profile."""
    no_python: ClassVar[str | None] = None
    """The reason why it refuses controllers written in Python, if it does."""

    own: ClassVar[Sequence[str]] = ()
    """Names of controllers that it alone has."""

    pcap_at: str = field(default="sender", kw_only=True)
    """The place of packet captures: ``sender``, ``receiver``, ``bottleneck`` or ``all``."""

    @classmethod
    def require(cls) -> None:
        """Raises MachineError where it is not built in."""
        if cls.name not in _engine.engines():
            raise _engine.MachineError(f"this ackclock was built without the engine `{cls.name}`")

    def check(self, plan: _engine.Plan) -> None:
        """See ``Engine.check``."""
        _engine.check(self.name, plan)

    @abstractmethod
    def run(self, jobs: Sequence[Job], progress: Progress | None = None) -> Iterator[tuple[int, Run]]:
        """See ``Engine.run``."""

    def identity(self) -> Mapping[str, Any]:
        """The inputs of its results besides plans, as values of JSON.

        Saved runs with others are not taken.
        """
        return {"engine": self.name}

    def alone(self) -> Self:
        """The same for one run after the other, as in a worker of a sweep."""
        return self
