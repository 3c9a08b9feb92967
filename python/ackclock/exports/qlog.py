"""qlog: a trace for each flow, which qvis shows: windows, RTT, losses, and the state of the controller.

The events are those of recovery (draft-ietf-quic-qlog-quic-events), in the form of qlog 0.3 that qvis reads.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ackclock import _engine
from ackclock.exports import series
from ackclock.result import Run

SEGMENT_BYTES = 1448
STATES = {"recovered": "congestion_avoidance", "loss-event": "recovery", "timeout": "slow_start"}
"""The state of a controller after an event of a run."""


def write(run: Run, path: Path) -> None:
    """Writes the file."""
    path.write_text(json.dumps(document(run)) + "\n", "utf-8")


def document(run: Run) -> dict[str, Any]:
    """The file as one object."""
    return {
        "qlog_version": "0.3",
        "qlog_format": "JSON",
        "title": f"{run.scenario['name']}, seed {run.seed}",
        "description": f"ackclock {_engine.version()}, {run.engine['kind']}",
        "traces": [
            {
                "title": row["name"],
                "vantage_point": {"type": "client", "name": row["name"]},
                "common_fields": {"time_format": "relative", "reference_time": 0, "protocol_type": ["TCP"]},
                "events": sorted(_events(run, row["flow"]), key=lambda event: float(event["time"])),
            }
            for row in run.flows.to_pylist()
        ],
    }


def _events(run: Run, flow: int) -> Iterator[dict[str, Any]]:
    one = series.of_flow(run, flow)
    for k, time in enumerate(one["time_s"]):
        metrics = {
            "congestion_window": _whole(one["window_segments"][k], SEGMENT_BYTES),
            "bytes_in_flight": _whole(one["in_flight_segments"][k], SEGMENT_BYTES),
            "ssthresh": _whole(one["threshold_segments"][k], SEGMENT_BYTES),
            "latest_rtt": _number(one["latest_rtt_ms"][k]),
            "smoothed_rtt": _number(one["smoothed_rtt_ms"][k]),
            "min_rtt": _number(one["min_rtt_ms"][k]),
            "pacing_rate": _whole(one["pacing_rate_bps"][k], 1),
        }
        known = {name: value for name, value in metrics.items() if value is not None}
        yield _event(time, "recovery:metrics_updated", known)
    for row in run.events.to_pylist():
        if row["flow"] != flow:
            continue
        if row["kind"] == "deemed-lost":
            header = {"packet_type": "1RTT", "packet_number": row["sequence"]}
            yield _event(row["time_s"], "recovery:packet_lost", {"header": header})
        elif row["kind"] in STATES:
            new = {"new": STATES[row["kind"]], "trigger": row["kind"]}
            yield _event(row["time_s"], "recovery:congestion_state_updated", new)


def _event(time: float, name: str, data: dict[str, Any]) -> dict[str, Any]:
    return {"time": round(float(time) * 1e3, 6), "name": name, "data": data}


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _whole(value: float, unit: int) -> int | None:
    return round(float(value) * unit) if math.isfinite(value) else None
