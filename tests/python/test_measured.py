"""`ackclock read` of measurements by other tools: iperf3, Flent and ss, also beside simulations."""

import gzip
import json

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
        ("ss.log", sockets().replace("1700000000.5", "").encode(), "ss prints no time: log it as"),
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
