"""Convergence times from smoothed throughput (RFC 5166, section 2.3, and Edwan 2010, sections 5.1 and 5.4).

The throughput of each sampling period enters a moving average, S_k = s B_k + (1 - s) S_(k-1), which begins at
0 when the flow starts. The average alone takes about width/s seconds: with 0.2 s and s = 0.005 even flows
that share a link equally from the first packet are 20 %-fair only after 64.4 s.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import numpy.typing as npt

from ackclock.metrics.rates import arrived_bytes_at, link_rate
from ackclock.metrics.registry import metric
from ackclock.metrics.tables import Array, MetricError, Tables, column, flow_row


def smoothed_throughput(
    run: Tables, flow: str, width: float = 0.2, factor: float = 0.005, packet: float | None = None
) -> tuple[Array, Array]:
    """The moving average of the throughput of a flow: the ends of the sampling periods (s), and bit/s.

    Periods of ``width`` seconds are counted from the start of the flow. ``factor`` is s, above 0 and at most
    1. ``packet`` takes each packet for so many bytes in place of its own.
    """
    if not 0 < factor <= 1:
        raise MetricError(f"factor = {factor:g}: must be above 0 and at most 1")
    row = flow_row(run, flow)
    start, stop = (float(column(run.flows, name)[row]) for name in ("start_s", "stop_s"))
    count = math.floor((stop - start) / width + 1e-9)
    if count < 1:
        raise MetricError(f"no period of {width:g} s fits from {start:g} s to {stop:g} s")
    edges: Array = start + width * np.arange(count + 1, dtype=np.float64)
    rates = np.diff(arrived_bytes_at(run, flow, edges, packet)) * 8 / width
    averages = itertools.accumulate(
        rates.tolist(), lambda last, rate: last + factor * (rate - last), initial=0.0
    )
    return edges[1:], np.fromiter(averages, np.float64, count + 1)[1:]


@metric
def delta_fair_time(
    run: Tables,
    first: str,
    second: str,
    delta: float = 0.2,
    width: float = 0.2,
    factor: float = 0.005,
    of: str = "link",
    hold: float = 0.0,
    link: str | None = None,
    packet: float | None = None,
) -> float:
    """The delta-fair convergence time (s) of a flow ``second`` that joins ``first``. NaN if not reached.

    It ends at the first sample at which the smoothed throughput of ``first`` is at most (1 + delta)/2, and
    the throughput of ``second`` at least (1 - delta)/2, of the rate of the link. With ``of = "sum"`` the
    throughput of both takes the place of that rate. With ``hold`` above 0 the state must last for so many
    seconds.
    """
    if of not in ("link", "sum"):
        raise MetricError(f'of = "{of}": must be "link" or "sum"')
    if not 0 < delta < 1:
        raise MetricError(f"delta = {delta:g}: must be above 0 and below 1")
    at, old = smoothed_throughput(run, first, width, factor, packet)
    times, new = smoothed_throughput(run, second, width, factor, packet)
    begin = float(column(run.flows, "start_s")[flow_row(run, second)])
    # The periods of the two flows begin at their own starts.
    old = old[np.maximum(np.searchsorted(at, times + 1e-9, side="right") - 1, 0)]
    whole = old + new if of == "sum" else np.full(new.size, link_rate(run, link))
    fair = (old <= (1 + delta) / 2 * whole) & (new >= (1 - delta) / 2 * whole)
    reached = _first_that_lasts(fair, round(hold / width))
    return float(times[reached] - begin) if reached is not None else math.nan


@metric
def epsilon_time(
    run: Tables,
    flow: str,
    epsilon: float = 0.8,
    since: float | None = None,
    width: float = 0.2,
    factor: float = 0.005,
    packet: float | None = None,
) -> float:
    """The epsilon convergence time (s) of a flow. NaN if it is not reached.

    From the start of the flow to the first sample at which its smoothed throughput is at least ``epsilon`` of
    its long-term average, the mean over the second half of its life. With ``since``, such as the start of
    another flow, it is counted from there. A rate above the average then has to fall to average/epsilon.
    """
    if not 0 < epsilon < 1:
        raise MetricError(f"epsilon = {epsilon:g}: must be above 0 and below 1")
    row = flow_row(run, flow)
    start, stop = (float(column(run.flows, name)[row]) for name in ("start_s", "stop_s"))
    begin = start if since is None else since
    middle = (max(start, begin) + stop) / 2
    sent = np.diff(arrived_bytes_at(run, flow, np.array([middle, stop]), packet))[0]
    average = sent * 8 / (stop - middle)
    if average == 0.0:
        raise MetricError(f"from {middle:g} s to {stop:g} s nothing of flow `{flow}` has arrived")
    times, rates = smoothed_throughput(run, flow, width, factor, packet)
    later = times > begin
    times, rates = times[later], rates[later]
    if not times.size:
        raise MetricError(f"flow `{flow}` has no sample after {begin:g} s")
    rising = rates[0] <= average
    near = rates >= epsilon * average if rising else rates <= average / epsilon
    reached = _first_that_lasts(near, 0)
    return float(times[reached] - begin) if reached is not None else math.nan


def _first_that_lasts(condition: npt.NDArray[np.bool_], more: int) -> int | None:
    """The first index at which a condition holds, and at the next ``more`` as well."""
    length = more + 1
    held = np.concatenate(([0], np.cumsum(condition)))
    lasting = np.flatnonzero(held[length:] - held[:-length] == length)
    return int(lasting[0]) if lasting.size else None
