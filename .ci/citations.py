#!/usr/bin/env python3
"""Citations of sections and equations, compared with the titles and numbers in `documents.toml`.

    .ci/citations.py                every citation with the title of its section
    .ci/citations.py DOCUMENT...    those of these documents, e.g. "RFC 5681" or siad2016

A document is named before its sections ("RFC 5681, section 3.1, equation 4") or after them ("section 3 of RFC
6937"). Sections alone are of the document that the file names first, or the module above it, or the paper of
its folder.
"""

from __future__ import annotations

import bisect
import functools
import pathlib
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import sources

DOCUMENTS = pathlib.Path(__file__).with_name("documents.toml")
READ = (".rs", ".py", ".pyi", ".md", ".toml", ".c", ".h", ".pkt", ".js")

INVENTED = (
    "docs/experiments.md",
    "python/ackclock/cli/templates/",
    "python/ackclock/papers/readings.py",
    "tests/python/experiments.py",
    "tests/python/test_citations.py",
    "tests/python/test_judging.py",
    "tests/python/test_paper_page.py",
    "tests/python/test_papers.py",
    "tests/python/test_prose.py",
    "tests/python/test_readings.py",
    "tests/python/test_refused_runs.py",
)
"""Files whose examples cite papers that do not exist."""

MARK = re.compile(r"^\s*(?://[/!]?|#+|\*(?=\s)|/\*+|\|)?\s?")
NUMBER = r"\(?(?:[0-9]+|[IVX]+|[A-D])(?:\.[0-9A-Z]+)*[a-z]?\)?(?![\w-])"
NUMBERS = rf"{NUMBER}(?:(?:, | and |, and | or | to |-){NUMBER})*"
KINDS = {
    "section": "sections",
    "appendi": "sections",
    "chapter": "sections",
    "equatio": "equations",
    "figure": "figures",
    "table": "tables",
    "algorit": "algorithms",
}
"""The key of a document for each kind of place, by its first letters."""

PLACE = re.compile(
    r"\b(?P<kind>(?i:sections?|append(?:ix|ices)|chapters?|equations?|figures?|tables?|algorithms?)) "
    rf"(?P<numbers>{NUMBERS})"
)
STEPS = re.compile(r",? \(?(\d+\.\d+(?:(?:, | and | to )\d+\.\d+)*)")
"""Sections or numbered steps right behind the name of an RFC, without a word for them."""

OF = re.compile(r",? (?:of|in) (?:the )?")
"""Between a place and the document that is named behind it."""

CHAIN = re.compile(r"(?:'s)?[\s,(:)`]*(?:and |in )?")
"""Between a document, or a place of it, and the next place of it."""

OTHERS = (
    r"draft-[a-z][\w-]+|(?:ITU-T|IEEE) [\w.]*\d[\w.]*"
    r"|[A-Z][\w-]+(?: et al\.|(?:,? and|,) [A-Z][\w-]+|'s \w+)*,? \(?(?:19|20)\d\d(?!-)"
)
"""Names of documents that the table has not."""


Named = tuple[int, int, str]
"""A document that a text names: where the name begins and ends, and the document."""


@dataclass(frozen=True)
class Citation:
    """One place in a document."""

    path: str
    line: int
    document: str | None
    kind: str
    """The key of the document under which the place is listed."""
    number: str

    def fault(self, documents: Mapping[str, Any]) -> str | None:
        """The sentence if the document has no such place, or none is named."""
        at = f"{self.path}:{self.line}"
        if self.document is None:
            return f"{at}: {self.kind} {self.number} of no document"
        known = documents.get(self.document)
        if known is None:
            listed = re.match(r"RFC \d", self.document) is None
            return None if listed else f"{at}: {self.document} has no titles in {DOCUMENTS.name}"
        if self.kind == "sections":
            found = self.number in known.get("sections", {}) or _in(self.number, known.get("rules", ""))
        elif self.kind == "equations" or self.kind in known:
            found = _in(self.number.rstrip("abcdefg"), known.get(self.kind, ""))
        else:
            found = True
        return None if found else f"{at}: {self.document} has no {self.kind} {self.number}"


def load() -> dict[str, Any]:
    """The documents by name."""
    return tomllib.loads(DOCUMENTS.read_text("utf-8"))


def _in(number: str, ranges: str) -> bool:
    """True if a number is in one of the ranges, as "4.1-4.35, 5.1-5.9"."""

    def key(text: str) -> tuple[str, int]:
        chapter, _, last = text.rpartition(".")
        return chapter, int(last)

    for one in filter(None, ranges.split(", ")):
        first, _, last = one.partition("-")
        if number.rpartition(".")[2].isdigit() and key(first) <= key(number) <= key(last or first):
            return True
    return False


def split(numbers: str, kind: str) -> Iterator[str]:
    """The numbers of a list. A range has its two ends."""
    for one in re.split(r", and |, | and | or | to |-", numbers):
        plain = one.strip("()").rstrip(".")
        # "figure 4b" is a part of figure 4, and a section has no letter behind its number.
        yield plain.rstrip("abcdefghijkl") if kind != "sections" else plain


def joined(text: str) -> tuple[str, list[int]]:
    """The text in one line without the marks of comments, and where each line begins in it."""
    starts, parts, at = [], [], 0
    for line in text.splitlines():
        plain = MARK.sub("", line) + " "
        starts.append(at)
        parts.append(plain)
        at += len(plain)
    return "".join(parts), starts


class Reader:
    """Finds the citations of files."""

    def __init__(self, documents: Mapping[str, Any], texts: Mapping[str, str]) -> None:
        names = {name: one["names"] for name, one in documents.items() if "names" in one}
        papers = "|".join(f"(?P<{name}>{'|'.join(spelled)})" for name, spelled in names.items())
        self._name = re.compile(rf"(?P<rfc>RFC \d{{3,5}})|{papers}|(?P<other>{OTHERS})")
        self._papers = list(names)
        self._texts = texts

    @functools.cache  # noqa: B019
    def _joined(self, path: str) -> tuple[str, list[int], list[Named]]:
        """A file in one line, where its lines begin there, and the documents that it names."""
        text = self._texts.get(path, "")
        if path.endswith(".md"):
            lines = dict(sources.by_hand(text))
            text = "\n".join(lines.get(number, "") for number in range(1, text.count("\n") + 2))
        line, starts = joined(text)
        named = [
            (one.start(), one.end(), one[0] if one.lastgroup in ("rfc", "other") else str(one.lastgroup))
            for one in self._name.finditer(line)
        ]
        return line, starts, named

    def _usual(self, path: str) -> str | None:
        """The document of places that name none."""
        parts = pathlib.PurePath(path).parts
        for paper in self._papers:
            if paper in parts or parts[-1].startswith((f"{paper}.", f"{paper}-")):
                return paper
        for file in (path, *above(path)):
            if found := self._joined(file)[2]:
                return found[0][2]
        return None

    def citations(self, path: str) -> Iterator[Citation]:
        """The citations of a file."""
        line, starts, named = self._joined(path)
        begins = {begin: name for begin, _, name in named}
        places = {one.start(): one for one in PLACE.finditer(line)}
        usual = self._usual(path) if places else None
        ends = {begin: end for begin, end, _ in named}
        current, end = None, -1
        for begin in sorted({*begins, *places}):
            number = bisect.bisect(starts, begin)
            if begin in begins:
                current, end = begins[begin], ends[begin]
                if current.startswith("RFC") and (steps := STEPS.match(line, end)):
                    yield from (
                        Citation(path, number, current, "sections", n) for n in split(steps[1], "sections")
                    )
                continue
            place = places[begin]
            kind = next(key for start, key in KINDS.items() if place["kind"].lower().startswith(start))
            document = usual
            of = OF.match(line, place.end())
            if of is not None and of.end() in begins:
                document = current = begins[of.end()]
                end = place.end()
            elif end >= 0 and CHAIN.fullmatch(line, end, begin):
                document, end = current, place.end()
            yield from (Citation(path, number, document, kind, n) for n in split(place["numbers"], kind))


def above(path: str) -> Iterator[str]:
    """The modules above a file, from the nearest on."""
    at = pathlib.PurePosixPath(path)
    for folder in list(at.parents)[:2]:
        for name in (f"{folder}{at.suffix}", f"{folder}/mod.rs", f"{folder}/main.rs"):
            if name != path:
                yield name


def texts() -> dict[str, str]:
    """The files that may cite something, by path."""
    kept = [path for path in sources.listed() if path.endswith(READ) and not path.startswith(INVENTED)]
    return {path: (sources.ROOT / path).read_text("utf-8") for path in kept}


def citations() -> list[Citation]:
    """Every citation of the repository."""
    found = texts()
    reader = Reader(load(), found)
    return [one for path in found for one in reader.citations(path)]


def faults() -> list[str]:
    """A sentence about each citation without its document, or of a place that the document lacks."""
    documents = load()
    return [fault for one in citations() if (fault := one.fault(documents))]


def main() -> int:
    """Prints citations with titles."""
    documents = load()
    for one in citations():
        if one.document is not None and one.document in (sys.argv[1:] or documents):
            title = documents[one.document].get("sections", {}).get(one.number, "")
            place = f"{one.document}, {one.kind} {one.number}"
            sys.stdout.write(f"{one.path}:{one.line}: {place} {title}".rstrip() + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
