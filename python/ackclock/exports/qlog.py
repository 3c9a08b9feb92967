"""qlog: a trace for each flow, which qvis shows: windows, RTT, losses, and the state of the controller.

The events follow draft-ietf-quic-qlog-quic-events, in the form of qlog 0.3 that qvis reads. A run has
samples, not packets: a packet of the trace is all that was sent between two samples. It is acknowledged by
the first sample by which as many packets have left the network.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc

from ackclock import _engine
from ackclock.exports import series
from ackclock.metrics import Array, column
from ackclock.result import Run

SEGMENT_BYTES = 1448
ACK_BYTES = 52
STATES = {"recovered": "congestion_avoidance", "loss-event": "recovery", "timeout": "slow_start"}
"""The state of a controller after an event of a run."""
_STATE = re.compile(r"(\d+) ([^,]+)")
_STATES = re.compile(rf"{_STATE.pattern}(, {_STATE.pattern})+")
"""The meaning of a probe that is a state: ``1 Startup, 2 Drain``."""


def write(run: Run, path: Path) -> None:
    """Writes the file."""
    path.write_text(json.dumps(document(run)) + "\n", "utf-8")


def document(run: Run) -> dict[str, Any]:
    """The file as one object."""
    protocol = "QUIC" if run.engine["kind"].startswith("quic") else "TCP"
    return {
        "qlog_version": "0.3",
        "qlog_format": "JSON",
        "title": f"{run.scenario['name']}, seed {run.seed}",
        "description": f"ackclock {_engine.version()}, {run.engine['kind']}",
        "traces": [
            {
                "title": row["name"],
                "vantage_point": {"type": "client", "name": row["name"]},
                "common_fields": {
                    "time_format": "relative",
                    "reference_time": 0,
                    "protocol_type": [protocol],
                },
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
    lost: set[int] = set()
    new_data = one["sent_packets"] - one["retransmitted_packets"]
    for row in run.events.to_pylist():
        if row["flow"] != flow:
            continue
        if row["kind"] == "deemed-lost":
            number = int(np.searchsorted(new_data, row["sequence"], side="right"))
            if number < new_data.size:
                lost.add(number)
                yield _event(row["time_s"], "recovery:packet_lost", {"header": _header(number)})
        elif row["kind"] in STATES:
            new = {"new": STATES[row["kind"]], "trigger": row["kind"]}
            yield _event(row["time_s"], "recovery:congestion_state_updated", new)
    yield from _packets(one, lost)
    yield from _phases(run, flow)


def _phases(run: Run, flow: int) -> Iterator[dict[str, Any]]:
    """New states of a controller whose probes have them, by the names in its registry entry."""
    cc = next(row["cc"] for row in run.flows.to_pylist() if row["flow"] == flow)
    for one in (probe for known in _engine.controllers() if known["name"] == cc for probe in known["probes"]):
        if not _STATES.fullmatch(one["meaning"]):
            continue
        names = {float(number): name for number, name in _STATE.findall(one["meaning"])}
        own = run.probes.filter((pc.field("flow") == flow) & (pc.field("name") == one["name"]))
        times, values = column(own, "time_s"), column(own, "value")
        for row in np.flatnonzero(np.diff(values, prepend=np.nan)):
            new = {"new": names[float(values[row])], "trigger": one["name"]}
            yield _event(times[row], "recovery:congestion_state_updated", new)


def _packets(one: Mapping[str, Array], lost: set[int]) -> Iterator[dict[str, Any]]:
    """One packet for all data sent up to a sample, and ACKs for packets that have left the network."""
    sent = np.nan_to_num(one["sent_packets"])
    left = sent - np.nan_to_num(one["in_flight_segments"])
    acknowledged = 0
    for number, (time, new) in enumerate(zip(one["time_s"], np.diff(sent, prepend=0.0), strict=True)):
        if new >= 1.0:
            raw = {"length": round(float(new)) * SEGMENT_BYTES}
            yield _event(time, "transport:packet_sent", {"header": _header(number), "raw": raw, "frames": []})
        gone = int(np.searchsorted(sent, left[number], side="right"))
        if gone > acknowledged:
            if ranges := _without(acknowledged, gone, lost):
                ack = {"frame_type": "ack", "acked_ranges": ranges}
                data = {"header": _header(number), "raw": {"length": ACK_BYTES}, "frames": [ack]}
                yield _event(time, "transport:packet_received", data)
            acknowledged = gone


def _without(first: int, end: int, lost: set[int]) -> list[list[int]]:
    """The ranges of the numbers from ``first`` to before ``end`` that are not among ``lost``."""
    missing = sorted(one for one in lost if first <= one < end)
    begins, ends = [first, *(one + 1 for one in missing)], [*(one - 1 for one in missing), end - 1]
    return [[low, high] for low, high in zip(begins, ends, strict=True) if low <= high]


def _header(number: int) -> dict[str, Any]:
    return {"packet_type": "1RTT", "packet_number": number}


def _event(time: float, name: str, data: dict[str, Any]) -> dict[str, Any]:
    return {"time": round(float(time) * 1e3, 6), "name": name, "data": data}


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _whole(value: float, unit: int) -> int | None:
    return round(float(value) * unit) if math.isfinite(value) else None
