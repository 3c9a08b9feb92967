"""Suites as rules: the claims about one algorithm in experiments that it shares with others."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from ackclock.cases.model import Claim, Judgement
from ackclock.checks.cases import elsewhere
from ackclock.checks.target import Target
from ackclock.engines import Engine, Progress
from ackclock.papers.catalogue import SUITES, catalogue, select
from ackclock.papers.experiment import Experiment
from ackclock.papers.reproduction import reproduce
from ackclock.verdict import NOT_JUDGED


def experiments(target: Target) -> list[Experiment]:
    """The experiments that judge the target's algorithm, with the target in them."""
    algorithm = target.algorithm
    suite = elsewhere("suites").get(algorithm or "")
    if algorithm is None or suite is None:
        return []
    found = [_with(target, one, algorithm) for one in select(catalogue(SUITES, code=True), [suite])]
    return [one for one in found if one.setups and one.claims]


def check(
    target: Target, engine: Engine, seed: int | None = None, progress: Progress | None = None
) -> list[Judgement]:
    """Runs the experiments of a suite and judges the claims about the target's algorithm."""
    if not (chosen := experiments(target)):
        return []
    done = reproduce(chosen, engine=engine, seed=seed, progress=progress)
    found = [one for result in done.results for one in result.judgements if one.verdict != NOT_JUDGED]
    return [_shown(one, target.foreign) for one in found]


def _with(target: Target, experiment: Experiment, algorithm: str) -> Experiment:
    """The reduced experiment, with the target in the runs of its algorithm and the claims about these."""
    reduced = experiment.reduced()
    setups = tuple(one for one in reduced.setups if one.name.partition("-")[0] == algorithm)
    names = {one.name for one in setups}
    return replace(
        replace(reduced, setups=setups).with_scenarios(partial(_filled, target, algorithm)),
        claims=tuple(
            _as_rule(one, reduced, algorithm) for one in reduced.claims if _runs_of(one.measure) <= names
        ),
        figures=(),
        tables=(),
        variations={},
    )


def _filled(target: Target, algorithm: str, scenario: Mapping[str, Any]) -> dict[str, Any]:
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


def _as_rule(claim: Claim, experiment: Experiment, algorithm: str) -> Claim:
    """The claim under the names and words of a check."""
    return replace(
        claim,
        id=claim.id.removeprefix(f"{experiment.paper}-"),
        group=algorithm,
        title=f"{experiment.title}: {claim.text}",
        because=f"{claim.text}.",
        text=f"{claim.text}, {claim.unit}",
    )


def _shown(one: Judgement, foreign: bool) -> Judgement:
    """The judgement; a signal that a foreign stack does not show is no fault of its controller."""
    if one.measured is not None and math.isfinite(one.measured):
        return one
    return replace(one, measured=None, verdict=NOT_JUDGED if foreign else one.verdict)
