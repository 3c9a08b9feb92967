"""Measures of a case over its variants: the target beside the standards, with the same seeds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ackclock.cases.judgement import members, others, value_of
from ackclock.cases.measure import Samples
from ackclock.cases.model import Claim, finite
from ackclock.cases.reading import STANDARDS
from ackclock.checks.cases import TargetCase
from ackclock.checks.judging import CheckInProgress
from ackclock.evaluation.estimates import Estimate, compared
from ackclock.evaluation.suite import measure_id
from ackclock.metrics import MetricError
from ackclock.report.text import number

TARGET = ""
"""The key of the target among the controllers of a measure."""

Values = Mapping[str, Sequence[float]]
"""The values of each controller, one for each seed."""


@dataclass(frozen=True)
class Row:
    """One variant of a case: the values of each controller."""

    variant: str
    values: Values

    def median(self, controller: str) -> float:
        """The median over seeds."""
        return float(np.median(self.values[controller]))


@dataclass(frozen=True)
class Measure:
    """A measure of a case: in each seed the mean over the variants, and the verdict beside the standards."""

    id: str
    """``case/judge``."""
    case: TargetCase
    """The first variant of its case."""
    claim: Claim
    rows: Sequence[Row]
    missing: str = ""
    """The reason why it has no value."""
    is_lost: bool = False
    """The target's own runs give it no value, as of a flow that delivers nothing."""
    seconds: float = field(default=0.0, compare=False)
    """The time of the runs of its case. The first measure of a case has it."""

    def estimate(self, controller: str = TARGET) -> Estimate:
        """The estimate of a controller, over the variants."""
        values = np.array([row.values[controller] for row in self.rows], np.float64)
        return Estimate(tuple(map(float, values.mean(axis=0))))

    @property
    def title(self) -> str:
        """The title of its case without the name of a variant."""
        return self.case.title.removesuffix(f": {self.rows[0].variant}") if self.rows else self.case.title

    @property
    def name(self) -> str:
        """Its words."""
        return self.claim.text

    @property
    def unit(self) -> str:
        """Its unit; empty for a plain number."""
        return "" if self.claim.unit == "-" else self.claim.unit

    @property
    def verdict(self) -> str:
        """``worse``, ``like`` or ``better`` than the standards, or ``text`` where it cannot be measured."""
        if self.missing:
            return "worse" if self.is_lost else "text"
        return self.beside([self.estimate(cc) for cc in STANDARDS])

    def beside(self, standards: Sequence[Estimate]) -> str:
        """``worse``, ``like`` or ``better`` than other estimates, by the margin of the measure."""
        distance = self.claim.relative["high"]
        return compared(self.estimate(), standards, self.claim.better, distance)

    def as_json(self) -> dict[str, Any]:
        """One object of ``measures`` in ``evaluate --json``. A value that is not there is null."""
        about = {"id": self.id, "name": self.name, "unit": self.claim.unit, "better": self.claim.better}
        own = None if self.missing else self.estimate()
        ends = (None, None) if own is None else own.ends
        numbers = {"target": None if own is None else own.median, "low": ends[0], "high": ends[1]}
        standards = {} if own is None else {cc: self.estimate(cc).median for cc in STANDARDS}
        document = {**about, **finite(numbers), "standards": finite(standards), "verdict": self.verdict}
        return document | ({"reason": self.missing} if self.missing else {})

    def shown(self, controller: str = TARGET) -> str:
        """The median with its unit."""
        return f"{number(self.estimate(controller).median, 3)} {self.unit}".rstrip()


def measures(works: Sequence[CheckInProgress], known: Mapping[str, Measure]) -> list[Measure]:
    """The measures of the variants of one case, whose runs are done.

    ``known`` has measures of the same cases and seeds, from which the values of the standards come if these
    have not been run.
    """
    case = works[0].case
    assert isinstance(case, TargetCase)
    refused = next((work.refused for work in works if work.refused), "")
    found = []
    for place, (claim, _) in enumerate(works[0].claims):
        identity = measure_id(claim.id)
        before = known.get(identity)
        if refused or (before and before.missing):
            found.append(Measure(identity, case, claim, (), refused or (before.missing if before else "")))
            continue
        try:
            of_standards = [row.values for row in before.rows] if before else [{} for _ in works]
            rows = [_row(work, place, values) for work, values in zip(works, of_standards, strict=True)]
            found.append(Measure(identity, case, claim, rows))
        except _WithoutValueError as error:
            found.append(Measure(identity, case, claim, (), str(error), error.of_target))
    seconds = sum(work.seconds for work in works)
    return [replace(one, seconds=seconds) for one in found[:1]] + found[1:]


class _WithoutValueError(Exception):
    """A run of a controller gives a measure no finite value."""

    def __init__(self, controller: str, why: str) -> None:
        super().__init__(f"{controller or 'the target'}: {why}")
        self.of_target = controller == TARGET


def _row(work: CheckInProgress, place: int, of_standards: Values) -> Row:
    """The values of a claim in one variant. Raises _WithoutValueError."""
    claim, parsed = work.claims[place]
    runs: Mapping[str, Sequence[Samples]] = {} if of_standards else others(claim, work.case, work.samples)
    found = dict(of_standards)
    for controller, samples in {**runs, TARGET: members(claim, work.case, work.samples)}.items():
        values = [value_of(claim, parsed, one) for one in samples]
        found[controller] = [_finite(controller, value) for value in values]
    return Row(work.case.title.partition(": ")[2] or work.case.title, found)


def _finite(controller: str, value: float | MetricError) -> float:
    if isinstance(value, MetricError):
        raise _WithoutValueError(controller, str(value))
    if not math.isfinite(value):
        raise _WithoutValueError(controller, "has no finite value")
    return float(value)
