"""Measures of the L4S tests for which the language of claims has no word."""

import numpy as np

from ackclock import metrics
from ackclock.metrics import MetricError, Tables


def time_above(run: Tables, flow: str, delay: float, start: float) -> float:
    """How long after ``start`` (s) the RTT of a flow was last above its base by ``delay`` (s), in seconds.

    0 if it never was.
    """
    times, values = metrics.samples(run, flow, "rtt")
    base = float(metrics.column(run.flows, "base_rtt_ms")[metrics.flow_row(run, flow)])
    after = times >= start
    if not after.any():
        raise MetricError(f"flow `{flow}` has no RTT after {start:g} s")
    late = times[after][values[after] - base > 1000.0 * delay]
    return float(late[-1] - start) if late.size else 0.0


def largest_rtt(run: Tables, flow: str, start: float) -> float:
    """The largest RTT (ms) of a flow from ``start`` (s) on."""
    times, values = metrics.samples(run, flow, "rtt")
    chosen = values[(times >= start) & np.isfinite(values)]
    if not chosen.size:
        raise MetricError(f"flow `{flow}` has no RTT after {start:g} s")
    return float(chosen.max())
