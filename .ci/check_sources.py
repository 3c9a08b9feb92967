#!/usr/bin/env python3
"""Checks what formatters do not: lengths of lines, functions and files, heads, prose and citations.

`make lint` runs it over the files under version control and new ones. It prints one line for each fault, and
ends with status 1 if there is any.
"""

from __future__ import annotations

import ast
import pathlib
import re
import sys

import citations
import prose
import sources

LONGEST = {".rs": 120, ".c": 120, ".h": 120, ".py": 110, ".pyi": 110, ".md": 120}
"""The longest line of each kind of file, in characters."""

MOST_LINES = 500
"""The most lines of a source file. Stubs, which describe a whole module, may have more."""

MOST_LINES_OF_PAGE = 400
"""The most lines of a page, besides the tables that programs write."""

MOST_LINES_OF_CODE = 60
"""The most lines of code in the body of a function. In Rust, clippy counts them (``too_many_lines``).

Declaration, docstring, comments and blank lines do not count: a command declares each of its options.
"""

UNSAFE = re.compile(r"\bunsafe\s*(\{|impl\b)")
"""A block or an implementation that the compiler cannot check."""

NEAR = 5
"""Lines above ``unsafe`` within which its reason begins: one reason may be for two implementations."""


def too_long(path: str, text: str) -> list[str]:
    """The lines that are too long. Of Markdown only prose counts."""
    kind = pathlib.PurePath(path).suffix
    most, in_code, faults = LONGEST[kind], False, []
    for number, line in sources.by_hand(text):
        if kind == ".md":
            in_code ^= line.lstrip().startswith("```")
            no_prose = line.startswith(("    ", "<!--", "![")) or line.lstrip().startswith("|")
            if in_code or no_prose or " " not in line[:most].strip():
                continue
        if len(line) > most:
            faults.append(f"{path}:{number}: {len(line)} characters, at most {most} are allowed")
    return faults


def without_head(path: str, text: str) -> list[str]:
    """A sentence about a source file that does not open with its purpose."""
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
    kind, lines = pathlib.PurePath(path).suffix, len(sources.by_hand(text))
    most = MOST_LINES_OF_PAGE if kind == ".md" else MOST_LINES
    if kind == ".pyi" or lines <= most:
        return []
    return [f"{path}:{most + 1}: {lines} lines, at most {most} are allowed"]


def lines_of_code(function: ast.FunctionDef | ast.AsyncFunctionDef, lines: list[str]) -> int:
    """How many lines of code the body of a function has."""
    body = function.body if ast.get_docstring(function) is None else function.body[1:]
    if not body or function.end_lineno is None:
        return 0
    of_body = (line.strip() for line in lines[body[0].lineno - 1 : function.end_lineno])
    return sum(1 for line in of_body if line and not line.startswith("#"))


def long_functions(path: str, text: str) -> list[str]:
    """A sentence about each Python function that does too much."""
    if pathlib.PurePath(path).suffix != ".py":
        return []
    lines, found = text.splitlines(), []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            count = lines_of_code(node, lines)
            if count > MOST_LINES_OF_CODE:
                allowed = f"at most {MOST_LINES_OF_CODE} are allowed"
                found.append(f"{path}:{node.lineno}: `{node.name}` has {count} lines of code, {allowed}")
    return found


def unsafe_without_reason(path: str, text: str) -> list[str]:
    """A sentence about each ``unsafe`` block of Rust without a comment that says why it is sound."""
    if pathlib.PurePath(path).suffix != ".rs":
        return []
    lines = text.splitlines()
    return [
        f"{path}:{number}: `unsafe` without its reason (`// SAFETY: …` above it)"
        for number, line in enumerate(lines, 1)
        if UNSAFE.search(line.split("//")[0])
        and not any("SAFETY: " in near for near in lines[max(0, number - 1 - NEAR) : number])
    ]


def faults(path: str, text: str) -> list[str]:
    """All faults of one file."""
    checks = (too_long, too_many_lines, long_functions, without_head, unsafe_without_reason)
    return [fault for check in checks for fault in check(path, text)]


def main() -> int:
    """Prints the faults of all files."""
    every = sources.texts()
    found = [fault for path, text in every.items() for fault in faults(path, text)]
    found += prose.faults(every) + citations.faults()
    sys.stdout.writelines(f"{fault}\n" for fault in found)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
