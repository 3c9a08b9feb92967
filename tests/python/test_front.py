"""`ackclock evaluate --front`: draws from quantile tables, scores and the front, worked out by hand."""

import json
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from ackclock.cases.document import CaseError
from ackclock.evaluation.front import LEAST_USE, SCORES, _pareto, _sampled, _score, _scored
from ackclock.evaluation.paths import PATHS, DrawnPath, draw, kinds, quantile
from calling import refused, run


def test_a_quantile_lies_between_its_neighbours_by_logarithms():
    table = (1.0, 10.0, 1000.0)
    assert [quantile(table, share) for share in (0.0, 0.5, 1.0)] == pytest.approx([1.0, 10.0, 1000.0])
    # A quarter is half of the way from 1 to 10, three quarters half of that from 10 to 1000.
    assert quantile(table, 0.25) == pytest.approx(10**0.5)
    assert quantile(table, 0.75) == pytest.approx(100.0)


def test_paths_have_the_shares_of_their_kinds_and_lie_within_the_tables():
    of = kinds()
    drawn = draw(of, 100, 1)
    counts = {one.name: sum(path.kind == one.name for path in drawn) for one in of}
    # One path of each hundredth: a kind with 45 % has 45 of them, or one more or less.
    assert all(abs(counts[one.name] - 100 * one.share) <= 1 for one in of)
    by_name = {one.name: one for one in of}
    for path in drawn:
        kind = by_name[path.kind]
        assert kind.rate_mbit[0] <= path.rate_bps / 1e6 <= kind.rate_mbit[-1]
        assert kind.rtt_ms[0] <= path.rtt_ms <= kind.rtt_ms[-1]
    assert draw(of, 100, 1) == drawn != draw(of, 100, 2)


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        ("share = 0.45", "share = -1", "share = -1 must be from 0"),
        ("rate_mbit = [3, 5.1", "rate_mbit = [6, 5.1", "must not decrease"),
        ("rate_mbit = [3, 5.1", "rate_mbit = [0, 5.1", "must be two numbers or more, above 0"),
        ("buffer_ms = [30,", "policer_ms = 5\nbuffer_ms = [30,", "one of `buffer_ms`, `discipline`"),
        ("share = 0.45", "sharing = 0.45", "`share` is missing"),
    ],
)
def test_a_mistake_in_the_tables_is_one_sentence(tmp_path, before, after, why):
    file = tmp_path / "paths.toml"
    file.write_text(PATHS.read_text("utf-8").replace(before, after, 1), "utf-8")
    with pytest.raises(CaseError, match=why):
        kinds(file)


def test_the_front_has_those_that_no_other_beats_in_both():
    # The second uses more at less delay than the third. The first has the least delay.
    use, delay = np.array([[0.5], [0.9], [0.8]]), np.array([[1.1], [1.5], [2.0]])
    assert _pareto(use, delay)[:, 0].tolist() == [True, True, False]


def test_scores_of_two_paths_by_hand():
    samples = {
        ("a", "use"): np.array([0.4, 0.9]),
        ("a", "delay"): np.array([2.0, 8.0]),
        ("a", "left"): np.array([0.25, 0.5]),
        ("a", "own"): np.array([0.75, 0.5]),
        ("cubic", "left"): np.array([0.5, 0.5]),
    }
    drawn = np.array([[0, 1]])
    found = {key: float(_score(samples, "a", key, drawn)[0]) for key in SCORES}
    # Geometric means are 0.6 and 4. CUBIC loses half of its share on the first path, nothing on the second.
    assert found == pytest.approx({"use": 0.6, "delay": 4.0, "harm": 0.25, "own": 0.625, "worst": 0.45})


def test_the_better_of_two_is_the_first_in_every_score():
    of = {
        "worse": {"use": 0.5, "delay": 4.0, "left": 0.25, "own": 0.4},
        "better": {"use": 0.9, "delay": 1.5, "left": 0.5, "own": 0.6},
        "cubic": {"left": 0.5},
    }
    samples = {(name, key): np.full(2, value) for name, values in of.items() for key, value in values.items()}
    first, second = _scored(["worse", "better"], samples, draw(kinds(), 2, 1), 1).controllers
    assert (first.name, second.name) == ("better", "worse")
    assert {key: one.ranks for key, one in first.values.items()} == dict.fromkeys(SCORES, (1, 1))
    assert {key: one.ranks for key, one in second.values.items()} == dict.fromkeys(SCORES, (2, 2))


def test_scores_are_the_same_for_the_same_seed(capsys, tmp_path):
    arguments = ("evaluate", "newreno", "cubic", "--front", "--paths", "4", "--json")
    status, out, _ = run(capsys, *arguments, "--out", tmp_path / "a")
    assert status == 0
    assert run(capsys, *arguments)[1] == out
    found = json.loads(out)["evaluate"]["front"]
    assert json.loads((tmp_path / "a" / "front.json").read_text("utf-8")) == found
    assert {file.name for file in (tmp_path / "a").iterdir()} == {
        "index.html",
        "front.md",
        "front.json",
        "front.png",
        "inputs.json",
    }
    assert (found["paths"], found["seed"]) == (4, 1)
    scores = {one["name"]: one for one in found["controllers"]}
    assert scores["cubic"]["harm"]["value"] == 0.0
    for one in scores.values():
        assert one["use"]["low"] <= one["use"]["value"] <= one["use"]["high"] <= 1.0
        assert 1 <= one["delay"]["ranks"][0] <= one["delay"]["ranks"][1] <= 2


def test_options_of_documents_and_of_scores_do_not_mix(capsys):
    assert refused(capsys, "evaluate", "cubic", "--front", "--long") == "--long: is of a document"
    assert refused(capsys, "evaluate", "cubic", "--paths", "9") == "--paths: is for --front"
    assert refused(capsys, "evaluate", "cubic", "vegas").endswith("--front scores several")


def test_a_run_in_which_nothing_arrives_has_no_share():
    path = DrawnPath("any", 10e6, 40.0, {})
    flows = pa.table({"goodput_bps": [0.0, 0.0], "rtt_p95_ms": [60.0, 60.0], "base_rtt_ms": [40.0, 40.0]})
    assert _sampled(SimpleNamespace(flows=flows), path, beside=True) == {"left": 0.0, "own": 0.0}
    assert _sampled(SimpleNamespace(flows=flows), path, beside=False) == {"use": LEAST_USE, "delay": 1.5}
    flows = pa.table({"goodput_bps": [3e6, 6e6]})
    found = _sampled(SimpleNamespace(flows=flows), path, beside=True)
    assert found == pytest.approx({"left": 0.6, "own": 1 / 3})
