"""The plan handle: one reading of a scenario and its files, from the command line to the engines."""

import pickle

import pytest

from ackclock import _engine
from ackclock.engines import Job
from ackclock.engines.simulator import Simulator
from calling import run
from opened import opens, trace

COMMANDS = {
    "run": lambda file: ("run", file, "--repeat", 3, "--out", file.parent / "out"),
    "compare": lambda file: ("compare", "newreno", "cubic", "--duration", "1s", "--set", rate(file)),
    "sweep": lambda file: ("sweep", file, "--over", "path.queue=5p,10p,20p", "--executor", "local:2"),
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
