"""Assertions of a script: a part of Python small enough to be safe, over the fields of ``TCP_INFO``.

There are names, numbers, arithmetic, comparisons, ``and``, ``or``, ``not``, a choice with ``if``, and the
functions below. Statements are assertions, assignments to names, ``if``, and ``print``, which is ignored. The
text of an assertion is not computed: the values of its names say more.
"""

from __future__ import annotations

import ast
import operator
import textwrap
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from ackclock.replay.script import DivergenceError, UnsupportedError

Number: TypeAlias = int | float | bool

CONSTANTS: Mapping[str, int] = {
    "TCP_CA_Open": 0,
    "TCP_CA_Disorder": 1,
    "TCP_CA_CWR": 2,
    "TCP_CA_Recovery": 3,
    "TCP_CA_Loss": 4,
    "True": 1,
    "False": 0,
}
"""Names that every script has."""

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.RShift: operator.rshift,
}
_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: operator.not_,
    ast.Invert: operator.invert,
}
_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
LARGEST = 1 << 128
"""Numbers stay below this: a product of products would fill the memory."""
DEEPEST = 100
"""The deepest nesting of an expression. A sum of more terms is nested as deep."""
MOST_DIGITS = 100
"""The most digits to which a number is rounded, before the point or behind it."""


def _round(number: Number, digits: int = 0) -> Number:
    if abs(digits) > MOST_DIGITS:
        raise ValueError(f"round to {digits} digits: at most {MOST_DIGITS} are allowed")
    return round(number, digits) if digits else round(number)


_FUNCTIONS: dict[str, Callable[..., Any]] = {"abs": abs, "min": min, "max": max, "int": int, "round": _round}


def evaluate(node: ast.expr, names: Mapping[str, Number]) -> Number:
    """The value of an expression. Raises UnsupportedError where it has none in this language."""
    try:
        value = _value(node, names)
    except (ArithmeticError, TypeError, ValueError) as error:
        raise UnsupportedError(f"`{ast.unparse(node)}` has no value: {error}") from None
    if isinstance(value, int | float) and abs(value) < LARGEST:
        return value
    raise UnsupportedError(f"`{ast.unparse(node)}` is too large a number")


def _value(node: ast.expr, names: Mapping[str, Number]) -> Number:
    match node:
        case ast.Constant(value=int() | float() as value):
            return value
        case ast.Name(id=name):
            if name not in names:
                raise UnsupportedError(f"`{name}` is not modelled")
            return names[name]
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            number: Number = _BINARY[type(op)](evaluate(left, names), evaluate(right, names))
            return number
        case ast.UnaryOp(op=op, operand=operand):
            return _negated(op, evaluate(operand, names))
        case ast.BoolOp(op=op, values=values):
            truths = (bool(evaluate(value, names)) for value in values)
            return all(truths) if isinstance(op, ast.And) else any(truths)
        case ast.Compare(left=left, ops=ops, comparators=others) if all(
            type(op) in _COMPARISONS for op in ops
        ):
            values_ = [evaluate(part, names) for part in (left, *others)]
            pairs = zip(ops, values_, values_[1:], strict=False)
            return all(_COMPARISONS[type(op)](a, b) for op, a, b in pairs)
        case ast.IfExp(test=test, body=body, orelse=other):
            return evaluate(body if evaluate(test, names) else other, names)
        case ast.Call(func=ast.Name(id=function), args=arguments, keywords=[]) if function in _FUNCTIONS:
            result: Number = _FUNCTIONS[function](*(evaluate(argument, names) for argument in arguments))
            return result
    raise UnsupportedError(f"`{ast.unparse(node)}` is no expression of this language")


def _negated(op: ast.unaryop, value: Number) -> Number:
    result: Number = _UNARY[type(op)](value)
    return result


def statements(text: str) -> list[ast.stmt]:
    """The statements of a block. Raises UnsupportedError where it is no Python."""
    text = textwrap.dedent(text.strip(" \t")).strip()
    begin = text.splitlines()[0][:60] if text else ""
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise UnsupportedError(f"`{begin}` is no block of assertions") from None
    inside: list[ast.AST] = list(body)
    for _ in range(DEEPEST):
        inside = [part for node in inside for part in ast.iter_child_nodes(node)]
    if inside:
        raise UnsupportedError(f"`{begin}` is nested more than {DEEPEST} deep")
    return body


def names_of(node: ast.AST) -> Iterator[str]:
    """The names in an expression or a statement, each once, in order."""
    seen = dict.fromkeys(part.id for part in ast.walk(node) if isinstance(part, ast.Name))
    yield from seen


class Assertions:
    """Runs the blocks of a script. Assignments last to the next blocks."""

    def __init__(self) -> None:
        self._assigned: dict[str, Number] = {}

    def run(self, text: str, fields: Mapping[str, Number]) -> None:
        """Runs a block, with the ``fields`` of ``TCP_INFO`` at this moment.

        Raises DivergenceError or UnsupportedError.
        """
        for statement in statements(text):
            self._run(statement, {**CONSTANTS, **self._assigned, **fields})

    def _run(self, statement: ast.stmt, names: Mapping[str, Number]) -> None:
        match statement:
            case ast.Assert(test=test):
                if not evaluate(test, names):
                    known = [f"{name} is {names[name]}" for name in names_of(test) if name not in CONSTANTS]
                    raise DivergenceError(f"assert {ast.unparse(test)}: {', '.join(known) or 'it is false'}")
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self._assigned[name] = evaluate(value, names)
            case ast.Expr(value=ast.Call(func=ast.Name(id="print"))) | ast.Pass():
                pass
            case ast.If(test=test, body=body, orelse=other):
                for inner in body if evaluate(test, names) else other:
                    self._run(inner, names)
            case _:
                raise UnsupportedError(f"`{ast.unparse(statement).splitlines()[0]}` is no assertion")
