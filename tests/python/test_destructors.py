"""Destructors of own controllers: one that fails fails the run, as any other method does."""

import sys

import pytest

from ackclock import Flow, _engine, simulate
from ackclock import Path as NetworkPath
from calling import needs_live, refused, run
from test_supervised import OWN, RUST, command, needs_cargo

DESTRUCTOR = "    def __del__(self):\n        raise ValueError('gone')\n"

COMMANDS = [
    ("compare", "--duration", "1s"),
    ("sweep", "--over", "queue=1bdp,2bdp", "--duration", "1s"),
    ("matrix", "newreno", "--warmup", "0s", "--duration", "3s"),
    ("check", "--only", "rate"),
    ("evaluate", "--only", "5.1.1"),
]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty current folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def in_python(code="pass", more=""):
    """A controller whose destructor raises, and the number of the line where it does."""
    text = OWN.format(code=code) + more + DESTRUCTOR
    return text, text.count("\n")


@pytest.mark.parametrize("rest", COMMANDS)
def test_an_exception_is_one_of_the_file_in_every_command(folder, rest):
    text, line = in_python()
    (folder / "d.py").write_text(text)
    name, *options = rest
    status, said = command(name, "./d.py", *options)
    assert (status, said.splitlines()[-1]) == (2, f"ackclock: d.py, line {line}: ValueError: gone")
    assert "ignored" not in said


@pytest.mark.parametrize(
    "more",
    [
        "    def __init__(self): self.me = self\n",
        "    def __init__(self): self.held = type('Held', (), {'__del__': lambda of: 1 / 0})()\n",
    ],
)
def test_controllers_in_cycles_and_what_controllers_hold_are_heard(folder, more):
    text, line = in_python(more=more)
    (folder / "d.py").write_text(text)
    ended = (2, f"ackclock: d.py, line {line}: ValueError: gone\n")
    assert command("compare", "./d.py", "--duration", "1s") == ended


@pytest.mark.parametrize("rest", COMMANDS[:2])
def test_the_destructor_of_a_failed_controller_has_nothing_more_to_say(folder, rest):
    (folder / "d.py").write_text(in_python(code="raise KeyError(3)")[0])
    name, *options = rest
    status, said = command(name, "./d.py", *options)
    assert (status, said.splitlines()[-1]) == (2, "ackclock: d.py, line 5: KeyError: 3")
    assert "ignored" not in said


def test_a_destructor_without_end_ends_with_the_limit(folder):
    text = OWN.format(code="pass") + "    def __del__(self):\n        while True: pass\n"
    (folder / "d.py").write_text(text)
    status, said = command("compare", "./d.py", "--duration", "1s", "--limit", "9s")
    assert (status, said.splitlines()[-1]) == (2, "ackclock: ./d.py: was not over after 9s (--limit)")
    assert "ignored" not in said


def test_a_program_gets_the_exception_and_keeps_its_own_hook(monkeypatch):
    scope, heard = {}, []
    hook = heard.append
    monkeypatch.setattr(sys, "unraisablehook", hook)
    exec(in_python()[0], scope)
    flows = [Flow(scope["Mine"], name=str(number)) for number in range(3)]
    with pytest.raises(ValueError, match=r"^gone$"):
        simulate(NetworkPath("5mbit", "20ms", "30p"), flows, duration="1s")
    assert (heard, sys.unraisablehook) == ([], hook)
    # Between runs it is the program's.
    held = type("Held", (), {"__del__": lambda _: 1 / 0})()
    del held
    assert [one.exc_type for one in heard] == [ZeroDivisionError]


@needs_cargo
@pytest.mark.parametrize("rest", COMMANDS[:4])
def test_a_panic_in_rust_is_a_sentence_with_its_line(folder, rest):
    panics_at_its_end(folder, *rest)


@needs_cargo
@pytest.mark.usefixtures("live")
def test_a_panic_in_rust_in_real_time_is_the_same_sentence(folder):
    if "quic-live" not in _engine.engines():
        pytest.skip("built without live runs over QUIC")
    panics_at_its_end(folder, "compare", "--engine", "quic-live", "--duration", "2s")


def panics_at_its_end(folder, name, *options):
    text = (
        RUST.format(code="self.0 = 1.0;") + 'impl Drop for Mine { fn drop(&mut self) { panic!("gone") } }\n'
    )
    (folder / "mine.rs").write_text(text)
    status, said = command(name, "./mine.rs", *options)
    why = f"ackclock: `{folder}/mine.rs` panicked in drop: gone (line {text.count(chr(10))})"
    assert (status, said.splitlines()[-1]) == (2, why)
    assert "thread" not in said


@needs_live
@pytest.mark.parametrize(
    ("engine", "why"),
    [
        ("live", "the kernel runs no controllers in Python; leave --live out"),
        ("quic-live", "in real time a controller in Python would be late; leave --engine quic-live out"),
    ],
)
def test_no_controller_in_python_lives_in_real_time(capsys, folder, engine, why):
    if engine not in _engine.engines():
        pytest.skip(f"built without {engine}")
    (folder / "d.py").write_text(in_python()[0])
    assert refused(capsys, "compare", "./d.py", "--engine", engine, "--duration", "1s") == f"./d.py: {why}"


@pytest.mark.skipif(sys.platform != "linux", reason="controllers in C need Linux")
@pytest.mark.parametrize("rest", COMMANDS[:2])
def test_a_crash_at_the_end_of_a_controller_in_c_names_its_file(capsys, folder, rest):
    assert run(capsys, "new", "controller", "mine", "--in", "c")[0] == 0
    text = (folder / "mine.bpf.c").read_text()
    ending = "CALLBACK_1(void, mine_release, struct sock *, sk)\n{\n\t*(volatile int *)0 = 1;\n}\n"
    head, opening, end = text.rpartition("CONTROLLER(")
    changed = f"{head}{ending}{opening}{end}".replace(
        ".ssthresh = mine_ssthresh", ".release = mine_release, .ssthresh = mine_ssthresh"
    )
    assert ".release" in changed
    (folder / "mine.bpf.c").write_text(changed)
    name, *options = rest
    status, said = command(name, "./mine.bpf.c", *options)
    assert status == 2
    assert f"ackclock: a crash in the code of `{folder}/mine.bpf.c`, in release: a wrong address" in said
