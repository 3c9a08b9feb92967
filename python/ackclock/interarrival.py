"""The cause of a loss, from the times between duplicate ACKs (Edwan 2010, chapter 8).

After a loss on a wireless last link the gaps between packets are multiples of T, the time that one packet
takes on the slowest link: a large span, a clear pattern. After congestion they are all about T (a small
span), or cross traffic has made them random (noise). A canceller of differences removes the pattern. Its
remainder below T is noise. All times are in seconds.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ackclock.arguments import one_of, positive, share
from ackclock.errors import InputError
from ackclock.metrics.tables import Array

GUARD = 1e-3
"""Differences closer than this share of T to 0, or to T from below, are a pattern and rounding, not noise."""
LARGEST_SET = 5000
"""The canceller stops before a set of differences would have more elements."""
DEFINITIONS = ("A", "B", "C")
"""The ways to count the output of the canceller."""
DUPLICATES = 3
"""With fewer duplicate ACKs there is no fast retransmit, hence nothing to decide."""


class Cancelled(NamedTuple):
    """The output of the canceller for some gaps."""

    remaining: Array
    """The differences that hold a multiple of T after the last iteration, in increasing order."""
    noise: Array
    """The differences below T of all iterations, without those that are 0."""
    first_count: int
    """How many differences the first iteration has."""


def duplicate_ack_times(times: npt.ArrayLike, acknowledged: npt.ArrayLike) -> list[Array]:
    """The arrival times of each run of at least three duplicate ACKs in a recorded trace.

    ``times`` and ``acknowledged`` describe all ACKs that the sender gets, in their order, the latter as
    packets or bytes. A run begins with the last ACK before the first duplicate, so that its first gap holds
    the hole, and ends before the ACK that covers the retransmission.
    """
    at = np.asarray(times, dtype=np.float64)
    acks = np.asarray(acknowledged)
    if at.shape != acks.shape or at.ndim != 1:
        raise InputError(f"times {at.shape} and acknowledged {acks.shape}: must be lists of one length")
    edges = np.flatnonzero(np.concatenate(([True], acks[1:] != acks[:-1], [True])))
    runs = [at[a:b] for a, b in itertools.pairwise(edges)]
    return [run for run in runs if run.size > DUPLICATES]


def transmission_time(gaps: npt.ArrayLike) -> float:
    """T as a sender can estimate it: the least gap between ACKs that is not below half of their median.

    Shorter gaps are compressed ACKs. ``gaps`` are those between new ACKs of full-sized packets so far.
    """
    values = np.asarray(gaps, dtype=np.float64)
    if not values.size:
        raise InputError("gaps is empty: must have at least one")
    return float(np.min(values[values >= np.median(values) / 2]))


def differences(samples: npt.ArrayLike) -> Array:
    """The absolute differences of all pairs, in increasing order: n (n - 1)/2 of n samples."""
    values = np.sort(np.asarray(samples, dtype=np.float64))
    first, second = np.triu_indices(values.size, k=1)
    return np.sort(values[second] - values[first])


def cancel(gaps: npt.ArrayLike, unit: float, iterations: int = 1) -> Cancelled:
    """The difference canceller: in each iteration, all differences, of which those below T are taken out.

    ``unit`` is T. More than three iterations add up too much noise. The thesis uses one.
    """
    positive("unit", unit)
    left = np.asarray(gaps, dtype=np.float64)
    noise: list[Array] = []
    first_count = left.size * (left.size - 1) // 2
    for _ in range(int(positive("iterations", iterations))):
        if left.size * (left.size - 1) // 2 > LARGEST_SET:
            break
        found = differences(left)
        below = found < (1 - GUARD) * unit
        noise.append(found[below & (found > GUARD * unit)])
        left = found[~below]
    return Cancelled(left, np.concatenate(noise) if noise else np.zeros(0), first_count)


def residual_noise(gaps: npt.ArrayLike, unit: float, iterations: int = 1, definition: str = "A") -> float:
    """rho: how much noise the canceller leaves.

    The thesis leaves the exact count open. "A" is the number of differences below T, "B" is their sum in
    units of T, and "C" is their number as a share of all differences of the first iteration.
    """
    one_of("definition", definition, DEFINITIONS)
    found = cancel(gaps, unit, iterations)
    if definition == "B":
        return float(found.noise.sum() / unit)
    if definition == "C":
        return found.noise.size / found.first_count if found.first_count else 0.0
    return float(found.noise.size)


def noise_level(rho: npt.ArrayLike, sensitivity: float = 1.0) -> Array:
    """N_s = 2/(1 + exp(-a rho)) - 1, from 0 to 1, where a is the ``sensitivity`` to noise."""
    return np.asarray(2 / (1 + np.exp(-positive("sensitivity", sensitivity) * np.asarray(rho))) - 1)


def span(gaps: npt.ArrayLike) -> float:
    """S_p = 1 - S_min/S_max: 0 when all gaps are equal, near 1 when they differ widely."""
    values = np.asarray(gaps, dtype=np.float64)
    if not values.size or not np.max(values) > 0:
        raise InputError("gaps: must have one above 0")
    return float(1 - np.min(values) / np.max(values))


def decrease_factor(spread: npt.ArrayLike, noise: npt.ArrayLike, combine: str = "sum") -> Array:
    """mu, the share of the usual decrease: small only for a large span with little noise (table 8.1).

    "sum" is min(1, 1 - S_p + N_s), which is printed without its limit. "product" is 1 - S_p (1 - N_s).
    """
    one_of("combine", combine, ("sum", "product"))
    wide, random = np.asarray(spread, dtype=np.float64), np.asarray(noise, dtype=np.float64)
    if combine == "product":
        return np.asarray(1 - wide * (1 - random))
    return np.minimum(1.0, 1 - wide + random)


def decrease(
    gaps: npt.ArrayLike, unit: float, beta: float = 0.5, sensitivity: float = 1.0, iterations: int = 1
) -> float:
    """Beta' = mu beta: the share of the window to remove after a loss with these gaps."""
    rho = residual_noise(gaps, unit, iterations)
    return float(share("beta", beta) * decrease_factor(span(gaps), noise_level(rho, sensitivity)))


class Differentiated(NamedTuple):
    """The span and noise of the gaps of one loss."""

    span: float
    rho: Mapping[str, float]
    """The residual noise by definitions A, B and C."""
    noise: float
    """N_s, made of the rho of the definition that was chosen."""
    decrease: float
    """Beta'."""
    wireless: bool
    """True if less than half of the usual decrease is left: a large span with little noise (table 8.1)."""

    def as_json(self) -> dict[str, Any]:
        """The same as plain values. ``cause`` is "wireless" or "congestion"."""
        values = self._asdict() | {"rho": dict(self.rho)}
        wireless = values.pop("wireless")
        return values | {"cause": "wireless" if wireless else "congestion"}


def differentiate(
    gaps: npt.ArrayLike,
    unit: float,
    sensitivity: float = 1.0,
    iterations: int = 1,
    definition: str = "A",
    beta: float = 0.5,
) -> Differentiated:
    """Span, noise, decrease and cause of one loss, from the gaps between its duplicate ACKs in s.

    ``unit`` is T in s. ``definition`` says which rho the noise level is made of.
    """
    one_of("definition", definition, DEFINITIONS)
    rho = {one: residual_noise(gaps, unit, iterations, one) for one in DEFINITIONS}
    wide, noise = span(gaps), float(noise_level(rho[definition], sensitivity))
    factor = float(decrease_factor(wide, noise))
    return Differentiated(wide, rho, noise, share("beta", beta) * factor, factor < 0.5)


def modified_window(window: float, gaps: npt.ArrayLike, unit: float, beta: float = 0.5) -> float:
    """The window in packets after the recovery that follows a loss at ``window``: at least 2."""
    return max((1 - decrease(gaps, unit, beta)) * positive("window", window), 2.0)


def replayed_windows(
    windows: npt.ArrayLike,
    decreases: Mapping[int, float],
    timeouts: Collection[int] = (),
    receive_window: float = math.inf,
) -> Array:
    """The windows that modified Reno would have had, from a recorded trace of Reno's (figures 8.10 to 8.13).

    ``windows`` are Reno's, in packets. ``decreases`` has beta' by the index of each sample after a fast
    retransmit, ``timeouts`` are the indices of samples after a timeout. Between these the new window moves by
    as much as Reno's. At a timeout both are the same.
    """
    old = np.asarray(windows, dtype=np.float64)
    new = old.copy()
    for index in range(1, old.size):
        if index in decreases:
            new[index] = max((1 - decreases[index]) * new[index - 1], 2.0)
        elif index not in timeouts:
            moved = new[index - 1] + old[index] - old[index - 1]
            most = max(new[index - 1], old[index], receive_window)
            new[index] = max(min(moved, most), 1.0)
    return new
