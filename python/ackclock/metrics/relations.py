"""Relations between signals: the value of one when another changes, and their correlation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ackclock.metrics.registry import metric
from ackclock.metrics.signals import latest
from ackclock.metrics.tables import MetricError, Tables, samples, within


@metric
def signal_when(
    run: Tables,
    flow: str,
    signal: str,
    probe: str,
    equals: float,
    start: float | None = None,
    stop: float | None = None,
) -> float:
    """The value of a signal when ``probe`` first equals a value.

    Recorded at every ACK, it is the value after the ACK that set ``probe``.
    """
    times, values = samples(run, flow, probe)
    there = np.flatnonzero(within(times, start, stop) & (values == equals))
    if not there.size:
        raise MetricError(f"`{probe}` of `{flow}` never is {equals:g} in the interval")
    return float(latest(run, flow, signal, times[there[:1]])[0])


@metric
def rise_until(
    run: Tables, flow: str, counter: str, until: str, start: float = 0.0, row: str | None = None
) -> float:
    """By how much ``counter`` rises until the counter ``until`` rises for the first time after ``start``.

    It is counted from ``start``. ``row`` names a probe that counts in a row and begins again at 0. With it
    the count is from the beginning of that row, which may be before ``start``. Rises of both counters at the
    same sample are included.
    """
    times, values = samples(run, flow, until)
    after = np.flatnonzero((np.diff(values) > 0) & (times[1:] >= start)) + 1
    if not after.size:
        raise MetricError(f"`{until}` of `{flow}` never rises after {start:g} s")
    begin, end = start, float(times[after[0]])
    if row is not None:
        times, values = samples(run, flow, row)
        zeros = times[(times < end) & (values == 0)]
        begin = float(zeros[-1]) if zeros.size else float(times[0])
    counts = latest(run, flow, counter, np.array([begin, end]))
    return float(counts[1] - counts[0])


@metric
def correlation(
    run: Tables, flows: Sequence[str], signal: str, width: float, start: float, stop: float
) -> float:
    """Correlation (Pearson) of a signal of two flows, in means over bins of ``width`` seconds.

    Bins in which a flow has no sample are left out.
    """
    if len(flows) != 2:
        raise MetricError(f"a correlation is of two flows, not of {len(flows)}")
    edges = start + np.arange(round((stop - start) / width) + 1, dtype=np.float64) * width
    means = []
    for flow in flows:
        times, values = samples(run, flow, signal)
        present = np.isfinite(values)
        count, _ = np.histogram(times[present], edges)
        total, _ = np.histogram(times[present], edges, weights=values[present])
        means.append(np.divide(total, count, out=np.full(count.size, np.nan), where=count > 0))
    both = np.isfinite(means[0]) & np.isfinite(means[1])
    if np.count_nonzero(both) < 2:
        raise MetricError(f"fewer than two bins of {width:g} s have samples of both flows")
    if min(float(np.std(mean[both])) for mean in means) == 0.0:
        raise MetricError(
            f"signal `{signal}` of one of the flows does not vary, so it correlates with nothing"
        )
    return float(np.corrcoef(means[0][both], means[1][both])[0, 1])
