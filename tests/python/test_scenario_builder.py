"""Scenarios built in Python are the documents that files hold."""

from __future__ import annotations

import json
import math
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ackclock
from ackclock import scenario as builder

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.toml"))


def test_a_builder_says_the_same_as_a_file(tmp_path: Path) -> None:
    file = tmp_path / "demo.toml"
    file.write_text(
        """
        name = "demo"
        duration = "30s"
        warmup = "5s"
        seed = 9
        profile = "freebsd-9"
        [path]
        rate = [["0s", "10mbit"], ["20s", "5mbit"]]
        rtt = "40ms"
        queue = { limit = "84p", count_in_service = true }
        loss = { model = "gilbert-elliott", good_to_bad = "1%", bad_to_good = "30%" }
        reverse = { rate = "1mbit", queue = "50p" }
        [[flows]]
        cc = "cdg"
        parameters = { G = "4ms" }
        count = 2
        start_jitter = "5ms"
        [[flows]]
        cc = "newreno"
        bytes = "1MB"
        transport = { sack = false, ack_every = 1 }
        [record]
        flow_series = "20acks"
        events = false
        """
    )
    built = ackclock.Scenario(
        name="demo",
        duration="30s",
        warmup="5s",
        seed=9,
        profile="freebsd-9",
        path=ackclock.Path(
            rate=[["0s", "10mbit"], ["20s", "5mbit"]],
            rtt="40ms",
            queue={"limit": "84p", "count_in_service": True},
            loss={"model": "gilbert-elliott", "good_to_bad": "1%", "bad_to_good": "30%"},
            reverse=ackclock.Reverse(rate="1mbit", queue="50p"),
        ),
        flows=[
            ackclock.Flow("cdg", {"G": "4ms"}, count=2, start_jitter="5ms"),
            ackclock.Flow("newreno", bytes="1MB", transport={"sack": False, "ack_every": 1}),
        ],
        record=ackclock.Record(flow_series="20acks", events=False),
    )
    loaded = ackclock.Scenario.load(file)
    assert built.resolved() == loaded.resolved()
    assert built.resolved()["path"]["reverse"]["rate"] == "1mbit"


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_every_example_is_loaded_and_resolves_to_itself(file: Path) -> None:
    scenario = ackclock.Scenario.load(file)
    resolved = scenario.resolved()
    assert ackclock.Scenario.from_document(resolved).resolved() == resolved


def test_links_and_routes_are_written_like_a_file() -> None:
    scenario = ackclock.Scenario(
        links=[
            ackclock.Link(from_="a", to="b", rate="10mbit", delay="5ms", queue="50p", duplex=True),
            ackclock.Link(
                from_="b", to="c", rate="5mbit", delay="10ms", queue="50p", duplex=True, name="thin"
            ),
        ],
        flows=[
            ackclock.Flow("newreno", from_="a", to="c"),
            ackclock.Flow("cdg", via=["b", "c"], extra_delay="2ms"),
        ],
        duration="2s",
    )
    run = ackclock.simulate(scenario)
    assert run.links["name"].to_pylist() == ["a-b", "a-b:reverse", "thin", "thin:reverse"]
    # 2 * (5 + 10) ms, and 2 * (10 + 2) ms.
    assert run.flows["base_rtt_ms"].to_pylist() == [30.0, 24.0]


def test_the_builder_has_every_key_of_the_language() -> None:
    schema = json.loads(ackclock.schema())
    parts = schema["$defs"] | {"Scenario": schema}
    for name in ("Path", "Reverse", "Link", "Flow", "Record", "Scenario"):
        known = {builder._KEYS.get(f.name, f.name) for f in fields(getattr(ackclock, name))}
        assert known == set(parts[name]["properties"]), name


def test_overrides_are_text_numbers_or_tables() -> None:
    scenario = ackclock.Scenario(path=ackclock.Path("10mbit", "40ms", "84p"), flows=[ackclock.Flow("cdg")])
    overrides = {
        "path.queue": "1bdp",
        "path.rate": [["0s", "1mbit"], ["5s", "2mbit"]],
        "seed": 4,
        "record.events": False,
        "flows.0.transport": {"sack": False},
    }
    resolved = scenario.resolved(overrides)
    assert (resolved["path"]["queue"], resolved["seed"], resolved["record"]["events"]) == ("1bdp", 4, False)
    assert resolved["path"]["rate"] == [["0s", "1mbit"], ["5s", "2mbit"]]
    assert resolved["flows"][0]["transport"] == {"sack": False}
    with pytest.raises(TypeError, match="an override is text"):
        scenario.resolved({"seed": object()})


def test_what_cannot_be_run_is_refused_with_its_key(tmp_path: Path) -> None:
    path = ackclock.Path("10mbit", "40ms", "84p")
    with pytest.raises(ackclock.ScenarioError, match="did you mean `newreno`") as caught:
        ackclock.simulate(path, ["newrenno"])
    assert caught.value.key == "flows.0.cc"
    with pytest.raises(ackclock.ScenarioError, match="warmup"):
        ackclock.simulate(path, ["newreno"], duration="5s", warmup="5s")
    with pytest.raises(ValueError, match="repeat is 0"):
        ackclock.simulate(path, ["newreno"], repeat=0)
    latin = tmp_path / "latin.toml"
    latin.write_bytes('name = "Rücken"'.encode("latin-1"))
    with pytest.raises(ackclock.ScenarioError, match=r"latin\.toml: is not UTF-8 text \(byte 9") as caught:
        ackclock.Scenario.load(latin)
    assert (caught.value.line, caught.value.key) == (None, "")
    with pytest.raises(FileNotFoundError):
        ackclock.Scenario.load(tmp_path / "nowhere.toml")


def test_what_simulate_is_given_stands_in_place_of_the_scenarios() -> None:
    scenario = ackclock.Scenario(
        path=ackclock.Path("10mbit", "40ms", "84p"), flows=[ackclock.Flow("cdg")], duration="60s", seed=1
    )
    run = ackclock.simulate(scenario, ["newreno", ackclock.Flow("cdg")], duration="2s", warmup="1s", seed=8)
    assert run.flows["cc"].to_pylist() == ["newreno", "cdg"]
    assert (run.duration_s, run.warmup_s, run.seed, run.scenario["seed"]) == (2.0, 1.0, 8, 8)
    assert scenario.duration == "60s"


FAIR = {"limit": "1bdp", "discipline": "fq"}
TURNS = {"limit": "64kB", "discipline": "drr", "quantum": "300b"}


@settings(max_examples=30, deadline=None)
@given(
    rate=st.integers(10, 1000).map(lambda n: f"{n}mbit"),
    rtt=st.integers(10, 500).map(lambda n: f"{n}ms"),
    queue=st.sampled_from(["84p", "64kB", "100ms", "1bdp", "infinite", FAIR, TURNS]),
    count=st.integers(1, 5),
    start=st.integers(0, 50).map(lambda n: f"{n}s"),
)
def test_a_resolved_scenario_resolves_to_itself(
    rate: str, rtt: str, queue: str | dict[str, str], count: int, start: str
) -> None:
    flow = ackclock.Flow("newreno", count=count, start=start)
    resolved = ackclock.Scenario(path=ackclock.Path(rate, rtt, queue), flows=[flow]).resolved()
    assert ackclock.Scenario.from_document(resolved).resolved() == resolved


@pytest.mark.parametrize(
    ("loss", "name", "sentence"),
    [
        (math.nan, "a", "scenario: path.loss: nan is no number"),
        (math.inf, "a", "scenario: path.loss: inf is no number"),
        ({"packets": [1, math.nan]}, "a", "scenario: path.loss.packets.1: nan is no number"),
        ("1%", "\ud800", r"scenario: flows.0.name: '\\ud800' is no text"),
    ],
)
def test_a_value_that_no_document_can_hold_is_named(loss, name, sentence):
    path = ackclock.Path("10mbit", "40ms", "20p", loss=loss)
    with pytest.raises(ackclock.ScenarioError, match=f"^{sentence}$"):
        ackclock.Scenario(path=path, flows=[ackclock.Flow("cdg", name=name)]).resolved()


ALLOWED = "allowed are texts, numbers, booleans, lists and tables"
ENDLESS: dict[str, object] = {"limit": "20p"}
ENDLESS["limit"] = ENDLESS


@pytest.mark.parametrize(
    ("loss", "sentence"),
    [
        (b"1%", f"scenario: path.loss: it is of type bytes: {ALLOWED}"),
        ({"packets": {1, 2}}, f"scenario: path.loss.packets: it is of type set: {ALLOWED}"),
        (10**5000, "scenario: path.loss: a number of 16610 bits is too large"),
        ({("a",): 1}, "scenario: path.loss.('a',): there is no such key here"),
        (ENDLESS, "scenario: path.loss.limit.limit.limit"),
    ],
    ids=["bytes", "set", "large", "key", "endless"],
)
@pytest.mark.parametrize("more", [{}, {"paths": 1}], ids=["built", "read"])
def test_a_document_of_any_values_is_refused_with_the_key(loss, sentence, more):
    document = {"path": {"rate": "10mbit", "rtt": "40ms", "queue": "20p", "loss": loss}} | more
    with pytest.raises(ackclock.ScenarioError) as refused:
        ackclock.simulate({**document, "flows": [{"cc": "cubic"}], "duration": "1s"})
    assert str(refused.value).startswith(sentence)


def test_a_path_of_python_names_a_file(tmp_path):
    (tmp_path / "t.csv").write_text("time_s,rate_mbit\n0,8\n5,8\n")
    path = ackclock.Path({"trace": tmp_path / "t.csv"}, "40ms", "20p")
    assert ackclock.simulate(path, ["cubic"], duration="1s").flows["cc"].to_pylist() == ["cubic"]


def test_numbers_of_numpy_are_taken_as_numbers():
    path = ackclock.Path("10mbit", "40ms", "20p", loss=np.float32(0.5))
    scenario = ackclock.Scenario(path=path, flows=[ackclock.Flow("cdg", count=np.int64(2))], seed=np.int32(7))
    resolved = scenario.resolved()
    assert (resolved["seed"], resolved["flows"][0]["count"], resolved["path"]["loss"]) == (7, 2, "50%")


def test_a_document_runs_as_it_is():
    path = {"rate": "10mbit", "rtt": "20ms", "queue": "1bdp"}
    run = ackclock.simulate({"path": path, "flows": [{"cc": "cubic"}], "duration": "1s"})
    assert run.scenario["flows"][0]["cc"] == "cubic"
    assert ackclock.simulate({"path": path}, ["cdg"], duration="1s").flows["cc"].to_pylist() == ["cdg"]


@pytest.mark.parametrize(
    ("document", "key", "words"),
    [
        ({"flow": []}, "flow", "did you mean `flows`"),
        ({"flows": [{"cc": "cubic", "countt": 1}]}, "flows.0.countt", "did you mean `count`"),
        ({"flows": 3}, "flows", "expected a list"),
        ({"flows": [3]}, "flows.0", "expected a table"),
        ({"path": {"rat": "1mbit"}}, "path.rat", "did you mean `rate`"),
        ({"path": 3}, "path", "expected a table"),
        ({"path": {"rate": "1mbit", "reverse": 3}}, "path.reverse", "expected a table"),
        ({"record": 4}, "record", "expected a table"),
        ({1: 2}, "1", "no such key"),
        ([1], "", "no table of keys"),
    ],
)
def test_a_document_of_another_shape_is_refused_with_its_key(document, key, words):
    with pytest.raises(ackclock.ScenarioError, match=words) as raised:
        ackclock.Scenario.from_document(document)
    assert raised.value.key == key


@pytest.mark.parametrize(
    ("parts", "key", "words"),
    [
        ({"flows": ["newreno"]}, "flows.0", "it is of type str: allowed is Flow"),
        ({"flows": [ackclock.Flow("cdg"), None]}, "flows.1", "it is of type NoneType: allowed is Flow"),
        ({"flows": "newreno"}, "flows", "it is of type str: allowed is a list of Flow"),
        ({"flows": ackclock.Flow("cdg")}, "flows", "it is of type Flow: allowed is a list of Flow"),
        ({"flows": None}, "flows", "a scenario needs at least one flow"),
        ({"links": [{"rate": "1mbit"}]}, "links.0", "it is of type dict: allowed is Link"),
        ({"wlans": {}}, "wlans", "it is of type dict: allowed is a list of Wlan"),
    ],
)
def test_parts_of_another_type_are_refused_with_their_key(parts, key, words):
    given = {"path": ackclock.Path("10mbit", "40ms", "20p"), "flows": [ackclock.Flow("cdg")]} | parts
    with pytest.raises(ackclock.ScenarioError, match=f"^scenario: {key}: {words}$") as raised:
        ackclock.simulate(ackclock.Scenario(**given), duration="1s")
    assert raised.value.key == key
