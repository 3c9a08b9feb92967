"""The delays of recorded datagrams and frames in numbers, as summaries of a run have them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ackclock.metrics.calls import one_way_delays
from ackclock.metrics.tables import Array, MetricError, Recorded, percentile_of
from ackclock.metrics.video import freeze_times, media_loss, video_frames


def arrivals(run: Recorded, flow: str) -> dict[str, Any]:
    """One-way delays and frames of a flow: of datagrams if any arrived, of frames if any were captured.

    ``one_way_delay_ms`` has the percentiles ``p50``, ``p95`` and ``p99`` of all datagrams that arrived, and
    ``frame_delay_ms`` those of completed frames, from capture to completion (None without). ``media_loss``
    is the loss after repair, and ``frame_loss`` the share of frames that were not shown. ``freezes`` and
    ``frozen_s`` are the number of freezes and their length.
    """
    found: dict[str, Any] = {}
    try:
        found["one_way_delay_ms"] = _percentiles(one_way_delays(run, flow)[1])
        captured, complete, shown = video_frames(run, flow, None, None)
    except MetricError:
        return found
    arrived = ~np.isnan(complete)
    frozen = freeze_times(captured, shown)
    return found | {
        "frame_delay_ms": _percentiles((complete - captured)[arrived] * 1e3) if arrived.any() else None,
        "media_loss": media_loss(run, flow),
        "frame_loss": float(np.isnan(shown).mean()),
        "freezes": int(frozen.size),
        "frozen_s": float(frozen.sum()),
    }


def _percentiles(values: Array) -> dict[str, float]:
    return {f"p{percent}": percentile_of(values, percent) for percent in (50, 95, 99)}
