"""Chapter 2 of Edwan 2010, measured: the course of standard TCP (figure 2.6), each condition 1 or 0."""

from collections.abc import Sequence

import numpy as np

from ackclock.metrics import Array, MetricError, Tables, column, event_times, flow_names, samples


def _rounds(run: Tables, start: float, stop: float) -> Array:
    """The window at the end of each RTT between two times."""
    flow = flow_names(run)[0]
    times, windows = samples(run, flow, "window")
    _, rtts = samples(run, flow, "smoothed_rtt")
    found, now = [], start
    while now < stop:
        index = min(int(np.searchsorted(times, now)), times.size - 1)
        found.append(windows[index])
        now += rtts[index] / 1e3 if np.isfinite(rtts[index]) else 0.1
    return np.array(found)


def growth_in_slow_start(run: Tables) -> float:
    """1 if the window grows 1.8 to 2.2 times in each of the rounds 2 to 5."""
    windows = _rounds(run, 0.15, 0.7)[:5]
    growth = windows[1:] / windows[:-1]
    return float(np.all((growth >= 1.8) & (growth <= 2.2)))


def growth_in_avoidance(run: Tables) -> float:
    """1 if the window grows 0.9 to 1.1 packets in a round between the losses after the third.

    Least squares over the rounds of each epoch.
    """
    flow = flow_names(run)[0]
    recovered = event_times(run, "recovered", flow)[3:]
    losses = event_times(run, "loss-event", flow)
    slopes = []
    for begin in recovered:
        later = losses[losses > begin]
        if later.size:
            windows = _rounds(run, begin + 0.1, later[0])
            slopes.append(np.polyfit(np.arange(windows.size), windows, 1)[0])
    return float(bool(slopes) and all(0.9 <= slope <= 1.1 for slope in slopes))


def halvings(run: Tables) -> float:
    """1 if each fast retransmit leaves 0.45 to 0.55 of the window."""
    flow = flow_names(run)[0]
    times, windows = samples(run, flow, "window")
    ratios = []
    for begin, end in zip(
        event_times(run, "loss-event", flow), event_times(run, "recovered", flow), strict=False
    ):
        before = windows[np.searchsorted(times, begin) - 1]
        after = windows[min(int(np.searchsorted(times, end + 1e-9)), times.size - 1)]
        ratios.append(after / before)
    return float(bool(ratios) and all(0.45 <= ratio <= 0.55 for ratio in ratios))


def restarts_from_one(run: Tables) -> float:
    """1 if a timeout leaves a window of one packet."""
    flow = flow_names(run)[0]
    times, windows = samples(run, flow, "window")
    timeouts = event_times(run, "timeout", flow)
    after = [windows[int(np.searchsorted(times, one + 1e-9))] for one in timeouts]
    return float(bool(after) and all(window <= 1.0 + 1e-9 for window in after))


def barrier_goodput(run: Tables, size: float) -> float:
    """The answers of all servers over the time until the last is complete, in bit/s."""
    done = column(run.flows, "completion_s")
    if np.any(np.isnan(done)):
        raise MetricError("not all answers are complete")
    last = float(np.max(column(run.flows, "start_s") + done))
    return float(done.size * size * 8 / last)


def over_largest(value_of: Sequence[float], every: Sequence[float]) -> float:
    """A value over the largest of several."""
    return value_of[0] / max(every)


def granted_and_not(granted: Sequence[float], otherwise: Sequence[float]) -> float:
    """The share of the granted rate that is used, 0 if the flow without a grant uses 0.2 of it or more."""
    return granted[0] if otherwise[0] < 0.2 else 0.0
