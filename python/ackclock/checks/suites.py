"""Suites as rules: the claims about one algorithm in experiments that it shares with others."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ackclock.cases.model import Judgement as Claimed
from ackclock.checks.cases import elsewhere
from ackclock.checks.judging import Judgement, Verdict
from ackclock.checks.target import Target
from ackclock.engines import Engine, Progress
from ackclock.papers.catalogue import SUITES, catalogue, select
from ackclock.papers.experiment import Experiment
from ackclock.papers.reproduction import reproduce

VERDICTS: Mapping[str, Verdict] = {"pass": "pass", "trivial": "pass", "miss": "fail"}


def experiments(target: Target) -> list[Experiment]:
    """The experiments that judge the target's algorithm, with the target in them."""
    algorithm = target.algorithm
    suite = elsewhere("suites").get(algorithm or "")
    if algorithm is None or suite is None:
        return []
    found = [_with(target, one, algorithm) for one in select(catalogue(SUITES, code=True), [suite])]
    return [one for one in found if one is not None]


def check(
    target: Target, engine: Engine, seed: int | None = None, progress: Progress | None = None
) -> list[Judgement]:
    """Runs the experiments of a suite and judges the claims about the target's algorithm."""
    chosen = experiments(target)
    if not chosen:
        return []
    done = reproduce(chosen, engine=engine, seed=seed, progress=progress)
    return [
        _judgement(one, target, result.experiment)
        for result in done.results
        for one in result.judgements
        if one.verdict in VERDICTS
    ]


def _with(target: Target, experiment: Experiment, algorithm: str) -> Experiment | None:
    """The experiment in its reduced form with the target in the run of its algorithm; None without one."""
    reduced = experiment.reduced()
    setups = [one for one in reduced.setups if one.name.partition("-")[0] == algorithm]
    names = [one.name for one in setups]
    claims = [one for one in reduced.claims if _runs_of(one.measure) <= set(names)]
    if not names or not claims:
        return None
    return replace(
        reduced,
        setups=tuple(replace(one, scenario=_filled(one.scenario, target, algorithm)) for one in setups),
        claims=tuple(claims),
        figures=(),
        tables=(),
        variations={},
    )


def _filled(scenario: Mapping[str, Any], target: Target, algorithm: str) -> dict[str, Any]:
    """A scenario whose flows of the algorithm are the target's."""
    flows = [
        target.flow({key: value for key, value in flow.items() if key != "cc"})
        if flow.get("cc") == algorithm
        else flow
        for flow in scenario["flows"]
    ]
    return {**scenario, "flows": flows}


def _runs_of(measure: Any) -> set[str]:
    """The runs that a measure names."""
    if isinstance(measure, list):
        return {name for one in measure for name in _runs_of(one)}
    if not isinstance(measure, Mapping):
        return set()
    own = {measure["run"]} if isinstance(measure.get("run"), str) else set()
    return own | {name for one in measure.values() for name in _runs_of(one)}


def _judgement(one: Claimed, target: Target, experiment: Experiment) -> Judgement:
    claim, verdict = one.claim, VERDICTS[one.verdict]
    unmeasured = one.measured is None or not math.isfinite(one.measured)
    if unmeasured and target.foreign:
        # A signal that a stack does not show is no fault of its controller.
        verdict = "skipped"
    return Judgement(
        claim.id.removeprefix(f"{experiment.paper}-"),
        target.algorithm or "",
        f"{experiment.title}: {claim.text}",
        f"{claim.text}.",
        claim.source,
        f"{claim.text}, {claim.unit}",
        verdict,
        None if unmeasured else one.measured,
        claim.low,
        claim.high,
        one.reason,
    )
