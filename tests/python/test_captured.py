"""Tables of `ackclock read CAPTURE`: numbers of a connection in the units of its rows, worked out by hand."""

import json

import numpy as np
import pytest

from ackclock.cli import captured
from calling import run
from test_captures import A, B, ack, classic, data, packet
from test_recorded import recorded

PACKETS = [
    *[(0.2, data(1)), (0.21, data(1001)), (0.3, ack(1001, 60000)), (0.33, ack(2001, 60000))],
    *[(0.6, data(2001)), (0.7, ack(3001, 60000)), (1.2, data(3001, 500)), (1.3, ack(3501, 60000))],
]
"""3500 bytes in four segments, from 0.2 to 1.3 s. RTTs of 100, 120, 100 and 100 ms."""


def test_the_spread_of_values_has_their_ends_and_percentiles():
    values = np.arange(101.0)
    expected = {"min": 0.0, "mean": 50.0, "p50": 50.0, "p95": 95.0, "max": 100.0}
    assert captured.spread(values[::-1] * 1.0) == expected
    assert captured.spread(np.array([1 / 3])) == dict.fromkeys(expected, 0.333333)
    assert captured.spread(np.zeros(0)) is None


def test_a_connection_has_its_numbers_in_bits_bytes_and_milliseconds(tmp_path):
    row = captured.summary(recorded(tmp_path, PACKETS))
    begin, length = row["start_s"], row["duration_s"]
    assert (begin, length) == (pytest.approx(0.2), pytest.approx(1.1))
    counts = ("data_packets", "data_bytes", "acknowledged_bytes", "segment_bytes", "rtt_samples", "timeouts")
    assert [row[name] for name in counts] == [4, 3500, 3500, 1000, 4, 0]
    assert row["throughput_bps"] == row["goodput_bps"] == pytest.approx(3500 * 8 / 1.1)
    assert row["handshake_ms"] == pytest.approx(100.0)
    assert row["rtt_ms"] == pytest.approx({"min": 100, "mean": 105, "p50": 100, "p95": 117, "max": 120})
    assert (row["outstanding_bytes"]["max"], row["first_window_bytes"]) == (2000, 2000)


def test_a_connection_over_time_is_a_hundred_intervals(tmp_path):
    one = recorded(tmp_path, PACKETS)
    over = captured.over_time(one)
    assert [len(values) for values in over.values()] == [100] * 4
    assert over["time_s"][:2] == pytest.approx([0.2, 0.211])
    # 2000 bytes within the first 11 ms, 1000 at 0.6 s in the 37th interval, and 500 at 1.2 s in the 91st.
    rates = {k: rate for k, rate in enumerate(over["throughput_bps"]) if rate}
    assert rates == pytest.approx({0: 2000 * 8 / 0.011, 36: 1000 * 8 / 0.011, 90: 500 * 8 / 0.011})
    most = {k: size for k, size in enumerate(over["outstanding_bytes"]) if size}
    assert most == {0: 2000, 36: 1000, 90: 500}
    # ACKs come 100, 130, 500 and 1100 ms behind the first packet: the last one at the very end.
    rtts = {k: rtt for k, rtt in enumerate(over["rtt_ms"]) if rtt is not None}
    assert rtts == pytest.approx({9: 100.0, 11: 120.0, 45: 100.0, 99: 100.0})


def test_a_connection_of_an_instant_has_nothing_over_time(tmp_path):
    one = recorded(tmp_path, [(0.2, data(1))])
    assert set(map(len, captured.over_time(one).values())) == {0}
    row = captured.summary(one)
    assert (row["duration_s"], row["throughput_bps"], row["goodput_bps"]) == (0.0, None, None)
    assert captured._rates(row)[1:5] == ["0", "-", "-", "-"]


def test_rows_of_the_terminal_have_megabytes_and_megabits(tmp_path):
    row = captured.summary(recorded(tmp_path, PACKETS))
    row |= {"data_bytes": 2_500_000, "throughput_bps": 20e6, "limited_by": {"network": 0.25, "sender": 0.75}}
    assert captured._rates(row) == ["2.5", "1.1", "20", "100", "100", "2", "sender 75 %"]
    row |= {"limited_by": {"network": 0.75, "sender": 0.25}}
    assert captured._rates(row)[-1] == "network 75 %"
    # Elsewhere than at the sender the network is no cause that a capture shows.
    row |= {"is_at_sender": False}
    assert captured._rates(row)[-1] == "-"
    row |= {"limited_by": {"network": 0.0, "sender": 0.0}, "is_at_sender": True}
    assert captured._rates(row)[-1] == "-"
    # Packets, sent again, by cause, spurious, overtaken, and zero windows.
    row |= {"closed_s": 1.5, "burst_segments": {"p50": 1.0, "max": 2.0}}
    assert captured._repairs(row) == ["4", "0", "0", "0", "0", "0", "0", "0", "1.5", "1", "2"]


def connections(count):
    """Packets of so many connections, without handshakes: two bytes in the first, and one in the others."""
    for number in range(count):
        ports = (40000 + number, 5001)
        size = 2 if number == 0 else 1
        first = packet(A, B, ports, 1, 1, 60000, size)
        yield 0.1, first
        yield 0.2, packet(B, A, ports[::-1], 1, 1 + size, 60000)


@pytest.mark.parametrize(("count", "left"), [(20, None), (21, 1), (23, 3)])
def test_twenty_connections_have_rows_on_the_terminal(tmp_path, capsys, count, left):
    path = classic(tmp_path / "many.pcap", sorted(connections(count), key=lambda one: one[0]))
    status, out, err = run(capsys, "read", path, "--json")
    assert (status, len(json.loads(out)["connections"])) == (0, count)
    sentence = f"{left} connections with less data have no row here, and one in --json"
    assert (sentence in err) == (left is not None)
    assert ("have no row here" in err) == (left is not None)
