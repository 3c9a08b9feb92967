"""Estimates of a flow's rate, from signals of its sender."""

from __future__ import annotations

import numpy as np

from ackclock.metrics.registry import metric
from ackclock.metrics.tables import Array, MetricError, Tables, percentile_of, samples, within

ESTIMATES = ("window", "delivery", "pacing")
"""Window over smoothed RTT, rate of delivery over the last smoothed RTT, pacing rate."""


@metric
def rate_estimate(
    run: Tables,
    flow: str,
    of: str,
    share: float,
    start: float | None = None,
    stop: float | None = None,
    percentile: float = 50.0,
    segment: float = 1500.0,
) -> float:
    """A percentile of an estimate of a flow's rate over ``share`` (bit/s), which it can have: 1 is right.

    ``of`` is "window" (window over smoothed RTT), "delivery" (packets that arrived in the last smoothed
    RTT) or "pacing". ``segment`` (bytes) is the size of a packet.
    """
    if of not in ESTIMATES:
        raise MetricError(f"of = {of!r}: must be one of {', '.join(ESTIMATES)}")
    if not share > 0.0:
        raise MetricError(f"share = {share:g}: must be above 0")
    times, estimate = _estimate(run, flow, of, segment * 8.0)
    estimate = estimate[within(times, start, stop)]
    estimate = estimate[np.isfinite(estimate)]
    if not estimate.size:
        raise MetricError(f"flow `{flow}` has no estimate `{of}` in the interval")
    return percentile_of(estimate / share, percentile)


def _estimate(run: Tables, flow: str, of: str, bits: float) -> tuple[Array, Array]:
    """Times (s) and values (bit/s) of an estimate; NaN where there is none."""
    if of == "pacing":
        return samples(run, flow, "pacing_rate")
    times, rtt_ms = samples(run, flow, "smoothed_rtt")
    rtt = rtt_ms / 1e3
    if of == "window":
        return times, samples(run, flow, "window")[1] * bits / rtt
    arrived = samples(run, flow, "arrived_packets")[1]
    return times, (arrived - np.interp(times - rtt, times, arrived)) * bits / rtt
