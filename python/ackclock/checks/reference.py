"""The target beside our controller of that algorithm: 27 paths, with bands from the seeds of ours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np

from ackclock import metrics
from ackclock.cases.judgement import verdict
from ackclock.cases.measure import Sample
from ackclock.cases.model import Claim, Judgement, Relative, Setup
from ackclock.cases.variations import REPETITIONS
from ackclock.checks.cases import RECORD, TargetCase
from ackclock.checks.judging import CheckInProgress, run
from ackclock.checks.target import Target
from ackclock.engines import Engine, Progress
from ackclock.metrics.tables import Array, Tables
from ackclock.verdict import NOT_JUDGED

RATES = ("5mbit", "25mbit", "100mbit")
RTTS = ("10ms", "40ms", "150ms")
QUEUES = ("0.5bdp", "1bdp", "4bdp")
SEEDS = 3
DURATION_S = 20

GROUP = "beside ours"
WORDS = "Paths beside ours"
SOURCE = "the controller of ours, on the same engine"

MARGIN_UTILIZATION = 0.05
"""Points of utilization beyond the range of our seeds."""
MARGIN_RTT = 0.25
"""The share by which the mean RTT may lie beyond that range."""

MARGIN_FLIGHT = 0.1
"""The share of our largest flight by which a second may lie beyond the range of our seeds."""
MOST_SECONDS = 0.25
"""The share of seconds with another flight from which on a path has another trajectory."""
MOST_PATHS = 3
"""Paths that may have one: with other seeds ours has one, where an overshoot ends in a timeout or not."""


def check(one: Target, engine: Engine, seed: int = 1, progress: Progress | None = None) -> list[Judgement]:
    """Runs both on every path and judges the target; nothing for a controller of ours."""
    if one.algorithm is None or not one.foreign:
        return []
    paths = {"-".join(path): _case(path, one, one.algorithm) for path in product(RATES, RTTS, QUEUES)}
    works = {name: CheckInProgress(case, one, seed, engine) for name, case in paths.items()}
    if all(work.refused for work in works.values()):
        claim = Claim(
            id="ours", group=GROUP, title=WORDS, because=f"{WORDS}.", source=SOURCE, text="", measure=None
        )
        return [Judgement(claim, None, NOT_JUDGED, next(iter(works.values())).refused)]
    for work in works.values():
        for condition in work.plans:
            work.samples.want(condition, FLIGHT)
    run([*works.values()], engine, one, progress)
    found = [judgement for work in works.values() for judgement in work.judgements()]
    shapes = {name: _unlike(work) for name, work in works.items() if not work.broken and work.plans}
    return [*map(_with_ours, found), _trajectories(shapes)]


def _case(path: tuple[str, str, str], one: Target, ours: str) -> TargetCase:
    """A path with bounds on what the target has there beside ours."""
    rate, rtt, queue = path
    scenario = {
        "name": f"{one.name}, {rate}, {rtt}, {queue}",
        "duration": f"{DURATION_S}s",
        "warmup": "5s",
        "path": {"rate": rate, "rtt": rtt, "queue": queue, "reverse": {"jitter": "0.5ms"}},
        "flows": [{"name": "target", "start_jitter": "1s"}],
        "record": RECORD,
    }
    identity = f"ours/{'-'.join(path)}"
    return TargetCase(
        id=identity,
        file=Path(__file__),
        group=GROUP,
        title="As ours",
        why="",
        source=SOURCE,
        setups=(Setup("main", scenario),),
        claims=(
            _claim(
                f"{identity}/use", "utilization", {"metric": "utilization"}, ours, margin=MARGIN_UTILIZATION
            ),
            _claim(
                f"{identity}/rtt",
                "mean RTT, ms",
                {"metric": "rtt_mean", "flow": "target"},
                ours,
                share=MARGIN_RTT,
            ),
        ),
    )


def _claim(
    identity: str, words: str, measure: Mapping[str, str], ours: str, share: float = 0.0, margin: float = 0.0
) -> Claim:
    """A bound on the target: near the range of the seeds of ours."""
    ends = {"low": "smallest", "high": "largest"}
    return Claim(
        id=identity,
        text=words,
        measure=measure,
        relative={end: Relative((ours,), of, share, margin, SEEDS) for end, of in ends.items()},
        over=REPETITIONS,
        share=1.0,
        is_worst=True,
        group=GROUP,
        title=f"As ours: {words}",
        because="Ours runs there.",
        source=SOURCE,
    )


def _with_ours(one: Judgement) -> Judgement:
    """The judgement with the value of ours in words."""
    words = "".join(f"Ours has {value:.3g} there." for value in one.beside.values())
    return replace(one, claim=replace(one.claim, because=words)) if words else one


def _unlike(work: CheckInProgress) -> float:
    """The share of seconds in which the target has another flight than all seeds of ours."""
    (own,), ours = (work.samples.of(condition, FLIGHT) for condition in work.plans)
    margin = MARGIN_FLIGHT * np.max(ours)
    outside = (own < np.min(ours, axis=0) - margin) | (own > np.max(ours, axis=0) + margin)
    return float(np.mean(outside))


def _flight(run: Tables) -> Array:
    """The mean of the data in flight in each second, in segments."""
    times, values = metrics.samples(run, "target", "in_flight")
    second = times.astype(int)
    counts = np.bincount(second, minlength=DURATION_S)[:DURATION_S]
    return np.asarray(np.bincount(second, values, DURATION_S)[:DURATION_S] / np.maximum(counts, 1))


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
