"""Measures of Armitage and Khademi 2013 for which the language of claims has no word.

The language has no 90th and no 10th percentile over pooled samples, which this paper reports throughout.
The 90th percentile of samples is the 95th percentile of the samples with as many zeros, since no sample is
below 0. The 10th percentile is the 5th percentile of the samples with as many infinite values.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ackclock.metrics import (
    Array,
    PerEvent,
    Tables,
    column,
    flow_names,
    goodput_windows,
    of_flow,
    rtt_samples,
    samples,
    within,
)
from ackclock.metrics.calls import one_way_delays
from ackclock.metrics.tables import Recorded

CALL_INTERVAL = 0.02
"""Time (s) between two datagrams of a call in one direction."""

BASE_RTT = 40.0
"""Milliseconds."""

POINTS = np.linspace(0.0, 1.0, 201)
"""The shares at which distribution functions are drawn."""


def _padded(values: Array, percentile: float) -> PerEvent:
    """Padded samples: their 95th percentile is the 90th (``percentile`` 90), or their 5th the 10th (10)."""
    below = {50.0: np.zeros(0), 90.0: np.zeros(values.size), 10.0: np.full(values.size, np.inf)}
    return PerEvent(np.concatenate([values, below[percentile]]))


def _distribution(values: Array) -> tuple[Array, Array]:
    """A distribution function: values, and the percentage of samples up to each."""
    return np.quantile(values, POINTS), 100 * POINTS


# RTT of TCP: the newest segment that an ACK acknowledges, retransmitted ones left out.


def rtts(run: Tables, percentile: float = 50.0) -> PerEvent:
    """RTT (ms) of each ACK of every flow, padded for a percentile of 90 or 10."""
    return _padded(rtt_samples(run), percentile)


def flow_rtts(run: Tables, flow: str, percentile: float = 50.0) -> PerEvent:
    """RTT (ms) of each ACK of one flow, padded for a percentile of 90 or 10."""
    return _padded(rtt_samples(run, flow), percentile)


def rtt_distribution(run: Tables) -> tuple[Array, Array]:
    """RTT (ms) of every flow, and the percentage of samples up to it."""
    return _distribution(rtt_samples(run))


def rtt_over_time(run: Tables, flow: str, start: float, stop: float) -> tuple[Array, Array]:
    """Time (s) and RTT (ms) of each ACK of one flow."""
    times, values = _rtts_of(run, flow, start, stop)
    return times, values


def _rtts_of(run: Tables, flow: str, start: float, stop: float) -> tuple[Array, Array]:
    times, values = samples(run, flow, "rtt")
    kept = within(times, start, stop) & np.isfinite(values)
    return times[kept], values[kept]


def station_delays(run: Tables, start: float, stop: float) -> PerEvent:
    """Median RTT of each station above the base RTT (ms)."""
    stations = [_rtts_of(run, flow, start, stop)[1] for flow in flow_names(run)]
    return PerEvent(np.array([np.median(rtts) - BASE_RTT for rtts in stations if rtts.size]))


def station_deviations(run: Tables, start: float, stop: float) -> PerEvent:
    """Standard deviation of the RTT of each station (ms)."""
    stations = [_rtts_of(run, flow, start, stop)[1] for flow in flow_names(run)]
    return PerEvent(np.array([np.std(rtts) for rtts in stations if rtts.size]))


def station_falls(run: Tables, start: float, stop: float) -> PerEvent:
    """How often the RTT of each station falls by a third or more from a local maximum, in means over 1 s."""
    counts = []
    for flow in flow_names(run):
        times, values = _rtts_of(run, flow, start, stop)
        second = np.floor(times).astype(np.int64)
        means = [float(values[second == one].mean()) for one in np.unique(second)]
        counts.append(float(falls(means)))
    return PerEvent(np.array(counts))


def falls(values: Sequence[float]) -> float:
    """How often a series falls to two thirds or less of a local maximum before it exceeds it."""
    count, highest = 0, 0.0
    for value in values:
        if value <= highest * 2 / 3:
            count, highest = count + 1, value
        highest = max(highest, value)
    return float(count)


# Goodput of stations.


def windows(run: Tables, width: float, power: float = 1.0) -> PerEvent:
    """Goodput (Mbit/s) of every flow in windows of ``width`` seconds from 0 to 60 s, to a power."""
    return PerEvent(_windows(run, width) ** power)


def _windows(run: Tables, width: float) -> Array:
    return np.concatenate([goodput_windows(run, flow, width, 0.0, 60.0) for flow in flow_names(run)]) / 1e6


def stalled(run: Tables, width: float, start: float = 0.0) -> PerEvent:
    """1 for each window of ``width`` s from ``start`` to 60 s in which a flow has less than 0.1 Mbit/s."""
    flows = [goodput_windows(run, flow, width, start, 60.0) for flow in flow_names(run)]
    return PerEvent((np.concatenate(flows) < 100e3).astype(np.float64))


def window_distribution(run: Tables, width: float) -> tuple[Array, Array]:
    """Goodput (Mbit/s) in windows of ``width`` seconds, and the percentage of windows up to it."""
    return _distribution(_windows(run, width))


def station_goodputs(run: Tables, controller: str) -> tuple[Array, Array]:
    """The outline of bars: number (from 1) and goodput (Mbit/s) of each station with a controller."""
    number = [i for i, one in enumerate(run.flows["cc"].to_pylist()) if one == controller]
    goodputs = [goodput_windows(run, flow_names(run)[i], 60.0, 0.0, 60.0)[0] / 1e6 for i in number]
    x = [i + 1 + side for i in number for side in (-0.3, -0.3, 0.3, 0.3)]
    return np.array(x), np.array([y for one in goodputs for y in (0.0, one, one, 0.0)])


def variation(first_moment: Sequence[float], second_moment: Sequence[float]) -> float:
    """Standard deviation over mean, of the mean of samples and the mean of their squares."""
    return float(np.sqrt(second_moment[0] - first_moment[0] ** 2) / first_moment[0])


def least_ratio(above: Sequence[float], below: Sequence[float]) -> float:
    """The smallest ratio of two lists, member by member."""
    return min(a / b for a, b in zip(above, below, strict=True))


# RTT of calls by synthetic packet pairs. Flow `up-<n>` is the forward direction of call n, `down-<n>` the
# other.


def _call(run: Recorded, number: int) -> tuple[Array, Array]:
    """When forward datagrams of a call left (s), and their RTTs (ms): none if one of a pair is lost."""
    sent, there = one_way_delays(run, f"up-{number}")
    answered, back = one_way_delays(run, f"down-{number}")
    arrived = sent + there / 1e3
    pair = np.searchsorted(answered, arrived, side="left")
    # The next of the other direction leaves within an interval. If it did not arrive, it is lost.
    there_is = pair < answered.size
    there_is[there_is] &= answered[pair[there_is]] - arrived[there_is] <= CALL_INTERVAL + 1e-6
    return sent[there_is], there[there_is] + back[pair[there_is]]


def _calls(run: Recorded) -> list[tuple[Array, Array]]:
    return [_call(run, number) for number in range(sum(name.startswith("up-") for name in flow_names(run)))]


def _changes(run: Recorded) -> Array:
    """Differences (ms, absolute) of the RTTs of datagrams that were sent one after the other."""
    found = []
    for sent, rtts in _calls(run):
        neighbours: npt.NDArray[np.bool_] = np.diff(sent) < 1.5 * CALL_INTERVAL
        found.append(np.abs(np.diff(rtts))[neighbours])
    return np.concatenate(found)


def call_rtts_pooled(run: Recorded, percentile: float = 50.0) -> PerEvent:
    """RTT (ms) of each datagram of all calls, padded for a percentile of 90 or 10."""
    return _padded(np.concatenate([rtts for _, rtts in _calls(run)]), percentile)


def call_changes(run: Recorded, percentile: float = 50.0) -> PerEvent:
    """Change of the RTT (ms) from one datagram to the next of all calls, padded for a percentile of 90."""
    return _padded(_changes(run), percentile)


def without_rtt(run: Recorded) -> float:
    """The share of forward datagrams of all calls that have no RTT, for one of the pair is lost."""
    table, sent = run.table("datagrams"), 0.0
    calls = _calls(run)
    for number in range(len(calls)):
        sent += float(column(table, "sequence")[of_flow(run, table, f"up-{number}")].max()) + 1
    return 1.0 - sum(rtts.size for _, rtts in calls) / sent


def call_distribution(run: Recorded) -> tuple[Array, Array]:
    """RTT (ms) of all calls, and the percentage of samples up to it."""
    return _distribution(np.concatenate([rtts for _, rtts in _calls(run)]))


def change_distribution(run: Recorded) -> tuple[Array, Array]:
    """Change of the RTT (ms) from one datagram to the next, and the percentage of samples up to it."""
    return _distribution(_changes(run))


# Buffers of the wired path: flow `size-<packets>` passes the pipe of that size.


def medians_by_size(run: Tables) -> tuple[Array, Array]:
    """Size of the buffer (packets) and median RTT (ms) of the flow that passes it."""
    names = flow_names(run)
    sizes = np.array([float(name.removeprefix("size-")) for name in names])
    return sizes, np.array([np.median(rtt_samples(run, name)) for name in names])
