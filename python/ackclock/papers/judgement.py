"""Judging: a measured value beside the reported one, and the verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from ackclock.metrics import MetricError
from ackclock.papers.catalogue import CatalogueError, Claim, Experiment
from ackclock.papers.measure import Expression, Samples, parse


@dataclass(frozen=True)
class Judgement:
    """A claim with what was measured of it."""

    claim: Claim
    measured: float | None
    """The value, None where there is none; of several (the ratios of an ordering, the measures of a list) the
    first that misses, or else the smallest."""
    verdict: str
    """"pass", "miss", "cited" or "informative"."""
    why: str = ""
    """Why there is no measured value."""

    def as_json(self) -> dict[str, Any]:
        """The object of ``reproduce --json``; an open end of the band is null."""
        claim = self.claim
        finite = [None if abs(bound) == float("inf") else bound for bound in (claim.low, claim.high)]
        return {
            "id": claim.id,
            "kind": claim.kind,
            "reported": claim.reported,
            "measured": None
            if self.measured is None or abs(self.measured) == float("inf")
            else self.measured,
            "unit": claim.unit,
            "low": finite[0],
            "high": finite[1],
            "verdict": self.verdict,
        }


def expressions(claim: Claim, experiment: Experiment) -> tuple[Expression, ...]:
    """The expressions that measure a claim: one, or one for each member of a list.

    Of an ordering the ratios of neighbours are judged, of any other list every member.
    """
    where = f"{experiment.file.name}, claim {claim.id}"
    if claim.measure is None:
        return ()
    if claim.kind == "ordering" and (not isinstance(claim.measure, list) or len(claim.measure) < 2):
        raise CatalogueError(f"{where}: an ordering is measured by a list of two measures or more")
    if isinstance(claim.measure, list):
        if not claim.measure:
            raise CatalogueError(f"{where}: `measure` is an empty list")
        return tuple(parse(m, experiment, f"{where}, measure.{i}") for i, m in enumerate(claim.measure))
    return (parse(claim.measure, experiment, f"{where}, measure"),)


def judge(claim: Claim, measures: Sequence[Expression], samples: Samples) -> Judgement:
    """Measures a claim and compares it with its band."""
    try:
        values = [m.value(samples) for m in measures]
    except MetricError as error:
        return Judgement(claim, None, _verdict(claim, passed=False), str(error))
    if not values:
        return Judgement(claim, None, _verdict(claim, passed=False), "the paper quotes it from elsewhere")
    if claim.kind == "ordering":
        values = [a / b if b else float("inf") for a, b in pairwise(values)]
    misses = [value for value in values if not claim.low <= value <= claim.high]
    measured = misses[0] if misses else min(values)
    return Judgement(claim, measured, _verdict(claim, passed=claim.low <= measured <= claim.high))


def _verdict(claim: Claim, passed: bool) -> str:
    if claim.cited:
        return "cited"
    if claim.informative:
        return "informative"
    return "pass" if passed else "miss"
