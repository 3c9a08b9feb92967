"""Measures of the open questions for which the language of claims has no word."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ackclock import interarrival
from ackclock.discriminators import Delays
from ackclock.metrics import Array, MetricError, Tables, column, event_times, of_flow, samples

UNIT = 8320 / 3e6
"""T: a packet of 1000 bytes of payload and 40 of headers on the bottleneck of ``discrimination``, in s."""
WAY_BACK = 0.055
"""How long an ACK takes there, in s."""
DUPLICATES = 3
"""The duplicate ACK that shows a loss, as forward acknowledgement is off."""


class _Loss(NamedTuple):
    """A loss that duplicate ACKs have shown."""

    cause: str
    """The kind of its event: ``lost`` or ``drop``."""
    lost: int
    """Lost segments up to the first that arrived."""
    first: int
    """The row of the first duplicate ACK in the series."""
    gaps: Array
    """Times between the ACKs from the last before it on, in s."""


def _losses(run: Tables, flow: str, times: Array, delivered: Array) -> Iterator[_Loss]:
    kinds, at = np.array(run.events["kind"].to_pylist()), column(run.events, "time_s")
    own = of_flow(run, run.events, flow)
    numbers = run.events["sequence"].to_pylist()
    fates: dict[int, str] = {}
    """The latest fate of each segment."""
    timeouts = set(event_times(run, "timeout", flow).tolist())
    deemed: dict[float, int] = {}
    for row in np.flatnonzero(own).tolist():
        kind, time, number = str(kinds[row]), float(at[row]), numbers[row]
        if kind in ("drop", "lost"):
            fates[number] = kind
        elif kind == "deemed-lost":
            deemed.setdefault(time, number)
        elif kind == "loss-event" and time not in timeouts and time in deemed:
            lost = 1
            while deemed[time] + lost in fates:
                lost += 1
            third = int(np.searchsorted(times, time + 1e-9)) - 1
            first = third - DUPLICATES + 1
            advanced = np.flatnonzero(delivered[third:] > delivered[third])
            end = times[third + advanced[0]] + WAY_BACK if advanced.size else times[-1]
            gaps = np.diff(times[max(first - 1, 0) : int(np.searchsorted(times, end))])
            if first > 0 and deemed[time] in fates and np.sum(gaps > 0) >= DUPLICATES:
                yield _Loss(fates[deemed[time]], lost, first, gaps)


def named_rightly(run: Tables, flow: str, rule: str, cause: str) -> float:
    """The share of the losses of a flow by ``cause`` (``lost`` or ``drop``) that a rule names rightly.

    The rules are ``edwan`` and those of ``ackclock.discriminators``. Losses count that three duplicate ACKs
    have shown.
    """
    chosen = of_flow(run, run.flow_series, flow)
    times, delivered, rtts = (
        column(run.flow_series, name)[chosen] for name in ("time_s", "delivered_bytes", "latest_rtt_ms")
    )
    delays = Delays(times, rtts)
    right = []
    for loss in _losses(run, flow, times, delivered):
        if loss.cause != cause:
            continue
        if rule == "edwan":
            is_error = interarrival.differentiate(loss.gaps[loss.gaps > 0], UNIT).wireless
        else:
            is_error = delays.told(float(times[loss.first]), float(loss.gaps[0]), loss.lost, UNIT)[rule]
        right.append(is_error == (cause == "lost"))
    if not right:
        raise MetricError(f"no loss of flow `{flow}` by `{cause}` was shown by duplicate ACKs")
    return float(np.mean(right))


def back_offs_in_recovery(run: Tables, flow: str) -> float:
    """CDG's back-offs a second in recovery, over those a second outside.

    Series and probes have rows at the same times. A back-off belongs to the state at the end of its interval.
    """
    chosen = of_flow(run, run.flow_series, flow)
    states = np.array(run.flow_series["state"].to_pylist())[chosen]
    _, counts = samples(run, flow, "backoffs")
    rows = min(states.size, counts.size)
    in_recovery, new = states[:rows] == "recovery", np.diff(counts[:rows], prepend=0.0)
    if in_recovery.all() or not in_recovery.any():
        raise MetricError(f"flow `{flow}` has no rows in recovery, or none outside")
    return float(new[in_recovery].mean() / new[~in_recovery].mean())
