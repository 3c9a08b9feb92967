"""Live runs: their records, and refusals."""

import json
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import ackclock
from ackclock import _engine, papers, summary
from ackclock.cli import main
from ackclock.engines import Job, registry
from ackclock.engines.live import Live
from ackclock.engines.simulator import Simulator
from ackclock.papers import page
from ackclock.papers.live import with_stack
from ackclock.result import TABLES
from calling import ENDED, PATIENCE, needs_live, refused, run, wait_until
from opened import opens, trace

ATTEMPTS = 10
"""So often is something done that a busy machine may spoil."""

SCENARIO = """
name = "small"
duration = "2s"
[path]
rate = "10mbit"
rtt = "40ms"
queue = "1bdp"
[[flows]]
cc = "newreno"
"""


@pytest.fixture
def scenario(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text(SCENARIO)
    return path


def resolved(**flow):
    document = {
        "name": "small",
        "duration": "1s",
        "path": {"rate": "10mbit", "rtt": "40ms", "queue": "1bdp"},
        "flows": [{"cc": "newreno"} | flow],
    }
    return _engine.resolve_json(json.dumps(document), [])


@pytest.fixture(scope="session")
def bpf(live):  # noqa: ARG001
    """Skips where no controller can be loaded into the kernel."""
    try:
        _engine.check("live", resolved(cc="cdg"))
    except _engine.ScenarioError as error:
        pytest.skip(str(error))


def holds_devices(process):
    """True if a process has TUN devices open: it runs live."""
    try:
        descriptors = list(Path(f"/proc/{process.pid}/fd").iterdir())
        return any(d.readlink() == Path("/dev/net/tun") for d in descriptors)
    except OSError:
        return False


def test_without_live_runs_it_says_what_to_install(capsys, scenario, monkeypatch):
    monkeypatch.setattr(_engine, "engines", lambda: ["sim"])
    for command in (
        ["live", scenario],
        ["compare", "newreno", "--live"],
        ["kernel", "parity"],
        ["shell"],
        ["kernel", "list"],
        ["reproduce", "cdg2011-fig4", "--live"],
    ):
        assert "libelf-dev" in refused(capsys, *command)


@pytest.mark.usefixtures("live")
def test_a_live_run_fills_the_tables_of_a_simulated_one(capsys, scenario, tmp_path):
    options = ("--json", "--also", "csv", "--engine", "live:retries=5")
    status, out, err = run(capsys, "live", scenario, "--out", tmp_path / "live", *options)
    assert status in ENDED, err
    assert run(capsys, "run", scenario, "--out", tmp_path / "sim")[0] == 0
    (found,) = json.loads(out)["runs"]
    assert (found["label"], found["engine"]["kind"]) == ("small", "live")
    assert 1 <= found["engine"]["attempts"] <= 6
    assert found["engine"]["kernel"] == os.uname().release
    assert set(found["engine"]["lateness_us"]) == {"p50", "p99", "max"}
    # 2 s at 10 Mbit/s are 1667 packets. Slow start leaves some of it unused.
    assert 1200 < found["flows"][0]["data_packets"] < 1900
    assert found["flows"][0]["rtt_ms"]["min"] > 40.0
    import pyarrow.parquet as pq

    for name in TABLES:
        schemas = [pq.read_schema(tmp_path / part / f"{name}.parquet") for part in ("live", "sim")]
        assert schemas[0].names == schemas[1].names
    assert {p.name for p in (tmp_path / "sim").iterdir()} < {p.name for p in (tmp_path / "live").iterdir()}


@pytest.mark.usefixtures("bpf")
def test_controllers_are_compared_live(capsys):
    path = ("--duration", "2s", "--rate", "10mbit", "--rtt", "20ms")
    status, out, err = run(capsys, "compare", "cubic", "cdg", "siad", "da", "--live", *path, "--json")
    assert status in ENDED, err
    runs = json.loads(out)["runs"]
    assert [r["label"] for r in runs] == ["cubic", "cdg", "siad", "da"]
    assert all(r["links"][0]["utilization"] > 0.2 for r in runs)


@pytest.mark.usefixtures("live")
def test_unsupported_scenarios_are_refused_live_before_anything_starts(capsys, scenario):
    def said(*settings):
        return refused(capsys, "live", scenario, *(part for one in settings for part in ("--set", one)))

    assert "flow `newreno-0`: profile `freebsd-9` cannot run live" in said("profile=freebsd-9")
    assert "flow `vigas-0`: the kernel has no congestion controller `vigas`" in said("flows.0.cc=vigas")
    assert "65 connections are too many for a live run" in said("flows.0.count=65")


@pytest.mark.usefixtures("live")
def test_options_of_the_other_engine_are_refused(capsys):
    for given in ("sim:retries=1", "sim:gso-max-segs=1", "live:threads=1", "live:at-once=2"):
        assert "there is no option" in refused(capsys, "compare", "newreno", "--engine", given)


def test_a_run_past_its_budget_is_repeated_and_then_yielded(monkeypatch):
    starts = []

    class Found:
        @property
        def engine(self):
            return {"kind": "live", "valid": False, "reasons": ["a delivery was late"]}

        def rows(self, name):
            return []

    class Batch:
        done = False

        def next(self, timeout_s):
            self.done = True
            return 0, Found()

        def progress(self):
            return 0.5

        def cancel(self):
            pass

    def start(jobs, **options):
        assert options == {"engine": "live", "pcap": [None], "pcap_at": "sender", "gso_max_segs": 2}
        starts.extend(seed for _, seed in jobs)
        return Batch()

    monkeypatch.setattr(_engine, "engines", lambda: ["sim", "live"])
    monkeypatch.setattr(_engine, "Batch", start)
    seen = []
    jobs = [Job(resolved(), 3), Job(resolved(), 4)]
    runs = dict(Live(retries=2, gso_max_segs=2).run(jobs, seen.append))
    assert starts == [3, 3, 3, 4, 4, 4]
    assert seen == [0.25] * 3 + [0.75] * 3
    assert [run.engine["attempts"] for run in runs.values()] == [3, 3]
    assert not runs[0].valid

    starts.clear()
    assert set(dict(Live(retries=1, at_once=2, gso_max_segs=2).run(jobs))) == {0, 1}
    assert (starts[:2], sorted(starts[2:])) == ([3, 4], [3, 4])


@pytest.mark.usefixtures("live")
def test_several_run_at_once(monkeypatch):
    batches, both = [], []
    start = _engine.Batch

    def started(*arguments, **options):
        batches.append(start(*arguments, **options))
        return batches[-1]

    def look(_):
        both.append(len(batches) == 2 and all(0 < one.progress() < 1 for one in batches))

    monkeypatch.setattr(_engine, "Batch", started)
    for _ in range(ATTEMPTS):
        batches.clear()
        runs = dict(Live(at_once=2).run([Job(resolved(), 1), Job(resolved(), 2)], look))
        assert {index: run.seed for index, run in runs.items()} == {0: 1, 1: 2}
        if any(both):
            return
    raise AssertionError("one began when the other was over")


@pytest.mark.usefixtures("live")
def test_python_runs_live_what_it_simulates():
    path = ackclock.Path("10mbit", rtt="20ms", queue="1bdp")
    seen = []
    ran = ackclock.live(path, ["newreno", "reno"], duration="1s", seed=7, retries=1, progress=seen.append)
    assert (ran.seed, ran.engine["kind"], ran.flows["name"].to_pylist()) == (
        7,
        "live",
        ["newreno-0", "reno-1"],
    )
    assert ran.flows.schema.names == ackclock.simulate(path, ["newreno"], duration="1s").flows.schema.names
    assert 0.0 < max(seen) <= 1.0
    runs = ackclock.live(path, ["newreno"], duration="1s", repeat=2)
    assert [one.seed for one in runs] == [1, 2]


@pytest.mark.usefixtures("live")
def test_python_is_refused_what_cannot_run_live(scenario):
    class Own(ackclock.Controller):
        def on_ack(self, context, ack):
            pass

        on_loss = on_timeout = on_ack

    path = ackclock.Path("10mbit", rtt="20ms", queue="1bdp")
    with pytest.raises(ackclock.ScenarioError, match="the kernel has no congestion controller `vigas`"):
        ackclock.live(path, ["vigas"])
    with pytest.raises(ackclock.ScenarioError, match="Python"):
        ackclock.live(path, [Own])
    with pytest.raises(ValueError, match="retries is -1: must not be negative"):
        ackclock.live(scenario, retries=-1)
    with pytest.raises(ValueError, match="repeat is 0"):
        ackclock.live(scenario, repeat=0)


@pytest.mark.usefixtures("live")
@pytest.mark.parametrize("command", [("live",), ("run", "--beside", "live")])
def test_a_live_run_opens_a_trace_once(capsys, traced, command):
    with opens(trace(traced)) as found:
        status, _, err = run(capsys, *command, traced)
    assert status in ENDED, err
    assert len(found) == 1


def test_python_is_told_what_live_runs_need(monkeypatch):
    monkeypatch.setattr(_engine, "engines", lambda: ["sim"])
    with pytest.raises(ackclock.MachineError, match="libelf-dev"):
        ackclock.live(ackclock.Path("10mbit", rtt="20ms", queue="1bdp"), ["newreno"])


def of_label(label, seed, valid, reasons=()):
    engine = {"kind": "live", "valid": valid, "reasons": list(reasons)}
    return {"label": label, "seed": seed, "engine": engine}


def test_invalid_runs_are_marked_where_they_are_shown():
    some = of_label("a", 1, True), of_label("a", 2, False, ["late", "lost"])
    runs = [*some, of_label("b", 1, False, ["late"])]
    assert summary.marked(runs) == {"a": "a (1 of 2 invalid)", "b": "b (invalid)"}
    assert summary.marked(runs[:1]) == {"a": "a"}
    reasons = ["a, seed 2 is not valid: late; lost", "b, seed 1 is not valid: late"]
    assert summary.invalid_reasons(runs) == reasons


def test_an_invalid_run_is_marked_in_tables_and_report(capsys, scenario, tmp_path, monkeypatch):
    class Late(Simulator):
        name = "live"

        @classmethod
        def require(cls):
            """It is there without live runs, too."""

        def __init__(self, **_):
            super().__init__()

        def check(self, plan):
            _engine.check("sim", plan)

        def run(self, jobs, progress=None):
            for index, one in super().run(jobs, progress):
                late = {"p50": 1.0, "p99": 2.0, "max": 20_000.0}
                one.engine |= {"kind": "live", "kernel": "6.0", "valid": False, "lateness_us": late}
                one.engine |= {"reasons": ["a delivery was 20.0 ms late"]}
                yield index, one

    monkeypatch.setitem(registry.ENGINES, "live", Late)
    status, out, err = run(capsys, "live", scenario, "--out", tmp_path / "out")
    assert status == 3
    assert "small (invalid)" in out
    assert "small, seed 1 is not valid: a delivery was 20.0 ms late" in err
    report = (tmp_path / "out" / "index.html").read_text()
    assert "small (invalid)" in report
    assert "how far small (invalid), seed 1 can be trusted" in report
    assert json.loads((tmp_path / "out" / "run.json").read_text())["engine"]["valid"] is False


@pytest.mark.usefixtures("live")
@pytest.mark.parametrize("ended_by", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_live_run_ends_soon_when_it_is_asked_to(scenario, tmp_path, ended_by):
    out = tmp_path / "out"
    lasting = ["--set", f"duration={2 * PATIENCE}s", "--out", out]
    command = [sys.executable, "-m", "ackclock.cli", "live", scenario, *lasting]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: holds_devices(process))
    process.send_signal(ended_by)
    _, err = process.communicate(timeout=PATIENCE)
    # A device is there before the run, too, while the machine is tried: then the command as a whole ends.
    assert process.returncode == 130
    assert err.removeprefix("ackclock: ") == "interrupted\n"
    assert [p.name for p in tmp_path.iterdir()] == ["small.toml"]


@pytest.mark.usefixtures("live")
def test_a_shell_runs_a_command_across_the_path(capfd, tmp_path):
    client = (
        "import socket, time\n"
        "near = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        "near.bind(('10.0.0.1', 0))\n"
        "near.sendto(b'x' * 100, ('10.0.0.2', 9))\n"
        "print(near.getsockname()[0])\n"
        "time.sleep(0.3)\n"
        "raise SystemExit(7)"
    )
    arguments = ["--rtt", "20ms", "--log", str(tmp_path / "queue.log"), "--meter"]
    status = main(["shell", *arguments, "--", sys.executable, "-c", client])
    out, err = capfd.readouterr()
    assert (status, out) == (7, "10.0.0.1\n"), err
    assert "bottleneck" in err
    # With 28 bytes of headers.
    assert " + 128\n" in (tmp_path / "queue.log").read_text()


@pytest.mark.usefixtures("bpf")
def test_controllers_stay_in_the_kernel_until_they_are_unloaded(capsys):
    status, out, err = run(capsys, "kernel", "load", "cdg", "beta_d=0.8")
    assert status == 0, err
    name = out.strip()
    try:
        assert name.startswith("ack_cdg")
        assert run(capsys, "kernel", "set", name, "beta_d=0.6", "G=2ms")[0] == 0
        listed = json.loads(run(capsys, "kernel", "list", "--json")[1])["controllers"]
        kept = {one["name"]: one["parameters"] for one in listed}
        assert (kept[name]["beta_d"], kept[name]["G"]) == (0.6, "2ms")
        assert name in run(capsys, "kernel", "list")[1]
        assert "beta_d" in refused(capsys, "kernel", "set", name, "beta_d=7")
        assert "must be KEY=VALUE" in refused(capsys, "kernel", "set", name, "beta_d")
        assert run(capsys, "compare", name, "--live", "--duration", "1s", "--json")[0] in ENDED
    finally:
        assert run(capsys, "kernel", "unload", name)[0] == 0
    assert name in refused(capsys, "kernel", "unload", name)


@pytest.mark.usefixtures("bpf")
def test_a_controller_is_set_and_unloaded_by_the_name_that_loaded_it(capsys):
    status, out, err = run(capsys, "kernel", "load", "tcp-q", "theta=4")
    assert (status, out) == (0, "ack_tcp_q\n"), err
    try:
        assert run(capsys, "kernel", "set", "tcp-q", "theta=6")[0] == 0
        listed = json.loads(run(capsys, "kernel", "list", "--json")[1])["controllers"]
        [parameters] = [one["parameters"] for one in listed if one["name"] == "ack_tcp_q"]
        assert (parameters["order"], parameters["theta"]) == (2, 6)
        assert "theta" in refused(capsys, "kernel", "set", "tcp-q", "theta=-1")
    finally:
        assert run(capsys, "kernel", "unload", "tcp-q")[0] == 0
    assert "tcp-q" in refused(capsys, "kernel", "unload", "tcp-q")


@pytest.mark.usefixtures("live")
def test_parity_puts_both_engines_side_by_side(capsys):
    path = ("--rates", "10mbit", "--rtts", "40ms", "--queues", "1bdp")
    flows = ("--flows", "1", "--controllers", "newreno", "--duration", "4s", "--warmup", "2s")
    status, out, err = run(
        capsys,
        "kernel",
        "parity",
        *path,
        *flows,
        "--simulations",
        2,
        "--repeat",
        2,
        "--engine",
        "live:retries=3",
        "--json",
    )
    assert status == 0, err
    (cell,) = json.loads(out)["cells"]
    live, simulated = cell["live"]["utilization"], cell["simulated"]["utilization"]
    assert not cell["valid"] or live["mean"] == pytest.approx(simulated["mean"], abs=0.1)
    assert cell["difference"]["utilization"] == pytest.approx(live["mean"] - simulated["mean"])
    assert [one["seed"] for one in cell["runs"]] == [1, 2]


@pytest.mark.usefixtures("live")
@pytest.mark.parametrize(
    ("ended_by", "status"), [(signal.SIGKILL, -9), (signal.SIGTERM, 130), (signal.SIGHUP, 130)]
)
def test_a_grid_ended_in_the_background_keeps_finished_runs(capsys, tmp_path, ended_by, status):
    arguments = [
        "kernel",
        "parity",
        "--rates",
        "10mbit",
        "--rtts",
        "40ms",
        "--queues",
        "1bdp",
        "--flows",
        "1",
    ]
    arguments += [
        "--controllers",
        "newreno,cubic",
        "--simulations",
        "2",
        "--duration",
        "3s",
        "--warmup",
        "1s",
    ]
    arguments += ["--out", str(tmp_path / "out")]

    def in_background():
        # As a shell without job control starts it.
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    command = [sys.executable, "-m", "ackclock.cli", *arguments]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, preexec_fn=in_background)
    kept = tmp_path / "out" / "live"
    wait_until(lambda: list(kept.glob("[!.]*")))
    process.send_signal(ended_by)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == status, err
    (first,) = kept.glob("[!.]*")
    assert first.name.startswith("10mbit-40ms-1bdp-1-x-newreno-seed-1-")
    written = (first / "run.json").stat().st_mtime_ns
    assert run(capsys, *arguments)[0] == 0
    assert (first / "run.json").stat().st_mtime_ns == written
    assert len(list(kept.iterdir())) == 2


def test_an_experiment_goes_live_with_the_endpoints_of_the_kernel(tmp_path):
    (experiment,) = papers.select(papers.catalogue(), ["cdg2011-fig7"])
    changed = with_stack(experiment, "linux")
    assert {setup.scenario["profile"] for setup in changed.setups} == {"linux"}
    assert changed.claims == experiment.claims

    class Half(Simulator):
        """Refuses the first run."""

        def check(self, plan):
            if plan.name == f"cdg2011/{experiment.setups[0].name}":
                raise _engine.ScenarioError("it cannot run live")

    few = replace(experiment.reduced(), repetitions=1)
    done = papers.reproduce([few])
    done.others["live"] = papers.reproduce([with_stack(few, "linux")], engine=Half())
    assert done.others["live"].refused == ["it cannot run live"]
    claims = done.as_json()["experiments"][0]["claims"]
    live = done.others["live"].as_json()["experiments"][0]["claims"]
    assert [c["live"] for c in claims] == [c["measured"] for c in live]
    page.write(done, papers.catalogue(), tmp_path)
    text = (tmp_path / "index.html").read_text()
    assert '<th scope="col">live</th>' in text
    assert "it cannot run live" in text


@needs_live
def test_machine_limits_are_found_before_anything_is_run_or_written(tmp_path):
    without = ["setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin", "--"]
    if os.geteuid() != 0 or shutil.which(without[0]) is None:
        pytest.skip("giving a capability up needs root and setpriv")
    parity = ["kernel", "parity", "--quick", "--controllers", "newreno", "--out", tmp_path / "out"]
    ran = subprocess.run(
        [*without, sys.executable, "-m", "ackclock.cli", *parity], capture_output=True, text=True
    )
    assert ran.returncode == 2
    assert "making a network namespace needs root (CAP_SYS_ADMIN)" in ran.stderr
    assert not (tmp_path / "out").exists()
