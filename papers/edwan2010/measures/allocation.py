"""Chapters 4 and 5 of Edwan 2010: fair allocations, the four algorithms, and fairness measures."""

import itertools
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from ackclock import metrics
from ackclock.papers.data.edwan2010.models import allocation, networks, responses
from ackclock.papers.data.edwan2010.models.dynamics import ALGORITHMS, Course, Dynamics

TABLE_4_1 = networks.two_links(10, 2)
NINE = networks.nine_links()
STARTS = 5
"""Random starts of section 4.2."""


@cache
def _fair(first: float, second: float, alpha: float) -> tuple[float, ...]:
    rates, prices = allocation.alpha_fair(networks.two_links(first, second), alpha)
    return (*rates, *prices)


def fair_value(capacities: Sequence[float], alpha: Sequence[float], index: Sequence[float]) -> float:
    """x1, x2, x3, lambda_a or lambda_b (index 0 to 4) of the alpha-fair optimum (tables 4.1 and 4.2)."""
    return _fair(capacities[0], capacities[1], alpha[0])[int(index[0])]


def off_max_min(capacities: Sequence[float], alpha: Sequence[float]) -> float:
    """The largest relative deviation of the three rates from the max-min fair ones."""
    limits = allocation.max_min(networks.two_links(*capacities)).rates
    rates = np.array(_fair(capacities[0], capacities[1], alpha[0])[:3])
    return float(np.max(np.abs(rates / limits - 1)))


def printed_row_off(
    capacities: Sequence[float], alpha: Sequence[float], printed: Sequence[float], digit: Sequence[float]
) -> float:
    """The largest distance of the optimum from a printed row, in units of its last digit."""
    found = np.array(_fair(capacities[0], capacities[1], alpha[0]))
    return float(np.max(np.abs(found - np.array(printed)))) / digit[0]


def rates_over_alpha(source: int) -> tuple[Any, Any]:
    """The alpha-fair rate of a source (0 to 2) of the network of table 4.1 over alpha."""
    alphas = np.array([0.5, 1.0, 2.0, 3.0, 5.0, 10.0])
    return alphas, np.array([_fair(10.0, 2.0, float(alpha))[int(source)] for alpha in alphas])


def max_min_rate(source: int) -> tuple[Any, Any]:
    """The max-min fair rate of a source of that network."""
    limit = allocation.max_min(TABLE_4_1).rates[int(source)]
    return np.array([0.5, 10.0]), np.full(2, limit)


@cache
def _course(algorithm: str, alpha: float, start: int) -> Course:
    """From random rates and prices. Start 0 is the figure's, 0.1 each."""
    random = np.random.default_rng(start)
    rates = random.uniform(0.05, 5.0, 3) if start else np.full(3, 0.1)
    prices = random.uniform(0.01, 1.0, 2) if start else np.full(2, 0.1)
    return Dynamics(TABLE_4_1, algorithm, alpha).run(5000.0, rates, prices, samples=5001, steady=1e-6)


def course(algorithm: str, source: int) -> tuple[Any, Any]:
    """The rate of a source over the first 150 s, alpha = 1, from rates and prices of 0.1 (section 4.2)."""
    found = _course(algorithm, 1.0, 0)
    shown = found.times <= 150.0
    return found.times[shown], found.rates[shown, int(source)]


def optimum(source: int) -> tuple[Any, Any]:
    """The proportionally fair rate of a source."""
    return np.array([0.0, 150.0]), np.full(2, _fair(10.0, 2.0, 1.0)[int(source)])


def spread_of_ends() -> float:
    """The largest relative spread of a rate at the end over five random starts, algorithms, alpha 1 and 2."""
    spreads = []
    for algorithm, alpha in itertools.product(ALGORITHMS, (1.0, 2.0)):
        ends = np.array([_course(algorithm, alpha, s).rates[-1] for s in range(1, STARTS + 1)])
        spreads.append(np.max(np.ptp(ends, axis=0) / ends.mean(axis=0)))
    return float(max(spreads))


def exact_ends_off() -> float:
    """The largest relative distance of an end from the optimum, three exact algorithms, alpha 1 and 2."""
    off = []
    for algorithm, alpha in itertools.product(ALGORITHMS[1:], (1.0, 2.0)):
        best = np.array(_fair(10.0, 2.0, alpha)[:3])
        off.append(np.max(np.abs(_course(algorithm, alpha, 1).rates[-1] / best - 1)))
    return float(max(off))


def primal_end(alpha: Sequence[float], source: Sequence[float]) -> float:
    """The rate of a source (0 to 2) at the end of the primal algorithm."""
    return float(_course("primal", alpha[0], 1).rates[-1][int(source[0])])


def primal_shortfall() -> float:
    """The smaller of the largest relative shortfalls of the primal algorithm at alpha 1 and 2.

    0 if a link is loaded to its capacity at the end, or if the objective V ever falls.
    """
    worst = []
    for alpha in (1.0, 2.0):
        found, best = _course("primal", alpha, 1), np.array(_fair(10.0, 2.0, alpha)[:3])
        below = bool(np.all(TABLE_4_1.load(found.rates[-1]) < TABLE_4_1.capacities))
        values = [Dynamics(TABLE_4_1, "primal", alpha).objective(rates) for rates in found.rates]
        rises = bool(np.min(np.diff(values)) > -1e-9)
        worst.append(float(np.max(1 - found.rates[-1] / best)) if below and rises else 0.0)
    return min(worst)


@cache
def _filling() -> allocation.Filling:
    return allocation.max_min(NINE)


def link_share(link: Sequence[float]) -> float:
    """The fair share on a bottleneck link of table 5.2: the rate of the sources bottlenecked there."""
    found = _filling()
    return float(found.rates[found.bottlenecks == int(link[0])][0])


def link_load(link: Sequence[float]) -> float:
    """The load of a link after progressive filling."""
    return float(NINE.load(_filling().rates)[int(link[0])])


def sources_off(link: Sequence[float], printed: Sequence[float]) -> float:
    """How many sources are in one only of two sets: those bottlenecked at a link, and those listed."""
    found = {int(NINE.sources[i]) for i in np.flatnonzero(_filling().bottlenecks == int(link[0]))}
    return float(len(found ^ {int(source) for source in printed}))


def sources_with_bottleneck() -> float:
    """How many of the 48 sources have a bottleneck link."""
    return float(np.sum(np.any(allocation.bottlenecks(NINE, _filling().rates), axis=0)))


def largest_proportional_gain(capacities: Sequence[float], rates: Sequence[float]) -> float:
    """The largest sum of relative changes from given rates that the network allows, or 0 if they are fair."""
    return allocation.largest_change(networks.two_links(*capacities), rates)


def proportional_gain(rates: Sequence[float], others: Sequence[float]) -> float:
    """The sum of relative changes from some rates to others."""
    return allocation.proportional_change(rates, others)


def proportional_rates_off(capacities: Sequence[float], expected: Sequence[float]) -> float:
    """The largest distance of the proportionally fair rates from expected ones."""
    return float(np.max(np.abs(np.array(_fair(*capacities, 1.0)[:3]) - np.array(expected))))


def jain_off() -> float:
    """How far Jain's index of k equal users among 10 is from k/10, over all k."""
    values = [metrics.jain([1.0] * k + [0.0] * (10 - k)) - k / 10 for k in range(1, 11)]
    return float(np.max(np.abs(values)))


def power_beaten() -> float:
    """How many of 10000 random splits among three flows have a larger product than three equal rates."""
    splits = np.random.default_rng(1).dirichlet(np.ones(3), 10_000)
    return float(np.sum(np.prod(splits, axis=1) > (1 / 3) ** 3))


def loss_in_window_off() -> float:
    """How far the share of windows with a loss is from ``1 - (1 - p)^w``, over many random windows."""
    hit = np.random.default_rng(1).binomial(20, 0.01, 1_000_000) > 0
    return float(abs(hit.mean() - float(responses.loss_in_window(0.01, 20))))
