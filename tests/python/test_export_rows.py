"""Files of mm-link and Flent from tables of a few rows, worked out by hand."""

import gzip
import json
from types import SimpleNamespace

import pyarrow as pa
import pytest

from ackclock.exports import flent, mm_link, series

NAN = float("nan")


def of_link(*rows):
    """A run with these samples of its bottleneck, the second link."""
    names = ("time_s", "queue_bytes", "departed_bytes", "capacity_bytes", "dropped_packets")
    table = pa.table(
        dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)) | {"link": [1] * len(rows)}
    )
    links = pa.table({"link": [0, 1], "is_bottleneck": [False, True]})
    return SimpleNamespace(links=links, table=lambda _: table, scenario={"name": "a\nb"}, seed=7)


def test_lines_of_mm_link_count_the_bytes_since_the_sample_before():
    # 1000 bytes leave in the first 10 ms of 2000 possible ones, and 500 wait: 2.5 ms at 200 bytes/ms.
    rows = [(0.0, 0, 0, 0, 0), (0.01, 500, 1000, 2000, 0), (0.02, 0, 2500, 4000, 2), (0.03, 0, 2500, 6000, 2)]
    assert mm_link.lines(of_link(*rows)) == [
        "# mahimahi mm-link (uplink) [ackclock]",
        "# command line: a b, seed 7",
        "# base timestamp: 0",
        "10 # 2000",
        "10 + 1500",
        "10 - 1000 2",
        "20 # 2000",
        "20 + 1000",
        "20 - 1500 0",
        "# 20 d 2 3000",
        "30 # 2000",
    ]


def test_no_packet_of_mm_link_waits_from_before_the_start():
    # 10,000 bytes wait at 100 bytes/ms: 100 ms at 10 ms.
    assert mm_link.lines(of_link((0.01, 10_000, 1000, 1000, 0)))[-1] == "10 - 1000 10"
    # A link that could send nothing has no wait.
    assert mm_link.lines(of_link((0.01, 500, 1, 0, 1)))[3:] == ["10 + 501", "10 - 1 0", "# 10 d 1 1500"]


def test_the_first_link_is_logged_if_none_is_the_bottleneck():
    links = pa.table({"link": [4, 5], "is_bottleneck": [False, False]})
    assert series.bottleneck(SimpleNamespace(links=links)) == 4


ROWS = [
    # Time, flow, bytes, RTT, window, pacing rate.
    (0.0, 0, 0, NAN, 10.0, NAN),
    (0.2, 0, 50_000, 20.0, 12.0, 8e6),
    (0.4, 0, 150_000, 40.0, 14.0, 4e6),
    (0.2, 1, 0, NAN, 10.0, NAN),
    (0.4, 1, 25_000, 10.0, 11.0, NAN),
]


def of_flows(*rows):
    """A run of 600 ms with these samples of two flows."""
    names = (
        "time_s", "flow", "delivered_bytes", "smoothed_rtt_ms", "window_segments", "pacing_rate_bps",
    )  # fmt: skip
    table = pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))
    return SimpleNamespace(
        duration_s=0.6, flows=pa.table({"flow": [0, 1]}), table=lambda _: table, scenario={"name": "a"},
        seed=1_000_007, engine={"kind": "sim"},
    )  # fmt: skip


def test_uploads_of_flent_are_megabits_in_steps_of_200_ms(tmp_path):
    run = of_flows(*ROWS)
    found = flent.document(run)
    assert found["x_values"] == [0.2, 0.4, 0.6]
    results = found["results"]
    # 50,000 bytes in 200 ms are 2 Mbit/s.
    assert results["TCP upload::1"] == pytest.approx([2.0, 4.0, 0.0])
    assert results["TCP upload::2"] == pytest.approx([0.0, 1.0, 0.0])
    assert results["TCP upload sum"] == pytest.approx([2.0, 5.0, 0.0])
    assert results["TCP upload avg"] == pytest.approx([1.0, 2.5, 0.0])
    # The mean of the RTTs that are known: 20 ms alone, then 40 and 10 ms.
    assert results["Ping (ms) ICMP"] == [20.0, 25.0, 25.0]
    flent.write(run, tmp_path / "a.flent.gz")
    assert json.loads(gzip.decompress((tmp_path / "a.flent.gz").read_bytes())) == found
    # The head of gzip has no time, so that the same run has the same bytes.
    assert (tmp_path / "a.flent.gz").read_bytes()[4:8] == bytes(4)


def test_samples_of_flent_leave_out_what_is_not_known():
    first, second, third = flent.document(of_flows(*ROWS))["raw_values"]["TCP upload::1"]
    assert first == {
        "t": 946_684_800.0, "val": 0.0, "dur": 0.0, "tcp_cwnd": 10.0, "tcp_delivery_rate": 0.0,
    }  # fmt: skip
    assert second == pytest.approx(
        {
            "t": 946_684_800.2, "val": 2.0, "dur": 0.2, "tcp_cwnd": 12.0, "tcp_rtt": 20.0,
            "tcp_pacing_rate": 8.0, "tcp_delivery_rate": 2.0,
        }
    )  # fmt: skip
    assert third["val"] == pytest.approx(4.0)


def test_the_head_of_flent_has_the_test_and_its_length():
    found = flent.document(of_flows(*ROWS))
    data = found["metadata"]
    assert (found["version"], data["LENGTH"], data["TOTAL_LENGTH"], data["STEP_SIZE"]) == (4, 1, 1, 0.2)
    assert (data["TITLE"], data["TEST_PARAMETERS"]) == ("a, seed 1000007", {"upload_streams": "2"})
    assert data["TIME"] == data["T0"] == "2000-01-01T00:00:00.000000Z"
    # Runs of one scenario differ by their seeds: seven seconds, a million left out.
    assert data["BATCH_TIME"] == "2000-01-01T00:00:07.000000Z"
    units = {name: one["UNITS"] for name, one in data["SERIES_META"].items()}
    assert units.pop("Ping (ms) ICMP") == "ms"
    assert set(units.values()) == {"Mbits/s"}
