"""`ackclock read CAPTURE`: RTTs, retransmissions by cause, windows, bursts and limits of connections."""

import json
import shutil
import subprocess
from struct import pack

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ackclock
from ackclock.captures import connections
from ackclock.cli import captured
from ackclock.recorded import Recorded
from calling import ENDED, refused, run
from test_captures import A, B, ack, classic, data, packet, syn

PORTS = (40000, 5001)
RTT = 0.1


def opened(window=b"\x01\x03\x03\x00"):
    """A handshake of 100 ms, as the sender sees it. Windows have no scale."""
    first = syn(A, B, PORTS, 0)[:44] + window
    answer = packet(B, A, PORTS[::-1], 0, 1, 60000, 0, b"\x02\x04\x03\xe8" + window)
    answer = answer[:33] + b"\x12" + answer[34:]
    return [(0.0, first), (RTT, answer), (RTT, packet(A, B, PORTS, 1, 1, 60000))]


def recorded(folder, packets):
    """The only direction with data of a capture of these packets behind a handshake."""
    path = classic(folder / "c.pcap", [*opened(), *packets])
    [flow] = connections(path).flows
    return Recorded(flow)


def sack(number, *blocks, window=60000):
    options = pack("!BBBB", 1, 1, 5, 2 + 8 * len(blocks)) + b"".join(pack("!II", *one) for one in blocks)
    return ack(number, window, options)


def test_rtts_are_of_segments_that_were_sent_once(tmp_path):
    packets = [(0.2, data(1)), (0.21, data(1001)), (0.3, ack(1001, 60000)), (0.33, ack(2001, 60000))]
    # The next is sent twice, and acknowledged together with one behind it.
    packets += [(0.4, data(2001)), (0.41, data(3001)), (0.6, data(2001)), (0.7, ack(4001, 60000))]
    packets += [(0.8, data(4001)), (0.95, ack(5001, 60000))]
    one = recorded(tmp_path, packets)
    times, rtts = one.rtt
    assert times.tolist() == pytest.approx([0.3, 0.33, 0.95])
    assert rtts.tolist() == pytest.approx([0.1, 0.12, 0.15])
    assert one.flow.handshake == pytest.approx(RTT)
    assert one.outstanding.tolist() == [1000, 2000, 1000, 2000, 2000, 1000]


def test_sack_blocks_show_rtts_and_the_segments_that_are_missing(tmp_path):
    sent = [(0.2 + 0.001 * k, data(1 + 1000 * k)) for k in range(7)]
    # The second and third segments are lost. The fourth and the fifth come.
    answers = [(0.3, ack(1001, 60000)), (0.303, sack(1001, (3001, 4001))), (0.31, sack(1001, (3001, 5001)))]
    # The copy of the third comes, which is no new segment. The sixth is lost, and its copy comes.
    answers += [(0.32, data(2001)), (0.33, data(5001)), (0.42, sack(1001, (2001, 5001)))]
    answers += [(0.43, sack(1001, (2001, 6001))), (0.44, sack(1001, (2001, 7001)))]
    # A block below the ACK reports a second copy (D-SACK).
    answers += [(0.5, sack(7001, (1, 1001)))]
    times, rtts, missing = recorded(tmp_path, sent + answers).sacked
    assert times.tolist() == pytest.approx([0.303, 0.31, 0.44])
    assert rtts.tolist() == pytest.approx([0.1, 0.106, 0.234])
    assert missing.tolist() == [2, 2, 1]


def test_a_connection_of_one_byte_ends_with_its_ack(tmp_path):
    one = recorded(tmp_path, [(0.2, packet(A, B, PORTS, 1, 1, 60000, 1)), (0.3, ack(2, 60000))])
    assert one.last == pytest.approx(0.3)


def test_a_connection_without_sack_blocks_has_no_rtts_of_them(tmp_path):
    one = recorded(tmp_path, [(0.2, data(1)), (0.3, ack(1001, 60000))])
    assert [column.size for column in one.sacked] == [0, 0, 0]


def test_a_segment_sent_again_at_once_is_fast_and_after_silence_by_a_timer(tmp_path):
    sent = [(0.2 + 0.001 * k, data(1 + 1000 * k)) for k in range(6)]
    # Three duplicates for the second segment, its copy, and an ACK for all but the last.
    duplicates = [
        (0.3, ack(1001, 60000)),
        *((0.302 + 0.001 * k, sack(1001, (2001, 3001 + 1000 * k))) for k in range(3)),
    ]
    fast = [(0.3045, data(1001)), (0.41, ack(5001, 60000))]
    # A timer repeats the last segment, which is the first outstanding, and with backoff again.
    timers = [(0.9, data(5001)), (1.9, data(5001)), (2.0, ack(6001, 60000))]
    one = recorded(tmp_path, sent + duplicates + fast + timers).retransmissions
    assert one.causes.tolist() == ["fast", "timeout", "timeout"]
    assert (one.timers, one.spurious.tolist()) == (2, [False] * 3)


def test_a_timer_repeats_all_that_was_outstanding(tmp_path):
    sent = [(0.2 + 0.001 * k, data(1 + 1000 * k)) for k in range(3)]
    again = [(0.9, data(1)), (1.0, ack(1001, 60000)), (1.0005, data(1001)), (1.0006, data(2001))]
    one = recorded(tmp_path, [*sent, *again, (1.1, ack(3001, 60000))]).retransmissions
    assert (one.causes.tolist(), one.timers) == (["timeout"] * 3, 1)


def test_the_last_of_several_segments_after_silence_is_a_probe(tmp_path):
    sent = [(0.2 + 0.001 * k, data(1 + 1000 * k)) for k in range(3)]
    probe = [(0.45, data(2001)), (0.55, sack(1, (2001, 3001))), (0.5501, data(1)), (0.5502, data(1001))]
    one = recorded(tmp_path, [*sent, *probe, (0.66, ack(3001, 60000))]).retransmissions
    assert (one.causes.tolist(), one.timers) == (["probe", "fast", "fast"], 0)


def test_a_copy_that_the_receiver_did_not_need_is_spurious(tmp_path):
    sent = [(0.2 + 0.001 * k, data(1 + 1000 * k)) for k in range(3)]
    # One copy is reported by a D-SACK, the other leaves after its ACK. A block beyond the ACK is no D-SACK.
    copies = [(0.9, data(1)), (0.95, ack(3001, 60000)), (0.951, data(1001)), (1.0, sack(3001, (1, 1001)))]
    one = recorded(tmp_path, sent + copies).retransmissions
    assert one.spurious.tolist() == [True, True]
    needed = [(0.9, data(1)), (0.95, sack(1001, (2001, 3001))), (0.96, data(1001)), (1.1, ack(3001, 60000))]
    assert recorded(tmp_path, sent + needed).retransmissions.spurious.tolist() == [False, False]


def test_a_gap_that_closes_at_once_was_reordering(tmp_path):
    packets = [(0.2, data(1)), (0.201, data(2001)), (0.202, data(1001)), (0.3, ack(3001, 60000))]
    # This gap closes after two RTTs: its first copy was lost before the capture.
    packets += [(0.4, data(4001)), (0.6, data(3001)), (0.7, ack(5001, 60000))]
    one = recorded(tmp_path, packets)
    assert (one.reordered, one.retransmissions.rows.tolist(), one.missing) == (1, [4], 0)


def test_data_that_the_capture_lacks_is_counted(tmp_path):
    packets = [(0.2, data(1)), (0.21, data(3001)), (0.31, ack(1001, 60000)), (0.32, ack(4001, 60000))]
    one = recorded(tmp_path, packets)
    assert (one.missing, one.retransmissions.rows.size) == (2000, 0)
    assert "2000 bytes of data were acknowledged and are not in the capture" in captured.remarks(one)


def test_a_closed_window_and_its_probes_are_counted(tmp_path):
    packets = [(0.2, data(1)), (0.3, ack(1001, 0)), (0.7, data(1001, 1)), (0.8, ack(1001, 0))]
    packets += [(1.3, ack(1001, 60000)), (1.31, data(1001)), (1.41, ack(2001, 60000)), (9.0, data(2000, 1))]
    one = recorded(tmp_path, packets)
    # A byte beyond the window and a repeated last byte are probes, and no data.
    assert (one.probes, one.data.size, one.retransmissions.rows.size) == (2, 2, 0)
    assert (int(one.zero_windows.sum()), one.closed) == (2, pytest.approx(1.0))
    assert one.limits["receiver"] == pytest.approx(1.0 / 1.21)


def test_windows_have_no_unit_without_the_handshake(tmp_path, capsys):
    path = classic(tmp_path / "c.pcap", [(0.2, data(1)), (0.3, ack(1001, 500)), (0.31, data(1001))])
    status, out, err = run(capsys, "read", path, "--json")
    [one] = json.loads(out)["connections"]
    assert (status, one["receive_window_bytes"], one["handshake_ms"]) == (0, None, None)
    assert "note: 1: the handshake is not in the capture, so receive windows have no unit" in err


# Headers have 40 bytes without options, those of the handshake 48, and the ACK with a SACK block 52.
CUTS = [(30, 8), (36, 8), (40, 3), (47, 3), (48, 1), (51, 1), (52, 0), (96, 0)]


@pytest.mark.parametrize(("most", "cut"), CUTS)
def test_a_capture_of_some_bytes_of_each_packet_says_what_it_lacks(tmp_path, capsys, most, cut):
    scale = b"\x01\x03\x03\x07"
    packets = [*opened(scale), (0.2, data(1)), (0.201, data(1001)), (0.202, data(2001))]
    packets += [(0.3, sack(1001, (2001, 3001))), (0.301, data(3001))]
    path = classic(tmp_path / "c.pcap", packets, most=most)
    status, out, err = run(capsys, "read", path, "--json")
    assert (f"cuts {cut} TCP headers at {most} bytes" in err) == bool(cut)
    if most < 36:
        assert (status, "no TCP connection with data" in err) == (2, True)
        return
    [one] = json.loads(out)["connections"]
    # The receiver has the third segment, and 60000 bytes of window in units of 128.
    assert one["outstanding_bytes"]["max"] == 3000
    last = Recorded(connections(path).flows[0]).outstanding[-1]
    assert last == (3000 if most < 52 else 2000)
    window = None if most < 48 else 60000 * 128
    assert (one["receive_window_bytes"] or {"max": None})["max"] == window
    assert ("the options of the handshake are not in the capture" in err) == (most < 48)


def test_bursts_are_segments_between_two_acks(tmp_path):
    packets = [(0.2 + 0.001 * k, data(1 + 1000 * k)) for k in range(4)]
    packets += [(0.3, ack(2001, 60000)), (0.301, data(4001, 3000)), (0.302, ack(4001, 60000))]
    one = recorded(tmp_path, packets)
    # The card of the sender will cut 3000 bytes into three segments.
    assert (one.segment, one.bursts.tolist(), one.first_window) == (1000, [4, 3], 4000)


SCENARIO = """
duration = "10s"
path = { rate = "RATE", rtt = "40ms", queue = "5000p" }
flows = [{ cc = "cubic", REST }]
"""


@pytest.mark.parametrize(
    ("limit", "rate", "rest", "column"),
    [
        ("receiver", "100mbit", "transport = { receive_window = 60 }", "rwnd_limited_us"),
        ("sender", "1gbit", 'transport = { send_buffer = "64KiB" }', "sndbuf_limited_us"),
        ("application", "100mbit", 'source = { rate = "5mbit" }', "app_limited_us"),
        ("application", "100mbit", 'source = { rate = "20mbit", on = "1s", off = "2s" }', "app_limited_us"),
        ("network", "20mbit", "", "busy_us"),
    ],
)
def test_the_limit_is_the_one_of_the_simulated_sender(tmp_path, capsys, limit, rate, rest, column):
    (tmp_path / "s.toml").write_text(
        SCENARIO.replace("RATE", rate).replace(", REST", f", {rest}" if rest else "")
    )
    run(capsys, "run", tmp_path / "s.toml", "--pcap", tmp_path / "c.pcapng")
    truth = ackclock.simulate(tmp_path / "s.toml").flows[column][0].as_py() / 1e7
    [flow] = connections(tmp_path / "c.pcapng").flows
    limits = Recorded(flow).limits
    assert sum(limits.values()) == pytest.approx(1.0)
    assert max(limits, key=limits.get) == limit
    assert limits[limit] == pytest.approx(truth, abs=0.1)


def test_timers_are_those_of_the_simulated_sender(tmp_path, capsys):
    (tmp_path / "s.toml").write_text(
        'duration = "30s"\nprofile = "real-1992"\nflows = [{ cc = "cubic" }]\n'
        'path = { rate = "10mbit", rtt = "40ms", queue = "20p", loss = "6%" }\n'
    )
    run(capsys, "run", tmp_path / "s.toml", "--pcap", tmp_path / "c.pcapng")
    flows = ackclock.simulate(tmp_path / "s.toml").flows
    [flow] = connections(tmp_path / "c.pcapng").flows
    seen = Recorded(flow).retransmissions
    assert seen.rows.size == flows["retransmitted_packets"][0].as_py() > 100
    assert seen.timers == flows["timeouts"][0].as_py() > 10


FIELDS = ("frame.number", "ip.src", "tcp.len", "tcp.analysis.retransmission", "tcp.analysis.out_of_order",
          "tcp.analysis.ack_rtt", "tcp.analysis.bytes_in_flight", "tcp.analysis.initial_rtt",
          "tcp.analysis.zero_window")  # fmt: skip


def compare_with_tshark(path):
    """Compares each connection with Wireshark's analysis. Returns the segments that were sent again."""
    fields = [part for name in FIELDS for part in ("-e", name)]
    command = ["tshark", "-r", str(path), "-Y", "tcp", "-T", "fields", *fields]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    rows = [dict(zip(FIELDS, line.split("\t"), strict=True)) for line in lines]
    again = 0
    for flow in connections(path).flows:
        one, host = Recorded(flow), flow.sender.rpartition(":")[0]
        own = [row for row in rows if row["ip.src"] == host]
        back = [row for row in rows if row["ip.src"] == flow.receiver.rpartition(":")[0]]
        # It takes what comes soon after new data for reordered. At a sender that is a retransmission.
        counted = [
            row for row in own
            if row["tcp.len"] != "0" and (row[FIELDS[3]] or row[FIELDS[4]])
        ]  # fmt: skip
        assert one.retransmissions.rows.size + one.reordered == len(counted)
        assert int(one.outstanding.max()) == max(int(row[FIELDS[6]] or 0) for row in own)
        assert int(one.zero_windows.sum()) == sum(bool(row["tcp.analysis.zero_window"]) for row in back)
        [initial] = {row["tcp.analysis.initial_rtt"] for row in own} - {""}
        assert flow.handshake == pytest.approx(float(initial), abs=2e-9)
        times, rtts = one.rtt
        numbers = flow.answers["packet"][np.searchsorted(flow.answers["time"], times)] + 1
        theirs = {int(row["frame.number"]): float(row[FIELDS[5]]) for row in back if row[FIELDS[5]]}
        common = [(rtt, theirs[number]) for number, rtt in zip(numbers.tolist(), rtts.tolist(), strict=True)]
        # It has samples of segments that were sent twice, too.
        assert len(common) >= 0.85 * len(theirs) > 0
        assert all(ours == pytest.approx(other, abs=2e-9) for ours, other in common)
        again += len(counted)
    return again


needs_tshark = pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")


@needs_tshark
@pytest.mark.parametrize(
    "options",
    [
        ("cubic", "--loss", "1%"),
        ("bbr1", "--queue", "0.5bdp"),
        ("newreno", "--profile", "real-1992", "--loss", "3%"),
        ("cubic", "--set", "flows.*.transport.receive_window=20"),
    ],
)
def test_wireshark_counts_the_same_in_a_simulated_capture(tmp_path, capsys, options):
    path = tmp_path / "c.pcapng"
    status, _, err = run(capsys, "compare", *options, "--duration", "8s", "--pcap", path)
    assert status == 0, err
    assert compare_with_tshark(path) > 0 or "flows.*.transport.receive_window=20" in options


@needs_tshark
@pytest.mark.usefixtures("live")
def test_wireshark_counts_the_same_in_a_live_capture(tmp_path, capsys):
    path, file = tmp_path / "c.pcapng", tmp_path / "s.toml"
    file.write_text(
        'duration = "3s"\nflows = [{ cc = "cubic" }]\n'
        'path = { rate = "20mbit", rtt = "50ms", queue = "60p", loss = "1%" }\n'
    )
    assert run(capsys, "run", file, "--live", "--pcap", path)[0] in ENDED
    assert compare_with_tshark(path) > 0


def test_a_page_has_the_tables_and_figures_of_the_largest_connections(tmp_path, capsys):
    path = tmp_path / "c.pcapng"
    run(capsys, "compare", "cubic", "--flows", "2", "--loss", "1%", "--duration", "4s", "--pcap", path)
    status, out, _ = run(capsys, "read", path, "--out", tmp_path / "page", "--also", "svg")
    page = (tmp_path / "page/index.html").read_text()
    assert (status, "10.0.0.1:49152 > 10.128.0.1:5001" in out) == (0, True)
    for number in (1, 2):
        for kind in ("sequence", "outstanding", "rtt", "throughput"):
            for ending in ("png", "svg"):
                assert (tmp_path / f"page/connection-{number}-{kind}.{ending}").stat().st_size > 1000
    assert "cannot be drawn" not in page
    assert page.count("Time-sequence graph") == 2
    found = json.loads((tmp_path / "page/connections.json").read_text())["connections"]
    assert [one["sender"] for one in found] == ["10.0.0.1:49152", "10.0.0.2:49152"]
    # Over time, and in sum, the same bytes.
    for one in found:
        width = one["duration_s"] / len(one["over_time"]["time_s"])
        assert sum(one["over_time"]["throughput_bps"]) * width / 8 == pytest.approx(one["data_bytes"])


def test_options_of_losses_are_refused_without_it(tmp_path, capsys):
    path = classic(tmp_path / "c.pcap", [(0.2, data(1))])
    assert (
        refused(capsys, "read", path, "--rate", "1mbit")
        == "--rate: has no effect on a capture without --losses"
    )
    assert refused(capsys, "read", path, "--losses", "--out", "x") == "--out: has no effect on --losses"


@settings(max_examples=200)
@given(st.data())
def test_no_segments_end_in_anything_but_numbers(tmp_path_factory, draw):
    def segment():
        place = draw.draw(
            st.sampled_from([1, 1001, 2001, 3001, 2**31, 2**32 - 500]) | st.integers(0, 2**32 - 1)
        )
        if draw.draw(st.booleans()):
            return data(place, draw.draw(st.sampled_from([0, 1, 500, 1000])))
        low = draw.draw(st.sampled_from([1, 1001, 2001, 2**32 - 1]))
        return sack(place, (low, (low + 1000) % 2**32), window=draw.draw(st.sampled_from([0, 1, 60000])))

    count = draw.draw(st.integers(1, 30))
    packets = [
        (0.2 + draw.draw(st.sampled_from([0.0, 0.001, 0.1, 1.0])) * k, segment()) for k in range(count)
    ]
    whole = [*opened(), *packets] if draw.draw(st.booleans()) else packets
    folder = tmp_path_factory.mktemp("segments")
    for flow in connections(classic(folder / "c.pcap", whole)).flows:
        one = captured.summary(Recorded(flow))
        json.dumps(one, allow_nan=False)
        assert sum(one["limited_by"].values()) == pytest.approx(1.0) or not one["duration_s"]
        assert captured._tables([one])
