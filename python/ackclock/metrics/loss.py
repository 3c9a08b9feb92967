"""Loss rates and events (RFC 5166, section 2.1.3)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ackclock.metrics.registry import metric
from ackclock.metrics.tables import (
    MetricError,
    Tables,
    column,
    event_times,
    events_of,
    flow_row,
    percentile_of,
    samples,
)


@metric
def loss_rate(run: Tables, flow: str | None = None) -> float:
    """Data packets dropped or lost on the way, divided by data packets sent."""
    rates = column(run.flows, "loss_rate")
    if flow is not None:
        return float(rates[flow_row(run, flow)])
    sent = column(run.flows, "data_packets")
    return float(np.sum(rates * sent) / np.sum(sent)) if np.sum(sent) else 0.0


@metric
def breaker_load(run: Tables, flow: str, segment: float = 1500.0) -> float:
    """The rate of a flow over a TCP flow's with its RTT and loss. RFC 8083, section 4.3, trips above 10.

    ``segment`` (bytes) is the size of its packets. TCP's rate is s / (R sqrt(2p / 3)), the simplified
    equation of that section. A flow without losses has the value 0.
    """
    row = flow_row(run, flow)
    loss, rtt, rate = (
        float(column(run.flows, name)[row]) for name in ("loss_rate", "rtt_mean_ms", "throughput_bps")
    )
    if not loss > 0.0:
        return 0.0
    return rate * (rtt / 1e3) * float(np.sqrt(2.0 * loss / 3.0)) / (segment * 8.0)


@metric
def event_count(
    run: Tables,
    kind: str | Sequence[str],
    flow: str | None = None,
    start: float | None = None,
    stop: float | None = None,
) -> float:
    """The number of events of a kind."""
    return float(event_times(run, kind, flow, start, stop).size)


@metric
def event_value(
    run: Tables,
    kind: str,
    percentile: float = 50.0,
    flow: str | None = None,
    start: float | None = None,
    stop: float | None = None,
) -> float:
    """A percentile of the values of events of a kind (deemed-lost: RTT in ms, drop: packets waiting)."""
    values = events_of(run, kind, flow, start, stop)[1]
    values = values[np.isfinite(values)]
    if not values.size:
        raise MetricError(f"there is no event `{kind}` with a value in the interval")
    return percentile_of(values, percentile)


@metric
def event_share(
    run: Tables,
    kind: str,
    probe: str,
    equals: float,
    flow: str,
    start: float | None = None,
    stop: float | None = None,
) -> float:
    """Fraction of the events of a kind at which the latest value of a signal of ``flow`` is ``equals``."""
    events = event_times(run, kind, flow, start, stop)
    if not events.size:
        raise MetricError(f"there is no event `{kind}` in the interval")
    times, values = samples(run, flow, probe)
    latest = np.searchsorted(times, events, side="right") - 1
    return float(np.mean((latest >= 0) & (values[np.maximum(latest, 0)] == equals)))
