"""The spread of a value over repetitions: median, quartiles, and a bootstrap interval of the median."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ackclock.metrics import Array

TAIL = 0.025
"""The share of bootstrap medians beyond each end of an interval: its confidence is 95 %."""
LEAST = 3
"""With fewer repetitions the bootstrap has nothing to draw from."""
INTERVAL = "95 % bootstrap interval of the median"


@dataclass(frozen=True)
class Spread:
    """The values of some repetitions in numbers."""

    count: int
    low: float
    q1: float
    median: float
    q3: float
    high: float
    interval: tuple[float, float] | None
    """:data:`INTERVAL`; None with fewer than :data:`LEAST` repetitions."""

    def as_json(self) -> dict[str, object]:
        """The numbers by name."""
        return {
            "repetitions": self.count,
            "min": self.low,
            "p25": self.q1,
            "median": self.median,
            "p75": self.q3,
            "max": self.high,
            "median_ci95": list(self.interval) if self.interval else None,
        }


def spread(values: Array) -> Spread | None:
    """The spread of the values that are numbers, or None if none is."""
    import numpy as np

    known = values[np.isfinite(values)]
    if not known.size:
        return None
    low, q1, median, q3, high = np.percentile(known, (0, 25, 50, 75, 100)).tolist()
    ends = interval(known.tolist()) if known.size >= LEAST else None
    return Spread(known.size, low, q1, median, q3, high, ends)


def interval(values: Sequence[float]) -> tuple[float, float]:
    """:data:`INTERVAL` of some values. Of one or two it has the ends of these."""
    low, high = ranks(len(values))
    ordered = sorted(values)
    return ordered[low], ordered[high]


@cache
def ranks(count: int) -> tuple[int, int]:
    """The places in order, from 0, of the ends of the interval of ``count`` values.

    They are exact, so they need no random draws: a bootstrap median is at most the k-th value if at least
    half of the drawn values are, and each is with the probability k / count. An even number of values has
    two in the middle: the lower one makes the lower end, the upper one the upper end.
    """
    lower, upper = (count + 1) // 2, count // 2 + 1
    places = range(1, count + 1)
    low = bisect_left(places, TAIL, key=lambda k: _at_least(lower, count, k / count))
    high = bisect_left(places, 1.0 - TAIL, key=lambda k: _at_least(upper, count, k / count))
    return low, min(high, count - 1)


def _at_least(wins: int, draws: int, chance: float) -> float:
    """The probability of at least so many wins in independent draws."""
    if chance >= 1.0:
        return 1.0
    won, lost = math.log(chance), math.log1p(-chance)
    all_orders = math.lgamma(draws + 1)
    total = 0.0
    for k in range(wins, draws + 1):
        orders = all_orders - math.lgamma(k + 1) - math.lgamma(draws - k + 1)
        total += math.exp(orders + k * won + (draws - k) * lost)
    return total
