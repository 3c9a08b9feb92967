"""Calling the command from tests."""

import shutil
import time

import pytest

from ackclock import _engine
from ackclock.cli import app, main

# Modules of commands read the engines at their import: before a test puts another in place of one.
for name in (*app.NAMES, *app.HIDDEN):
    app.application.get_command(None, name)

SCENARIO = """name = "small"
duration = "1s"
[path]
rate = "5mbit"
rtt = "20ms"
queue = "30p"
[[flows]]
cc = "newreno"
"""
"""A scenario file that runs in a moment."""

needs_live = pytest.mark.skipif(
    "live" not in _engine.engines(),
    reason="built without live runs (apt install clang pkg-config libelf-dev zlib1g-dev, then make build)",
)
"""For a test of messages that come after a command has found live runs in this build."""

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="needs git (apt install git)")

ENDED = (0, 3)
"""The statuses of a live command that ended well. On a busy machine a run may be past its error budget."""

PATIENCE = 300.0
"""Seconds after which a process hangs. A busy machine takes tens of them to start one."""


def wait_until(holds):
    """Waits until ``holds()``."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, "it never held"
        time.sleep(0.05)


def run(capsys, *arguments):
    """Exit status, standard output and standard error of a command."""
    status = main([str(a) for a in arguments])
    return status, *capsys.readouterr()


def refused(capsys, *arguments):
    """The sentence with which a command is refused."""
    status, out, err = run(capsys, *arguments)
    assert (status, out, err.count("\n")) == (2, "", 1), err
    assert err.startswith("ackclock: ")
    return err.removeprefix("ackclock: ").strip()
