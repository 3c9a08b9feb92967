"""The types of the public functions, as type checkers of users see them: mypy and pyright."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import ackclock

path = ackclock.Path("10mbit", "40ms", "84p")
one: ackclock.Run = ackclock.simulate(path, ["cdg"])
runs = ackclock.simulate(path, ["cdg"], repeat=5)
for run in runs:
    print(run.flows)
print(runs.table("flows"))
repeated = 3
print([run.seed for run in ackclock.live(path, ["cdg"], repeat=repeated)])
"""
WRONG = "ackclock.simulate(path, repeet=5)\n"

READERS = ("--allow-untyped-defs", "--allow-untyped-calls", "--allow-redefinition")
"""Freedoms of examples: functions without annotations, and a name for one thing after another."""

BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def mypy(*arguments):
    """The output of mypy."""
    command = [sys.executable, "-m", "mypy", "--strict", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT).stdout


def checked(folder, program):
    """The output of mypy on a program."""
    file = folder / "program.py"
    file.write_text(program)
    return mypy(file)


def test_repetitions_can_be_iterated_under_strict_types(tmp_path):
    assert "Success" in checked(tmp_path, PROGRAM)
    assert "repeet" in checked(tmp_path, PROGRAM + WRONG)


@pytest.fixture(scope="module")
def examples(tmp_path_factory):
    """A folder with a file for each page and notebook: its blocks, one after the other."""
    folder = tmp_path_factory.mktemp("examples")
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    programs = {page: BLOCK.findall(page.read_text()) for page in pages}
    for notebook in (ROOT / "docs").rglob("*.ipynb"):
        cells = json.loads(notebook.read_text())["cells"]
        programs[notebook] = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    for page, blocks in programs.items():
        if blocks:
            name = re.sub(r"\W", "_", str(page.relative_to(ROOT).with_suffix("")))
            (folder / f"{name}.py").write_text("\n\n".join(blocks) + "\n")
    assert len(list(folder.iterdir())) >= 12
    return folder


def test_examples_hold_under_mypy(examples):
    printed = mypy(*READERS, *sorted(examples.glob("*.py")))
    assert "Success" in printed, printed


def test_examples_hold_under_pyright(examples):
    pytest.importorskip("pyright")
    settings = {"venvPath": str(ROOT), "venv": ".venv", "extraPaths": [str(ROOT / "python")]}
    (examples / "pyrightconfig.json").write_text(json.dumps(settings))

    def errors():
        command = [sys.executable, "-m", "pyright", "--outputjson", "--project", str(examples)]
        ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=examples)
        if not ran.stdout.startswith("{"):
            pytest.skip(f"pyright does not start here: {(ran.stdout + ran.stderr).strip()[-200:]}")
        return [
            (Path(one["file"]).name, one["message"]) for one in json.loads(ran.stdout)["generalDiagnostics"]
        ]

    assert errors() == []
    (examples / "wrong.py").write_text(PROGRAM + WRONG)
    assert {file for file, _ in errors()} == {"wrong.py"}
