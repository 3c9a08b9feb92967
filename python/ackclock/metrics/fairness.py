"""Fairness and convergence (RFC 5166, section 2.3)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ackclock import _engine
from ackclock.metrics.rates import arrived_bytes_at, goodput, goodput_windows, throughput
from ackclock.metrics.registry import metric
from ackclock.metrics.tables import Array, MetricError, Tables, column, event_times, flow_names, flow_row


def jain(values: Sequence[float] | Array) -> float:
    """Jain's fairness index: 1 when all are equal, 1/n when one has everything (RFC 5166, section 2.3)."""
    return _engine.jain(np.asarray(values, dtype=np.float64).tolist())


@metric
def jain_index(
    run: Tables, start: float | None = None, stop: float | None = None, flows: Sequence[str] | None = None
) -> float:
    """Jain's fairness index of the goodputs of the flows."""
    return jain([goodput(run, f, start, stop) for f in flows or flow_names(run)])


@metric
def max_min_ratio(
    run: Tables, start: float | None = None, stop: float | None = None, flows: Sequence[str] | None = None
) -> float:
    """The largest goodput divided by the smallest."""
    rates = [goodput(run, f, start, stop) for f in flows or flow_names(run)]
    return max(rates) / min(rates) if min(rates) > 0 else math.inf


@metric
def throughput_among(
    run: Tables,
    of: str,
    start: float | None = None,
    stop: float | None = None,
    flows: Sequence[str] | None = None,
) -> float:
    """The "smallest", "largest" or "mean" throughput of the flows (bit/s)."""
    if of not in _AMONG:
        raise MetricError(f'of = "{of}": must be one of {", ".join(_AMONG)}')
    return float(_AMONG[of]([throughput(run, f, start, stop) for f in flows or flow_names(run)]))


_AMONG: Mapping[str, Callable[[Sequence[float]], Any]] = {
    "smallest": np.min,
    "largest": np.max,
    "mean": np.mean,
}


@metric
def variation(
    run: Tables, width: float, start: float, stop: float, flows: Sequence[str] | None = None
) -> Array:
    """Coefficient of variation of the flows' goodputs in each window of ``width`` seconds.

    The standard deviation (of the population) over the mean: 0 when all are equal. For two flows it is
    abs(x - y) / (x + y).
    """
    rates = np.array([goodput_windows(run, f, width, start, stop) for f in flows or flow_names(run)])
    mean = rates.mean(axis=0)
    if not mean.all():
        raise MetricError("in one of the windows nothing was delivered")
    return np.asarray(rates.std(axis=0) / mean)


def _time_until_it_stays(inside: npt.NDArray[np.bool_], width: float) -> float:
    """End of the first bin from which on every bin is inside, or the whole length if the last bin is not."""
    outside = np.flatnonzero(~inside)
    first = 0 if not outside.size else int(outside[-1]) + 1
    return min(first + 1, inside.size) * width


@metric
def time_to_share(run: Tables, flow: str, share: float, start: float, stop: float, width: float) -> float:
    """Convergence time (s): until the flow's binned goodput stays at or above ``share`` of the total.

    Counted from ``start`` to the end of the bin in which it gets there, so never less than one bin, or
    ``stop - start`` if it does not. In a bin without deliveries its share is 0.
    """
    own = goodput_windows(run, flow, width, start, stop)
    total = np.sum([goodput_windows(run, f, width, start, stop) for f in flow_names(run)], axis=0)
    return _time_until_it_stays((own >= share * total) & (total > 0.0), width)


@metric
def settling_time(
    run: Tables,
    start: float,
    stop: float,
    width: float,
    within: float,
    settled: Sequence[float],
    flows: Sequence[str] | None = None,
) -> float:
    """Time (s) until the binned goodput of every flow stays near its mean over the interval ``settled``.

    Near means within a fraction ``within`` of it. Counted from ``start`` to the end of the bin, or
    ``stop - start`` if it never stays.
    """
    inside = []
    for name in flows or flow_names(run):
        mean = goodput(run, name, settled[0], settled[1])
        if mean == 0.0:
            raise MetricError(f"flow `{name}` delivers nothing from {settled[0]:g} s to {settled[1]:g} s")
        inside.append(np.abs(goodput_windows(run, name, width, start, stop) - mean) <= within * mean)
    return _time_until_it_stays(np.all(inside, axis=0), width)


@metric
def time_until_rate(
    run: Tables,
    flow: str,
    rate: float,
    width: float,
    step: float,
    start: float | None = None,
    stop: float | None = None,
    since: str | None = None,
    packet: float | None = None,
) -> float:
    """Time (s) to the end of the first window in which the throughput of a flow is at least ``rate``.

    Windows of ``width`` seconds begin every ``step`` seconds, the first at ``start`` (by default the start of
    the flow), or with ``since`` at the first event of that kind from there on. If the rate is not reached, it
    is the rest of the interval. ``packet`` takes each packet for so many bytes in place of its own.
    """
    row = flow_row(run, flow)
    begin = float(column(run.flows, "start_s")[row]) if start is None else start
    end = float(column(run.flows, "stop_s")[row]) if stop is None else stop
    if since is not None:
        events = event_times(run, since, flow, begin, end)
        if not events.size:
            raise MetricError(f"there is no event `{since}` in the interval")
        begin = float(events[0])
    if end - begin < width:
        raise MetricError(f"no window of {width:g} s fits from {begin:g} s to {end:g} s")
    starts: Array = begin + step * np.arange(
        math.floor((end - begin - width) / step + 1e-9) + 1, dtype=np.float64
    )
    begun, ended = (arrived_bytes_at(run, flow, times, packet) for times in (starts, starts + width))
    reached = np.flatnonzero((ended - begun) * 8 / width >= rate)
    return float(starts[reached[0]] + width - begin if reached.size else end - begin)
