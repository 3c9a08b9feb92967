"""Engines by name: on the command line, in Python, and the options of each."""

import json
from typing import Literal

import pytest

import ackclock
from ackclock import _engine
from ackclock.engines import registry
from ackclock.engines.options import Option
from ackclock.errors import InputError
from calling import refused, run

PATH = ackclock.Path("10mbit", rtt="20ms", queue="1bdp")


def test_the_registry_names_what_is_built_in():
    assert _engine.engines()[0] == registry.DEFAULT == "sim"
    assert set(_engine.engines()) <= set(registry.ENGINES)


@pytest.mark.parametrize(
    "command", ["run", "compare", "sweep", "matrix", "reproduce", "kernel", "slow-start", "replay", "bench"]
)
def test_an_unknown_engine_is_one_sentence_with_the_known_ones(capsys, scenario, command):
    arguments = {
        "run": [scenario],
        "replay": [scenario],
        "compare": ["cdg"],
        "sweep": ["cdg"],
        "matrix": ["cdg"],
        "kernel": ["parity"],
    }
    sentence = refused(capsys, command, *arguments.get(command, []), "--engine", "liev")
    known = "(there are sim, quic, live, quic-live, uml)"
    assert sentence == f"there is no engine `liev`; did you mean `live`? {known}"
    with pytest.raises(InputError, match="there is no engine `liev`"):
        ackclock.simulate(PATH, ["cdg"], engine="liev")


def test_the_simulator_by_its_name(capsys, scenario):
    status, out, _ = run(capsys, "run", scenario, "--engine", "sim", "--json")
    assert (status, json.loads(out)["runs"][0]["engine"]["kind"]) == (0, "sim")


def test_an_engine_refuses_the_options_of_others(capsys, scenario):
    for given, why in (
        ("retries=1", "there is no option `retries` (it has threads, cores)"),
        ("thread=1", "there is no option `thread`; did you mean `threads`? (it has threads, cores)"),
        ("threads", "must be OPTION=VALUE"),
        ("threads=many", "must be a whole number"),
        ("cores=2000", "must be at most 1024"),
    ):
        assert refused(capsys, "run", scenario, "--engine", f"sim:{given}") == f"--engine sim:{given}: {why}"
    assert "there is no option `threads` (it has none here)" in refused(
        capsys, "sweep", "cdg", "--engine", "sim:threads=1"
    )
    with pytest.raises(TypeError, match="the engine `sim` has no option `retries`"):
        ackclock.simulate(PATH, ["cdg"], retries=1)
    with pytest.raises(TypeError, match="the engine `sim` has no option `trains`"):
        _engine.Batch([], trains=2)


def test_an_engine_refuses_controllers_that_it_does_not_build(capsys, scenario):
    path = {"rate": "1mbit", "rtt": "20ms", "queue": "9p"}
    document = {"duration": "1s", "path": path, "flows": [{"cc": "my_own"}]}
    plan = _engine.resolve_json(json.dumps(document), [])
    with pytest.raises(ackclock.ScenarioError, match=r"flows\.0\.cc: there is no controller `my_own`"):
        _engine.check("sim", plan)
    text = scenario.read_text()
    scenario.write_text(text.replace('cc = "newreno"', 'cc = "my_own"'))
    assert ": flows.0.cc: there is no controller `my_own`" in refused(capsys, "run", scenario)


@pytest.mark.parametrize(
    ("option", "taken", "refused"),
    [
        (Option("", kind=Literal["all", "none"]), ["all", "none"], {"some": "must be 'all' or 'none'"}),
        (Option("", low=0), [0, 10**9], {-1: "must not be negative"}),
        (Option("", low=2, high=4), [2, 4], {1: "must be at least 2", 5: "must be at most 4"}),
        (Option("", kind=str), ["", "any text"], {}),
    ],
)
def test_an_option_says_why_it_takes_no_other_value(option, taken, refused):
    assert [option.refusal(value) for value in taken] == [None] * len(taken)
    assert {value: option.refusal(value) for value in refused} == refused
