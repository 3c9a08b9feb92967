"""Mutants of the Python package: broken one at a time in a copy of the sources.

A mutant changes an operator or a constant. The tests of a module are the files of `tests/python` that name
it, its functions or its classes, the most names first.
"""

from __future__ import annotations

import ast
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from mutants.builds import Copy
from mutants.listed import ROOT, Mutant

PACKAGE = "python/ackclock"

OPERATORS: dict[type[ast.AST], str] = {
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Is: "is not",
    ast.IsNot: "is",
    ast.In: "not in",
    ast.NotIn: "in",
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "/",
    ast.Div: "*",
    ast.And: "or",
    ast.Or: "and",
}
"""What takes the place of an operator."""

MOST_FILES = 12
"""Test files that a mutant meets at most: the others that name its module name it in passing."""

LIMIT_S = 900.0
"""The processor time of the tests of a mutant."""


def sample(seed: int, size: int) -> list[Mutant]:
    """A random sample of the mutants of the package."""
    files = sorted((ROOT / PACKAGE).rglob("*.py"))
    names = [file.relative_to(ROOT).as_posix() for file in files]
    found = [one for name in names for one in listed(name, (ROOT / name).read_text("utf-8"))]
    chosen = random.Random(f"package {seed}").sample(found, min(size, len(found)))
    return [Mutant(number, *rest) for number, rest in enumerate(chosen, 1)]


def listed(name: str, text: str) -> Iterator[tuple[str, str, tuple[int, int], str, None, str]]:
    """The mutants of a file: all fields of `Mutant` behind its number."""
    lines = text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    tree = ast.parse(text)
    annotations = set(_annotations(tree))

    def place(line: int, column: int) -> int:
        # `ast` counts columns in bytes of UTF-8.
        return starts[line - 1] + len(lines[line - 1].encode()[:column].decode())

    for node in ast.walk(tree):
        if node in annotations:
            continue
        for old, new, (start, end) in _changes(node, text, place):
            row = text.count("\n", 0, start)
            change = f"{name}:{row + 1}:{start - starts[row] + 1}: replace {old} with {new}"
            yield change, name, (start, end), new, None, lines[row].strip()


def _annotations(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes of types, which no test can see."""
    for node in ast.walk(tree):
        for field in ("annotation", "returns"):
            if isinstance(found := getattr(node, field, None), ast.AST):
                yield from ast.walk(found)


def _changes(
    node: ast.AST, text: str, place: Callable[[int, int], int]
) -> Iterator[tuple[str, str, tuple[int, int]]]:
    """The changes of a node: old text, new text and its place."""

    def begin(of: ast.expr) -> int:
        return place(of.lineno, of.col_offset)

    def end(of: ast.expr) -> int:
        return place(of.end_lineno or 0, of.end_col_offset or 0)

    if isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float)):
        new = repr(not node.value if isinstance(node.value, bool) else node.value + 1)
        yield text[begin(node) : end(node)], new, (begin(node), end(node))
    pairs: list[tuple[ast.AST, ast.expr, ast.expr]] = []
    if isinstance(node, ast.Compare):
        pairs = list(zip(node.ops, [node.left, *node.comparators], node.comparators, strict=False))
    elif isinstance(node, ast.BinOp):
        pairs = [(node.op, node.left, node.right)]
    elif isinstance(node, ast.BoolOp):
        pairs = [(node.op, node.values[0], node.values[1])]
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "not", "", (begin(node), begin(node) + len("not"))
    for operator, left, right in pairs:
        if type(operator) not in OPERATORS:
            continue
        between = text[end(left) : begin(right)]
        # Brackets and comments may be between the operands, too.
        spelled = re.search(r"is\s+not|not\s+in|[a-z]+|[^\s()]+", re.sub(r"#[^\n]*", _blanks, between))
        if spelled:
            at = end(left)
            yield spelled[0], OPERATORS[type(operator)], (at + spelled.start(), at + spelled.end())


def _blanks(found: re.Match[str]) -> str:
    return " " * len(found[0])


def naming(module: str, tests: dict[str, str]) -> list[str]:
    """The test files that name a module of this path or what is in it, the most names first."""
    path = Path(module)
    stem = path.parent.name if path.stem == "__init__" else path.stem
    tree = ast.parse((ROOT / module).read_text("utf-8"))
    kinds = (ast.FunctionDef, ast.ClassDef)
    names = {stem.strip("_"), *(node.name for node in tree.body if isinstance(node, kinds))}
    pattern = re.compile(r"\b(" + "|".join(map(re.escape, sorted(names))) + r")\b")
    found = {name: pattern.findall(text) for name, text in tests.items()}
    some = [name for name in found if found[name]]
    return sorted(some, key=lambda name: (-len(set(found[name])), -len(found[name])))[:MOST_FILES]


def outcomes(mutants: list[Mutant], out: Path) -> dict[Mutant, str | None]:
    """Why the tests notice each mutant: empty if they do not."""
    copy = Copy("package", out)
    for built in (ROOT / PACKAGE).glob("_engine*"):
        shutil.copy2(built, copy.folder / PACKAGE)
    tests = {
        name: copy.text(name)
        for name in copy.originals
        if name.startswith("tests/python/test_") and name.endswith(".py")
    }
    found: dict[Mutant, str | None] = {}
    for mutant in mutants:
        found[mutant] = outcome(copy, mutant, naming(mutant.file, tests))
        sys.stderr.write(f"{mutant.number}/{len(mutants)} {mutant.name}: {found[mutant] or 'SURVIVES'}\n")
    return found


def outcome(copy: Copy, mutant: Mutant, files: list[str]) -> str:
    """The first test that fails with the mutant and passes without it, or empty."""
    text = copy.text(mutant.file)
    start, end = mutant.span
    while files:
        copy.write(mutant.file, (text[:start] + mutant.replacement + text[end:]).encode())
        failed = trial(copy.folder, files)
        copy.write(mutant.file, copy.originals[mutant.file])
        name = failed.partition("::")[0]
        if name not in files:
            if failed and trial(copy.folder, files) == failed:
                raise SystemExit(f"without a mutant, too: {failed}")
            return failed
        if not trial(copy.folder, [failed]):
            return failed
        # This file fails in the copy in any case.
        files = [file for file in files if file != name]
    return ""


def trial(folder: Path, files: list[str]) -> str:
    """The first of the tests that fails, or empty."""
    limits = f'ulimit -t {LIMIT_S:.0f} -v {4 << 20}; exec "$@"'
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "--no-header", *files]
    environment = os.environ | {"PYTHONPATH": str(folder / "python"), "PYTHONDONTWRITEBYTECODE": "1"}
    ended = subprocess.run(
        ["bash", "-c", limits, "bash", *command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", ended.stdout, re.MULTILINE)
    if failed:
        return failed[1]
    return "" if ended.returncode == 0 else f"pytest ends with status {ended.returncode}"
