"""Stability: oscillation, synchronised losses, and the cost of transmissions (RFC 5166, section 2.2.2).

The definitions are from Edwan 2010, sections 5.8 to 5.10.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ackclock.metrics.rates import goodput_windows
from ackclock.metrics.registry import metric
from ackclock.metrics.tables import Array, MetricError, Tables, column, flow_row, is_one_of, link_row, within


@metric
def oscillation(run: Tables, flow: str, width: float, start: float, stop: float) -> float:
    """Instability of a flow: standard deviation over mean of its goodputs in windows of ``width`` seconds."""
    rates = goodput_windows(run, flow, width, start, stop)
    if not np.any(rates):
        raise MetricError(f"flow `{flow}` delivers nothing in the interval")
    return float(np.std(rates) / np.mean(rates))


@metric
def queue_variation(
    run: Tables, link: str | None = None, start: float | None = None, stop: float | None = None
) -> float:
    """Oscillation of a queue: the standard deviation of its samples over their mean."""
    table = run.link_series
    chosen = column(table, "link") == column(run.links, "link")[link_row(run, link)]
    chosen &= within(column(table, "time_s"), start, stop)
    lengths = column(table, "queue_packets")[chosen]
    if not lengths.size or not np.any(lengths):
        raise MetricError("the queue is empty throughout the interval")
    return float(np.std(lengths) / np.mean(lengths))


@metric
def synchronized_losses(
    run: Tables,
    flows: Sequence[str] | None = None,
    span: float | None = None,
    start: float | None = None,
    stop: float | None = None,
) -> float:
    """The share of the congestion events in which more than one flow loses packets.

    An event holds all losses within ``span`` seconds of its first, by default the longest base RTT.
    """
    table = run.events
    chosen = is_one_of(table, "kind", ("drop", "lost")) & within(column(table, "time_s"), start, stop)
    losers = column(table, "flow")
    if flows is not None:
        numbers = [column(run.flows, "flow")[flow_row(run, f)] for f in flows]
        chosen &= np.isin(losers, numbers)
    order = np.argsort(column(table, "time_s")[chosen], kind="stable")
    times, losers = column(table, "time_s")[chosen][order], losers[chosen][order]
    if not times.size:
        raise MetricError("there is no loss in the interval")
    long = float(np.max(column(run.flows, "base_rtt_ms"))) / 1e3 if span is None else span
    several = [np.unique(losers[part]).size > 1 for part in _events(times, long)]
    return float(np.mean(several))


def _events(times: Array, span: float) -> list[slice]:
    """The losses of each event, of which the first opens a span."""
    events = []
    first = 0
    while first < times.size:
        end = int(np.searchsorted(times, times[first] + span, side="right"))
        events.append(slice(first, end))
        first = end
    return events


@metric
def goodput_ratio(run: Tables, flow: str, segment: float = 1448.0) -> float:
    """Useful bytes over bytes sent: delivered once and in order, over data packets of ``segment`` bytes.

    Headers are left out on both sides. It is 1 - p, where p is the loss rate, if nothing is sent needlessly
    and nothing is on its way at the end.
    """
    row = flow_row(run, flow)
    sent = float(column(run.flows, "data_packets")[row]) * segment
    return float(column(run.flows, "delivered_bytes")[row]) / sent if sent else math.nan


@metric
def cost(run: Tables, flow: str, segment: float = 1448.0) -> float:
    """Bytes sent for each useful byte, 1 over ``goodput_ratio``: the cost of transmissions in energy."""
    ratio = goodput_ratio(run, flow, segment)
    return 1 / ratio if ratio > 0 else math.inf
