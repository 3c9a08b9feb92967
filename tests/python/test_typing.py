"""The types of the public functions, as a type checker of users sees them."""

import subprocess
import sys
from pathlib import Path

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


def checked(folder, program):
    """What mypy prints of a program."""
    file = folder / "program.py"
    file.write_text(program)
    command = [sys.executable, "-m", "mypy", "--strict", str(file)]
    root = Path(__file__).parents[2]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=root).stdout


def test_repetitions_can_be_iterated_under_strict_types(tmp_path):
    assert "Success" in checked(tmp_path, PROGRAM)
    assert "repeet" in checked(tmp_path, PROGRAM + WRONG)
