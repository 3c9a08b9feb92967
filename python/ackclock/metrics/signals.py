"""Signals of a flow: its window, RTT, and the probes of its controller."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ackclock.metrics.registry import metric
from ackclock.metrics.tables import Array, MetricError, Tables, percentile_of, samples, within


@metric
def signal_percentile(
    run: Tables,
    flow: str,
    signal: str,
    percentile: float = 50.0,
    start: float | None = None,
    stop: float | None = None,
) -> float:
    """A percentile over the samples of a signal: 0 is the smallest, 50 the median, 100 the largest."""
    times, values = samples(run, flow, signal)
    chosen = values[within(times, start, stop) & np.isfinite(values)]
    if not chosen.size:
        raise MetricError(f"signal `{signal}` of `{flow}` has no sample in the interval")
    return percentile_of(chosen, percentile)


@metric
def signal_at(run: Tables, flow: str, signal: str, time: float) -> float:
    """The latest value of a signal at a time."""
    times, values = samples(run, flow, signal)
    latest = int(np.searchsorted(times, time, side="right")) - 1
    if latest < 0:
        raise MetricError(f"signal `{signal}` of `{flow}` has no sample before {time:g} s")
    return float(values[latest])


@metric
def change_at(
    run: Tables,
    flow: str,
    after: str,
    before: str | Sequence[str],
    counter: str,
    how: str = "ratio",
    only: str = "all",
    start: float | None = None,
    stop: float | None = None,
    percentile: float = 50.0,
) -> float:
    """The change of a signal at the steps of a counter, as a percentile over the steps.

    Each time ``counter`` rises, the new value of the signal ``after`` is compared with the previous sample of
    ``before`` (the largest of them where several are named): their "ratio" or "difference". ``only =
    "growth"`` keeps the steps at which the signal rose. The series must be recorded at every ACK, so that
    there are samples on both sides of the step.
    """
    times, count = samples(run, flow, counter)
    steps = np.flatnonzero(np.diff(count) > 0) + 1
    at, until = times[steps], times[steps - 1]
    chosen = within(at, start, stop)
    new = latest(run, flow, after, at[chosen])
    names = [before] if isinstance(before, str) else list(before)
    old = np.max([latest(run, flow, name, until[chosen]) for name in names], axis=0)
    if how not in ("ratio", "difference"):
        raise MetricError(f'how = "{how}": must be "ratio" or "difference"')
    if only not in ("all", "growth"):
        raise MetricError(f'only = "{only}": must be "all" or "growth"')
    kept = new > old if only == "growth" else np.ones_like(new, dtype=bool)
    if not np.any(kept):
        raise MetricError(f"`{counter}` of `{flow}` never rises in the interval")
    change = new[kept] / old[kept] if how == "ratio" else new[kept] - old[kept]
    return percentile_of(change, percentile)


def latest(run: Tables, flow: str, name: str, at: Array) -> Array:
    """The latest values of a signal at some times. Before the first sample it is the first."""
    times, values = samples(run, flow, name)
    return np.asarray(values[np.maximum(np.searchsorted(times, at, side="right") - 1, 0)])


@metric
def lag(
    run: Tables,
    flow: str,
    first: str,
    second: str,
    sign: str,
    counter: str,
    start: float,
    stop: float | None = None,
) -> float:
    """Steps of ``counter`` from when signal ``first`` meets a condition to when ``second`` does.

    Both are looked for from ``start``. ``sign`` is the condition: "<=0" or ">=0". The signals are read
    where the counter steps.
    """
    if sign not in ("<=0", ">=0"):
        raise MetricError(f'sign = "{sign}": must be "<=0" or ">=0"')
    times, count = samples(run, flow, counter)
    steps = np.flatnonzero(np.diff(count) > 0) + 1
    steps = steps[within(times[steps], start, stop)]
    met = []
    for name in (first, second):
        values = latest(run, flow, name, times[steps])
        hits = np.flatnonzero(values <= 0 if sign == "<=0" else values >= 0)
        if not hits.size:
            raise MetricError(f"signal `{name}` of `{flow}` never is {sign} in the interval")
        met.append(count[steps[hits[0]]])
    return float(met[1] - met[0])


@metric
def signal_mean(
    run: Tables, flow: str, signal: str, start: float | None = None, stop: float | None = None
) -> float:
    """The mean over the samples of a signal: its time average where it is sampled at a fixed interval."""
    times, values = samples(run, flow, signal)
    chosen = values[within(times, start, stop) & np.isfinite(values)]
    if not chosen.size:
        raise MetricError(f"signal `{signal}` of `{flow}` has no sample in the interval")
    return float(np.mean(chosen))


@metric
def signal_share(
    run: Tables,
    flow: str,
    signal: str,
    equals: float,
    start: float | None = None,
    stop: float | None = None,
) -> float:
    """Fraction of the samples at which a signal is ``equals``."""
    times, values = samples(run, flow, signal)
    chosen = values[within(times, start, stop)]
    if not chosen.size:
        raise MetricError(f"signal `{signal}` of `{flow}` has no sample in the interval")
    return float(np.mean(chosen == equals))
