"""Interruptions: finished work stays, and nothing else does."""

import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import time

import pytest

import ackclock
from ackclock import Run
from ackclock.cli import status
from ackclock.sweeps import work
from calling import PATIENCE, run, wait_until

COMMAND = [sys.executable, "-m", "ackclock.cli"]


def test_an_interrupted_run_leaves_no_capture_and_prints_no_json(scenario, tmp_path):
    settings = ("--set", "duration=100000s", "--set", "record.events=false")
    command = [*COMMAND, "run", scenario, *settings, "--pcap", tmp_path / "x.pcapng", "--json"]
    process = subprocess.Popen(
        list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    wait_until((tmp_path / "x.pcapng").exists)
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (130, "")
    assert err.strip() == "interrupted"
    assert [p.name for p in tmp_path.iterdir()] == ["in"]


@pytest.mark.parametrize("signals", [[signal.SIGINT], [signal.SIGINT] * 3])
def test_an_interruption_while_drawing_costs_no_run(capsys, scenario, tmp_path, monkeypatch, signals):
    def drawing(_):
        for number in signals:
            os.kill(os.getpid(), number)
        time.sleep(20)

    monkeypatch.setattr("ackclock.plots.overview.stack", drawing)
    out = tmp_path / "out"
    status, _, err = run(capsys, "run", scenario, "--repeat", 2, "--out", out)
    assert status == 130
    assert f"interrupted; 2 finished runs are in {out}" in err
    assert "Interrupted: the runs that had finished" in (out / "index.html").read_text()
    assert [Run.load(out / f"small-seed-{seed}").seed for seed in (1, 2)] == [1, 2]


def test_an_interruption_while_saving_leaves_the_run_whole(capsys, scenario, tmp_path, monkeypatch):
    save = Run.save

    def interrupted(self, folder):
        os.kill(os.getpid(), signal.SIGINT)
        return save(self, folder)

    monkeypatch.setattr(Run, "save", interrupted)
    status, _, err = run(capsys, "run", scenario, "--out", tmp_path / "out")
    assert (status, "1 finished runs" in err) == (130, True)
    assert Run.load(tmp_path / "out").flows.num_rows == 1


def test_an_interruption_of_a_report_of_experiments_costs_no_claim(capsys, tmp_path, monkeypatch):
    def drawing(*_):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(20)

    monkeypatch.setattr("ackclock.papers.figures.PaperFigure.draw", drawing)
    status, _, err = run(capsys, "reproduce", "cdg2011-fig7", "--quick", "--out", tmp_path / "out")
    assert status == 130
    assert "interrupted" in err
    assert "cdg2011-fig7" in (tmp_path / "out" / "claims.md").read_text()


def test_an_interruption_outside_of_runs_is_reported(capsys, scenario, monkeypatch):
    def reading(_):
        raise KeyboardInterrupt

    monkeypatch.setattr("ackclock.cli.run._read", reading)
    assert run(capsys, "run", scenario) == (130, "", "ackclock: interrupted\n")


def test_an_interruption_while_options_are_read_is_reported(capsys, scenario, monkeypatch):
    def reading(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("click.Group.make_context", reading)
    assert run(capsys, "run", scenario) == (130, "", "ackclock: interrupted\n")


def test_an_endless_loop_in_a_controller_can_be_interrupted():
    program = (
        "import os, signal, threading, ackclock\n"
        "class Endless(ackclock.Controller):\n"
        "    def on_ack(self, cx, ack):\n"
        "        started.set()\n"
        "        while True: pass\n"
        "    def on_loss(self, cx, loss): pass\n"
        "    def on_timeout(self, cx, loss): pass\n"
        "started = threading.Event()\n"
        "def interrupt():\n"
        "    started.wait()\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "threading.Thread(target=interrupt).start()\n"
        "path = ackclock.Path('10mbit', '40ms', '84p')\n"
        "try: ackclock.simulate(path, [Endless], duration='10s')\n"
        "except KeyboardInterrupt: print('interrupted')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENCE)
    assert (done.returncode, done.stdout, done.stderr) == (0, "interrupted\n", "")


EARLY = """
import builtins, os, signal, sys
from ackclock.cli import main

sys.argv = ["ackclock", *sys.argv[3:]]
module, number = sys.orig_argv[3], int(sys.orig_argv[4])
original = builtins.__import__

def interrupted(name, *rest, **options):
    if name == module:
        # As a text that is executed, like the methods of dataclasses.
        exec(f"os.kill(os.getpid(), {number})\\nfor _ in range(99): pass")
    return original(name, *rest, **options)

builtins.__import__ = interrupted
sys.exit(main())
"""


DROPPED = EARLY.replace(
    "original =",
    """
class Dropping:
    def __del__(self):
        os.kill(os.getpid(), number)
        for _ in range(99):
            pass

original =""",
).replace(
    """exec(f"os.kill(os.getpid(), {number})\\nfor _ in range(99): pass")""",
    f"""Dropping()
        time.sleep({PATIENCE})""",
)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_within_a_destructor_ends_the_command(tmp_path, number):
    (tmp_path / "dropped.py").write_text(f"import time\n{DROPPED}")
    command = [sys.executable, "-m", "dropped", "click", str(int(number)), "--version"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (130, "ackclock: interrupted\n")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize(
    ("module", "arguments"), [("click", ["--version"]), ("ackclock.result", ["run", "missing.toml"])]
)
def test_a_signal_during_imports_ends_the_command_in_one_line(tmp_path, module, number, arguments):
    (tmp_path / "early.py").write_text(EARLY)
    command = [sys.executable, "-m", "early", module, str(int(number)), *arguments]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (130, "ackclock: interrupted\n")


IMPORTING = """
import builtins, os, signal
import ackclock

original = builtins.__import__

def interrupted(name, *rest, **options):
    if name == "ackclock.result":
        os.kill(os.getpid(), signal.SIGINT)
    return original(name, *rest, **options)

builtins.__import__ = interrupted
ackclock.simulate
"""


def test_a_program_decides_itself_about_ctrl_c_during_imports():
    ran = subprocess.run([sys.executable, "-c", IMPORTING], capture_output=True, text=True, check=False)
    assert ran.stderr.endswith("KeyboardInterrupt\n")


def test_ctrl_c_while_workers_start_reaches_the_sweep_alone(tmp_path):
    command = [
        *COMMAND,
        "sweep",
        "cdg",
        "cubic",
        "--over",
        "queue=1bdp,2bdp",
        "--executor",
        "local:2",
        "--out",
        "out",
    ]
    process = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, process_group=0
    )
    children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")

    def workers():
        found = [pathlib.Path("/proc", child) for child in children.read_text().split()]
        return [child for child in found if b"popen_loky_posix" in (child / "cmdline").read_bytes()]

    wait_until(lambda: workers() or process.poll() is not None)
    assert process.returncode is None, process.communicate()
    # Before the worker ignores Ctrl-C it imports for a second: it must not get the signal then.
    status = (workers()[0] / "status").read_text()
    masks = [int(mask, 16) for mask in re.findall(r"^Sig(?:Blk|Ign):\t(\w+)", status, re.MULTILINE)]
    assert any(mask & 1 << (signal.SIGINT - 1) for mask in masks), status
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert re.fullmatch(
        r"interrupted after \d of 4 runs; the same command continues with those in out\n", err
    )


@pytest.mark.parametrize("gap", [0.0, 0.35])
@pytest.mark.parametrize(
    "command",
    [
        "matrix newreno ./mine.py --repeat 2 --duration 20000s --out out --force",
        "sweep newreno --over queue=1bdp,2bdp --duration 20000s --out out --force --executor dask",
    ],
)
def test_a_second_signal_leaves_no_command_that_waits_for_its_workers(tmp_path, command, gap):
    """To the group at once, as of `timeout -s INT`: the process that watches passes its own on."""
    if "dask" in command:
        pytest.importorskip("distributed")
    methods = "".join(f"    def {one}(self, cx, what): pass\n" for one in ("on_ack", "on_loss", "on_timeout"))
    (tmp_path / "mine.py").write_text(f"import ackclock\nclass Mine(ackclock.Controller):\n{methods}")
    for delay in (0.3, 0.4, 0.5, 0.7, 1.2):
        process = subprocess.Popen(
            [*COMMAND, *command.split()],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            process_group=0,
        )
        time.sleep(delay)
        os.killpg(process.pid, signal.SIGINT)
        time.sleep(gap)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGINT)
        try:
            _, err = process.communicate(timeout=PATIENCE)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
        # Python itself had the signal where it began.
        assert process.returncode in (130, -signal.SIGINT), err
        assert b"Traceback" not in err or b"ackclock: " not in err, err


def test_signals_at_once_are_one_and_later_ones_are_others(monkeypatch):
    now = [10.0]
    monkeypatch.setattr(status.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(status, "_last", float("-inf"))

    def interrupts(at):
        now[0] = at
        try:
            status.interrupt()
        except status.Interrupted:
            return True
        return False

    # The last of those that follow at once counts.
    assert [interrupts(at) for at in (10.0, 10.1, 10.3, 10.7)] == [True, False, False, True]


def test_a_chunk_that_waited_while_its_sweep_was_stopped_makes_no_run(tmp_path):
    class Engine:
        def run(self, jobs, progress):
            raise AssertionError("a run begins")

    (tmp_path / work.CHUNKS).mkdir()
    (tmp_path / work.CHUNKS / work.STOP).touch()
    assert work.run(work.Chunk((), tmp_path, Engine())) == work.Done(0, 0.0, 0.0, ())


def test_each_block_that_a_signal_ends_looks_for_an_earlier_one():
    files = sorted(pathlib.Path(ackclock.__file__).parent.glob("cli/*.py"))
    blocks = [
        re.findall(r"\.stoppable\(\).*:\n((?: *#.*\n)*.*)\n", file.read_text("utf-8")) for file in files
    ]
    begins = [block.splitlines()[-1].strip() for found in blocks for block in found]
    assert len(begins) > 8
    assert set(begins) == {"interrupts.check()"}


def test_no_block_swallows_a_signal():
    # What only notes a signal must ask for it, by the name of the handler.
    for file in pathlib.Path(ackclock.__file__).parent.glob("cli/*.py"):
        for named in re.findall(r"with Interrupts\(\)(.{0,15})", file.read_text("utf-8")):
            assert named.startswith(" as interrupts"), file


def test_no_command_ends_at_a_signal_without_a_word():
    # The status alone is for `leave_interrupted`; Interrupted is said where commands end.
    for file in pathlib.Path(ackclock.__file__).parent.glob("cli/*.py"):
        alone = re.findall(r"Exit\(INTERRUPTED\)", file.read_text("utf-8"))
        assert len(alone) == (file.name == "output.py"), file


@pytest.mark.parametrize(
    ("work", "arguments"),
    [
        ("evaluation.evaluate", ["evaluate", "cdg"]),
        ("evaluation.front.front", ["evaluate", "cdg", "--front", "--paths", "2"]),
        ("hunting.Search.run", ["check", "cdg", "--hunt", "--budget", "5s"]),
    ],
)
def test_an_interruption_of_work_without_results_is_reported(capsys, monkeypatch, work, arguments):
    def working(*_, **__):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(PATIENCE)

    monkeypatch.setattr(f"ackclock.{work}", working)
    status, out, err = run(capsys, *arguments)
    assert (status, out, err.splitlines()[-1]) == (130, "", "ackclock: interrupted")


LONG = ["--duration", "100000s"]
EVERY = {
    "run": ["run", "{scenario}", "--set", "duration=100000s"],
    "compare": ["compare", "cubic", "cdg", *LONG],
    "own": ["compare", "./own.py", *LONG],
    "matrix": ["matrix", "cubic", "cdg", *LONG],
    "sweep": ["sweep", "cubic", "--over", "queue=1bdp,2bdp", *LONG, "--executor", "local:2"],
    "check": ["check", "cdg"],
    "hunt": ["check", "cdg", "--hunt", "--budget", "1000s"],
    "evaluate": ["evaluate", "cdg"],
    "reproduce": ["reproduce", "cdg2011-fig4"],
    "slow-start": ["slow-start"],
    "show": ["show", "controllers"],
    "table": ["compare", "cubic", "--trace", "table.csv", *LONG],
}
"""A command line for each command that works for a while, and for some others."""
CPU_S = 2.0
"""CPU time from a signal to the end: other programs do not count, but pauses of the machine do."""


def cpu_s(process):
    """The CPU time of a process and of those below it so far."""
    place = pathlib.Path("/proc", str(process))
    try:
        fields = (place / "stat").read_text().rpartition(")")[2].split()
        children = (place / f"task/{process}/children").read_text().split()
    except OSError:
        return 0.0
    own = sum(int(field) for field in fields[11:15]) / os.sysconf("SC_CLK_TCK")
    return own + sum(map(cpu_s, children))


def signalled(arguments, folder, instant, number):
    """The status and the words of a command with a signal after so much CPU time, and its CPU time after."""
    with (folder / "said").open("w") as said:
        process = subprocess.Popen([*COMMAND, *arguments], cwd=folder, stdout=subprocess.DEVNULL, stderr=said)
        ended = [0, 0, None]

        def has_ended():
            if not ended[0]:
                ended[:] = os.wait4(process.pid, os.WNOHANG)
            return ended[0] != 0

        wait_until(lambda: has_ended() or cpu_s(process.pid) >= instant)
        before = cpu_s(process.pid)
        if not has_ended():
            os.kill(process.pid, number)
            wait_until(has_ended)
        process.returncode = 0  # it has been waited for
    text = (folder / "said").read_text()
    return os.waitstatus_to_exitcode(ended[1]), text, ended[2].ru_utime + ended[2].ru_stime - before


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_at_any_instant_ends_a_command(scenario, tmp_path, name, number):
    (tmp_path / "table.csv").write_text("time_ms,rate_mbit\n0,10\n1,10\n")
    (tmp_path / "own.py").write_text(
        "import ackclock\nclass Mine(ackclock.Controller):\n"
        "    def on_ack(self, cx, ack): self.window = 10\n"
        "    def on_loss(self, cx, loss): pass\n"
        "    def on_timeout(self, cx, loss): pass\n"
    )
    arguments = [part.format(scenario=scenario) for part in EVERY[name]]
    # Instants are CPU times as well. A failure repeats.
    instant = random.Random(f"{name} {number}").uniform(0.15, 1.5)
    # A host that stops a virtual machine charges the pause to whatever ran: a slow end is one that repeats.
    for _ in range(3):
        status, text, after_s = signalled(arguments, tmp_path, instant, number)
        assert "Traceback" not in text, instant
        assert "please report it" not in text, instant
        assert status in (0, 130, -number), (instant, text)
        assert status != 130 or "interrupted" in text, instant
        if after_s < CPU_S:
            break
    assert after_s < CPU_S, instant
