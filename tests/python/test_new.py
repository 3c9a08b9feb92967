"""`ackclock new` and `ackclock reproduce ./folder`: every template works as it is written."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from calling import refused, run

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty current folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_new_scenario_runs(capsys):
    assert run(capsys, "new", "scenario", "home-link")[0] == 0
    status, out, _ = run(capsys, "run", "home-link.toml", "--set", "duration=11s")
    assert status == 0
    assert "home-link" in out


@pytest.mark.parametrize(
    ("language", "controller"),
    [("python", "./my_own.py:MyOwn"), ("c", "./my_own.bpf.c"), ("rust", "./my_own.rs:MyOwn")],
)
def test_a_new_controller_uses_the_link(capsys, language, controller):
    assert run(capsys, "new", "controller", "my-own", "--in", language)[0] == 0
    if language == "rust" and (shutil.which("cargo") is None or sys.platform != "linux"):
        pytest.skip("controllers in Rust need cargo and Linux")
    status, out, err = run(capsys, "compare", controller, "--duration", "10s")
    assert status == 0, err
    # 10 Mbit/s carry 9.65 Mbit/s of payload. Slow start leaves a few per cent of ten seconds.
    row = next(
        line
        for line in out.splitlines()
        if "│" in line and "my_own" in line.lower().replace("myown", "my_own")
    )
    assert float(row.split("│")[3]) > 8.5


def test_a_new_controller_in_python_passes_mypy_and_ruff(capsys, folder):
    run(capsys, "new", "controller", "my-own")
    file = str(folder / "my_own.py")
    for command in (
        ["mypy", "--strict"],
        ["ruff", "check", "--config", "pyproject.toml", "--ignore", "ARG002"],
    ):
        checked = subprocess.run(
            [sys.executable, "-m", *command, file], capture_output=True, text=True, check=False, cwd=ROOT
        )
        assert checked.returncode == 0, checked.stdout


@pytest.mark.skipif(shutil.which("cargo") is None, reason="building an engine needs cargo")
def test_a_new_engine_builds_and_runs_its_scenario(capsys, folder):
    refusal = refused(capsys, "new", "engine", "mine")
    assert refusal.startswith("engine mine: ")
    assert "--tree DIR says where that is" in refusal
    assert refused(capsys, "new", "queue", "mine").startswith("queue mine: ")
    status, _, err = run(capsys, "new", "engine", "my-own", "--tree", ROOT)
    assert status == 0, err
    # It builds on the crates that the tests in Rust built.
    environment = {**os.environ, "CARGO_TARGET_DIR": str(ROOT / "target"), "CARGO_NET_OFFLINE": "true"}
    shutil.copy(ROOT / "Cargo.lock", folder / "my-own" / "Cargo.lock")

    def cargo(what, *arguments):
        command = ["cargo", what, "--profile", "test", "--quiet", *arguments]
        return subprocess.run(
            command, cwd=folder / "my-own", env=environment, capture_output=True, text=True, check=False
        )

    tested = cargo("test")
    assert tested.returncode == 0, tested.stderr
    ran = cargo("run", "--example", "run", "demo.toml")
    assert ran.returncode == 0, ran.stderr
    goodputs = [float(line.split()[1]) for line in ran.stdout.splitlines() if line.startswith("fixed-window")]
    # Two windows are more than the path holds: the link of 10 Mbit/s is full.
    assert len(goodputs) == 2
    assert 9.0 < sum(goodputs) < 9.7


def test_a_new_paper_passes_its_claim(capsys):
    assert run(capsys, "new", "paper", "mine")[0] == 0
    assert "write ./mine for the folder" in refused(capsys, "reproduce", "mine")
    status, out, err = run(capsys, "reproduce", "./mine", "--out", "report")
    assert (status, err.count("warning")) == (0, 0), err
    assert "At 1 % loss CDG has a higher" in out
    assert "mine-fig1-order" not in out
    assert Path("report/mine-fig1.png").exists()
    assert "mine-fig1-order" in run(capsys, "reproduce", "./mine/fig1.toml", "-v", "--out", "other")[1]


@pytest.mark.parametrize(
    "what", [["scenario"], ["controller"], ["controller", "--in", "c"], ["paper"]], ids=" ".join
)
def test_files_and_commands_that_are_printed_are_there_and_work(capsys, what):
    kind, *options = what
    status, _, err = run(capsys, "new", kind, "mine", *options)
    assert status == 0
    for file in re.findall(r"^(\S+): ", err, re.MULTILINE):
        assert Path(file).exists() or file.endswith("measures.py") or file == "to ship it", file
    commands = re.findall(r"`ackclock ([^`]*)`", err)
    assert commands
    for command in commands:
        assert run(capsys, *shlex.split(command))[0] == 0, command


def test_a_new_paper_ships_with_the_package(capsys, folder):
    """In a copy of the package: it is reproduced by its name, and planned as all others."""
    copied = folder / "copy"
    shutil.copytree(ROOT / "python", copied / "python", symlinks=True, ignore=lambda *_: {"_engine.abi3.so"})
    (copied / "python/ackclock/_engine.abi3.so").symlink_to(ROOT / "python/ackclock/_engine.abi3.so")
    shutil.copytree(ROOT / "papers", copied / "papers")
    shutil.copytree(ROOT / "suites", copied / "suites")
    assert run(capsys, "new", "paper", "mine")[0] == 0
    shutil.move("mine", copied / "papers" / "mine")
    environment = os.environ | {"PYTHONPATH": str(copied / "python")}
    for command in (
        ["-m", "ackclock", "reproduce", "mine"],
        ["-m", "pytest", "-q", str(ROOT / "tests/python/test_papers.py"), "-k", "ships"],
    ):
        done = subprocess.run(
            [sys.executable, *command], env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("cc", "why"),
    [
        ("cubik", "there is no controller `cubik`"),
        ("./mine.py:Mine", "`./mine.py` is Python, which no scenario can name"),
    ],
)
def test_a_paper_with_a_controller_that_the_simulator_lacks_is_refused(capsys, cc, why):
    run(capsys, "new", "paper", "mine")
    file = Path("mine/fig1.toml")
    file.write_text(file.read_text().replace('cc = "cdg"\n', f'cc = "{cc}"\n'))
    sentence = refused(capsys, "reproduce", "./mine")
    assert sentence.startswith("fig1.toml, run cdg: ")
    assert f"flows.0.cc: {why}" in sentence


def test_folders_without_a_paper_are_refused(capsys):
    assert refused(capsys, "reproduce", "./nothing") == "./nothing: there is no such folder or file"
    assert "has no paper.toml" in refused(capsys, "reproduce", ".")
    run(capsys, "new", "paper", "mine")
    run(capsys, "new", "paper", "other")
    text = Path("other/fig1.toml").read_text().replace('id = "other-fig1"', 'id = "mine-fig1"')
    Path("other/fig1.toml").write_text(text)
    assert "two experiments have the id `mine-fig1`" in refused(capsys, "reproduce", "./mine", "./other")


def test_a_new_queue_joins_the_list_once(capsys, folder):
    queues = folder / "crates/network/src/queue"
    queues.mkdir(parents=True)
    before = (ROOT / "crates/network/src/queue/mod.rs").read_text()
    (queues / "mod.rs").write_text(before)
    assert run(capsys, "new", "queue", "my-queue")[0] == 0
    run(capsys, "new", "queue", "my-queue", "--force")
    added = [line for line in (queues / "mod.rs").read_text().splitlines() if line not in before.splitlines()]
    assert added == [
        "mod my_queue;",
        "pub use self::my_queue::MyQueueSettings;",
        "    /// First in, first out: drops a packet that waited too long. A full queue drops the oldest.",
        '    "my-queue" => MyQueue(MyQueueSettings),',
    ]
    written = (queues / "my_queue.rs").read_text()
    assert "impl Settings for MyQueueSettings" in written
    assert "emplate" not in written


def test_a_new_controller_in_rust_joins_the_list(capsys, folder):
    controllers = folder / "crates/control/src/controllers"
    controllers.mkdir(parents=True)
    (controllers / "mod.rs").write_text("//! Controllers.\n\npub mod aimd;\npub mod vegas;\n")
    docs = folder / "docs/controllers"
    docs.mkdir(parents=True)
    (docs / "index.md").write_text((ROOT / "docs/controllers/index.md").read_text())
    (folder / "mkdocs.yml").write_text((ROOT / "mkdocs.yml").read_text())
    for force in ((), ("--force",)):
        assert run(capsys, "new", "controller", "my-own", "--in", "rust", *force)[0] == 0
    assert (docs / "index.md").read_text().count(" my-own -->") == 1
    assert (folder / "mkdocs.yml").read_text().count("          - MyOwn: controllers/my-own.md\n") == 1
    assert "<!-- table: parameters my-own -->" in (docs / "my-own.md").read_text()
    listed = (controllers / "mod.rs").read_text().splitlines()[2:]
    assert listed == ["pub mod aimd;", "pub mod my_own;", "pub mod vegas;"]
    assert 'name: "my-own"' in (controllers / "my_own.rs").read_text()


def test_what_cannot_be_written_is_refused(capsys):
    assert "small letters" in refused(capsys, "new", "scenario", "../x")
    assert "must be one of python, c, rust" in refused(capsys, "new", "controller", "a", "--in", "ada")
    assert "run this at its top" in refused(capsys, "new", "queue", "a")
    assert "at most 15 letters" in refused(capsys, "new", "controller", "a" * 16, "--in", "c")
    Path("a.toml").write_text("mine")
    assert "--force replaces it" in refused(capsys, "new", "scenario", "a")
    assert Path("a.toml").read_text() == "mine"


@pytest.mark.parametrize("group", ["new", "kernel"])
def test_a_group_without_a_command_shows_its_help_alone(capsys, group):
    status, out, err = run(capsys, group)
    assert (status, err) == (2, "")
    assert f"ackclock {group}" in out
