"""Round-trip times and queues (RFC 5166, section 2.1.2)."""

from __future__ import annotations

import numpy as np

from ackclock.metrics.registry import metric
from ackclock.metrics.tables import (
    Array,
    MetricError,
    Tables,
    column,
    flow_names,
    flow_row,
    is_one_of,
    link_row,
    percentile_of,
    samples,
    statistic,
    within,
)


def rtt_samples(
    run: Tables,
    flow: str | None = None,
    start: float | None = None,
    stop: float | None = None,
    above_base: bool = False,
) -> Array:
    """RTT samples (ms) at the resolution of the series. ``above_base`` takes off the base RTT then."""
    found = []
    for name in flow_names(run) if flow is None else [flow]:
        times, values = samples(run, name, "rtt")
        if above_base:
            values = values - samples(run, name, "base_rtt")[1]
        found.append(values[within(times, start, stop) & np.isfinite(values)])
    rtts = np.concatenate(found)
    if not rtts.size:
        raise MetricError("there is no RTT sample in the interval")
    return rtts


def base_changes(run: Tables, flow: str) -> bool:
    """True if the propagation delay there and back of a flow changes during the run."""
    if not run.flow_series.num_rows:
        return False
    bases = samples(run, flow, "base_rtt")[1]
    return bool((bases != float(column(run.flows, "base_rtt_ms")[flow_row(run, flow)])).any())


@metric
def rtt_percentile(
    run: Tables,
    percentile: float,
    flow: str | None = None,
    start: float | None = None,
    stop: float | None = None,
    above_base: bool = False,
) -> float:
    """A percentile of the RTT in ms.

    Over the measured interval the run's histogram gives it, if it has it. ``above_base`` takes off the base
    RTT: where that changes, of each sample of the series the one of its time.
    """
    name = f"rtt_p{percentile:g}_ms"
    if start is None and stop is None and flow is not None and name in run.flows.column_names:
        row = flow_row(run, flow)
        base = float(column(run.flows, "base_rtt_ms")[row])
        if not above_base:
            return float(column(run.flows, name)[row])
        if not base_changes(run, flow):
            return float(column(run.flows, name)[row]) - base
        # The measured interval, as the histogram.
        start = float(column(run.flows, "stop_s")[row]) - float(column(run.flows, "measured_s")[row])
    return percentile_of(rtt_samples(run, flow, start, stop, above_base), percentile)


def above_base(run: Tables, percentile: float) -> Array:
    """A percentile of each flow's RTT above the base RTT of its time (ms), not a number without samples."""
    above = column(run.flows, f"rtt_p{percentile:g}_ms") - column(run.flows, "base_rtt_ms")
    for row, flow in enumerate(flow_names(run)):
        if np.isfinite(above[row]) and base_changes(run, flow):
            above[row] = rtt_percentile(run, percentile, flow, above_base=True)
    return above


@metric
def rtt_mean(run: Tables, flow: str, start: float | None = None, stop: float | None = None) -> float:
    """The mean of the RTT samples (ms). Over the measured interval it counts every sample."""
    if start is None and stop is None:
        return float(column(run.flows, "rtt_mean_ms")[flow_row(run, flow)])
    return float(np.mean(rtt_samples(run, flow, start, stop)))


@metric
def rtt_deviation(
    run: Tables, flow: str | None = None, start: float | None = None, stop: float | None = None
) -> float:
    """The standard deviation of the RTT samples (ms)."""
    return float(np.std(rtt_samples(run, flow, start, stop)))


@metric
def rtt_range(
    run: Tables,
    low: float = 25.0,
    high: float = 75.0,
    flow: str | None = None,
    start: float | None = None,
    stop: float | None = None,
) -> float:
    """Difference of two percentiles of the RTT in ms, by default the interquartile range."""
    rtts = rtt_samples(run, flow, start, stop)
    return percentile_of(rtts, high) - percentile_of(rtts, low)


@metric
def queue_delay(run: Tables, of: str = "mean", link: str | None = None) -> float:
    """Queueing delay (ms) over time, of the packet at the head: "mean", "p50", "p95", "p99" or "max"."""
    return statistic(run.links, "queue_delay_{}_ms", of, link_row(run, link))


@metric
def packet_queue_delay(run: Tables, of: str = "mean", link: str | None = None) -> float:
    """Queueing delay (ms) of the packets that left a link: "mean", "p50", "p95", "p99" or "max".

    A packet waits from its arrival until its last bit leaves, except while its own bits are sent.
    """
    return statistic(run.links, "packet_queue_delay_{}_ms", of, link_row(run, link))


@metric
def queue_length(run: Tables, of: str = "mean", link: str | None = None) -> float:
    """Waiting packets over the measured interval, time-weighted: "mean", "p50", "p95" or "max"."""
    return statistic(run.links, "queue_packets_{}", of, link_row(run, link))


@metric
def queue_percentile(
    run: Tables,
    percentile: float,
    link: str | None = None,
    start: float | None = None,
    stop: float | None = None,
) -> float:
    """A percentile over the samples of a queue length (packets): 0 is the shortest, 100 the longest."""
    table = run.link_series
    chosen = column(table, "link") == column(run.links, "link")[link_row(run, link)]
    chosen &= within(column(table, "time_s"), start, stop)
    if not chosen.any():
        raise MetricError("the queue has no sample in the interval")
    return percentile_of(column(table, "queue_packets")[chosen], percentile)


@metric
def buffer(run: Tables, link: str | None = None) -> float:
    """The size of a drop-tail queue in packets: the number waiting when a packet was dropped."""
    table = run.events
    row = link_row(run, link)
    own = column(table, "link") == column(run.links, "link")[row]
    waiting = column(table, "value")[own & is_one_of(table, "kind", ["drop"])]
    if not np.isfinite(waiting).any():
        raise MetricError("nothing was dropped, so the size of the queue is not known")
    return float(np.nanmax(waiting))
