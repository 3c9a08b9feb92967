"""The locks: every Python from Debian 12's on takes their pins, and they pin every requirement."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
LOCKS = ("requirements.lock", "requirements-dev.lock")
PYTHONS = ("3.11.2", "3.12.0", "3.13.0", "3.14.0")
"""Debian 12's Python, which is the oldest, and the first of every later series."""
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def pinned(lock: str, python: str) -> dict[str, str]:
    """The version of each package that a lock gives a Python on Linux."""
    lines = map(Requirement, (ROOT / lock).read_text().splitlines())
    system = {
        "python_full_version": python,
        "python_version": python.rpartition(".")[0],
        "sys_platform": "linux",
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
    }
    asked = [line for line in lines if line.marker is None or line.marker.evaluate(system)]
    return {canonicalize_name(line.name): str(line.specifier).removeprefix("==") for line in asked}


def wanted(*groups: str) -> Iterator[Requirement]:
    """The requirements of the package and its groups of dependencies."""
    yield from map(Requirement, PROJECT["project"]["dependencies"])
    for group in groups:
        yield from map(Requirement, PROJECT["dependency-groups"][group])


@pytest.mark.parametrize("python", PYTHONS)
def test_the_locks_pin_all_that_is_asked_for_once(python: str) -> None:
    command, all_of_it = (pinned(lock, python) for lock in LOCKS)
    for lock, groups in ((command, ["build"]), (all_of_it, ["test"])):
        for requirement in wanted(*groups):
            assert requirement.specifier.contains(lock[canonicalize_name(requirement.name)]), requirement
    both = command.keys() & all_of_it.keys()
    assert {name: command[name] for name in both} == {name: all_of_it[name] for name in both}
    # A build installs no tool of the tests.
    assert not command.keys() & {"pytest", "mkdocs", "mypy", "ruff", "pyright", "hypothesis", "ipykernel"}


@pytest.mark.parametrize("python", PYTHONS)
def test_what_is_installed_from_the_locks_takes_every_python(python: str) -> None:
    refused = []
    for name, version in pinned(LOCKS[1], python).items():
        try:
            found = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        asks = Requirement(f"python {found.metadata['Requires-Python'] or ''}").specifier
        if found.version == version and not asks.contains(python):
            refused.append(f"{name} {version} needs Python {asks}")
    assert refused == []


@pytest.mark.parametrize("python", PYTHONS)
def test_a_resolver_finds_what_the_locks_pin_and_nothing_else(python: str, tmp_path: Path) -> None:
    """It gets the version of Python, and takes wheels alone: a new machine cannot compile all packages."""
    system = [
        "--python-version",
        python,
        "--python-platform",
        "x86_64-manylinux_2_28",
        "--only-binary",
        ":all:",
    ]
    command = [sys.executable, "-m", "uv", "pip", "compile", "--quiet", *system]
    found = subprocess.run(
        [*command, *(ROOT / lock for lock in LOCKS)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    if any(word in found.stderr for word in ("error sending request", "Failed to fetch", "dns error")):
        pytest.skip("no package index can be reached")
    assert found.returncode == 0, found.stderr
    resolved = dict(
        line.split("==") for line in found.stdout.splitlines() if not line.lstrip().startswith("#")
    )
    assert resolved == pinned(LOCKS[0], python) | pinned(LOCKS[1], python)
