"""Linux as a witness: readings of the kernel, the simulation, and the tables of both."""

import json
import shutil
import struct
import subprocess
from types import SimpleNamespace

import pytest

import ackclock
from witness import disciplines, modules, peers, scream, webrtc
from witness.__main__ import main


def test_marks_are_found_where_each_discipline_counts_them() -> None:
    shaper = {"kind": "tbf", "handle": "1:", "packets": 9, "drops": 9}
    codel = {"kind": "codel", "handle": "2:", "packets": 7, "drops": 2, "ecn_mark": 3}
    red = {"kind": "red", "handle": "2:", "packets": 7, "drops": 2, "marked": 4}
    tins = [{"ecn_mark": 5, "drops": 2}]
    cake = {"kind": "cake", "handle": "2:", "packets": 7, "drops": 2, "tins": tins}
    assert disciplines.counters([shaper, codel]) == (7, 2, 3)
    assert disciplines.counters([shaper, red]) == (7, 2, 4)
    assert disciplines.counters([cake]) == (7, 2, 5)


def test_the_marks_of_dualpi2_are_in_the_seventh_word() -> None:
    # TCA_KIND (1) is 8 bytes with its zero and the head of 4, so 12. TCA_XSTATS (4) has twelve words.
    kind = struct.pack("=HH8s", 12, 1, b"dualpi2")
    counted = struct.pack("=HH12I", 52, 4, *range(100, 112))
    # One of 6 bytes is followed by two that do not count.
    odd = struct.pack("=HH2sxx", 6, 9, b"xy")
    found = peers.attributes(odd + kind + counted)
    assert found[1] == b"dualpi2\0"
    assert found[9] == b"xy"
    assert peers.MARKED.unpack_from(found[4]) == (106,)


def test_simulated_queues_drop_bursts_as_behind_a_token_bucket() -> None:
    # Linux 6.18, tbf with a burst of 1500 and pfifo with a limit of 8: 11 of 20 packets dropped.
    # There the application wrote when the ACK of the SYN-ACK had left the queue. Here it would be in it.
    options = {"initial_window": 20, "segmentation_offload": False, "handshake": False}
    flow = {"cc": "newreno", "transport": options}
    path = {"rate": "10mbit", "rtt": "20ms", "queue": "8p"}
    run = ackclock.simulate(
        ackclock.Scenario.from_document({"duration": "30ms", "path": path, "flows": [flow]})
    )
    [link] = run.links.to_pylist()
    assert link["dropped_packets"] == 11


def test_the_same_load_is_simulated() -> None:
    # In 2 s 2083 or 2084 datagrams of 1500 bytes come at 12.5 Mbit/s and 1667 leave at 10: the excess fills a
    # queue of 50, and the rest is dropped.
    load = disciplines.Load("datagrams", datagrams="12.5mbit")
    [reading] = disciplines.simulated(disciplines.DISCIPLINES["pfifo"], load, 2.0, 1)
    assert abs(reading.sent - 1667) <= 2
    assert abs(reading.dropped - (2083.5 - 1667 - 50)) <= 3
    assert reading.marked == 0


def test_the_delay_of_flows_is_that_of_the_smoothed_rtt() -> None:
    # An ACK covers two segments, of which the first arrived 1.2 ms earlier. It counts for the smoothed RTT,
    # which is read from the kernel, and the second for the mean of the RTTs. Ends of trains would be
    # acknowledged at once, also alone: but segments leave one by one, as the kernel's device takes them.
    load, queue = disciplines.Load("1 flow", flows=1), disciplines.DISCIPLINES["pfifo"]
    document = disciplines.scenario(queue, load, 20.0)
    run = ackclock.simulate(ackclock.Scenario.from_document(document))
    [flow] = run.flows.to_pylist()
    apart = disciplines.delay_of_flows(run) + 41.2 - flow["rtt_mean_ms"]
    assert 1.1 < apart < 1.3, apart


def test_several_runs_are_told_by_mean_and_deviation() -> None:
    # 1 and 3: 2, and each is 1 off, so that the deviation of two is the root of 2.
    assert disciplines.spread([1.0, 3.0], 1) == "2.0 ± 1.4"
    assert disciplines.spread([17.0], 0) == "17"


def test_two_runs_with_one_seed_start_their_flows_alike() -> None:
    # Within 20 ms, as the simulated ones: both ends of the comparison draw from the same range.
    document = disciplines.scenario(disciplines.DISCIPLINES["red"], disciplines.LOADS[2], 20.0)
    assert {flow["start_jitter"] for flow in document["flows"]} == {"20ms"}
    drawn = [peers.offsets(4, 0.02, seed) for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert all(0 <= offset <= 0.02 for offset in drawn[0])


def test_a_flow_is_measured_after_slow_start() -> None:
    # From 5 s to 7 s 2.5 MB are acknowledged: 10 Mbit/s. The window of the first second does not count.
    rows = [(0.0, 999.0, 999.0, 9.0, 0.0), (5.0, 30.0, 50.0, 10.0, 1e6), (7.0, 40.0, 60.0, 14.0, 3.5e6)]
    assert modules.summary(rows) == {"goodput": 10.0, "rtt": 55.0, "window": 35.0, "retransmitted": 4.0}


def test_modules_are_compared_from_a_file(tmp_path, capsys) -> None:
    flow = {"goodput": 9.61, "rtt": 55.0, "window": 45.0, "retransmitted": 12.0}
    survey = tmp_path / "modules.json"
    survey.write_text(json.dumps({"kernel": "7.2", "seconds": 10.0, "loss": 0.0, "flows": {"reno": flow}}))
    main(["modules", "--from", str(survey), "--seeds", "1"])
    heading, _, *table = capsys.readouterr().out.splitlines()
    assert heading == "Simulated (mean of 1 seeds) / Linux 7.2, 10 s"
    _, controller, goodput, *_ = (cell.strip() for cell in table[2].split("|"))
    assert controller == "`newreno`"
    ours, theirs = goodput.split(" / ")
    # 10 Mbit/s carry 9.65 Mbit/s of payload.
    assert 9.0 < float(ours) < 9.66
    assert theirs == "9.61"


def test_disciplines_are_compared_from_a_file(tmp_path, capsys) -> None:
    reading = {"sent": 1667, "dropped": 366, "marked": 0, "delay_ms": 59.0}
    cells = [{"discipline": name, "load": "datagrams at 12.5mbit", **reading} for name in ("pfifo", "pie")]
    survey = tmp_path / "kernel.json"
    survey.write_text(json.dumps({"kernel": "7.2", "seconds": 2.0, "readings": cells}))
    main(["disciplines", "--from", str(survey), "--only", "pfifo", "--seeds", "1"])
    _, _, _, _, *rows = capsys.readouterr().out.splitlines()
    assert len(rows) == 1
    _, discipline, load, dropped, marked, _, _ = (cell.strip() for cell in rows[0].split("|"))
    assert (discipline, load, marked) == ("`pfifo`", "datagrams at 12.5mbit", "0 / 0")
    assert dropped.endswith(" / 366")


def test_a_survey_is_written_after_each_measurement(tmp_path, capsys, monkeypatch) -> None:
    file = tmp_path / "found.json"
    written = []

    def survey(chosen):
        for number in (1, 2):
            yield {"kernel": "7.2", "runs": chosen.runs, "measured": number}
            written.append(json.loads(file.read_text())["measured"])

    monkeypatch.setattr(modules, "survey", survey)
    main(["modules", "--runs", "3", "--to", str(file)])
    assert written == [1, 2]
    assert json.loads(file.read_text())["runs"] == 3
    assert capsys.readouterr().out == ""


def test_a_survey_is_either_written_or_read(capsys) -> None:
    with pytest.raises(SystemExit):
        main(["modules", "--to", "a", "--from", "b"])
    assert "not allowed with" in capsys.readouterr().err


def test_a_simulated_queue_has_the_settings_of_tc_beside_its_own() -> None:
    cake, pie = disciplines.DISCIPLINES["cake ack-filter"], disciplines.DISCIPLINES["pie"]
    assert cake.queue == {"discipline": "cake", "ack_filter": "ack-filter"}
    assert pie.queue == {"discipline": "pie", "ecn": True, "tupdate": "20ms"}
    assert disciplines.DISCIPLINES["pfifo"].queue == {"limit": "50p"}
    assert disciplines.DISCIPLINES["red"].queue["bandwidth"] == disciplines.RATE


class Doubling:
    """Stands for aiortc's estimator: twice the first rate from the second packet on."""

    def __init__(self):
        self.seen = []

    def add(self, *packet):
        self.seen.append(packet)
        return None if len(self.seen) < 2 else (600_000, [1])


def test_an_estimator_of_rates_gets_the_times_of_each_packet(monkeypatch):
    made = []

    def module(name):
        assert name == "aiortc.rate"
        made.append(Doubling())
        return SimpleNamespace(RemoteBitrateEstimator=lambda: made[-1])

    monkeypatch.setattr(webrtc, "import_module", module)
    path = {"rate": "2mbit", "rtt": "100ms", "queue": "300ms"}
    flow = ackclock.Flow(webrtc.Estimator, name="call", kind="media")
    rates = [float(rate) for rate in webrtc.row(path, flow)[:4]]
    # The goodput of each interval is twice 300 kbit/s, as the window does not limit it.
    assert rates == pytest.approx([0.6] * 4, rel=0.05)
    arrived_ms, left, payload, _ = made[-1].seen[0]
    # The first packet leaves at 0 and takes 50 ms and its 1500 bytes at 2 Mbit/s, 6 ms, at most.
    assert (left, 50 <= arrived_ms <= 56, payload > 500) == (0, True, True)
    # 18 bits of a second, modulo 64 s.
    second = made[-1].seen[-1]
    assert second[1] == pytest.approx((second[0] / 1e3 - 0.055) % 64 * 2**18, abs=0.03 * 2**18)


def test_a_call_of_str0m_counts_the_frames_that_its_receiver_hands_out(tmp_path):
    frames = [[20.0, 2_000_000], [39.9, 500_000], [40.0, 9], [55.0, 125_000]]
    found = json.dumps({"calls": [frames], "queue_p95_ms": 21.4})
    binary = tmp_path / "calls"
    binary.write_text(f"#!/bin/sh\necho '{found}'\n")
    binary.chmod(0o755)
    # 2.5 MB in 20 s are 1 Mbit/s, and 125 kB in 10 s 0.1.
    assert webrtc.called({}, binary, {}) == ["1.00", "0.10", "0.00", "0.00", "21"]


STR0M = webrtc.TARGET / "release" / "str0m-witness"


@pytest.mark.skipif(not STR0M.exists(), reason="needs PYTHONPATH=tools python -m witness.webrtc str0m, once")
def test_calls_of_str0m_run_over_our_links(tmp_path):
    file = tmp_path / "call.json"
    path = {"rate": "2mbit", "rtt": "100ms", "queue": "300ms"}
    calls = {"cc": "gcc", "kind": "media", "count": 2}
    file.write_text(json.dumps({"duration": "20s", "path": path, "flows": [calls]}))
    done = subprocess.run([STR0M, file], stdout=subprocess.PIPE, text=True, check=True)
    first, second = json.loads(done.stdout)["calls"]
    # ICE and DTLS take several round trips. Two calls have at most what the link carries.
    assert min(first[0][0], second[0][0]) > 0.3
    assert 0.5e6 < 8 * sum(size for at, size in first + second if at > 10) / 10 < 2e6


def test_a_witness_that_is_not_there_is_refused(capsys):
    with pytest.raises(SystemExit):
        webrtc.main(["pion"])
    assert "`pion` is no witness; there are aiortc and str0m" in capsys.readouterr().err


def test_lines_of_ericssons_log_are_times_delays_and_rates():
    log = "4.9503   0.010, 0.030,  17389,  26920,   3810, 0, 0.013,   4032,   3878,   3810,\nStart!\n"
    assert scream.read(log) == [(4.9503, 10.0, 3.81)]


@pytest.mark.skipif(shutil.which("c++") is None, reason="needs a C++ compiler (Debian: apt install g++)")
def test_a_folder_without_ericssons_simulator_is_refused(tmp_path):
    with pytest.raises(SystemExit, match="is no checkout of EricssonResearch/scream"):
        scream.built(tmp_path / "nothing", tmp_path, True)
    for folder in ("code", "traces"):
        (tmp_path / "other" / folder).mkdir(parents=True)
    (tmp_path / "other" / "code" / "scream_simulator.cpp").write_text("int main() {}")
    with pytest.raises(SystemExit, match="has no `void"):
        scream.built(tmp_path / "other", tmp_path, True)
