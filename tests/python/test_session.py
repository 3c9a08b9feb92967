"""The page of a session on a link, from tables of a few rows: answers, numbers and figure."""

import html
import json
import re
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

import ackclock
from ackclock.cli import session

PATH = ackclock.Path("5mbit", rtt="20ms", queue="30p")


@pytest.fixture(scope="module")
def run():
    return ackclock.simulate(PATH, ["newreno"], duration="1s")


def test_a_page_has_answers_and_the_run_as_it_was(tmp_path, run):
    assert session.write(run, "on a link", tmp_path, ()) == []
    text = html.unescape((tmp_path / "index.html").read_text("utf-8"))
    link = run.links.to_pylist()[0]
    assert (
        f"{link['throughput_bps'] / 1e6:.3g} Mbit/s to the far end on average, of 5 Mbit/s, in 1.0 s" in text
    )
    lost = link["dropped_packets"] + link["lost_packets"]
    assert f"{lost} of {link['arrived_packets']}" in text
    objects = re.findall(r"<pre.*?>(\{.*?)</pre>", text, re.DOTALL)
    assert [json.loads(one) for one in objects[:2]] == [run.engine, run.scenario]
    assert objects == [json.dumps(json.loads(one), indent=2) for one in objects]
    assert len(objects) == 3
    assert json.loads((tmp_path / "summary.json").read_text("utf-8"))["runs"]


@pytest.mark.parametrize(
    ("dropped", "lost", "arrived", "share"),
    [
        (1, 2, 300, "1 % of the packets to the far end: 3 of"),
        (0, 0, 0, "0 % of the packets to the far end: 0 of"),
    ],
)
def test_losses_are_those_of_the_queue_and_of_the_link(tmp_path, run, dropped, lost, arrived, share):
    rows = run.links.to_pylist()
    rows[0] |= {
        "dropped_packets": dropped,
        "lost_packets": lost,
        "arrived_packets": arrived,
        "rate_bps": None,
    }
    changed = SimpleNamespace(
        links=pa.Table.from_pylist(rows, run.links.schema), link_series=run.link_series, engine=run.engine,
        scenario=run.scenario, duration_s=run.duration_s, summary=run.summary,
    )  # fmt: skip
    session.write(changed, "on a link", tmp_path, ())
    text = (tmp_path / "index.html").read_text("utf-8")
    assert f"{share} {arrived}" in text
    assert "of an unlimited rate" in text


def test_waits_are_a_mean_and_a_percentile():
    found = session._waited({"packet_queue_delay_mean_ms": 1.23456, "packet_queue_delay_p95_ms": 20.0})
    assert found == "packets waited 1.23 ms on average, 95 % of them at most 20 ms"
    row = {"packet_queue_delay_mean_ms": None, "packet_queue_delay_p95_ms": None}
    assert session._waited(row) == "no packet crossed the queue"


def drawn(times, sent, links=None):
    """The axes of the figure of these samples, of the first link if no other is named."""
    table = {
        "time_s": times,
        "link": pa.array(links or [0] * len(times), pa.uint32()),
        "departed_bytes": pa.array(sent, pa.uint64()),
        "queue_packets": pa.array(range(len(times)), pa.uint32()),
    }
    return session._figure(SimpleNamespace(link_series=pa.table(table))).axes


def test_throughput_is_in_bins_of_two_samples_and_more():
    # Five samples make two bins of 2 s: 500,000 bytes are 2 Mbit/s, and 1,000,000 are 4.
    upper, lower = drawn([0.0, 1.0, 2.0, 3.0, 4.0], [0, 100_000, 500_000, 1_000_000, 1_500_000])
    [stairs] = upper.patches
    assert stairs.get_data().values == pytest.approx([2.0, 4.0])
    assert stairs.get_data().edges == pytest.approx([0.0, 2.0, 4.0])
    [waiting] = lower.lines
    assert waiting.get_ydata().tolist() == [0, 1, 2, 3, 4]
    assert (upper.get_ylabel(), lower.get_xlabel()) == ("throughput (Mbit/s)", "time (s)")


def test_a_long_session_has_two_hundred_bins_and_an_instant_none():
    times = np.arange(1001.0)
    [stairs] = drawn(times.tolist(), (1000 * times).astype(int).tolist())[0].patches
    assert stairs.get_data().values == pytest.approx(np.full(200, 0.008))
    assert len(drawn([0.0], [0])[0].patches) == 0
    # Two samples are a bin.
    [stairs] = drawn([0.0, 1.0], [0, 125_000])[0].patches
    assert stairs.get_data().values == pytest.approx([1.0])


def test_the_figure_has_the_link_to_the_far_end_alone():
    upper, lower = drawn([0.0, 0.0, 1.0, 1.0], [0, 0, 125_000, 500_000], links=[0, 1, 0, 1])
    assert upper.patches[0].get_data().values == pytest.approx([1.0])
    assert lower.lines[0].get_ydata().tolist() == [0, 2]
