"""The step of `action.yml` that runs the check: its words reach the command as they are."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ACTION = Path(__file__).parents[2] / "action.yml"
ECHO = "#!/usr/bin/env python3\nimport json, sys\nprint(json.dumps(sys.argv[1:]))\n"


def script():
    """The last block of the file: the command of the step "Check the controller"."""
    return textwrap.dedent(ACTION.read_text().rpartition("run: |\n")[2])


def called(folder, arguments):
    programs = folder / "ackclock" / "bin"
    programs.mkdir(parents=True)
    (programs / "python").symlink_to(sys.executable)
    (programs / "ackclock").write_text(ECHO)
    (programs / "ackclock").chmod(0o755)
    given = {"TARGET": "./mine.rs:Mine", "ARGUMENTS": arguments, "JUNIT": "j.xml", "REPORT": "report"}
    environment = os.environ | given | {"RUNNER_TEMP": str(folder)}
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script()]
    return subprocess.run(command, env=environment, capture_output=True, text=True, cwd=folder)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("", []),
        ("--long --as cubic", ["--long", "--as", "cubic"]),
        ("--only a,b\n--long\n", ["--only", "a,b", "--long"]),
        ("--case 'my case.toml' --aim \"world peace\"", ["--case", "my case.toml", "--aim", "world peace"]),
        ("$(touch x) `touch x`; touch x", ["$(touch", "x)", "`touch", "x`;", "touch", "x"]),
        ("*", ["*"]),
    ],
)
def test_words_of_the_arguments_reach_the_command(tmp_path, arguments, words):
    done = called(tmp_path, arguments)
    assert done.returncode == 0, done.stderr
    expected = ["check", "./mine.rs:Mine", "--junit", "j.xml", "--out", "report", "--force", *words]
    assert json.loads(done.stdout) == expected
    assert not (tmp_path / "x").exists()


def test_an_open_quote_fails_before_anything_runs(tmp_path):
    done = called(tmp_path, "--case 'my case.toml")
    assert (done.returncode, done.stdout) == (1, "")
    assert "arguments: No closing quotation" in done.stderr
