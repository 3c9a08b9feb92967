"""Response to change: smoothness, aggressiveness, responsiveness (RFC 5166, section 2.2.1, Edwan 2010, 5.7).

The sending rate is taken for the congestion window over the RTT. The window of a flow changes at ACKs, so
record its series at every ACK. The RTT is the smoothed one of each sample unless ``rtt`` gives it in seconds.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ackclock.metrics.loss import loss_rate
from ackclock.metrics.rates import goodput
from ackclock.metrics.registry import metric
from ackclock.metrics.signals import latest
from ackclock.metrics.tables import Array, MetricError, Tables, column, flow_row, samples, within


@metric
def smoothness(
    run: Tables, flow: str, start: float | None = None, stop: float | None = None, rtt: float | None = None
) -> float:
    """The largest share of its window that a flow gives up within one RTT: beta for AIMD.

    Small is smooth.
    """
    times, windows, rtts = _window(run, flow, start, stop, rtt)
    _close_enough(times, rtts, flow)
    return float(np.max(1 - windows / -_least_before(times, -windows, rtts)))


@metric
def aggressiveness(
    run: Tables, flow: str, start: float | None = None, stop: float | None = None, rtt: float | None = None
) -> float:
    """The largest increase of the rate within one RTT, in packets per second: alpha/RTT for AIMD.

    The interval should hold no slow start.
    """
    times, windows, rtts = _window(run, flow, start, stop, rtt)
    _close_enough(times, rtts, flow)
    return float(np.max((windows - _least_before(times, windows, rtts)) / rtts))


@metric
def responsiveness(
    run: Tables, flow: str, start: float, share: float = 0.5, rtt: float | None = None
) -> float:
    """The number of RTTs of sustained congestion from ``start`` on bring the window to half (``share``).

    AIMD needs ln(share)/ln(1 - beta), rounded up. NaN if it never falls so far.
    """
    times, windows, rtts = _window(run, flow, start, None, rtt)
    low = np.flatnonzero(windows <= share * float(latest(run, flow, "window", np.array([start]))[0]))
    if not low.size:
        return math.nan
    passed = rtts[: low[0] + 1]
    return float((times[low[0]] - start) / np.mean(passed))


def _window(
    run: Tables, flow: str, start: float | None, stop: float | None, rtt: float | None
) -> tuple[Array, Array, Array]:
    """Times, windows in packets, and RTTs in seconds of the samples in an interval."""
    times, windows = samples(run, flow, "window")
    smoothed = samples(run, flow, "smoothed_rtt")[1] / 1e3
    rtts = smoothed if rtt is None else np.full(times.size, rtt)
    chosen = within(times, start, stop) & np.isfinite(windows) & np.isfinite(rtts)
    if not np.any(chosen):
        raise MetricError(f"flow `{flow}` has no sample of its window in the interval")
    return times[chosen], windows[chosen], rtts[chosen]


def _close_enough(times: Array, rtts: Array, flow: str) -> None:
    if times.size > 1 and np.median(np.diff(times)) > np.median(rtts) * (1 + 1e-9):
        raise MetricError(
            f'the window of `{flow}` is sampled less than once an RTT: record flow_series = "1ack"'
        )


def _least_before(times: Array, values: Array, spans: Array) -> Array:
    """The least of the values from one span before each time up to that time."""
    begins = np.maximum.accumulate(times - spans) - 1e-9
    least = np.empty(values.size)
    candidates: deque[int] = deque()
    for index, value in enumerate(values):
        while candidates and values[candidates[-1]] >= value:
            candidates.pop()
        candidates.append(index)
        while times[candidates[0]] < begins[index]:
            candidates.popleft()
        least[index] = values[candidates[0]]
    return least


@metric
def rtt_unfairness(
    run: Tables, first: str, second: str, start: float | None = None, stop: float | None = None
) -> float:
    """The exponent e in X1/X2 = (R2/R1)^e, from the goodputs and base RTTs of two flows.

    A response function c/p^d has e = 1/(1 - d), 2 for AIMD.
    """
    rtts = [float(column(run.flows, "base_rtt_ms")[flow_row(run, f)]) for f in (first, second)]
    rates = [goodput(run, f, start, stop) for f in (first, second)]
    if rtts[0] == rtts[1]:
        raise MetricError(f"flows `{first}` and `{second}` have the same base RTT")
    if min(rates) <= 0:
        raise MetricError("a flow that delivers nothing has no RTT unfairness")
    return math.log(rates[0] / rates[1]) / math.log(rtts[1] / rtts[0])


def response_function(
    runs: Sequence[Tables], flow: str, start: float | None = None, stop: float | None = None
) -> tuple[Array, Array]:
    """The measured response function: loss rates and goodputs (bit/s) of a flow over runs, by loss rate."""
    points = sorted((loss_rate(run, flow), goodput(run, flow, start, stop)) for run in runs)
    table: npt.NDArray[np.float64] = np.array(points, dtype=np.float64).reshape(-1, 2)
    return table[:, 0], table[:, 1]
