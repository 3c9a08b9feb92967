"""The blocks that a mutant of the package breaks.

A mutant within a function breaks the block around it. A constant of a module or class breaks the blocks that
read it, by its own name or by one that is made from it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache

from mutants.listed import Mutant
from mutants.reaching import first, owned


def places(mutant: Mutant, texts: dict[str, str]) -> set[str]:
    """The blocks, as file and line. `texts` has all files of the package."""
    text = texts[mutant.file]
    before = text[: mutant.span[0]]
    line, column = before.count("\n") + 1, len(before.rpartition("\n")[2].encode())
    around = [(node, block) for node, block in _blocks(text) if _contains(node, line, column)]
    if around and (innermost := around[-1][1]):
        return {f"{mutant.file}:{innermost}"}
    broken = next((node for node, _ in reversed(around) if isinstance(node, ast.stmt)), None)
    names = _names(text, broken) if broken else set()
    return {place for file, other in texts.items() for place in _reading(file, other, names)}


@cache
def _blocks(text: str) -> list[tuple[ast.AST, int]]:
    """The nodes of a file, each with the line that names its block, or 0."""
    return [(node, first(block).lineno if block else 0) for node, block in owned(ast.parse(text))]


def _contains(node: ast.AST, line: int, column: int) -> bool:
    if not isinstance(node, (ast.stmt, ast.expr, ast.keyword)):
        return False
    end = (node.end_lineno or 0, node.end_col_offset or 0)
    decorators = getattr(node, "decorator_list", [])
    begin = min((one.lineno, one.col_offset) for one in (node, *decorators))
    return begin <= (line, column) < end


def _names(text: str, broken: ast.stmt) -> set[str]:
    """The names that a statement of a module gives, and others that the module makes of them."""
    statements = [node for node, block in _blocks(text) if not block and isinstance(node, ast.stmt)]
    names = {broken.name} if isinstance(broken, ast.ClassDef) else _given(broken)
    while True:
        more = {name for node in statements if _read(node) & names for name in _given(node)}
        if more <= names:
            return names
        names |= more


def _given(statement: ast.stmt) -> set[str]:
    stored = (node for node in ast.walk(statement) if isinstance(node, ast.Name))
    return {node.id for node in stored if isinstance(node.ctx, ast.Store)}


def _read(statement: ast.stmt) -> set[str]:
    if isinstance(statement, (ast.ClassDef, ast.FunctionDef)):
        return set()
    return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)} - _given(statement)


def _reading(file: str, text: str, names: set[str]) -> Iterator[str]:
    """The blocks of a file that read one of these names."""
    if not any(name in text for name in names):
        return
    for node, block in _blocks(text):
        name = getattr(node, "id", None) or getattr(node, "attr", None)
        if block and name in names:
            yield f"{file}:{block}"
