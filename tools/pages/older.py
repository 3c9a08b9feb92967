"""Measurements of experiments that are older than their rules: ``PYTHONPATH=tools python -m pages.older``.

A measurement has the rules of its commit. The rules of an experiment are the scenarios and measures of its
file, and the golden runs of its controllers, which move with every rule that changes a run. Each is compared
with its text in that commit, or in the last one of that day if the history does not have it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ackclock.papers.catalogue import catalogue
from pages.measurements import ROOT

FOLDERS = ("papers", "suites")
NO_COMMIT = "0" * 40
GOLDEN = "crates/sim/tests/snapshots/golden__{}.snap"
RUNS = ("repetitions", "sweep", "scenario", "runs", "variations", "like", "quick")
"""The keys of an experiment for its scenarios."""
MEASURES = ("id", "over", "measure")
"""The keys of a claim for its measure."""


@dataclass(frozen=True)
class Older:
    """An experiment whose measurement is older than its rules."""

    file: str
    experiment: str
    date: str
    commit: str
    changed: tuple[str, ...]
    """The files with rules that have changed since, as far as they are rules."""

    def __str__(self) -> str:
        """A line for the terminal."""
        return f"{self.file}: {self.experiment}, {self.date}, {self.commit}: {', '.join(self.changed)}"


def older(root: Path = ROOT) -> Iterator[Older]:
    """Every experiment whose rules differ from those of its measurement."""
    known = {
        one.id: one for folder in FOLDERS for paper in catalogue(root / folder) for one in paper.experiments
    }
    history = _History(root)
    for folder in FOLDERS:
        for path in sorted((root / "measurements" / folder).glob("*.json")):
            measured = json.loads(path.read_text("utf-8")).get("experiments", {})
            for name, found in measured.items():
                if name not in known:
                    continue
                commit = history.commit(found["commit"], found["date"])
                files = [known[name].file, *_golden(root, known[name].setups)]
                relative = [file.relative_to(root).as_posix() for file in files]
                if changed := tuple(file for file in relative if history.differs(commit, file)):
                    yield Older(path.name, name, found["date"], found["commit"], changed)


def _golden(root: Path, setups: Any) -> list[Path]:
    """The golden runs of the controllers of an experiment."""
    flows = [flow for setup in setups for flow in setup.scenario.get("flows", [])]
    names = sorted({flow["cc"].replace("-", "_") for flow in flows if isinstance(flow.get("cc"), str)})
    files = [root / GOLDEN.format(name) for name in names]
    return [file for file in files if file.exists()]


def rules(text: str) -> Any:
    """The scenarios and measures in the text of an experiment. Any other text is one rule."""
    try:
        document: Mapping[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return text
    claims = [{key: claim.get(key) for key in MEASURES} for claim in document.get("claims", [])]
    return [{key: document.get(key) for key in RUNS}, claims]


class _History:
    """The texts of files in older commits."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._known: dict[tuple[str, str], bool] = {}

    def _git(self, *arguments: str) -> str | None:
        command = ["git", "-C", str(self._root), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.stdout if done.returncode == 0 else None

    def commit(self, commit: str, date: str) -> str:
        """The commit itself, or the last one of its day, or none that is there."""
        if self._git("cat-file", "-e", f"{commit}^{{commit}}") is not None:
            return commit
        found = self._git("rev-list", "-1", f"--before={date}T23:59:59", "HEAD")
        return (found or "").strip() or NO_COMMIT

    def differs(self, commit: str, file: str) -> bool:
        """True if the rules of a file were others in that commit, or not there."""
        if (commit, file) not in self._known:
            before = self._git("show", f"{commit}:{file}")
            now = (self._root / file).read_text("utf-8")
            self._known[commit, file] = before is None or rules(before) != rules(now)
        return self._known[commit, file]


def main() -> None:
    """Lists them."""
    found = list(older())
    lines = [*map(str, found), f"{len(found)} measurements of experiments are older than their rules"]
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
