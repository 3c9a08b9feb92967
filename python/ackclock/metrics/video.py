"""Video: delay, lateness and freezes of the frames of a flow of media, and the jitter of its packets.

All but the jitter is computed from the table ``video_frames`` (``record.datagrams``). Frames that were
captured within the last second of the run may still be on their way, and do not count.
"""

from __future__ import annotations

import numpy as np

from ackclock.metrics.calls import one_way_delays
from ackclock.metrics.registry import metric
from ackclock.metrics.tables import Array, MetricError, Recorded, column, of_flow, percentile_of, within

UNDER_WAY_S = 1.0
"""Frames younger than this at the end of the run may still be on their way."""

FREEZE_MS = 150.0
"""A freeze is three times the mean time between frames, or that and 150 ms (webrtc-stats, freezeCount)."""


def video_frames(
    run: Recorded, flow: str, start: float | None, stop: float | None
) -> tuple[Array, Array, Array]:
    """When the frames of a flow were captured, complete and shown (s, NaN for never).

    Raises MetricError if there are none in the interval, or none is recorded.
    """
    table = run.table("video_frames")
    own = of_flow(run, table, flow)
    captured, complete, shown = (column(table, name)[own] for name in ("captured_s", "complete_s", "shown_s"))
    inside = within(captured, start, stop)
    if captured.size:
        inside &= captured <= captured.max() - UNDER_WAY_S
    if not inside.any():
        raise MetricError(f"`{flow}` has no frame there, or `record.datagrams = true` is missing")
    return captured[inside], complete[inside], shown[inside]


def frame_delays(run: Recorded, flow: str, start: float | None, stop: float | None) -> Array:
    """The times from the capture of a frame to its completion (ms), of those completed.

    Raises MetricError if none was.
    """
    captured, complete, _ = video_frames(run, flow, start, stop)
    arrived = ~np.isnan(complete)
    if not arrived.any():
        raise MetricError(f"no frame of `{flow}` was completed")
    delays: Array = (complete - captured)[arrived] * 1e3
    return delays


@metric
def frame_delay_percentile(
    run: Recorded, percentile: float, flow: str, start: float | None = None, stop: float | None = None
) -> float:
    """A percentile of the times from the capture of a frame to its completion (ms), of those completed."""
    return percentile_of(frame_delays(run, flow, start, stop), percentile)


@metric
def frame_delay_mean(
    run: Recorded, flow: str, start: float | None = None, stop: float | None = None
) -> float:
    """The mean of the times from the capture of a frame to its completion (ms), of those completed."""
    return float(frame_delays(run, flow, start, stop).mean())


@metric
def frame_loss(run: Recorded, flow: str, start: float | None = None, stop: float | None = None) -> float:
    """The share of the frames of a flow that were not shown: incomplete after repair, or not decodable."""
    _, _, shown = video_frames(run, flow, start, stop)
    return float(np.isnan(shown).mean())


@metric
def media_loss(run: Recorded, flow: str, start: float | None = None, stop: float | None = None) -> float:
    """The share of the bytes of a flow's frames that were never complete: the loss after repair and FEC."""
    table = run.table("video_frames")
    own = of_flow(run, table, flow)
    captured, complete, _ = video_frames(run, flow, start, stop)
    sizes = column(table, "bytes")[own][np.isin(column(table, "captured_s")[own], captured)]
    return float(sizes[np.isnan(complete)].sum() / sizes.sum())


@metric
def frames_late(
    run: Recorded, flow: str, deadline: float, start: float | None = None, stop: float | None = None
) -> float:
    """The share of the frames of a flow that were not shown within ``deadline`` seconds of their capture."""
    captured, _, shown = video_frames(run, flow, start, stop)
    # A comparison with NaN is false: a frame that was never shown counts.
    return 1.0 - float((shown - captured <= deadline + 1e-9).mean())


@metric
def freezes(run: Recorded, flow: str, start: float | None = None, stop: float | None = None) -> float:
    """How often the picture froze (webrtc-stats, freezeCount)."""
    return float(_freezes(run, flow, start, stop).size)


@metric
def frozen_time(run: Recorded, flow: str, start: float | None = None, stop: float | None = None) -> float:
    """How long the picture was frozen in all (s): the sum of the times between frames that are freezes."""
    return float(_freezes(run, flow, start, stop).sum())


def _freezes(run: Recorded, flow: str, start: float | None, stop: float | None) -> Array:
    captured, _, shown = video_frames(run, flow, start, stop)
    return freeze_times(captured, shown)


def freeze_times(captured: Array, shown: Array) -> Array:
    """The times between two shown frames (s) that are freezes."""
    times = np.diff(np.sort(shown[~np.isnan(shown)]))
    mean = float(np.diff(captured).mean()) if captured.size > 1 else 0.0
    return times[times >= max(3.0 * mean, mean + FREEZE_MS / 1e3)]


@metric
def packet_jitter(run: Recorded, flow: str) -> float:
    """The jitter of RFC 3550 at the last packet of a flow (ms): J += (|D| - J)/16 in the order of sending."""
    delays = one_way_delays(run, flow)[1]
    jitter = 0.0
    for difference in np.abs(np.diff(delays)):
        jitter += (float(difference) - jitter) / 16.0
    return jitter
