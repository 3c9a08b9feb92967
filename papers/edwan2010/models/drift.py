"""The drift model of TCP with link errors and variable decrease: equilibrium, course, linear loop.

The rate x of one source over an RTT of T seconds follows (thesis, sections 4.2.4 to 4.4)

    dx/dt = kappa x(t-T) ((1 - p)/x - (beta/kappa) x p),   p = f(x) + p_e,   kappa = 1/T^2 for Reno,

with the price f of congestion, the probability p_e of link errors, and the decrease ``beta`` at every loss.
Its equilibrium lacks the factor of the saw-tooth: x T = sqrt(1/(beta p)), which is sqrt(2/p) for Reno and not
sqrt(3/2p). Rates are in packets per second.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ackclock.arguments import library, one_of, positive, share
from ackclock.errors import InputError
from ackclock.metrics.tables import Array
from ackclock.papers.data.edwan2010.models.stability import Loop
from ackclock.papers.data.edwan2010.models.vectors import probabilities


class Price(Protocol):
    """The probability of congestive loss as a function of the rate. The thesis leaves it open."""

    def at(self, rate: float) -> float:
        """f(x), from 0 to 1."""
        ...

    def slope(self, rate: float) -> float:
        """f'(x), in seconds per packet."""
        ...


@dataclass(frozen=True)
class PowerPrice:
    """f(x) = (x/C)^B, at most 1."""

    capacity: float
    """C, in packets per second."""
    exponent: float = 10.0

    def at(self, rate: float) -> float:
        """f(x)."""
        return float(min((max(rate, 0.0) / self.capacity) ** self.exponent, 1.0))

    def slope(self, rate: float) -> float:
        """f'(x) = B f(x)/x."""
        return self.exponent * self.at(rate) / rate if rate < self.capacity else 0.0


@dataclass(frozen=True)
class OverflowPrice:
    """f(x) = max(0, 1 - C/x): the loss of a steady stream at a link without a queue."""

    capacity: float

    def at(self, rate: float) -> float:
        """f(x)."""
        return max(0.0, 1 - self.capacity / rate) if rate > 0 else 0.0

    def slope(self, rate: float) -> float:
        """f'(x) = C/x^2 above the capacity."""
        return self.capacity / rate**2 if rate > self.capacity else 0.0


@dataclass(frozen=True)
class Drift:
    """One source with its path."""

    rtt: float
    """T, in seconds."""
    price: Price | None = None
    """f; without one all losses are link errors."""
    beta: float = 0.5
    link_errors: float = 0.0
    """p_e. An algorithm that does not react to link errors has 0."""
    kappa: float | None = None
    """The increase. Without a value it is the increase of Reno, 1/T^2."""

    def __post_init__(self) -> None:
        positive("rtt", self.rtt)
        share("beta", self.beta)
        if self.kappa is not None:
            positive("kappa", self.kappa)
        if not 0 <= self.link_errors < 1:
            raise InputError(f"link_errors = {self.link_errors:g}: must be at least 0 and below 1")
        if self.price is None and self.link_errors == 0:
            raise InputError("link_errors = 0: must be above 0 where there is no price")

    @property
    def increase(self) -> float:
        """Kappa as it is used."""
        return 1 / self.rtt**2 if self.kappa is None else self.kappa

    def loss(self, rate: float) -> float:
        """P = f(x) + p_e, at most 1."""
        return min((self.price.at(rate) if self.price else 0.0) + self.link_errors, 1.0)

    def equilibrium(self) -> float:
        """The rate at which nothing changes: p = 1/(1 + beta x^2/kappa)."""

        def gap(log_rate: float) -> float:
            rate = math.exp(log_rate)
            return self.loss(rate) - 1 / (1 + self.beta * rate**2 / self.increase)

        return math.exp(library("scipy.optimize").brentq(gap, -30.0, 60.0, xtol=1e-14))

    def loop(self, decrease: str = "constant") -> Loop:
        """The linear loop around the equilibrium (equations 4.31 and 4.34 without their misprints).

        With a "constant" decrease beta x the damping is kappa (1 - p)/x + beta x p, with a "variable" one,
        an input b of its own, it is only b p at the equilibrium b = beta x. The gain is kappa f'/p for both.
        """
        one_of("decrease", decrease, ("constant", "variable"))
        if self.price is None:
            raise InputError("a path without price has no loop")
        rate = self.equilibrium()
        p = self.loss(rate)
        own = self.beta * rate * p
        damping = own + self.increase * (1 - p) / rate if decrease == "constant" else own
        return Loop(self.increase * self.price.slope(rate) / p, damping)

    def course(
        self, start: float, until: float, feedback: str = "delayed", samples: int = 20
    ) -> tuple[Array, Array]:
        """Times and rates from the constant rate ``start``, ``samples`` in each RTT, by the method of steps.

        With "delayed" feedback the probability follows the rate of an RTT ago (4.29), with "immediate" the
        present rate (4.21).
        """
        positive("start", start)
        one_of("feedback", feedback, ("delayed", "immediate"))
        late = feedback == "delayed"

        def change(rate: float, before: float) -> float:
            p = self.loss(before if late else rate)
            return self.increase * before * ((1 - p) / rate - self.beta / self.increase * rate * p)

        return delayed_course(change, start, self.rtt, until, samples)


def delayed_course(
    change: Callable[[float, float], float], start: float, delay: float, until: float, samples: int = 20
) -> tuple[Array, Array]:
    """Times and values of dx/dt = change(x(t), x(t - delay)), with x = ``start`` up to time 0.

    The method of steps: over one delay the delayed value is known, so that the equation is an ordinary one.
    """
    positive("delay", delay)
    solve = library("scipy.integrate").solve_ivp
    steps = math.ceil(positive("until", until) / delay - 1e-9)
    grid = np.linspace(0.0, delay, samples + 1)
    times, values = [np.zeros(1)], [np.array([start])]
    past: Any = None
    for step in range(steps):
        known = past

        def rhs(t: float, x: Array, known: Any = known) -> list[float]:
            return [change(float(x[0]), start if known is None else float(known(t)[0]))]

        solved = solve(rhs, (0.0, delay), [values[-1][-1]], dense_output=True, rtol=1e-7, atol=1e-9)
        past = solved.sol
        times.append(step * delay + grid[1:])
        values.append(past(grid[1:])[0])
    return np.concatenate(times), np.concatenate(values)


def equilibrium_rate(loss: npt.ArrayLike, rtt: float, beta: float = 0.5) -> Array:
    """The equilibrium of Reno at a given loss, sqrt((1 - p)/(beta p))/T (4.22)."""
    p = probabilities("loss", loss)
    return np.sqrt((1 - p) / (share("beta", beta) * p)) / positive("rtt", rtt)


def utility(rate: npt.ArrayLike, rtt: float, beta: float = 0.5) -> Array:
    """The utility that the drift model maximises, arctan(x T sqrt(beta))/(T sqrt(beta)) (4.24)."""
    scale = positive("rtt", rtt) * math.sqrt(share("beta", beta))
    return np.asarray(np.arctan(np.asarray(rate) * scale) / scale)
