"""`ackclock read --controllers`: trajectories of captures and results, and their likeliest controllers."""

import json
import math
import sys

import numpy as np
import pytest

from ackclock import identify
from ackclock.cli import identify as command
from ackclock.errors import InputError
from ackclock.identify import training
from ackclock.identify.features import features
from ackclock.identify.trajectories import Trajectory
from calling import refused, run

FEW = ("bbr1", "cubic", "dctcp", "newreno", "vegas")

SCENARIO = """
name = "NAME"
duration = "30s"
path = { rate = "9mbit", rtt = "50ms", queue = "40p" }
flows = [{ name = "flow", cc = "NAME" }]
record = { flow_series = "SAMPLES" }
"""


@pytest.fixture(scope="module")
def few():
    """The table of a few controllers on a few paths."""
    return training.train(count=12, controllers=FEW)


def recorded(folder, capsys, name, samples="5ms", head=""):
    """A result and a capture of one flow."""
    (folder / f"{name}.toml").write_text(head + SCENARIO.replace("NAME", name).replace("SAMPLES", samples))
    capture, result = folder / f"{name}.pcapng", folder / name
    status, _, err = run(capsys, "run", folder / f"{name}.toml", "--pcap", capture, "--out", result)
    assert status == 0, err
    return capture, result


def test_a_capture_and_a_result_have_the_same_trajectory(capsys, tmp_path):
    # A clock with a phase rounds the smallest RTT of the result, which makes its rounds a little shorter.
    capture, result = recorded(tmp_path, capsys, "newreno", head="phase_noise = false\n")
    [seen], [told] = identify.read(capture), identify.read(result)
    rounds = min(len(seen), len(told))
    assert abs(len(seen) - len(told)) <= 2
    both = ~(seen.repairing[:rounds] | told.repairing[:rounds])
    assert both.mean() > 0.9
    assert np.mean(np.abs(seen.flight[:rounds] - told.flight[:rounds])[both] <= 2) > 0.95
    assert seen.resent.sum() == told.resent.sum() > 0
    one, other = features(seen), features(told)
    assert one.keys() == other.keys()
    assert one["kept p50"] == pytest.approx(other["kept p50"], abs=0.05) == pytest.approx(0.5, abs=0.1)
    assert one["slope 1"] == pytest.approx(other["slope 1"], abs=0.1)


def teeth(tooth):
    """Six teeth of 16 rounds, each with two segments again in the 14th."""
    flight, resent = np.array(6 * tooth, float), np.array(6 * [*[0.0] * 13, 2.0, 0.0, 0.0])
    return features(Trajectory("a", 0.1, flight, np.ones(96), flight, resent, np.zeros(96, bool)))


def test_features_of_a_saw_tooth_by_hand():
    # From 11 to 22 by 1 a round, 22 around the loss, and 11 in the 16th.
    found = teeth([*range(11, 23), 22, 22, 22, 11])
    expected = {
        "rtt ms": 100.0,
        "losses a hundred rounds": 6.25,
        "segments lost a round": 0.125,
        "kept p50": 0.5,
        # Growth is 11, 11, 12 … 22: parts from the first, fourth, seventh and tenth of 13 values.
        "slope 0": 2 / 3,
        "slope 1": 1.0,
        "share 0": 2 / 33,
        "share 1": 1 / 13,
        "share 3": 1 / 19,
        "rise": 1.0,
        "half of the growth at": 7 / 13,
        "rounds of growth": math.log(14),
        # From the 21st round on 7 steps of one, then 4 times a step of none and 11 of one.
        "steps of none": 4 / 55,
        "steps of one": 51 / 55,
        "steps down": 0.0,
        "largest step down": 0.0,
        "growth against delay": 0.0,
        "dips in ten seconds": 0.0,
    }
    assert {name: found[name] for name in expected} == pytest.approx(expected)


@pytest.mark.parametrize(("most", "half"), [(13, -1.0), (14, 11 / 13)])
def test_a_growth_of_two_segments_has_no_half(most, half):
    # Growth is 11 for ten rounds, 12, 13 and the most.
    assert teeth([*[11] * 9, 12, 13, *[most] * 4, 11])["half of the growth at"] == pytest.approx(half)


def test_flows_on_another_path_are_named(capsys, tmp_path, monkeypatch, few):
    monkeypatch.setattr(training, "table", lambda _: few)
    monkeypatch.setattr(identify, "table", lambda _: few)
    files = [recorded(tmp_path, capsys, name) for name in ("bbr1", "cubic", "newreno", "vegas")]
    status, out, _ = run(
        capsys, "read", "--controllers", *(file for pair in files for file in pair), "--json"
    )
    found = json.loads(out)["identify"]
    assert status == 0
    assert [one["controller"] for one in found] == [
        name for name in ("bbr1", "cubic", "newreno", "vegas") for _ in range(2)
    ]
    assert all(len(one["guesses"]) == command.SHOWN for one in found)
    status, out, _ = run(capsys, "read", "--controllers", *files[1], "--together", "--json")
    [one] = json.loads(out)["identify"]
    assert (one["controller"], len(one["flows"])) == ("cubic", 2)
    monkeypatch.setattr(identify, "LEAST", 1.1)
    status, out, _ = run(capsys, "read", "--controllers", files[0][0])
    assert (status, "unknown" in out, "bbr1" in out) == (0, True, True)


def test_controllers_that_never_differ_are_one():
    values = np.array([[1.0], [2.0], [1.0], [2.0], [1.0], [3.0]])
    table = training.Table(["x"], values, ["a", "a", "b", "b", "c", "c"])
    merged, also = table.merged()
    assert (merged.labels, also) == (["a", "a", "c", "c"], {"a": ["a", "b"], "c": ["c"]})


def test_the_table_is_made_once_and_again_where_it_is_damaged(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    made = []

    def train(_):
        made.append(1)
        return training.Table(["x"], np.array([[1.0]]), ["a"])

    monkeypatch.setattr(training, "train", train)
    assert training.table().labels == training.table().labels == ["a"]
    [file] = (tmp_path / "ackclock/identify").iterdir()
    assert len(made) == 1
    file.write_bytes(b"no archive")
    assert training.table().columns == ["x"]
    file.write_bytes(file.read_bytes()[:100])
    training.table()
    assert len(made) == 3


def test_what_cannot_be_identified_is_one_sentence(capsys, tmp_path, monkeypatch):
    capture, result = recorded(tmp_path, capsys, "cubic", "100ms")
    assert 'record.flow_series = "5ms" shows its rounds' in refused(capsys, "read", "--controllers", result)
    (tmp_path / "text.txt").write_text("text")
    assert "is no whole capture" in refused(capsys, "read", "--controllers", tmp_path / "text.txt")
    assert "the capture has 1" in refused(capsys, "read", "--controllers", capture, "--interface", 3)
    monkeypatch.setattr(identify.trajectories, "LEAST_ROUNDS", 10_000)
    assert refused(capsys, "read", "--controllers", capture).endswith(
        "no TCP flow in it has 10000 round trips"
    )


def test_without_scikit_learn_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.ensemble", None)
    table = training.Table(["x"], np.array([[1.0]]), ["a"])
    with pytest.raises(InputError, match=r"needs scikit-learn: python -m pip install scikit-learn"):
        identify.Classifier(table)


def test_a_damaged_time_in_a_capture_makes_no_endless_trajectory(monkeypatch):
    monkeypatch.setattr(identify.trajectories, "MOST_ROUNDS", 1000)
    events = []
    for place in range(1, 301):
        events += [(place * 1e-3, "data", place * 1000), (place * 1e-3 + 1e-8, "ack", place * 1000)]
    events.append((4e9, "data", 301_000))
    steps = identify.trajectories._steps(events, 1000)
    assert len(identify.trajectories._rounds("flow", steps)) == 1000


def test_copies_in_a_capture_without_acks_cost_no_more_than_other_segments():
    # Each copy used to go through all segments in flight: hours for this flow.
    count = 100_000
    events = [(place * 1e-4, "data", (place % count + 1) * 1000) for place in range(2 * count)]
    steps = identify.trajectories._steps(events, 1000)
    assert (steps.resent[-1], np.isfinite(steps.rtt).any()) == (count, False)


def test_an_ack_of_a_segment_with_a_copy_gives_no_rtt():
    events = [
        ("data", 1),
        ("data", 2),
        ("data", 3),
        ("data", 2),
        ("data", 4),
        ("ack", 1),
        ("ack", 3),
        ("ack", 4),
    ]
    events = [(float(time), kind, place * 1000) for time, (kind, place) in enumerate(events)]
    # The first and the fourth segment have one copy. The third is behind a segment that was sent again.
    steps = identify.trajectories._steps(events, 1000)
    assert steps.rtt[-3:].tolist() == [5.0, 5.0, 3.0]


def test_a_damaged_table_of_the_cache_is_made_anew(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(training, "train", lambda _: training.Table(["x"], np.arange(400.0)[:, None], ["a"]))
    training.table()
    [file] = (tmp_path / "ackclock/identify").iterdir()
    whole = file.read_bytes()
    damaged = [b"", *(whole[:at] + b"\xff" + whole[at + 1 :] for at in range(0, len(whole), 8))]
    for content in damaged:
        file.write_bytes(content)
        assert training.table().columns == ["x"]


def test_a_cache_that_cannot_be_written_costs_no_answer(monkeypatch, tmp_path):
    monkeypatch.setattr(training, "train", lambda _: training.Table(["x"], np.array([[1.0]]), ["a"]))
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert training.table().labels == ["a"]
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    def full(file, **_):
        file.write_bytes(b"half of it")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez_compressed", full)
    assert training.table().labels == ["a"]
    assert list((tmp_path / "ackclock/identify").iterdir()) == []


def test_without_scikit_learn_no_simulation_begins(capsys, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "sklearn.ensemble", None)
    monkeypatch.setattr(identify, "table", lambda _: pytest.fail("it simulates"))
    capture, _ = recorded(tmp_path, capsys, "cubic")
    assert "needs scikit-learn" in refused(capsys, "read", "--controllers", capture)


def test_samples_too_far_apart_are_named_in_a_short_result(capsys, tmp_path):
    _, result = recorded(tmp_path, capsys, "newreno", "1s")
    assert 'record.flow_series = "5ms" shows its rounds' in refused(capsys, "read", "--controllers", result)
