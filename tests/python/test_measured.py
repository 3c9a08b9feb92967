"""`ackclock read` of measurements by other tools: iperf3, Flent and ss, also beside simulations."""

import gzip
import json
import re

import pytest

import ackclock
from ackclock import measured
from calling import refused, run

ROWS = [
    {"socket": 5, "start": 0, "end": 1.0, "bytes": 1e6, "retransmits": 2, "snd_cwnd": 40000, "rtt": 30000},
    {"socket": 5, "start": 1, "end": 2.0, "bytes": 3e6, "retransmits": 0, "snd_cwnd": 20000, "rtt": 50000},
]
INTERVALS = [{"streams": [row], "sum": {}} for row in ROWS]
IPERF3 = {"start": {"test_start": {"protocol": "TCP"}}, "intervals": INTERVALS, "end": {}}
EVENTS = [
    {"event": "start", "data": IPERF3["start"]},
    *({"event": "interval", "data": one} for one in INTERVALS),
    {"event": "end", "data": {}},
]
BLOCK = """{time}
State  Recv-Q Send-Q Local Address:Port Peer Address:Port
{state} 0 12 10.0.0.1:5201 [2001:db8::1]:4242
\t cubic wscale:7,7 rto:204 rtt:{rtt}/1.5 mss:1000 cwnd:{cwnd} ssthresh:7 bytes_sent:{sent} \
bytes_retrans:0 bytes_acked:1 segs_out:9 send 3Mbps pacing_rate 2.5Mbps retrans:0/{again} unacked:4 minrtt:2
"""


def sockets(state="ESTAB"):
    """Three calls of ``ss``: 2 MB are sent between them, and 3 segments sent again."""
    values = (
        (1700000000.5, 10, 3, 5000000, 7),
        (1700000001.5, 20, 4, 6000000, 7),
        (1700000003.5, 15, 5, 7000000, 10),
    )
    keys = ("time", "cwnd", "rtt", "sent", "again")
    return "".join(BLOCK.format(state=state, **dict(zip(keys, one, strict=True))) for one in values)


def only(path):
    (log,) = measured.read(path).traces
    return log


@pytest.mark.parametrize("text", [json.dumps(IPERF3), "".join(f"{json.dumps(one)}\n" for one in EVENTS)])
def test_intervals_of_iperf3_are_samples(tmp_path, capsys, text):
    path = tmp_path / "iperf.json"
    path.write_text(text)
    log = only(path)
    assert (log.times.tolist(), log.sent_bytes.tolist()) == ([1.0, 2.0], [1e6, 3e6])
    assert log.metrics["congestion_window"].tolist() == [40000, 20000]
    assert log.metrics["smoothed_rtt"].tolist() == pytest.approx([0.03, 0.05])
    assert log.lost.tolist() == [1.0, 1.0]
    status, out, _ = run(capsys, "read", path, "--json", "--out", tmp_path / "page")
    [one] = json.loads(out)["logs"]
    # 4 MB in 2 s.
    assert (status, one["throughput_bps"], one["lost_packets"], one["rtt_ms"]["max"]) == (0, 16e6, 2, 50.0)
    assert (tmp_path / "page" / "throughput.png").exists()


def test_omitted_intervals_are_left_out(tmp_path):
    path = tmp_path / "iperf.json"
    omitted = {"streams": [{**ROWS[0], "omitted": True}]}
    path.write_text(json.dumps(IPERF3 | {"intervals": [omitted, *INTERVALS]}))
    assert only(path).sent_bytes.tolist() == [1e6, 3e6]


def test_runs_that_iperf3_appended_are_apart(tmp_path):
    path = tmp_path / "iperf.json"
    path.write_text("\n".join([json.dumps(IPERF3), json.dumps(IPERF3, indent=2), ""]))
    logs = measured.read(path).traces
    assert [log.title for log in logs] == ["run 1, stream 1", "run 2, stream 1"]
    assert [log.sent_bytes.tolist() for log in logs] == [[1e6, 3e6]] * 2


LIMITED = "busy:{busy}ms rwnd_limited:{limited}ms(50.0%) "


def test_ss_says_which_buffer_limits_a_connection(tmp_path, capsys):
    calls = sockets()
    for busy, limited in ((1000, 100), (2000, 600), (3000, 1000)):
        calls = calls.replace("send 3Mbps", LIMITED.format(busy=busy, limited=limited) + "send 3_Mbps", 1)
    path = tmp_path / "ss.log"
    path.write_text(calls)
    # 900 of the 2000 ms between the first call and the last.
    assert only(path).limits == {"receiver": 0.45, "sender": 0.0}
    assert "receiver 45 %" in run(capsys, "read", path)[1]
    # One call alone, as it is pasted, counts from the opening of the connection, and needs no time.
    path.write_text("".join(re.sub(r"17\d+\.5", "", calls).partition("minrtt:2")[:2]))
    status, out, _ = run(capsys, "read", path, "--json", "--out", tmp_path / "page")
    [one] = json.loads(out)["logs"]
    assert (status, one["limited_by"], one["duration_s"]) == (0, {"receiver": 0.1, "sender": 0.0}, 0.0)
    # One value draws no curve.
    assert list((tmp_path / "page").glob("*.png")) == []
    path.write_text(sockets())
    assert "limited by" not in run(capsys, "read", path)[1]


PINGS = {
    "linux": (
        """PING 10.0.0.1 (10.0.0.1) 56(84) bytes of data.
64 bytes from 10.0.0.1: icmp_seq=1 ttl=57 time=12.5 ms
no answer yet for icmp_seq=2
64 bytes from 10.0.0.1: icmp_seq=3 ttl=57 time=88 ms
64 bytes from 10.0.0.1: icmp_seq=3 ttl=57 time=99 ms (DUP!)

--- 10.0.0.1 ping statistics ---
4 packets transmitted, 2 received, 50% packet loss, time 600ms
""",
        [0.0, 0.4],
        [0.2, 0.6],
    ),
    "with times": (
        """PING 10.0.0.1 (10.0.0.1) 56(84) bytes of data.
[1714557600.100] 64 bytes from 10.0.0.1: icmp_seq=7 ttl=57 time=12.5 ms
[1714557600.600] 64 bytes from 10.0.0.1: icmp_seq=8 ttl=57 time=88 ms
""",
        [0.0, 0.5],
        [],
    ),
    "busybox": (
        """PING 10.0.0.1 (10.0.0.1): 56 data bytes
64 bytes from 10.0.0.1: seq=0 ttl=57 time=12.5 ms
64 bytes from 10.0.0.1: seq=1 ttl=57 time=88.0 ms
""",
        [0.0, 1.0],
        [],
    ),
    "Windows": (
        """
Pinging 10.0.0.1 with 32 bytes of data:
Reply from 10.0.0.1: bytes=32 time=12,5ms TTL=57
Request timed out.
Reply from 10.0.0.1: bytes=32 time=88ms TTL=57
""",
        [0.0, 2.0],
        [1.0],
    ),
}


@pytest.mark.parametrize("of", PINGS)
def test_pings_are_round_trip_times(tmp_path, capsys, of):
    text, times, lost = PINGS[of]
    path = tmp_path / "ping.txt"
    path.write_text(text)
    log = only(path)
    assert log.times.tolist() == pytest.approx(times)
    assert log.metrics["latest_rtt"].tolist() == pytest.approx([0.0125, 0.088])
    assert log.lost.tolist() == pytest.approx(lost)
    assert run(capsys, "read", path, "--out", tmp_path / "page")[0] == 0
    assert (tmp_path / "page" / "rtt.png").exists()


@pytest.mark.parametrize("state", ["ESTAB", ""])
def test_calls_of_ss_are_samples(tmp_path, capsys, state):
    path = tmp_path / "ss.log"
    path.write_text(sockets(state))
    log = only(path)
    assert log.title == "10.0.0.1:5201 to [2001:db8::1]:4242"
    assert (log.times.tolist(), log.sent_bytes.tolist()) == ([0.0, 1.0, 3.0], [0.0, 1e6, 1e6])
    assert log.metrics["congestion_window"].tolist() == [10000, 20000, 15000]
    assert log.metrics["bytes_in_flight"].tolist() == [4000] * 3
    assert log.metrics["smoothed_rtt"].tolist() == pytest.approx([0.003, 0.004, 0.005])
    assert log.metrics["pacing_rate"].tolist() == [2.5e6] * 3
    assert log.lost.tolist() == [3.0] * 3
    assert run(capsys, "read", path)[0] == 0


def test_flent_s_files_have_rates_windows_and_pings(tmp_path):
    path = tmp_path / "a.flent.gz"
    raw = [{"t": 946684801.0, "tcp_cwnd": 10, "tcp_rtt": 20.0}, {"t": 946684802.0, "val": 3.0}]
    document = {
        "x_values": [1.0, 2.0, 3.0],
        "results": {
            "TCP upload::1": [8.0, None, 4.0],
            "TCP upload sum": [8.0, 0.0, 4.0],
            "Ping (ms) ICMP": [None, 30.0, 40.0],
        },
        "raw_values": {"TCP upload::1": raw},
        "metadata": {"T0": "2000-01-01T00:00:00.000000Z"},
    }
    path.write_bytes(gzip.compress(json.dumps(document).encode()))
    upload, ping = measured.read(path).traces
    # 8 Mbit/s for the second before 1 s, and 4 for the two before 3 s.
    assert (upload.sent.tolist(), upload.sent_bytes.tolist()) == ([1.0, 3.0], [1e6, 1e6])
    assert (upload.times.tolist(), upload.metrics["congestion_window"].tolist()) == ([1.0], [14480])
    assert (ping.title, ping.metrics["latest_rtt"].tolist()) == ("Ping (ms) ICMP", [0.03, 0.04])


@pytest.mark.parametrize(("to", "ending"), [("iperf3", "iperf3.json"), ("flent", "flent.gz")])
def test_what_is_exported_is_read_again_beside_its_run(tmp_path, capsys, to, ending):
    simulated = tmp_path / "simulated"
    assert run(capsys, "compare", "cubic", "--duration", "10s", "--rate", "8mbit", "--out", simulated)[0] == 0
    assert run(capsys, "read", simulated, "--to", to, "--out", tmp_path)[0] == 0
    file = tmp_path / f"cubic-seed-1.{ending}"
    status, out, _ = run(capsys, "read", file, simulated, "--json", "--out", tmp_path / "both")
    rows = json.loads(out)["logs"]
    (flow,) = ackclock.Run.load(simulated).flows.to_pylist()
    assert status == 0
    sent = [one["throughput_bps"] for one in rows if one["sent_packets"]]
    assert sent == pytest.approx([flow["goodput_bps"]] * len(sent), rel=0.08)
    windows = [one["window_bytes"]["max"] for one in rows if one["window_bytes"]]
    assert len(windows) == 2
    assert windows[0] == pytest.approx(windows[1], rel=0.15)


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        (
            "a.json",
            b'{"start": {}, "intervals": [], "error": "unable to connect"}',
            "iperf3 ended with an error",
        ),
        (
            "a.json",
            b'{"test_start": 1, "intervals": [{"streams": [{"socket": 5}]}]}',
            "has no `end` or no `bytes`",
        ),
        ("a.json", b'{"test_start": 1}', "has no stream of a sender"),
        (
            "a.json",
            b'{"event": "start", "data": {}}\nnothing\n',
            "line 2: is neither JSON nor an event of iperf3",
        ),
        ("a.flent.gz", gzip.compress(b"x" * 1000, mtime=0)[:20], "is no whole file of gzip"),
        ("a.flent.gz", gzip.compress(b'{"x_values": []}', mtime=0), "it has no object `results`"),
        ("a.pcap.gz", gzip.compress(b"\xd4\xc3\xb2\xa1\x02", mtime=0), "a capture is read unpacked"),
        ("ss.log", re.sub(r"17\d+\.5", "", sockets()).encode(), "ss prints no time: log it as"),
        ("a.json", json.dumps(IPERF3)[:-20].encode(), "ends within an object of JSON"),
        ("a.json", b'{"download": {"bandwidth": 1}, "type": "result"}', "is JSON, and no log of a kind"),
        ("iperf3.txt", b"[ ID] Interval   Transfer\n[  5] 0.00-1.00 sec\n", "`iperf3 --json` writes one"),
        ("mtr.txt", b"HOST: lab   Loss%   Snt\n  1.|-- 10.0.0.1  0.0%\n", "is text, and no log of a kind"),
    ],
)
def test_a_file_of_no_measurement_is_one_sentence(tmp_path, capsys, name, content, why):
    path = tmp_path / name
    path.write_bytes(content)
    said = refused(capsys, "read", path)
    assert said.startswith(f"{path}: ")
    assert why in said


def test_what_is_sent_counts_in_the_bin_that_it_ends():
    from ackclock.cli.logs import _bin, _sent

    log = measured._log(None, "", [(4.0, {})], [(1.0, 1e6), (2.0, 2e6), (3.0, 0.0), (4.0, 1e6)], [])
    times, rates = _sent(log, _bin([log]))
    assert (times.tolist(), rates.tolist()) == ([1.0, 2.0, 3.0, 4.0], [8e6, 16e6, 0.0, 8e6])
    # Bins are whole numbers of reports: 2 s for 1.6 s beside a log with longer gaps.
    slower = measured._log(None, "", [(4.0, {})], [(1.6, 1e6), (3.2, 1e6)], [])
    assert _bin([log, slower]) == 1.6
    times, rates = _sent(log, 1.6)
    assert (times.tolist(), rates.tolist()) == ([2.0, 4.0], [12e6, 4e6])
