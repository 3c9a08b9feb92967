"""A plug-in of pytest: notes each test, the fixtures that it shares with others, its outcome and its cost.

The cost is processor time, of the processes that a test waits for as well: a busy machine leaves it as it is.
A test that mostly sleeps costs a quarter of its time.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest

from mutants import reaching
from mutants.reaching import Notes

NOTES: Notes | None = getattr(sys.modules.get("sitecustomize"), "NOTES", None)

MOST = float(os.environ.get(reaching.MOST) or "inf")
"""The cost of all tests: no other begins behind it."""

ASLEEP = 0.25
"""The cost of a second without work."""


class Meter:
    """Measures the cost of tests in seconds."""

    def __init__(self) -> None:
        self.total = 0.0
        self.before = self.read()

    def read(self) -> tuple[float, float]:
        """The processor time until now, and the time."""
        return sum(os.times()[:4]), time.monotonic()

    def step(self) -> float:
        """The cost since the step before."""
        before, self.before = self.before, self.read()
        worked, lasted = (end - begin for begin, end in zip(before, self.before, strict=True))
        cost = max(worked, ASLEEP * lasted)
        self.total += cost
        return cost


METER = Meter()


def say(*parts: object) -> None:
    """Writes a line, if there is a file for notes."""
    if NOTES is not None:
        NOTES.say(*parts)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """A file that cannot be collected."""
    if report.failed:
        say("report", report.nodeid, "collect", "failed", 0.0)


def pytest_runtest_logstart(nodeid: str) -> None:
    """A test begins."""
    METER.step()
    say("test", nodeid)


@pytest.hookimpl(hookwrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[object]) -> Iterator[None]:
    """A fixture that other tests use, too, is made."""
    shared = fixturedef.scope != "function"
    if shared:
        say("fixture", fixturedef.argname)
    yield
    if shared:
        say("made", fixturedef.argname)


def pytest_runtest_teardown(item: Any) -> None:
    """The fixtures that a test used."""
    say("uses", *item.fixturenames)
    if METER.total > MOST:
        item.session.shouldstop = "the tests took their time"


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """The outcome of a step of a test."""
    say("report", report.nodeid, report.when, report.outcome, round(METER.step(), 3))
