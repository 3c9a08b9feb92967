"""Fair allocations of a network: alpha-fair, max-min, and the test of proportional fairness.

Sources maximise the sum of U(x) = w x^(1-a)/(1-a), or w ln x at a = 1, over the rates that the links can
carry (thesis, sections 4.1 and 5.5). a = 1 is proportional fairness, a = 2 minimum potential delay, and a
without bound max-min fairness (Mo and Walrand, 2000). The printed utility has a wrong sign. The price of a
link is the Lagrange multiplier of its capacity: U'(x) is the sum of the prices along a route.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ackclock.arguments import library, positive
from ackclock.errors import InputError
from ackclock.metrics.tables import Array
from ackclock.papers.data.edwan2010.models.networks import Network
from ackclock.papers.data.edwan2010.models.vectors import vector

ALMOST = 1e-5
"""A link that is full but for this share of its capacity counts as binding."""
PRECISION = 1e-9
"""The largest spare share of the capacity of a link whose price is not 0."""

Mask = npt.NDArray[np.bool_]


class Allocation(NamedTuple):
    """Rates of the sources and prices of the links."""

    rates: Array
    prices: Array


class Filling(NamedTuple):
    """Max-min fair rates, and for each source the index of its bottleneck link."""

    rates: Array
    bottlenecks: npt.NDArray[np.int64]


def utility(rates: npt.ArrayLike, alpha: float, weights: npt.ArrayLike = 1.0) -> Array:
    """The utility of each rate: w x^(1-a)/(1-a), or w ln x at a = 1."""
    x = np.asarray(rates, dtype=np.float64)
    w = np.asarray(weights, dtype=np.float64)
    if positive("alpha", alpha) == 1:
        return np.asarray(w * np.log(x))
    return np.asarray(w * x ** (1 - alpha) / (1 - alpha))


def marginal_utility(rates: npt.ArrayLike, alpha: float, weights: npt.ArrayLike = 1.0) -> Array:
    """U'(x) = w/x^a."""
    return np.asarray(np.asarray(weights) / np.asarray(rates, dtype=np.float64) ** positive("alpha", alpha))


def demand(prices: npt.ArrayLike, alpha: float, weights: npt.ArrayLike = 1.0) -> Array:
    """The rate at which U'(x) is the price q of a route: (w/q)^(1/a)."""
    q = np.asarray(prices, dtype=np.float64)
    return np.asarray((np.asarray(weights) / q) ** (1 / positive("alpha", alpha)))


def max_min(network: Network) -> Filling:
    """Max-min fair rates by progressive filling: all rates grow together until a link is full.

    The sources of that link stop there. The others go on.
    """
    rates = np.zeros(len(network.sources))
    bottlenecks = np.full(rates.size, -1, dtype=np.int64)
    while np.any(bottlenecks < 0):
        growing = network.routing * (bottlenecks < 0)
        users = growing.sum(axis=1)
        room = network.capacities - network.load(rates)
        shares = np.divide(room, users, out=np.full(room.size, np.inf), where=users > 0)
        link = int(np.argmin(shares))
        stopped = growing[link] > 0
        rates[stopped] = shares[link]
        bottlenecks[stopped] = link
    return Filling(rates, bottlenecks)


def bottlenecks(network: Network, rates: npt.ArrayLike, tolerance: float = 1e-6) -> Mask:
    """Which links are bottlenecks of which sources, links x sources.

    A bottleneck of a source is a full link on which no rate is larger. Rates are max-min fair if and only if
    every source has one. ``tolerance`` is relative.
    """
    x = vector("rates", rates, len(network.sources))
    full = network.load(x) >= network.capacities * (1 - tolerance)
    largest = np.max(network.routing * x, axis=1)
    return np.asarray((network.routing > 0) & full[:, None] & (x >= largest[:, None] * (1 - tolerance)))


def alpha_fair(network: Network, alpha: float, weights: npt.ArrayLike = 1.0) -> Allocation:
    """The rates that maximise the sum of utilities, with the prices of the links.

    Clarabel solves the conic program, which says which links bind. SciPy then solves for their prices to full
    precision, because prices may differ by more orders of magnitude than an interior-point method resolves.
    At a very large ``alpha`` it does not resolve the rates either, and the links that bind are taken from the
    max-min allocation. If neither set will do, that is an ``InputError``.
    """
    positive("alpha", alpha)
    w = vector("weights", weights, len(network.sources))
    fair = max_min(network)
    rates, prices = _solve_cones(network, alpha, w, fair.rates)
    limit = np.zeros(prices.size)
    np.maximum.at(limit, fair.bottlenecks, marginal_utility(fair.rates, alpha, w))
    full = network.load(rates) >= network.capacities * (1 - ALMOST)
    for binding, guess in ((full, prices), (limit > 0, limit)):
        exact = _settle(network, alpha, w, binding, guess)
        if exact is not None:
            return Allocation(demand(network.route_prices(exact), alpha, w), exact)
    raise InputError(f"alpha = {alpha:g}: too large for this network; max_min gives the limit")


def _solve_cones(network: Network, alpha: float, weights: Array, scale: Array) -> Allocation:
    """Rates and prices from the conic program: minimise the sum of c t. A cone binds t to x = rate/scale.

    a = 1: (t, 1, x) in the exponential cone, t <= ln x. a < 1: (x, 1, t) in the power cone, t <= x^(1-a).
    a > 1: (x, t, 1) in the power cone, t >= x^(1-a).
    """
    clarabel, sparse = library("clarabel"), library("scipy.sparse")
    links, n = network.routing.shape
    gain = weights * scale ** (1 - alpha)
    unit = gain.max()
    costs = gain / unit * (1.0 if alpha == 1 else 1 / abs(alpha - 1))
    cost = np.concatenate((np.zeros(n), costs if alpha > 1 else -costs))
    rows, offsets, cone = _cone_rows(alpha, n, clarabel)
    matrix = np.vstack((np.hstack((network.routing * scale, np.zeros((links, n)))), rows))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    solution = clarabel.DefaultSolver(
        sparse.csc_matrix((2 * n, 2 * n)),
        cost,
        sparse.csc_matrix(matrix),
        np.concatenate((network.capacities, offsets)),
        [clarabel.NonnegativeConeT(links), *[cone] * n],
        settings,
    ).solve()
    return Allocation(np.array(solution.x[:n]) * scale, np.array(solution.z[:links]) * unit)


def _cone_rows(alpha: float, n: int, clarabel: Any) -> tuple[Array, Array, Any]:
    """The rows of the cones with the opposite sign, three for each source, their constants, and the cone."""
    if alpha == 1:
        order, cone = ("t", "1", "x"), clarabel.ExponentialConeT()
    elif alpha < 1:
        order, cone = ("x", "1", "t"), clarabel.PowerConeT(1 - alpha)
    else:
        order, cone = ("x", "t", "1"), clarabel.PowerConeT((alpha - 1) / alpha)
    rows, offsets = np.zeros((3 * n, 2 * n)), np.zeros(3 * n)
    for position, what in enumerate(order):
        at = np.arange(n) * 3 + position
        if what == "1":
            offsets[at] = 1.0
        else:
            rows[at, np.arange(n) + (n if what == "t" else 0)] = -1.0
    return rows, offsets, cone


def _settle(network: Network, alpha: float, weights: Array, binding: Mask, guess: Array) -> Array | None:
    """The prices at which the links in ``binding`` are exactly full, if no other link is overloaded by them.

    ``guess`` has positive prices. SciPy looks for the logarithms, so that small prices get as many digits.
    """

    def prices(logs: Array) -> Array:
        found = np.zeros(binding.size)
        found[binding] = np.exp(np.clip(logs, -600.0, 600.0))
        return found

    def spare(logs: Array) -> Array:
        q = np.maximum(network.route_prices(prices(logs)), np.finfo(np.float64).tiny)
        return np.asarray(1 - network.load(demand(q, alpha, weights)) / network.capacities)

    start = np.log(np.maximum(guess[binding], np.finfo(np.float64).tiny))
    found = library("scipy.optimize").root(lambda logs: spare(logs)[binding], start, tol=1e-14).x
    left = spare(found)
    met = np.all(np.abs(left[binding]) <= PRECISION) and np.all(left >= -PRECISION)
    return prices(found) if met else None


def proportional_change(rates: npt.ArrayLike, others: npt.ArrayLike, weights: npt.ArrayLike = 1.0) -> float:
    """The weighted sum of the relative changes from ``rates`` to ``others``, sum w (x - xhat)/xhat.

    ``rates`` are proportionally fair if it is not positive for any other feasible rates.
    """
    start = vector("rates", rates)
    end = np.asarray(others, dtype=np.float64)
    return float(np.sum(np.asarray(weights) * (end - start) / start))


def largest_change(network: Network, rates: npt.ArrayLike, weights: npt.ArrayLike = 1.0) -> float:
    """The largest ``proportional_change`` from ``rates`` that the network allows, by a linear program.

    0 (up to rounding) if and only if the rates are proportionally fair, positive otherwise.
    """
    start = vector("rates", rates, len(network.sources))
    w = vector("weights", weights, start.size)
    best = library("scipy.optimize").linprog(-w / start, A_ub=network.routing, b_ub=network.capacities)
    return float(-best.fun - w.sum())


def potential_delay(rates: npt.ArrayLike, weights: npt.ArrayLike = 1.0) -> float:
    """The sum of w/x: the time that transfers of the sizes ``weights`` would take. It is least at a = 2."""
    return float(np.sum(np.asarray(weights) / vector("rates", rates)))
