"""How sources and links find a fair allocation by themselves: four systems of differential equations.

Sources change their rates x by the price q of their route, links their prices p by their load y (thesis,
section 4.2, and Srikant, "The Mathematics of Internet Congestion Control", 2004). U is the alpha-fair utility
of ``allocation``. (g)+ is g, or max(g, 0) if the variable that it changes is 0.

    primal          dx/dt = k x (U'(x) - q),  p = (y/c)^B
    exact primal    the same with p = (y/v)^B and a virtual capacity v:  dv/dt = a (c - y)+
    dual            dp/dt = h (y - c)+,  x = (w/q)^(1/alpha)
    primal-dual     dx/dt = k x (U'(x) - q),  dp/dt = h (y - c)+

The primal algorithm only approaches the allocation, the others reach it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ackclock.arguments import library, one_of, positive
from ackclock.metrics.tables import Array
from ackclock.papers.data.edwan2010.models.allocation import demand, marginal_utility, utility
from ackclock.papers.data.edwan2010.models.networks import Network
from ackclock.papers.data.edwan2010.models.vectors import vector

ALGORITHMS = ("primal", "exact-primal", "dual", "primal-dual")
LARGEST_VIRTUAL = 10.0
"""The virtual capacity of a link that is no bottleneck grows at most to this many capacities."""
NEAR_ZERO = 1e-5
"""Below this a price, or a virtual capacity, falls more slowly."""


class Course(NamedTuple):
    """The state over time."""

    times: Array
    """In seconds."""
    rates: Array
    """times x sources."""
    prices: Array
    """times x links."""


@dataclass(frozen=True)
class Dynamics:
    """A network under one of the algorithms. The thesis prints no gains. These are round numbers."""

    network: Network
    algorithm: str = "primal-dual"
    """"primal", "exact-primal", "dual" or "primal-dual"."""
    alpha: float = 1.0
    weights: npt.ArrayLike = field(default=1.0)
    rate_gain: float = 0.5
    """k, per second and unit of price."""
    price_gain: float = 0.1
    """h."""
    virtual_gain: float = 0.1
    """a, per second."""
    exponent: float = 10.0
    """B."""

    def __post_init__(self) -> None:
        one_of("algorithm", self.algorithm, ALGORITHMS)
        for name in ("alpha", "rate_gain", "price_gain", "virtual_gain", "exponent"):
            positive(name, getattr(self, name))
        object.__setattr__(self, "weights", vector("weights", self.weights, len(self.network.sources)))

    def run(
        self,
        until: float = 500.0,
        rates: npt.ArrayLike = 0.1,
        prices: npt.ArrayLike = 0.1,
        samples: int = 501,
        steady: float = 0.0,
    ) -> Course:
        """The course from the given rates and prices to the time ``until``, at ``samples`` equal steps.

        A start value that the algorithm computes from others is not used. With ``steady`` above 0 the course
        ends, possibly earlier, where no variable changes by more than that per second.
        """
        state = self._start(
            vector("rates", rates, len(self.network.sources)),
            vector("prices", prices, len(self.network.links)),
        )

        def at_rest(time: float, state: Array) -> float:
            return float(np.max(np.abs(self._change(time, state)))) - steady

        at_rest.terminal = True  # type: ignore[attr-defined]
        solved = library("scipy.integrate").solve_ivp(
            self._change,
            (0.0, positive("until", until)),
            state,
            method="LSODA",
            t_eval=np.linspace(0.0, until, samples),
            events=at_rest if steady > 0 else None,
            rtol=1e-8,
            atol=1e-10,
        )
        times, states = solved.t, solved.y.T
        if steady > 0 and solved.t_events[0].size:
            times, states = np.append(times, solved.t_events[0]), np.vstack((states, solved.y_events[0]))
        seen = [self._see(state) for state in states]
        return Course(times, np.array([x for x, _ in seen]), np.array([p for _, p in seen]))

    def objective(self, rates: npt.ArrayLike) -> float:
        """The objective of the primal algorithm: the sum of U(x) less the integral of p over each load."""
        x = vector("rates", rates, len(self.network.sources))
        c = self.network.capacities
        cost = c / (self.exponent + 1) * (self.network.load(x) / c) ** (self.exponent + 1)
        return float(utility(x, self.alpha, self.weights).sum() - cost.sum())

    # The state: the logarithms of rates that are variables, so that they stay positive, then the links'
    # variables.

    def _start(self, rates: Array, prices: Array) -> Array:
        of_links = {"primal": prices[:0], "exact-primal": self.network.capacities}
        of_sources = rates[:0] if self.algorithm == "dual" else np.log(rates)
        return np.concatenate((of_sources, of_links.get(self.algorithm, prices)))

    def _split(self, state: Array) -> tuple[Array, Array]:
        count = 0 if self.algorithm == "dual" else len(self.network.sources)
        return np.exp(state[:count]), np.maximum(state[count:], 0.0)

    def _see(self, state: Array) -> tuple[Array, Array]:
        """Rates and prices in a state."""
        x, links = self._split(state)
        if self.algorithm == "dual":
            q = np.maximum(self.network.route_prices(links), self._least_price())
            return demand(q, self.alpha, self.weights), links
        if self.algorithm == "primal-dual":
            return x, links
        of = self.network.capacities if self.algorithm == "primal" else np.maximum(links, 1e-9)
        return x, (self.network.load(x) / of) ** self.exponent

    def _least_price(self) -> Array:
        """The price at which a source would send ten times the capacity of all its links together."""
        most = 10 * self.network.routing.T @ self.network.capacities
        return marginal_utility(most, self.alpha, self.weights)

    def _change(self, _time: float, state: Array) -> Array:
        x, p = self._see(state)
        _, links = self._split(state)
        c = self.network.capacities
        excess = self.network.load(x) - c
        changes: list[Array] = []
        if self.algorithm != "dual":
            wanted = marginal_utility(x, self.alpha, self.weights) - self.network.route_prices(p)
            changes.append(self.rate_gain * wanted)
        if self.algorithm == "exact-primal":
            # Near its largest value it grows more slowly: solvers cannot pass a kink.
            room = np.clip(LARGEST_VIRTUAL - links / c, 0.0, 1.0)
            changes.append(self.virtual_gain * np.where(excess < 0, -excess * room, _plus(-excess, links)))
        elif self.algorithm != "primal":
            changes.append(self.price_gain * _plus(excess, links))
        return np.concatenate(changes)


def _plus(change: Array, value: Array) -> Array:
    """(g)+: a value at 0 does not fall. It falls more slowly just above 0: solvers cannot pass a kink."""
    return np.asarray(np.where(change < 0, change * np.clip(value / NEAR_ZERO, 0.0, 1.0), change))
