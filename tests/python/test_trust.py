"""Code that files name runs only after ``--trust``, and never by a listing."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import ackclock
from ackclock import _engine
from calling import PATIENCE, SCENARIO, needs_live, refused, run

CODE = Path(__file__).parents[2] / "kernel" / "newreno.bpf.c"

REFUSAL = "it is code and can do all that you can: it runs where the command line names it, or with --trust"

PATH = {"rate": "1mbit", "rtt": "20ms", "queue": "20p"}

DOORS = {
    "archives.py",  # reproduce FILE.zip --trust
    "checks/target.py",  # check --trust
    "cli/run.py",  # run --trust
    "cli/sweep.py",  # sweep --trust
    "papers/reproduction.py",  # reproduce --trust
    "running.py",  # a program of the user
    "scenario.py",  # a program of the user
    "sweeps/run.py",  # a program of the user
    "trust.py",
}
"""The modules that let code run which only a file names, and who said so."""

MEASURES = "from pathlib import Path\nPath({!r}).touch()\n\n\ndef nothing(run):\n    return 1.0\n"


@pytest.fixture
def paper(capsys, tmp_path, monkeypatch):
    """The folder of a paper of one short experiment."""
    monkeypatch.chdir(tmp_path)
    assert run(capsys, "new", "paper", "mine")[0] == 0
    for file in (tmp_path / "mine").glob("*.toml"):
        text = file.read_text()
        file.write_text(
            text.replace('duration = "60s"', 'duration = "1s"').replace("repetitions = 5", "repetitions = 1")
        )
    return tmp_path / "mine"


@pytest.mark.parametrize("place", ["measures.py", "measures/more.py"])
def test_measures_of_a_folder_run_only_when_trusted(capsys, tmp_path, paper, place):
    ran = tmp_path / "ran"
    (paper / place).parent.mkdir(exist_ok=True)
    (paper / place).write_text(MEASURES.format(str(ran)))
    status, listed, _ = run(capsys, "reproduce", "./mine", "--list", "--json")
    assert (status, '"id": "mine-' in listed) == (0, True)
    assert run(capsys, "reproduce", "./mine", "--list", "--trust")[0] == 0
    said = refused(capsys, "reproduce", "./mine", "--quick", "--out", tmp_path / "out")
    assert said.startswith(f"mine: names {place}, which is code")
    file = next(file for file in paper.glob("*.toml") if file.name != "paper.toml")
    assert "give --trust" in refused(capsys, "reproduce", file)
    assert not ran.exists()
    assert run(capsys, "reproduce", "./mine", "--quick", "--trust", "--out", tmp_path / "out")[0] in (0, 1)
    assert ran.exists()


def test_controllers_that_a_paper_names_run_only_when_trusted(capsys, tmp_path, paper):
    file = next(file for file in paper.glob("*.toml") if file.name != "paper.toml")
    file.write_text(file.read_text().replace('cc = "newreno"', f'cc = "{CODE}"', 1))
    said = refused(capsys, "reproduce", "./mine", "--quick", "--out", tmp_path / "out")
    assert f"`{CODE}` cannot be read: it is code" in said
    assert not (tmp_path / "out").exists()


def test_controllers_that_a_scenario_names_run_only_when_trusted(capsys, tmp_path):
    file = tmp_path / "small.toml"
    file.write_text(SCENARIO.replace('"newreno"', f'"{CODE}"'))
    for command in (["run", file], ["sweep", file, "--over", "queue=5p"]):
        said = refused(capsys, *command)
        assert said == f"{file}, line 8: flows.0.cc: `{CODE}` cannot be read: {REFUSAL}"
    assert run(capsys, "run", file, "--trust")[0] == 0
    assert run(capsys, "sweep", file, "--over", "queue=5p", "--trust")[0] == 0
    assert run(capsys, "run", file, "--set", "flows.0.cc=cubic")[0] == 0


@needs_live
def test_controllers_of_a_scenario_run_live_only_when_trusted(capsys, tmp_path):
    file = tmp_path / "small.toml"
    file.write_text(SCENARIO.replace('"newreno"', f'"{CODE}"'))
    assert REFUSAL in refused(capsys, "live", file)


def test_a_controller_on_the_command_line_is_trusted(capsys, tmp_path):
    file = tmp_path / "small.toml"
    file.write_text(SCENARIO)
    assert run(capsys, "run", file, "--set", f"flows.0.cc={CODE}")[0] == 0
    assert run(capsys, "compare", CODE, "--duration", "1s")[0] == 0
    # Another file of the same name is not the one in the line.
    file.write_text(SCENARIO.replace('"newreno"', '"./newreno.bpf.c"'))
    (tmp_path / "newreno.bpf.c").write_text(CODE.read_text())
    assert REFUSAL in refused(capsys, "run", file, "--set", f"flows.0.name={CODE}")
    file.write_text(SCENARIO)
    over = ("--over", f"flows.0.cc=cubic,{CODE}")
    assert run(capsys, "sweep", file, *over, "--set", "duration=1s")[0] == 0


KINDS = ["mine.bpf.c", "mine.c", "mine.rs", "mine.rs:Mine", "mine.so", "Cargo.toml", "Cargo.toml:Mine"]


@pytest.mark.parametrize("code", KINDS)
def test_no_command_reads_code_that_a_file_names(capsys, tmp_path, monkeypatch, code):
    monkeypatch.chdir(tmp_path)
    (tmp_path / code.partition(":")[0]).write_text("evil\n")
    flows = f'[[flows]]\ncc = "./{code}"\n'
    path = 'duration = "1s"\npath = { rate = "1mbit", rtt = "20ms", queue = "20p" }\n'
    scenario, network, case = tmp_path / "s.toml", tmp_path / "n.toml", tmp_path / "c.toml"
    scenario.write_text(path + flows)
    network.write_text(path + flows)
    case.write_text(
        'title = "t"\nwhy = "w."\nsource = "own"\n'
        '[[judges]]\nwords = "goodput, Mbit/s"\nmeasure = { metric = "goodput", times = 1e-6 }\nlow = 0.9\n'
        f"[scenario]\n{path}flows = [{{ }}, {{ cc = './{code}' }}]\n"
    )
    for command in (
        ["run", scenario],
        ["run", scenario, "--set", "path.queue=5p"],
        ["sweep", scenario, "--over", "queue=5p"],
        ["check", "cubic", "--case", case, "--only", "c"],
        ["check", "cubic", "--case", case],
    ):
        assert REFUSAL in refused(capsys, *command), command
    # A network's own flows give way to the controllers that are compared, and a paper needs more files.
    for command in (["compare", "cubic", "--networks", network], ["reproduce", case]):
        assert run(capsys, *command)[0] in (0, 2), command
    document = json.dumps({"path": PATH, "duration": "1s", "flows": [{"cc": f"./{code}"}]})
    with pytest.raises(ackclock.ScenarioError, match="it is code"):
        _engine.resolve_json(document, [])


def test_the_places_that_open_the_door_are_known():
    """A new one is a decision: what it trusts, and who said so."""
    package = Path(ackclock.__file__).parent
    opened = {
        str(file.relative_to(package))
        for file in package.rglob("*.py")
        if re.search(r"\ball_named\(\)|\bFiles\([^)]*trusted=", file.read_text())
    }
    assert opened == DOORS


def test_one_key_of_a_scenario_names_code():
    def named(tree, at=()):
        children = (
            tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
        )
        for key, value in children:
            if key == "cc" and "if" not in at:
                yield at
            yield from named(value, (*at, key))

    assert list(named(json.loads(ackclock.schema()))) == [("$defs", "Flow", "properties")]


LIBRARIES = (
    "ackclock",
    "cloudpickle",
    "dask",
    "distributed",
    "loky",
    "matplotlib",
    "numpy",
    "pyarrow",
    "rich",
)
SWEEP = "sweep newreno cubic --over queue=5p,10p --duration 1s --out out"


@pytest.mark.parametrize(
    "command",
    [
        SWEEP,
        f"{SWEEP} --executor dask",
        "sweep quic:newreno --over queue=5p,10p --duration 1s --out out",
        "matrix newreno cubic --duration 20s --out out",
        "check newreno cubic --only rtt/1-s",
        "compare newreno --limit 60s --duration 1s --out out",
        "evaluate newreno --only 7.4 --out out",
        "reproduce da1992-table1 --out out",
        pytest.param("kernel differential --live --runs 2 --engine live:retries=0", marks=needs_live),
    ],
)
def test_no_module_of_the_current_folder_runs(tmp_path, command):
    """Whatever its name is: workers, and processes that libraries start, begin in this folder, too."""
    program, ran, here = tmp_path / "program.py", tmp_path / "ran", tmp_path / "here"
    # As the command does.
    program.write_text(
        "from ackclock.cli import main\n\nif __name__ == '__main__':\n    raise SystemExit(main())\n"
    )
    here.mkdir()
    ran.mkdir()
    for name in (*sys.stdlib_module_names, *LIBRARIES):
        (here / f"{name}.py").write_text(f"open({str(ran / name)!r}, 'w').close()\n")
    words = [sys.executable, str(program), *command.split()]
    done = subprocess.run(words, cwd=here, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert [one.name for one in ran.iterdir()] == [], done.stderr
    assert "Traceback" not in done.stderr


def test_interpreters_are_started_at_one_place():
    package = Path(ackclock.__file__).parent
    files = [file for file in package.rglob("*.py") if "sys.executable" in file.read_text("utf-8")]
    assert [file.relative_to(package).as_posix() for file in files] == ["workers.py"]
