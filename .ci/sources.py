"""The files under version control that `make lint` checks."""

from __future__ import annotations

import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
CHECKED = (".rs", ".c", ".h", ".py", ".pyi", ".md")
"""The endings of their names."""


def texts() -> dict[str, str]:
    """The text of each file, by path."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    paths = [path for path in listed.stdout.split("\0") if path.endswith(CHECKED)]
    present = [path for path in paths if (ROOT / path).is_file() and not (ROOT / path).is_symlink()]
    return {path: (ROOT / path).read_text("utf-8") for path in present}
