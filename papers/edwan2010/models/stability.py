"""Stability of a linear loop with one delay: bounds, the exact delay margin, Nyquist curves.

The loop G(s)H(s) = K exp(-T s)/(s + a) comes from ``drift``. K is its gain and a its damping, both per second
(thesis, section 4.4). The lemma is from Srikant, "The Mathematics of Internet Congestion Control", 2004.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ackclock.arguments import library, positive
from ackclock.errors import InputError


@dataclass(frozen=True)
class Loop:
    """dx/dt = -a x(t) - K x(t - T)."""

    gain: float
    """K."""
    damping: float
    """a."""

    def __post_init__(self) -> None:
        positive("gain", self.gain)
        if not self.damping >= 0:
            raise InputError(f"damping = {self.damping:g}: must be at least 0")

    @property
    def bound(self) -> float:
        """A delay in seconds below which the loop is stable whatever its damping: pi/(2 K) (4.32, 4.35)."""
        return math.pi / (2 * self.gain)

    @property
    def margin(self) -> float:
        """The delay in seconds up to which the loop is stable, infinite if K <= a.

        (pi - arctan(w/a))/w at the frequency w = sqrt(K^2 - a^2), where the gain of the loop is 1.
        """
        if self.gain <= self.damping:
            return math.inf
        frequency = math.sqrt(self.gain**2 - self.damping**2)
        return (math.pi - math.atan2(frequency, self.damping)) / frequency

    def response(self, frequency: npt.ArrayLike, delay: float) -> npt.NDArray[np.complex128]:
        """G(jw)H(jw) at angular frequencies w: the Nyquist curve. Stable if it does not encircle -1."""
        w = np.asarray(frequency, dtype=np.float64)
        return np.asarray(self.gain * np.exp(-1j * w * delay) / (1j * w + self.damping))


def lemma_curve(frequency: npt.ArrayLike, damping: float, delay: float = 1.0) -> npt.NDArray[np.complex128]:
    """h(w) = exp(-jwT)/(A + jwT), which does not encircle -2/pi for any A >= 0 (figure 4.5: A = 2)."""
    turn = np.asarray(frequency, dtype=np.float64) * positive("delay", delay)
    return np.asarray(np.exp(-1j * turn) / (damping + 1j * turn))


def lemma_crossing(damping: float) -> float:
    """The leftmost crossing of h and the real axis: -1/sqrt(A^2 + u^2), u + arctan(u/A) = pi."""
    if not damping >= 0:
        raise InputError(f"damping = {damping:g}: must be at least 0")
    u = library("scipy.optimize").brentq(
        lambda angle: angle + math.atan2(angle, damping) - math.pi, math.pi / 2, math.pi, xtol=1e-15
    )
    return -1 / math.hypot(damping, u)


def bound_at(rate: float, price_slope: float, kappa: float, beta: float) -> float:
    """The bound of (4.32) and (4.35) in seconds: pi/(2 kappa f' (1 + beta x^2/kappa)).

    At a fixed rate x, price slope f' and kappa a smaller decrease allows a longer delay. In an equilibrium
    1 + beta x^2/kappa = 1/p for every beta, and link errors can reverse this. See ``Drift.loop``.
    """
    for name, value in (("rate", rate), ("price_slope", price_slope), ("kappa", kappa), ("beta", beta)):
        positive(name, value)
    return math.pi / (2 * kappa * price_slope * (1 + beta * rate**2 / kappa))


def own_rtt_bound(rate: float, price_slope: float, beta: float) -> float:
    """The bound for Reno, whose kappa = 1/T^2 itself depends on T, at a fixed rate and price slope.

    The T for which 2 f' (1 + beta x^2 T^2) = pi T: the loop is within the bound between the two roots of this
    quadratic, and the larger one is given. Without a real root that is an ``InputError``.
    """
    positive("rate", rate)
    a, b, c = 2 * positive("price_slope", price_slope) * beta * rate**2, -math.pi, 2 * price_slope
    roots = np.roots([a, b, c])
    if np.any(np.abs(roots.imag) > 0):
        raise InputError("there is no RTT at which this loop is within the bound")
    return float(np.max(roots.real))
