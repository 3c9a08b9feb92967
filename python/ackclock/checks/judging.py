"""Runs the cases of a target and judges them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ackclock import _engine, repetitions
from ackclock.cases.judgement import Measures
from ackclock.cases.model import Claim, Condition, Judgement
from ackclock.cases.running import CaseInProgress, shortest_first
from ackclock.checks.cases import OWN, TargetCase
from ackclock.checks.target import Target
from ackclock.contenders import place_in
from ackclock.engines import Engine, Progress
from ackclock.errors import InputError
from ackclock.result import Run
from ackclock.verdict import NOT_JUDGED, Verdict

WORDS: Mapping[Verdict, str] = {"pass": "pass", "miss": "fail", NOT_JUDGED: "skipped"}
"""The words of `ackclock check` for verdicts."""

Judged = Callable[[Sequence[Judgement]], None]
"""Takes the judgements on a case."""


def as_json(one: Judgement) -> dict[str, Any]:
    """One object of ``cases`` in ``check --json``. An open bound is null."""
    claim = one.claim
    return {
        "id": claim.id,
        "group": claim.group,
        "title": claim.title,
        "verdict": WORDS[one.verdict],
        "why": claim.because,
        "source": claim.source,
        "measure": claim.text,
        **one.numbers,
        "reason": one.reason or None,
    } | ({"beside": dict(one.beside)} if one.beside else {})


class CheckInProgress(CaseInProgress):
    """A case with the target in it, in progress."""

    def __init__(self, case: TargetCase, target: Target, seed: int, engine: Engine) -> None:
        super().__init__(case.with_target(target), seed, target.files())
        self.refused: str = ""
        """Why the engine runs none of it."""
        self.own = case.group == OWN
        self.broken: dict[Condition, str] = {}
        """The exceptions of controllers."""
        self.late: list[str] = []
        """Why live runs went past their error budget."""
        try:
            for condition in self.samples.conditions():
                plan = self._plan(condition)
                engine.check(plan)
                self.plans[condition] = plan
        except _engine.ScenarioError as error:
            self.refused = str(error)
            self.plans.clear()

    def _plan(self, condition: Condition) -> _engine.Plan:
        """The plan of a condition. A case of the user that has none is a mistake, and raises InputError."""
        try:
            return self.resolved(condition, self.case.id)
        except _engine.ScenarioError as error:
            if not self.own:
                raise
            why = str(error).removeprefix("scenario: ")
            raise InputError(f"{self.case.file.name}, case {self.case.id}: {why}") from None

    def add(self, condition: Condition, repetition: int, run: Run) -> None:
        """Takes the samples of a finished run."""
        super().add(condition, repetition, run)
        if not run.valid:
            self.late += run.engine["reasons"]

    def judgement(self, claim: Claim, measures: Measures) -> Judgement:
        """The judgement on a claim. A run that is refused or late, or raised an exception, is not judged."""
        resolved = next((plan.resolved for plan in self.plans.values()), "")
        if why := self.refused or "; ".join(self.late):
            return Judgement(claim, None, NOT_JUDGED, why, scenario=resolved, valid=not self.late)
        if broken := [self.broken[one] for one in self.needs[claim.id] if one in self.broken]:
            return Judgement(claim, None, NOT_JUDGED, broken[0], scenario=resolved, raised=True)
        found = replace(super().judgement(claim, measures), scenario=resolved)
        if found.measured is not None and not math.isfinite(found.measured):
            return replace(found, measured=None, verdict="miss", unmeasured=f"{claim.text}: has no value")
        return found


def check(
    cases: Sequence[TargetCase],
    target: Target,
    engine: Engine,
    seed: int = 1,
    progress: Progress | None = None,
    judged: Judged | None = None,
) -> list[Judgement]:
    """Runs the cases and judges them, in their order. Raises InputError if none can run, or none ends.

    Short cases run first. ``judged`` gets the judgements on each as soon as its runs have ended.
    """
    works = [CheckInProgress(case, target, seed, engine) for case in cases]
    if works and all(work.refused for work in works):
        raise InputError(works[0].refused)
    run(works, engine, target, progress, judged)
    if works and all(work.plans and len(work.broken) == len(work.plans) for work in works):
        raise InputError(next(iter(works[0].broken.values())))
    return [judgement for work in works for judgement in work.judgements()]


def run(
    works: Sequence[CheckInProgress],
    engine: Engine,
    target: Target,
    progress: Progress | None = None,
    judged: Judged | None = None,
) -> None:
    """Runs cases with a target in them. ``judged`` gets the cases whose runs all end, as in ``check``."""
    points = shortest_first(works)
    left = Counter(dict.fromkeys(works, 0))
    for point in points:
        left[point.key[0]] += len(point.seeds)
    for result in repetitions.survivors(points, engine, progress):
        work, condition = result.key
        if isinstance(result, repetitions.Broken):
            place = place_in([target.text], result.error)
            work.broken[condition] = f"{place}: {result.why}" if place else result.why
        else:
            work.add(condition, result.repetition, result.run)
            left[work] -= 1
            if not left[work] and judged is not None:
                judged(work.judgements())
