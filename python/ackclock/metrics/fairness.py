"""Fairness and convergence (RFC 5166, section 2.6)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ackclock.metrics.rates import goodput, goodput_windows
from ackclock.metrics.tables import Array, Tables, flow_names


def jain(values: Sequence[float] | Array) -> float:
    """Jain's fairness index: 1 when all are equal, 1/n when one has everything (RFC 5166, section 2.3)."""
    x = np.asarray(values, dtype=np.float64)
    squares = float(np.sum(x * x))
    if not x.size or squares == 0.0:
        return math.nan
    return float(np.sum(x)) ** 2 / (x.size * squares)


def jain_index(
    run: Tables, start: float | None = None, stop: float | None = None, flows: Sequence[str] | None = None
) -> float:
    """Jain's fairness index of the goodputs of the flows."""
    return jain([goodput(run, f, start, stop) for f in flows or flow_names(run)])


def max_min_ratio(
    run: Tables, start: float | None = None, stop: float | None = None, flows: Sequence[str] | None = None
) -> float:
    """The largest goodput divided by the smallest."""
    rates = [goodput(run, f, start, stop) for f in flows or flow_names(run)]
    return max(rates) / min(rates) if min(rates) > 0 else math.inf


def _time_until_it_stays(inside: npt.NDArray[np.bool_], width: float) -> float:
    """End of the first bin from which on every bin is inside; the whole length when the last one is not."""
    outside = np.flatnonzero(~inside)
    first = 0 if not outside.size else int(outside[-1]) + 1
    return min(first + 1, inside.size) * width


def time_to_share(run: Tables, flow: str, share: float, start: float, stop: float, width: float) -> float:
    """Convergence time (s): until the flow's binned goodput stays at or above ``share`` of the total.

    Counted from ``start`` to the end of the bin in which it gets there, so never less than one bin; ``stop -
    start`` if it does not.
    """
    own = goodput_windows(run, flow, width, start, stop)
    total = np.sum([goodput_windows(run, f, width, start, stop) for f in flow_names(run)], axis=0)
    return _time_until_it_stays(own >= share * total, width)


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

    Near means within a fraction ``within`` of it. Counted from ``start`` to the end of the bin; ``stop -
    start`` if it never stays.
    """
    inside = []
    for name in flows or flow_names(run):
        mean = goodput(run, name, settled[0], settled[1])
        inside.append(np.abs(goodput_windows(run, name, width, start, stop) - mean) <= within * mean)
    return _time_until_it_stays(np.all(inside, axis=0), width)
