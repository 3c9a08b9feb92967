"""Trials: the tests of a crate run against one mutant, to the first that fails."""

from __future__ import annotations

import os
import re
import resource
import subprocess
from pathlib import Path

from mutants.builds import Build, processor_time
from mutants.listed import Mutant
from mutants.switch import VARIABLE

PATIENCE = 4
"""The processor time that a trial may take, in multiples of the time of the tests without a mutant."""

GRACE_S = 10.0
"""The processor time that it may take in addition."""

MEMORY = 4 << 30
"""The address space of a trial, in bytes: a loop without end may fill it."""

FAILED = re.compile(r"test (.+) \.\.\. FAILED")


def baseline(build: Build) -> dict[Path, float]:
    """The processor time of each test program without a mutant in seconds, the shortest first.

    # Raises
    `SystemExit` if a test fails.
    """
    needed = {}
    for program in build.programs:
        before = processor_time()
        outcome = run(program, build, 0, None)
        if outcome:
            raise SystemExit(f"without a mutant: {outcome}")
        needed[program] = processor_time() - before
    return dict(sorted(needed.items(), key=lambda one: one[1]))


def trial(build: Build, mutant: Mutant, needed: dict[Path, float]) -> str:
    """Why the tests notice a mutant: one that fails, or the end of their time. Empty if they do not.

    The tests beside the code come first: mostly one of them fails.
    """
    for program in needed:
        why = run(program, build, mutant.number, PATIENCE * needed[program] + GRACE_S, mutant.module())
        if why:
            return why
    for program, usual in needed.items():
        why = run(program, build, mutant.number, PATIENCE * usual + GRACE_S)
        if why:
            return why
    return ""


def run(program: Path, build: Build, number: int, limit_s: float | None, only: str | None = None) -> str:
    """Runs one test program, or `only` the tests of a module, to the first failure, and returns that."""

    def limit() -> None:
        if limit_s:
            resource.setrlimit(resource.RLIMIT_CPU, (round(limit_s), round(limit_s) + 5))
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))

    environment = build.environment() | {VARIABLE: str(number), "RUST_BACKTRACE": "0"}
    tests = subprocess.Popen(
        [str(program), "--test-threads", "1", *([only] if only else [])],
        cwd=build.folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        preexec_fn=limit if os.name == "posix" else None,
    )
    assert tests.stdout is not None
    for line in tests.stdout:
        failed = FAILED.search(line)
        if failed:
            tests.kill()
            tests.communicate()
            return failed[1]
    status = tests.wait()
    return {0: "", -24: "timeout"}.get(status, f"{program.name} ends with status {status}")
