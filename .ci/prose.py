#!/usr/bin/env python3
"""Measures prose: pages each, and the comments of each crate and package as a whole.

    .ci/prose.py             every unit with its measures
    .ci/prose.py UNIT...     the faults of these units

`make lint` asks for the faults of all units.
"""

from __future__ import annotations

import ast
import io
import pathlib
import re
import sys
import tokenize
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from sources import Line, by_hand, texts

LONGEST_SENTENCE = 40
"""Words of a sentence at most. A colon and a semicolon end one as well as a stop does."""

NUMBERS_PER_HUNDRED_WORDS = 6.0
"""At most, outside tables, code and citations."""

WORKED_OUT = ("tests/python",)
"""The units that may have more: tests work their numbers out by hand."""

CITATION = re.compile(
    r"\b(RFCs?|[Ss]ections?|[Ff]igures?|[Tt]ables?|[Ee]quations?|[Cc]hapters?|[Aa]ppendix|[Pp]ages?"
    r"|[Aa]lgorithm|[Vv]ersions?|Linux|FreeBSD|Python)(-\w+)* (?:\(?\d[\d.()a-z]*(?:, | and | to |-)?)+"
    r"|\bdraft-[\w-]+|\b(?:19|20)\d\d(?:-\d\d-\d\d)?\b"
)
"""A place in a document, a version of a system, a year or a date."""

NUMBER = re.compile(r"(?<![\w.])\d[\d.,]*")
END_OF_SENTENCE = re.compile(r"(?<=[.!?:;])\s+")
CODE = re.compile(r"``.+?``|`[^`]*`")
LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
MARKDOWN_BULLET = re.compile(r"^\s*(?:[-*+]|\d+\.)\s+")
NOT_PROSE = ("|", "#", "![", "<", "--8<--", ":::", "===")
"""How a line begins that is no prose: tables, headings, pictures, HTML, included files."""

RUST_COMMENT = re.compile(r"\s*(//[/!]?)(?!/)\s?(.*)$")
C_COMMENT = re.compile(r"\s*(?://|/\*+|\*(?=[\s/]|$))\s?(.*?)\s*(?:\*/.*)?$")


@dataclass(frozen=True)
class Sentence:
    """A sentence and where it begins."""

    path: str
    line: int
    text: str

    @property
    def words(self) -> int:
        """How many words it has."""
        return len(self.text.split())

    @property
    def numbers(self) -> int:
        """How many numbers it has that cite nothing."""
        return len(NUMBER.findall(CITATION.sub("", self.text)))


@dataclass(frozen=True)
class Habit:
    """A turn of speech that hides the subject of a sentence, or its end."""

    column: str
    """Its column in the table of measures."""

    predicate: str
    """How a fault names the sentences that have it."""

    pattern: re.Pattern[str]
    """Finds it in a sentence."""

    share: float
    """The share of a unit's sentences that may have it. A single one always may."""

    def found(self, sentences: Iterable[Sentence]) -> list[Sentence]:
        """The sentences that have it."""
        return [one for one in sentences if self.pattern.search(one.text)]

    def too_many(self, sentences: list[Sentence]) -> list[Sentence]:
        """The sentences of a unit that have it, if they are more than allowed."""
        found = self.found(sentences)
        return found if len(found) > max(1, self.share * len(sentences)) else []


HABITS = (
    Habit(
        "turned",
        "begin with That, Whether, Of, What or Where",
        re.compile(r"^(That|Whether|Of|What|Where)\b"),
        0.03,
    ),
    Habit(
        "what",
        "have a clause with `what` for a noun",
        re.compile(
            r"(\b(of|in|to|for|from|by|with|than|as|and|is|are)|\b,) what\b"
            r"|\bwhat (is|was|are|were|it|an?|the|has|have|they|no|did|does)\b",
            re.IGNORECASE,
        ),
        0.01,
    ),
    Habit(
        "that of",
        "have `that of` or its like for a noun",
        re.compile(r"\b(that|those) (of|in|at|with|by|for)\b", re.IGNORECASE),
        0.005,
    ),
    Habit(
        "stands",
        "let things stand, lie, hear, tell or speak",
        re.compile(r"\b(stands?|lies?|hears?|heard|tells?|told|speaks?|spoken)\b", re.IGNORECASE),
        0.005,
    ),
    Habit("; ends", "end in a semicolon", re.compile(r";$"), 0.04),
)


def blocks(lines: Iterable[Line]) -> Iterator[list[Line]]:
    """Paragraphs and items of lists in Markdown, without code, tables and headings."""
    block: list[Line] = []
    fenced = False
    after_blank = True
    for number, line in lines:
        stripped = line.strip()
        fence = stripped.startswith("```")
        fenced ^= fence
        code = fence or fenced or (after_blank and line.startswith("    "))
        if code or not stripped or stripped.startswith(NOT_PROSE) or MARKDOWN_BULLET.match(line):
            if block:
                yield block
            block = []
        # A line of indented code leaves the next one in the code.
        after_blank = not stripped or (code and not fence and not fenced)
        if stripped and not code and not stripped.startswith(NOT_PROSE):
            block.append((number, MARKDOWN_BULLET.sub("", line, count=1)))
    if block:
        yield block


def sentences(path: str, lines: Iterable[Line]) -> list[Sentence]:
    """The sentences of Markdown, each of three words or more."""
    found = []
    for block in blocks(lines):
        text = "\n".join(line.strip() for _, line in block)
        # Lines stay apart until each sentence has its number.
        text = CODE.sub(lambda code: "X" + "\n" * code[0].count("\n"), text)
        text = LINK.sub(lambda link: link[1] + "\n" * (link[0].count("\n") - link[1].count("\n")), text)
        begin = 0
        for end in [*(match.end() for match in END_OF_SENTENCE.finditer(text)), len(text)]:
            one = Sentence(path, block[text.count("\n", 0, begin)][0], " ".join(text[begin:end].split()))
            if one.words > 2:
                found.append(one)
            begin = end
    return found


def commented(path: str, text: str) -> list[Line]:
    """The lines of all comments and docstrings of a source file. The others are blank."""
    lines = text.splitlines()
    if path.endswith(".py"):
        return _of_python(text, len(lines))
    mark = RUST_COMMENT if path.endswith(".rs") else C_COMMENT
    found, kind = [], None
    for number, line in enumerate(lines, 1):
        match = mark.match(line)
        # A doc comment and a plain one below it are two paragraphs.
        now = match[1] if match and match.lastindex == 2 else None
        if now != kind:
            found.append((number, ""))
        kind = now
        found.append((number, match[match.lastindex or 1] if match else ""))
    return found


def _of_python(text: str, count: int) -> list[Line]:
    found = [""] * (count + 1)
    for node in ast.walk(ast.parse(text)):
        # Docstrings, also those below a name.
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            doc = ast.get_source_segment(text, node.value) or ""
            for offset, line in enumerate(doc.splitlines()):
                plain = line[node.col_offset :] if offset and not line[: node.col_offset].strip() else line
                found[node.lineno + offset - 1] = plain.replace('"""', "").removeprefix("r")
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and not token.line[: token.start[1]].strip():
            found[token.start[0] - 1] = token.string.lstrip("#:").removeprefix(" ")
    return list(enumerate(found, 1))


def unit(path: str) -> str | None:
    """The page, crate or package that a file is measured with, or nothing for a file without prose."""
    parts = pathlib.PurePath(path).parts
    if path.endswith(".md"):
        return path
    if not path.endswith((".rs", ".c", ".h", ".py")):
        return None
    if parts[0] == "crates":
        return "/".join(parts[:2])
    if parts[:2] == ("python", "ackclock"):
        return "/".join(parts[: min(3, len(parts) - 1)])
    return "/".join(parts[: min(2, len(parts) - 1)]) or None


def units(texts: Mapping[str, str]) -> dict[str, list[Sentence]]:
    """The sentences of each unit, of the texts of all files by path."""
    found: dict[str, list[Sentence]] = {}
    for path, text in texts.items():
        if (of := unit(path)) is not None:
            lines = by_hand(text) if path.endswith(".md") else commented(path, text)
            found.setdefault(of, []).extend(sentences(path, lines))
    return found


@dataclass(frozen=True)
class Measures:
    """The measures of a unit."""

    sentences: list[Sentence]

    @property
    def words(self) -> int:
        """All words."""
        return sum(one.words for one in self.sentences)

    @property
    def numbers(self) -> float:
        """Numbers per hundred words."""
        return 100 * sum(one.numbers for one in self.sentences) / max(self.words, 1)

    @property
    def long(self) -> list[Sentence]:
        """The sentences that are too long."""
        return [one for one in self.sentences if one.words > LONGEST_SENTENCE]

    def faults(self, name: str) -> list[str]:
        """A line for each fault."""
        found = [
            f"{one.path}:{one.line}: a sentence of {one.words} words: {one.text[:60]}" for one in self.long
        ]
        if self.numbers > NUMBERS_PER_HUNDRED_WORDS and name not in WORKED_OUT:
            allowed = f"at most {NUMBERS_PER_HUNDRED_WORDS:g} are allowed"
            found.append(f"{name}:1: {self.numbers:.1f} numbers per hundred words, {allowed}")
        for habit in HABITS:
            if having := habit.too_many(self.sentences):
                share = f"{len(having)} of {len(self.sentences)} sentences {habit.predicate}"
                found.append(f"{name}:1: {share}, at most {100 * habit.share:g} % may:")
                found += [f"{one.path}:{one.line}: {one.text[:60]}" for one in having]
        return found


def faults(texts: Mapping[str, str], asked: Iterable[str] = ()) -> list[str]:
    """The faults of the units that are asked for, or of all."""
    found = units(texts)
    chosen = set(asked) or found.keys()
    return [fault for name in sorted(chosen) for fault in Measures(found.get(name, [])).faults(name)]


def main() -> int:
    """Prints measures, or faults."""
    if len(sys.argv) > 1:
        found = faults(texts(), [name.rstrip("/") for name in sys.argv[1:]])
        sys.stdout.writelines(f"{fault}\n" for fault in found)
        return 1 if found else 0
    head = f"{'unit':40} {'words':>6} {'numbers':>7} {'long':>5}"
    lines = [head + "".join(f"{habit.column:>8}" for habit in HABITS)]
    for name, of in sorted(units(texts()).items()):
        one = Measures(of)
        shares = (len(habit.found(of)) / max(len(of), 1) for habit in HABITS)
        row = f"{name:40} {one.words:6} {one.numbers:7.1f} {len(one.long):5}"
        lines.append(row + "".join(f"{share:8.1%}" for share in shares))
    sys.stdout.writelines(f"{line}\n" for line in lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
