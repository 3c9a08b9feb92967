"""The files under version control that `make lint` checks."""

from __future__ import annotations

import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
CHECKED = (".rs", ".c", ".h", ".py", ".pyi", ".md")
"""The endings of their names."""

Line = tuple[int, str]
"""The number of a line and its text."""


def texts() -> dict[str, str]:
    """The text of each file, by path."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    paths = [path for path in listed.stdout.split("\0") if path.endswith(CHECKED)]
    present = [path for path in paths if (ROOT / path).is_file() and not (ROOT / path).is_symlink()]
    return {path: (ROOT / path).read_text("utf-8") for path in present}


def by_hand(page: str) -> list[Line]:
    """The lines of a page outside the tables that programs write."""
    found, tabled = [], False
    for number, line in enumerate(page.splitlines(), 1):
        if line == "<!-- /table -->":
            tabled = False
        elif not tabled:
            found.append((number, line))
            tabled = line.startswith("<!-- table: ")
    return found
