"""The target beside our controller of that algorithm: 27 paths, with bands from the seeds of ours."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from ackclock import _engine, metrics, repetitions
from ackclock.checks.cases import RECORD
from ackclock.checks.judging import Judgement, Verdict, finished
from ackclock.checks.target import Target, target
from ackclock.engines import Engine, Progress
from ackclock.metrics.tables import Array
from ackclock.result import Run

RATES = ("5mbit", "25mbit", "100mbit")
RTTS = ("10ms", "40ms", "150ms")
QUEUES = ("0.5bdp", "1bdp", "4bdp")
SEEDS = 3
DURATION_S = 20

GROUP = "beside ours"
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


@dataclass(frozen=True)
class _Measure:
    words: str
    ours: Sequence[float]
    theirs: float
    low: float
    high: float


def check(one: Target, engine: Engine, seed: int = 1, progress: Progress | None = None) -> list[Judgement]:
    """Runs both on every path and judges the target; nothing for a controller of ours."""
    if one.algorithm is None or not one.foreign:
        return []
    ours = target(one.algorithm)
    paths = list(product(RATES, RTTS, QUEUES))
    try:
        plans = [[_plan(path, which) for which in (ours, one)] for path in paths]
        for plan in plans[0]:
            engine.check(plan)
    except _engine.ScenarioError as error:
        return [_skipped(str(error))]
    points = [
        repetitions.Point(2 * index + which, plan, repetitions.seeds(seed, SEEDS if which == 0 else 1))
        for index, pair in enumerate(plans)
        for which, plan in enumerate(pair)
    ]
    runs, broken = finished(points, engine, progress, one)
    found: list[Judgement] = []
    shapes: dict[str, float] = {}
    for index, path in enumerate(paths):
        name = "-".join(path)
        if why := broken.get(2 * index + 1) or broken.get(2 * index):
            found.append(_failed(f"ours/{name}", why))
            continue
        seeds, theirs = runs[2 * index], runs[2 * index + 1][0]
        found += _judged(f"ours/{name}", seeds, theirs, plans[index][1].resolved)
        shapes[name] = _unlike(seeds, theirs)
    return [*found, _trajectories(shapes)]


def _plan(path: tuple[str, str, str], one: Target) -> _engine.Plan:
    rate, rtt, queue = path
    document = {
        "name": f"{one.name}, {rate}, {rtt}, {queue}",
        "duration": f"{DURATION_S}s",
        "warmup": "5s",
        "path": {"rate": rate, "rtt": rtt, "queue": queue, "reverse": {"jitter": "0.5ms"}},
        "flows": [one.flow({"name": "target", "start_jitter": "1s"})],
        "record": RECORD,
    }
    return _engine.resolve_json(json.dumps(document), [])


def _judged(identity: str, ours: Sequence[Run], theirs: Run, scenario: str) -> Iterator[Judgement]:
    for name, measure in _measures(ours, theirs).items():
        passed = measure.low <= measure.theirs <= measure.high
        middle = statistics.median(measure.ours)
        yield Judgement(
            f"{identity}/{name}",
            GROUP,
            f"As ours: {measure.words}",
            f"Ours has {middle:.3g} there.",
            SOURCE,
            measure.words,
            "pass" if passed else "fail",
            measure.theirs,
            measure.low,
            measure.high,
            scenario=scenario,
        )


def _measures(ours: Sequence[Run], theirs: Run) -> dict[str, _Measure]:
    used = [metrics.utilization(run) for run in ours]
    rtts = [metrics.rtt_mean(run, "target") for run in ours]
    return {
        "use": _Measure(
            "utilization",
            used,
            metrics.utilization(theirs),
            min(used) - MARGIN_UTILIZATION,
            max(used) + MARGIN_UTILIZATION,
        ),
        "rtt": _Measure(
            "mean RTT, ms",
            rtts,
            metrics.rtt_mean(theirs, "target"),
            min(rtts) * (1 - MARGIN_RTT),
            max(rtts) * (1 + MARGIN_RTT),
        ),
    }


def _unlike(ours: Sequence[Run], theirs: Run) -> float:
    """The share of seconds in which the target has another flight than all seeds of ours."""
    flights = np.array([_flight(run) for run in ours])
    margin = MARGIN_FLIGHT * np.max(flights)
    own = _flight(theirs)
    outside = (own < np.min(flights, axis=0) - margin) | (own > np.max(flights, axis=0) + margin)
    return float(np.mean(outside))


def _flight(run: Run) -> Array:
    """The mean of the data in flight in each second, in segments."""
    times, values = metrics.samples(run, "target", "in_flight")
    second = times.astype(int)
    counts = np.bincount(second, minlength=DURATION_S)[:DURATION_S]
    return np.asarray(np.bincount(second, values, DURATION_S)[:DURATION_S] / np.maximum(counts, 1))


def _trajectories(shapes: Mapping[str, float]) -> Judgement:
    other = [name for name, share in shapes.items() if share > MOST_SECONDS]
    words = "paths with another flight in a quarter of the seconds"
    why = f"Such paths: {', '.join(other) or 'none'}."
    verdict: Verdict = "pass" if len(other) <= MOST_PATHS else "fail"
    return Judgement(
        "ours/trajectories",
        GROUP,
        "As ours: trajectories",
        why,
        SOURCE,
        words,
        verdict,
        float(len(other)),
        -math.inf,
        MOST_PATHS,
    )


def _failed(identity: str, why: str) -> Judgement:
    return Judgement(
        identity, GROUP, "As ours", "Ours runs there.", SOURCE, "", "fail", None, -math.inf, math.inf, why
    )


def _skipped(why: str) -> Judgement:
    words = "Paths beside ours"
    return Judgement("ours", GROUP, words, f"{words}.", SOURCE, "", "skipped", None, -math.inf, math.inf, why)
