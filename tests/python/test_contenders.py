"""Controllers on the command line: with parameters, in files of Python. Scenarios from standard input."""

import io
import json
import re
import sys

import pytest

from ackclock.contenders import contenders
from ackclock.errors import InputError
from calling import SCENARIO, refused, run

TWO = """
import ackclock

class {name}(ackclock.Controller):
    def __init__(self, window: float = 10.0) -> None:
        self.fixed = window

    def on_start(self, cx):
        self.window = self.fixed

    def on_ack(self, cx, ack):
        pass

    def on_loss(self, cx, loss):
        pass

    def on_timeout(self, cx, loss):
        pass
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A current folder with a file of one controller, and one with two."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fixed.py").write_text(TWO.format(name="Fixed"))
    (tmp_path / "two.py").write_text(TWO.format(name="One") + TWO.format(name="Two"))
    return tmp_path


def test_controllers_are_compared_with_their_parameters(capsys):
    fixed = ("./fixed.py", "./fixed.py:Fixed(window=4)")
    _, out, _ = run(capsys, "compare", "cdg(G=10ms, beta_d=0.5)", "cdg", *fixed, "--duration", "5s", "--json")
    runs = json.loads(out)["runs"]
    labels = ["cdg(G=10ms, beta_d=0.5)", "cdg", "fixed.py", "fixed.py:Fixed(window=4)"]
    assert [one["label"] for one in runs] == labels
    assert [one["flows"][0]["cc"] for one in runs[2:]] == ["fixed.py", "fixed.py:Fixed"]
    assert [one["flows"][0]["name"] for one in runs[2:]] == ["fixed-0", "Fixed-0"]
    assert runs[0]["flows"][0]["goodput_bps"] != runs[1]["flows"][0]["goodput_bps"]
    # A window of 10 segments of 1448 bytes a round trip: 40 ms, and 1.2 ms for each of two packets that an
    # ACK acknowledges: 2.73 Mbit/s. The handshake takes 40 ms of the first of five seconds.
    ten, four = (one["flows"][0]["goodput_bps"] for one in runs[2:])
    assert ten == pytest.approx(10 * 1448 * 8 / 0.0424, rel=0.02)
    assert four == pytest.approx(0.4 * ten, rel=0.03)


RAISED = {
    "raise SystemExit(5)": "SystemExit: 5",
    "raise ValueError('too much')": "ValueError: too much",
    "raise ValueError": "ValueError",
    "raise KeyboardInterrupt": "KeyboardInterrupt",
    "raise BaseException": "BaseException",
    "raise StopIteration": "StopIteration",
    "next(iter([]))": "StopIteration",
}
"""Statements by which a controller raises an exception, and its name in a sentence."""


@pytest.mark.parametrize("raised", RAISED)
@pytest.mark.parametrize("command", [["compare"], ["sweep", "--over", "queue=1bdp"]])
def test_what_a_controller_raises_is_no_fault_of_ackclock(capsys, folder, command, raised):
    fixed = TWO.format(name="Fixed").replace("pass", raised, 1)
    (folder / "fixed.py").write_text(fixed)
    line = fixed.splitlines().index(f"        {raised}") + 1
    sentence = refused(capsys, *command, "newreno", "./fixed.py:Fixed(window=4)", "--duration", "1s")
    assert sentence == f"fixed.py, line {line}: {RAISED[raised]}"


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("GAIN = undefined", "NameError: name 'undefined' is not defined"),
        ("GAIN = ackclock.samples", "AttributeError: module 'ackclock' has no attribute 'samples'"),
        ("import missing_of_mine", "ModuleNotFoundError: No module named 'missing_of_mine'"),
        ("raise EOFError", "EOFError"),
        ("raise BaseException", "BaseException"),
    ],
)
def test_what_a_file_raises_while_it_is_imported_has_its_line(capsys, folder, statement, why):
    (folder / "fixed.py").write_text(
        f"import ackclock\n\nclass Fixed(ackclock.Controller):\n    {statement}\n"
    )
    assert refused(capsys, "compare", "./fixed.py") == f"fixed.py, line 4: {why}"


BESIDE = TWO.format(name="Fixed").replace(
    "self.window = self.fixed", "from {module} import WINDOW; import statistics; self.window = WINDOW"
)
"""A controller that imports a module beside it, in a method."""


@pytest.mark.parametrize("command", [["compare"], ["sweep", "--over", "queue=10p,1bdp"]])
@pytest.mark.parametrize("line", ["", "from {module} import WINDOW"])
def test_a_controller_imports_the_modules_beside_it(capsys, tmp_path, command, line):
    name, *options = command
    module = f"beside_{name}_{len(line)}"
    own = tmp_path / "own"
    own.mkdir()
    (own / f"{module}.py").write_text("WINDOW = 4.0\n")
    (own / "statistics.py").write_text("raise ValueError('in the place of a module of Python')\n")
    (own / "fixed.py").write_text((line + BESIDE).format(module=module))
    status, _, err = run(capsys, name, "own/fixed.py", *options, "--duration", "1s")
    assert status == 0, err


def test_a_file_beside_a_controller_that_imports_none_is_not_reached(folder):
    before = [*sys.path]
    (folder / "unused_of_mine.py").write_text("raise ValueError")
    (folder / "math.py").write_text("raise ValueError")
    (folder / "fixed.py").write_text("import math\n" + TWO.format(name="Fixed"))
    contenders(["./fixed.py"])
    assert sys.path == before


def test_modules_of_one_name_beside_two_controllers_are_refused(capsys, folder):
    for name in ("a", "b"):
        (folder / name).mkdir()
        (folder / name / "shared_of_mine.py").write_text(f"NAME = '{name}'\n")
        (folder / name / "fixed.py").write_text("import shared_of_mine\n" + TWO.format(name="Fixed"))
    sentence = refused(capsys, "compare", "a/fixed.py", "b/fixed.py")
    assert sentence == (
        f"b/fixed.py: imports `shared_of_mine`, but {folder / 'a'} has that name too; rename one of them"
    )


def test_a_controller_of_ones_own_is_called_by_what_was_typed_in_every_language(folder):
    for text in ("mine.rs:Mine", "mine.rs", "mine.bpf.c", "libmine.so", "fixed.py", "fixed.py:Fixed"):
        assert [one.name for one in contenders([f"./{text}"])] == [text]
        assert [one.name for one in contenders([f"{folder}/{text}(window=4)"])] == [f"{text}(window=4)"]
    (folder / "own").mkdir()
    (folder / "own/fixed.py").write_text(TWO.format(name="Fixed"))
    own, other = contenders(["own/fixed.py:Fixed(window=4)", "./fixed.py:Fixed(window=4)"])
    assert (own.name, other.name) == (
        "own/fixed.py:Fixed(window=4)",
        f"{folder.name}/fixed.py:Fixed(window=4)",
    )
    assert (own.cc, other.cc) == ("python:0:own/fixed.py:Fixed", f"python:1:{folder.name}/fixed.py:Fixed")
    assert [one.name for one in contenders(["a/b/mine.rs", "c/b/mine.rs"])] == ["a/b/mine.rs", "c/b/mine.rs"]
    with pytest.raises(InputError, match="a controller is named twice"):
        contenders(["mine.rs:Mine", "own/../mine.rs:Mine", "./mine.rs:Mine"])


def test_exiting_files_and_scenarios_are_no_controllers(capsys, folder):
    (folder / "ends.py").write_text("raise SystemExit('no')\n")
    assert refused(capsys, "compare", "./ends.py") == "ends.py, line 1: SystemExit: no"
    sentence = "a.toml: must be a controller; `ackclock run a.toml` runs a scenario"
    assert refused(capsys, "compare", "cdg", "a.toml") == sentence


def test_a_sweep_takes_controllers_in_files_too(capsys):
    command = (
        "sweep",
        "./fixed.py",
        "cdg(G=10ms)",
        "--over",
        "queue=10p,1bdp",
        "--duration",
        "2s",
        "--out",
        "s",
    )
    status, out, _ = run(capsys, *command)
    assert status == 0
    assert {"fixed.py", "cdg(G=10ms)"} <= set(re.findall(r"[\w.()=]+", out))


def test_what_is_no_controller_is_refused(capsys, folder):
    assert "has no parameter `H`" in refused(capsys, "compare", "cdg(H=1)")
    assert "as in 'cdg(G=10ms)'" in refused(capsys, "compare", "cdg(G)")
    assert "unexpected keyword argument 'x'" in refused(capsys, "compare", "./fixed.py(x=1)")
    assert "has no controller `Fixet`; did you mean `Fixed`?" in refused(
        capsys, "compare", "./fixed.py:Fixet"
    )
    assert "write two.py:One" in refused(capsys, "compare", "./two.py")
    assert refused(capsys, "compare", "./no.py") == "no.py: there is no such file"
    (folder / "my crate").mkdir()
    for name in ("./my crate", "./missing", "noq:./missing:Mine"):
        said = f"{name}: must be a file that ends in .py, .rs, .c or .so, or a folder with a Cargo.toml"
        assert refused(capsys, "compare", name) == said
    (folder / "bad.py").write_text("1 / 0")
    assert refused(capsys, "compare", "./bad.py") == "bad.py, line 1: ZeroDivisionError: division by zero"
    assert "a controller is named twice" in refused(capsys, "compare", "cdg", "cdg")


def test_a_scenario_is_read_from_standard_input(capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO(SCENARIO))
    status, out, _ = run(capsys, "run", "-")
    assert status == 0
    assert "small" in out


def test_a_name_that_would_reach_the_terminal_raw_is_refused(capsys, folder):
    for name in ("\\u001b[31mred", "two\\nlines", "  "):
        (folder / "odd.toml").write_text(SCENARIO.replace("small", name))
        assert "must be text that can be printed" in refused(capsys, "run", "odd.toml")


def test_a_star_sets_a_key_of_every_flow(capsys, folder):
    (folder / "two.toml").write_text(SCENARIO + '[[flows]]\ncc = "cubic"\n')
    run(capsys, "run", "two.toml", "--set", "flows.*.transport.sack=false", "--out", "out")
    scenario = json.loads((folder / "out/run.json").read_text())["scenario"]
    assert [flow["transport"]["sack"] for flow in scenario["flows"]] == [False, False]


@pytest.mark.parametrize("values", ["0.1", "0%,0.1", "0..0.1*3", "0..0.1"])
def test_a_bare_number_is_no_swept_percentage(capsys, values):
    assert "write it with %" in refused(capsys, "sweep", "cdg", "--over", f"loss={values}", "--samples", "2")


def test_a_bare_share_in_a_file_is_explained(capsys, folder):
    (folder / "lossy.toml").write_text(SCENARIO.replace('queue = "30p"', 'queue = "30p"\nloss = 0.1'))
    said = 'warning: path.loss = 0.1 is a share: 10 % of the packets; `"10%"` says so'
    status, _, err = run(capsys, "run", "lossy.toml")
    assert (status, said in err) == (0, True)
    assert "is a share" not in run(capsys, "run", "lossy.toml", "--set", "path.loss=10%")[2]
    assert said in run(capsys, "sweep", "lossy.toml", "--over", "queue=5p")[2]


def test_a_scenario_in_json_is_read(capsys, folder):
    scenario = {
        "duration": "1s",
        "path": {"rate": {"trace": "link.trace"}, "rtt": "20ms", "queue": "9p"},
        "flows": [{"cc": "cubic", "name": None}],
    }
    (folder / "link.trace").write_text("1\n")
    (folder / "small.json").write_text(json.dumps(scenario))
    status, out, _ = run(capsys, "run", "small.json", "--set", "path.queue=5p", "--json")
    shown = json.loads(out)["runs"][0]["scenario"]
    assert (status, shown["name"], shown["path"]["queue"]) == (0, "small", "5p")
    assert run(capsys, "sweep", "small.json", "--over", "queue=5p")[0] == 0
    (folder / "small.json").write_text('{"duration": 1s}')
    assert refused(capsys, "run", "small.json").startswith("small.json: is not JSON: expected")
    (folder / "small.json").write_text(json.dumps(scenario | {"duratio": "1s"}))
    assert refused(capsys, "run", "small.json").startswith("small.json: duratio")


def test_a_trace_in_seconds_is_remarked_on(capsys, folder):
    (folder / "s.trace").write_text("".join(f"{0.012 * k:.3f}\n" for k in range(1, 84)))
    path = 'rate = { trace = "s.trace" }\nrtt = "20ms"\nqueue = "9p"'
    text = f'duration = "1s"\n[path]\n{path}\n[[flows]]\ncc = "cubic"\n'
    (folder / "s.toml").write_text(text)
    said = run(capsys, "run", "s.toml")[2]
    # 83 opportunities of 1500 bytes in 996 microseconds are a gigabit a second.
    assert "repeats every 996us and has a mean rate of 1gbit: its times are milliseconds" in said
    (folder / "s.trace").write_text("".join(f"{12 * k}\n" for k in range(1, 84)))
    assert "its times are milliseconds" not in run(capsys, "run", "s.toml")[2]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["compare", "bbr"], "the simulator has no `bbr`, but `bbr1` and `bbr3`; live runs"),
        (["compare", "cubic", "--set", "flows.0.transport.min_rto=1s"], "did you mean `rto_min`?"),
        (
            ["compare", "cubic", "--networks", "home", "wifi"],
            "wifi: is a network; commas join them: --networks home,wifi",
        ),
        (
            ["show", "controler"],
            "no command `show controler`; did you mean `controllers`? (`ackclock show --help`",
        ),
        (["kernel", "lod"], "there is no command `kernel lod`; did you mean `load`?"),
    ],
)
def test_names_that_were_meant_are_named(capsys, arguments, words):
    assert words in refused(capsys, *arguments)


def test_no_queue_of_a_discipline_is_called_infinite(capsys):
    assert "is infinite" not in run(capsys, "compare", "cubic", "--queue", "cake", "--duration", "1s")[2]
    assert "is infinite" in run(capsys, "compare", "cubic", "--queue", "infinite", "--duration", "1s")[2]


def test_an_inline_table_may_span_lines(capsys, folder):
    path = '{ rate = "5mbit", rtt = "20ms",\n  queue = "30p", loss = 1e-3 }'
    text = f'duration = "1s"\npath = {path}\nflows = [{{ cc = "cubic" }}]\n'
    (folder / "two-lines.toml").write_text(text)
    status, _, err = run(capsys, "run", "two-lines.toml")
    assert (status, 'path.loss = 0.001 is a share: 0.1 % of the packets; `"0.1%"` says so' in err) == (
        0,
        True,
    )
