"""Metrics of congestion control (RFC 5166), as functions over the tables of a run.

Every function takes a run (anything with the tables ``flows``, ``links``, ``flow_series``, ``link_series``,
``probes`` and ``events``) and answers in SI units unless its name says otherwise: bits per second, seconds,
fractions of one. Round-trip times and queueing delays are in milliseconds, as in the tables.

``start`` and ``stop`` bound the interval that is looked at, in seconds since the start of the run. Left out,
they mean the measured interval of the run (after the warm-up), and the exact totals of the ``flows`` and
``links`` tables are used. A flow or a link is named as in the scenario; ``flow=None`` means all flows
together, ``link=None`` the first link with a rate.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ackclock.groups import Group, grouped
from ackclock.mistakes import InputError

Array = npt.NDArray[np.float64]

SIGNALS = {
    "window": "window_segments",
    "threshold": "threshold_segments",
    "in_flight": "in_flight_segments",
    "rtt": "latest_rtt_ms",
    "smoothed_rtt": "smoothed_rtt_ms",
    "min_rtt": "min_rtt_ms",
    "delivered_bytes": "delivered_bytes",
    "arrived_packets": "arrived_packets",
    "pacing_rate": "pacing_rate_bps",
}
"""Signals that every flow has, and their columns in ``flow_series``; any other signal is a probe."""


class Tables(Protocol):
    """The tables of one run, whoever made them."""

    @property
    def flows(self) -> pa.Table:
        """A row per flow."""
        ...

    @property
    def links(self) -> pa.Table:
        """A row per link direction."""
        ...

    @property
    def flow_series(self) -> pa.Table:
        """Samples of every flow over time."""
        ...

    @property
    def link_series(self) -> pa.Table:
        """Samples of every link over time."""
        ...

    @property
    def probes(self) -> pa.Table:
        """Internals of the controllers over time."""
        ...

    @property
    def events(self) -> pa.Table:
        """Drops, losses, retransmissions, timeouts."""
        ...


class MetricError(InputError):
    """A metric was asked of a flow, link, signal or interval that the run does not have."""


# -- columns -------------------------------------------------------------------------------------------------


def column(table: pa.Table, name: str) -> Array:
    """A numeric column as float64; null becomes NaN."""
    values = table[name].combine_chunks()
    if values.null_count:
        values = values.cast(pa.float64())
    return np.asarray(values.to_numpy(zero_copy_only=False), dtype=np.float64)


def _is(table: pa.Table, name: str, wanted: Sequence[str]) -> npt.NDArray[np.bool_]:
    """Where a string column, dictionary-coded or not, holds one of ``wanted``."""
    values = table[name].combine_chunks()
    if not pa.types.is_dictionary(values.type):
        values = values.dictionary_encode()
    codes = [i for i, text in enumerate(values.dictionary.to_pylist()) if text in wanted]
    return np.isin(values.indices.to_numpy(zero_copy_only=False), codes)


def flow_names(run: Tables) -> list[str]:
    """The names of the flows, in the order of the scenario."""
    return [str(name) for name in run.flows["name"].to_pylist()]


def _index(names: Sequence[str], wanted: str, what: str) -> int:
    try:
        return list(names).index(wanted)
    except ValueError:
        raise MetricError(
            f"there is no {what} `{wanted}` in this run (there are {', '.join(names)})"
        ) from None


def _flow_row(run: Tables, flow: str) -> int:
    return _index(flow_names(run), flow, "flow")


def _link_row(run: Tables, link: str | None) -> int:
    if link is not None:
        return _index([str(name) for name in run.links["name"].to_pylist()], link, "link")
    rated = np.flatnonzero(np.isfinite(column(run.links, "rate_bps")))
    if not rated.size:
        raise MetricError("no link of this run has a rate, so a link must be named")
    return int(rated[0])


def _within(times: Array, start: float | None, stop: float | None) -> npt.NDArray[np.bool_]:
    low = -math.inf if start is None else start
    high = math.inf if stop is None else stop
    return (times >= low) & (times <= high)


def _of_flow(run: Tables, table: pa.Table, flow: str) -> npt.NDArray[np.bool_]:
    number = column(run.flows, "flow")[_flow_row(run, flow)]
    return np.asarray(column(table, "flow") == number)


def samples(run: Tables, flow: str, signal: str) -> tuple[Array, Array]:
    """Times (s) and values of a signal of a flow: one of ``SIGNALS`` or a probe of its controller."""
    if signal in SIGNALS:
        table, column_name = run.flow_series, SIGNALS[signal]
        chosen = _of_flow(run, table, flow)
    else:
        table, column_name = run.probes, "value"
        chosen = _of_flow(run, table, flow) & _is(table, "name", [signal])
    times, values = column(table, "time_s")[chosen], column(table, column_name)[chosen]
    if not times.size:
        probes = sorted({str(p) for p in run.probes["name"].unique().to_pylist()})
        known = ", ".join([*SIGNALS, *probes])
        raise MetricError(f"flow `{flow}` recorded no signal `{signal}` (this run has {known})")
    return times, values


def event_times(
    run: Tables,
    kind: str | Sequence[str],
    flow: str | None = None,
    start: float | None = None,
    stop: float | None = None,
) -> Array:
    """Times (s) of the events of a kind ("drop", "timeout", "loss-event"…)."""
    return _events(run, kind, flow, start, stop)[0]


def _events(
    run: Tables, kind: str | Sequence[str], flow: str | None, start: float | None, stop: float | None
) -> tuple[Array, Array]:
    table = run.events
    chosen = _is(table, "kind", [kind] if isinstance(kind, str) else kind)
    times = column(table, "time_s")
    chosen &= _within(times, start, stop)
    if flow is not None:
        chosen &= _of_flow(run, table, flow)
    return times[chosen], column(table, "value")[chosen]


# -- throughput, goodput, utilization ------------------------------------------------------------------------


def _delivered_at(run: Tables, flow: str, times: Array) -> Array:
    at, delivered = samples(run, flow, "delivered_bytes")
    begin = float(column(run.flows, "start_s")[_flow_row(run, flow)])
    return np.interp(times, np.concatenate(([min(begin, at[0])], at)), np.concatenate(([0.0], delivered)))


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
        return float(np.sum(values) if flow is None else values[_flow_row(run, flow)])
    if not stop > start:
        raise MetricError(f"an interval from {start:g} s to {stop:g} s is empty")
    edges = np.array([start, stop])
    flows = flow_names(run) if flow is None else [flow]
    return float(sum(np.diff(_delivered_at(run, f, edges))[0] for f in flows) * 8 / (stop - start))


def goodput_bins(run: Tables, flow: str, width: float, stop: float | None = None) -> tuple[Array, Array]:
    """Goodput in bins of ``width`` seconds: centres (s) and bit/s; NaN outside the flow's life."""
    end = float(np.max(column(run.flows, "stop_s"))) if stop is None else stop
    edges = np.arange(round(end / width) + 1, dtype=np.float64) * width
    if edges.size < 2:
        raise MetricError(f"a bin of {width:g} s is longer than the run of {end:g} s")
    centres = (edges[:-1] + edges[1:]) / 2
    values = np.diff(_delivered_at(run, flow, edges)) * 8 / width
    row = _flow_row(run, flow)
    alive = (centres >= column(run.flows, "start_s")[row]) & (centres <= column(run.flows, "stop_s")[row])
    return centres, np.where(alive, values, np.nan)


def goodput_windows(run: Tables, flow: str, width: float, start: float, stop: float) -> Array:
    """Goodput (bit/s) in each of the windows of ``width`` seconds that fit between ``start`` and ``stop``."""
    steps = np.arange(math.floor((stop - start) / width + 1e-9) + 1, dtype=np.float64)
    edges: Array = start + steps * width
    if edges.size < 2:
        raise MetricError(f"no window of {width:g} s fits from {start:g} s to {stop:g} s")
    return np.asarray(np.diff(_delivered_at(run, flow, edges)) * 8 / width)


def throughput(run: Tables, flow: str | None = None) -> float:
    """IP bytes that arrived at the receiver in the measured interval, in bit/s."""
    values = column(run.flows, "throughput_bps")
    return float(np.sum(values) if flow is None else values[_flow_row(run, flow)])


def link_rate(run: Tables, link: str | None = None) -> float:
    """The nominal rate of a link in bit/s."""
    return float(column(run.links, "rate_bps")[_link_row(run, link)])


def utilization(
    run: Tables, link: str | None = None, start: float | None = None, stop: float | None = None
) -> float:
    """Fraction of the time a link is busy; over an explicit interval, what left it over its nominal rate."""
    row = _link_row(run, link)
    if start is None or stop is None:
        return float(column(run.links, "utilization")[row])
    table = run.link_series
    chosen = column(table, "link") == column(run.links, "link")[row]
    departed = np.interp(
        [start, stop], column(table, "time_s")[chosen], column(table, "departed_bytes")[chosen]
    )
    return float((departed[1] - departed[0]) * 8 / (stop - start) / link_rate(run, link))


# -- delay ---------------------------------------------------------------------------------------------------


def rtt_samples(
    run: Tables,
    flow: str | None = None,
    start: float | None = None,
    stop: float | None = None,
    above_base: bool = False,
) -> Array:
    """RTT samples (ms) at the resolution of the series; ``above_base`` takes off the base RTT."""
    found = []
    for name in flow_names(run) if flow is None else [flow]:
        times, values = samples(run, name, "rtt")
        base = float(column(run.flows, "base_rtt_ms")[_flow_row(run, name)]) if above_base else 0.0
        found.append(values[_within(times, start, stop) & np.isfinite(values)] - base)
    rtts = np.concatenate(found)
    if not rtts.size:
        raise MetricError("there is no RTT sample in the interval")
    return rtts


def rtt_percentile(
    run: Tables,
    percentile: float,
    flow: str | None = None,
    start: float | None = None,
    stop: float | None = None,
    above_base: bool = False,
) -> float:
    """A percentile of the RTT in ms; over the measured interval from the run's histogram where it has it."""
    name = f"rtt_p{percentile:g}_ms"
    if start is None and stop is None and flow is not None and name in run.flows.column_names:
        row = _flow_row(run, flow)
        base = float(column(run.flows, "base_rtt_ms")[row]) if above_base else 0.0
        return float(column(run.flows, name)[row]) - base
    return float(np.percentile(rtt_samples(run, flow, start, stop, above_base), percentile))


def rtt_range(
    run: Tables,
    low: float = 25.0,
    high: float = 75.0,
    flow: str | None = None,
    start: float | None = None,
    stop: float | None = None,
) -> float:
    """Difference of two percentiles of the RTT in ms; by default the interquartile range."""
    below, above = np.percentile(rtt_samples(run, flow, start, stop), [low, high])
    return float(above - below)


def queue_delay(run: Tables, of: str = "mean", link: str | None = None) -> float:
    """Queueing delay (ms) over the measured interval, time-weighted: "mean", "p50", "p95", "p99" or "max"."""
    return float(column(run.links, f"queue_delay_{of}_ms")[_link_row(run, link)])


def queue_length(run: Tables, of: str = "mean", link: str | None = None) -> float:
    """Waiting packets over the measured interval, time-weighted: "mean", "p50", "p95" or "max"."""
    return float(column(run.links, f"queue_packets_{of}")[_link_row(run, link)])


# -- loss ----------------------------------------------------------------------------------------------------


def loss_rate(run: Tables, flow: str | None = None) -> float:
    """Data packets dropped or lost on the way, divided by data packets sent."""
    rates = column(run.flows, "loss_rate")
    if flow is not None:
        return float(rates[_flow_row(run, flow)])
    sent = column(run.flows, "data_packets")
    return float(np.sum(rates * sent) / np.sum(sent)) if np.sum(sent) else 0.0


def event_count(
    run: Tables,
    kind: str | Sequence[str],
    flow: str | None = None,
    start: float | None = None,
    stop: float | None = None,
) -> float:
    """How many events of a kind there are."""
    return float(event_times(run, kind, flow, start, stop).size)


def event_value(
    run: Tables,
    kind: str,
    percentile: float = 50.0,
    flow: str | None = None,
    start: float | None = None,
    stop: float | None = None,
) -> float:
    """A percentile of what events of a kind carry (deemed-lost: RTT in ms; drop: packets waiting)."""
    values = _events(run, kind, flow, start, stop)[1]
    values = values[np.isfinite(values)]
    if not values.size:
        raise MetricError(f"there is no event `{kind}` with a value in the interval")
    return float(np.percentile(values, percentile))


def event_share(
    run: Tables,
    kind: str,
    probe: str,
    equals: float,
    flow: str,
    start: float | None = None,
    stop: float | None = None,
) -> float:
    """Fraction of the events of a kind at which the latest value of a signal of ``flow`` is ``equals``."""
    events = event_times(run, kind, flow, start, stop)
    if not events.size:
        raise MetricError(f"there is no event `{kind}` in the interval")
    times, values = samples(run, flow, probe)
    latest = np.searchsorted(times, events, side="right") - 1
    return float(np.mean((latest >= 0) & (values[np.maximum(latest, 0)] == equals)))


# -- fairness and convergence --------------------------------------------------------------------------------


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


# -- signals -------------------------------------------------------------------------------------------------


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
    chosen = values[_within(times, start, stop) & np.isfinite(values)]
    if not chosen.size:
        raise MetricError(f"signal `{signal}` of `{flow}` has no sample in the interval")
    return float(np.percentile(chosen, percentile))


def signal_at(run: Tables, flow: str, signal: str, time: float) -> float:
    """The latest value of a signal at a time."""
    times, values = samples(run, flow, signal)
    latest = int(np.searchsorted(times, time, side="right")) - 1
    if latest < 0:
        raise MetricError(f"signal `{signal}` of `{flow}` has no sample before {time:g} s")
    return float(values[latest])


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
    """What a step of a counter does to a signal, as a percentile over the steps.

    Each time ``counter`` rises, the new value of the signal ``after`` is compared with the previous sample of
    ``before`` (the largest of them where several are named): their "ratio" or "difference". ``only =
    "growth"`` keeps the steps at which the signal rose. The series must be recorded at every ACK for the
    samples to stand on either side of the step.
    """
    times, count = samples(run, flow, counter)
    steps = np.flatnonzero(np.diff(count) > 0) + 1
    at, until = times[steps], times[steps - 1]
    chosen = _within(at, start, stop)
    new = _latest(run, flow, after, at[chosen])
    names = [before] if isinstance(before, str) else list(before)
    old = np.max([_latest(run, flow, name, until[chosen]) for name in names], axis=0)
    if how not in ("ratio", "difference"):
        raise MetricError(f'how = "{how}": must be "ratio" or "difference"')
    if only not in ("all", "growth"):
        raise MetricError(f'only = "{only}": must be "all" or "growth"')
    kept = new > old if only == "growth" else np.ones_like(new, dtype=bool)
    if not np.any(kept):
        raise MetricError(f"`{counter}` of `{flow}` never rises in the interval")
    change = new[kept] / old[kept] if how == "ratio" else new[kept] - old[kept]
    return float(np.percentile(change, percentile))


def _latest(run: Tables, flow: str, name: str, at: Array) -> Array:
    times, values = samples(run, flow, name)
    return np.asarray(values[np.maximum(np.searchsorted(times, at, side="right") - 1, 0)])


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

    Both are looked for from ``start``.     ``sign`` is the condition: "<=0" or ">=0". The signals are read
    where the counter steps.
    """
    if sign not in ("<=0", ">=0"):
        raise MetricError(f'sign = "{sign}": must be "<=0" or ">=0"')
    times, count = samples(run, flow, counter)
    steps = np.flatnonzero(np.diff(count) > 0) + 1
    steps = steps[_within(times[steps], start, stop)]
    met = []
    for name in (first, second):
        values = _latest(run, flow, name, times[steps])
        hits = np.flatnonzero(values <= 0 if sign == "<=0" else values >= 0)
        if not hits.size:
            raise MetricError(f"signal `{name}` of `{flow}` never is {sign} in the interval")
        met.append(count[steps[hits[0]]])
    return float(met[1] - met[0])


# -- curves: what a plot shows over time ---------------------------------------------------------------------


class Curve(NamedTuple):
    """One curve of one run: whose it is, the controller, times (s) and values."""

    name: str
    cc: str
    times: Array
    values: Array


def goodput_by_flow(run: Tables, width: float) -> list[Curve]:
    """Binned goodput (bit/s at the bin's centre) of every flow."""
    return [
        Curve(name, cc, *_present(*goodput_bins(run, name, width)))
        for name, cc in zip(flow_names(run), run.flows["cc"].to_pylist(), strict=True)
    ]


def signal_by_flow(
    run: Tables,
    signal: str,
    flows: Sequence[str] | None = None,
    start: float | None = None,
    stop: float | None = None,
) -> list[Curve]:
    """A signal of every flow, or of some."""
    curves = []
    for name, cc in zip(flow_names(run), run.flows["cc"].to_pylist(), strict=True):
        if flows is None or name in flows:
            times, values = samples(run, name, signal)
            inside = _within(times, start, stop)
            curves.append(Curve(name, cc, *_present(times[inside], values[inside])))
    return curves


def _groups(run: Tables) -> list[Group]:
    return grouped(flow_names(run), [str(cc) for cc in run.flows["cc"].to_pylist()])


def goodput_by_group(run: Tables, width: float) -> list[Curve]:
    """Binned goodput (bit/s at the bin's centre) of all flows of a group together.

    What a flow delivers between its last sample and its end counts where it ends, if it began after the
    warm-up.
    """
    table, rows = run.flow_series, run.flows
    order = np.argsort(column(table, "flow"), kind="stable")
    flow = column(table, "flow")[order].astype(np.int64)
    times, total = column(table, "time_s")[order], column(table, "delivered_bytes")[order]
    first = np.concatenate(([True], flow[1:] != flow[:-1])) if flow.size else np.zeros(0, dtype=bool)
    delivered = total - np.where(first, 0.0, np.concatenate(([0.0], total[:-1]))[: total.size])
    last = dict(zip(flow.tolist(), total.tolist(), strict=True))
    numbers, ends = column(rows, "flow").astype(np.int64), column(rows, "stop_s")
    whole = np.isclose(column(rows, "measured_s"), ends - column(rows, "start_s"))
    rest = column(rows, "delivered_bytes") - np.array([last.get(number, 0.0) for number in numbers.tolist()])
    flow = np.concatenate((flow, numbers[whole]))
    times = np.concatenate((times, ends[whole]))
    delivered = np.concatenate((delivered, np.maximum(rest[whole], 0.0)))
    bins = max(1, round(float(np.max(ends)) / width))
    centres = (np.arange(bins, dtype=np.float64) + 0.5) * width
    at = np.minimum((times / width).astype(np.int64), bins - 1)
    curves = []
    for group in _groups(run):
        own = np.isin(flow, group.flows)
        rate = np.bincount(at[own], weights=delivered[own], minlength=bins) * 8 / width
        curves.append(Curve(group.name, group.cc, centres, rate))
    return curves


def signal_by_group(run: Tables, signal: str) -> list[Curve]:
    """One of ``SIGNALS``, the mean over the flows of a group that are sampled at an instant."""
    flow, times = column(run.flow_series, "flow"), column(run.flow_series, "time_s")
    values = column(run.flow_series, SIGNALS[signal])
    curves = []
    for group in _groups(run):
        own = np.isin(flow, group.flows) & np.isfinite(values)
        instants, which = np.unique(times[own], return_inverse=True)
        mean = np.bincount(which, weights=values[own]) / np.bincount(which) if instants.size else instants
        curves.append(Curve(group.name, group.cc, instants, mean))
    return curves


def queue_curve(run: Tables, link: str | None = None) -> Curve:
    """Waiting packets of a link over time."""
    row = _link_row(run, link)
    table = run.link_series
    chosen = column(table, "link") == column(run.links, "link")[row]
    name = str(run.links["name"][row].as_py())
    return Curve(name, "", column(table, "time_s")[chosen], column(table, "queue_packets")[chosen])


def _present(times: Array, values: Array) -> tuple[Array, Array]:
    present = np.isfinite(values)
    return times[present], values[present]


# -- models --------------------------------------------------------------------------------------------------


def mathis(loss: float | Array, rtt: float, segment: float, constant: float = math.sqrt(1.5)) -> Any:
    """The Mathis model in bit/s: segment (bytes) / RTT (s) * C / sqrt(p).

    An upper estimate for a Reno flow that loss limits. Mathis, Semke, Mahdavi, Ott, "The macroscopic behavior
    of the TCP congestion avoidance algorithm", CCR 1997.
    """
    return segment * 8 / rtt * constant / np.sqrt(loss)
