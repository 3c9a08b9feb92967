"""A plug-in of pytest: notes each test, the fixtures that it shares with others, and its outcome."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest

from mutants.reaching import Notes

NOTES: Notes | None = getattr(sys.modules.get("sitecustomize"), "NOTES", None)


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


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """The outcome of a step of a test."""
    say("report", report.nodeid, report.when, report.outcome, report.duration)
