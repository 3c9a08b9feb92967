"""Reads the criteria of RFC 9743 from ``suites/bcp133``: their texts, and the cases that measure them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from ackclock.cases.document import CaseError, TomlTable, read_toml
from ackclock.cases.model import Claim
from ackclock.cases.reading import STANDARDS, around_standards
from ackclock.cases.variations import REPETITIONS
from ackclock.checks.cases import OWN, TargetCase, read
from ackclock.errors import InputError
from ackclock.papers.catalogue import SUITES

SUITE = SUITES / "bcp133"
"""The folder of the criteria."""

LEAST_SEEDS = 5
"""With fewer seeds an interval would say little."""

SEEDS = 7
"""The seeds of each case that a user adds."""

LONG_SEEDS = 21
"""The seeds of each case with ``--long``."""


@dataclass(frozen=True)
class Criterion:
    """One criterion of the RFC."""

    section: str
    title: str
    asks: str
    """The question in one sentence."""
    cases: tuple[str, ...]
    """The names of its cases: files of the suite without their ends."""
    judges: tuple[str, ...]
    """The ids of the measures that it takes from them, empty for all."""
    bears: tuple[str, ...]
    """Measures of other criteria that bear on it: ``case/id``."""
    author: str
    """The part that no simulation can show, which the author of the controller writes."""

    def takes(self, measure: str) -> bool:
        """True for a measure that judges it."""
        case, _, judge = measure.partition("/")
        return case in self.cases and (not self.judges or judge in self.judges)


@cache
def criteria(folder: Path = SUITE) -> tuple[Criterion, ...]:
    """The criteria in the order of the RFC. Raises CaseError for a mistake in their file."""
    table = TomlTable(read_toml(folder / "criteria.toml"), "criteria.toml")
    found = [
        _criterion(TomlTable(one, f"{table.where}, criteria.{number}"))
        for number, one in enumerate(table.tables("criteria"))
    ]
    table.done()
    measured = {
        measure_id(claim.id) for name in names(found) for case in cases(name) for claim in case.claims
    }
    for one in found:
        if stray := [text for text in one.bears if text not in measured]:
            raise CaseError(f"criteria.toml, {one.section}: there is no measure `{stray[0]}`")
    return tuple(found)


def _criterion(table: TomlTable) -> Criterion:
    section, title, asks = (table.take(key, str) for key in ("section", "title", "asks"))
    named, judges, bears = (tuple(table.take(key, list, [])) for key in ("cases", "judges", "bears"))
    found = Criterion(section, title, asks, named, judges, bears, table.take("author", str, ""))
    table.done()
    if not found.cases and not found.author:
        raise CaseError(f"{table.where}: `cases` or `author` is missing")
    return found


def names(chosen: Sequence[Criterion]) -> list[str]:
    """The cases of some criteria, and of the measures that bear on them, each once."""
    every = [name for one in chosen for name in (*one.cases, *(text.partition("/")[0] for text in one.bears))]
    return list(dict.fromkeys(every))


@cache
def cases(name: str, folder: Path = SUITE) -> tuple[TargetCase, ...]:
    """The variants of a case of the suite. Raises CaseError for a mistake in its file."""
    found = tuple(read(folder / "cases" / f"{name}.toml", "bcp133"))
    for one in found:
        if one.repetitions < LEAST_SEEDS or one.repetitions % 2 == 0:
            raise CaseError(
                f"{one.file.name}: seeds = {one.repetitions} must be odd and at least {LEAST_SEEDS}"
            )
        if stray := [claim.id for claim in one.claims if not claim.better]:
            raise CaseError(f"{one.file.name}: {stray[0]}: `better` is missing")
    return found


def added(files: Sequence[Path]) -> Mapping[str, tuple[TargetCase, ...]]:
    """The variants of cases that a user adds, as findings of a hunt, by their names. Raises CaseError."""
    found: dict[str, tuple[TargetCase, ...]] = {}
    for file in files:
        if file.stem in found or file.stem in names(criteria()):
            raise CaseError(f"{file.name}: there is a case `{file.stem}` already")
        own = [
            replace(one, claims=tuple(_directed(claim, file) for claim in one.claims))
            for one in read(file, OWN)
        ]
        found[file.stem] = tuple(with_seeds(own, SEEDS))
    return found


def _directed(claim: Claim, file: Path) -> Claim:
    """A claim with a direction: its own, or away from an end of its band that follows from the standards."""
    if claim.better:
        return claim
    ends = {
        end: one for end, one in claim.relative.items() if set(one.beside) == set(STANDARDS) and not one.seeds
    }
    if len(ends) != 1 or len(claim.relative) != 1 or not isinstance(claim.measure, Mapping):
        known = " and ".join(STANDARDS)
        raise CaseError(f"{file.name}: {claim.id}: needs `better`, or one end of a band beside {known}")
    ((end, one),) = ends.items()
    measure = {key: value for key, value in claim.measure.items() if key != "statistic"}
    directed = around_standards("more" if end == "low" else "less", one.share, one.margin)
    return replace(claim, measure=measure, over=REPETITIONS, share=1.0, is_worst=True, **directed)


def own(cases: Mapping[str, tuple[TargetCase, ...]]) -> Criterion:
    """The criterion that has the cases of a user."""
    asks = "The author asks for these cases beside those of the RFC."
    return Criterion(OWN, "Cases of the author", asks, tuple(cases), (), (), "")


def with_seeds(found: Sequence[TargetCase], seeds: int) -> list[TargetCase]:
    """The cases with another number of seeds."""
    return [replace(one, repetitions=seeds) for one in found]


def measure_id(claim: str) -> str:
    """The id of a measure over all variants of a case: ``loss/2-0.2bdp/loss`` is of ``loss/loss``."""
    return f"{claim.partition('/')[0]}/{claim.rpartition('/')[2]}"


def choose(wanted: Sequence[str]) -> list[Criterion]:
    """The criteria of some sections: of ``5.1`` also those below it. All if none is named."""
    every = criteria()
    found: list[Criterion] = []
    for text in wanted:
        own = [one for one in every if one.section == text or one.section.startswith(f"{text}.")]
        if not own:
            known = ", ".join(one.section for one in every)
            raise InputError(f"--only {text}: RFC 9743 has no such criterion; there are {known}")
        found += [one for one in own if one not in found]
    return found or list(every)
