"""Blocks of the package, and notes of the blocks that the processes of a test run.

A block is a list of statements within a function. It begins with a call in each copy that a process loads, so
nothing is traced and lines stay where they are. `MUTANTS_NOTES` names the file for the notes, and
`MUTANTS_BLOCKS` the sources whose blocks go there. Without them nothing is noted. No test begins when those
before it cost more than `MUTANTS_MOST` seconds.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import fcntl
import importlib.abc
import importlib.machinery
import json
import os
import sys
from collections.abc import Iterator, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, TypeGuard

PACKAGE = "ackclock"

NOTES, BLOCKS, MOST = "MUTANTS_NOTES", "MUTANTS_BLOCKS", "MUTANTS_MOST"

CALL = "__reached__"
"""The name of the function that a block calls first."""

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)

HIGH = 700
"""Descriptors of the file for notes are above this one: tests close and count the low ones."""


Block = list[ast.stmt]


def owned(tree: ast.AST, block: Block | None = None) -> Iterator[tuple[ast.AST, Block | None]]:
    """Every node of a tree below its root, with the innermost block that runs it.

    The signature of a function belongs to the block around it, or to its body. Nodes that run while a module
    is imported belong to none.
    """
    for _, value in ast.iter_fields(tree):
        within = block
        if isinstance(tree, FUNCTIONS):
            within = tree.body if value is tree.body or block is None else block
        elif block is not None and not isinstance(tree, ast.ClassDef) and _is_block(value):
            within = value
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield child, within
                yield from owned(child, within)


def _is_block(value: object) -> TypeGuard[Block]:
    return isinstance(value, list) and bool(value) and all(isinstance(one, ast.stmt) for one in value)


def first(block: Block) -> ast.stmt:
    """The statement that names a block: its first, behind a docstring."""
    return block[1] if len(block) > 1 and _is_text(block[0]) else block[0]


def _is_text(one: ast.stmt) -> bool:
    return isinstance(one, ast.Expr) and isinstance(getattr(one.value, "value", None), str)


def noting(text: bytes | str, name: str) -> ast.Module:
    """The tree of a module whose blocks call `__reached__` with the file and their line."""
    tree = ast.parse(text)
    for block in {id(block): block for _, block in owned(tree) if block is not None}.values():
        one = first(block)
        call = ast.Call(ast.Name(CALL, ast.Load()), [ast.Constant(f"{name}:{one.lineno}")], [])
        begin = ast.copy_location(ast.Expr(call), one)
        block.insert(block.index(one) + (1 if _is_text(one) else 0), ast.fix_missing_locations(begin))
    return tree


class Loader(importlib.machinery.SourceFileLoader):
    """Loads modules whose blocks note that they run."""

    def source_to_code(  # type: ignore[override]
        self, data: Any, path: Any, *, _optimize: int = -1
    ) -> CodeType:
        """The code of a module of the package."""
        name = Path(path).relative_to(os.environ[BLOCKS]).as_posix()
        found: CodeType = compile(noting(data, name), path, "exec", dont_inherit=True, optimize=_optimize)
        return found


class Finder(importlib.abc.MetaPathFinder):
    """Finds the modules of the package."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """A module of the package as always, with another loader."""
        if fullname.partition(".")[0] != PACKAGE:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        source = str(spec.origin) if spec else ""
        if spec and source.startswith(os.environ[BLOCKS] + os.sep) and source.endswith(".py"):
            spec.loader = Loader(spec.name, source)
        return spec


class Notes:
    """Writes to the file for notes, which all processes of a test share."""

    def __init__(self, file: str) -> None:
        low = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
        self.descriptor = fcntl.fcntl(low, fcntl.F_DUPFD_CLOEXEC, HIGH)
        os.close(low)
        self.seen = set[str]()

    def write(self, line: str) -> None:
        """Writes a line. A test that forbids writing files has no further blocks."""
        with contextlib.suppress(OSError):
            os.write(self.descriptor, f"{line}\n".encode())

    def reached(self, block: str) -> None:
        """Notes a block, once a test."""
        if block not in self.seen:
            self.seen.add(block)
            self.write(block)

    def say(self, *parts: object) -> None:
        """Writes a line of the tests, and forgets the blocks seen before it."""
        self.write(json.dumps(parts))
        self.seen.clear()


def begin() -> Notes | None:
    """Notes from here on the blocks that this process runs, if it may have one more file open."""
    file = os.environ.get(NOTES)
    if not file:
        return None
    try:
        notes = Notes(file)
    except OSError:
        return None
    if os.environ.get(BLOCKS):
        setattr(builtins, CALL, notes.reached)
        sys.meta_path.insert(0, Finder())
    return notes
