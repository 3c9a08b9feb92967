"""Medians over seeds with bootstrap intervals, and the verdict on one beside others."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from ackclock import spread
from ackclock.cases.model import Relative


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
        """The 95 % bootstrap interval of the median, by percentiles."""
        return spread.interval(self.values)


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
