"""Features of a trajectory: how a flow grows, how far a loss reduces it, and how it treats the queue.

Each is a number without unit, or in segments a round trip. Rounds in which segments are sent again, with one
before and one after, belong to a recovery and show nothing of growth.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from ackclock.identify.trajectories import Mask, Trajectory
from ackclock.metrics.tables import Array

PARTS = 4
"""Parts of the growth between two losses, each with features of its own."""

LAGS = (2, 4, 6, 8, 12, 16, 32)
"""Rounds after which a cycle of the flight may repeat."""

LEAST_GROWTH = 6
"""Rounds between two losses from which on growth has a shape."""


def features(of: Trajectory) -> dict[str, float]:
    """The features of a flow by their names."""
    return dict(_features(of))


def _features(of: Trajectory) -> Iterator[tuple[str, float]]:
    flight, queue = of.flight, of.delay - 1.0
    recovery = _spread((of.resent > 0) | of.repairing)
    largest = max(float(np.percentile(flight, 98)), 1.0)
    yield "rtt ms", of.rtt * 1e3
    rate = float(np.median(of.delivered[len(of) // 4 :]))
    yield "segments a round", np.log1p(rate)
    yield from _spans("delay", queue[len(of) // 4 :])
    yield from _spans("flight", flight[len(of) // 4 :] / largest)
    yield "flight over deliveries", float(np.median(flight[len(of) // 4 :]) / max(rate, 1.0))
    yield from _start(of, recovery)
    yield from _losses(of, recovery)
    yield from _growth(of, recovery)
    yield from _cycles(of, recovery)
    yield from _dips(of, recovery)


def _spans(name: str, values: Array) -> Iterator[tuple[str, float]]:
    for percent in (5, 25, 50, 75, 95):
        yield f"{name} p{percent}", float(np.percentile(values, percent))


def _spread(marked: Mask) -> Mask:
    """Marked rounds with one before and one after."""
    wide = marked.copy()
    wide[:-1] |= marked[1:]
    wide[1:] |= marked[:-1]
    return np.asarray(wide)


def _start(of: Trajectory, recovery: Mask) -> Iterator[tuple[str, float]]:
    """Slow start: its growth a round, how far it went, and how it ended."""
    flight = np.maximum(of.flight, 1.0)
    later = float(np.median(flight[len(of) // 4 :]))
    grows = np.log2(flight[1:] / flight[:-1])
    early = grows[:12]
    yield "start growth", float(np.max(early, initial=0.0))
    yield "start growth p50", float(np.median(early)) if early.size else 0.0
    first = int(np.argmax(recovery)) if recovery.any() else len(of)
    yield "start rounds", float(min(first, 200))
    top = float(np.max(flight[: min(first + 1, len(of))]))
    yield "start height", top / later
    yield "start height at 20", float(np.max(flight[: min(20, len(of))])) / later


def _losses(of: Trajectory, recovery: Mask) -> Iterator[tuple[str, float]]:
    """Recoveries: how many, and the share of the flight that is left."""
    begins = np.flatnonzero(recovery[1:] & ~recovery[:-1]) + 1
    ends = np.flatnonzero(~recovery[1:] & recovery[:-1]) + 1
    yield "losses a hundred rounds", 100.0 * len(begins) / len(of)
    yield "segments lost a round", float(np.mean(of.resent))
    kept = []
    for begin in begins[1:] if len(begins) > 2 else begins:
        after = ends[ends > begin]
        if after.size and after[0] + 1 < len(of):
            before = float(np.max(of.flight[max(begin - 2, 0) : begin + 1]))
            kept.append(float(np.min(of.flight[after[0] : after[0] + 2])) / max(before, 1.0))
    for percent in (10, 50, 90):
        yield f"kept p{percent}", float(np.percentile(kept, percent)) if kept else -1.0


def _between(recovery: Mask, skipped: int) -> Iterator[tuple[int, int]]:
    """First and last round of each growth between losses, without the first ``skipped`` rounds."""
    bounds = np.flatnonzero(np.diff(np.concatenate(([1], recovery.astype(int), [1]))))
    for begin, end in zip(bounds[::2], bounds[1::2], strict=True):
        begin = max(int(begin), skipped)
        if end - begin >= LEAST_GROWTH:
            yield begin, int(end)


def _growth(of: Trajectory, recovery: Mask) -> Iterator[tuple[str, float]]:
    """The shape of the growth between losses: of each part its slope, in segments a round and as a share."""
    slopes: list[list[float]] = [[] for _ in range(PARTS)]
    shares: list[list[float]] = [[] for _ in range(PARTS)]
    halves, lengths, risings = [], [], []
    for begin, end in _between(recovery, 20):
        part = of.flight[begin:end]
        lengths.append(float(end - begin))
        edges = np.linspace(0, len(part) - 1, PARTS + 1).astype(int)
        for place, (low, high) in enumerate(pairwise(edges)):
            slope = float(part[high] - part[low]) / max(high - low, 1)
            slopes[place].append(slope)
            shares[place].append(slope / max(float(part[low]), 1.0))
        rise = float(part[-1] - part[0])
        risings.append(rise / max(float(part[0]), 1.0))
        if rise > 2:
            halves.append(float(np.argmax(part >= part[0] + rise / 2)) / len(part))
    for place in range(PARTS):
        yield f"slope {place}", float(np.median(slopes[place])) if slopes[place] else 0.0
        yield f"share {place}", float(np.median(shares[place])) if shares[place] else 0.0
    yield "half of the growth at", float(np.median(halves)) if halves else -1.0
    yield "rounds of growth", float(np.log1p(np.median(lengths))) if lengths else 0.0
    yield "rise", float(np.median(risings)) if risings else 0.0
    steps = np.diff(of.flight)[20:]
    calm = ~(recovery[1:] | recovery[:-1])[20:]
    steps = steps[calm]
    yield "steps of none", float(np.mean(np.abs(steps) < 0.5)) if steps.size else 0.0
    yield "steps of one", float(np.mean(np.abs(steps - 1) < 0.5)) if steps.size else 0.0
    yield "steps down", float(np.mean(steps < -0.5)) if steps.size else 0.0
    yield "largest step down", float(-np.min(steps, initial=0.0) / max(np.max(of.flight), 1.0))
    delays = (of.delay[:-1] - 1)[20:][calm]
    yield "growth against delay", _correlation(steps, delays)


def _cycles(of: Trajectory, recovery: Mask) -> Iterator[tuple[str, float]]:
    """The autocorrelation of the flight."""
    calm = of.flight[len(of) // 4 :][~recovery[len(of) // 4 :]]
    for lag in LAGS:
        found = _correlation(calm[lag:], calm[:-lag]) if calm.size > 2 * lag + 8 else 0.0
        yield f"flight after {lag}", found


def _dips(of: Trajectory, recovery: Mask) -> Iterator[tuple[str, float]]:
    """Times of a small flight without a loss, as a controller makes that measures the path."""
    calm = of.flight[20:]
    level = float(np.median(calm))
    low = (calm < 0.6 * level) & ~recovery[20:]
    begins = np.flatnonzero(low[1:] & ~low[:-1])
    yield "dips in ten seconds", 10.0 * len(begins) / (len(of) * of.rtt)
    yield "share of dips", float(np.mean(low))
    yield "least flight", float(np.min(calm[~recovery[20:]], initial=level)) / max(level, 1.0)


def _correlation(one: Array, other: Array) -> float:
    if len(one) < 4 or np.std(one) == 0 or np.std(other) == 0:
        return 0.0
    return float(np.corrcoef(one, other)[0, 1])
