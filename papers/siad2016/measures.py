"""Measures of Kühlewind 2016 for which the language of claims has no word."""

from collections.abc import Sequence

import numpy as np

from ackclock import metrics
from ackclock.metrics import MetricError, Tables

PACKET = 1500
"""Bytes of a packet on the link."""


def present(signs: Sequence[float]) -> float:
    """How many of the signs are above 0: each is a share of time or a count of one element (figure 2)."""
    return float(sum(sign > 0 for sign in signs))


def missed_goals(utilizations: Sequence[float], queues: Sequence[float]) -> float:
    """How many links are unused for a time (below 99.7 %) plus how many queues never empty (above 0)."""
    unused = sum(percent < 99.7 for percent in utilizations)
    return float(unused + sum(packets > 0 for packets in queues))


def median(ratios: Sequence[float]) -> float:
    """The median over schemes and buffers (figure 10)."""
    return float(np.median(ratios))


def slope_of_logarithms(windows: Sequence[float], event_rates: Sequence[float]) -> float:
    """Slope of log window (segments) over log p, in congestion events a packet (equation 20)."""
    return float(np.polyfit(np.log(event_rates), np.log(windows), 1)[0])


def equation_20(window: Sequence[float], event_rate: Sequence[float], num_rtt: Sequence[float]) -> float:
    """Mean window (segments) times p times Num_RTT + 2.5: 1 by equation 20 with its constant mended."""
    return window[0] * event_rate[0] * (num_rtt[0] + 2.5)


def uncensored_median(ratios: Sequence[float], censored: Sequence[float]) -> float:
    """The median over the cells in which no run is censored (figure 10)."""
    return float(np.median([ratio for ratio, share in zip(ratios, censored, strict=True) if not share]))


def censored(
    run: Tables, flow: str, rate: float, width: float, step: float, start: float | None = None
) -> float:
    """1 if a flow has not reached a rate (bit/s) by the end of the run, else 0 (figure 10)."""
    took = metrics.time_until_rate(run, flow, rate, width, step, start)
    row = metrics.flow_row(run, flow)
    begin = float(metrics.column(run.flows, "start_s")[row]) if start is None else start
    return float(took >= float(metrics.column(run.flows, "stop_s")[row]) - begin)


def time_to_take_link(run: Tables, flow: str, rate: float, start: float) -> float:
    """Time (s) from the first loss event after ``start`` until a flow has its rate (bit/s) again (figure 6).

    It ends with the first window of 1 s, in steps of 0.1 s, above the rate that follows a window below it.
    """
    events = metrics.event_times(run, "loss-event", flow, start)
    if not events.size:
        raise MetricError("there is no loss event in the interval")
    stop = float(metrics.column(run.flows, "stop_s")[metrics.flow_row(run, flow)])
    begin = np.arange(float(events[0]), stop - 1.0 + 1e-9, 0.1)
    arrived = metrics.arrived_at(run, flow, begin + 1.0) - metrics.arrived_at(run, flow, begin)
    below = arrived * PACKET * 8 < rate
    if not below.any():
        raise MetricError("the flow never falls below the rate")
    again = np.flatnonzero(~below & (np.arange(begin.size) > np.argmax(below)))
    if not again.size:
        raise MetricError("the flow does not reach the rate again")
    return float(begin[again[0]] + 1.0 - events[0])


def first_to_wait(run: Tables) -> str:
    """The flow of which a packet is the first to wait at the bottleneck (figure 8).

    It is the flow with the first RTT sample that is above its base RTT by half a packet time or more.
    """
    half = PACKET * 8 / metrics.link_rate(run) / 2 * 1e3
    waited = []
    for row, flow in enumerate(metrics.flow_names(run)):
        times, rtts = metrics.samples(run, flow, "rtt")
        base = float(metrics.column(run.flows, "base_rtt_ms")[row])
        above = np.flatnonzero(rtts > base + half)
        if above.size:
            waited.append((float(times[above[0]]), flow))
    if not waited:
        raise MetricError("no packet waits")
    return min(waited)[1]


def first_rate(run: Tables, start: float, stop: float) -> float:
    """Throughput (bit/s) of the flow that is the first to wait (figure 8)."""
    return metrics.throughput(run, first_to_wait(run), start, stop)


def first_share(run: Tables, start: float, stop: float) -> float:
    """Throughput of the flow that is the first to wait, over the mean of all flows (figure 8)."""
    flows = metrics.flow_names(run)
    mean = sum(metrics.throughput(run, flow, start, stop) for flow in flows) / len(flows)
    return first_rate(run, start, stop) / mean


def first_is_ahead(run: Tables, start: float, stop: float) -> float:
    """1 if the flow that is the first to wait has more than its share, else 0 (figure 8)."""
    return float(first_share(run, start, stop) > 1)


def is_ahead(run: Tables, flow: str, other: str) -> float:
    """1 if a flow has more throughput than another, else 0."""
    return float(metrics.throughput(run, flow) > metrics.throughput(run, other))


def decrease_error(run: Tables, flow: str, start: float) -> float:
    """Mean error of the regular decreases: threshold over window, less base RTT over full-queue RTT."""
    times, count = metrics.samples(run, flow, "events")
    at = times[np.flatnonzero(np.diff(count) > 0) + 1]
    at = at[at >= start]
    if not at.size:
        raise MetricError("there is no regular decrease in the interval")
    base = float(metrics.column(run.flows, "base_rtt_ms")[metrics.flow_row(run, flow)])
    full = metrics.buffer(run) * PACKET * 8 / metrics.link_rate(run) * 1e3
    kept = metrics.latest(run, flow, "ssthresh_at_event", at) / metrics.latest(run, flow, "cmax", at)
    return float(np.mean(np.abs(kept - base / (base + full))))


def epochs(run: Tables, flow: str, start: float) -> float:
    """How many congestion epochs there are: from one loss event of the flow to the next."""
    return float(np.unique(metrics.event_times(run, "loss-event", flow, start)).size - 1)


def emptied_epochs(run: Tables, flow: str, start: float) -> float:
    """In how many of ``epochs`` a sample finds the queue empty."""
    return metrics.empty_epochs(run, flow, None, start) * epochs(run, flow, start)
