"""The target beside our controller of that algorithm: bands from the seeds of ours, and trajectories."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from ackclock import metrics
from ackclock.cases.judgement import verdict
from ackclock.cases.measure import Sample
from ackclock.cases.model import Claim, Judgement
from ackclock.checks.cases import read
from ackclock.checks.judging import CheckInProgress, run
from ackclock.checks.target import Target
from ackclock.engines import Engine, Progress
from ackclock.metrics.tables import Array
from ackclock.result import Run
from ackclock.verdict import NOT_JUDGED

CASES = Path(__file__).with_name("ours.toml")
"""The paths, with bounds beside ours."""

GROUP = "beside ours"
WORDS = "Paths beside ours"
SOURCE = "the controller of ours, on the same engine"

MARGIN_FLIGHT = 0.1
"""The share of our largest flight by which a second may be outside the range of our seeds."""
MOST_SECONDS = 0.25
"""The share of seconds with another flight from which on a path has another trajectory."""
MOST_PATHS = 3
"""Paths that may have one: with other seeds ours has one, where an overshoot ends in a timeout or not."""


def check(one: Target, engine: Engine, seed: int = 1, progress: Progress | None = None) -> list[Judgement]:
    """Runs both on every path and judges the target. A controller of ours is not judged."""
    if one.algorithm is None or not one.foreign:
        return []
    works = [CheckInProgress(case, one, seed, engine) for case in read(CASES, GROUP)]
    if all(work.refused for work in works):
        claim = Claim(
            id="ours", group=GROUP, title=WORDS, because=f"{WORDS}.", source=SOURCE, text="", measure=None
        )
        return [Judgement(claim, None, NOT_JUDGED, works[0].refused)]
    for work in works:
        for condition in work.plans:
            work.samples.want(condition, FLIGHT)
    run(works, engine, one, progress)
    found = [judgement for work in works for judgement in work.judgements()]
    shapes = {
        work.case.id.partition("/")[2]: _unlike(work) for work in works if work.plans and not work.broken
    }
    return [*map(_with_ours, found), _trajectories(shapes)]


def _with_ours(one: Judgement) -> Judgement:
    """The judgement with its measure as the title, and the value of ours in words."""
    words = "".join(f"Ours has {value:.3g} there." for value in one.beside.values())
    claim = replace(one.claim, title=f"As ours: {one.claim.text}", because=words or one.claim.because)
    return replace(one, claim=claim)


def _unlike(work: CheckInProgress) -> float:
    """The share of seconds in which the target has another flight than all seeds of ours."""
    (own,), ours = (work.samples.of(condition, FLIGHT) for condition in work.plans)
    margin = MARGIN_FLIGHT * np.max(ours)
    outside = (own < np.min(ours, axis=0) - margin) | (own > np.max(ours, axis=0) + margin)
    return float(np.mean(outside))


def _flight(run: Run) -> Array:
    """The mean of the data in flight in each second, in segments."""
    times, values = metrics.samples(run, "target", "in_flight")
    second, duration = times.astype(int), round(run.duration_s)
    counts = np.bincount(second, minlength=duration)[:duration]
    return np.asarray(np.bincount(second, values, duration)[:duration] / np.maximum(counts, 1))


FLIGHT = Sample("flight", (), own=_flight)


def _trajectories(shapes: Mapping[str, float]) -> Judgement:
    other = [name for name, share in shapes.items() if share > MOST_SECONDS]
    claim = Claim(
        id="ours/trajectories",
        group=GROUP,
        title="As ours: trajectories",
        because=f"Such paths: {', '.join(other) or 'none'}.",
        source=SOURCE,
        text="paths with another flight in a quarter of the seconds",
        measure=None,
        high=MOST_PATHS,
    )
    return Judgement(claim, float(len(other)), verdict(claim, float(len(other))))
