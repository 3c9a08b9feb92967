"""Congestion events and the epochs between them.

All losses of about one round trip are one congestion event. The time from one event to the next is an epoch.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ackclock.metrics.registry import metric
from ackclock.metrics.tables import (
    Array,
    MetricError,
    Tables,
    column,
    event_times,
    flow_row,
    link_row,
    percentile_of,
    samples,
)

GAP = 1.5
"""A pause between losses longer than this many round trips across a full queue starts a new event."""


@metric
def loss_event_distance(
    run: Tables,
    flow: str,
    gap: float | None = None,
    start: float | None = None,
    stop: float | None = None,
    link: str | None = None,
) -> float:
    """Mean time (s) from the last loss of a congestion event to the first loss of the next.

    Losses are the packets of the flow that were dropped or lost on the way, as an observer of the path sees
    them. A pause longer than ``gap`` starts a new event. The default is 1.5 times the base RTT plus the
    longest queueing delay of the link, as one overshoot may lose packets in two bursts a round trip apart.
    """
    losses = np.sort(event_times(run, ("drop", "lost"), flow, start, stop))
    if gap is None:
        base = float(column(run.flows, "base_rtt_ms")[flow_row(run, flow)])
        gap = GAP * (base + float(column(run.links, "queue_delay_max_ms")[link_row(run, link)])) / 1e3
    pauses = np.diff(losses)
    distances = pauses[pauses > gap]
    if not distances.size:
        raise MetricError(f"flow `{flow}` has fewer than two congestion events in the interval")
    return float(np.mean(distances))


@metric
def epoch_queue_minimum(
    run: Tables,
    flow: str | None = None,
    percentile: float = 50.0,
    link: str | None = None,
    start: float | None = None,
    stop: float | None = None,
) -> float:
    """A percentile over the epochs of the smallest sampled queue length (packets) of each.

    An epoch lasts from one loss event of the flow, or of any flow, to the next.
    """
    return percentile_of(_epoch_minima(run, flow, link, start, stop), percentile)


@metric
def empty_epochs(
    run: Tables,
    flow: str | None = None,
    link: str | None = None,
    start: float | None = None,
    stop: float | None = None,
) -> float:
    """Fraction of the epochs in which at least one sample finds the queue empty."""
    return float(np.mean(_epoch_minima(run, flow, link, start, stop) == 0))


def _epoch_minima(
    run: Tables, flow: str | None, link: str | None, start: float | None, stop: float | None
) -> Array:
    edges = np.unique(event_times(run, "loss-event", flow, start, stop))
    if edges.size < 2:
        raise MetricError("there are fewer than two loss events in the interval")
    table = run.link_series
    own = column(table, "link") == column(run.links, "link")[link_row(run, link)]
    times, queue = column(table, "time_s")[own], column(table, "queue_packets")[own]
    at = np.searchsorted(times, edges)
    # An epoch shorter than the sampling has no sample, and is left out.
    sampled = np.flatnonzero(np.diff(at) > 0)
    if not sampled.size:
        raise MetricError("the queue is sampled less often than loss events happen")
    return np.asarray([queue[at[i] : at[i + 1]].min() for i in sampled])


@metric
def growth_per_rtt(run: Tables, flow: str, start: float | None = None, stop: float | None = None) -> float:
    """Mean growth of the window (segments per RTT) from the end of each recovery to the next loss event."""
    recovered = event_times(run, "recovered", flow, start, stop)
    losses = event_times(run, "loss-event", flow, start, stop)
    times, window = samples(run, flow, "window")
    rtts = _rtts_passed(run, flow, times)
    grown = passed = 0.0
    for begin in recovered:
        later = losses[losses > begin]
        if not later.size:
            break
        first, last = np.searchsorted(times, begin), np.searchsorted(times, later[0]) - 1
        if last > first:
            grown += window[last] - window[first]
            passed += rtts[last] - rtts[first]
    if not passed:
        raise MetricError(f"flow `{flow}` has no epoch between a recovery and a loss event in the interval")
    return float(grown / passed)


def _rtts_passed(run: Tables, flow: str, times: npt.NDArray[np.float64]) -> Array:
    """The number of round trips from the first of some times to each of them."""
    at, rtt = samples(run, flow, "smoothed_rtt")
    known = np.isfinite(rtt)
    now = np.interp(times, at[known], rtt[known]) / 1e3
    return np.concatenate(([0.0], np.cumsum(np.diff(times) / now[1:])))
