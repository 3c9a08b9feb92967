#!/usr/bin/env python3
"""Checks what formatters do not: how long lines and files are, comments included, and the head of every file.

`make lint` runs it over the files under version control. It prints one line for each fault, and ends with
status 1 if there is any.
"""

from __future__ import annotations

import ast
import pathlib
import subprocess
import sys

LONGEST = {".rs": 120, ".c": 120, ".h": 120, ".py": 110, ".pyi": 110, ".md": 120}
"""The longest line of each kind of file, in characters."""

MOST_LINES = 500
"""The most lines of a source file; documents and stubs, which describe a whole module, may have more."""

TABLES = ("//! |", "/// |", "* |")
"""How a row of a table begins in a comment."""


def too_long(path: str, text: str) -> list[str]:
    """The lines that are too long. Tables do not wrap, and of Markdown only prose counts."""
    kind = pathlib.PurePath(path).suffix
    most, in_code, faults = LONGEST[kind], False, []
    for number, line in enumerate(text.splitlines(), 1):
        if kind == ".md":
            in_code ^= line.lstrip().startswith("```")
            if in_code or line.lstrip().startswith("|") or " " not in line[:most].strip():
                continue
        if len(line) > most and not line.lstrip().startswith(TABLES):
            faults.append(f"{path}:{number}: {len(line)} characters, at most {most} are allowed")
    return faults


def without_head(path: str, text: str) -> list[str]:
    """A sentence about a source file that does not open with what it is for."""
    kind = pathlib.PurePath(path).suffix
    if kind == ".rs":
        has_head, wanted = text.startswith("//! "), "`//! `"
    elif kind in (".c", ".h"):
        has_head, wanted = text.startswith(("/*", "//")), "a comment"
    elif kind in (".py", ".pyi"):
        has_head, wanted = not text.strip() or ast.get_docstring(ast.parse(text)) is not None, "a docstring"
    else:
        return []
    return [] if has_head else [f"{path}:1: opens with no line about what the file is for ({wanted})"]


def too_many_lines(path: str, text: str) -> list[str]:
    """A sentence about a source file that has grown beyond one responsibility."""
    lines = len(text.splitlines())
    if pathlib.PurePath(path).suffix in (".md", ".pyi") or lines <= MOST_LINES:
        return []
    return [f"{path}:{MOST_LINES + 1}: {lines} lines, at most {MOST_LINES} are allowed"]


def faults(path: str, text: str) -> list[str]:
    """All faults of one file."""
    return too_long(path, text) + too_many_lines(path, text) + without_head(path, text)


def main() -> int:
    """Prints the faults of all files under version control."""
    root = pathlib.Path(__file__).resolve().parent.parent
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True, check=True)
    paths = [pathlib.PurePath(path) for path in listed.stdout.split("\0")]
    # Pages of the documentation are left out: their lists and tables of links do not wrap.
    paths = [path for path in paths if path.suffix in LONGEST and not path.is_relative_to("docs")]
    present = [path for path in paths if (root / path).is_file()]
    found = [fault for path in present for fault in faults(str(path), (root / path).read_text("utf-8"))]
    sys.stdout.writelines(f"{fault}\n" for fault in found)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
