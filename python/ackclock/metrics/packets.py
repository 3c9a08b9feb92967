"""Packets at the receiver, as the tables of older papers count them."""

from __future__ import annotations

import math

import numpy as np

from ackclock.metrics.registry import metric
from ackclock.metrics.tables import MetricError, Tables, column, flow_names, interval, of_flow


@metric
def packets_arrived(
    run: Tables, flow: str | None = None, start: float = 0.0, stop: float | None = None, offset: float = 0.0
) -> float:
    """Data packets that reached the receiver, duplicates included, of one flow or of all together.

    ``offset`` (s) moves the interval: with the propagation delay of the last link it counts the packets whose
    last bit entered that link from ``start`` to ``stop``. The count of ``flow_series`` is taken from the last
    sample at or before each end, so a count per bin is exact where the series has a sample at its edges. The
    run must reach to ``stop`` + ``offset``.
    """
    times = column(run.flow_series, "time_s")
    count = column(run.flow_series, "arrived_packets")
    end = (float(times.max()) if times.size else 0.0) - offset if stop is None else stop
    if not times.size or end + offset > float(times.max()):
        raise MetricError(f"the series ends before {end + offset:g} s")
    if not end > start:
        raise MetricError(f"an interval from {start:g} s to {end:g} s is empty")
    total = 0.0
    for name in flow_names(run) if flow is None else [flow]:
        own = of_flow(run, run.flow_series, name)
        before = np.searchsorted(times[own], [start + offset, end + offset], side="right")
        counts = np.concatenate(([0.0], count[own]))[before]
        total += float(counts[1] - counts[0])
    return total


@metric
def data_packets_sent(
    run: Tables, flow: str | None = None, start: float = 0.0, stop: float | None = None
) -> float:
    """Data packets sent, retransmissions included; of one flow or of all together.

    Each end of the interval takes the count of the last sample at or before it.
    """
    times, count = column(run.flow_series, "time_s"), column(run.flow_series, "sent_packets")
    total = 0.0
    for name in flow_names(run) if flow is None else [flow]:
        own = of_flow(run, run.flow_series, name)
        ends = [start, np.inf if stop is None else stop]
        before = np.searchsorted(times[own], ends, side="right")
        counts = np.concatenate(([0.0], count[own]))[before]
        total += float(counts[1] - counts[0])
    return total


@metric
def send_peak(run: Tables, flow: str, width: float, start: float, stop: float) -> float:
    """The most data packets that a flow sends in a window of ``width`` seconds over the mean of these.

    1 is a constant rate. The samples of ``flow_series`` must be at most ``width`` apart.
    """
    interval(run, start, stop)
    own = of_flow(run, run.flow_series, flow)
    times, count = column(run.flow_series, "time_s")[own], column(run.flow_series, "sent_packets")[own]
    if float(np.max(np.diff(times), initial=0.0)) > width * (1.0 + 1e-9):
        raise MetricError(f"record.flow_series: the samples of `{flow}` are more than {width:g} s apart")
    edges = start + width * np.arange(math.floor((stop - start) / width + 1e-9) + 1)
    sent = np.diff(np.interp(edges, times, count))
    if not np.any(sent):
        raise MetricError(f"flow `{flow}` sends nothing in a window of {width:g} s")
    return float(sent.max() / sent.mean())
