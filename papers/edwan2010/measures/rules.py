"""Chapter 2 of Edwan 2010: vector diagrams of linear and binomial rules, and two worked examples."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from ackclock.papers.data.edwan2010.models import responses
from ackclock.papers.data.edwan2010.models.rules import RULES, Rule, vector_diagram

START = (0.1, 0.7)
BINOMIAL = ("aimd", "iiad", "sqrt")


@cache
def _path(name: str, steps: int = 600) -> Any:
    return vector_diagram(RULES[name], START, steps=steps)


def rates(rule: str, steps: int = 600) -> tuple[Any, Any]:
    """The rates of the two sources after each step, of the one against the other (figures 2.3 to 2.5)."""
    path = _path(rule, int(steps))
    return path[:, 0], path[:, 1]


def fairness_line() -> tuple[Any, Any]:
    """The line on which both rates are equal."""
    return np.array([0.0, 1.0]), np.array([0.0, 1.0])


def efficiency_line() -> tuple[Any, Any]:
    """The line on which the rates add up to the capacity, 1."""
    return np.array([0.0, 1.0]), np.array([1.0, 0.0])


def aimd_difference_off() -> float:
    """How far |x1 - x2| after the tenth decrease of AIMD is from 0.6 (1 - beta)^10."""
    path = _path("aimd")
    total = path.sum(axis=1)
    tenth = np.flatnonzero(np.diff(total) < 0)[9] + 1
    return float(abs(path[tenth, 1] - path[tenth, 0] - 0.6 * 0.5**10) / total[tenth])


def mimd_ratio_off() -> float:
    """The largest relative change of x1/x2 under MIMD."""
    path = _path("mimd")
    return float(np.max(np.abs(path[:, 0] / path[:, 1] * 7 - 1)))


def aiad_difference_off() -> float:
    """The largest change of x2 - x1 = 0.6 under AIAD, as long as both rates are positive."""
    path = _path("aiad")
    path = path[np.all(path > 0, axis=1)]
    return float(np.max(np.abs(path[:, 1] - path[:, 0] - 0.6)))


def miad_winner() -> float:
    """The larger rate after the last step of MIAD if the other is 0 from a step before 300 on, else 0."""
    path = _path("miad")
    starved = bool(np.all(path[299:, 0] == 0))
    return float(path[-1, 1]) if starved else 0.0


def mimd_unfairness_of_proportional_feedback() -> float:
    """The larger time average over the smaller, MIMD, 10000 steps, a decrease in proportion to the rate.

    The mean of 30 seeds.
    """
    ratios = []
    for seed in range(30):
        means = vector_diagram(RULES["mimd"], START, 1.0, 10_000, "proportional", seed).mean(axis=0)
        ratios.append(means.max() / means.min())
    return float(np.mean(ratios))


def least_equality() -> float:
    """The smallest ratio of the lower to the higher rate at step 2000 over the rules of figure 2.5."""
    ends = [_path(name, 2000)[-1] for name in BINOMIAL]
    return float(min(end.min() / end.max() for end in ends))


def increase_of_exponent(k: Sequence[float]) -> float:
    """The increase of a step at a rate of 2, alpha/x^k with alpha = 0.01."""
    return float(Rule(0.01, 0.5, k[0], 1.0).increase(np.array([2.0]))[0] - 2.0)


def decrease_of_exponent(ell: Sequence[float]) -> float:
    """The decrease of a step at a rate of 2, beta x^l with beta = 0.05."""
    return float(2.0 - Rule(0.01, 0.05, 0.0, ell[0]).decrease(np.array([2.0]))[0])


def increase_of_rule(number: Sequence[float]) -> float:
    """The increase of a step at a rate of 2 of AIMD (0), SQRT (1) or IIAD (2)."""
    rule = RULES[("aimd", "sqrt", "iiad")[int(number[0])]]
    return float(rule.increase(np.array([2.0]))[0] - 2.0)


def pipe_packets(rate: Sequence[float], rtt: Sequence[float], packet: Sequence[float]) -> float:
    """The bandwidth-delay product in packets: bit/s, s and bytes."""
    return responses.pipe(rate[0], rtt[0], packet[0])


def recovery_seconds(rate: Sequence[float], rtt: Sequence[float], packet: Sequence[float]) -> float:
    """How long Reno takes to fill the pipe again after one loss: bit/s, s and bytes (section 2.9.1)."""
    return responses.recovery_time(rate[0], rtt[0], packet[0])


def recovery_rounds(rate: Sequence[float], rtt: Sequence[float], packet: Sequence[float]) -> float:
    """The same in RTTs: half the bandwidth-delay product."""
    return recovery_seconds(rate, rtt, packet) / rtt[0]


def quick_start_rate(code: Sequence[float]) -> float:
    """The rate in Mbit/s that a Quick-Start request of this code means: 40 kbit/s times 2^code (RFC 4782)."""
    return 0.04 * 2 ** code[0]
