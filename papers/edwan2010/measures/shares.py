"""Chapters 2, 5 and 6 of Edwan 2010, measured: shares of a link, epochs, entries of a second flow.

Throughput counts packets with their headers at the receiver, retransmissions included, as the thesis does.
"""

import math
from collections.abc import Sequence

import numpy as np

from ackclock import metrics
from ackclock.arguments import library
from ackclock.metrics import Array, MetricError, Tables, column, event_times, flow_names, samples
from ackclock.metrics.rates import arrived_at

PACKET = 1040.0
"""A packet of ns-2's TCP on the wire, in bytes: 1000 of payload and 40 of headers."""
LONGEST = 245.0
"""The limit of figure 6.9 in s, as which a convergence time beyond it counts."""


def _arrived(run: Tables, flow: str, start: float, stop: float) -> float:
    begun = float(column(run.flows, "start_s")[metrics.flow_row(run, flow)])
    edges = np.array([max(start, begun), stop])
    return float(np.diff(arrived_at(run, flow, edges))[0])


def wire_rate(run: Tables, flow: str, start: float, stop: float, packet: float = PACKET) -> float:
    """The rate at which packets of a flow arrived, in bit/s."""
    return _arrived(run, flow, start, stop) * packet * 8 / (stop - start)


def jain_of_arrivals(run: Tables, start: float, stop: float) -> float:
    """Jain's index of the arrivals of all flows."""
    return metrics.jain([_arrived(run, flow, start, stop) for flow in flow_names(run)])


def arrival_ratio(run: Tables, start: float, stop: float) -> float:
    """The data of the first flow that arrived, over the data of the second flow that arrived."""
    first, second = (_arrived(run, flow, start, stop) for flow in flow_names(run)[:2])
    return first / second


def asymmetry(run: Tables, start: float, stop: float) -> float:
    """(x1 - x2)/(x1 + x2) of the first two flows."""
    first, second = (_arrived(run, flow, start, stop) for flow in flow_names(run)[:2])
    return (first - second) / (first + second)


def fair_time(run: Tables, width: float, factor: float) -> float:
    """The 20 %-fair convergence time of the second flow, in s, or NaN if it is not reached."""
    first, second = flow_names(run)[:2]
    return metrics.delta_fair_time(run, first, second, 0.2, width, factor, packet=PACKET)


def smoothed_rate(run: Tables, width: float, factor: float) -> tuple[Array, Array]:
    """The smoothed throughput of the first flow over time, in bit/s (figure 6.10)."""
    return metrics.smoothed_throughput(run, flow_names(run)[0], width, factor, PACKET)


def window_of(run: Tables, number: int = 0) -> tuple[Array, Array]:
    """The window of a flow over time, in packets."""
    return samples(run, flow_names(run)[int(number)], "window")


def entries(run: Tables) -> tuple[Array, Array]:
    """The window of the first flow at the entry times of the thesis: 75, 110, 130 and 150 s (figure 6.9)."""
    times, windows = samples(run, flow_names(run)[0], "window")
    at = np.array([75.0, 110.0, 130.0, 150.0])
    return at, windows[np.searchsorted(times, at)]


def _loss_events(run: Tables) -> Array:
    return np.unique(event_times(run, "loss-event", flow_names(run)[0]))


def epoch_length(run: Tables, start: float, stop: float) -> float:
    """The mean time between loss events of the first flow, in s."""
    events = _loss_events(run)
    events = events[(events >= start) & (events <= stop)]
    if events.size < 2:
        raise MetricError("there are fewer than two loss events in the interval")
    return float(np.mean(np.diff(events)))


def rate_over_epochs(run: Tables, start: float) -> float:
    """The rate of the first flow over whole epochs after ``start``, in bit/s."""
    events = _loss_events(run)
    events = events[events >= start]
    if events.size < 2:
        raise MetricError("there are fewer than two loss events in the interval")
    return wire_rate(run, flow_names(run)[0], float(events[0]), float(events[-1]))


def phase_at(run: Tables, time: float) -> float:
    """The time since the last loss event of a lone flow over the length of its epoch."""
    events = _loss_events(run)
    after = int(np.searchsorted(events, time, side="right"))
    if not 0 < after < events.size:
        raise MetricError(f"{time:g} s is not between two loss events")
    return float((time - events[after - 1]) / (events[after] - events[after - 1]))


def largest_cut(run: Tables, start: float, stop: float) -> float:
    """The largest share of the window that a loss event removes: the threshold after it over the window."""
    flow = flow_names(run)[0]
    at, before = metrics.events_of(run, "loss-event", flow, start, stop)
    if not at.size:
        raise MetricError("there is no loss event in the interval")
    times, thresholds = samples(run, flow, "threshold")
    after = thresholds[np.minimum(np.searchsorted(times, at + 1e-9), times.size - 1)]
    return float(np.max(1 - after / before))


def largest_growth(run: Tables, start: float, stop: float) -> float:
    """The largest growth of the window in one RTT, outside slow start and recovery, in packets."""
    flow = flow_names(run)[0]
    times, windows = samples(run, flow, "window")
    _, thresholds = samples(run, flow, "threshold")
    _, rtts = samples(run, flow, "smoothed_rtt")
    later = np.searchsorted(times, times + rtts / 1e3 + 1e-9) - 1
    inside = (times >= start) & (times + rtts / 1e3 <= stop) & (windows >= thresholds)
    bad = np.concatenate((_loss_events(run), event_times(run, ("recovered", "timeout"), flow)))
    # A recovery ends in a jump of the window: an interval that touches one is left out.
    touched = np.searchsorted(np.sort(bad), times) != np.searchsorted(np.sort(bad), times[later] + 0.02)
    open_ = (
        np.array(run.flow_series["state"].to_pylist())[metrics.of_flow(run, run.flow_series, flow)] == "open"
    )
    chosen = inside & ~touched & open_ & open_[later]
    if not np.any(chosen):
        raise MetricError("the flow is never in congestion avoidance for an RTT")
    return float(np.max(windows[later][chosen] - windows[chosen]))


def losses_in_slow_start(run: Tables) -> float:
    """The share of loss events and timeouts with a window up to the threshold."""
    flow = flow_names(run)[0]
    at, windows = metrics.events_of(run, ("loss-event", "timeout"), flow, None, None)
    times, thresholds = samples(run, flow, "threshold")
    before = np.maximum(np.searchsorted(times, at) - 1, 0)
    held = thresholds[before]
    return float(np.mean((windows <= held) | np.isnan(held)))


def spearman(reached: Sequence[float], phases: Sequence[float]) -> float:
    """The rank correlation of convergence times and phases. A time that is not reached counts as 245 s."""
    found = [LONGEST if math.isnan(time) else min(time, LONGEST) for time in reached]
    return float(library("scipy.stats").spearmanr(found, phases).statistic)


def agreements(phases: Sequence[float], early: Sequence[float]) -> float:
    """The share of entries whose phase is below 0.5 (1) or not (0) as the thesis has it."""
    return float(
        np.mean([(phase < 0.5) == bool(wanted) for phase, wanted in zip(phases, early, strict=True)])
    )


def mean_time(reached: Sequence[float]) -> float:
    """The mean of the convergence times that are reached. At least three quarters of them must be."""
    found = [time for time in reached if not math.isnan(time)]
    if 4 * len(found) < 3 * len(reached):
        raise ValueError(f"only {len(found)} of {len(reached)} entries converge")
    return float(np.mean(found))


def farthest_time_ratio(
    first: Sequence[float], second: Sequence[float], starts: Sequence[float], middle: Sequence[float]
) -> float:
    """The ratio of mean convergence times that is farthest from ``middle``, over RTTs of ``starts`` entries.

    An RTT at which no entry of either converges is left out. Means of fewer than three quarters of
    either cannot be compared, so that there is no ratio then.
    """
    count = int(starts[0])
    ratios = []
    pairs = zip(np.reshape(first, (-1, count)), np.reshape(second, (-1, count)), strict=True)
    for number, (one, other) in enumerate(pairs, start=1):
        reached = [int(np.sum(~np.isnan(times))) for times in (one, other)]
        if max(reached) == 0:
            continue
        if 4 * min(reached) < 3 * count:
            few = " and ".join(map(str, reached))
            raise ValueError(f"at RTT number {number} only {few} of {count} entries converge")
        ratios.append(float(np.nanmean(one) / np.nanmean(other)))
    if not ratios:
        raise ValueError("no entry converges at any RTT")
    return max(ratios, key=lambda ratio: abs(ratio - middle[0]))


def geometric_ratio(first: Sequence[float], second: Sequence[float]) -> float:
    """The geometric mean of the ratios of two lists."""
    return float(np.exp(np.mean(np.log(np.array(first) / np.array(second)))))


def largest_over_smallest(values: Sequence[float]) -> float:
    """The largest over the smallest of some values."""
    return max(values) / min(values)


def farthest_ratio(first: Sequence[float], second: Sequence[float]) -> float:
    """The ratio of two lists, member by member, that is farthest from 1 by its logarithm."""
    ratios = np.array(first) / np.array(second)
    return float(ratios[np.argmax(np.abs(np.log(ratios)))])


def slope_through_origin(rates: Sequence[float], rtts: Sequence[float]) -> float:
    """The exponent e of X1/X2 = (R2/R1)^e: least squares through the origin of the logarithms."""
    y, x = np.log(rates), np.log(rtts)
    return float(np.sum(x * y) / np.sum(x * x))


def rtt_ratio(run: Tables) -> float:
    """The mean RTT of the second flow over the mean RTT of the first."""
    first, second = flow_names(run)[:2]
    return metrics.rtt_mean(run, second) / metrics.rtt_mean(run, first)


def near_maximum(at: Sequence[float], every: Sequence[float]) -> float:
    """An index, or 0 if it is more than 0.03 below the largest of several."""
    return at[0] if at[0] >= max(every) - 0.03 else 0.0


def converged(reached: Sequence[float]) -> float:
    """How many convergence times are reached."""
    return float(np.sum(~np.isnan(reached)))


def ratios_outside(
    first: Sequence[float], second: Sequence[float], low: Sequence[float], high: Sequence[float]
) -> float:
    """How many of some values over another are outside a range."""
    return float(sum(not low[0] <= value / second[0] <= high[0] for value in first))


def absolute_asymmetry(run: Tables, start: float, stop: float) -> float:
    """The magnitude of the asymmetry index."""
    return abs(asymmetry(run, start, stop))


def asymmetry_of_run(run: Tables) -> float:
    """The asymmetry index over the whole run."""
    return asymmetry(run, 0.0, float(np.nanmax(column(run.flows, "stop_s"))))


def unfairness(run: Tables, start: float, stop: float) -> float:
    """The larger of the throughputs of two flows over the smaller."""
    ratio = arrival_ratio(run, start, stop)
    return max(ratio, 1 / ratio)


def total_rate(run: Tables, start: float, stop: float, packet: float = PACKET) -> float:
    """The rate at which packets of all flows arrived, in bit/s."""
    return sum(wire_rate(run, flow, start, stop, packet) for flow in flow_names(run))


def unused_rate(run: Tables, capacity: float, start: float, stop: float, packet: float = PACKET) -> float:
    """The capacity less what arrived, in bit/s."""
    return capacity - total_rate(run, start, stop, packet)


def _is_web(name: str) -> bool:
    return name.startswith("web")


def web_sources(run: Tables) -> float:
    """How many sequences of short connections a run has: `web-<source>-<connection>`."""
    return float(len({name.split("-")[1] for name in flow_names(run) if _is_web(name)}))


def web_rate(run: Tables, start: float, stop: float) -> float:
    """The rate of the short connections that began between two times, headers included, in bit/s."""
    begun = column(run.flows, "start_s")
    sent = column(run.flows, "data_packets") * 40 + column(run.flows, "delivered_bytes")
    web = np.array([_is_web(name) for name in flow_names(run)])
    chosen = web & (begun >= start) & (begun < stop)
    return float(np.sum(sent[chosen]) * 8 / (stop - start))
