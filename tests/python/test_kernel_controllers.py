"""Controllers in C, written for the kernel: how they are named, run and refused."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import ackclock
from ackclock.cli import machine, main
from calling import PATIENCE

KERNEL = Path(__file__).parents[2] / "kernel"
SCENARIO = """
duration = "10s"
path = { rate = "10mbit", rtt = "40ms", queue = "84p" }
flows = [{ cc = "./mine.bpf.c" }, { cc = "newreno" }]
"""


HEADER = Path("/usr/include/linux/capability.h")


@pytest.mark.skipif(not HEADER.is_file(), reason="needs Linux's headers")
def test_capabilities_have_the_numbers_of_linux():
    numbers = dict(re.findall(r"#define (CAP_\w+)\s+(\d+)", HEADER.read_text("utf-8")))
    ours = dict(machine.CAPABILITIES) | {
        name: getattr(machine, name) for name in ("CAP_SYS_ADMIN", "CAP_SYS_NICE")
    }
    assert ours == {name: int(numbers[name]) for name in ours}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    inner = tmp_path / "inner"
    inner.mkdir()
    shutil.copy(KERNEL / "newreno.bpf.c", inner / "mine.bpf.c")
    (inner / "demo.toml").write_text(SCENARIO)
    return inner


def refused(capsys, *arguments):
    assert main([str(a) for a in arguments]) == 2
    return capsys.readouterr().err


def test_variables_of_a_file_belong_to_one_run(tmp_path):
    text = (Path(__file__).parents[2] / "kernel" / "newreno.bpf.c").read_text()
    # Every hundredth ACK of all flows of a run halves the window.
    begun = text.index("{", text.index("cong_avoid,"))
    counting = "static u32 acks; acks++; if (acks % 100 == 0) tcp_sk(sk)->snd_cwnd = 2;"
    (tmp_path / "mine.bpf.c").write_text(f"{text[: begun + 1]}\n{counting}\n{text[begun + 1 :]}")
    flow = ackclock.Flow(cc=str(tmp_path / "mine.bpf.c"), start_jitter="10ms")
    path = ackclock.Path("10mbit", rtt="20ms", queue="20p")

    def runs(threads):
        made = ackclock.simulate(path, [flow, flow], duration="2s", repeat=4, threads=threads)
        return [one.flow_series for one in made]

    together = runs(4)
    assert all(one.equals(other) for one, other in zip(together, runs(1), strict=True))
    alone = ackclock.simulate(path, [flow, flow], duration="2s", seed=3).flow_series
    assert alone.equals(together[2])


def test_a_file_beside_the_scenario_is_its_controller(folder):
    run = ackclock.simulate(folder / "demo.toml")
    again = ackclock.simulate(folder / "demo.toml")
    assert run.flows["cc"].to_pylist() == ["mine.bpf.c", "newreno"]
    assert run.flows["name"].to_pylist() == ["mine-0", "newreno-1"]
    assert run.flows.equals(again.flows)
    assert run.flow_series.equals(again.flow_series)
    # Between them they fill the path: 10 Mbit/s less headers.
    assert 9.4e6 < sum(run.flows["goodput_bps"].to_pylist()) < 9.66e6
    kept = list((folder.parent / "cache" / "ackclock" / "controllers").iterdir())
    assert [file.suffix for file in kept] == [".so"]


def test_python_and_the_command_line_take_it_beside_others(folder, capsys):
    os.chdir(folder)
    path = ackclock.Path("10mbit", rtt="40ms", queue="84p")
    run = ackclock.simulate(path, [ackclock.Flow(cc="./mine.bpf.c", count=2)], duration="5s")
    assert run.flows["name"].to_pylist() == ["mine-0", "mine-1"]
    assert main(["compare", "cubic", "./mine.bpf.c", "--duration", "5s"]) == 0
    assert "mine.bpf.c" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ("flows.0.cc=./other.bpf.c", "flows.0.cc: `./other.bpf.c` cannot be read: No such file or directory"),
        ("flows.0.cc=./broken.bpf.c", "broken.bpf.c` does not compile: "),
        ("flows.0.parameters.beta=1", "mine.bpf.c` has no parameters, so `beta` cannot be set"),
    ],
)
def test_what_cannot_be_run_is_one_sentence(folder, capsys, setting, sentence):
    (folder / "broken.bpf.c").write_text('#include "ack.h"\n\nint f(void) { return nothing; }\n')
    printed = refused(capsys, "run", folder / "demo.toml", "--trust", "--set", setting)
    assert sentence in printed
    if "broken" in setting:
        assert "broken.bpf.c:3:" in printed


def test_a_threshold_beyond_the_law_is_named_with_the_loss_it_answers(folder, capsys):
    text = (folder / "mine.bpf.c").read_text()
    begun = text.index("{", text.index("newreno_ssthresh,")) + 1
    (folder / "mine.bpf.c").write_text(f"{text[:begun]}\nreturn 20000000;\n{text[begun:]}")
    os.chdir(folder)
    printed = refused(capsys, "compare", "./mine.bpf.c", "--duration", "5s", "--set", "path.loss=1%")
    assert "after on_loss the window is 20000000: allowed is a number of segments from 0 to" in printed


def test_parameters_of_the_kernel_are_set_by_naming_some(capsys):
    said = "ackclock: kernel set: KEY=VALUE… is missing; see `ackclock kernel set --help`\n"
    assert refused(capsys, "kernel", "set", "cdg") == said


def test_a_crash_after_c_names_a_file(folder):
    program = (
        "import ackclock, ctypes\n"
        "path = ackclock.Path('5mbit', rtt='20ms', queue='9p')\n"
        "ackclock.simulate(path, [ackclock.Flow(cc='./mine.bpf.c')], duration='1s')\n"
        "ctypes.string_at(0)\n"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=PATIENCE)
    assert done.returncode == -11
    assert "mine.bpf.c` ran, which may have written out of bounds: a wrong address" in done.stderr
