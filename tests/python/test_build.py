"""`make` builds again after changes, and `make lint` finds faults that formatters miss."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import re
import shutil
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

import sources

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def check_sources() -> ModuleType:
    loader = importlib.machinery.SourceFileLoader("check_sources", str(ROOT / ".ci" / "check_sources.py"))
    specification = importlib.util.spec_from_loader("check_sources", loader)
    assert specification is not None
    module = importlib.util.module_from_spec(specification)
    loader.exec_module(module)
    return module


def test_a_tool_that_vanishes_builds_the_extension_again(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text((ROOT / "Makefile").read_text())
    (tmp_path / ".venv").mkdir()
    stale = ["crates", "kernel", "Cargo.toml", "Cargo.lock", "requirements.lock"]
    for index, name in enumerate([*stale, ".venv/.installed", ".venv/.with-native-live", ".venv/.built"]):
        path = tmp_path / name
        path.mkdir() if name in ("crates", "kernel") else path.touch()
        os.utime(path, (index, index))

    def planned(live: str) -> str:
        command = ["make", "-n", "build", "NATIVE=native", f"LIVE={live}", "QUIC=", "QLOG="]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout

    assert "maturin" not in planned("live")
    assert "maturin develop --release --quiet --no-default-features --features native" in planned("")


def test_every_feature_that_hides_tests_of_a_crate_is_on_where_they_run() -> None:
    command = ["make", "-n", "test-rust", "test-optional", "NATIVE=native", "LIVE=live", "QUIC=1", "QLOG=1"]
    planned = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    calls = [line for line in planned.splitlines() if line.startswith("cargo test")]
    hidden = set()
    for source in ROOT.glob("crates/*/**/*.rs"):
        crate = source.relative_to(ROOT / "crates").parts[0]
        # The extension is tested in Python. A crate's own tests have `testing` by its manifest.
        if crate != "python":
            names = re.findall(r'feature = "(\w+)"', source.read_text("utf-8"))
            hidden |= {f"ackclock-{crate}/{name}" for name in names if name != "testing"}
    assert hidden >= {"ackclock-live/quic", "ackclock-quic/qlog", "ackclock-shim/stacks"}
    assert len(calls) >= 2
    for call in calls[:2]:
        assert hidden <= set(re.findall(r"--features (\S+)", call)), call


def test_long_lines_are_found_but_not_in_tables_of_pages(check_sources: ModuleType) -> None:
    # 3 characters before the rest: 117 more are 120.
    assert check_sources.faults("a.rs", "//! a\n// " + "b" * 117) == []
    assert check_sources.faults("a.rs", "//! a\n// " + "b" * 118) == [
        "a.rs:2: 121 characters, at most 120 are allowed"
    ]
    table = "| " + "c " * 70 + "|"
    assert check_sources.faults("a.rs", f"//! {table}\n") == [
        "a.rs:1: 147 characters, at most 120 are allowed"
    ]
    assert check_sources.faults("a.md", f"{table}\n```\n{'d ' * 70}\n```\n") == []
    assert check_sources.faults("a.md", "e " * 70) == ["a.md:1: 140 characters, at most 120 are allowed"]


def test_a_source_file_of_more_than_500_lines_is_found(check_sources: ModuleType) -> None:
    assert check_sources.faults("a.rs", "//! a\n" * 500) == []
    assert check_sources.faults("a.rs", "//! a\n" * 501) == ["a.rs:501: 501 lines, at most 500 are allowed"]
    assert check_sources.faults("a.md", "a\n" * 400) == []
    assert check_sources.faults("a.md", "a\n" * 401) == ["a.md:401: 401 lines, at most 400 are allowed"]
    assert check_sources.faults("a.pyi", '"""It."""\n' * 501) == []


def test_files_that_are_not_yet_added_are_checked(tmp_path: Path) -> None:
    if shutil.which("git") is None:
        pytest.skip("there is no git")
    for name in ("old.md", "gone.md", "new.md", "built.md", ".gitignore"):
        (tmp_path / name).write_text("built.md\n")
    for command in (["init", "-q"], ["add", "old.md", "gone.md"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    (tmp_path / "gone.md").unlink()
    assert sources.listed(tmp_path) == [".gitignore", "new.md", "old.md"]


def test_a_function_above_60_lines_of_code_is_found(check_sources: ModuleType) -> None:
    # Neither the declaration of three lines, nor the docstring, the comment and the blank line count.
    head = '"""It."""\n\n\ndef of(\n    a: int,\n) -> int:\n    """It.\n\n    More.\n    """\n    # Why.\n\n'
    assert check_sources.faults("a.py", head + "    a += 1\n" * 59 + "    return a\n") == []
    assert check_sources.faults("a.py", head + "    a += 1\n" * 60 + "    return a\n") == [
        "a.py:4: `of` has 61 lines of code, at most 60 are allowed"
    ]


def test_a_source_file_without_a_head_is_found(check_sources: ModuleType) -> None:
    for name in ("a.rs", "a.c", "a.py"):
        assert len(check_sources.faults(name, "x = 1\n")) == 1
    for name, text in {
        "a.rs": "//! It.\n",
        "a.h": "/* It. */\n",
        "a.py": '"""It."""\n',
        "__init__.py": "",
    }.items():
        assert check_sources.faults(name, text) == []


def test_unsafe_code_without_its_reason_is_found(check_sources: ModuleType) -> None:
    reason = "// SAFETY: it stays.\n"
    for code in ("unsafe { f() };\n", "unsafe impl Send for A {}\n"):
        assert check_sources.faults("a.rs", f"//! It.\n{reason}{code}") == []
        assert check_sources.faults("a.rs", f"//! It.\n{code}") == [
            "a.rs:2: `unsafe` without its reason (`// SAFETY: …` above it)"
        ]
        assert len(check_sources.faults("a.rs", "//! It.\n" + reason + "g();\n" * 5 + code)) == 1
    assert check_sources.faults("a.rs", "//! It.\nunsafe fn f() {}\n// unsafe { }\n") == []


def test_make_snapshots_writes_every_snapshot_of_rust() -> None:
    recipe = (ROOT / "Makefile").read_text().split("\nsnapshots:")[1].split("\n\n")[0]
    written = {
        (package, test)
        for package, tests in re.findall(r"-p ackclock-(\S+)((?: --test \S+| --lib)+)", recipe)
        for test in re.findall(r"(?:--test |--)(\S+)", tests)
    }
    compared = {
        (path.relative_to(ROOT / "crates").parts[0], path.stem if folder == "tests" else "lib")
        for folder in ("tests", "src")
        for path in (ROOT / "crates").glob(f"*/{folder}/**/*.rs")
        if re.search(r"assert_\w*snapshot!", path.read_text())
    }
    assert compared
    assert written == compared
