"""Medians over seeds with bootstrap intervals, and the verdict on one beside others."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import comb

from ackclock.cases.model import Relative

TAIL = 0.025
"""The share of bootstrap medians beyond each end of an interval: its confidence is 95 %."""


@dataclass(frozen=True)
class Estimate:
    """The values of an odd number of seeds."""

    values: tuple[float, ...]

    @cached_property
    def median(self) -> float:
        """The median over the seeds."""
        return statistics.median(self.values)

    @cached_property
    def ends(self) -> tuple[float, float]:
        """The 95 % bootstrap interval of the median, by percentiles.

        It is exact, so it needs no random draws: a bootstrap median is at most the k-th value if at least
        half of the n drawn values are, and each is with the probability k / n.
        """
        ordered, count = sorted(self.values), len(self.values)
        at_most = [_at_least(count // 2 + 1, count, k / count) for k in range(1, count + 1)]
        low = next(k for k, chance in enumerate(at_most) if chance >= TAIL)
        high = next(k for k, chance in enumerate(at_most) if chance >= 1.0 - TAIL)
        return ordered[low], ordered[high]


def _at_least(wins: int, draws: int, chance: float) -> float:
    """The probability of at least so many wins in independent draws."""
    return sum(comb(draws, k) * chance**k * (1.0 - chance) ** (draws - k) for k in range(wins, draws + 1))


def compared(one: Estimate, others: Sequence[Estimate], better: str, distance: Relative) -> str:
    """``worse``, ``better`` or ``like``: where an interval is beside all intervals of others.

    It must be beyond all of them by ``distance``. ``better`` is ``more`` or ``less``.
    """
    lowest, highest = min(other.ends[0] for other in others), max(other.ends[1] for other in others)
    if one.ends[1] < lowest - distance.allowed(lowest):
        return "better" if better == "less" else "worse"
    if one.ends[0] > highest + distance.allowed(highest):
        return "worse" if better == "less" else "better"
    return "like"
