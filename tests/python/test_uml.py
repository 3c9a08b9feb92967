"""Kernels in virtual time: building them, running on them, and how they fail.

If no kernel is built, the tests that need one skip. A program in its place shows the failures.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

import ackclock
from ackclock import _engine
from ackclock.engines import Job
from ackclock.engines.options import declared
from ackclock.engines.simulator import Simulator
from ackclock.engines.uml import Uml
from ackclock.errors import InputError
from ackclock.uml import build, guest, kernels, machine, recipe, sources
from calling import PATIENCE, needs_live, refused, run, wait_until

PATH = {"rate": "10mbit", "rtt": "40ms", "queue": "1bdp"}


def plan(*ccs, duration="3s", path=PATH, **record):
    """A plan of flows with these controllers."""
    flows = [{"cc": cc, "start_jitter": "0.5s"} for cc in ccs]
    document = {"name": "small", "duration": duration, "path": path, "flows": flows, "record": record}
    return _engine.resolve_json(json.dumps(document), [], _engine.Files(ccs))


@pytest.fixture(scope="session")
def kernel():
    """The newest kernel that is built. Skips without one."""
    if "uml" not in _engine.engines():
        pytest.skip("built without live runs")
    try:
        return kernels.find()
    except _engine.MachineError as error:
        pytest.skip(str(error))


def tables(jobs, **options):
    """The tables of each job."""
    found = {
        index: {name: run.table(name) for name in run.table_names} for index, run in Uml(**options).run(jobs)
    }
    return [found[index] for index in range(len(jobs))]


def processes(word):
    """The processes with a word in their command."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            command = (place / "cmdline").read_bytes().decode(errors="replace")
            state = (place / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if word in command and state != "Z" and int(place.name) != os.getpid():
            found.append(int(place.name))
    return found


@pytest.fixture
def pretended(tmp_path, monkeypatch):
    """Makes a program in place of a kernel, and lists it as built."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def make(script, release="6.1.7"):
        place = kernels.place(release)
        place.mkdir(parents=True)
        program = place / kernels.PROGRAM
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        kernels.Kernel(release, recipe.digest(), ["reno", "cubic"], [], program).save()
        return program

    return make


# Building


def test_the_configuration_has_every_controller_and_its_digest_follows_it(monkeypatch):
    options = recipe.options().splitlines()
    assert "CONFIG_TCP_CONG_HSTCP=y" in options
    assert {f"CONFIG_TCP_CONG_{name.upper()}=y" for name in ("vegas", "dctcp", "bbr")} <= {*options}
    before = recipe.digest()
    monkeypatch.setattr(recipe, "CONTROLLERS", ["vegas"])
    assert recipe.digest() != before


def test_edits_replace_their_lines_and_refuse_sources_without_them(tmp_path):
    for edit in recipe.EDITS:
        file = tmp_path / edit.file
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text((file.read_text() if file.exists() else "") + edit.old)
    recipe.apply(tmp_path)
    assert "default 250" in (tmp_path / "arch/um/Kconfig").read_text()
    missing = r"^arch/um/Kconfig has not the lines to change \(250 ticks a second"
    with pytest.raises(ValueError, match=missing):
        recipe.apply(tmp_path)


def test_sources_that_are_none_are_refused(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "SOURCES", tmp_path)
    assert "no sources of Linux in" in refused(capsys, "kernel", "build")
    empty = tmp_path / "linux"
    empty.mkdir()
    assert refused(capsys, "kernel", "build", empty) == (
        f"{empty}: is no tree of the sources of Linux: it has no arch/um/Kconfig"
    )
    file = tmp_path / "notes.txt"
    file.write_text("no archive")
    assert "must be a tree of the sources of Linux, or an archive of one" in refused(
        capsys, "kernel", "build", file
    )
    for version in ("6.9", "6.12", "6.1"):
        (tmp_path / f"linux-source-{version}.tar.xz").touch()
    assert sources.find(None).name == "linux-source-6.12.tar.xz"
    assert sources.find(None, oldest=True).name == "linux-source-6.1.tar.xz"


def test_a_build_that_cannot_succeed_says_why_and_leaves_nothing(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    tree = tmp_path / "linux-9.9"
    (tree / "arch/um").mkdir(parents=True)
    (tree / "arch/um/Kconfig").write_text("config SOMETHING\n")
    monkeypatch.setattr(shutil, "which", "/usr/bin/{}".format)
    archive = tmp_path / "linux-9.9.tar"
    with tarfile.open(archive, "w") as packed:
        packed.add(tree, "linux-9.9")
    sentence = refused(capsys, "kernel", "build", archive)
    assert "this version of Linux cannot be built yet: arch/um/Kconfig has not the lines to" in sentence
    assert [file.name for file in kernels.folder().iterdir()] == [build.LOG]
    monkeypatch.setattr(shutil, "which", lambda tool: None if tool in ("flex", "bc") else f"/usr/bin/{tool}")
    assert refused(capsys, "kernel", "build", archive) == "building a kernel needs flex, bc: install them"


# Kernels that are built


@needs_live
def test_a_kernel_is_found_by_its_version(capsys, pretended, monkeypatch):
    assert refused(capsys, "run", "x.toml", "--engine", "uml") == (
        "no kernel is built for virtual time: `ackclock kernel build` builds one"
    )
    for release in ("6.9.1", "6.12.3", "6.1.7"):
        pretended("exit 0", release)
    assert [kernel.release for kernel in kernels.built()] == ["6.1.7", "6.9.1", "6.12.3"]
    assert kernels.find().release == "6.12.3"
    assert kernels.find("6.1").release == "6.1.7"
    with pytest.raises(InputError, match=r"linux=7: no such kernel is built.*6\.1\.7, 6\.9\.1, 6\.12\.3"):
        kernels.find("7")
    _, out, _ = run(capsys, "kernel", "built", "--json")
    assert [one["release"] for one in json.loads(out)["kernels"]] == ["6.1.7", "6.9.1", "6.12.3"]
    assert declared(Uml)["linux"][1].known() == ["6.1.7", "6.9.1", "6.12.3"]
    assert Uml(linux="6.1").identity()["linux"] == "6.1.7"
    # Another recipe makes other kernels.
    monkeypatch.setattr(recipe, "CONTROLLERS", ["vegas"])
    assert kernels.built() == []


def test_doctor_says_what_is_missing(capsys, pretended, monkeypatch, tmp_path):
    monkeypatch.setattr(sources, "SOURCES", tmp_path)

    def missing():
        _, out, _ = run(capsys, "show", "machine", "--json")
        found = [one for one in json.loads(out)["findings"] if one["purpose"] == "kernels in virtual time"]
        return [one["remedy"] for one in found if not one["there"]]

    assert missing()[-2:] == ["apt install linux-source, or name a tree of your own", "ackclock kernel build"]
    pretended("exit 0")
    assert not {"ackclock kernel build"} & {*missing()}


@needs_live
def test_options_of_the_engine_are_refused_elsewhere(capsys, pretended, scenario):
    pretended("exit 0")
    assert refused(capsys, "run", scenario, "--engine", "sim:linux=6.1") == (
        "--engine sim:linux=6.1: there is no option `linux` (it has threads, cores)"
    )
    assert refused(capsys, "run", scenario, "--engine", "uml:kernels=0").endswith("must be at least 1")
    assert "takes neither --profile nor --set" in refused(
        capsys, "replay", "x.pkt", "--engine", "uml", "--profile", "rfc"
    )


# Kernels that fail


@pytest.mark.parametrize(
    ("script", "what"),
    [
        ("echo booting; echo 'Kernel panic - not syncing: VFS'; exit 134", "ended before its work was done"),
        (
            "echo booting; echo 'Out of memory: Killed process 1 (python)'; kill -9 $$",
            "ended before its work",
        ),
        ("echo booting; echo all is well", "ended before its work was done"),
        ("echo booting; echo waiting; sleep 600", "reported nothing for 3 s and was stopped"),
        ("echo booting; echo spinning; while :; do :; done", "reported nothing for 3 s and was stopped"),
    ],
)
def test_a_kernel_that_fails_is_one_sentence_with_the_end_of_its_console(
    pretended, monkeypatch, script, what
):
    # A busy machine takes longer than that to start one that fails at once.
    monkeypatch.setattr(machine, "PATIENCE_S", 3 if "nothing" in what else PATIENCE)
    program = pretended(script)
    with pytest.raises(_engine.MachineError, match=what) as raised:
        list(Uml(kernels=1).run([Job(plan("newreno"), 1)]))
    assert "the end of its console: booting" in str(raised.value)
    assert "\n" not in str(raised.value)
    wait_until(lambda: not processes(str(program)))


def test_an_interruption_leaves_no_process_and_no_folder(pretended, monkeypatch, tmp_path):
    monkeypatch.setattr(machine.tempfile, "tempdir", str(tmp_path))
    program = pretended("sleep 600 & sleep 600")

    def interrupt(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(Uml(kernels=2).run([Job(plan("newreno"), seed) for seed in (1, 2)], interrupt))
    wait_until(lambda: not processes(str(program)))
    assert list(tmp_path.glob("ackclock-uml-*")) == []


@pytest.mark.usefixtures("kernel")
def test_a_kernel_ends_with_the_process_that_started_it(tmp_path):
    script = tmp_path / "start.py"
    script.write_text(
        "import json\nfrom ackclock import _engine\nfrom ackclock.engines import Job\n"
        "from ackclock.engines.uml import Uml\n"
        f"plan = _engine.resolve_json({json.dumps(json.dumps(LONG))}, [])\n"
        "for _ in Uml(kernels=1).run([Job(plan, 1)]): pass\n"
    )
    own = tmp_path / "own"
    own.mkdir()
    started = subprocess.Popen([sys.executable, script], env=os.environ | {"TMPDIR": str(own)})
    try:
        wait_until(lambda: list(own.glob("ackclock-uml-*/results/report")))
        assert processes(str(own))
    finally:
        started.send_signal(signal.SIGKILL)
        started.wait(PATIENCE)
    wait_until(lambda: not processes(str(own)))


LONG = {"duration": "3600s", "path": PATH, "flows": [{"cc": "newreno"}]}


# Runs


@pytest.mark.usefixtures("kernel")
def test_the_same_seed_gives_the_same_bytes_whatever_runs_before_and_beside_it():
    ccs = ("newreno", "cubic", "htcp", "vegas", "bbr1", "cdg")
    jobs = [Job(plan(cc, "newreno", path=PATH | {"loss": "0.1%"}), 7) for cc in ccs]
    # The kernel draws the hash of its flow queues at random.
    ccs += ("fq_codel",)
    jobs.append(Job(plan("cubic", "newreno", path=PATH | {"queue": {"discipline": "fq_codel"}}), 7))
    first, again = tables(jobs, kernels=1), tables(jobs[::-1], kernels=2)[::-1]
    for cc, one, other in zip(ccs, first, again, strict=True):
        assert [name for name in one if not one[name].equals(other[name])] == [], cc


@pytest.mark.usefixtures("kernel")
def test_neither_files_nor_load_nor_environment_of_the_host_change_the_bytes(tmp_path, monkeypatch):
    jobs = [Job(plan("cubic", "vegas", path=PATH | {"loss": "0.1%"}), 7)]
    [first] = tables(jobs)
    folder = tmp_path / "a-longer-path"
    folder.mkdir()
    # Modules are looked for here first, which takes system calls.
    for name in ("one", "two", "none"):
        monkeypatch.syspath_prepend(str(folder / name))
    for name in ("one", "two"):
        (folder / name).mkdir()
    monkeypatch.setattr(machine.tempfile, "tempdir", str(folder))
    monkeypatch.setenv("ACKCLOCK_OTHER", "x" * 1000)
    busy = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(3)]
    try:
        [again] = tables(jobs)
    finally:
        for one in busy:
            one.kill()
            one.wait()
    assert [name for name in first if not first[name].equals(again[name])] == []


def test_a_run_has_the_tables_of_a_simulated_one_and_names_its_kernel(kernel):
    jobs = [Job(plan("cubic", duration="5s"), 1)]
    [(_, run)] = Uml().run(jobs)
    assert run.engine["kind"] == "uml"
    assert run.engine["kernel"] == kernel.release
    assert run.valid
    assert run.engine["lateness_us"]["max"] < 1000
    assert run.engine["wall_s"] > 0
    simulated = ackclock.simulate(
        ackclock.Path(**PATH), [ackclock.Flow("cubic", profile="linux")], duration="5s"
    )
    for name in run.table_names:
        assert run.table(name).schema == simulated.table(name).schema
    [goodput] = run.flows["goodput_bps"].to_pylist()
    assert 8e6 < goodput < 10e6


def test_every_controller_of_the_kernel_runs_by_its_name(kernel):
    names = [name for name in kernel.controllers if name != "reno"]
    jobs = [Job(plan(name, duration="2s"), 1) for name in names]
    for name, found in zip(names, tables(jobs), strict=True):
        assert found["flows"]["goodput_bps"].to_pylist()[0] > 1e6, name


DISCIPLINES = {
    "codel": {"discipline": "codel"},
    "fq_codel": {"discipline": "fq_codel", "ecn": False},
    "pie": {"discipline": "pie"},
    "fq_pie": {"discipline": "fq_pie"},
    "red": {"discipline": "red", "limit": "200kB", "min": "15kB", "max": "45kB", "avpkt": "1500B"},
    "cake": {"discipline": "cake"},
}


def test_the_kernels_disciplines_are_the_queues_that_scenarios_name(kernel):
    assert {*DISCIPLINES} <= {*kernel.disciplines}
    queues = [*DISCIPLINES.values(), {"limit": "1bdp"}]
    jobs = [Job(plan("cubic", duration="6s", path=PATH | {"queue": queue}), 1) for queue in queues]
    runs, simulated = dict(Uml().run(jobs)), dict(Simulator().run(jobs))
    means = {}
    for index, name in enumerate([*DISCIPLINES, "fifo"]):
        run = runs[index]
        assert run.valid, run.engine["reasons"]
        spelled = run.engine["queues"]
        assert spelled == {} if name == "fifo" else spelled["bottleneck"].startswith(name)
        row, of_simulator = (
            next(row for row in one.links.to_pylist() if row["name"] == "bottleneck")
            for one in (run, simulated[index])
        )
        assert row["utilization"] == pytest.approx(of_simulator["utilization"], abs=0.02), name
        left = row["arrived_packets"] - row["departed_packets"] - row["dropped_packets"]
        assert 0 <= left <= row["queue_packets_max"] + 1, name
        assert row["dropped_packets"] == run.events["kind"].to_pylist().count("drop"), name
        means[name] = row["queue_packets_mean"]
    # Active queue management keeps the queue short.
    assert max(means[name] for name in DISCIPLINES) < means["fifo"]


@pytest.mark.usefixtures("kernel")
def test_a_fifo_of_the_kernel_is_the_simulators():
    jobs = [Job(plan("newreno", "cubic", duration="6s"), 3)]
    [simulated] = tables(jobs, disciplines="simulated")
    [own] = tables(jobs, disciplines="kernel")
    for key in ("utilization", "queue_packets_mean", "dropped_packets"):
        pair = [
            next(row[key] for row in one["links"].to_pylist() if row["is_bottleneck"])
            for one in (simulated, own)
        ]
        assert pair[1] == pytest.approx(pair[0], rel=0.05), key


@pytest.mark.usefixtures("kernel")
def test_marks_of_the_kernels_queue_reach_the_flows():
    document = {
        "duration": "5s",
        "path": PATH | {"queue": {"discipline": "codel", "ecn": True}},
        "flows": [{"cc": "newreno", "transport": {"ecn": True}}],
    }
    [(_, run)] = Uml().run([Job(_engine.resolve_json(json.dumps(document), []), 1)])
    [row] = [row for row in run.links.to_pylist() if row["name"] == "bottleneck"]
    [flow] = run.flows.to_pylist()
    assert row["marked_packets"] > 3
    assert row["dropped_packets"] == 0
    assert flow["marked_packets"] in (row["marked_packets"], row["marked_packets"] - 1)
    kinds = run.events["kind"].to_pylist()
    assert kinds.count("mark") == row["marked_packets"]


@pytest.mark.usefixtures("kernel")
def test_a_queue_that_the_kernel_cannot_be_is_refused_where_it_is_asked_for(capsys, tmp_path):
    def sentence(queue, engine):
        file = tmp_path / "a.toml"
        file.write_text(
            f'duration = "1s"\npath = {{ rate = "10mbit", rtt = "40ms", queue = {queue} }}\n'
            'flows = [{ cc = "newreno" }]\n'
        )
        return refused(capsys, "run", file, "--engine", engine)

    delay = '{ discipline = "codel", limit = "50ms" }'
    assert "its limit in `tc` is one in packets" in sentence(delay, "uml:disciplines=kernel")
    assert "must be 'kernel' or 'simulated'" in sentence('"1bdp"', "uml:disciplines=fast")
    with pytest.raises(ValueError, match="disciplines is 'fast': must be 'kernel' or 'simulated'"):
        Uml(disciplines="fast")


@pytest.mark.usefixtures("kernel")
def test_a_packet_capture_is_written_where_it_was_asked_for(tmp_path):
    file = tmp_path / "packets.pcapng"
    list(Uml().run([Job(plan("newreno", duration="1s"), 1, str(file))]))
    assert file.stat().st_size > 10_000


@pytest.mark.parametrize(
    ("cc", "record", "why"),
    [
        ("siad", {}, "`siad` is ackclock's own controller for the kernel, which needs BPF"),
        ("kernel/newreno.bpf.c", {}, "is a controller in C, which needs BPF"),
        ("newreno", {"flow_series": "1ack"}, "record.flow_series: `1ack` needs the kernel's trace"),
        ("nonesuch", {}, "the kernel has no congestion controller `nonesuch`; it has"),
    ],
)
@pytest.mark.usefixtures("kernel")
def test_what_the_kernel_cannot_run_is_refused_by_name(cc, record, why):
    with pytest.raises(ackclock.ScenarioError, match=why.replace("`", ".").replace(".", r".")):
        Uml().check(plan(cc, **record))


@pytest.mark.usefixtures("kernel")
def test_a_failure_in_a_run_is_that_of_the_run():
    jobs = [Job(plan("newreno", duration="1s"), 1), Job(plan("siad", duration="1s"), 1)]
    with pytest.raises(ackclock.ScenarioError, match="`siad` is ackclock's own controller for the kernel"):
        tables(jobs, kernels=1)


def test_a_task_comes_from_any_module_that_the_host_finds(kernel, tmp_path, monkeypatch):
    (tmp_path / "errand.py").write_text(
        "class Errand:\n    def run(self, results):\n        (results / 'found').write_text('here')\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    import errand

    with machine.Machine(kernel.program, errand.Errand()) as one:
        while one.running():
            time.sleep(0.05)
        assert (one.results / "found").read_text() == "here"


@pytest.mark.usefixtures("kernel")
def test_packet_scripts_run_on_the_kernel_and_are_not_late(capsys, tmp_path, monkeypatch):
    scripts = Path("tests/packetdrill").resolve()
    monkeypatch.chdir(tmp_path)
    text = (scripts / "handshake.pkt").read_text()
    Path("wrong.pkt").write_text(text.replace("tcpi_snd_cwnd == 10", "tcpi_snd_cwnd == 11"))
    status, out, _ = run(
        capsys, "replay", scripts / "timer-ticks.pkt", "wrong.pkt", "--engine", "uml", "--json"
    )
    good, wrong = json.loads(out)["scripts"]
    assert status == 1
    assert good["verdict"] == "match"
    assert (wrong["file"], wrong["verdict"]) == ("wrong.pkt", "divergence")
    assert "tcpi_snd_cwnd" in wrong["why"]
    assert "late" not in wrong["why"]
    assert refused(capsys, "replay", "none.pkt", "--engine", "uml") == "none.pkt: No such file or directory"


def test_differential_runs_are_recorded_from_a_kernel_of_a_version(kernel, capsys, tmp_path):
    file = tmp_path / "losses.json.gz"
    drawn = ("--runs", 3, "--faults", "losses", "--record", file)
    status, out, _ = run(capsys, "kernel", "differential", "--engine", "uml", *drawn, "--json")
    found = json.loads(out)
    assert found["kernel"] == kernel.release
    assert len(found["runs"]) == 3
    assert run(capsys, "kernel", "differential", file, "--json")[:2] == (status, out)


def test_kernels_side_by_side_have_a_core_each(monkeypatch):
    # Kernels of other processes may run at this time.
    monkeypatch.setattr(machine, "CORE", f"\0ackclock-test-{os.getpid()}-")
    cores = sorted(os.sched_getaffinity(0))
    with ExitStack() as first, ExitStack() as second:
        assert [machine.take_core(first) for _ in cores] == cores
        assert machine.take_core(second) is None
        first.close()
        assert machine.take_core(second) == cores[0]


def test_a_command_runs_inside_a_kernel(kernel):
    with machine.Machine(kernel.program, guest.RunCommand(["uname", "-r"], "/")) as one:
        while one.running():
            time.sleep(0.05)
        assert (one.results / "output").read_text().strip() == kernel.release
        assert (one.results / "status").read_text() == "0"


def test_a_command_reports_so_it_may_take_longer_than_a_kernel_may_be_silent(kernel):
    with machine.Machine(kernel.program, guest.RunCommand(["sleep", "100"], "/")) as one:
        while one.running():
            time.sleep(0.05)
        assert float(one.report()) > 100
        assert (one.results / "status").read_text() == "0"
