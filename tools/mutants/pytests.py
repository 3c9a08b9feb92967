"""Tests of the package in the copy: which blocks each of them runs, found once, and whether they fail."""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

from mutants.builds import Copy
from mutants.reaching import BLOCKS, MOST, NOTES

Seconds = dict[str, float]
"""Tests, with what each costs, mostly processor time."""

STARTING_S = 120.0
"""The longest that a process of tests takes beside them, on a busy machine."""

SLOWER = 10.0
"""Tests that take so many times the time that they took before have no end."""

MAPPING_S = 30.0
"""The cost of all tests of a file at most. Those that do not begin before it are tried with no mutant."""

WITHIN_S = 600.0
"""The longest that they take, on a busy machine."""

MEMORY_KIB = 4 << 20

NOT_OURS = ("PYTEST_ADDOPTS", "PYTHONDONTWRITEBYTECODE")
"""Variables that the tests of the copy do not have.

Options of the pytest around it may name a plug-in that the copy lacks. Compiled modules have a folder
of their own (`PYTHONPYCACHEPREFIX`): a process that may not write there compiles all libraries again.
"""

MISSING = "tests are missing"
TIMEOUT = "timeout"

ERROR_OF_USAGE = 4
"""The status of pytest when a test that it is asked for does not exist."""


@dataclass
class Mapped:
    """A file of tests: those that pass in the copy, and the blocks that they run."""

    tests: Seconds = field(default_factory=dict)
    blocks: dict[str, list[str]] = field(default_factory=dict)
    """The tests that run a block."""

    def reaching(self, blocks: set[str]) -> Seconds:
        """The tests that run one of these blocks, the shortest first."""
        found = {test for block in blocks for test in self.blocks.get(block, [])}
        return dict(sorted(((test, self.tests[test]) for test in found), key=lambda one: (one[1], one[0])))


class Pytest:
    """Runs tests in a copy of the sources."""

    def __init__(self, copy: Copy, out: Path) -> None:
        self.copy = copy
        self.out = out
        self.notes = out / "notes"
        self.maps: dict[str, Mapped] = {}
        helpers = (name for name in copy.originals if re.match(r"tests/python/(?!test_)[^/]+\.py", name))
        shared = [*helpers, *(name for name in copy.originals if name.startswith("python/ackclock/"))]
        content = b"".join(name.encode() + b"\0" + copy.originals[name] + b"\0" for name in shared)
        engines = sorted((copy.folder / "python/ackclock").glob("_engine*.so"))
        self.shared = hashlib.sha256(content + b"".join(one.read_bytes() for one in engines)).digest()

    def place(self, file: str) -> Path:
        """The place of the map of a file of tests. It changes with the file and with the package."""
        digest = hashlib.sha256(self.shared + self.copy.originals[file]).hexdigest()[:16]
        return self.out / "maps" / f"{Path(file).stem}-{digest}.json"

    def has(self, file: str) -> bool:
        """Whether the map of a file of tests is there."""
        return file in self.maps or self.place(file).exists()

    def mapped(self, file: str) -> Mapped:
        """The map of a file of tests."""
        if file not in self.maps:
            place = self.place(file)
            if not place.exists():
                self.run([file], WITHIN_S, blocks=True)
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text(json.dumps(asdict(read(self.noted()))), "utf-8")
            self.maps[file] = Mapped(**json.loads(place.read_text("utf-8")))
        return self.maps[file]

    def tests(self, file: str) -> Seconds:
        """The tests of a file that pass, the shortest first."""
        return dict(sorted(self.mapped(file).tests.items(), key=lambda one: one[1]))

    def reaching(self, file: str, blocks: set[str]) -> Seconds:
        """The tests of a file that pass and run one of these blocks, the shortest first."""
        return self.mapped(file).reaching(blocks)

    def failing(self, tests: list[str], seconds: float) -> str:
        """The first of the tests that fails, why none of them ends, or empty."""
        status = self.run(tests, STARTING_S + SLOWER * seconds)
        failed = re.search(r'^\["report", (".*"), "\w+", "failed", ', self.noted(), re.MULTILINE)
        if failed:
            return str(json.loads(failed[1]))
        if status is None:
            return TIMEOUT
        if status == ERROR_OF_USAGE:
            return MISSING
        return f"pytest ends with status {status}" if status else ""

    def noted(self) -> str:
        """The notes of the last run."""
        return self.notes.read_text("utf-8", "replace")

    def run(self, tests: list[str], limit: float, *, blocks: bool = False) -> int | None:
        """Runs tests until one fails, or all of them for their blocks.

        Returns the status of pytest, or None after the limit.
        """
        listed = self.out / "tests"
        listed.write_text("".join(f"{test}\n" for test in tests), "utf-8")
        self.notes.write_bytes(b"")
        limits = f'ulimit -t {limit:.0f} -v {MEMORY_KIB}; exec "$@"'
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "mutants.recording"]
        command += ["--no-header", *([] if blocks else ["-x"]), f"@{listed}"]
        folder = self.copy.folder
        paths = (folder / "python", folder / "tools/mutants/within", folder / "tools")
        ours = {name: value for name, value in os.environ.items() if name not in NOT_OURS}
        environment = ours | {
            "PYTHONPATH": os.pathsep.join(map(str, paths)),
            "PYTHONPYCACHEPREFIX": str(self.out / ("compiled-blocks" if blocks else "compiled")),
            NOTES: str(self.notes),
            BLOCKS: str(folder) if blocks else "",
            MOST: str(MAPPING_S) if blocks else "",
        }
        with (self.out / "pytest.log").open("wb") as log:
            process = subprocess.Popen(
                ["bash", "-c", limits, "bash", *command],
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                return process.wait(limit)
            except subprocess.TimeoutExpired:
                return None
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def read(notes: str) -> Mapped:
    """The map in the notes of a run."""
    run: dict[str, set[str]] = {}
    fixtures: dict[str, set[str]] = {}
    uses: dict[str, list[str]] = {}
    seconds: Seconds = {}
    passed: set[str] = set()
    test, current = "", set[str]()
    around: list[set[str]] = []
    for line in notes.splitlines():
        if not line.startswith("["):
            current.add(line)
            continue
        match json.loads(line):
            case ["test", name]:
                test, current = name, run.setdefault(name, set())
            case ["fixture", name]:
                around.append(current)
                current = fixtures.setdefault(name, set())
            case ["made", _]:
                current = around.pop()
            case ["uses", *names]:
                uses[test] = names
            case ["report", name, step, outcome, lasted]:
                seconds[name] = seconds.get(name, 0.0) + lasted
                if step == "call" and outcome == "passed":
                    passed.add(name)
                elif outcome == "failed":
                    passed.discard(name)
    found = Mapped({name: seconds[name] for name in sorted(passed)})
    for name in found.tests:
        reached = run[name].union(*(fixtures.get(one, set()) for one in uses.get(name, [])))
        for block in sorted(reached):
            found.blocks.setdefault(block, []).append(name)
    return found
