"""What the shell completes, and the manual page."""

import re
import shutil
import subprocess
import sys

import pytest

from ackclock.cli import completing
from calling import run


def completed(*words):
    """What a shell would offer for the last of the words behind `ackclock`."""
    program = "import sys; sys.argv = ['ackclock']; from ackclock.cli import main; main()"
    variables = {
        "_ACKCLOCK_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(("ackclock", *words)),
        "COMP_CWORD": str(len(words)),
        "PATH": "/usr/bin:/bin",
    }
    command = [sys.executable, "-c", program]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=variables).stdout.split()


def test_the_shell_completes_controllers():
    assert completed("compare", "newreno", "cub") == ["cubic", "cubic-rfc"]


@pytest.mark.parametrize(
    ("complete", "typed", "expected"),
    [
        (completing.controllers, "cdg(G=1ms,beta_d", ["cdg(G=1ms,beta_d="]),
        (completing.controller_list, "cdg,cubic-", ["cdg,cubic-rfc"]),
        (completing.experiments, "cdg2011-fig4", ["cdg2011-fig4"]),
        (completing.experiments, "da1992-ta", ["da1992-table1", "da1992-table2"]),
        (completing.profiles, "free", ["freebsd-9"]),
        (completing.settings, "path.rtt", ["path.rtt="]),
        (completing.settings, "flows.*.start_", ["flows.*.start_jitter="]),
        (completing.swept, "rt", ["rtt="]),
        (completing.examples, "cell", ["cellular"]),
        (completing.cases, "cubic-10", ["cubic-10"]),
        (completing.formats, "mm", ["mm-link"]),
    ],
)
def test_values_are_completed(complete, typed, expected):
    assert complete(typed)[: len(expected)] == expected


def test_the_manual_page_has_every_command_and_is_sound(capsys, tmp_path):
    status, page, _ = run(capsys, "--man")
    assert status == 0
    assert {"run", "sweep", "new", "kernel"} <= set(re.findall(r"^\.SS ackclock (\w+)", page, re.MULTILINE))
    if shutil.which("groff") is None:
        pytest.skip("groff, which checks the page, is not installed")
    (tmp_path / "ackclock.1").write_text(page)
    command = ["groff", "-man", "-Tascii", "-ww", str(tmp_path / "ackclock.1")]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stderr == ""


def test_tables_fit_eighty_columns_and_cut_no_names(capsys, monkeypatch):
    monkeypatch.setattr("rich.console.Console.is_terminal", True)
    monkeypatch.setenv("COLUMNS", "80")
    compared = ("compare", "cdg(G=10ms)", "illinois", "--duration", "1s")
    for arguments, names in (
        (compared, ["cdg(G=10ms)", "illinois-0", "bottleneck", "left out in 80 columns: timeouts, packets"]),
        (("controllers", "cdg"), ["unknown_is_congestion", "hold_freezes_window"]),
        (("reproduce", "--list"), ["edwan2010-fig6.1"]),
    ):
        status, out, err = run(capsys, *arguments)
        assert status == 0
        lines = [re.sub(r"\x1b\[[\d;]*m", "", line) for line in out.splitlines()]
        assert max(map(len, lines)) <= 80
        assert [name for name in names if name not in "\n".join(lines) + err] == []
