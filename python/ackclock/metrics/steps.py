"""Signals counted in the steps of a counter: epochs, decreases, intervals."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ackclock.metrics.registry import metric
from ackclock.metrics.signals import latest
from ackclock.metrics.tables import MetricError, Tables, percentile_of, samples, within


def _steps(
    run: Tables, flow: str, counter: str, start: float | None, stop: float | None
) -> npt.NDArray[np.float64]:
    """The times at which a counter is seen to have risen."""
    times, count = samples(run, flow, counter)
    steps = times[1:][np.diff(count) > 0]
    return np.asarray(steps[within(steps, start, stop)])


@metric
def signal_increase(
    run: Tables, flow: str, signal: str, start: float | None = None, stop: float | None = None
) -> float:
    """The rise of a signal from ``start`` to ``stop``, for a counter the number of its steps."""
    times = samples(run, flow, signal)[0]
    ends = np.array([times[0] if start is None else start, times[-1] if stop is None else stop])
    first, last = latest(run, flow, signal, ends)
    return float(last - first)


@metric
def signal_ratio(
    run: Tables,
    flow: str,
    signal: str,
    divisor: str,
    counter: str,
    percentile: float = 50.0,
    start: float | None = None,
    stop: float | None = None,
) -> float:
    """A percentile, over the steps of a counter, of one signal divided by another just after the step."""
    at = _steps(run, flow, counter, start, stop)
    if not at.size:
        raise MetricError(f"`{counter}` of `{flow}` never rises in the interval")
    return percentile_of(latest(run, flow, signal, at) / latest(run, flow, divisor, at), percentile)


@metric
def steps_until(
    run: Tables,
    flow: str,
    signal: str,
    counter: str,
    low: float,
    high: float,
    start: float,
    stop: float | None = None,
) -> float:
    """The number of steps of a counter from ``start`` until a signal is first from ``low`` to ``high``."""
    times, values = samples(run, flow, signal)
    met = times[within(times, start, stop) & (values >= low) & (values <= high)]
    if not met.size:
        raise MetricError(
            f"`{signal}` of `{flow}` is never from {low:g} to {high:g} between {start:g} s and the end"
        )
    before, then = latest(run, flow, counter, np.array([start, met[0]]))
    return float(then - before)


@metric
def steps_until_settled(
    run: Tables,
    flow: str,
    signal: str,
    counter: str,
    tolerance: float,
    start: float | None = None,
    stop: float | None = None,
) -> float:
    """The number of the step from which on a signal, read at each step, stays near its last such value.

    Near means within a fraction ``tolerance`` of it. The first step in the interval is number 1.
    """
    at = _steps(run, flow, counter, start, stop)
    if not at.size:
        raise MetricError(f"`{counter}` of `{flow}` never rises in the interval")
    values = latest(run, flow, signal, at)
    far = np.flatnonzero(np.abs(values - values[-1]) > tolerance * abs(values[-1]))
    return float(far[-1] + 2 if far.size else 1)
