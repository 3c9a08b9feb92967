"""Judging: a measured value beside the reported one, and the verdict."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise

import numpy as np

from ackclock.cases.expressions import Expression, parse, parse_groups, quotient
from ackclock.cases.measure import Member, Samples
from ackclock.cases.model import Case, Claim, Count, Judgement
from ackclock.cases.variations import REPETITIONS, Variation
from ackclock.metrics import MetricError

NOT_JUDGED = "not judged"
VERDICTS = ("pass", "miss", "trivial", "cited", "informative", NOT_JUDGED)
"""The verdicts on claims. "trivial" is a claim that cannot fail and did not; if it does, it is a miss. "not
judged" is a claim in the reduced form that only the whole form can judge."""


Measures = Sequence[tuple[Expression, ...]]
"""The measure of a claim: one expression, or an ordering's list of them, once or at each point."""


def expressions(claim: Claim, case: Case) -> Measures:
    """The expressions that measure a claim."""
    where = f"{case.file.name}, claim {claim.id}, measure"
    if claim.measure is None:
        return ()
    if claim.kind == "ordering":
        return parse_groups(claim.measure, case, where)
    return ((parse(claim.measure, case, where),),)


def members(claim: Claim, case: Case, samples: Samples) -> list[Member]:
    """The runs among which those are counted in which the claim holds; none for most claims.

    They are the members of the variation that it is judged over, or the single repetitions of a claim that is
    fragile or judged over the repetitions.
    """
    if claim.over in case.variations:
        variation = case.variations[claim.over]
        return [Member(samples, partial(variation.at, number)) for number in range(variation.members)]
    if claim.over == REPETITIONS or (claim.fragile and case.repetitions > 1):
        same = Variation(REPETITIONS, 1, {})
        return [Member(samples, partial(same.at, 0), number) for number in range(case.repetitions)]
    return []


def judge(claim: Claim, measures: Measures, samples: Samples, of: Sequence[Member] = ()) -> Judgement:
    """Measures a claim and compares it with its band; ``of`` are its ``members``."""
    if not measures and claim.whole_only:
        return Judgement(claim, None, NOT_JUDGED, "only the whole form can judge it")
    if not measures:
        why = "the paper quotes it from elsewhere" if claim.cited else "the paper gives nothing to repeat"
        return Judgement(claim, None, verdict(claim, None), why)
    found = [_measured(claim, measures, member) for member in of if _begun(measures, member)]
    # A member without a value lies outside the band.
    holds = Count(sum(_in_band(claim, value) for value in found), len(found)) if found else None
    counted = _counted(measures, samples)
    if claim.over and holds is not None:
        values = [value for value in found if isinstance(value, float)]
        middle = float(np.median(values)) if values else None
        why = "" if values else str(found[0])
        return Judgement(claim, middle, verdict(claim, middle, holds), why, holds, counted)
    measured = _measured(claim, measures, samples)
    if isinstance(measured, MetricError):
        found_out = verdict(claim, None) if _begun(measures, samples) else NOT_JUDGED
        return Judgement(claim, None, found_out, str(measured), holds, counted)
    return Judgement(claim, measured, verdict(claim, measured), "", holds, counted)


def verdict(claim: Claim, measured: float | None, holds: Count | None = None) -> str:
    """The verdict on a measured value, or by the share that ``holds`` for a claim over a set of runs."""
    if claim.over and holds is not None:
        passed = holds.number >= claim.share * holds.of
    else:
        passed = _in_band(claim, measured)
    if claim.cited:
        return "cited"
    if claim.informative:
        return "informative"
    if claim.trivial and passed:
        return "trivial"
    return "pass" if passed else "miss"


def _in_band(claim: Claim, value: float | MetricError | None) -> bool:
    return isinstance(value, float) and claim.low <= value <= claim.high


def _measured(claim: Claim, measures: Measures, samples: Samples) -> float | MetricError:
    """The value of a claim, or the reason why it has none."""
    try:
        values = [[float(m.value(samples)) for m in group] for group in measures]
        if claim.kind != "ordering":
            return values[0][0]
        ratios = [quotient(a, b) for group in values for a, b in pairwise(group)]
    except MetricError as error:
        return error
    misses = [ratio for ratio in ratios if not claim.low <= ratio <= claim.high]
    return misses[0] if misses else min(ratios)


def _begun(measures: Measures, samples: Samples) -> bool:
    """True if a run of each kind that the measures need has finished, and for constants."""
    leaves = [leaf for group in measures for measure in group for leaf in measure.leaves()]
    return all(leaf.finished(samples) for leaf in leaves)


def _counted(measures: Measures, samples: Samples) -> Count | None:
    """The repetitions with a value of the metric that has the fewest; None if all have one."""
    leaves = [leaf for group in measures for measure in group for leaf in measure.leaves()]
    counts = [Count(len(leaf.values(samples)), leaf.finished(samples)) for leaf in leaves]
    short = [count for count in counts if count.number < count.of]
    return min(short, key=lambda count: count.number / count.of, default=None)
