"""Chapter 8 of Edwan 2010: the difference canceller and the decision for a decrease."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ackclock import interarrival

EXAMPLE = (1.0, 2.0, 3.0, 4.0)
"""The gaps of figure 8.6 in units of T."""


def pairs(iteration: Sequence[float]) -> float:
    """How many differences an iteration of the example has: 6 of 4 samples, 15 of these."""
    found = interarrival.differences(EXAMPLE)
    return float(found.size if iteration[0] == 1 else interarrival.differences(found).size)


def captured(what: Sequence[float]) -> float:
    """Packets (0), duplicate ACKs np (1) and n = np - 1 (2) of the example."""
    gaps = len(EXAMPLE)
    return float((gaps + 1, gaps, gaps - 1)[int(what[0])])


def first_differences_off() -> float:
    """How many first differences of the example are not as printed: T three times, 2T twice, 3T once."""
    return float(np.sum(interarrival.differences(EXAMPLE) != np.array([1, 1, 1, 2, 2, 3])))


def largest_does_not_shrink() -> float:
    """In how many of the example and 1000 random cases the largest sample does not shrink each iteration.

    Random cases have a few small multiples of T, each with noise, and three iterations.
    """
    random = np.random.default_rng(1)
    cases: list[Any] = [np.array(EXAMPLE)]
    for _ in range(1000):
        size = int(random.integers(2, 9))
        cases.append(random.integers(1, 7, size) + random.uniform(0.0, 0.01, size))
    bad = 0
    for samples in cases:
        left, largest = samples, np.inf
        for _ in range(3):
            if left.size == 0:
                break
            bad += not left.max() < largest
            largest = left.max()
            found = interarrival.differences(left)
            left = found[found >= 1 - 1e-3]
    return float(bad)


def second_differences_without_unit() -> float:
    """How many of the 15 second differences of the example have no term in T: noise of 0.01 T on each."""
    noisy = np.array(EXAMPLE) + 0.01 * np.array([0.1, 0.37, 0.73, 1.0])
    second = interarrival.differences(interarrival.differences(noisy))
    return float(np.sum(second < 0.5))


def factor(wide: Sequence[float], random: Sequence[float]) -> float:
    """The share mu of the usual decrease for a span and a noise level (table 8.1)."""
    return float(interarrival.decrease_factor(wide[0], random[0]))


def factor_over_noise(spread: float) -> tuple[Any, Any]:
    """The decrease, mu beta with beta = 0.5, over rho for a span."""
    counts = np.linspace(0.0, 6.0, 61)
    return counts, 0.5 * interarrival.decrease_factor(spread, interarrival.noise_level(counts))


def counted_samples(iteration: int) -> tuple[Any, Any]:
    """The samples of the example in an iteration, in units of T, against their rank (figure 8.6)."""
    samples = np.array(EXAMPLE)
    for _ in range(int(iteration)):
        found = interarrival.differences(samples)
        samples = found[found >= 1 - 1e-3]
    return np.arange(1, samples.size + 1.0), samples
