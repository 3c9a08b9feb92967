"""The command line: its output, its files, and its exit status."""

import contextlib
import io
import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from itertools import islice

import pytest

from ackclock import Run
from ackclock.cli import former, main, output
from ackclock.cli.status import Interrupted
from ackclock.engines.simulator import Simulator
from ackclock.report import Page
from calling import PATIENCE, refused, run

SCENARIO = """
name = "small"
duration = "3s"
[path]
rate = "5mbit"
rtt = "20ms"
queue = "30p"
[[flows]]
cc = "newreno"
"""


@pytest.fixture
def scenario(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text(SCENARIO)
    return path


def test_run_prints_tables_for_people(capsys, scenario):
    status, out, _ = run(capsys, "run", scenario)
    assert status == 0
    assert "newreno-0" in out
    assert "bottleneck" in out


def test_json_is_the_only_thing_on_standard_output(capsys, scenario):
    status, out, err = run(capsys, "run", scenario, "--json", "--repeat", 2, "--seed", 7)
    document = json.loads(out)
    assert status == 0
    assert [(r["label"], r["seed"]) for r in document["runs"]] == [("small", 7), ("small", 8)]
    first = document["runs"][0]
    assert set(first) == {
        "label", "seed", "duration_s", "scenario", "flows", "controllers", "links", "fairness", "engine",
    }  # fmt: skip
    assert {"min", "mean", "p50", "p90", "p95", "p99", "max"} == set(first["flows"][0]["rtt_ms"])
    assert "newreno-0" in err


def test_set_adds_a_discipline_to_a_queue_given_as_limit(capsys, scenario):
    status, out, _ = run(capsys, "run", scenario, "--set", "path.queue.discipline=codel", "--json")
    assert status == 0
    queue = json.loads(out)["runs"][0]["scenario"]["path"]["queue"]
    assert (queue["limit"], queue["discipline"]) == ("30p", "codel")


def test_a_former_name_runs_or_names_its_successor(capsys, scenario):
    status, out, _ = run(capsys, "live", "--help")
    assert (status, out) == run(capsys, "run", "--help")[:2]
    assert refused(capsys, "live", scenario, "--engine", "sim") == (
        "--live: is short for --engine live, and --engine sim is given"
    )
    assert run(capsys, "hunt", "--help") == run(capsys, "check", "--help")
    assert run(capsys, "controllers", "cdg") == run(capsys, "show", "controllers", "cdg")
    for name, now in former.COMMANDS.items():
        assert refused(capsys, name, "--help") == f"`{name}` is `{now}` now"
    for option, now in former.OPTIONS.items():
        assert refused(capsys, "run", scenario, option) == f"{option}: is `{now}` now"
    assert refused(capsys, "sweep", "cdg", "--flows", 2) == "--flows: is `--set flows.0.count=N` now"
    assert "--engine live:retries=VALUE" in refused(capsys, "run", scenario, "--retries", 1)
    assert "--engine uml:linux=VALUE" in refused(capsys, "run", scenario, "--linux=6.1")
    assert refused(capsys, "run", scenario, "--nonsense").startswith("No such option")


@pytest.mark.parametrize(("name", "starts"), [("newreno", True), ("bbr3", False)])
def test_a_controller_that_takes_another_slow_start_says_so(capsys, name, starts):
    assert ("slow_start" in run(capsys, "controllers", name)[1]) == starts


def test_set_changes_a_key_and_out_keeps_everything(capsys, scenario, tmp_path):
    out_folder = tmp_path / "out"
    status, out, err = run(
        capsys, "run", scenario, "--set", "path.rate=2mbit", "--out", out_folder, "--also", "csv", "--json"
    )
    assert status == 0
    assert json.loads(out)["runs"][0]["flows"][0]["goodput_bps"] < 2e6
    assert str(out_folder / "index.html") in err
    names = {p.name for p in out_folder.iterdir()}
    assert {"index.html", "run.json", "summary.json", "flows.parquet", "overview.png", "csv"} <= names
    assert json.loads((out_folder / "run.json").read_text())["scenario"]["path"]["rate"] == "2mbit"
    assert (out_folder / "csv" / "flows.csv").read_text().startswith('"flow"')


def test_run_puts_two_versions_of_an_engine_beside_each_other(capsys, scenario, tmp_path):
    # As two kernels, `uml:linux=6.1` and `uml:linux=6.12`, or two copies of a QUIC stack.
    engines = ("--engine", "sim:threads=1", "--beside", "sim:threads=2")
    status, printed, err = run(capsys, "run", scenario, *engines, "--json", "--pcap", tmp_path / "a.pcapng")
    assert status == 0, err
    assert sorted(one.name for one in tmp_path.glob("*.pcapng")) == [
        f"a-sim_threads_{number}-seed-1.pcapng" for number in (1, 2)
    ]
    runs = json.loads(printed)["runs"]
    assert [one["label"] for one in runs] == ["sim:threads=1", "sim:threads=2"]
    assert runs[0]["flows"] == runs[1]["flows"]
    status, _, err = run(capsys, "run", scenario, *engines[:3], "sim:threads=1")
    assert (status, err) == (2, "ackclock: --beside sim:threads=1: is the engine that runs it already\n")


def test_run_puts_live_beside_simulated(capsys, scenario, tmp_path, kernel):
    out = tmp_path / "out"
    command = ("run", scenario, "--beside", "live", "--repeat", 2, "--json", "--out", out)
    status, printed, err = run(capsys, *command)
    document = json.loads(printed)
    assert status == 0, err
    kinds = [(one["label"], one["seed"], one["engine"]["kind"]) for one in document["runs"]]
    assert kinds == [(label, seed, kind) for label, kind in BESIDE for seed in (1, 2)]
    # One simulator replaces both engines.
    assert document["runs"][0]["flows"][0]["goodput_bps"] == document["runs"][2]["flows"][0]["goodput_bps"]
    assert kernel.started == 2
    assert {"simulated-seed-1", "live-seed-2"} < {place.name for place in out.iterdir()}


BESIDE = (("simulated", "sim"), ("live", "live"))
"""Labels and engines of ``run --beside live``."""


@pytest.mark.usefixtures("kernel")
def test_options_of_live_runs_alone_need_them(capsys, scenario):
    sentence = refused(capsys, "run", scenario, "--engine", "sim:retries=1")
    assert "there is no option `retries`" in sentence


def test_a_capture_without_a_file_is_refused_before_the_next_option_is_taken_for_it(capsys, scenario):
    assert refused(capsys, "run", scenario, "--pcap", "--out", "a") == "--pcap: needs a value before --out"


def test_a_packet_capture_is_written_for_every_run(capsys, scenario, tmp_path):
    assert run(capsys, "run", scenario, "--pcap", tmp_path / "a.pcapng", "--repeat", 2, "--seed", 1)[0] == 0
    for seed in (1, 2):
        assert (tmp_path / f"a-seed-{seed}.pcapng").read_bytes()[:4] == b"\x0a\x0d\x0d\x0a"


def test_compare_runs_each_controller_on_the_same_path(capsys, tmp_path):
    arguments = ("--rate", "5mbit", "--duration", "3s", "--flows", 2, "--repeat", 2, "--json")
    status, out, _ = run(capsys, "compare", "newreno", "cubic", *arguments, "--out", tmp_path / "out")
    assert status == 0
    assert [r["label"] for r in json.loads(out)["runs"]] == ["newreno", "newreno", "cubic", "cubic"]
    assert len(json.loads(out)["runs"][0]["flows"]) == 2
    names = {p.name for p in (tmp_path / "out").iterdir()}
    assert {"cubic-seed-2", "delay-throughput.png", "overview.png", "summary.json"} <= names
    # A sentence begins with a capital, and names in it stay as they are.
    assert (
        "RTT by time: how much of the time it was at most this"
        in (tmp_path / "out" / "index.html").read_text()
    )


def test_a_run_without_series_still_gets_a_report(capsys, scenario, tmp_path):
    off = ("--set", "record.flow_series=off", "--set", "record.link_series=off")
    assert run(capsys, "run", scenario, *off, "--out", tmp_path / "out")[0] == 0
    assert [file.name for file in (tmp_path / "out").glob("*.png")] == ["delay-throughput.png"]


def test_bad_input_is_one_sentence_and_status_two(capsys, scenario, tmp_path):
    (tmp_path / "binary.toml").write_bytes(b"name = \xff")
    assert "is not UTF-8" in refused(capsys, "run", tmp_path / "binary.toml")
    assert "cannot be read: No such file" in refused(capsys, "run", tmp_path / "none.toml")
    assert "path.rate" in refused(capsys, "run", scenario, "--set", "path.rate=10")
    assert "must be KEY=VALUE" in refused(capsys, "run", scenario, "--set", "path.rate")
    assert "repeat" in refused(capsys, "run", scenario, "--repeat", 0)
    assert "No such option" in refused(capsys, "run", scenario, "--nonsense")
    assert "--trust: is not needed" in refused(capsys, "compare", "./mine.py", "--trust")
    assert "there is no command `fly`" in refused(capsys, "fly")
    assert "did you mean `newreno`" in refused(capsys, "compare", "newrino")
    assert "named twice" in refused(capsys, "compare", "cdg", "cdg")
    assert "did you mean `bbr" in refused(capsys, "controllers", "bbr")
    assert "did you mean `cdg`" in refused(capsys, "controllers", "cdgg")
    assert "no experiment `fig4`" in refused(capsys, "reproduce", "fig4")
    assert "no such case" in refused(capsys, "bench", "--only", "nothing")
    assert "cannot be written" in refused(capsys, "run", scenario, "--pcap", tmp_path / "no" / "a.pcapng")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("compare", "cdg", "--loss", "1"), "--loss 1: a bare number may mean a percentage or a share"),
        (("compare", "cdg", "--set", "path.loss=0.01"), "as in --set path.loss=0.01%"),
        (("sweep", "cdg", "--loss", "0.5"), "as in --loss 0.5%"),
    ],
)
def test_a_bare_number_is_no_percentage(capsys, arguments, sentence):
    assert sentence in refused(capsys, *arguments)


def test_what_linux_alone_has_is_said_to_run_live(capsys):
    assert "the simulator has no `nv`; live runs" in refused(capsys, "compare", "nv")


def test_a_queue_far_below_a_bdp_is_remarked_on(capsys):
    path = ("compare", "newreno", "--rate", "100mbit", "--duration", "1s")
    assert run(capsys, *path)[2].count("BDP") == 0
    # 100 Mbit/s over 40 ms are 333 packets.
    assert "the queue of `bottleneck` is 0.060 BDP" in run(capsys, *path, "--queue", "20p")[2]


def test_help_is_a_command_as_well(capsys):
    assert run(capsys, "help")[1] == run(capsys, "--help")[1]
    assert run(capsys, "help", "run")[1] == run(capsys, "run", "--help")[1]


def test_json_has_the_fields_of_the_tables(capsys, scenario):
    document = json.loads(run(capsys, "run", scenario, "--json")[1])
    [one] = document["runs"]
    fields = ("profile", "measured_s", "base_rtt_ms", "delivered_bytes", "lost_packets", "marked_packets")
    assert {*fields, "recoveries", "spurious", "completion_s"} <= set(one["flows"][0])
    assert one["scenario"]["name"] == one["label"]


def test_an_invalid_live_run_has_a_status_of_its_own(capsys, scenario, monkeypatch):
    def late(self, label=None):
        return whole(self, label) | {"engine": self.engine | {"valid": False, "reasons": ["it was late"]}}

    whole = Run.summary
    monkeypatch.setattr(Run, "summary", late)
    status, _, err = run(capsys, "run", scenario)
    assert (status, "seed 1 is not valid: it was late" in err) == (3, True)


def test_a_folder_in_use_is_refused_before_anything_runs(capsys, scenario, tmp_path):
    assert "not empty" in refused(capsys, "run", scenario, "--out", tmp_path)
    assert "is a file" in refused(capsys, "compare", "cdg", "--out", scenario)
    assert [p.name for p in tmp_path.iterdir()] == ["small.toml"]


NOTHING_ARRIVES = """duration = "2s"
path = { rate = "10mbit", rtt = "40ms", queue = "20p", loss = "100%" }
[[flows]]
cc = "cdg"
"""


@pytest.mark.parametrize("repetitions", [1, 3])
def test_a_report_says_that_nothing_arrives(capsys, tmp_path, repetitions):
    (tmp_path / "lost.toml").write_text(NOTHING_ARRIVES)
    out = tmp_path / "out"
    status, _, err = run(capsys, "run", tmp_path / "lost.toml", "--repeat", repetitions, "--out", out)
    assert (status, "cannot be drawn" in err) == (0, False)
    assert "no data was delivered in the measured time" in (out / "index.html").read_text()
    assert {file.name for file in out.glob("*.png")} >= {"overview.png", "delay-throughput.png"}


def test_flows_that_start_just_before_the_end_are_drawn(capsys, tmp_path):
    text = SCENARIO + '[[flows]]\nname = "web"\ncc = "cubic"\nbytes = "3kB"\nevery = "300ms"\n'
    text = text.replace("3s", "1.91s") + '[record]\nflow_series = "1ack"\n'
    (tmp_path / "web.toml").write_text(text)
    status, _, err = run(capsys, "run", tmp_path / "web.toml", "--out", tmp_path / "out")
    assert (status, "cannot be drawn" in err) == (0, False)
    assert (tmp_path / "out" / "overview.png").exists()


def test_controllers_are_listed_with_their_parameters(capsys):
    status, out, _ = run(capsys, "controllers", "--json")
    assert status == 0
    assert {"newreno", "cdg", "cubic"} <= {c["name"] for c in json.loads(out)["controllers"]}
    assert "beta_d" in run(capsys, "controllers", "cdg")[1]
    assert "no parameters" in run(capsys, "controllers", "relentless")[1]


def test_reproduce_lists_the_experiments(capsys):
    status, out, _ = run(capsys, "reproduce", "--list")
    assert status == 0
    assert "cdg2011-fig4" in out


def test_reproduce_writes_a_report_and_one_json_object(capsys, tmp_path):
    status, out, err = run(
        capsys, "reproduce", "cdg2011-fig7", "--quick", "--json", "--out", tmp_path / "report"
    )
    (experiment,) = json.loads(out)["experiments"]
    assert experiment["id"] == "cdg2011-fig7"
    verdicts = [claim["verdict"] for claim in experiment["claims"]]
    assert set(verdicts) <= {"pass", "miss"}
    assert status == (1 if "miss" in verdicts else 0)
    assert str(tmp_path / "report" / "index.html") in err
    names = {p.name for p in (tmp_path / "report").iterdir()}
    assert names == {
        "index.html",
        "cdg2011-fig7.png",
        "cdg2011-fig7.parquet",
        "claims.md",
        "claims.parquet",
        "inputs.json",
        "run.json",
    }


@pytest.mark.parametrize("finishing", [0, 1])
def test_an_interrupted_reproduction_prints_its_finished_experiments_as_json(
    capsys, tmp_path, monkeypatch, finishing
):
    run_jobs = Simulator.run

    def interrupted(*arguments, **options):
        yield from islice(run_jobs(*arguments, **options), finishing)
        raise Interrupted

    monkeypatch.setattr(Simulator, "run", interrupted)
    ids = ("cdg2011-fig7", "cdg2011-fig4")
    status, out, err = run(
        capsys,
        "reproduce",
        *ids,
        "--quick",
        "--json",
        "--engine",
        "sim:threads=1",
        "--out",
        tmp_path / "report",
    )
    experiments = json.loads(out)["experiments"]
    assert status == 130
    assert "interrupted: judged on what had finished" in err
    assert {e["id"] for e in experiments} == set(ids)
    assert sum(e["runs_done"] for e in experiments) == finishing
    assert all(e["runs_done"] < e["runs"] for e in experiments)
    assert [bool(e["claims"]) for e in experiments] == [e["runs_done"] > 0 for e in experiments]
    assert (tmp_path / "report").exists() == (finishing > 0)
    # A claim on a run that has not finished is not judged, however many others it needs.
    lacking = [
        c for e in experiments for c in e["claims"] if c["measured"] is None and c["verdict"] == "miss"
    ]
    assert lacking == []


def test_an_interrupted_live_reproduction_goes_on_where_it_stopped(capsys, tmp_path, kernel):
    folder = tmp_path / "out"
    command = ("reproduce", "cdg2011-fig7", "--live", "--quick", "--json", "--out", folder)
    kernel.left = 2
    status, out, err = run(capsys, *command)
    assert status == 130, err
    assert f"the same command continues with the runs in {folder}" in err
    (experiment,) = json.loads(out)["experiments"]
    assert experiment["runs_done"] == experiment["runs"]
    assert len(list((folder / "live").iterdir())) == 2
    assert "Live: 2 runs" in (folder / "index.html").read_text()

    kernel.left = 1000
    status, out, err = run(capsys, *command)
    assert status in (0, 1), err
    assert "2 live runs are taken from" in err
    assert kernel.started == experiment["runs"]
    (whole,) = json.loads(out)["experiments"]
    assert all(claim["live"] == claim["linux"] != claim["measured"] for claim in whole["claims"])
    assert f"Live: {whole['runs']} runs" in (folder / "index.html").read_text()
    assert "was started with quick True, and now it is False" in refused(
        capsys, "reproduce", "cdg2011-fig7", "--live", "--out", folder
    )


def test_the_tables_of_a_paper_stand_in_the_report(capsys, tmp_path):
    status, _, _ = run(capsys, "reproduce", "da1992-table1", "--out", tmp_path / "report")
    assert status == 0
    table = (tmp_path / "report" / "da1992-table1.md").read_text()
    assert "| JK source | 221.4 (221) |" in table
    assert (tmp_path / "report" / "da1992-table1.parquet").exists()
    assert "<td>DA source</td>" in (tmp_path / "report" / "index.html").read_text().replace(' class=""', "")


LONG = ["--set=duration=1800s", "--set=record.flow_series=off", "--repeat=400", "--engine=sim:threads=1"]
"""Repetitions of half an hour: the first take a moment, all of them much longer than a test waits."""


def finished_runs(folder):
    """The runs that are saved in the unfinished report beside ``out``."""
    return list(folder.glob(".out.ackclock-*/*-seed-*/run.json"))


def test_a_log_gets_a_line_a_minute_about_long_work(capsys, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(output.time, "monotonic", lambda: now[0])
    with output.progress("9 experiments") as at:
        for now[0], fraction in ((1.0, 0.0), (59.0, 0.1), (60.0, 0.0), (90.0, 0.2), (120.0, 0.4)):
            at(fraction)
    first, second = capsys.readouterr().err.splitlines()
    assert first == "9 experiments: 0 % done after 1 min"
    # 40 % took two minutes, so the other 60 % take three.
    assert re.fullmatch(r"9 experiments: 40 % done, 3 min left, ends at \d\d:\d\d", second)


@pytest.mark.parametrize("fraction", [1e-4, 1e-9, 5e-324])
def test_a_line_of_progress_names_no_end_in_the_far_future(fraction):
    # A minute for 1 part in 10,000 is a week; a controller that never returns has done less.
    assert output.progress_line("a run", fraction, 61.0) == "a run: 0 % done after 1 min"


@pytest.mark.parametrize(
    "command",
    [
        ["run", "{scenario}", "--set", "duration=1s"],
        ["sweep", "cubic", "--over", "queue=5p,9p", "--duration", "200ms"],
        ["matrix", "cubic", "newreno", "--duration", "2s", "--warmup", "0s"],
        ["reproduce", "da1992-fig3", "--quick"],
    ],
)
def test_the_table_comes_before_the_figures(command, scenario, tmp_path, monkeypatch):
    drawn = []

    class Output(io.StringIO):
        def write(self, text):
            drawn.append(text)
            return super().write(text)

    monkeypatch.setattr(sys, "stdout", Output())
    write = Page.write
    monkeypatch.setattr(Page, "write", lambda page, path: (drawn.append(page), write(page, path))[1])
    filled = [part.format(scenario=scenario) for part in command]
    assert main([*filled, "--out", str(tmp_path / "out")]) in (0, 1)
    pages = [number for number, one in enumerate(drawn) if isinstance(one, Page)]
    assert pages
    assert "".join(drawn[: pages[0]]).count("\n") >= 4
    assert "".join(one for one in drawn[pages[0] :] if isinstance(one, str)) == ""


@pytest.mark.parametrize("reading_again", [False, True])
def test_a_report_is_written_whole_where_nobody_reads_the_table(scenario, tmp_path, reading_again):
    command = [sys.executable, "-m", "ackclock.cli", "run", str(scenario), "--set=duration=1s"]
    if reading_again:
        subprocess.run([*command, "--out", str(tmp_path / "before")], stdout=subprocess.DEVNULL, check=True)
        command = [sys.executable, "-m", "ackclock.cli", "read", str(tmp_path / "before")]
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as closed:
        done = subprocess.run([*command, "--out", str(tmp_path / "out")], stdout=closed, check=False)
    assert done.returncode == 141
    made = {"index.html", "overview.png"} if reading_again else {"index.html", "overview.png", "run.json"}
    assert made <= {file.name for file in (tmp_path / "out").iterdir()}


def test_finished_runs_survive_a_closed_terminal(scenario, tmp_path):
    command = [sys.executable, "-m", "ackclock.cli", "run", str(scenario), *LONG]
    if not os.access("/dev/ptmx", os.W_OK):
        pytest.skip("this machine gives no terminals")
    child, terminal = pty.fork()
    if child == 0:
        os.execv(sys.executable, [*command, "--out", str(tmp_path / "out")])
    os.set_blocking(terminal, False)
    while not finished_runs(tmp_path):
        with contextlib.suppress(BlockingIOError):
            # Its progress bar must not fill the terminal.
            os.read(terminal, 65536)
        time.sleep(0.05)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 130
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["runs"]


def test_ctrl_c_saves_finished_runs_and_ends_at_once(scenario, tmp_path):
    out_folder = tmp_path / "out"
    command = [
        sys.executable,
        "-m",
        "ackclock.cli",
        "run",
        str(scenario),
        *LONG,
        "--out",
        str(out_folder),
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not finished_runs(tmp_path):
        assert process.poll() is None
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, err
    assert "finished runs are in" in err
    kept = json.loads((out_folder / "summary.json").read_text())["runs"]
    assert 1 <= len(kept) < 400
