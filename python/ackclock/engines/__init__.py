"""Engines: what runs scenarios. The simulator, the kernel's TCP, and either with its runs cached in a folder.

An engine takes jobs and yields runs as they finish. Commands do not know which engine they use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Protocol

from ackclock.result import Run

POLL_S = 0.1
"""The longest wait for a finished run: progress and Ctrl-C are late by this much at most."""

LARGEST_SEED = 2**63 - 1
"""What a scenario file can hold."""

Progress = Callable[[float], None]
"""Called with the fraction done, several times a second."""


class Job(NamedTuple):
    """One run to do."""

    resolved: str
    """The resolved scenario as JSON, from ``_engine.resolve``."""
    seed: int
    pcap: str | None = None
    """Where to write the packet capture, if anywhere."""


class Engine(Protocol):
    """What runs jobs."""

    any_controller: bool
    """Whether flows may name controllers that ``ackclock controllers`` does not list."""

    def check(self, resolved: str) -> None:
        """Refuses a resolved scenario that it cannot run, before anything starts. Raises ScenarioError."""

    def run(self, jobs: Sequence[Job], progress: Progress | None = None) -> Iterator[tuple[int, Run]]:
        """Runs the jobs and yields (index of the job, run) as each one finishes.

        Leaving the iterator early, as Ctrl-C does, stops the jobs that still run; the runs already yielded
        stay valid.
        """
