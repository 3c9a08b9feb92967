"""Runs the cases of a target and judges them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from ackclock import _engine, repetitions
from ackclock.checks.cases import Case, Judge
from ackclock.checks.target import Target
from ackclock.contenders import place_in
from ackclock.engines import Engine, Progress
from ackclock.errors import InputError
from ackclock.metrics import MetricError
from ackclock.report.text import number
from ackclock.result import Run

Verdict: TypeAlias = Literal["pass", "fail", "skipped"]


@dataclass(frozen=True)
class Judgement:
    """A bound of a case, and what the target makes of it."""

    id: str
    group: str
    title: str
    why: str
    """The reason for the case, one sentence."""
    source: str
    words: str
    """The measure in words."""
    verdict: Verdict
    measured: float | None
    low: float
    high: float
    reason: str = ""
    """The reason why there is no measure."""
    scenario: str = ""
    """The resolved scenario, as JSON."""
    valid: bool = True
    """False where a live run went past its error budget."""

    @classmethod
    def of(
        cls, case: Case, judge: Judge, verdict: Verdict, measured: float | None, reason: str, scenario: str
    ) -> Judgement:
        """What ``judge`` of ``case`` makes of ``measured``."""
        return cls(
            case.named(judge),
            case.group,
            case.title,
            case.why,
            case.source,
            judge.words,
            verdict,
            measured,
            judge.low,
            judge.high,
            reason,
            scenario,
        )

    @property
    def allowed(self) -> str:
        """The bounds in words."""
        if math.isinf(self.high):
            return f"at least {number(self.low)}"
        if math.isinf(self.low):
            return f"at most {number(self.high)}"
        return f"{number(self.low)} to {number(self.high)}"

    @property
    def sentence(self) -> str:
        """The measured value and the bounds, or why there is no value."""
        if self.measured is None:
            return self.reason
        return f"{self.words}: measured {number(self.measured)}, allowed is {self.allowed}"

    def as_json(self) -> dict[str, Any]:
        """One object of ``cases`` in ``check --json``; an open bound is null."""
        bounds = [None if math.isinf(bound) else bound for bound in (self.low, self.high)]
        return {
            "id": self.id,
            "group": self.group,
            "title": self.title,
            "verdict": self.verdict,
            "why": self.why,
            "source": self.source,
            "measure": self.words,
            "measured": self.measured,
            "low": bounds[0],
            "high": bounds[1],
            "reason": self.reason or None,
        }


@dataclass(frozen=True)
class _Planned:
    case: Case
    plan: _engine.Plan | None
    refused: str = ""


def check(
    cases: Sequence[Case],
    target: Target,
    engine: Engine,
    seed: int = 1,
    progress: Progress | None = None,
) -> list[Judgement]:
    """Runs the cases and judges them, in their order. Raises InputError if none can run."""
    planned = [_plan(case, target, engine) for case in cases]
    if planned and all(one.plan is None for one in planned):
        raise InputError(planned[0].refused)
    points = [
        repetitions.Point(index, one.plan, repetitions.seeds(seed, one.case.seeds))
        for index, one in enumerate(planned)
        if one.plan is not None
    ]
    runs, broken = finished(points, engine, progress, target)
    return [
        judgement
        for index, one in enumerate(planned)
        for judgement in _judged(one, runs.get(index, []), one.refused, broken.get(index, ""))
    ]


def _plan(case: Case, target: Target, engine: Engine) -> _Planned:
    try:
        plan = case.plan(target)
        engine.check(plan)
    except _engine.ScenarioError as error:
        return _Planned(case, None, str(error))
    return _Planned(case, plan)


def finished(
    points: Sequence[repetitions.Point[int]], engine: Engine, progress: Progress | None, target: Target
) -> tuple[dict[int, list[Run]], dict[int, str]]:
    """The runs of each point in the order of their seeds, and why a point has none.

    An exception of a controller ends the batch, so the points that are left run one by one.
    """
    found: dict[int, dict[int, Run]] = {point.key: {} for point in points}
    broken: dict[int, str] = {}
    # The longest first, so that no core is left alone with one in the end.
    ordered = sorted(points, key=lambda point: -_bits(point.plan))
    try:
        for key, repetition, run in repetitions.results(ordered, engine, progress):
            found[key][repetition] = run
    except (_engine.MachineError, InputError):
        raise
    except Exception:
        for point in ordered:
            if len(found[point.key]) < len(point.seeds):
                try:
                    for key, repetition, run in repetitions.results([point], engine):
                        found[key][repetition] = run
                except Exception as error:
                    why = " ".join(f"{type(error).__name__}: {error}".split())
                    place = place_in([target.text], error)
                    broken[point.key] = f"{place}: {why}" if place else why
    return {key: [runs[one] for one in sorted(runs)] for key, runs in found.items()}, broken


def _bits(plan: _engine.Plan) -> float:
    about = plan.inspect()
    rates = [link["rate_bps"] or 0.0 for link in about["links"]]
    return float(about["duration_s"] * max(rates, default=0.0))


def _judged(planned: _Planned, runs: Sequence[Run], refused: str, broken: str) -> Iterator[Judgement]:
    case = planned.case
    for judge in case.judges:
        late = [reason for run in runs if not run.valid for reason in run.engine["reasons"]]
        verdict, measured, reason = _verdict(judge, runs, refused or "; ".join(late), broken)
        resolved = "" if planned.plan is None else planned.plan.resolved
        found = Judgement.of(case, judge, verdict, measured, reason, resolved)
        yield replace(found, valid=not late)


def _verdict(
    judge: Judge, runs: Sequence[Run], refused: str, broken: str
) -> tuple[Verdict, float | None, str]:
    if refused:
        return "skipped", None, refused
    if broken:
        return "fail", None, broken
    try:
        value = judge.value(runs)
    except MetricError as error:
        return "fail", None, str(error)
    if not math.isfinite(value):
        return "fail", None, f"{judge.words}: has no value"
    return ("pass" if judge.holds(value) else "fail"), value, ""
