"""Judging: a measured value beside the reported one, and the verdict."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from ackclock.cases.expressions import Expression, parse, parse_groups, quotient
from ackclock.cases.measure import STATISTICS, Member, Samples
from ackclock.cases.model import Case, Claim, Condition, Count, Judgement
from ackclock.cases.variations import REPETITIONS
from ackclock.metrics import MetricError
from ackclock.verdict import NOT_JUDGED, Verdict

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
    """The runs to count for a claim that may hold in only some of them. Empty for most claims.

    They are the members of the variation that it is judged over, or the single repetitions of a claim that is
    fragile or judged over the repetitions.
    """
    if claim.over in case.variations:
        variation = case.variations[claim.over]
        return [Member(samples, partial(variation.at, number)) for number in range(variation.members)]
    if claim.over == REPETITIONS or (claim.fragile and case.repetitions > 1):
        return _single(samples, case.repetitions)
    return []


def _single(
    samples: Samples, count: int, instead: Callable[[Condition], Condition] = lambda x: x
) -> list[Member]:
    return [Member(samples, instead, number) for number in range(count)]


def others(claim: Claim, case: Case, samples: Samples) -> Mapping[str, list[Member]]:
    """The runs of each controller beside which a claim is judged.

    They are single repetitions for a claim that is judged over the repetitions.
    """
    found: dict[str, list[Member]] = {}
    for relative in claim.relative.values():
        for cc in relative.beside:
            instead = partial(in_place_of_the_target, cc)
            single = _single(samples, relative.seeds or case.repetitions, instead)
            found[cc] = single if claim.over == REPETITIONS else [Member(samples, instead)]
    return found


def in_place_of_the_target(cc: str, condition: Condition) -> Condition:
    """The condition with a controller in the place of the target."""
    run, point = condition
    return f"{run}, {cc}", point


def with_band(
    claim: Claim, measures: Measures, of: Mapping[str, Sequence[Member]]
) -> tuple[Claim, dict[str, float]]:
    """The claim with the ends of its band that follow from ``others``, and the median of each of these.

    Raises MetricError where one of them has no value.
    """
    values = {cc: [value_of(claim, measures, member) for member in members] for cc, members in of.items()}
    for cc, found in values.items():
        for value in found:
            if isinstance(value, MetricError):
                raise MetricError(f"{cc}: {value}")
    arrays = {cc: np.asarray(found, np.float64) for cc, found in values.items()}
    ends: dict[str, Any] = {}
    for end, relative in claim.relative.items():
        value = float(STATISTICS[relative.of](np.concatenate([arrays[cc] for cc in relative.beside])))
        ends[end] = value + relative.allowed(value) * (1 if end == "high" else -1)
    return replace(claim, **ends), {cc: float(np.median(found)) for cc, found in arrays.items()}


def judge(claim: Claim, measures: Measures, samples: Samples, of: Sequence[Member] = ()) -> Judgement:
    """Measures a claim and compares it with its band. ``of`` are its ``members``."""
    if not measures and claim.whole_only:
        return Judgement(claim, None, NOT_JUDGED, "only the whole form can judge it")
    if not measures:
        why = "the paper quotes it from elsewhere" if claim.cited else "the paper gives nothing to repeat"
        return Judgement(claim, None, verdict(claim, None), why)
    found = [value_of(claim, measures, member) for member in of if _begun(measures, member)]
    # A member without a value is outside the band.
    holds = Count(sum(_in_band(claim, value) for value in found), len(found)) if found else None
    counted = _counted(measures, samples)
    if claim.over and holds is not None:
        values = [value for value in found if isinstance(value, float)]
        if claim.is_worst:
            shown = _furthest(claim, values) if len(values) == len(found) else None
        else:
            shown = float(np.median(values)) if values else None
        errors = [value for value in found if isinstance(value, MetricError)]
        why = str(errors[0]) if shown is None else ""
        return Judgement(claim, shown, verdict(claim, shown, holds), why, holds, counted)
    measured = value_of(claim, measures, samples)
    if isinstance(measured, MetricError):
        found_out = verdict(claim, None) if _begun(measures, samples) else NOT_JUDGED
        return Judgement(claim, None, found_out, str(measured), holds, counted)
    return Judgement(claim, measured, verdict(claim, measured), "", holds, counted)


def verdict(claim: Claim, measured: float | None, holds: Count | None = None) -> Verdict:
    """The verdict on a measured value, or by the share that ``holds`` for a claim over a set of runs."""
    if claim.cited or claim.informative:
        return NOT_JUDGED
    if claim.over and holds is not None:
        return "pass" if holds.number >= claim.share * holds.of else "miss"
    return "pass" if _in_band(claim, measured) else "miss"


def _furthest(claim: Claim, values: Sequence[float]) -> float:
    """The value that is furthest outside the band, or nearest to its ends."""
    return max(values, key=lambda value: max(claim.low - value, value - claim.high))


def _in_band(claim: Claim, value: float | MetricError | None) -> bool:
    return isinstance(value, float) and claim.low <= value <= claim.high


def value_of(claim: Claim, measures: Measures, samples: Samples) -> float | MetricError:
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
    """The number of values of the metric with the fewest, or None if every repetition has a value."""
    leaves = [leaf for group in measures for measure in group for leaf in measure.leaves()]
    counts = [Count(len(leaf.values(samples)), leaf.finished(samples)) for leaf in leaves]
    short = [count for count in counts if count.number < count.of]
    return min(short, key=lambda count: count.number / count.of, default=None)
