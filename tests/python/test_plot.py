"""``ackclock read DIR…``: several results over each other, boxes and intervals."""

from __future__ import annotations

import json

import numpy as np
import pytest

from ackclock import metrics, spread
from ackclock.result import Run
from calling import refused, run


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Two results of three repetitions each."""
    from ackclock.cli import main

    folder = tmp_path_factory.mktemp("results")
    for queue in ("100ms", "codel"):
        path = ["--rate", "5mbit", "--queue", queue, "--loss", "0.5%", "--duration", "4s", "--repeat", "3"]
        assert main(["compare", "cubic", "cdg", *path, "--out", str(folder / queue)]) == 0
    return folder


def test_results_lie_over_each_other(capsys, results, tmp_path):
    folders = results / "100ms", results / "codel"
    status, out, shown = run(capsys, "read", *folders, "--out", tmp_path / "both", "--json")
    assert status == 0
    found = json.loads(out)["results"]
    labels = ["100ms: cdg", "100ms: cubic", "codel: cdg", "codel: cubic"]
    assert list(found) == labels
    cubic = found["100ms: cubic"]["goodput_mbps"]
    each = [Run.load(results / "100ms" / f"cubic-seed-{seed}") for seed in (1, 2, 3)]
    delivered = [one.flows["delivered_bytes"].to_pylist()[0] * 8e-6 / 4 for one in each]
    assert cubic["values"] == pytest.approx(delivered)
    assert cubic["median"] == pytest.approx(np.median(delivered))
    low, high = cubic["median_ci95"]
    assert cubic["min"] <= low <= cubic["median"] <= high <= cubic["max"]
    assert f"[{spread.INTERVAL}]" in " ".join(shown.split())
    page = (tmp_path / "both" / "index.html").read_text("utf-8")
    assert "a band from the 20th to the 80th percentile" in page
    assert f"bar below: {spread.INTERVAL}" in page
    assert f"{cubic['median']:.2f} [{low:.2f}, {high:.2f}]" in page
    names = {file.name for file in (tmp_path / "both").iterdir()}
    assert {"boxes.png", "overview.png", "delay-throughput.png", "summary.json"} <= names


def test_one_result_has_the_labels_of_its_runs(capsys, results):
    status, out, _ = run(capsys, "read", results / "codel", "--json")
    assert (status, list(json.loads(out)["results"])) == (0, ["cdg", "cubic"])


def test_results_that_cannot_be_plotted(capsys, results, tmp_path):
    assert "holds no run" in refused(capsys, "read", tmp_path)
    folder = results / "codel"
    assert refused(capsys, "read", folder, folder) == f"{folder} {folder}: a folder is named twice"
    assert "--also: needs --out DIR" in refused(capsys, "read", folder, "--also", "pdf")


def test_an_interval_is_exact_and_always_the_same():
    values = np.array([1.0, 2.0, 3.0, 4.0, 100.0])
    found = spread.spread(values)
    assert (found.low, found.q1, found.median, found.q3, found.high) == (1.0, 2.0, 3.0, 4.0, 100.0)
    assert found == spread.spread(values)
    # The median of five draws is 1 with a probability of 0.058, and at most 4 with one of 0.942.
    assert found.interval == (1.0, 100.0)
    assert spread.spread(np.array([1.0, 2.0])).interval is None
    assert spread.spread(np.array([2.0, 2.0, 2.0])).interval == (2.0, 2.0)
    assert spread.spread(np.array([np.nan])) is None


@pytest.mark.parametrize("count", [7, 10, 25])
def test_an_interval_holds_95_percent_of_drawn_medians(count):
    values = np.sort(np.random.default_rng(count).exponential(size=count))
    drawn = np.random.default_rng(1).choice(values, (20_000, count))
    low, high = spread.interval(values.tolist())
    # An end is a value, and some medians are on it.
    assert np.mean(np.median(drawn, axis=1) < low) <= 0.025 + 0.004
    assert np.mean(np.median(drawn, axis=1) > high) <= 0.025 + 0.004
    lower = np.sort(drawn, axis=1)[:, (count + 1) // 2 - 1]
    upper = np.sort(drawn, axis=1)[:, count // 2]
    assert np.mean(lower <= low) >= 0.025 - 0.004
    assert np.mean(upper >= high) >= 0.025 - 0.004


def test_bins_of_a_goodput_share_no_sample(results):
    # A link of 5 Mbit/s: no bin may hold more than that, however the edges of bins are rounded.
    one = Run.load(results / "100ms" / "cubic-seed-1")
    for width in (0.1, 0.2, 0.3, 0.7):
        for curve in metrics.goodput_by_group(one, width):
            flow = metrics.goodput_by_flow(one, width)[0]
            assert curve.values[:-1] == pytest.approx(flow.values[: curve.values.size - 1], abs=1.0)


def test_the_title_of_a_sweep_names_the_path_and_what_was_set(capsys, tmp_path):
    over = ("--over", "queue=10p,40p", "--duration", "1s", "--out", str(tmp_path / "out"))
    code, out, _ = run(
        capsys, "sweep", "cubic", *over, "--set", "path.loss=1%", "--set", "flows.0.start=0.1s"
    )
    title = "cubic over queue; rate 10mbit, rtt 40ms, loss 1%; with flows.0.start=0.1s"
    assert code == 0
    assert title in " ".join(out.split())
    page = (tmp_path / "out" / "index.html").read_text("utf-8")
    assert f"<h1>{title}</h1>" in page
    # A screen reader gets the numbers of each figure in a sentence.
    assert 'alt="utilization. utilization against queue (p): cubic ' in page
