"""QUIC as an engine: by its name on the command line and in Python, and the message of a build without it."""

import json

import pytest

import ackclock
from ackclock import _engine, summary
from ackclock.cli import completing
from ackclock.engines.quic import Quic
from calling import ENDED, refused, run

built = pytest.mark.skipif("quic" not in _engine.engines(), reason="built without QUIC")
logged = pytest.mark.skipif(not _engine.has_qlog(), reason="built without the log of noq")

SCENARIO = """
name = "over-quic"
duration = "5s"
warmup = "1s"
path = { rate = "10mbit", rtt = "40ms", queue = "1bdp" }
record = { flow_series = "100ms", events = true }
flows = [{ cc = "noq:cubic" }, { cc = "newreno", transport = { ecn = true } }]
"""


@pytest.fixture
def file(tmp_path):
    place = tmp_path / "over-quic.toml"
    place.write_text(SCENARIO)
    return place


def test_a_build_without_it_says_how_to_get_it(capsys, file, monkeypatch):
    monkeypatch.setattr(_engine, "engines", lambda: ["sim"])
    sentence = refused(capsys, "run", file, "--engine", "quic")
    assert sentence == "this ackclock was built without QUIC: run `make build QUIC=1` in its sources"
    findings = json.loads(run(capsys, "show", "machine", "--json")[1])["findings"]
    found = {one["what"]: one for one in findings if one["purpose"] == "QUIC"}
    assert not found["built in"]["there"]
    assert found["built in"]["remedy"] == "`make build QUIC=1` in the sources of ackclock"
    assert completing.controllers("noq") == []


@built
def test_a_scenario_gives_the_tables_of_every_engine(capsys, file):
    status, out, _ = run(capsys, "run", file, "--engine", "quic", "--json")
    [found] = json.loads(out)["runs"]
    assert (status, found["engine"]["kind"]) == (0, "quic")
    flows = {flow["name"]: flow for flow in found["flows"]}
    assert set(flows) == {"noq:cubic-0", "newreno-1"}
    assert sum(flow["goodput_bps"] for flow in flows.values()) > 8.5e6
    assert all(flow["profile"] == "noq" for flow in flows.values())
    # The same bytes again.
    again = json.loads(run(capsys, "run", file, "--engine", "quic", "--json")[1])["runs"][0]
    for one in (found, again):
        one["engine"].pop("cpu_s"), one["engine"].pop("wall_s")
    assert found == again


@built
def test_reports_exports_and_sweeps_take_it(capsys, file, tmp_path):
    results = tmp_path / "results"
    assert run(capsys, "run", file, "--engine", "quic", "--beside", "sim", "--out", results)[0] == 2
    status, out, error = run(capsys, "compare", "noq:newreno", "cubic", "--engine", "quic", "--out", results)
    assert (status, (results / "index.html").exists()) == (0, True), out + error
    assert run(capsys, "read", results, "--to", "qlog", "--out", tmp_path / "logs")[0] == 0
    status, out, _ = run(
        capsys, "sweep", "noq:cubic", "--engine", "quic", "--over", "rate=5mbit,10mbit", "--duration", "2s"
    )
    assert status == 0
    assert "noq:cubic" in out


@built
def test_controllers_in_python_run_over_it():
    class Fixed(ackclock.Controller):
        """A window of twenty packets."""

        window = 20.0

        def on_ack(self, cx, ack):
            """Keeps it."""

        def on_loss(self, cx, loss):
            """Keeps it."""

        def on_timeout(self, cx, loss):
            """Keeps it."""

    path = ackclock.Path("10mbit", rtt="40ms", queue="84p")
    found = ackclock.simulate(path, [Fixed, "noq:newreno"], duration="4s", engine="quic")
    assert found.engine["kind"] == "quic"
    assert found.flows["goodput_bps"].to_pylist()[0] > 1e6


TWO_PATHS = """
duration = "10s"
warmup = "2s"
[[links]]
from = "a"
to = "b"
rate = "10mbit"
delay = "25ms"
queue = "42p"
reverse = {}
[[links]]
from = "c"
to = "d"
rate = [["0s", "4mbit"], ["6s", "0bit"]]
delay = "25ms"
queue = "20p"
reverse = {}
[[flows]]
name = "both"
cc = "CC"
subflows = [{ from = "a", to = "b" }, { name = "second", from = "c", to = "d" }]
"""


@built
@pytest.mark.parametrize("cc", ["noq:cubic", "coupled"])
def test_a_multipath_flow_is_one_connection_with_a_row_for_each_path(capsys, tmp_path, cc):
    file = tmp_path / "two.toml"
    file.write_text(TWO_PATHS.replace("CC", cc))
    results = tmp_path / "results"
    status, out, err = run(capsys, "run", file, "--engine", "quic", "--json", "--out", results)
    assert status == 0, err
    [found] = json.loads(out)["runs"]
    first, second = found["flows"]
    assert [first["name"], second["name"]] == ["both:0", "both:second"]
    # The second path carries 4 Mbit/s for four of eight seconds.
    assert 9e6 < first["goodput_bps"] < 9.8e6
    assert 1.7e6 < second["goodput_bps"] < 2.1e6
    assert (results / "index.html").exists()


@built
def test_a_stack_with_one_path_refuses_a_multipath_flow(capsys, tmp_path):
    file = tmp_path / "two.toml"
    file.write_text(TWO_PATHS.replace("CC", "quinn:cubic"))
    assert "subflows: quinn has one path in a connection" in refused(capsys, "run", file, "--engine", "quic")


@built
def test_what_it_cannot_do_is_one_sentence(capsys, file, tmp_path):
    text = file.read_text()
    file.write_text(text.replace("noq:cubic", "dctcp"))
    assert "cc: `dctcp` cannot run over QUIC" in refused(capsys, "run", file, "--engine", "quic")
    file.write_text(text)
    sentence = refused(capsys, "run", file, "--engine", "quic", "--pcap", tmp_path / "packets.pcapng")
    assert "packets of QUIC are not captured" in sentence
    sentence = refused(capsys, "run", file)
    assert "there is no controller `noq:cubic`" in sentence


@built
def test_its_own_controllers_are_completed_and_can_be_built():
    assert completing.controllers("noq:") == [name for name in Quic.own if name.startswith("noq:")]
    path = {"rate": "10mbit", "rtt": "40ms", "queue": "1bdp"}
    for name in Quic.own:
        document = {"duration": "1s", "path": path, "flows": [{"cc": name}]}
        _engine.check("quic", _engine.resolve_json(json.dumps(document), []))


@built
def test_a_build_without_the_log_of_the_stack_says_how_to_get_it(capsys, file, tmp_path, monkeypatch):
    monkeypatch.setattr(_engine, "has_qlog", lambda: False)
    for real_time in ((), ("--live",)):
        sentence = refused(capsys, "run", file, "--engine", f"quic:qlog={tmp_path}/logs", *real_time)
        assert sentence == (
            "this ackclock was built without the log of noq: run `make build QLOG=1` in its sources"
        )
    assert not (tmp_path / "logs").exists()
    findings = json.loads(run(capsys, "show", "machine", "--json")[1])["findings"]
    [found] = [one for one in findings if "qlog" in one["what"]]
    assert (found["there"], found["remedy"]) == (False, "`make build QLOG=1` in the sources of ackclock")
    sentence = refused(capsys, "run", file, "--qlog", tmp_path / "logs")
    assert sentence == "--qlog: is an option of an engine: --engine quic:qlog=VALUE"


def _records(log):
    return [json.loads(record) for record in log.read_text("utf-8").split("\x1e")[1:]]


@logged
def test_the_log_of_the_stack_has_a_file_for_each_side_of_a_connection(capsys, file, tmp_path):
    command = ("run", file, "--repeat", "2", "--json", "--engine")
    status, out, error = run(capsys, *command, f"quic:qlog={tmp_path}/logs")
    assert status == 0, error
    rows, sides = (0, 1), ("client", "server")
    names = {
        f"over-quic-seed-{seed}-flow-{row}-{side}.sqlog" for seed in (1, 2) for row in rows for side in sides
    }
    assert {log.name for log in (tmp_path / "logs").iterdir()} == names
    first, *events = _records(tmp_path / "logs" / "over-quic-seed-1-flow-0-client.sqlog")
    assert (first["title"], first["serialization_format"]) == ("noq:cubic-0, client", "JSON-SEQ")
    times = [event["time"] for event in events]
    assert times == sorted(times)
    assert 4900 < times[-1] <= 5000
    # The same bytes again, and the same tables without.
    assert run(capsys, *command, f"quic:qlog={tmp_path}/again")[0] == 0
    assert all(
        (tmp_path / "again" / name).read_bytes() == (tmp_path / "logs" / name).read_bytes() for name in names
    )
    without = run(capsys, *command, "quic")[1]
    assert [one["flows"] for one in json.loads(without)["runs"]] == [
        one["flows"] for one in json.loads(out)["runs"]
    ]


@logged
def test_logs_of_several_controllers_and_of_real_time(capsys, file, tmp_path):
    compared = ("compare", "noq:newreno", "noq:cubic", "--duration", "2s", "--engine")
    assert run(capsys, *compared, f"quic:qlog={tmp_path}/logs")[0] == 0
    assert len(list((tmp_path / "logs").iterdir())) == 4
    sentence = refused(capsys, *compared, f"quic:qlog={file}")
    assert str(file) in sentence
    try:
        _engine.check("quic-live", _engine.resolve(file.read_text(), str(file), []))
    except (_engine.MachineError, ValueError) as error:
        pytest.skip(str(error))
    live = ("run", file, "--live", "--set", "duration=2s", "--set", "warmup=500ms", "--engine")
    assert run(capsys, *live, f"quic:qlog={tmp_path}/live")[0] in ENDED
    for log in (tmp_path / "live").iterdir():
        assert 1500 < _records(log)[-1]["time"] <= 2000


@built
def test_in_real_time_it_runs_over_sockets(capsys, file):
    if "quic-live" not in _engine.engines():
        pytest.skip("built without live runs")
    try:
        _engine.check("quic-live", _engine.resolve(file.read_text(), str(file), []))
    except _engine.MachineError as error:
        pytest.skip(str(error))
    short = ("--set", "duration=2s", "--set", "warmup=500ms")
    status, out, error = run(capsys, "run", file, "--engine", "quic", "--live", *short, "--json")
    assert status in ENDED, error
    [found] = json.loads(out)["runs"]
    assert (found["engine"]["kind"], found["engine"]["state_source"]) == ("quic-live", "noq")
    # The namespaces' sysctls are of TCP.
    assert found["engine"]["sysctls"] == {}
    assert all(flow["profile"] == "noq" and flow["delivered_bytes"] > 10_000 for flow in found["flows"])
    sentence = refused(capsys, "run", file, "--engine", "sim", "--live")
    assert sentence == "--live: is short for --engine live, and --engine sim is given"


@built
@pytest.mark.parametrize("option", ["threads", "cores", "kernels", "linux", "disciplines", "gso-max-segs"])
def test_in_real_time_it_refuses_the_options_of_other_engines(capsys, file, option):
    if "quic-live" not in _engine.engines():
        pytest.skip("built without live runs")
    given = f"quic:{option}=2"
    sentence = refused(capsys, "run", file, "--engine", given, "--live")
    assert sentence == (
        f"--engine quic-live:{option}=2: there is no option `{option}` "
        "(it has retries, qlog, noq, quinn, quiche, c)"
    )


@pytest.mark.parametrize(
    ("kind", "source", "stack"),
    [("quic-live", "noq", "UDP sockets"), ("live", "tcp_info", "TCP"), ("live", "ends", "UDP sockets")],
)
def test_the_packets_of_real_time_are_said_to_be_on_their_stack(kind, source, stack):
    engine = {"kind": kind, "kernel": "6.18", "data_packets": 7, "cpu_s": 0.5, "state_source": source}
    engine["lateness_us"] = {"p50": 1.0, "p99": 2.0, "max": 3.0}
    first, _ = summary.engine_line([{"engine": engine}]).splitlines()
    assert first == f"7 data packets on the {stack} of Linux 6.18, 0.50 CPU seconds"
