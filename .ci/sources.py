"""The files that `make lint` checks: those under version control, and new ones that git does not ignore."""

from __future__ import annotations

import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
CHECKED = (".rs", ".c", ".h", ".py", ".pyi", ".md")
"""The endings of their names."""

Line = tuple[int, str]
"""The number of a line and its text."""


def listed(root: pathlib.Path = ROOT) -> list[str]:
    """The paths of all files that a commit of everything would have."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    found = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout.split("\0")
    return sorted({path for path in found if path and (root / path).is_file()})


def texts() -> dict[str, str]:
    """The text of each file to check, by path."""
    paths = [path for path in listed() if path.endswith(CHECKED) and not (ROOT / path).is_symlink()]
    return {path: (ROOT / path).read_text("utf-8") for path in paths}


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
