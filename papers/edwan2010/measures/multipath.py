"""Section 2.7 of Edwan 2010, measured: the two subflows of the flow ``both``, and schemes compared."""

from collections.abc import Sequence

import numpy as np

from ackclock import metrics
from ackclock.metrics import Array, MetricError, Tables, column, samples

SUBFLOWS = ("both:0", "both:1")


def share_of_first_path(run: Tables) -> tuple[Array, Array]:
    """w1/(w1 + w2) of the multipath flow over time (s)."""
    (times, first), (others, second) = (samples(run, name, "window") for name in SUBFLOWS)
    common, here, there = np.intersect1d(times, others, return_indices=True)
    return common, first[here] / (first[here] + second[there])


def share_deviation(run: Tables, start: float, stop: float) -> float:
    """The standard deviation of that share from ``start`` to ``stop``, with a sample each second."""
    times, shares = share_of_first_path(run)
    inside = shares[(times >= start) & (times <= stop)]
    if inside.size < 2:
        raise MetricError("there are no two samples of the share")
    return float(np.std(inside))


def loss_rate_ratio(run: Tables) -> float:
    """The loss rate of the second subflow over the first's: drops over packets after the warm-up."""
    rates = [float(column(run.flows, "loss_rate")[metrics.flow_row(run, name)]) for name in SUBFLOWS]
    if rates[0] == 0.0:
        raise MetricError("the first subflow lost nothing")
    return rates[1] / rates[0]


def place_between(value_of: Sequence[float], ends: Sequence[float]) -> float:
    """The place of a value between two others: 0 at the smaller, 1 at the larger, beyond them outside."""
    low, high = min(ends), max(ends)
    if low == high:
        raise MetricError("both ends are the same")
    return (value_of[0] - low) / (high - low)
