"""How near each reading comes to its paper: numbers inside their bands, mean error, claims that hold.

The error of a number is |measured - reported| / |reported|. Its mean is over the numbers that have a value
under every reading, so that a reading gains nothing by a number that it cannot measure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite

from ackclock.cases.model import Claim, Count, Judgement
from ackclock.engines import Engine, Progress
from ackclock.papers.experiment import Experiment, Paper
from ackclock.papers.readings import DEFAULT
from ackclock.papers.reproduction import Reproduction, Result, reproduce
from ackclock.report import number

NUMBERS = ("reported-number", "ratio")
"""The kinds of claims that choose a reading, if the paper prints a number."""
JUDGED = ("pass", "miss")

ByReading = Mapping[str, Mapping[str, Judgement]]
"""The judgements of the same claims under each reading: by its name, then by the claim's id."""

CLOSENESS = ("reading", "numbers inside", "mean error", "claims that hold")
"""The headings of ``closeness_row``."""


@dataclass(frozen=True)
class Closeness:
    """How near one reading comes."""

    reading: str
    inside: Count
    """Printed numbers inside their bands."""
    error: float | None
    """The mean error of the numbers with a value under every reading, or None if there is none."""
    holds: Count
    """Judged claims that hold."""

    def row(self) -> list[str]:
        """The cells under ``CLOSENESS``."""
        error = "-" if self.error is None else f"{100 * self.error:.2f} %"
        return [self.reading, str(self.inside), error, str(self.holds)]


def under_readings(
    papers: Sequence[Paper],
    experiments: Sequence[Experiment],
    *,
    engine: Engine | None = None,
    seed: int | None = None,
    progress: Progress | None = None,
    finished: Callable[[Result], None] | None = None,
) -> Reproduction:
    """Reproduces the experiments, and again those that a reading of their paper changes.

    ``finished`` is as in ``reproduce``. Experiments under a reading have an id of their own.
    """
    known = {paper.id: paper.readings for paper in papers}
    changed = [
        (reading.name, found)
        for experiment in experiments
        for reading in known.get(experiment.paper, ())
        if (found := experiment.under(reading)) is not None
    ]
    done = reproduce(
        [*experiments, *(one for _, one in changed)],
        engine=engine,
        seed=seed,
        progress=progress,
        finished=finished,
    )
    results = done.results[len(experiments) :]
    del done.results[len(experiments) :]
    chosen = {experiment.paper for experiment in experiments}
    readings: dict[str, dict[str, Judgement]] = {
        reading.name: {} for name in sorted(chosen) for reading in known.get(name, ())
    }
    claims = {claim.id: claim for experiment in experiments for claim in experiment.claims}
    for (name, _), result in zip(changed, results, strict=True):
        readings[name] |= {
            one.claim.id: replace(one, claim=claims[one.claim.id]) for one in result.judgements
        }
    done.readings = readings
    return done


def by_reading(default: Sequence[Judgement], others: ByReading) -> ByReading:
    """All judgements under each reading.

    A claim that a reading does not change keeps the default's judgement.
    """
    first = {judgement.claim.id: judgement for judgement in default}
    return {DEFAULT: first} | {name: {**first, **changed} for name, changed in others.items()}


def closeness(judgements: ByReading) -> list[Closeness]:
    """How near each reading comes, the default first."""
    shared = [
        name
        for name, judgement in judgements[DEFAULT].items()
        if _is_number(judgement) and all(_error(of[name]) is not None for of in judgements.values())
    ]
    return [
        Closeness(
            reading,
            _count(of, _is_number),
            sum(_error(of[name]) or 0.0 for name in shared) / len(shared) if shared else None,
            _count(of, lambda one: one.word in JUDGED),
        )
        for reading, of in judgements.items()
    ]


def depending(judgements: ByReading) -> dict[str, list[tuple[str, Judgement]]]:
    """The claims whose verdict depends on the reading: the default, and each reading with another verdict."""
    found: dict[str, list[tuple[str, Judgement]]] = {}
    for name, first in judgements[DEFAULT].items():
        others = [(reading, of[name]) for reading, of in judgements.items() if of[name].word != first.word]
        if others:
            found[name] = [(DEFAULT, first), *others]
    return found


def in_words(reading: str, judgement: Judgement) -> str:
    """A value under a reading: ``exact clock: 92.8 (pass)``."""
    return f"{reading}: {number(judgement.measured)} ({judgement.word})"


def _is_number(judgement: Judgement) -> bool:
    return judgement.word in JUDGED and _prints_a_number(judgement.claim)


def _prints_a_number(claim: Claim) -> bool:
    return claim.kind in NUMBERS and not isinstance(claim.reported, str)


def _error(judgement: Judgement) -> float | None:
    reported, measured = judgement.claim.reported, judgement.measured
    if isinstance(reported, str) or reported == 0 or measured is None or not isfinite(measured):
        return None
    return abs(measured / reported - 1)


def _count(of: Mapping[str, Judgement], counted: Callable[[Judgement], bool]) -> Count:
    chosen = [judgement for judgement in of.values() if counted(judgement)]
    return Count(sum(one.verdict == "pass" for one in chosen), len(chosen))
