"""The plan handle: one reading of a scenario and its files, from the command line to the engines."""

import ctypes
import os
import pickle
import struct
from contextlib import contextmanager

import pytest

from ackclock import _engine
from ackclock.engines import Job
from ackclock.engines.simulator import Simulator
from calling import run

IN_OPEN, IN_NONBLOCK = 0x20, 0o4000
EVENT = struct.Struct("iIII")
TRACED = """
name = "traced"
duration = "1s"
path = { rate = { trace = "steady.down" }, rtt = "20ms", queue = "1bdp" }
flows = [{ cc = "newreno" }]
"""


@contextmanager
def opens(file):
    """A list with an entry for each time that a process opened ``file``, filled in at the end."""
    libc, found = ctypes.CDLL(None, use_errno=True), []
    descriptor = libc.inotify_init1(IN_NONBLOCK)
    if descriptor < 0 or libc.inotify_add_watch(descriptor, os.fsencode(file), IN_OPEN) < 0:
        pytest.skip("the system does not tell of opened files")
    try:
        yield found
        while True:
            try:
                events = os.read(descriptor, 1 << 16)
            except BlockingIOError:
                return
            # Without names every event is as long, and equal ones in a row may be one.
            found += ["open"] * (len(events) // EVENT.size)
    finally:
        os.close(descriptor)


@pytest.fixture
def traced(tmp_path):
    """A scenario file, with its trace of 12 Mbit/s beside it."""
    (tmp_path / "steady.down").write_text("".join(f"{ms}\n" for ms in range(1, 1001)))
    file = tmp_path / "traced.toml"
    file.write_text(TRACED)
    return file


def trace(file):
    return file.parent / "steady.down"


COMMANDS = {
    "run": lambda file: ("run", file, "--repeat", 3, "--out", file.parent / "out"),
    "compare": lambda file: ("compare", "newreno", "cubic", "--duration", "1s", "--set", rate(file)),
    "sweep": lambda file: ("sweep", file, "--over", "path.queue=5p,10p,20p", "--processes", 2),
    "matrix": lambda file: (
        "matrix",
        "newreno",
        "cubic",
        "--duration",
        "2s",
        "--warmup",
        "0s",
        "--set",
        rate(file),
    ),
}


def rate(file):
    return f"path.rate={{ trace = '{trace(file)}' }}"


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_opens_a_trace_once(capsys, traced, command):
    with opens(trace(traced)) as found:
        status, _, err = run(capsys, *COMMANDS[command](traced))
    assert status == 0, err
    assert len(found) == 1


def test_python_opens_a_trace_once(traced):
    import ackclock

    with opens(trace(traced)) as found:
        ackclock.simulate(traced, repeat=2)
    assert len(found) == 1


def test_a_plan_takes_its_files_along(traced):
    plan = _engine.resolve(traced.read_text(), str(traced), [])
    assert list(plan.files) == [str(trace(traced))]
    travelled = pickle.loads(pickle.dumps(plan))
    assert (travelled, hash(travelled)) == (plan, hash(plan))
    ((_, expected),) = Simulator(1).run([Job(plan, 1)])
    trace(traced).unlink()
    ((_, found),) = Simulator(1).run([Job(travelled, 1)])
    assert found.flows.equals(expected.flows)
    assert (travelled.name, travelled.seed) == ("traced", 1)


def test_plans_differ_in_text_or_in_files(traced):
    def plan(*overrides):
        return _engine.resolve(traced.read_text(), str(traced), list(overrides))

    before = plan()
    assert before == plan()
    assert before != plan(("seed", "2"))
    trace(traced).write_text("7\n")
    assert before != plan()
    assert before.resolved == plan().resolved
