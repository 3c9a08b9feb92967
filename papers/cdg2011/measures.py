"""Measures of Hayes and Armitage 2011 for which the language of claims has no word."""

import numpy as np
import numpy.typing as npt

from ackclock.metrics import (
    Array,
    PerEvent,
    Tables,
    event_times,
    events_of,
    flow_names,
    interval,
    latest,
    samples,
)


def _intervals(run: Tables, flow: str, start: float) -> tuple[Array, Array]:
    """Begin and end (s) of the measured intervals in congestion avoidance and outside loss recovery.

    FreeBSD takes a window at the threshold for slow start. An interval with a delay back-off is left out.
    """
    times, count = samples(run, flow, "interval")
    ends = times[np.flatnonzero(np.diff(count) > 0) + 1]
    begin, end = ends[:-1], ends[1:]
    avoiding = latest(run, flow, "window", begin) > latest(run, flow, "threshold", begin)
    steady = latest(run, flow, "backoffs", begin) == latest(run, flow, "backoffs", end)
    kept = (begin >= start) & avoiding & steady & ~_recovering(run, flow, begin, end)
    return begin[kept], end[kept]


def _recovering(run: Tables, flow: str, begin: Array, end: Array) -> npt.NDArray[np.bool_]:
    """True for each interval that a loss recovery overlaps."""
    losses = event_times(run, ("loss-event", "timeout"), flow)
    recovered = np.append(event_times(run, "recovered", flow), np.inf)
    over = np.append(recovered[np.searchsorted(recovered, losses)], -np.inf)
    # The last loss up to the end of the interval. The one before any loss is over.
    return np.asarray(over[np.searchsorted(losses, end, side="right") - 1] >= begin)


def window_growth(run: Tables, flow: str, start: float) -> PerEvent:
    """Growth of the window (packets) in each interval of congestion avoidance."""
    begin, end = _intervals(run, flow, start)
    return PerEvent(latest(run, flow, "window", end) - latest(run, flow, "window", begin))


def _shadow(run: Tables, flow: str, start: float) -> tuple[Array, Array]:
    """The shadow window at begin and end of the intervals of `_intervals` in which the window grows."""
    begin, end = _intervals(run, flow, start)
    grows = latest(run, flow, "window", end) > latest(run, flow, "window", begin)
    name = "shadow_window"
    return latest(run, flow, name, begin[grows]), latest(run, flow, name, end[grows])


def shadow_growth(run: Tables, flow: str, start: float) -> PerEvent:
    """Growth of the shadow window (packets), where there is one, while the window grows."""
    before, after = _shadow(run, flow, start)
    there = (before > 0) & (after > 0)
    return PerEvent(after[there] - before[there])


def without_shadow(run: Tables, flow: str, start: float) -> PerEvent:
    """1 for an interval in which the window grows without a shadow window at its begin or end, else 0."""
    before, after = _shadow(run, flow, start)
    return PerEvent(((before == 0) | (after == 0)).astype(np.float64))


def _overtaken(run: Tables, flow: str, start: float) -> tuple[Array, Array]:
    """Times (s) before and after the losses that count as congestion and meet a shadow above the window."""
    times, count = samples(run, flow, "losses_congestion")
    steps = np.flatnonzero(np.diff(count) > 0) + 1
    before, after = times[steps - 1], times[steps]
    above = latest(run, flow, "shadow_window", before) > latest(run, flow, "window", before)
    kept = (after >= start) & above
    return before[kept], after[kept]


def window_after_recovery(run: Tables, flow: str, start: float, divisor: str) -> PerEvent:
    """The window after the recovery from a loss that counts as congestion, over a signal before the loss."""
    before, after = _overtaken(run, flow, start)
    recovered = np.append(event_times(run, "recovered", flow), np.inf)
    # A recovery that the run does not see ends as it begins.
    ends = recovered[np.searchsorted(recovered, after)]
    ends = np.where(np.isfinite(ends), ends, after)
    return PerEvent(latest(run, flow, "window", ends) / latest(run, flow, divisor, before))


def congestion_losses(run: Tables, flow: str, start: float) -> float:
    """How many losses count as congestion and meet a shadow window above the window."""
    return float(_overtaken(run, flow, start)[0].size)


def rtt_at_losses(run: Tables, start: float, stop: float) -> PerEvent:
    """The last RTT sample (ms) of the sender before it detects a loss, for each loss event of every flow."""
    begin, end = interval(run, start, stop)
    found: list[float] = []
    for flow in flow_names(run):
        # A segment that is deemed lost carries the latest RTT sample. The first one makes the event.
        times, rtts = events_of(run, "deemed-lost", flow, begin, end)
        losses = event_times(run, "loss-event", flow, begin, end)
        first = np.searchsorted(times, losses, side="left")
        found += rtts[first[first < times.size]].tolist()
    return PerEvent(np.array(found))


def near_full_queue(run: Tables, full: float, within: float, start: float, stop: float) -> PerEvent:
    """For each loss event 1 if its RTT is within a share of the RTT with a full queue (s), else 0."""
    rtts = rtt_at_losses(run, start, stop).values
    near = np.abs(rtts / (full * 1e3) - 1.0) <= within
    return PerEvent(near.astype(np.float64))
