"""TCP-Gentle in closed form: its steady state and its start (thesis, section 7.1 and equations 7.2 to 7.17).

A lone Gentle flow keeps a queue of at most Q_max packets. Near it the window grows by A Q_max/Q in each RTT
(damping), A = alpha_gh/N^v. On an empty queue it grows by k alpha_rocket in the k-th RTT, at most alpha_max
(thrust). Windows are in packets, times in seconds, rates in packets per second. The RTT is held at its base
value, as the thesis does, so that rates may exceed the link by the share of the queue. Compare windows
instead.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ackclock.arguments import positive
from ackclock.metrics.tables import Array
from ackclock.papers.data.edwan2010.models.vectors import probabilities


@dataclass(frozen=True)
class Damping:
    """The steady state at one value of the damping counter N."""

    pipe: float
    """C_p: the packets that fill the path without a queue."""
    rtt: float
    queue: float
    """Q_max: the queue at which the window is reduced."""
    alpha: float = 2.0
    """alpha_gh, in packets per RTT."""
    counter: float = 7.0
    """N: how far damping has gone, NP of the thesis."""
    exponent: float = 2.0
    """v."""

    def __post_init__(self) -> None:
        for name in ("pipe", "rtt", "queue", "alpha", "counter"):
            positive(name, getattr(self, name))

    @property
    def increase(self) -> float:
        """A = alpha_gh/N^v, in packets per RTT, the increase at Q = Q_max."""
        return float(self.alpha / self.counter**self.exponent)

    @property
    def epoch(self) -> float:
        """T_D = R Q_max/(2 A), the time from one reduction to the next (7.3)."""
        return self.rtt * self.queue / (2 * self.increase)

    def window(self, time: npt.ArrayLike) -> Array:
        """The window some time after a reduction to C_p: C_p + sqrt(2 A Q_max t/R) (7.2)."""
        return np.asarray(self.pipe + np.sqrt(2 * self.increase * self.queue * np.asarray(time) / self.rtt))

    @property
    def packets(self) -> float:
        """N_D: the packets of an epoch, Q_max (C_p + 2 Q_max/3)/(2 A) (7.6)."""
        return self.queue * (self.pipe + 2 * self.queue / 3) / (2 * self.increase)

    @property
    def probability(self) -> float:
        """p_b = 1/N_D: the probability that a packet brings a reduction (7.7)."""
        return 1 / self.packets

    @property
    def rate(self) -> float:
        """The mean rate, (2 W + C_p)/(3 R) with W = C_p + Q_max (7.5)."""
        return self.mean_window / self.rtt

    @property
    def mean_window(self) -> float:
        """The mean window, C_p + 2 Q_max/3."""
        return self.pipe + 2 * self.queue / 3

    def response(self, probability: npt.ArrayLike) -> Array:
        """The mean rate against the probability of a reduction (7.9): (sqrt(C_p^2 + 16A/3p) + C_p)/(2R)."""
        p = probabilities("probability", probability)
        return np.asarray((np.sqrt(self.pipe**2 + 16 * self.increase / (3 * p)) + self.pipe) / (2 * self.rtt))


@dataclass(frozen=True)
class Thrust:
    """The start on an empty path, until the window fills it."""

    pipe: float
    rtt: float
    rocket: float = 2.0
    """alpha_rocket: by how much the increase itself grows in each RTT."""
    alpha_max: float = 20.0
    """The largest increase, in packets per RTT."""

    def __post_init__(self) -> None:
        for name in ("pipe", "rtt", "rocket", "alpha_max"):
            positive(name, getattr(self, name))

    @property
    def time_to_largest(self) -> float:
        """T_max = R alpha_max/alpha_rocket, when the increase is as large as it gets (7.12)."""
        return self.rtt * self.alpha_max / self.rocket

    @property
    def _window_then(self) -> float:
        """w_m: the window at T_max."""
        return self.alpha_max**2 / (2 * self.rocket)

    @property
    def duration(self) -> float:
        """T_R: the time until the pipe is full, (C_p + w_m) R/alpha_max (7.15), or less on a short path."""
        if self._window_then >= self.pipe:
            return self.rtt * math.sqrt(2 * self.pipe / self.rocket)
        return (self.pipe + self._window_then) * self.rtt / self.alpha_max

    def window(self, time: npt.ArrayLike) -> Array:
        """alpha_rocket t^2/(2 R^2) until T_max, then alpha_max t/R - w_m (7.13)."""
        rounds = np.asarray(time, dtype=np.float64) / self.rtt
        curved = self.rocket * rounds**2 / 2
        late = rounds * self.rtt >= self.time_to_largest
        return np.where(late, self.alpha_max * rounds - self._window_then, curved)

    @property
    def mean_window(self) -> float:
        """The mean window until the pipe is full (7.16 times R)."""
        share = min(self.time_to_largest / self.duration, 1.0)
        if share == 1.0:
            return self.pipe / 3
        steep = self.alpha_max**2 / (6 * self.rocket) * share
        return steep + (1 - share) * (self.pipe + self._window_then) / 2

    @property
    def rate(self) -> float:
        """The mean rate until the pipe is full.

        (7.17) is printed with a minus in T_max/T_R = alpha_max^2/(alpha_rocket C_p + alpha_max^2/2), where
        7.12 and 7.15 give a plus: its 41.8 Mbit/s are 44.86, its 146.9 are 146.14.
        """
        return self.mean_window / self.rtt


def rocket_increases(rounds: int, rocket: float = 2.0, alpha_max: float = 20.0) -> Array:
    """The increase of thrust in each of the first ``rounds`` RTTs: min(k alpha_rocket, alpha_max)."""
    counts = np.arange(1, int(positive("rounds", rounds)) + 1, dtype=np.float64)
    return np.minimum(counts * positive("rocket", rocket), positive("alpha_max", alpha_max))


def slow_start_increases(rounds: int, initial: float = 1.0) -> Array:
    """The increase of slow start in each RTT, which doubles the window: ``initial`` times 1, 2, 4 …"""
    counts = np.arange(int(positive("rounds", rounds)), dtype=np.float64)
    return np.asarray(positive("initial", initial) * 2**counts)
