"""The object of iperf3 from tables of a few rows: intervals, sums, and each stream as a whole."""

from types import SimpleNamespace

import pyarrow as pa
import pytest

from ackclock.exports import iperf3

NAN = float("nan")


def made(duration=2.5):
    """Two flows for 2.5 s: one delivers 1 and 3 MB in whole seconds, the other begins at 1 s."""
    rows = [
        # Time, flow, bytes, packets sent again, window, RTT.
        (0.0, 0, 0, 0, 10.0, NAN),
        (1.0, 0, 1_000_000, 2, 20.0, 30.0),
        (2.0, 0, 4_000_000, 2, 30.0, 50.5),
        (2.5, 0, 5_000_000, 3, 25.0, 40.0),
        (1.0, 1, 0, 0, NAN, NAN),
        (2.0, 1, 250_000, 1, 4.5, 20.0),
    ]
    names = (
        "time_s",
        "flow",
        "delivered_bytes",
        "retransmitted_packets",
        "window_segments",
        "smoothed_rtt_ms",
    )
    series = pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))
    flows = pa.table({"flow": [0, 1], "name": ["a", "b"], "cc": ["cubic", "cdg"]})
    return SimpleNamespace(
        duration_s=duration,
        warmup_s=1.0,
        flows=flows,
        engine={"kind": "sim"},
        table=lambda _: series,
        flow_series=series,
    )


def of(key, number):
    """The values of a stream, interval by interval."""
    return [one["streams"][number][key] for one in iperf3.document(made())["intervals"]]


def test_intervals_are_seconds_and_the_rest():
    assert of("start", 0) == [0.0, 1.0, 2.0]
    assert of("end", 0) == [1.0, 2.0, 2.5]
    assert of("seconds", 0) == [1.0, 1.0, 0.5]
    # The first second is the warm-up.
    assert of("omitted", 0) == [True, False, False]
    # A run of whole seconds has no rest, and one of two nanoseconds more has.
    assert [len(iperf3.document(made(length))["intervals"]) for length in (2.0, 2.0 + 2e-9, 0.5)] == [2, 3, 1]


def test_an_interval_has_what_came_within_it_and_the_latest_signals():
    assert of("bytes", 0) == [1_000_000, 3_000_000, 1_000_000]
    assert of("bits_per_second", 0) == [8e6, 24e6, 16e6]
    assert of("retransmits", 0) == [2, 0, 1]
    # Segments of 1448 bytes, and RTTs in microseconds.
    assert of("snd_cwnd", 0) == [20 * 1448, 30 * 1448, 25 * 1448]
    assert of("rtt", 0) == [30_000, 50_500, 40_000]


def test_a_flow_has_nothing_before_its_first_sample_and_behind_its_last():
    assert of("bytes", 1) == [0, 250_000, 0]
    assert of("retransmits", 1) == [0, 1, 0]
    assert of("snd_cwnd", 1) == [0, 6516, 6516]
    assert of("rtt", 1) == [0, 20_000, 20_000]


def test_streams_have_sockets_and_ports_of_their_own():
    document = iperf3.document(made())
    begin = document["start"]
    assert [(one["socket"], one["local_port"], one["remote_port"]) for one in begin["connected"]] == [
        (5, 50_000, 5201),
        (7, 50_001, 5201),
    ]
    assert {one["socket"] for one in document["intervals"][0]["streams"]} == {5, 7}
    assert (begin["test_start"]["num_streams"], begin["test_start"]["duration"]) == (2, 2.5)
    # iperf3 writes 128 KiB at once. 1 January 2000 at midnight is 10,957 days after the epoch.
    assert begin["test_start"]["blksize"] == 128 * 1024
    assert begin["timestamp"]["timesecs"] == 10_957 * 86_400
    assert [begin["test_start"][name] for name in ("omit", "bytes", "blocks", "reverse")] == [0, 0, 0, 0]
    assert set(document["end"]["cpu_utilization_percent"].values()) == {0.0}


def test_sums_are_over_the_streams():
    document = iperf3.document(made())
    [first, second, rest] = [one["sum"] for one in document["intervals"]]
    assert (first["bytes"], second["bytes"], rest["bytes"]) == (1_000_000, 3_250_000, 1_000_000)
    assert (second["start"], second["end"], second["seconds"], second["sender"]) == (1.0, 2.0, 1.0, True)
    assert (second["bits_per_second"], second["retransmits"]) == (26e6, 1)
    end = document["end"]
    assert end["sum_sent"] == end["sum_received"]
    assert (end["sum_sent"]["bytes"], end["sum_sent"]["retransmits"]) == (5_250_000, 4)
    assert end["sum_sent"]["bits_per_second"] == pytest.approx(5_250_000 * 8 / 2.5)
    assert end["sender_tcp_congestion"] == "cubic+cdg"


def test_a_whole_stream_has_its_largest_window_and_the_rtts_that_it_saw():
    first, second = (one["sender"] for one in iperf3.document(made())["end"]["streams"])
    assert (first["start"], first["end"], first["seconds"], first["bytes"]) == (0.0, 2.5, 2.5, 5_000_000)
    assert first["bits_per_second"] == 16e6
    assert (first["max_snd_cwnd"], first["min_rtt"], first["max_rtt"]) == (30 * 1448, 30_000, 50_500)
    assert first["mean_rtt"] == 40_166
    # An interval without an RTT has no share in them.
    assert (second["min_rtt"], second["max_rtt"], second["mean_rtt"]) == (20_000, 20_000, 20_000)
    assert (first["sender"], second["socket"]) == (True, 7)


def test_a_stream_without_any_rtt_has_none():
    silent = [{"bytes": 0, "retransmits": 0, "end": 1.0, "rtt": 0, "socket": 5, "snd_cwnd": 0}]
    found = iperf3._whole(silent)
    assert (found["min_rtt"], found["max_rtt"], found["mean_rtt"]) == (0, 0, 0)
