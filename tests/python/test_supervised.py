"""Own controllers within limits: whatever their code does, a sentence names the file, and the status is 2."""

import csv
import errno
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ackclock import ControllerError, Flow, simulate
from ackclock import Path as NetworkPath
from ackclock.cli import main, supervised
from ackclock.errors import NO_MEMORY, lacks_memory, of_file
from ackclock.report.folders import FolderError, _in_words
from ackclock.report.page import why
from calling import PATIENCE, refused, run, wait_until

OWN = """import ackclock
class Mine(ackclock.Controller):
    def on_start(self, cx): self.window = 10.0
    def on_ack(self, cx, ack):
        {code}
    def on_loss(self, cx, loss): pass
    def on_timeout(self, cx, loss): pass
"""

RUST = """use control::{{Ack, Context, Controller, Loss}};
#[derive(Default)]
struct Mine(f64);
#[allow(unconditional_recursion)]
fn deep(a: f64) -> f64 {{ let room = [a; 999]; deep(a + 1.0) + std::hint::black_box(room)[7] }}
impl Controller for Mine {{
    fn on_ack(&mut self, _cx: &mut Context<'_>, _ack: &Ack) {{ {code} }}
    fn on_loss(&mut self, _cx: &mut Context<'_>, _loss: &Loss) {{}}
    fn on_timeout(&mut self, _cx: &mut Context<'_>, _loss: &Loss) {{}}
    fn on_idle_restart(&mut self, _cx: &mut Context<'_>) {{}}
    fn window(&self) -> f64 {{ 10.0 + self.0 }}
    fn slow_start_threshold(&self) -> f64 {{ 1.0 }}
}}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def command(*arguments):
    """The status of the command in a process of its own, and its standard error without progress.

    Commands on a busy machine report progress each minute.
    """
    called = [sys.executable, "-m", "ackclock", *map(str, arguments)]
    done = subprocess.run(called, capture_output=True, text=True, timeout=PATIENCE, check=False)
    lines = [line for line in done.stderr.splitlines(keepends=True) if " % done" not in line]
    return done.returncode, "".join(lines)


WINDOWS = "a number of segments from 0 to 10000000"
RATES = "a finite rate of at least 1 bit/s, or None"
THRESHOLDS = "a number of segments from 0 on, or infinity"

BREACHES = [
    ("self.window = float('nan')", f"window is NaN: allowed is {WINDOWS} (after on_ack)"),
    ("self.window = float('inf')", f"window is inf: allowed is {WINDOWS} (after on_ack)"),
    ("self.window = -5", f"window is -5: allowed is {WINDOWS} (after on_ack)"),
    ("self.window = 1e8", f"window is 100000000: allowed is {WINDOWS} (after on_ack)"),
    ("self.window = 'ten'", f"window is 'ten', of type str: allowed is {WINDOWS} (after on_ack)"),
    ("self.window = None", f"window is None: allowed is {WINDOWS} (after on_ack)"),
    ("self.window = True", f"window is True, of type bool: allowed is {WINDOWS} (after on_ack)"),
    (
        "self.window = 10**400",
        f"window is 1{'0' * 17}...{'0' * 19}: allowed is {WINDOWS} (after on_ack)",
    ),
    ("self.slow_start_threshold = -5", f"slow_start_threshold is -5: allowed is {THRESHOLDS} (after on_ack)"),
    ("self.pacing_rate = float('nan')", f"pacing_rate is NaN: allowed is {RATES} (after on_ack)"),
    ("self.pacing_rate = 0.0", f"pacing_rate is 0: allowed is {RATES} (after on_ack)"),
    ("self.pacing_rate = 1e-300", f"pacing_rate is 1e-300: allowed is {RATES} (after on_ack)"),
    ("self.pacing_rate = '1'", f"pacing_rate is '1', of type str: allowed is {RATES} (after on_ack)"),
]


@pytest.mark.parametrize(("code", "sentence"), BREACHES)
def test_a_decision_outside_the_law_is_a_sentence_with_file_class_event_and_value(
    capsys, folder, code, sentence
):
    (folder / "w.py").write_text(OWN.format(code=code))
    assert refused(capsys, "compare", "./w.py", "--duration", "1s") == f"w.py:Mine.{sentence}"


@pytest.mark.parametrize(
    "rest",
    [
        ("sweep", "--over", "queue=1bdp"),
        ("matrix", "newreno", "--warmup", "0s"),
        ("check", "--only", "rate"),
        ("evaluate", "--only", "5.1.1"),
    ],
)
def test_a_breach_is_the_controllers_in_every_command(capsys, folder, rest):
    (folder / "w.py").write_text(OWN.format(code="self.window = float('nan')"))
    name, *options = rest
    end = () if name in ("check", "evaluate") else ("--duration", "3s")
    assert f"w.py:Mine.{BREACHES[0][1]}" in refused(capsys, name, "./w.py", *options, *end)


@pytest.mark.parametrize("raised", ["GeneratorExit", "SystemExit", "asyncio.CancelledError"])
def test_an_exception_that_is_no_exception_is_one_of_the_file(capsys, folder, raised):
    (folder / "e.py").write_text("import asyncio\n" + OWN.format(code=f"raise {raised}('left')"))
    assert refused(capsys, "compare", "./e.py", "--duration", "1s") == (
        f"e.py, line 6: {raised.removeprefix('asyncio.')}: left"
    )


BESIDE_ITS_LINES = [
    ("    on_ack = staticmethod(lambda of: None)", "w.py:Mine.on_ack: TypeError: Mine.<lambda>() takes 1"),
    ("    on_ack = 5", "w.py:Mine.on_ack: TypeError: 'int' object is not callable"),
    ("    def __new__(cls): return None", "w.py, when it is made: AttributeError: type object 'NoneType'"),
    ("    wants = 3", "w.py, when it is made: TypeError: "),
    ("    def probe(self): return 3", "w.py:Mine.probe: TypeError: "),
    ("    def probe(self): return {1: 2}", "w.py:Mine.probe: TypeError: "),
    ("    def probe(self): return {'a': 'b'}", "w.py:Mine.probe: TypeError: "),
    ("    async def __init__(self): pass", "Mine.__init__ is async or has a yield, so a call"),
    ("    async def on_loss(self, cx, loss): pass", "Mine.on_loss is async or has a yield, so a call"),
    ("    def on_ecn(self, cx, marks): yield 3", "Mine.on_ecn is async or has a yield, so a call"),
]
"""Mistakes that raise an exception which is in no line of the file."""


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("line", "sentence"), BESIDE_ITS_LINES)
def test_an_exception_in_no_line_of_the_file_is_one_of_its_method(capsys, folder, line, sentence):
    (folder / "w.py").write_text(OWN.format(code="pass") + line + "\n")
    probes = ("--set", "record.probes=20ms")
    assert sentence in refused(capsys, "compare", "./w.py", *probes, "--duration", "1s")


def test_an_exception_whose_text_cannot_be_made_is_a_sentence(capsys, folder):
    raised = "raise type('E', (Exception,), {'__str__': lambda self: None})()"
    (folder / "w.py").write_text(OWN.format(code=raised))
    assert refused(capsys, "compare", "./w.py", "--duration", "1s") == "w.py, line 5: E: it cannot be shown"


@pytest.mark.parametrize("window", ["-5", "0xffffffff", "10000001"])
def test_a_controller_in_c_is_held_to_the_same_law(capsys, folder, window):
    assert run(capsys, "new", "controller", "mine", "--in", "c")[0] == 0
    text = (folder / "mine.bpf.c").read_text()
    head = "struct tcp_sock *tp = tcp_sk(sk);"
    (folder / "mine.bpf.c").write_text(text.replace(head, f"{head} tp->snd_cwnd = {window}; return;"))
    value = int(window, 0) % 2**32
    assert refused(capsys, "compare", "./mine.bpf.c", "--duration", "1s") == (
        f"flow `mine-0`: `{folder}/mine.bpf.c`: after on_ack the window is {value}: allowed is {WINDOWS}"
    )


def test_a_program_gets_a_breach_as_an_error_of_the_controller():
    scope = {}
    exec(OWN.format(code="self.window = -1.0"), scope)
    with pytest.raises(ControllerError, match=r"^Mine\.window is -1: allowed is .* \(after on_ack\)$"):
        simulate(NetworkPath("5mbit", "20ms", "30p"), [Flow(scope["Mine"])], duration="1s")


ENDS = [
    ("__import__('os')._exit(0)", "./own.py: its code ended the process with status 0"),
    ("__import__('os').kill(__import__('os').getpid(), 9)", "./own.py: its process was ended by SIGKILL"),
    ("__import__('ctypes').string_at(0)", "./own.py: its process was ended by SIGSEGV"),
]


@pytest.mark.parametrize(("code", "sentence"), ENDS)
def test_code_that_ends_the_process_is_named(folder, code, sentence):
    (folder / "own.py").write_text(OWN.format(code=code))
    assert command("compare", "./own.py", "--duration", "1s") == (2, f"ackclock: {sentence}\n")


def test_a_loop_without_end_is_over_at_the_limit(folder):
    (folder / "loop.py").write_text(OWN.format(code="while True: pass"))
    status, said = command("compare", "./loop.py", "--duration", "1s", "--limit", "2s")
    assert (status, said.splitlines()[-1]) == (2, "ackclock: ./loop.py: was not over after 2s (--limit)")


def test_a_loop_that_refuses_to_end_is_killed(folder):
    stubborn = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    (folder / "loop.py").write_text(stubborn + OWN.format(code="while True: pass"))
    program = (
        "from ackclock.cli import supervised, main; import sys; supervised.GRACE_S = 0.5; sys.exit(main())"
    )
    called = [sys.executable, "-c", program, "compare", "./loop.py", "--limit=2s"]
    done = subprocess.run(called, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (
        2,
        "ackclock: ./loop.py: was not over after 2s (--limit)",
    )


def test_a_controller_that_takes_memory_without_end_is_a_sentence(folder):
    (folder / "eats.py").write_text(
        OWN.format(code="self.held = [getattr(self, 'held', 0), bytearray(10**8)]")
    )
    status, said = command("compare", "./eats.py", "--duration", "60s", "--limit", "300s,1500MB")
    assert (status, said.splitlines()[-1]) == (2, f"ackclock: eats.py, line 5: {NO_MEMORY}")


@pytest.mark.parametrize("name", ["compare", "sweep"])
def test_memory_that_a_controller_cannot_have_is_lacking_at_its_line(capsys, folder, name):
    (folder / "eats.py").write_text(OWN.format(code="bytes(2**62)"))
    over = ("--over", "queue=1bdp") if name == "sweep" else ()
    assert refused(capsys, name, "./eats.py", *over, "--duration", "1s") == f"eats.py, line 5: {NO_MEMORY}"


@pytest.mark.parametrize("kibibytes", [200_000, 300_000, 400_000, 600_000])
def test_libraries_without_memory_are_no_fault_of_ackclock(folder, kibibytes):
    # Where memory ends depends on the machine: NumPy's import, Arrow's threads, OpenBLAS's exit, C++'s abort.
    (folder / "s.toml").write_text(
        'duration = "1s"\nflows = [{ cc = "cubic" }]\n'
        'path = { rate = "10mbit", rtt = "40ms", queue = "1bdp" }\n'
    )
    called = [sys.executable, "-m", "ackclock", "sweep", "s.toml", "--over", "path.rtt=9ms", "--out", "out"]
    done = subprocess.run(
        called,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (kibibytes << 10, kibibytes << 10)),
    )
    assert done.returncode in (0, 2), done.stderr
    assert "please report" not in done.stderr
    assert done.returncode == 0 or "memory" in done.stderr.splitlines()[-1]


CRASHES = """
import os, signal, sys
from ackclock.cli import supervised

def crash():
    os.kill(os.getpid(), signal.{name})

supervised.is_confined = lambda: True
parent = os.getpid()
say = lambda status, said: print(said) or status
status = supervised.supervised(["sweep", "s.toml"], None, {work}, say)
if os.getpid() != parent:
    crash()
sys.exit(status)
"""


@pytest.mark.parametrize("name", ["SIGABRT", "SIGSEGV"])
@pytest.mark.parametrize(("work", "answer"), [("lambda: 70", (70, "")), ("crash", (2, f"{NO_MEMORY}\n"))])
def test_a_library_that_crashes_without_memory_is_no_fault(name, work, answer):
    # At the end of a process that has said how it ends, and before.
    program = CRASHES.format(name=name, work=work)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == answer, done.stderr


def test_with_a_limit_of_the_address_space_no_failure_is_blamed_at_once(capsys, monkeypatch):
    def fails(_):
        raise SystemError("error return without exception set")

    monkeypatch.setattr("ackclock.cli.run._read", fails)
    monkeypatch.setattr("ackclock.cli.supervised.is_confined", lambda: True)
    assert main(["run", "s.toml"]) == 2
    said = capsys.readouterr().err
    assert said == (
        "ackclock: the memory that the process may use is not enough (`ulimit -v`), or this is a fault of "
        "ackclock: SystemError: error return without exception set\n"
    )


def test_memory_lacks_where_a_cause_says_so():
    assert lacks_memory(MemoryError())
    for words in (
        "std::bad_alloc",
        "x.so: failed to map segment from shared object",
        "can't start new thread",
    ):
        error = ImportError("it did not load")
        error.__cause__ = RuntimeError(words)
        assert lacks_memory(error)
        assert why(error) == f": {NO_MEMORY}"
    assert not lacks_memory(ImportError("it did not load"))


@pytest.mark.parametrize(
    ("error", "said"),
    [
        # As Arrow raises it where C++ has no memory.
        (OSError("Couldn't serialize thrift: std::bad_alloc"), NO_MEMORY),
        (OSError(errno.ENOMEM, os.strerror(errno.ENOMEM)), NO_MEMORY),
        (OSError(errno.EAGAIN, os.strerror(errno.EAGAIN), "/dev/stdout"), os.strerror(errno.EAGAIN)),
        (OSError("Corrupt snappy compressed data"), "Corrupt snappy compressed data"),
    ],
)
def test_want_of_memory_at_a_file_is_told_as_everywhere(error, said, tmp_path):
    assert of_file(error) == said
    assert why(error) == f": {said}"
    with pytest.raises(FolderError, match=re.escape(f"--out {tmp_path}: {said}")), _in_words(tmp_path):
        raise error


def test_a_full_disk_is_no_fault_of_ours():
    assert why(OSError(errno.ENOSPC, "No space left on device")) == ": No space left on device"
    assert why(OSError("it did not close")) == ": it did not close"
    assert why(ValueError("two\nlines")) == ", please report it: ValueError: two lines"


@pytest.mark.parametrize("given", ["", "0s", "60", "60s,", "60s,0MB", "fast"])
def test_a_limit_that_is_none_is_refused(capsys, given):
    assert refused(capsys, "compare", "cubic", "--limit", given).startswith(f"--limit {given}: must be ")
    assert "needs TIME[,MEMORY]" in refused(capsys, "compare", "cubic", "--limit")


def test_within_its_limits_a_command_is_as_without(capsys):
    command = ("compare", "cubic", "newreno", "--duration", "1s", "--json")
    plain, limited = (run(capsys, *command, *more) for more in ((), ("--limit", "250s")))
    assert (limited[0], json.loads(limited[1]).keys()) == (plain[0], json.loads(plain[1]).keys())


def test_code_is_found_where_a_command_line_names_it(folder):
    (folder / "crate").mkdir()
    (folder / "crate/Cargo.toml").touch()
    for text in ("./a.py", "a.py:Mine", "./a.rs(beta=0.5)", "x/b.bpf.c", "./libc.so", "flows.0.cc=./a.rs"):
        assert supervised.code(["compare", text]), text
    assert supervised.code(["compare", "./crate:Mine"]) == ["./crate"]
    assert not supervised.code(["compare", "cubic", "scenario.toml", "--queue", "1bdp", "."])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_reaches_the_process_of_the_work(folder, number):
    (folder / "own.py").write_text(OWN.format(code="open('begun', 'w').close()"))
    called = [sys.executable, "-m", "ackclock", "compare", "./own.py", "--duration", "100000s"]
    process = subprocess.Popen(called, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_until(Path("begun").exists)
    process.send_signal(number)
    _, said = process.communicate(timeout=PATIENCE)
    assert (process.returncode, said.strip()) == (130, "interrupted")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGALRM])
def test_a_signal_at_the_end_of_python_leaves_the_status_of_the_work(folder, number):
    """Python handles no signals while it ends."""
    begin = (
        "import atexit, os, signal\n"
        f"atexit.register(os.kill, os.getpid(), {number})\n"
        f"atexit.register(signal.signal, {number}, signal.SIG_DFL)\n"
    )
    (folder / "own.py").write_text(begin + OWN.format(code="pass"))
    assert command("compare", "./own.py", "--duration", "1s") == (0, "")


def test_the_work_ends_with_the_process_that_watches_it(folder):
    (folder / "own.py").write_text(
        OWN.format(code="open('begun', 'w').write(str(__import__('os').getpid()))")
    )
    called = [sys.executable, "-m", "ackclock", "compare", "./own.py", "--duration", "100000s"]
    process = subprocess.Popen(called, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    worker = None

    def has_begun():
        # The file is written again by each controller, so it may be empty.
        nonlocal worker
        text = Path("begun").read_text() if Path("begun").exists() else ""
        worker = int(text) if text.isdigit() else None
        return worker is not None

    wait_until(has_begun)
    assert worker != process.pid
    process.kill()
    process.wait()

    def is_gone():
        try:
            return "\nState:\tZ" in Path(f"/proc/{worker}/status").read_text()
        except OSError:
            return True

    wait_until(is_gone)


needs_cargo = pytest.mark.skipif(
    shutil.which("cargo") is None,
    reason="needs Cargo",
)


@needs_cargo
def test_a_controller_in_rust_is_held_to_the_same_law(folder):
    cases = {"f64::INFINITY": "inf", "f64::NAN": "NaN", "-15.0": "-5", "1e12": "1000000000010"}
    for code, value in cases.items():
        (folder / "mine.rs").write_text(RUST.format(code=f"self.0 = {code};"))
        status, said = command("compare", "./mine.rs", "--duration", "1s")
        window = f"after on_ack the window is {value}: allowed is {WINDOWS}"
        assert (status, said) == (2, f"ackclock: flow `mine-0`: `{folder}/mine.rs`: {window}\n")
    (folder / "mine.rs").write_text(RUST.format(code="").replace("{ 1.0 }", "{ -1.0 }"))
    status, said = command("compare", "./mine.rs", "--duration", "1s")
    assert status == 2
    assert said.endswith(f"the slow_start_threshold is -1: allowed is {THRESHOLDS}\n")


@needs_cargo
def test_a_panic_in_rust_is_a_sentence_with_its_line(folder):
    def ended(text):
        (folder / "mine.rs").write_text(text)
        return command("compare", "./mine.rs", "--set", "record.probes=20ms", "--duration", "1s")

    text = RUST.format(code="self.0 = [1.0, 2.0][self.0 as usize];")
    why = "index out of bounds: the len is 2 but the index is 2 (line 7)"
    assert ended(text) == (2, f"ackclock: `{folder}/mine.rs` panicked in on_ack: {why}\n")
    probe = '\n    fn probe(&self, _out: &mut dyn control::Probe) { panic!("one\\ntwo") }\n'
    head, end, _ = RUST.format(code="").rpartition("}")
    line = head.count("\n") + 2
    why = f"one two (line {line})"
    assert ended(head + probe + end) == (2, f"ackclock: `{folder}/mine.rs` panicked in probe: {why}\n")


@needs_cargo
def test_recursion_without_end_in_rust_names_its_file(folder):
    (folder / "mine.rs").write_text(RUST.format(code="self.0 = deep(self.0);"))
    status, said = command("compare", "./mine.rs", "--duration", "1s")
    assert (status, said.splitlines()) == (
        2,
        [
            f"ackclock: a crash in the code of `{folder}/mine.rs`, in on_ack: "
            "a wrong address or endless recursion",
            "ackclock: ./mine.rs: its process was ended by SIGSEGV",
        ],
    )


def judged(folder, *targets, limit):
    """The table of a class, and the status of its check."""
    only = ("--only", "after-burst", "--csv", "marks.csv", "--limit", limit)
    status, said = command("check", *targets, *only)
    rows = list(csv.DictReader((folder / "marks.csv").read_text().splitlines()))
    assert [row["target"] for row in rows] == [*targets], said
    return status, [(row["verdict"], row["reason"]) for row in rows]


def test_a_class_is_judged_one_by_one_and_no_one_ends_it(folder):
    (folder / "good.py").write_text((Path(__file__).parent / "bad_controllers.py").read_text())
    (folder / "exits.py").write_text(OWN.format(code="__import__('os')._exit(0)"))
    (folder / "loop.py").write_text(OWN.format(code="while True: pass"))
    assert judged(folder, "./exits.py", "./missing.py", "./good.py:Halving", limit="280s") == (
        1,
        [
            ("broken", "./exits.py: its code ended the process with status 0"),
            ("broken", "missing.py: there is no such file"),
            ("pass", ""),
        ],
    )
    late = "was not over after 2s (--limit)"
    assert judged(folder, "./loop.py", "./loop.py:Mine", limit="2s") == (
        1,
        [("broken", f"./loop.py: {late}"), ("broken", f"./loop.py: {late}")],
    )


def test_several_targets_are_refused_what_only_one_can_have(capsys):
    assert "a target is named twice" in refused(capsys, "check", "cubic", "cubic")
    assert "must be a CSV file" in refused(capsys, "check", "cubic", "newreno", "--junit", "a.xml")
