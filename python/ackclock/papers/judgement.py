"""Judging: a measured value beside the reported one, and the verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isfinite
from typing import Any

from ackclock.metrics import MetricError
from ackclock.papers.catalogue import Claim, Experiment
from ackclock.papers.expressions import Expression, parse, parse_groups, quotient
from ackclock.papers.measure import Samples


@dataclass(frozen=True)
class Judgement:
    """A claim with its measured value."""

    claim: Claim
    measured: float | None
    """The value, None where there is none; of an ordering the ratio that misses, or else the smallest."""
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
            "measured": None if self.measured is None or not isfinite(self.measured) else self.measured,
            "unit": claim.unit,
            "low": finite[0],
            "high": finite[1],
            "verdict": self.verdict,
        }


Measures = Sequence[tuple[Expression, ...]]
"""What measures a claim: one expression, or an ordering's list of them, once or at each point."""


def expressions(claim: Claim, experiment: Experiment) -> Measures:
    """The expressions that measure a claim."""
    where = f"{experiment.file.name}, claim {claim.id}, measure"
    if claim.measure is None:
        return ()
    if claim.kind == "ordering":
        return parse_groups(claim.measure, experiment, where)
    return ((parse(claim.measure, experiment, where),),)


def judge(claim: Claim, measures: Measures, samples: Samples) -> Judgement:
    """Measures a claim and compares it with its band."""
    if not measures:
        why = "the paper quotes it from elsewhere" if claim.cited else "the paper gives nothing to repeat"
        return Judgement(claim, None, _verdict(claim, passed=False), why)
    try:
        values = [[m.value(samples) for m in group] for group in measures]
        ordered = claim.kind == "ordering"
        ratios = [quotient(a, b) for group in values for a, b in pairwise(group)] if ordered else []
    except MetricError as error:
        return Judgement(claim, None, _verdict(claim, passed=False), str(error))
    if ordered:
        misses = [ratio for ratio in ratios if not claim.low <= ratio <= claim.high]
        measured = misses[0] if misses else min(ratios)
    else:
        measured = values[0][0]
    return Judgement(claim, measured, _verdict(claim, passed=claim.low <= measured <= claim.high))


def _verdict(claim: Claim, passed: bool) -> str:
    if claim.cited:
        return "cited"
    if claim.informative:
        return "informative"
    return "pass" if passed else "miss"
