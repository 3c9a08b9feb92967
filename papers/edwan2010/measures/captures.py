"""Chapter 8 of Edwan 2010, measured: gaps between ACKs, and their effect on each reduction of the window.

A run holds many chains of links side by side, each with a TCP flow of its own: `none-1`, `cross-1`,
`wireless-1` and so on. Its series have a row for every ACK that brings an RTT sample: duplicates do, the ACK
of a retransmission does not. The way back is never busy, so the gaps between ACKs are those between packets
at the receiver.
"""

from collections.abc import Sequence

import numpy as np

from ackclock import interarrival
from ackclock.arguments import library
from ackclock.metrics import Array, MetricError, Tables, column, event_times, flow_names, of_flow

PACKET_BITS = 8320
"""A TCP packet on the wire: 1000 bytes of payload and 40 of headers."""
UNIT = PACKET_BITS / 3e6
"""T: the transmission time of a TCP packet on the bottleneck, in s."""
WAY_BACK = 0.05
"""How long an ACK takes, in s."""
RECEIVE_WINDOW = 40.0
"""The receive window of all TCP flows of table 8.2, in packets."""
SET_LOSS = (
    0.00465371, 0.00826583, 0.00911279, 0.0079264, 0.0080507,
    0.00379205, 0.0105028, 0.00541859, 0.00827519, 0.0104483,
)  # fmt: skip
"""The error probabilities of the wireless runs: what table 8.2 prints of the runs with cross traffic."""


class _Cut:
    """A reduction of the window by duplicate ACKs."""

    def __init__(self, time: float, gaps: Array) -> None:
        self.time, self.gaps = time, gaps


def _of_group(run: Tables, group: str) -> list[str]:
    return [name for name in flow_names(run) if name.startswith(f"{group}-")]


def _flow_cuts(run: Tables, flow: str) -> list[_Cut]:
    chosen = of_flow(run, run.flow_series, flow)
    times = column(run.flow_series, "time_s")[chosen]
    delivered = column(run.flow_series, "delivered_bytes")[chosen]
    cuts = []
    timeouts = event_times(run, "timeout", flow)
    for time in event_times(run, "loss-event", flow):
        if np.any(np.abs(timeouts - time) < 1e-9):
            continue
        # Three duplicates have come. The ACK before the first of them is the fourth from the end.
        third = int(np.searchsorted(times, time + 1e-9)) - 1
        advanced = np.flatnonzero(delivered[third:] > delivered[third])
        end = times[third + advanced[0]] + WAY_BACK if advanced.size else times[-1]
        last = int(np.searchsorted(times, end))
        gaps = np.diff(times[max(third - 3, 0) : last])
        gaps = gaps[gaps > 0]
        if gaps.size >= 3:
            cuts.append(_Cut(float(time), gaps))
    return cuts


def _cuts(run: Tables, group: str) -> list[_Cut]:
    return [cut for flow in _of_group(run, group) for cut in _flow_cuts(run, flow)]


def _values(run: Tables, group: str, what: str, sensitivity: float = 1.0) -> Array:
    """The decrease, noise level or span of every cut of a group."""
    found = [_value(cut, what, sensitivity) for cut in _cuts(run, group)]
    if not found:
        raise MetricError(f"no window of group `{group}` is cut by duplicate ACKs")
    return np.array(found)


def _value(cut: _Cut, what: str, sensitivity: float) -> float:
    if what == "span":
        return interarrival.span(cut.gaps)
    if what == "noise":
        return float(interarrival.noise_level(interarrival.residual_noise(cut.gaps, UNIT), sensitivity))
    return interarrival.decrease(cut.gaps, UNIT, 0.5, sensitivity)


def captured_median(run: Tables, group: str, what: str) -> float:
    """The median decrease, noise level or span over all cuts of a group."""
    return float(np.median(_values(run, group, what)))


def captured_mean(run: Tables, group: str, what: str, sensitivity: float = 1.0) -> float:
    """The mean over all cuts of a group."""
    return float(np.mean(_values(run, group, what, sensitivity)))


def captured_deviation(run: Tables, group: str, what: str) -> float:
    """The standard deviation over all cuts of a group."""
    return float(np.std(_values(run, group, what)))


def captured_cuts(run: Tables, group: str) -> float:
    """How many cuts a group has."""
    return float(len(_cuts(run, group)))


def small_decreases(run: Tables, group: str) -> float:
    """The share of cuts with a decrease below 0.45, or 1.1 if there is none at or above it."""
    small = _values(run, group, "decrease") < 0.45
    return float(np.mean(small)) if not np.all(small) else 1.1


def significant_mean(run: Tables, group: str) -> float:
    """The mean decrease of a group, if the decrease under cross traffic is significantly larger.

    One-sided test of Mann and Whitney, p < 0.01. Without significance there is no value.
    """
    test = library("scipy.stats").mannwhitneyu
    cross, wireless = (_values(run, one, "decrease") for one in ("cross", "wireless"))
    p = float(test(cross, wireless, alternative="greater").pvalue)
    if p >= 0.01:
        raise MetricError(f"the decreases of the two groups do not differ (p = {p:.3g})")
    return captured_mean(run, group, "decrease")


def span_excess(run: Tables) -> float:
    """The median span of wireless losses less the median span of congestive losses.

    0 if not more than half of the wireless ones are above the median of the others.
    """
    cross, wireless = (_values(run, one, "span") for one in ("cross", "wireless"))
    most = bool(np.mean(wireless > np.median(cross)) > 0.5)
    return float(np.median(wireless) - np.median(cross)) if most else 0.0


def scatter(run: Tables, group: str, what: str) -> tuple[Array, Array]:
    """For every cut the number of cuts in its run, and its decrease, noise level or span."""
    x: list[float] = []
    y: list[float] = []
    for flow in _of_group(run, group):
        cuts = _flow_cuts(run, flow)
        x += [float(len(cuts))] * len(cuts)
        y += [_value(cut, what, 1.0) for cut in cuts]
    return np.array(x), np.array(y)


def _windows(run: Tables, flow: str, sensitivity: float = 1.0) -> tuple[Array, Array, Array]:
    """Times, the windows of Reno, and those that modified Reno would have had on the same trace."""
    chosen = of_flow(run, run.flow_series, flow)
    times = column(run.flow_series, "time_s")[chosen]
    windows = column(run.flow_series, "window_segments")[chosen]
    decreases = {}
    for cut in _flow_cuts(run, flow):
        index = int(np.searchsorted(times, cut.time + 1e-9)) - 1
        decreases[index] = interarrival.decrease(cut.gaps, UNIT, 0.5, sensitivity)
    timeouts = [int(np.searchsorted(times, time + 1e-9)) for time in event_times(run, "timeout", flow)]
    inside = [index for index in timeouts if index < times.size]
    return times, windows, interarrival.replayed_windows(windows, decreases, inside, RECEIVE_WINDOW)


def reno_window(run: Tables, flow: str) -> tuple[Array, Array]:
    """The window of Reno, in packets (figures 8.10 to 8.13)."""
    times, windows, _ = _windows(run, flow)
    return times, windows


def modified_window(run: Tables, flow: str, sensitivity: float = 1.0) -> tuple[Array, Array]:
    """The window of modified Reno on the trace of Reno."""
    times, _, modified = _windows(run, flow, sensitivity)
    return times, modified


def window_ratio(run: Tables, group: str) -> float:
    """The mean window of modified Reno over Reno's: the median of the runs of a group."""
    ratios = []
    for flow in _of_group(run, group):
        _, windows, modified = _windows(run, flow)
        ratios.append(float(modified.mean() / windows.mean()))
    return float(np.median(ratios))


def wireless_window_ratio(run: Tables) -> float:
    """The ratio of the wireless runs, or 0 if it is not above the ratio of the runs with cross traffic."""
    ratio = window_ratio(run, "wireless")
    return ratio if ratio > window_ratio(run, "cross") else 0.0


def _losses(run: Tables, group: str) -> Array:
    """The loss rate of each TCP flow of a group, in percent."""
    names = flow_names(run)
    rates = column(run.flows, "loss_rate")
    return 100 * np.array([rates[names.index(flow)] for flow in _of_group(run, group)])


def loss_percent(run: Tables, group: str, of: str = "mean") -> float:
    """The mean, smallest or largest loss rate of the TCP flows of a group, in percent."""
    losses = _losses(run, group)
    if of == "mean":
        return float(np.mean(losses))
    return float(np.min(losses) if of == "smallest" else np.max(losses))


def loss_of_run(run: Tables, group: str, number: int) -> float:
    """The loss rate of one run of a group, in percent."""
    return float(_losses(run, group)[int(number) - 1])


def packets_sent(run: Tables, group: str) -> float:
    """The mean number of data packets that the TCP flows of a group sent."""
    names, sent = flow_names(run), column(run.flows, "data_packets")
    return float(np.mean([sent[names.index(flow)] for flow in _of_group(run, group)]))


def wireless_loss(run: Tables) -> float:
    """The wireless loss farthest from 1 %, if each is 0.9 to 1.6 times its set probability."""
    losses = _losses(run, "wireless")
    ratios = losses / (100 * np.array(SET_LOSS))
    outside = [f"{ratio:.2f}" for ratio in ratios if not 0.9 <= ratio <= 1.6]
    if outside:
        raise MetricError(f"{len(outside)} of ten runs are {', '.join(outside)} times their setting")
    return float(losses[np.argmax(np.abs(losses - 1.0))])


def runs_above_setting(run: Tables) -> float:
    """In how many of the ten wireless runs the measured loss is above the set probability."""
    return float(np.sum(_losses(run, "wireless") > 100 * np.array(SET_LOSS)))


def _gaps(run: Tables, rate: float) -> Array:
    """Gaps below half an RTT between ACKs of all TCP flows from 5 to 60 s, in units of T_c."""
    found = []
    for flow in _of_group(run, "tcp"):
        chosen = of_flow(run, run.flow_series, flow)
        times = column(run.flow_series, "time_s")[chosen]
        gaps = np.diff(times[times >= 5.0])
        found.append(gaps[(gaps > 0) & (gaps < 0.055)])
    return np.concatenate(found) * rate / PACKET_BITS


def share_of_gaps(run: Tables, rate: float, low: float = 0.0, high: float = np.inf) -> float:
    """The share of gaps in an interval, in units of T_c."""
    gaps = _gaps(run, rate)
    return float(np.mean((gaps >= low) & (gaps < high)))


def gaps_at_multiples(run: Tables, rate: float) -> float:
    """The share of gaps within 2 % of a multiple of T_c from 2 to 5."""
    gaps = _gaps(run, rate)
    return float(sum(np.mean(np.abs(gaps / m - 1) <= 0.02) for m in range(2, 6)))


def largest_bin(run: Tables, rate: float) -> float:
    """The largest bin in the histogram of the gaps, in bins of T_c/50 and units of T_c."""
    bins = np.round(_gaps(run, rate) * 50).astype(np.int64)
    return float(np.argmax(np.bincount(bins))) / 50


def gap_width(run: Tables, rate: float) -> float:
    """From the 5th to the 95th percentile of the gaps, in units of T_c."""
    low, high = np.percentile(_gaps(run, rate), [5, 95])
    return float(high - low)


def gap_histogram(run: Tables, rate: float) -> tuple[Array, Array]:
    """The share of gaps in each bin of T_c/50, up to 6 T_c."""
    bins = np.round(_gaps(run, rate) * 50).astype(np.int64)
    counts = np.bincount(bins[bins <= 300], minlength=301) / bins.size
    return np.arange(301) / 50, counts


def conditions_met(values: Sequence[float], least: Sequence[float]) -> float:
    """How many of some values reach the least that is asked of each."""
    return float(sum(value >= low for value, low in zip(values, least, strict=True)))
