"""Completions of the shell, and the manual page."""

import re
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from ackclock.cli import completing
from calling import run


def completed(*words):
    """The offers of bash for the last of the words behind `ackclock`, as it breaks them itself."""
    program = "import sys; sys.argv = ['ackclock']; from ackclock.cli import main; main()"
    variables = {
        "_ACKCLOCK_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(("ackclock", *words)),
        "COMP_CWORD": str(len(words)),
        "PATH": "/usr/bin:/bin",
    }
    command = [sys.executable, "-c", program]
    offers = subprocess.run(command, capture_output=True, text=True, check=True, env=variables).stdout
    return [line.removeprefix("plain,") for line in offers.splitlines()]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["compare", "newreno", "cub"], ["cubic", "cubic-rfc"]),
        # bash breaks words at `=` and `:`, and replaces the part behind them.
        (["compare", "--set", "flows.*.transport.sack", "="], ["true", "false"]),
        (["check", "cubic", "--only", "after-l"], ["after-loss"]),
        (["check", "cubic", "--only", "ack-loss,after-b"], ["ack-loss,after-burst"]),
        (["compare", "--set", "path.queue", "=", "fq_co"], ["fq_codel"]),
        (["sweep", "--over", "queue", "=", "1bdp,cod"], ["1bdp,codel"]),
        (["compare", "cdg", "--profile", "=", "free"], ["freebsd-9"]),
        (["sweep", "cdg", "--executor", "dask", ":"], ["//"]),
        (["check", "cdg", "--aim", "d"], ["delay"]),
        # The shell completes files.
        (["compare", "./mi"], ["file,./mi"]),
    ],
)
def test_the_shell_completes_values(words, expected):
    assert completed(*words) == expected


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
        (completing.settings, "flows.0.cc=cub", ["flows.0.cc=cubic", "flows.0.cc=cubic-rfc"]),
        (completing.settings, "profile=free", ["profile=freebsd-9"]),
        (completing.settings, "flows.0.transport.ecn=a", ["flows.0.transport.ecn=accurate"]),
        (completing.settings, "flows.0.transport.sack=", ["flows.0.transport.sack=true"]),
        (completing.settings, "path.queue.discipline=fq_", ["path.queue.discipline=fq_codel"]),
        (completing.swept, "rt", ["rtt="]),
        (completing.swept, "queue=1bdp,fq_", ["queue=1bdp,fq_codel"]),
        (completing.swept, "path.loss=", ["path.loss=1%"]),
        (completing.queues, "du", ["dualpi2"]),
        (completing.named_networks, "802.11", ["802.11a", "802.11b", "802.11g", "802.11n"]),
        (completing.engines, "li", ["live"]),
        (completing.engines, "live:re", ["live:retries="]),
        (
            completing.engines,
            "uml:linux=6,disc",
            ["uml:linux=6,disciplines=kernel", "uml:linux=6,disciplines=simulated"],
        ),
        (completing.draws, "9:so", ["9:sobol"]),
        (completing.executors, "d", ["dask", "dask://"]),
        (partial(completing.listed, ("pdf", "svg")), "pdf,", ["pdf,pdf", "pdf,svg"]),
        (completing.networks, "wi", ["wired", "wifi"]),
        (completing.examples, "cell", ["cellular"]),
        (completing.cases, "cubic-10", ["cubic-10"]),
        (completing.formats, "mm", ["mm-link"]),
        (completing.in_kernel, "gentle", ["gentle-1", "gentle-2"]),
        (completing.slow_starts, "hystart", ["hystart", "hystart++"]),
        (completing.situations, "greedy,mar", ["greedy,marks"]),
    ],
)
def test_values_are_completed(complete, typed, expected):
    assert complete(typed)[: len(expected)] == expected


def test_the_controllers_for_the_kernel_are_those_of_its_folder():
    folder = Path(__file__).parents[2] / "kernel"
    files = {file.name.removesuffix(".bpf.c") for file in folder.glob("*.bpf.c")}
    # `trace` is no controller: it reads the kernel's trace.
    assert files - {"trace"} == set(completing.IN_KERNEL)


def test_the_help_of_a_sweep_cuts_no_example(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert "1gbit:5ms" in run(capsys, "sweep", "--help")[1]


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
