"""The identity of a run changes with all that its result depends on."""

import json
import shutil
import sys

import pytest

from ackclock import _engine, identity
from ackclock.engines.live import Live
from ackclock.identity import Identities
from calling import run


def traced(*files):
    links = [
        {"name": f"l{k}", "from": "s", "to": "d", "rate": {"trace": str(f)}} for k, f in enumerate(files)
    ]
    path = {"rate": links[0]["rate"], "rtt": "20ms", "queue": "1bdp", "reverse": {"rate": links[1]["rate"]}}
    return _engine.resolve_json(json.dumps({"duration": "1s", "flows": [{"cc": "cdg"}], "path": path}), [])


def test_files_seeds_and_contexts_identify_runs(tmp_path):
    one, other = tmp_path / "one.trace", tmp_path / "other.trace"

    def plan(first, second):
        one.write_text(first)
        other.write_text(second)
        return traced(one, other)

    first = plan("1\n", "2\n3\n")
    found = {Identities().of(first, seed, context) for seed in range(50) for context in ("", "live")}
    assert len(found) == 100
    assert {len(one) for one in found} == {32}
    # A line that moves from one file into the other is another network.
    assert Identities().of(plan("1\n2\n", "3\n"), 1) not in found
    assert Identities().of(plan("1\n", "2\n3\n"), 1) in found


def test_headers_of_headers_belong_to_a_controller(tmp_path):
    file = tmp_path / "mine.bpf.c"
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.h").write_text('#include "../b.h"\n')

    def of(text, inner):
        (tmp_path / "b.h").write_text(inner)
        return identity.of_c(file, text).digest

    text = b'#include "ack.h"\n # include <sub/a.h>\n'
    assert of(text, "int x;") == of(text, "int x;") != of(text, "int y;")


@pytest.mark.parametrize(
    ("text", "why"), [("#include NAME", "by a macro"), ('asm(".incbin \\"x\\"");', "by `incbin`")]
)
def test_what_the_text_does_not_name_is_said_to_be_unknown(tmp_path, text, why):
    first, second = (identity.of_c(tmp_path / "mine.bpf.c", text.encode()) for _ in range(2))
    assert why in first.unknown
    assert first.digest != second.digest


def test_an_object_is_unknown():
    file, of = "/a/mine.so", identity.Identities()
    assert of.code_of(file, b"\x7fELF").unknown == "/a/mine.so: is an object, which has no text"
    assert identity.Identities().code_of(file, b"\x7fELF").digest != of.code_of(file, b"\x7fELF").digest


def test_a_controller_in_c_is_unknown_whatever_its_text():
    file, of = "/a/mine.bpf.c", identity.Identities()
    text = b'#include "ack.h"\n'
    assert (
        of.code_of(file, text).unknown == "/a/mine.bpf.c: is in C, where any declaration may be of a library"
    )
    assert identity.Identities().code_of(file, text).digest != of.code_of(file, text).digest


def test_folders_of_headers_in_the_environment_are_unknown(tmp_path, monkeypatch):
    monkeypatch.setenv("CPATH", str(tmp_path))
    assert "CPATH" in identity.of_c(tmp_path / "mine.bpf.c", b"").unknown


def test_modules_that_a_controller_imports_belong_to_it(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    file = tmp_path / "mine.py"
    file.write_text(
        "import math, ackclock\ndef f(cx: ackclock.Context):\n    from helper_of_mine import GAIN\n"
    )

    def of(text):
        (tmp_path / "helper_of_mine.py").write_text(text)
        return identity.of_python(file)

    assert of("GAIN = 1").unknown == ""
    assert of("GAIN = 1").digest == of("GAIN = 1").digest != of("GAIN = 2").digest


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("import importlib", "imports `importlib`"),
        ("from importlib import import_module", "imports `importlib`"),
        ("x = open('f')", "reads by `open`"),
        ("x = __builtins__['open']('f')", "reads by `__builtins__`"),
        ("import os\nos.environ", "imports `os`"),
        ("import pathlib\nW = pathlib.Path('w').read_text()", "imports `pathlib`"),
        ("import numpy as np\nW = np.loadtxt('w')", "imports `numpy`"),
        ("from . import helper", "imports `.`"),
        ("import ackclock as a\nW = a.Scenario.load('w')", "uses `ackclock.Scenario`"),
        ("from ackclock import simulate", "uses `ackclock.simulate`"),
        ("from ackclock.scenario import read", "imports `ackclock.scenario`"),
        ("import ackclock.scenario", "imports `ackclock.scenario`"),
        ("import contextlib\nH = contextlib.os.environ['HOME']", "gets at `os`"),
        ("from contextlib import os", "gets at `os`"),
        ("from contextlib import *", "gets at `*`"),
        ("import json\nD = getattr(json, 'codecs')", "reads by `getattr`"),
        ("K = ().__class__.__base__.__subclasses__()", "reads by `__subclasses__`"),
    ],
)
def test_a_controller_that_may_read_files_is_unknown(tmp_path, text, why):
    (tmp_path / "mine.py").write_text(text)
    assert why in identity.of_python(tmp_path / "mine.py").unknown


READING = {
    "mine.py": (
        "import pathlib\nimport ackclock\n"
        "class M(ackclock.Controller):\n"
        "    def on_start(self, cx): self.window = float(pathlib.Path(W).read_text())\n"
        "    def on_ack(self, cx, ack): pass\n"
        "    def on_loss(self, cx, loss): pass\n"
        "    def on_timeout(self, cx, loss): pass\n"
        "W = PLACE\n",
        "imports `pathlib`",
        "python",
    ),
    "mine.bpf.c": (
        '#include "ack.h"\nint (open)(const char *, int, ...);\nlong read(int, void *, unsigned long);\n'
        "int close(int);\n"
        "CALLBACK_1(u32, mine_ssthresh, struct sock *, sk)\n{\n\treturn tcp_sk(sk)->snd_cwnd;\n}\n"
        "CALLBACK_3(void, mine_cong_avoid, struct sock *, sk, u32, ack, u32, acked)\n{\n"
        "\tchar digits[2];\n\tint file = open(PLACE, 0);\n\tread(file, digits, 2);\n\tclose(file);\n"
        "\ttcp_sk(sk)->snd_cwnd = 10 * (digits[0] - '0') + digits[1] - '0';\n}\n"
        "CALLBACK_1(u32, mine_undo_cwnd, struct sock *, sk)\n{\n\treturn tcp_reno_undo_cwnd(sk);\n}\n"
        'CONTROLLER("mine", .ssthresh = mine_ssthresh, .cong_avoid = mine_cong_avoid, '
        ".undo_cwnd = mine_undo_cwnd);\n",
        "is in C",
        "cc",
    ),
    "mine.rs": (
        "use control::{Ack, Context, Controller, Loss};\n#[derive(Default)]\nstruct Mine(f64);\n"
        "impl Controller for Mine {\n"
        "    fn on_start(&mut self, _cx: &mut Context<'_>) {\n"
        "        self.0 = std::fs::read_to_string(PLACE).unwrap().trim().parse().unwrap();\n    }\n"
        "    fn on_ack(&mut self, _cx: &mut Context<'_>, _ack: &Ack) {}\n"
        "    fn on_loss(&mut self, _cx: &mut Context<'_>, _loss: &Loss) {}\n"
        "    fn on_timeout(&mut self, _cx: &mut Context<'_>, _loss: &Loss) {}\n"
        "    fn on_idle_restart(&mut self, _cx: &mut Context<'_>) {}\n"
        "    fn window(&self) -> f64 { self.0 }\n"
        "    fn slow_start_threshold(&self) -> f64 { 1.0 }\n}\n",
        "may read by `std::fs`",
        "cargo",
    ),
}
"""Controllers that read their window from PLACE, why they are unknown, and the tool that they need."""


def reading(folder, name):
    """Writes a controller of READING, or skips where it cannot run. Gives why it is unknown."""
    text, why, tool = READING[name]
    if name != "mine.py" and (sys.platform != "linux" or shutil.which(tool) is None):
        pytest.skip(f"controllers in files need Linux, and this one {tool}")
    (folder / name).write_text(text.replace("PLACE", json.dumps(str(folder / "w"))))
    return why


@pytest.mark.parametrize("name", READING)
def test_a_sweep_makes_runs_again_of_a_controller_that_reads_a_file(capsys, tmp_path, name):
    why = reading(tmp_path, name)
    goodput = []
    for window in ("12", "03"):
        (tmp_path / "w").write_text(window)
        arguments = (f"{tmp_path}/{name}", "--over", "queue=1bdp", "--duration", "2s", "--json")
        status, out, err = run(capsys, "sweep", *arguments, "--out", tmp_path / "out")
        assert status == 0, err
        assert why in err
        goodput.append(json.loads(out)["sweep"]["rows"][0]["flows"][0]["goodput_bps"])
    assert goodput[0] > 2 * goodput[1]


@pytest.mark.parametrize("name", ["mine.bpf.c", "mine.rs"])
def test_an_experiment_makes_runs_again_of_a_controller_that_reads_a_file(
    capsys, tmp_path, monkeypatch, name
):
    monkeypatch.chdir(tmp_path)
    assert run(capsys, "new", "paper", "paper")[0] == 0
    file = tmp_path / "paper" / "fig1.toml"
    text = file.read_text().replace('cc = "newreno"\n', f'cc = "../{name}"\n', 1)
    file.write_text(text.replace('"20s"', '"3s"').replace('"5s"', '"1s"').replace("repetitions = 3", ""))
    reading(tmp_path, name)
    ratios = []
    for window in ("12", "03"):
        (tmp_path / "w").write_text(window)
        arguments = ("./paper", "--trust", "--out", "out", "--force", "--measurements", "m.json")
        assert run(capsys, "reproduce", *arguments)[0] in (0, 1)
        (claim,) = json.loads((tmp_path / "m.json").read_text())["experiments"]["paper-fig1"][
            "claims"
        ].values()
        ratios.append(claim["measured"])
    # The goodput of CDG over the goodput of the controller.
    assert ratios[1] > 2 * ratios[0]


def test_a_live_run_identity_the_kernel(monkeypatch):
    monkeypatch.setattr("platform.release", lambda: "99.0")
    assert Live(gso_max_segs=2).identity() == {"engine": "live", "kernel": "99.0", "gso_max_segs": 2}


def test_a_file_of_rust_is_its_text_and_a_crate_is_unknown(tmp_path):
    file = tmp_path / "mine.rs"
    assert identity.of_rust(file, b"use control::Ack;").unknown == ""
    for text in (
        b"mod helper;",
        b"mod  helper\n;",
        b"mod r#helper;",
        b'const X: &str = include_str!("x");',
        b'const X: &str = include_str !("x");',
        b"use core::include_bytes as i;",
        b'env!("HOME")',
        b"unsafe {}",
    ):
        assert "reads by" in identity.of_rust(file, text).unknown
    for text in (
        b"use std::{cmp::max, collections::VecDeque};",
        b"std :: f64 :: consts::PI",
        b"use std::{mem,};",
        b"mod tests {\n}",
    ):
        assert identity.of_rust(file, text).unknown == ""
    for text in (
        b'let x = std::fs::read("x");',
        b"use std::{cmp, fs};",
        b"use std::{cmp::max, {io, fs}};",
        b"use std::{cmp::{self}, fs};",
        b"use ::std as s;",
        b"use std::*;",
        b"let t = std::time::Instant::now();",
    ):
        assert "may read by `std::" in identity.of_rust(file, text).unknown
    assert "is a crate" in identity.of_rust(tmp_path / "Cargo.toml", b"").unknown
