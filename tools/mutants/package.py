"""Mutants of the Python package: broken one at a time in a copy of the sources.

A mutant changes an operator or a constant. It meets the tests that run the block of code around it, the files
of `tests/python` with the most names of its module first. Tests are tried until one notices it
or their time is over.
"""

from __future__ import annotations

import ast
import hashlib
import os
import re
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice, takewhile
from pathlib import Path
from zlib import crc32

from mutants.builds import Copy
from mutants.listed import ROOT, Mutant
from mutants.places import places
from mutants.pytests import MISSING, Pytest, Seconds

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

MOST_FILES = 5
"""Test files whose blocks are found for a mutant at most: the others name its module in passing."""

LIMIT_S = 60.0
"""The cost of the tests of a mutant at most, as it was without it."""

LIVE = ("test_live", "test_live_media", "test_replay_live", "test_shell")
"""Files of tests on the kernel's TCP, which a busy machine repeats or skips: no mutant meets them."""

ROUNDS = (3, 8)
"""Files behind the closest whose tests are tried together, one process each."""


def sample(seed: int, size: int) -> list[Mutant]:
    """A random sample of the mutants of the package. A change elsewhere in the sources leaves it as it is."""
    files = sorted((ROOT / PACKAGE).rglob("*.py"))
    names = [file.relative_to(ROOT).as_posix() for file in files]
    found = [one for name in names for one in listed(name, (ROOT / name).read_text("utf-8"))]
    return drawn([Mutant(0, *rest) for rest in found], seed, size)


def drawn(mutants: list[Mutant], seed: int, size: int) -> list[Mutant]:
    """The sample with the smallest hashes of seed and mutant, each numbered from 1."""
    ranks: dict[str, Mutant] = {}
    before = Counter[tuple[str, str]]()
    for one in mutants:
        # A line may have the same change in several places.
        parts = (str(seed), *one.key(), str(before[one.key()]))
        before[one.key()] += 1
        ranks[hashlib.sha256("\0".join(parts).encode()).hexdigest()] = one
    chosen = [ranks[rank] for rank in sorted(ranks)[:size]]
    return [replace(one, number=number) for number, one in enumerate(chosen, 1)]


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
    """The test files that name a module of this path, its functions or its classes.

    The first have most of these names, of which common ones count for little, or are named like the module.
    """
    path = Path(module)
    stem = path.parent.name if path.stem == "__init__" else path.stem
    tree = ast.parse((ROOT / module).read_text("utf-8"))
    kinds = (ast.FunctionDef, ast.ClassDef)
    names = {stem.strip("_"), *(node.name for node in tree.body if isinstance(node, kinds))}
    pattern = re.compile(r"\b(" + "|".join(map(re.escape, sorted(names))) + r")\b")
    found = {name: set(pattern.findall(text)) for name, text in tests.items()}
    files = Counter(name for of in found.values() for name in of)
    weight = {name: sum(1.0 / files[one] for one in of) for name, of in found.items()}
    parts = {_singular(part) for part in (*path.parts[2:-1], stem)}
    for name in tests:
        words = Path(name).stem.split("_")
        weight[name] += 0.5 * sum(_singular(word) in parts for word in words)
    return sorted((name for name in tests if weight[name]), key=lambda name: (-weight[name], name))


def _singular(word: str) -> str:
    return word.removesuffix("s")


def outcomes(mutants: list[Mutant], out: Path) -> Iterator[tuple[Mutant, str | None]]:
    """Why the tests notice each mutant: empty if they do not."""
    copy = Copy("package", out)
    for built in (ROOT / PACKAGE).glob("_engine*"):
        shutil.copy2(built, copy.folder / PACKAGE)
    trials = Trials(copy, Pytest(copy, out))
    for mutant in mutants:
        why = trials.outcome(mutant)
        left = f" ({trials.left_out} tests that reach it take longer)" if trials.left_out else ""
        sys.stderr.write(f"{mutant.number}/{len(mutants)} {mutant.name}: {why or f'SURVIVES{left}'}\n")
        yield mutant, why


class Trials:
    """Tries mutants in a copy of the sources."""

    def __init__(self, copy: Copy, pytest: Pytest) -> None:
        self.copy = copy
        self.pytest = pytest
        names = [name for name in copy.originals if name.endswith(".py")]
        self.package = {name: copy.text(name) for name in names if name.startswith(f"{PACKAGE}/")}
        self.tests = {name: copy.text(name) for name in names if name.startswith("tests/python/test_")}
        self.left_out = 0
        """Tests that the time of the last mutant did not suffice for."""

    def outcome(self, mutant: Mutant) -> str:
        """The first test that fails with the mutant and passes without it, or empty."""
        left, tried, skipped = LIMIT_S, set[str](), set[str]()
        for offered in self.rounds(mutant):
            tests: Seconds = {}
            for test, seconds in offered.items():
                if test not in tried and seconds <= left:
                    tests[test] = seconds
                    left -= seconds
            tried |= tests.keys()
            skipped |= offered.keys()
            self.left_out = len(skipped - tried)
            if tests and (why := self.noticed(mutant, tests)):
                return why
        return ""

    def rounds(self, mutant: Mutant) -> Iterator[Seconds]:
        """Tests to try together: those that reach the mutant, the closest files first.

        Without such tests all tests of the files near its module are tried.
        """
        broken = places(mutant, self.package)
        named = [file for file in naming(mutant.file, self.tests) if Path(file).stem not in LIVE]
        near = named[:MOST_FILES]
        for file in near[:1]:
            yield self.pytest.reaching(file, broken)
        mapped = {file: self.pytest.reaching(file, broken) for file in self.tests if self.pytest.has(file)}
        rank = {file: place for place, file in enumerate(named)}
        order = sorted(mapped, key=lambda file: (rank.get(file, len(rank)), sum(mapped[file].values())))
        known = iter([mapped[file] for file in order if mapped[file] and file not in near[:1]])
        for size in ROUNDS:
            yield _joined(islice(known, size))
        yield _joined(known)
        for file in near:
            if file not in mapped:
                yield self.pytest.reaching(file, broken)
        if not any(self.pytest.reaching(file, broken) for file in [*mapped, *near]):
            yield from (self.pytest.tests(file) for file in near)

    def noticed(self, mutant: Mutant, tests: Seconds) -> str:
        """The first of the tests that fails with the mutant and passes without it, or empty."""
        left, seconds = list(tests), sum(tests.values())
        while left:
            with self.broken(mutant):
                failed = self.pytest.failing(left, seconds)
            if not failed:
                return ""
            file = failed.partition("::")[0]
            if file in self.tests:
                # Without the mutant a file that cannot be read is tried by one of its tests.
                alone = [failed] if "::" in failed else [one for one in left if one.startswith(file)][:1]
                if not self.pytest.failing(alone, seconds) and self.is_cause(mutant, left, alone, seconds):
                    return failed
                # It fails in the copy in any case, or behind others.
                left = [one for one in left if one != failed and ("::" in one or one != file)]
                continue
            if failed == MISSING and "::" in left[0]:
                # The mutant changes names of tests, such as the cases that they go through.
                left = sorted({one.partition("::")[0] for one in left})
                continue
            if self.pytest.failing(left, seconds) == failed:
                raise SystemExit(f"without a mutant, too: {failed}")
            return failed
        return ""

    def is_cause(self, mutant: Mutant, tests: list[str], alone: list[str], seconds: float) -> bool:
        """True unless a test fails behind others without the mutant as well, and passes alone with it."""
        with self.broken(mutant):
            if self.pytest.failing(alone, seconds):
                return True
        before = takewhile(lambda one: one not in alone, tests)
        return not self.pytest.failing([*before, *alone], seconds)

    @contextmanager
    def broken(self, mutant: Mutant) -> Iterator[None]:
        """The sources with the mutant in them."""
        path = self.copy.folder / mutant.file
        text, as_it_was = self.copy.text(mutant.file), path.stat()
        start, end = mutant.span
        self.copy.write(mutant.file, (text[:start] + mutant.replacement + text[end:]).encode())
        # Compiled modules are told apart by the second of the last change, and by the size.
        other = (1 + crc32(mutant.name.encode()) % 10**8) * 10**9
        os.utime(path, ns=(as_it_was.st_atime_ns, as_it_was.st_mtime_ns - other))
        try:
            yield
        finally:
            self.copy.write(mutant.file, self.copy.originals[mutant.file])
            os.utime(path, ns=(as_it_was.st_atime_ns, as_it_was.st_mtime_ns))


def _joined(tests: Iterable[Seconds]) -> Seconds:
    """The tests of several files."""
    return {test: seconds for some in tests for test, seconds in some.items()}
