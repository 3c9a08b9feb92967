"""Runs cases: the conditions that their claims need, and the judgements once these have finished."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Self

from ackclock import _engine, repetitions
from ackclock.cases.document import as_mistakes
from ackclock.cases.judgement import Measures, expressions, judge, members, others, with_band
from ackclock.cases.measure import Sample, Samples
from ackclock.cases.model import Case, Claim, Condition, Judgement
from ackclock.metrics import MetricError
from ackclock.result import Run
from ackclock.scenario import as_json
from ackclock.verdict import NOT_JUDGED


class CaseInProgress:
    """A case in progress: the samples that its claims need, and those measured so far."""

    def __init__(self, case: Case, seed: int | None = None, files: _engine.Files | None = None) -> None:
        self.case = case
        self.base = case.seed if seed is None else seed
        self.samples = Samples()
        self.claims: list[tuple[Claim, Measures]] = []
        for claim in case.claims:
            with as_mistakes(f"{case.file.name}, claim {claim.id}"):
                self.claims.append((claim, expressions(claim, case)))
        self.needs = {claim.id: self._wanted(claim, measures) for claim, measures in self.claims}
        """The conditions of each claim."""
        self.files = files or _engine.Files()
        self.plans: dict[Condition, _engine.Plan] = {}
        self.done = 0
        self.seconds = 0.0

    def _wanted(self, claim: Claim, measures: Measures) -> set[Condition]:
        """Requests the samples of a claim. Returns their conditions."""
        every = [self.samples, *members(claim, self.case, self.samples)]
        every += itertools.chain.from_iterable(others(claim, self.case, self.samples).values())
        return {
            samples.want(condition, sample) for samples in every for condition, sample in demands(measures)
        }

    def resolved(self, condition: Condition, name: str, file: str | None = None) -> _engine.Plan:
        """The plan of a condition, whose scenario may have a name of its own. Raises ScenarioError."""
        setup, point = self.case.setup(condition[0]), condition[1]
        document = {"name": name} | dict(setup.scenario)
        return _engine.resolve_json(as_json(document), [*setup.settings, *point], self.files, file)

    def count(self, condition: Condition) -> int:
        """The number of repetitions of a condition."""
        return self.case.setup(condition[0]).repetitions or self.case.repetitions

    def points(self) -> Iterator[repetitions.Point[tuple[Self, Condition]]]:
        """The points to run."""
        for condition, plan in self.plans.items():
            seeds = repetitions.seeds(self.base, self.count(condition))
            yield repetitions.Point((self, condition), plan, seeds)

    def add(self, condition: Condition, repetition: int, run: Run) -> None:
        """Takes the samples of a finished run."""
        self.samples.add(condition, repetition, run)
        self.done += 1
        self.seconds += float(run.engine["wall_s"])

    def judgements(self) -> list[Judgement]:
        """The judgements on its claims, so far."""
        found = [self.judgement(claim, measures) for claim, measures in self.claims]
        return [replace(one, seconds=self.seconds) for one in found[:1]] + found[1:]

    def judgement(self, claim: Claim, measures: Measures) -> Judgement:
        """The judgement on one of them."""
        try:
            claim, beside = with_band(claim, measures, others(claim, self.case, self.samples))
        except MetricError as error:
            return Judgement(claim, None, NOT_JUDGED, str(error))
        found = judge(claim, measures, self.samples, members(claim, self.case, self.samples))
        return replace(found, beside=beside)


def demands(measures: Measures) -> list[tuple[Condition, Sample]]:
    """The samples that measures need."""
    return [demand for group in measures for measure in group for demand in measure.demands()]


def longest_first(works: Sequence[Any]) -> list[repetitions.Point[Any]]:
    """The points of cases in progress, so that no core is left alone with a long one in the end."""
    return sorted((point for work in works for point in work.points()), key=_bits, reverse=True)


def shortest_first(works: Sequence[Any]) -> list[repetitions.Point[Any]]:
    """The points of cases in progress, so that most of them are judged early."""
    return longest_first(works)[::-1]


def _bits(point: repetitions.Point[Any]) -> float:
    """The bits that the bottleneck of a plan can carry: a measure of how long its run takes."""
    about = point.plan.inspect()
    rates = {link["name"]: link["rate_bps"] or 0 for link in about["links"]}
    return float(about["duration_s"] * rates.get(about["bottleneck"], max(rates.values(), default=0)))
