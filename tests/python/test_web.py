"""Crates without input or output of their own compile for web pages."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TARGET = "wasm32-unknown-unknown"


@pytest.mark.parametrize("package", ["ackclock-scenario", "ackclock-sim"])
def test_crates_without_input_or_output_build_for_web_pages(package: str) -> None:
    if shutil.which("cargo") is None:
        pytest.skip("cargo is not installed")
    command = ["rustc", "--print", "target-libdir", "--target", TARGET]
    library = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    if not Path(library).is_dir():
        pytest.skip(f"the target is not installed: rustup target add {TARGET}")
    build = ["cargo", "build", "--quiet", "--locked", "--target", TARGET, "--package", package]
    done = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
