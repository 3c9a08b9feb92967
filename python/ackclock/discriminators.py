"""The cause of a loss by the rules of Biaz, Spike and ZigZag, beside Edwan's (``ackclock.interarrival``).

All look at the first segment that arrives after the lost ones: at the gap before it, or at its delay. The
papers measure at the receiver. Here the gap is between ACKs, and the delay is the RTT.

| rule | congestion, if | source |
| --- | --- | --- |
| ``biaz`` | the gap is no place for the lost segments at the rate of the link | Biaz and Vaidya 1999 |
| ``Spike`` | the delay is in a spike | Tobe et al. 2000 |
| ``ZigZag`` | the delay is not below a level that rises with the number of lost segments | Cen et al. 2003 |

Cen et al. 2003 describe all three. Their text was not at hand: the rules and numbers are as two published
programs have them that cite it, ``CongestionClassifiers.cpp`` of ihmc/nomads and the crate
packet_loss_classification 0.1.0. Both agree, except on ZigZag after three and more lost segments. There the
levels are the crate's, which rise as its text says: the mean, and half a deviation above it. nomads has one
deviation below the mean, and a half. The start of ZigZag's averages is a choice of ours. Times are in s.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ackclock.arguments import positive
from ackclock.interarrival import GUARD
from ackclock.metrics.tables import Array

RULES = {"biaz": "Biaz", "spike": "Spike", "zigzag": "ZigZag"}
"""The rules and their titles."""
SPIKE_START, SPIKE_END = 1 / 2, 1 / 3
"""alpha and beta: a spike starts above this share of the range of delays, and ends below that."""
WEIGHT = 1 / 32
"""alpha of ZigZag: the weight of a sample in the mean. In the deviation it is twice as large."""
LEVELS = (-1.0, -0.5, 0.0, 0.5)
"""ZigZag's levels in deviations from the mean, after one, two, three, and more lost segments."""


def biaz(gap: float, lost: int, unit: float) -> bool:
    """True for an error: (n + 1) T <= gap < (n + 2) T after n lost segments.

    The lost segments had their places on the link then. A shorter gap shows that a queue before it dropped
    them, a longer one that a queue has grown. ``unit`` is T, the least gap between segments.
    """
    of = gap / (positive("unit", unit) * (1 - GUARD))
    return bool(positive("lost", lost) + 1 <= of < lost + 2)


def spikes(delays: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """If each delay is in a spike, by the least and largest delay up to then. A loss there is congestion."""
    found = []
    low, high, spiking = np.inf, -np.inf, False
    for delay in np.asarray(delays, dtype=np.float64).tolist():
        low, high = min(low, delay), max(high, delay)
        level = low + (SPIKE_END if spiking else SPIKE_START) * (high - low)
        spiking = delay >= level if spiking else delay > level
        found.append(spiking)
    return np.array(found, dtype=np.bool_)


class Averages(NamedTuple):
    """The moving averages of ZigZag after each delay."""

    mean: Array
    deviation: Array


def averages(delays: npt.ArrayLike) -> Averages:
    """The mean begins with the first delay, the deviation from it with 0."""
    means: list[float] = []
    deviations: list[float] = []
    mean, deviation = np.nan, 0.0
    for delay in np.asarray(delays, dtype=np.float64).tolist():
        mean = (1 - WEIGHT) * mean + WEIGHT * delay if means else delay
        deviation = (1 - 2 * WEIGHT) * deviation + 2 * WEIGHT * abs(delay - mean)
        means.append(mean)
        deviations.append(deviation)
    return Averages(np.array(means), np.array(deviations))


def zigzag(delay: float, lost: int, mean: float, deviation: float) -> bool:
    """True for an error: the delay after ``lost`` segments is below their level.

    A full queue that drops several segments delays the next one longer than a queue that drops one.
    """
    level = LEVELS[min(int(positive("lost", lost)), len(LEVELS)) - 1]
    return bool(delay < mean + level * deviation)


class Delays:
    """The delays of a connection, by which Spike and ZigZag tell the causes of its losses."""

    def __init__(self, times: npt.ArrayLike, delays: npt.ArrayLike) -> None:
        self.times = np.asarray(times, dtype=np.float64)
        self.delays = np.asarray(delays, dtype=np.float64)
        self._spikes, self._averages = spikes(self.delays), averages(self.delays)

    def told(self, time: float, gap: float, lost: int, unit: float) -> dict[str, bool]:
        """True for an error, by the name of each rule, for a loss that ``time`` shows.

        The delay is the latest one. Without one, Spike and ZigZag take the loss for congestion.
        """
        at = int(np.searchsorted(self.times, time, side="right")) - 1
        mean, deviation = (float(one[at]) if at >= 0 else -np.inf for one in self._averages)
        return {
            "biaz": biaz(gap, lost, unit),
            "spike": at >= 0 and not self._spikes[at],
            "zigzag": at >= 0 and zigzag(float(self.delays[at]), lost, mean, deviation),
        }
