"""Recoveries: how a sender gets from the window before a loss to the one after it (RFC 9937).

Series must have a row for each ACK (``record.flow_series = "1ack"``): a row counts the packets that have left
by then.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ackclock.metrics.registry import metric
from ackclock.metrics.tables import Array, MetricError, Tables, column, is_one_of, of_flow, within

LEAST_ROWS = 8
"""ACKs of a recovery that has a pace."""


@metric
def recovery_pause(run: Tables, flow: str, start: float | None = None, stop: float | None = None) -> float:
    """The longest time without a departure in any recovery, as a share of the RTT.

    A sender that waits until half its window has left the path pauses for half an RTT.
    """
    return max(_pause(one) for one in _recoveries(run, flow, start, stop))


@metric
def recovery_burst(run: Tables, flow: str, start: float | None = None, stop: float | None = None) -> float:
    """The most packets that leave at one ACK of a recovery, after its first."""
    return max(float(np.max(np.diff(one["sent_packets"])[1:])) for one in _recoveries(run, flow, start, stop))


@metric
def recovery_target(run: Tables, flow: str, start: float | None = None, stop: float | None = None) -> float:
    """The data in flight at the end of a recovery over the slow-start threshold: the median of all."""
    ends = [
        one["in_flight_segments"][-1] / one["threshold_segments"][-1]
        for one in _recoveries(run, flow, start, stop)
    ]
    return float(np.median(ends))


COLUMNS = ("time_s", "sent_packets", "in_flight_segments", "threshold_segments", "smoothed_rtt_ms")


def _recoveries(run: Tables, flow: str, start: float | None, stop: float | None) -> list[dict[str, Array]]:
    """The rows of each recovery and the one before it. Raises MetricError if there is none."""
    found = list(_stretches(run, flow, start, stop))
    if not found:
        raise MetricError(f"flow `{flow}` has no recovery with {LEAST_ROWS} ACKs in the interval")
    return found


def _stretches(run: Tables, flow: str, start: float | None, stop: float | None) -> Iterator[dict[str, Array]]:
    series = run.flow_series.filter(of_flow(run, run.flow_series, flow))
    columns = {name: column(series, name) for name in COLUMNS}
    inside = is_one_of(series, "state", ["recovery"])
    bounds = np.flatnonzero(np.diff(np.concatenate(([0], inside.astype(int), [0]))))
    for first, end in zip(bounds[::2], bounds[1::2], strict=True):
        # The last recovery of a run may be cut off.
        whole = end < len(inside) and first > 0 and end - first >= LEAST_ROWS
        if whole and within(columns["time_s"][first:end], start, stop).all():
            yield {name: values[first - 1 : end] for name, values in columns.items()}


def _pause(rows: dict[str, Array]) -> float:
    times, sent = rows["time_s"], rows["sent_packets"]
    departures = np.concatenate((times[:1], times[1:][np.diff(sent) > 0], times[-1:]))
    return float(np.max(np.diff(departures)) / (rows["smoothed_rtt_ms"][0] / 1e3))
