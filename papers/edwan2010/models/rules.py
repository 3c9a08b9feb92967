"""Vector diagrams: how sources under linear and binomial rules share one link (thesis, sections 2.2 and 2.3).

Time goes in steps. In each, every source learns one bit, whether the sum of all rates exceeds the capacity,
and changes its rate x by its rule (Bansal and Balakrishnan, "Binomial congestion control algorithms", 2001):

    not full:  x + alpha / x^k        full:  x - beta * x^l

Rates have the unit of the capacity.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ackclock.arguments import one_of, positive
from ackclock.errors import InputError
from ackclock.metrics.tables import Array
from ackclock.papers.data.edwan2010.models.vectors import vector

LEAST_RATE = 1e-6
"""The least rate where k > 0: x^-k has no bound below it."""


@dataclass(frozen=True)
class Rule:
    """A binomial rule. It is linear where k and l are integers from -1 to 1."""

    alpha: float
    """Increase: x + alpha / x^k."""
    beta: float
    """Decrease: x - beta * x^l."""
    k: float
    ell: float
    """The exponent l of the paper."""

    def __post_init__(self) -> None:
        positive("alpha", self.alpha)
        positive("beta", self.beta)

    @property
    def is_tcp_friendly(self) -> bool:
        """True if k + l = 1 with l <= 1: then the rate is proportional to 1/sqrt(p), as TCP's."""
        return bool(np.isclose(self.k + self.ell, 1.0)) and self.ell <= 1

    @property
    def loss_exponent(self) -> float:
        """The exponent d of the response function c/p^d, 1/(k + l + 1)."""
        if self.k + self.ell <= -1:
            raise InputError(f"k + l = {self.k + self.ell:g}: must be above -1")
        return 1.0 / (self.k + self.ell + 1.0)

    def increase(self, rates: Array) -> Array:
        """The rates after a step in which the link is not full."""
        return np.asarray(rates + self.alpha * self._guarded(rates) ** -self.k)

    def decrease(self, rates: Array) -> Array:
        """The rates after a step in which the link is full."""
        left = rates - self.beta * rates**self.ell
        return self._guarded(np.maximum(left, 0.0))

    def _guarded(self, rates: Array) -> Array:
        return np.maximum(rates, LEAST_RATE) if self.k > 0 else rates


RULES: Mapping[str, Rule] = {
    "aimd": Rule(0.01, 0.5, 0.0, 1.0),
    "aiad": Rule(0.01, 0.02, 0.0, 0.0),
    "mimd": Rule(0.02, 0.5, -1.0, 1.0),
    "miad": Rule(0.02, 0.02, -1.0, 0.0),
    "iiad": Rule(0.01, 0.05, 1.0, 0.0),
    "sqrt": Rule(0.01, 0.05, 0.5, 0.5),
}
"""The named rules. The thesis prints no parameters. These suit a capacity of 1."""


def vector_diagram(
    rule: Rule,
    start: npt.ArrayLike = (0.1, 0.7),
    capacity: float = 1.0,
    steps: int = 600,
    feedback: str = "synchronous",
    seed: int = 0,
) -> Array:
    """The rates of all sources after each step (figures 2.3 to 2.5): an array of (steps + 1) x sources.

    ``start`` has the rates before the first step. With ``feedback = "synchronous"`` all sources decrease when
    the link is full. With "proportional" source i decreases with probability x_i / sum(x) and increases
    otherwise, which makes even MIMD fair on average. ``seed`` seeds the draws.

    An ``InputError`` names a rate, a capacity or a number of steps that is not positive.
    """
    one_of("feedback", feedback, ("synchronous", "proportional"))
    positive("capacity", capacity)
    positive("steps", steps)
    rates = vector("start", start)
    random = np.random.default_rng(seed)
    path = [rates]
    for _ in range(steps):
        total = rates.sum()
        if total <= capacity:
            rates = rule.increase(rates)
        elif feedback == "synchronous":
            rates = rule.decrease(rates)
        else:
            hit = random.random(rates.size) < rates / total
            rates = np.where(hit, rule.decrease(rates), rule.increase(rates))
        path.append(rates)
    return np.array(path)
