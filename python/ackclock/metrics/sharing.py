"""Shares of flows: asymmetry, epsilon-fairness, network power, friendliness (RFC 5166, section 2.3).

The definitions are from Edwan 2010, sections 5.5 and 5.6. ``jain`` and ``max_min_ratio`` are in ``fairness``.
Against another ideal than equal rates, Jain's index uses the rates divided by the ideal ones, which
``papers/edwan2010/models/allocation.py`` gives.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ackclock.metrics.congestion import loss_event_distance
from ackclock.metrics.delay import queue_delay
from ackclock.metrics.loss import loss_rate
from ackclock.metrics.rates import goodput
from ackclock.metrics.registry import metric
from ackclock.metrics.stability import queue_variation
from ackclock.metrics.tables import Array, MetricError, Tables, flow_names


def asymmetry(first: float, second: float) -> float:
    """(x1 - x2)/(x1 + x2): 1 when the first has everything, 0 when both have the same, -1 the other way."""
    return (first - second) / (first + second) if first + second > 0 else math.nan


@metric
def asymmetry_index(
    run: Tables, first: str, second: str, start: float | None = None, stop: float | None = None
) -> float:
    """The asymmetry index of the goodputs of two flows. Positive means that the first is more aggressive."""
    return asymmetry(goodput(run, first, start, stop), goodput(run, second, start, stop))


@metric
def epsilon_fairness(
    run: Tables, start: float | None = None, stop: float | None = None, flows: Sequence[str] | None = None
) -> float:
    """The smallest epsilon with which the flows are epsilon-fair, 1 - min(x)/max(x) of their goodputs."""
    rates = [goodput(run, f, start, stop) for f in flows or flow_names(run)]
    return 1 - min(rates) / max(rates) if max(rates) > 0 else math.nan


def log_product(values: Sequence[float] | Array) -> float:
    """The natural logarithm of the product of rates: largest for equal ones of the same sum."""
    x = np.asarray(values, dtype=np.float64)
    return float(np.sum(np.log(x))) if np.all(x > 0) else -math.inf


@metric
def network_power(
    run: Tables, start: float | None = None, stop: float | None = None, flows: Sequence[str] | None = None
) -> float:
    """The natural logarithm of the product of the goodputs in bit/s. Minus infinity if a flow has none."""
    return log_product([goodput(run, f, start, stop) for f in flows or flow_names(run)])


@metric
def friendliness(
    run: Tables,
    reno: Sequence[str],
    flows: Sequence[str] | None = None,
    start: float | None = None,
    stop: float | None = None,
) -> float:
    """The mean goodput of ``flows``, by default all others, over the mean of the ``reno`` flows beside them.

    1 is friendly to TCP. The thesis requires it for loss rates from 1e-4 to 1e-2.
    """
    others = [f for f in flow_names(run) if f not in reno] if flows is None else flows
    if not reno or not others:
        raise MetricError("friendliness needs Reno flows and others")
    means = [float(np.mean([goodput(run, f, start, stop) for f in group])) for group in (others, reno)]
    return means[0] / means[1] if means[1] > 0 else math.inf


class Congestion(NamedTuple):
    """The congestion that a set of flows causes, for TCP fairness (Edwan 2010, section 5.6)."""

    queue_delay_ms: float
    """The mean queueing delay."""
    queue_variation: float
    """The standard deviation of the queue over its mean."""
    event_rate: float
    """Congestion events per second."""
    loss_rate: float


def congestion_caused(run: Tables, flow: str, link: str | None = None) -> Congestion:
    """The congestion at a link, its events as ``flow`` loses packets in them.

    Flows are fair to TCP if none of these is larger than with Reno flows in their place: compare two runs.
    """
    events = 1 / loss_event_distance(run, flow, link=link)
    return Congestion(queue_delay(run, link=link), queue_variation(run, link), events, loss_rate(run))
