"""Chapter 7 of Edwan 2010: the closed forms of Gentle."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ackclock.papers.data.edwan2010.models import responses
from ackclock.papers.data.edwan2010.models.gentle import (
    Damping,
    Thrust,
    rocket_increases,
    slow_start_increases,
)

DAMPING = Damping(pipe=3750.0, rtt=0.1, queue=50.0, counter=4.0)
"""The example of section 7.2.1."""
SMALL = Thrust(pipe=responses.pipe(100e6, 0.1, 1500), rtt=0.1)
LARGE = Thrust(pipe=3750.0, rtt=0.1)


def rocket_window(rocket: float) -> tuple[Any, Any]:
    """The window from 1 packet under the rocket rule (figure 7.1)."""
    return np.arange(31.0), np.concatenate(([1.0], 1.0 + np.cumsum(rocket_increases(30, rocket))))


def rocket_increase(rocket: float) -> tuple[Any, Any]:
    """The increase in each RTT under the rocket rule."""
    return np.arange(1, 31.0), rocket_increases(30, rocket)


def rule_above_doubling(rocket: Sequence[float]) -> float:
    """The first rounds with the rocket rule above 2^k, or 0 if it is above again by round 30."""
    above = rocket_window(rocket[0])[1][1:] > 2.0 ** np.arange(1, 31)
    count = int(np.argmin(above))
    return float(count if not np.any(above[count:]) else 0)


def slow_start_window() -> tuple[Any, Any]:
    """The window from 1 packet in slow start."""
    return np.arange(11.0), np.concatenate(([1.0], 1.0 + np.cumsum(slow_start_increases(10))))


def slow_start_increase() -> tuple[Any, Any]:
    """The increase in each RTT of slow start."""
    return np.arange(1, 11.0), slow_start_increases(10)


def damping_window() -> tuple[Any, Any]:
    """The window over an epoch of the example (equation 7.2)."""
    times = np.linspace(0.0, DAMPING.epoch, 200)
    return times, DAMPING.window(times)


def thrust_window() -> tuple[Any, Any]:
    """The window until the pipe of 300 Mbit/s is full (equation 7.13)."""
    times = np.linspace(0.0, LARGE.duration, 200)
    return times, LARGE.window(times)


def example_pipe() -> float:
    """C_p of 300 Mbit/s and 100 ms with packets of 1000 bytes."""
    return responses.pipe(300e6, 0.1, 1000)


def example_largest_window() -> float:
    """C_p + Q_max."""
    return example_pipe() + DAMPING.queue


def example_largest_rate() -> float:
    """(C_p + Q_max)/R in Mbit/s."""
    return example_largest_window() / 0.1 * 8e-3


def example_probability() -> float:
    """The probability of a reduction (7.7)."""
    return DAMPING.probability


def example_packets_per_second() -> float:
    """The mean rate (7.9) at that probability."""
    return float(DAMPING.response(DAMPING.probability))


def example_rate() -> float:
    """The same in Mbit/s."""
    return example_packets_per_second() * 8e-3


def thrust_packets_per_second() -> float:
    """The mean rate of thrust (7.17 with the plus), 300 Mbit/s, 1000 bytes."""
    return LARGE.rate


def thrust_rate() -> float:
    """The same in Mbit/s."""
    return LARGE.rate * 8e-3


def _misprinted(thrust: Thrust) -> float:
    """7.17 as printed, with a minus in the denominator of T_max/T_R, in packets/s."""
    share = thrust.alpha_max**2 / (thrust.rocket * thrust.pipe - thrust.alpha_max**2 / 2)
    steep = thrust.alpha_max**2 / (6 * thrust.rocket) * share
    flat = (1 - share) * (thrust.pipe / 2 + thrust.alpha_max**2 / (4 * thrust.rocket))
    return (steep + flat) / thrust.rtt


def misprinted_rate(case: Sequence[float]) -> float:
    """The rate of equation 7.17 as printed, in Mbit/s: the slow link, the fast one, and half the pipe."""
    half = Thrust(SMALL.pipe / 2, SMALL.rtt)
    thrust, bits = ((SMALL, 12e-3), (LARGE, 8e-3), (half, 12e-3))[int(case[0])]
    return _misprinted(thrust) * bits


def corrected_rate(case: Sequence[float]) -> float:
    """The same with the plus."""
    half = Thrust(SMALL.pipe / 2, SMALL.rtt)
    thrust, bits = ((SMALL, 12e-3), (LARGE, 8e-3), (half, 12e-3))[int(case[0])]
    return thrust.rate * bits


def time_to_largest() -> float:
    """T_max of 100 Mbit/s and 1500 bytes (7.12), in s."""
    return SMALL.time_to_largest


def thrust_duration() -> float:
    """T_R (7.15), in s."""
    return SMALL.duration


def small_thrust_rate() -> float:
    """The mean rate of thrust at 100 Mbit/s, in Mbit/s."""
    return SMALL.rate * 12e-3


def largest_increase() -> float:
    """The largest increase of the rocket rule in 30 rounds, in packets per RTT."""
    return float(rocket_increases(30).max())
