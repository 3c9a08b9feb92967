"""Source files with all mutants of a sample in them, one of which an environment variable switches on.

A function with mutants becomes a `match` whose arms are its body, broken in one way each, and the original. A
constant and a `const fn` cannot ask the environment: such a mutant is the only change of a build of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby

from mutants.listed import Mutant

VARIABLE = "ACKCLOCK_MUTANT"
"""The environment variable with the number of the mutant that is on."""

MODULE = f"""
#[allow(missing_docs)]
pub mod mutants_switch {{
    pub fn on() -> u32 {{
        static NUMBER: std::sync::OnceLock<u32> = std::sync::OnceLock::new();
        *NUMBER.get_or_init(|| std::env::var("{VARIABLE}").map_or(0, |number| number.parse().unwrap()))
    }}
}}
"""
"""Appended to the root of the crate."""

SKIPPED = re.compile(
    r"""//[^\n]*|/\*.*?\*/|\bb?r(\#*)".*?"\1|"(?:\\.|[^"\\])*"|'(?:\\[^u]|\\u\{\w+\}|[^'\\])'""", re.DOTALL
)
"""Comments, strings and characters, whose braces do not count."""


def body(text: str, function: tuple[int, int]) -> tuple[int, int] | None:
    """The body of a function with its braces, or None if it cannot be switched, as it is `const`."""
    start, end = function
    depth, at = 0, start
    while at < end:
        skipped = SKIPPED.match(text, at)
        if skipped:
            at = skipped.end()
            continue
        if text[at] == "{" and depth == 0:
            is_const = re.search(r"\bconst\s+(unsafe\s+)?fn\b", SKIPPED.sub("", text[start:at]))
            return None if is_const else (at, end)
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(text[at], 0)
        at += 1
    raise ValueError(f"no body in {text[start:end]!r}")


def broken(text: str, mutant: Mutant, start: int = 0, end: int | None = None) -> str:
    """The text from `start` to `end` with one mutant in it."""
    first, last = mutant.span
    return f"{text[start:first]} {mutant.replacement} {text[last:end]}"


def can_switch(text: str, mutant: Mutant) -> bool:
    """True if a mutant is in the body of a function that may ask the environment."""
    inside = mutant.function and body(text, mutant.function)
    return bool(inside and inside[0] < mutant.span[0])


def switched(text: str, mutants: Iterable[Mutant]) -> str:
    """A source file in which each of the mutants can be switched on."""
    functions = []
    for function, group in groupby(
        sorted(mutants, key=lambda one: one.function or (0, 0)), lambda one: one.function
    ):
        inside = body(text, function) if function else None
        if inside:
            functions.append((inside, list(group)))
    return "".join(pieces(text, 0, len(text), functions))


Functions = list[tuple[tuple[int, int], list[Mutant]]]


def pieces(text: str, start: int, end: int, functions: Functions) -> Iterator[str]:
    """The text from `start` to `end`, in which the functions with these bodies, in order, are switches."""
    at = start
    for (first, last), mutants in functions:
        if not at <= first < end:
            continue
        nested = [one for one in functions if first < one[0][0] and one[0][1] < last]
        yield f"{text[at:first]}{{ {SWITCH} {{\n"
        for mutant in mutants:
            yield f"{mutant.number} => {arm(mutant.number)} {broken(text, mutant, first, last)} {ARM_END}\n"
        numbers = " ".join(str(mutant.number) for mutant in mutants)
        yield f"_ => {arm(numbers)} {{ {''.join(pieces(text, first + 1, last, nested))} {ARM_END}\n}}}}"
        at = last
    yield text[at:end]


SWITCH = "match crate::mutants_switch::on()"
"""Asks the environment, which a file cannot do that a build script includes as well."""

ARM_END = "/* end of mutant */"


def arm(numbers: int | str) -> str:
    """A comment before an arm: the mutants that its errors belong to."""
    return f"/* mutants {numbers} */"


def blamed(text: str, line: int) -> set[int]:
    """The numbers of the mutants that an error in a line of a switched file belongs to: of a switch, all."""
    lines = text.split("\n")
    if SWITCH in lines[line - 1]:
        below = "\n".join(lines[line:])
        original = re.search(r"^_ => /\* mutants ([\d ]+) \*/", below, re.MULTILINE)
        assert original
        return {int(number) for number in original[1].split()}
    above = "\n".join(lines[:line])
    numbers: list[set[int]] = []
    for mark in re.finditer(r"/\* mutants ([\d ]+) \*/|/\* end of mutant \*/", above):
        if mark[1]:
            numbers.append({int(number) for number in mark[1].split()})
        elif "\n" in above[mark.end() :]:
            numbers.pop()
    return numbers[-1] if numbers else set()
