"""Throughput, goodput and utilization (RFC 5166, section 2.1)."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from ackclock.metrics.registry import metric
from ackclock.metrics.tables import (
    Array,
    MetricError,
    Tables,
    column,
    flow_names,
    flow_row,
    interval,
    link_row,
    percentile_of,
    samples,
)


def _counted_at(run: Tables, flow: str, counter: str, times: Array) -> Array:
    at, counted = samples(run, flow, counter)
    begin = float(column(run.flows, "start_s")[flow_row(run, flow)])
    return np.interp(times, np.concatenate(([min(begin, at[0])], at)), np.concatenate(([0.0], counted)))


def delivered_at(run: Tables, flow: str, times: Array) -> Array:
    """Bytes that a flow has delivered at some times, interpolated between samples."""
    return _counted_at(run, flow, "delivered_bytes", times)


@metric
def goodput(
    run: Tables, flow: str | None = None, start: float | None = None, stop: float | None = None
) -> float:
    """Application bytes delivered in order to the receiver, per second, in bit/s (RFC 5166, section 2.1.1).

    Over an explicit interval it is taken from the cumulative count of ``flow_series``, interpolated between
    samples.
    """
    if start is None or stop is None:
        if start is not stop:
            raise MetricError("goodput needs both ends of its interval or none")
        values = column(run.flows, "goodput_bps")
        return float(np.sum(values) if flow is None else values[flow_row(run, flow)])
    edges = np.array(interval(run, start, stop))
    flows = flow_names(run) if flow is None else [flow]
    return float(sum(np.diff(delivered_at(run, f, edges))[0] for f in flows) * 8 / (stop - start))


def goodput_bins(run: Tables, flow: str, width: float, stop: float | None = None) -> tuple[Array, Array]:
    """Goodput in bins of ``width`` seconds: centres (s) and bit/s. NaN outside the flow's life."""
    end = float(np.max(column(run.flows, "stop_s"))) if stop is None else stop
    edges = np.arange(round(end / width) + 1, dtype=np.float64) * width
    if edges.size < 2:
        raise MetricError(f"a bin of {width:g} s is longer than the run of {end:g} s")
    centres = (edges[:-1] + edges[1:]) / 2
    values = np.diff(delivered_at(run, flow, edges)) * 8 / width
    row = flow_row(run, flow)
    alive = (centres >= column(run.flows, "start_s")[row]) & (centres <= column(run.flows, "stop_s")[row])
    return centres, np.where(alive, values, np.nan)


@metric
def goodput_windows(run: Tables, flow: str, width: float, start: float, stop: float) -> Array:
    """Goodput (bit/s) in each of the windows of ``width`` seconds that fit between ``start`` and ``stop``."""
    if stop > start:
        interval(run, start, stop)
    steps = np.arange(math.floor((stop - start) / width + 1e-9) + 1, dtype=np.float64)
    edges: Array = start + steps * width
    if edges.size < 2:
        raise MetricError(f"no window of {width:g} s fits from {start:g} s to {stop:g} s")
    return np.asarray(np.diff(delivered_at(run, flow, edges)) * 8 / width)


@metric
def throughput(
    run: Tables,
    flow: str | None = None,
    start: float | None = None,
    stop: float | None = None,
    packet: float | None = None,
) -> float:
    """IP bytes that arrived at the receiver, in bit/s.

    Over an explicit interval ``packet`` takes each packet for so many bytes in place of its own.
    """
    if start is None and stop is None:
        values = column(run.flows, "throughput_bps")
        return float(np.sum(values) if flow is None else values[flow_row(run, flow)])
    if start is None or stop is None or not stop > start:
        raise MetricError("throughput needs both ends of its interval or none, the later one last")
    flows = flow_names(run) if flow is None else [flow]
    edges = np.array(interval(run, start, stop))
    arrived = sum(float(np.diff(arrived_bytes_at(run, f, edges, packet))[0]) for f in flows)
    return arrived * 8 / (stop - start)


@metric
def offered_load(run: Tables, name: str) -> float:
    """IP bytes that arrived for the flow ``name`` or the connections ``name-0``, ``name-1``…, in bit/s.

    It is taken over the whole measured interval. Raises MetricError if no flow has that name.
    """
    own = _called(run, name)
    lives = column(run.flows, "measured_s")[own]
    arrived = float(np.sum(column(run.flows, "throughput_bps")[own] * lives))
    return arrived / _measured(run)


@metric
def completion(run: Tables, name: str, percentile: float = 50.0) -> float:
    """A percentile of the completion times (s) of the flow ``name`` or of the connections ``name-0``…

    A connection that the run cut off counts with its age at the end of the run, a lower bound. Raises
    MetricError if no flow has that name.
    """
    own = _called(run, name)
    ages = (column(run.flows, "stop_s") - column(run.flows, "start_s"))[own]
    times = column(run.flows, "completion_s")[own]
    return percentile_of(np.where(np.isfinite(times), times, ages), percentile)


def _called(run: Tables, name: str) -> npt.NDArray[np.bool_]:
    """A mask of the flow ``name`` and the connections ``name-0``, ``name-1``… Raises MetricError if none."""
    own = np.array([flow == name or flow.startswith(f"{name}-") for flow in flow_names(run)])
    if not own.any():
        raise MetricError(f"there is no flow `{name}` and none whose name begins with `{name}-`")
    return own


def _measured(run: Tables) -> float:
    """The length of the measured interval (s), from a link over which anything left."""
    left, rate = column(run.links, "departed_bytes"), column(run.links, "throughput_bps")
    if not (rate > 0).any():
        raise MetricError("nothing left any link in the measured interval, so its length is unknown")
    return float((left[rate > 0] * 8 / rate[rate > 0])[0])


def arrived_at(run: Tables, flow: str, times: Array) -> Array:
    """Packets of a flow that have reached the receiver at some times, interpolated between samples."""
    return _counted_at(run, flow, "arrived_packets", times)


def arrived_bytes_at(run: Tables, flow: str, times: Array, packet: float | None = None) -> Array:
    """IP bytes of these packets, or each packet taken for ``packet`` bytes."""
    if packet is not None:
        return arrived_at(run, flow, times) * packet
    return _counted_at(run, flow, "arrived_bytes", times)


@metric
def flow_value(run: Tables, flow: str, name: str) -> float:
    """A column of ``flows``: packets sent, timeouts, completion time and the like."""
    if name not in run.flows.column_names:
        raise MetricError(f"the table `flows` has no column `{name}`")
    return float(column(run.flows, name)[flow_row(run, flow)])


def link_rate(run: Tables, link: str | None = None) -> float:
    """The nominal rate of a link in bit/s."""
    return float(column(run.links, "rate_bps")[link_row(run, link)])


@metric
def utilization(
    run: Tables, link: str | None = None, start: float | None = None, stop: float | None = None
) -> float:
    """The bytes that left a link as a share of its capacity.

    Over an explicit interval both are taken from ``link_series``, interpolated between samples. Without
    capacity it is 0. Raises MetricError for samples of an earlier version, which lack the capacity.
    """
    row = link_row(run, link)
    if start is None and stop is None:
        return float(column(run.links, "utilization")[row])
    if start is None or stop is None or not stop > start:
        raise MetricError("utilization needs both ends of its interval or none, the later one last")
    table = run.link_series
    if "capacity_bytes" not in table.column_names:
        raise MetricError("the samples of this run do not say what its links could have sent; run it again")
    chosen = column(table, "link") == column(run.links, "link")[row]
    edges, times = interval(run, start, stop), column(table, "time_s")[chosen]
    departed, capacity = (
        float(np.diff(np.interp(edges, times, column(table, name)[chosen]))[0])
        for name in ("departed_bytes", "capacity_bytes")
    )
    return 0.0 if capacity == 0 else departed / capacity


@metric
def busy_share(run: Tables, link: str | None = None) -> float:
    """Fraction of the measured interval in which a packet was in service, or at the head and waited."""
    return float(column(run.links, "busy_share")[link_row(run, link)])
