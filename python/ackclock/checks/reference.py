"""The target beside our controller of that algorithm: 27 paths, with bands from the seeds of ours."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from ackclock import _engine, metrics, repetitions
from ackclock.checks.cases import RECORD
from ackclock.checks.judging import Judgement, finished
from ackclock.checks.target import Target, target
from ackclock.engines import Engine, Progress
from ackclock.result import Run

RATES = ("5mbit", "25mbit", "100mbit")
RTTS = ("10ms", "40ms", "150ms")
QUEUES = ("0.5bdp", "1bdp", "4bdp")
SEEDS = 3

GROUP = "beside ours"
SOURCE = "the controller of ours, on the same engine"

MARGIN_UTILIZATION = 0.05
"""Points of utilization beyond the range of our seeds."""
MARGIN_RTT = 0.25
"""The share by which the mean RTT may lie beyond that range."""


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
    for index, path in enumerate(paths):
        identity = "ours/" + "-".join(path)
        if why := broken.get(2 * index + 1) or broken.get(2 * index):
            found.append(_failed(identity, why))
            continue
        found += _judged(identity, runs[2 * index], runs[2 * index + 1][0], plans[index][1].resolved)
    return found


def _plan(path: tuple[str, str, str], one: Target) -> _engine.Plan:
    rate, rtt, queue = path
    document = {
        "name": f"{one.name}, {rate}, {rtt}, {queue}",
        "duration": "20s",
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


def _failed(identity: str, why: str) -> Judgement:
    inf = float("inf")
    return Judgement(identity, GROUP, "As ours", "Ours runs there.", SOURCE, "", "fail", None, -inf, inf, why)


def _skipped(why: str) -> Judgement:
    inf = float("inf")
    words = "Paths beside ours"
    return Judgement("ours", GROUP, words, f"{words}.", SOURCE, "", "skipped", None, -inf, inf, why)
