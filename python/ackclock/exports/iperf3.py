"""iperf3: the object that ``iperf3 --json`` prints, with an interval a second and a stream for each flow."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from ackclock import _engine
from ackclock.exports import series
from ackclock.metrics import Array
from ackclock.result import Run

INTERVAL_S = 1.0
FIRST_SOCKET = 5
FIRST_PORT, SERVER_PORT = 50_000, 5201
SEGMENT_BYTES = 1448
BLOCK_BYTES = 131_072
"""The bytes that iperf3 writes at once by default."""
BEGUN = {"time": "Sat, 01 Jan 2000 00:00:00 GMT", "timesecs": 946_684_800}
"""The wall-clock time at which a simulation begins, for readers that need one."""


CPU = tuple(f"{end}_{kind}" for end in ("host", "remote") for kind in ("total", "user", "system"))
"""The loads of both ends, which a simulation does not have."""


def write(run: Run, path: Path) -> None:
    """Writes the file."""
    path.write_text(json.dumps(document(run), indent=1) + "\n", "utf-8")


def document(run: Run) -> dict[str, Any]:
    """The object."""
    edges: Array = np.append(np.arange(0.0, run.duration_s - 1e-9, INTERVAL_S), run.duration_s)
    flows = run.flows.to_pylist()
    streams = [_intervals(run, row, number, edges) for number, row in enumerate(flows)]
    sockets = [stream[0]["socket"] for stream in streams]
    intervals = [{"streams": list(now), "sum": _sum(list(now))} for now in zip(*streams, strict=True)]
    whole = [_whole(stream) for stream in streams]
    return {
        "start": {
            "connected": [
                {
                    "socket": socket,
                    "local_host": "10.0.0.1", "local_port": FIRST_PORT + number,
                    "remote_host": "10.0.0.2", "remote_port": SERVER_PORT,
                }
                for number, socket in enumerate(sockets)
            ],
            "timestamp": BEGUN,
            "connecting_to": {"host": "10.0.0.2", "port": SERVER_PORT},
            "version": f"ackclock {_engine.version()}",
            "system_info": run.engine["kind"],
            "tcp_mss": SEGMENT_BYTES,
            "tcp_mss_default": SEGMENT_BYTES,
            "test_start": {
                "protocol": "TCP", "num_streams": len(flows), "blksize": BLOCK_BYTES, "omit": 0,
                "duration": run.duration_s, "bytes": 0, "blocks": 0, "reverse": 0,
            },
        },
        "intervals": intervals,
        "end": {
            "streams": [{"sender": one, "receiver": one} for one in whole],
            "sum_sent": _sum(whole),
            "sum_received": _sum(whole),
            "cpu_utilization_percent": dict.fromkeys(CPU, 0.0),
            "sender_tcp_congestion": "+".join(dict.fromkeys(str(row["cc"]) for row in flows)),
        },
    }  # fmt: skip


def _intervals(run: Run, row: dict[str, Any], number: int, edges: Array) -> list[dict[str, Any]]:
    """The intervals of one stream."""
    one = series.of_flow(run, row["flow"])
    times = one["time_s"]
    delivered = _counted(times, one["delivered_bytes"], edges)
    resent = _counted(times, one["retransmitted_packets"], edges)
    latest = np.maximum(np.searchsorted(times, edges[1:], side="right") - 1, 0)
    windows, rtts = (
        np.nan_to_num(one["window_segments"])[latest],
        np.nan_to_num(one["smoothed_rtt_ms"])[latest],
    )
    return [
        {
            "socket": FIRST_SOCKET + 2 * number,
            "start": float(start),
            "end": float(end),
            "seconds": float(end - start),
            "bytes": int(delivered[k]),
            "bits_per_second": float(delivered[k] * 8.0 / (end - start)),
            "retransmits": int(resent[k]),
            "snd_cwnd": int(windows[k] * SEGMENT_BYTES),
            "rtt": int(rtts[k] * 1e3),
            "omitted": bool(end <= run.warmup_s),
            "sender": True,
        }
        for k, (start, end) in enumerate(pairwise(edges))
    ]


def _counted(times: Array, total: Array, edges: Array) -> Array:
    """The rise of a counter between the edges."""
    return np.asarray(np.diff(np.interp(edges, times, np.nan_to_num(total), left=0.0)))


def _sum(streams: list[dict[str, Any]]) -> dict[str, Any]:
    added = {key: sum(one[key] for one in streams) for key in ("bytes", "bits_per_second", "retransmits")}
    span = {key: streams[0][key] for key in ("start", "end", "seconds")}
    return {**span, **added, "sender": True}


def _whole(stream: list[dict[str, Any]]) -> dict[str, Any]:
    """One stream from its start to its end."""
    total = {key: sum(one[key] for one in stream) for key in ("bytes", "retransmits")}
    seconds = stream[-1]["end"]
    rtts = [one["rtt"] for one in stream if one["rtt"]] or [0]
    return {
        "socket": stream[0]["socket"],
        "start": 0.0,
        "end": seconds,
        "seconds": seconds,
        **total,
        "bits_per_second": total["bytes"] * 8.0 / seconds,
        "max_snd_cwnd": max(one["snd_cwnd"] for one in stream),
        "min_rtt": min(rtts),
        "max_rtt": max(rtts),
        "mean_rtt": int(np.mean(rtts)),
        "sender": True,
    }
