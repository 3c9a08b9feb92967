"""Tables of a paper: its claims and their verdicts, the causes of misses, and the tables of its experiments.

The line about the measurement is on a page once, below the claims.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from ackclock import papers
from ackclock.cases.model import WORDS, Count, Judgement
from ackclock.papers import published
from ackclock.papers.catalogue import DATA, SUITES
from ackclock.papers.closeness import CLOSENESS, ByReading, by_reading, closeness, depending, in_words
from ackclock.papers.experiment import Experiment
from ackclock.papers.tables import tables
from ackclock.report import number
from pages.measurements import Measurement, load
from pages.tables import PageError, Table, maker

OUTSIDE = " (outside)"


@maker("verdicts")
def verdicts(paper: str) -> Table:
    """The number of claims under each verdict."""
    _, found = verdicts_of(paper)
    return Table(list(found), [[str(count) for count in found.values()]])


def verdicts_of(paper: str) -> tuple[Measurement, dict[str, int]]:
    """The measurement of a paper, and the number of its claims under each verdict that occurs."""
    measured, judged = _judged(paper)
    counts = {word: sum(one.word == word for one in judged) for word in WORDS}
    return measured, {verdict: count for verdict, count in counts.items() if count}


@maker("claims")
def claims(paper: str) -> Table:
    """Every claim with its verdict, as it was measured last."""
    measured, judged = _judged(paper)
    headings = ["verdict", "claim", "reported", "measured", "band"]
    counts = any(one.holds is not None for one in judged)
    rows = []
    for one in judged:
        claim = f"{_claim(paper, one)} ({_text(one.claim.source)})"
        cells = [one.word, claim, _reported(one), _measured(one), _band(one)]
        rows.append([*cells, str(one.holds or "")] if counts else cells)
    return Table([*headings, "holds in"] if counts else headings, rows, [measured])


@maker("misses")
def misses(paper: str) -> Table:
    """The claims that miss their bands, each with its cause."""
    _, judged = _judged(paper)
    rows = [
        [_claim(paper, one), _reported(one), _measured(one), _text(one.reason)]
        for one in judged
        if one.verdict == "miss"
    ]
    return Table(("claim", "reported", "measured", "cause"), rows)


@maker("engines")
def engines(paper: str) -> Table:
    """The values of claims in the simulation and on other engines, with a mark on those outside the band."""
    measured, document = load(_file(paper, "-live"))
    values = _values(document)
    others = [name for name in next(iter(values.values())) if name not in published.OWN]
    rows = []
    for one in published.judgements(_experiments(paper), document):
        cells = [_claim(paper, one), _reported(one), _measured(one)]
        cells += [_beside(one, values[one.claim.id][name]) for name in others]
        rows.append([*cells, _band(one)])
    return Table(("claim", "reported", "simulated", *others, "band"), rows, [measured])


@maker("shaken")
def shaken(paper: str) -> Table:
    """The claims that do not hold in every slightly changed repetition."""
    measured, document = load(_file(paper, "-shaken"))
    texts = {claim.id: claim.text for one in _experiments(paper) for claim in one.claims}
    counts = {name: Count(*value["shaken"]) for name, value in _values(document).items() if "shaken" in value}
    shaky = sorted(
        (name for name, of in counts.items() if of.number < of.of), key=lambda name: counts[name].number
    )
    rows = [[f"`{name.removeprefix(f'{paper}-')}` {_text(texts[name])}", str(counts[name])] for name in shaky]
    steady = f"{len(counts) - len(shaky)} of {len(counts)} claims hold in every repetition. The others:"
    return Table(("claim", "holds in"), rows, [measured], steady)


@maker("readings")
def readings(paper: str) -> Table:
    """How near each reading comes: printed numbers inside their bands, mean error, claims that hold."""
    measured, judged = _by_reading(paper)
    rows = [one.row() for one in closeness(judged)]
    for row, reading in zip(rows[1:], _paper(paper).readings, strict=True):
        row[0] = f"**{_text(reading.name)}**: {_text(reading.sets)} ({_text(reading.passage)})"
    return Table(CLOSENESS, rows, [measured])


@maker("depending")
def depends(paper: str) -> Table:
    """The claims whose verdict depends on the reading, with the value under each that changes it."""
    _, judged = _by_reading(paper)
    rows = [
        [
            _claim(paper, found[0][1]),
            *(_text("; ".join(in_words(*one) for one in part)) for part in (found[:1], found[1:])),
        ]
        for found in depending(judged).values()
    ]
    return Table(("claim", "default", "other readings"), rows)


@maker("cells")
def cells(paper: str, experiment: str, table: str = "") -> Table:
    """One of the tables of an experiment: measured values, with the paper's in brackets."""
    _, document = load(_file(paper))
    name = f"{paper}-{experiment}"
    for one in _experiments(paper):
        for shown in tables(one):
            if (one.id, shown.name) == (name, table):
                rows = document["experiments"][name]["tables"][table]
                return Table(shown.headings, rows)
    raise PageError(f"{name} has no table `{table}`")


@cache
def _catalogue(folder: Path) -> tuple[papers.Paper, ...]:
    return papers.catalogue(folder)


def _experiments(paper: str) -> Sequence[Experiment]:
    return papers.select(_catalogue(DATA) + _catalogue(SUITES), [paper])


def _file(paper: str, kind: str = "") -> str:
    """The measurements of a paper or suite, below ``measurements/``."""
    folder = "suites" if paper in {suite.id for suite in _catalogue(SUITES)} else "papers"
    return f"{folder}/{paper}{kind}.json"


def _values(document: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The values of each claim in a document, by its id."""
    return {name: value for one in document["experiments"].values() for name, value in one["claims"].items()}


def _by_reading(paper: str) -> tuple[Measurement, ByReading]:
    """The claims under every reading, of the experiments that were measured so."""
    measured, document = load(_file(paper, "-readings"))
    experiments, names = _experiments(paper), [reading.name for reading in _paper(paper).readings]
    default = published.judgements(experiments, document)
    return measured, by_reading(default, published.readings(experiments, names, document))


def _paper(paper: str) -> papers.Paper:
    return next(one for one in _catalogue(DATA) + _catalogue(SUITES) if one.id == paper)


def _judged(paper: str) -> tuple[Measurement, list[Judgement]]:
    measured, document = load(_file(paper))
    return measured, published.judgements(_experiments(paper), document)


def _claim(paper: str, judgement: Judgement) -> str:
    return f"`{judgement.claim.id.removeprefix(f'{paper}-')}` {_text(judgement.claim.text)}"


def _measured(judgement: Judgement) -> str:
    unit = judgement.claim.unit
    bare = unit == "-" or judgement.measured is None
    return number(judgement.measured) + ("" if bare else f" {_text(unit)}")


def _reported(judgement: Judgement) -> str:
    reported = judgement.claim.reported
    return _text(reported) if isinstance(reported, str) else number(float(reported))


def _band(judgement: Judgement) -> str:
    return f"{number(judgement.claim.low)} … {number(judgement.claim.high)}"


def _beside(judgement: Judgement, value: Any) -> str:
    if value is None:
        return number(None)
    inside = judgement.claim.low <= float(value) <= judgement.claim.high
    return number(float(value)) + ("" if inside else OUTSIDE)


def _text(text: str) -> str:
    """Plain text as Markdown."""
    return re.sub(r"([\\*_`\[\]])", r"\\\1", html.escape(text, quote=False))
