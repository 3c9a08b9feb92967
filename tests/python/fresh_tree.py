"""A copy of the source tree, for tests that follow a walk-through of CONTRIBUTING.md."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

FAST = {"CARGO_PROFILE_TEST_OPT_LEVEL": "0", "CARGO_PROFILE_TEST_DEBUG": "none"}
"""A profile that compiles fast."""


class FreshTree:
    """The files of a commit of everything, in a folder of its own below ``target``, with builds of its own.

    In one target folder Cargo would confuse the crates of the copy with the original's, and build both again.
    """

    def __init__(self, name: str) -> None:
        """Restores the copy ``name``. It stays where it is: Cargo builds only the crates that changed."""
        if None in map(shutil.which, ("cargo", "git")) or not (ROOT / ".git").exists():
            pytest.skip("needs cargo, git and a checkout")
        folder = ROOT / "target" / "fresh-trees" / name
        self.root, self.builds = folder / "tree", folder / "target"
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        wanted = {file for file in listed.stdout.split("\0") if file and (ROOT / file).is_file()}
        for inside, _, files in os.walk(self.root):
            for file in files:
                path = Path(inside, file)
                if str(path.relative_to(self.root)) not in wanted:
                    path.unlink()
        for file in wanted:
            self._restore(ROOT / file, self.root / file)

    @staticmethod
    def _restore(source: Path, copy: Path) -> None:
        """Writes the file if it differs: Cargo judges by its time, which is left alone otherwise."""
        if copy.is_file() and copy.read_bytes() == source.read_bytes():
            return
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, copy)

    def run(self, *command: str, **variables: str) -> str:
        """The output of ``command``. The test fails if the command does."""
        env = {**os.environ, **FAST, "CARGO_TARGET_DIR": str(self.builds), **variables}
        done = subprocess.run(command, cwd=self.root, env=env, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            pytest.fail(f"{' '.join(command)}\n{done.stdout}\n{done.stderr}", pytrace=False)
        return done.stdout
