"""Chapter 6 of Edwan 2010: increase and decrease of Illinois of several orders."""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ackclock.papers.data.edwan2010.models import responses
from ackclock.papers.data.edwan2010.models.illinois import ILLINOIS, TCP_C, TCP_FQ, TCP_FS, TCP_Q, Illinois

BY_NAME = {"illinois": ILLINOIS, "tcp-q": TCP_Q, "tcp-c": TCP_C, "tcp-fq": TCP_FQ, "tcp-fs": TCP_FS}
ORDERS = (ILLINOIS, TCP_Q, TCP_C)
BETAS = np.linspace(0.125, 0.5, 52)[1:-1]
ALPHAS = np.linspace(0.3, 10.0, 52)[1:-1]
DELAYS = np.linspace(0.0, 1.0, 201)


def plane(variant: str) -> tuple[Any, Any]:
    """The increase over the decrease (figure 6.1)."""
    betas = np.linspace(0.1251, 0.4999, 200)
    return betas, BY_NAME[variant].alpha_at_beta(betas)


def plane_of_highspeed() -> tuple[Any, Any]:
    """a(w) over b(w) of HighSpeed TCP, up to an increase of 10."""
    increase, decrease = responses.highspeed_parameters(np.geomspace(38.0, 83000.0, 200))
    shown = increase <= ILLINOIS.alpha_max
    return decrease[shown], increase[shown]


def plane_of_reno() -> tuple[Any, Any]:
    """The point of Reno."""
    return np.array([0.5]), np.array([1.0])


def increase_over_delay(order: float) -> tuple[Any, Any]:
    """The increase of an order over the delay as a share of the largest (figure 6.2)."""
    return DELAYS, Illinois(order).alpha(DELAYS)


def decrease_over_delay(order: float) -> tuple[Any, Any]:
    """The decrease of an order over the delay."""
    return DELAYS, Illinois(order).beta(DELAYS)


def increase_of(variant: str) -> tuple[Any, Any]:
    """The increase of a variant over the delay (figure 6.3)."""
    return DELAYS, BY_NAME[variant].alpha(DELAYS)


def decrease_of(variant: str) -> tuple[Any, Any]:
    """The decrease of a variant over the delay."""
    return DELAYS, BY_NAME[variant].beta(DELAYS)


def response_at_delay(order: float, delay: float) -> tuple[Any, Any]:
    """The mean window over the loss at a fixed delay (figure 6.11)."""
    loss = np.logspace(-7, -2, 101)
    return loss, Illinois(order).response(loss, delay)


def least_increase_ratio() -> float:
    """The smallest ratio of the increases of neighbouring orders over 50 decreases (lemma 2)."""
    one, q, c = (model.alpha_at_beta(BETAS) for model in ORDERS)
    return float(min(np.min(c / q), np.min(q / one)))


def least_decrease_ratio() -> float:
    """The smallest ratio of the decreases of neighbouring orders over 50 increases (lemma 3).

    Equal decreases count as a ratio of infinity where a limit binds.
    """
    one, q, c = (model.beta_at_alpha(ALPHAS) for model in ORDERS)
    ratios = []
    for high, low in ((c, q), (q, one)):
        bound = (high == low) & ((low == 0.125) | (low == 0.5))
        ratios.append(np.min(np.where(bound, np.inf, high / low)))
    return float(min(ratios))


def limits_off() -> float:
    """How far increase and decrease of the orders are from their limits at d_1 and at d_m."""
    off = []
    for model in ORDERS:
        low, high = float(model.eta[0]), 1.0
        off += [abs(float(model.alpha(low)) - 10.0), abs(float(model.beta(low)) - 0.125)]
        off += [abs(float(model.alpha(high)) - 0.3), abs(float(model.beta(high)) - 0.5)]
    return max(off)


def gap_share() -> float:
    """The share of decreases at which the first step of the order is smaller than the second."""
    c, q, one = (model.alpha_at_beta(BETAS) for model in reversed(ORDERS))
    return float(np.mean(q - one < c - q))


def gap(beta: Sequence[float], order: Sequence[float]) -> float:
    """The increase of an order less the increase of the order below, at a decrease."""
    high, low = (Illinois(n).alpha_at_beta(beta[0]) for n in (order[0], order[0] - 1))
    return float(high - low)


def out_of_bounds() -> float:
    """How many values of some orders are outside the limits of increase or decrease."""
    bad = 0
    for n in (1, 2, 3, 5, 10):
        alpha, beta = Illinois(n).alpha(DELAYS), Illinois(n).beta(DELAYS)
        bad += int(np.sum((alpha < 0.3 - 1e-12) | (alpha > 10 + 1e-12)))
        bad += int(np.sum((beta < 0.125 - 1e-12) | (beta > 0.5 + 1e-12)))
    return float(bad)


def limit_failures() -> float:
    """How many conditions on the limit of high orders fail, at a decrease of 0.3.

    The increase rises with the order, has its printed value at order 20, and all but its limit at 100.
    """
    found = [float(Illinois(n).alpha_at_beta(0.3)) for n in (1, 2, 3, 5, 10, 20)]
    failed = sum(b <= a for a, b in itertools.pairwise(found))
    failed += abs(found[-1] / 8.518 - 1) > 1e-3
    return float(failed + (float(Illinois(100).alpha_at_beta(0.3)) <= 9.99))


def fs_failures() -> float:
    """At how many of the delays 0.11 to 0.79 TCP-Fs is not Illinois from 0.45 on, and lower before."""
    d = np.arange(11, 80) / 100
    fs, one = TCP_FS.beta(d), ILLINOIS.beta(d)
    right = np.where(d >= 0.45, np.abs(fs - one) < 1e-9, fs < one)
    return float(np.sum(~right))


def same_increase_off() -> float:
    """The largest difference of the increases of TCP-Fs and TCP-Fq from the increase of Illinois."""
    one = ILLINOIS.alpha(DELAYS)
    return float(max(np.max(np.abs(model.alpha(DELAYS) - one)) for model in (TCP_FS, TCP_FQ)))


def decrease_at(variant: Sequence[float], delay: Sequence[float]) -> float:
    """The decrease of Illinois (0), TCP-Q (1) or TCP-Fs (2) at a delay."""
    return float((ILLINOIS, TCP_Q, TCP_FS)[int(variant[0])].beta(delay[0]))


def increase_ratio(delay: Sequence[float]) -> float:
    """The increase of TCP-Q over the increase of Illinois at a delay."""
    return float(TCP_Q.alpha(delay[0]) / ILLINOIS.alpha(delay[0]))


def response_ratio(delay: Sequence[float]) -> float:
    """The smallest ratio of the responses of TCP-Q and Illinois at a delay, over four decades of loss."""
    p = 10.0 ** -np.arange(4, 8)
    return float(np.min(TCP_Q.response(p, delay[0]) / ILLINOIS.response(p, delay[0])))
