"""Exports open in the tools that they are for, with the numbers of the run."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ackclock import Run
from calling import SCENARIO, refused, run

FLENT = shutil.which("flent", path=Path(sys.executable).parent)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """The folder of two controllers, ten seconds on 5 Mbit/s."""
    from ackclock.cli import main

    out = tmp_path_factory.mktemp("exports") / "results"
    path = ["--rate", "5mbit", "--rtt", "20ms", "--queue", "1bdp", "--duration", "10s"]
    assert main(["compare", "cubic", "cdg", *path, "--out", str(out)]) == 0
    return out


def exported(capsys, results, tmp_path, to):
    status, _, err = run(capsys, "read", results, "--to", to, "--out", tmp_path)
    assert status == 0, err
    return sorted(tmp_path.iterdir())


def goodput(results, name):
    return Run.load(results / f"{name}-seed-1").flows["goodput_bps"][0].as_py()


@pytest.mark.skipif(FLENT is None, reason="needs flent (python -m pip install flent)")
def test_flent_opens_a_run(capsys, results, tmp_path):
    _, cubic = exported(capsys, results, tmp_path, "flent")
    shown = subprocess.run(
        [FLENT, "-f", "summary", "-i", cubic], capture_output=True, text=True, check=True, timeout=120
    ).stdout
    row = next(line for line in shown.splitlines() if "TCP upload::1" in line)
    mean = next(float(word) for word in row.split(":")[-1].split() if word.replace(".", "", 1).isdigit())
    assert mean == pytest.approx(goodput(results, "cubic") / 1e6, rel=0.02)


@pytest.mark.skipif(FLENT is None, reason="needs flent (python -m pip install flent)")
@pytest.mark.parametrize(
    ("plot", "key"), [("tcp_cwnd", "tcp_cwnd"), ("tcp_rtt", "tcp_rtt"), ("tcp_pacing", "tcp_delivery_rate")]
)
def test_flent_plots_the_values_of_the_sockets(capsys, results, tmp_path, plot, key):
    from flent.resultset import load

    _, cubic = exported(capsys, results, tmp_path, "flent")
    values = list(load(str(cubic)).raw_series("TCP upload::1", raw_key=key))
    series = Run.load(results / "cubic-seed-1").flow_series
    # The first sample, at the start, has no RTT.
    assert len(values) >= series.num_rows - 1
    if plot == "tcp_cwnd":
        assert [value for _, value in values] == series["window_segments"].to_pylist()
        assert [time for time, _ in values] == pytest.approx(series["time_s"].to_pylist(), abs=1e-6)
    drawn = tmp_path / "drawn.svg"
    subprocess.run(
        [FLENT, "-f", "plot", "-p", plot, "-i", cubic, "-o", drawn],
        capture_output=True,
        check=True,
        timeout=120,
    )
    assert "-- 1" in drawn.read_text() or drawn.stat().st_size > 20_000


def test_iperf3_has_what_its_reader_for_python_asks_for(capsys, results, tmp_path):
    cdg, _ = exported(capsys, results, tmp_path, "iperf3")
    found = json.loads(cdg.read_text())
    # The keys that `iperf3.TestResult` (PyPI, 0.1.11) reads without a default.
    begin, (connected,), end = found["start"], found["start"]["connected"], found["end"]
    assert set(begin["timestamp"]) == {"time", "timesecs"}
    assert {"system_info", "version", "test_start", "connected"} <= set(begin)
    assert {"local_host", "local_port", "remote_host", "remote_port"} <= set(connected)
    assert {"protocol", "num_streams", "blksize", "omit", "duration", "reverse"} <= set(begin["test_start"])
    loads = {f"{place}_{kind}" for place in ("host", "remote") for kind in ("total", "user", "system")}
    assert set(end["cpu_utilization_percent"]) == loads
    assert {"bytes", "bits_per_second", "retransmits"} <= set(end["sum_sent"]) & set(end["sum_received"])


def test_iperf3_adds_up_to_the_goodput(capsys, results, tmp_path):
    cdg, _ = exported(capsys, results, tmp_path, "iperf3")
    found = json.loads(cdg.read_text())
    assert [one["sum"]["end"] for one in found["intervals"]] == [float(k) for k in range(1, 11)]
    total = sum(one["sum"]["bytes"] for one in found["intervals"])
    assert total == pytest.approx(found["end"]["sum_received"]["bytes"], abs=10)
    assert found["end"]["sum_received"]["bits_per_second"] == pytest.approx(goodput(results, "cdg"), rel=0.01)
    assert found["end"]["sender_tcp_congestion"] == "cdg"


METRICS = {
    "type": "object",
    "additionalProperties": False,
    "minProperties": 1,
    "properties": {
        **{name: {"type": "number", "minimum": 0} for name in ("min_rtt", "smoothed_rtt", "latest_rtt")},
        **{
            name: {"type": "integer", "minimum": 0}
            for name in ("congestion_window", "bytes_in_flight", "ssthresh", "pacing_rate")
        },
    },
}
"""`RecoveryMetricsUpdated` of draft-ietf-quic-qlog-quic-events, as far as a run has its values."""


def test_qlog_follows_its_schema(capsys, results, tmp_path):
    jsonschema = pytest.importorskip("jsonschema")
    _, cubic = exported(capsys, results, tmp_path, "qlog")
    found = json.loads(cubic.read_text())
    assert (found["qlog_version"], found["qlog_format"]) == ("0.3", "JSON")
    events = found["traces"][0]["events"]
    assert [one["time"] for one in events] == sorted(one["time"] for one in events)
    names = {one["name"] for one in events}
    assert names == {
        *(f"recovery:{n}" for n in ("metrics_updated", "packet_lost", "congestion_state_updated")),
        "transport:packet_sent",
        "transport:packet_received",
    }
    for one in events:
        if one["name"] == "recovery:metrics_updated":
            jsonschema.validate(one["data"], METRICS)


def test_qlog_has_the_packets_from_which_qvis_draws_its_axes(capsys, results, tmp_path):
    for file, name in zip(exported(capsys, results, tmp_path, "qlog"), ("cdg", "cubic"), strict=True):
        flow = Run.load(results / f"{name}-seed-1").flows.to_pylist()[0]
        (trace,) = json.loads(file.read_text())["traces"]
        of = {
            kind: [e for e in trace["events"] if e["name"] == kind]
            for kind in {e["name"] for e in trace["events"]}
        }
        sent = {e["data"]["header"]["packet_number"]: e for e in of["transport:packet_sent"]}
        assert len(sent) == len(of["transport:packet_sent"])
        assert all(
            e["data"]["raw"]["length"] > 0 and e["data"]["header"]["packet_type"] == "1RTT"
            for e in sent.values()
        )
        whole = sum(e["data"]["raw"]["length"] for e in sent.values()) / 1448
        assert whole == pytest.approx(flow["data_packets"], rel=0.02)
        acknowledged = []
        for event in of["transport:packet_received"]:
            for frame in event["data"]["frames"]:
                for first, last in frame["acked_ranges"]:
                    acknowledged += range(first, last + 1)
                    assert all(sent[k]["time"] <= event["time"] for k in range(first, last + 1) if k in sent)
        lost = {e["data"]["header"]["packet_number"] for e in of.get("recovery:packet_lost", [])}
        assert lost <= set(sent)
        # qvis gives a packet one ACK, or a loss.
        assert len(set(acknowledged)) == len(acknowledged)
        assert lost.isdisjoint(acknowledged)
        assert len(acknowledged) + len(lost) >= 0.9 * len(sent)


def test_an_mm_link_log_has_the_bytes_of_the_link(capsys, results, tmp_path):
    cdg, _ = exported(capsys, results, tmp_path, "mm-link")
    rows = [line.split() for line in cdg.read_text().splitlines() if not line.startswith("#")]
    plotted(cdg.read_text())
    link = Run.load(results / "cdg-seed-1").links.to_pylist()[0]
    for sign, expected in (("-", link["departed_bytes"]), ("#", 10 * 5e6 / 8)):
        assert sum(int(row[2]) for row in rows if row[1] == sign) == pytest.approx(expected, rel=0.01)
    assert all(int(row[3]) < 50 for row in rows if row[1] == "-")


def plotted(text):
    """Refuses lines that the scripts of Mahimahi for throughput and delay do not plot."""
    head, *events = text.split("# base timestamp: 0\n")
    assert all(line.startswith("#") for line in head.splitlines())
    (body,) = events
    kinds = set()
    for line in body.splitlines():
        if line.startswith("#"):
            continue
        time, kind, size, *delay = line.split()
        assert int(time) >= 0
        assert int(size) >= 0
        assert len(delay) == (kind == "-")
        assert all(0 <= int(one) <= int(time) for one in delay)
        kinds.add(kind)
    assert kinds == {"+", "#", "-"}


def test_an_mm_link_log_of_drops_is_plotted(capsys, results, tmp_path):
    _, cubic = exported(capsys, results, tmp_path, "mm-link")
    text = cubic.read_text()
    plotted(text)
    dropped = Run.load(results / "cubic-seed-1").links["dropped_packets"][0].as_py()
    said = [int(line.split()[3]) for line in text.splitlines() if line.startswith("# ") and " d " in line]
    assert sum(said) == dropped > 0


def test_csv_has_every_table(capsys, results, tmp_path):
    for folder in exported(capsys, results, tmp_path, "csv"):
        assert (folder / "flows.csv").read_text().startswith('"flow","name"')


def test_an_export_replaces_nothing(capsys, results, tmp_path):
    exported(capsys, results, tmp_path, "qlog")
    assert "--force replaces it" in refused(capsys, "read", results, "--to", "qlog", "--out", tmp_path)
    assert run(capsys, "read", results, "--to", "qlog", "--out", tmp_path, "--force")[0] == 0


def test_names_that_differ_in_a_separator_have_files_of_their_own(capsys, tmp_path):
    (tmp_path / "one.toml").write_text(SCENARIO)
    for number, name in enumerate(("a/b", "a_b", "A_B")):
        out = tmp_path / "runs" / str(number)
        assert run(capsys, "run", tmp_path / "one.toml", "--set", f"name={name}", "--out", out)[0] == 0
    files = exported(capsys, tmp_path / "runs", tmp_path / "written", "qlog")
    titles = {json.loads(file.read_text())["title"] for file in files}
    assert titles == {"a/b, seed 1", "a_b, seed 1", "A_B, seed 1"}


def test_two_runs_of_one_name_and_seed_are_refused(capsys, results, tmp_path):
    for number in "12":
        shutil.copytree(results / "cubic-seed-1", tmp_path / "both" / number)
    assert "two runs have the name and seed of cubic-seed-1" in refused(
        capsys, "read", tmp_path / "both", "--to", "qlog", "--out", tmp_path
    )


def test_what_cannot_be_exported_is_refused(capsys, results, tmp_path):
    assert "must be one of csv, flent" in refused(capsys, "read", results, "--to", "pdf")
    assert "holds no run" in refused(capsys, "read", tmp_path, "--to", "csv")


@pytest.mark.parametrize("to", ["csv", "flent"])
def test_an_export_that_fails_leaves_nothing(capsys, results, tmp_path, to):
    broken = tmp_path / "broken"
    shutil.copytree(results, broken)
    # The last of two runs: the first would have been written.
    for table in ("flows", "flow_series"):
        (sorted(broken.glob("*-seed-1"))[-1] / f"{table}.parquet").write_bytes(b"PAR1")
    assert "is not a table of a run" in refused(
        capsys, "read", broken, "--to", to, "--out", tmp_path / "a" / "b"
    )
    assert [one.name for one in tmp_path.iterdir()] == ["broken"]


def test_force_replaces_a_folder_of_csv(capsys, results, tmp_path):
    (folder, _) = exported(capsys, results, tmp_path, "csv")
    (folder / "flows.csv").write_text("old")
    assert run(capsys, "read", results, "--to", "csv", "--out", tmp_path, "--force")[0] == 0
    assert (folder / "flows.csv").read_text() != "old"


def test_force_takes_nothing_away_that_is_no_table(capsys, results, tmp_path):
    (folder, _) = exported(capsys, results, tmp_path, "csv")
    mine = folder / "notes.txt"
    mine.write_text("mine")
    again = ("read", results, "--to", "csv", "--out", tmp_path, "--force")
    assert "holds something that is no table" in refused(capsys, *again)
    assert mine.read_text() == "mine"
    aside = tmp_path / "aside"
    folder.rename(aside)
    (aside / "notes.txt").unlink()
    folder.symlink_to(aside)
    assert "holds something that is no table" in refused(capsys, *again)
    assert (aside / "flows.csv").exists()
