"""A run written by hand, small enough to work every number out on paper.

Ten seconds on a link of 8 Mbit/s. Flow ``a`` delivers 500 000 bytes a second throughout. Flow ``b`` starts at
4 s, delivers 250 000 bytes a second until 6 s and 500 000 after. The RTT of ``a`` climbs from 40 ms by 10 ms
a second, and the RTT of ``b`` is 60 ms. Each packet has 1000 bytes, and none is sent twice.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa


@dataclass(frozen=True)
class Handmade:
    """The tables of a run."""

    flows: pa.Table
    links: pa.Table
    flow_series: pa.Table
    link_series: pa.Table
    probes: pa.Table
    events: pa.Table


def handmade() -> Handmade:
    """The run described above."""
    return Handmade(
        flows=pa.table(
            {
                "flow": pa.array([0, 1], pa.uint32()),
                "name": ["a", "b"],
                "cc": ["newreno", "cdg"],
                "start_s": [0.0, 4.0],
                "stop_s": [10.0, 10.0],
                "base_rtt_ms": [40.0, 50.0],
                "goodput_bps": [4.0e6, 2.0e6],
                "throughput_bps": [4.4e6, 2.2e6],
                "data_packets": [3000, 1000],
                "loss_rate": [0.01, 0.05],
                "rtt_mean_ms": [90.0, 60.0],
                "rtt_p50_ms": [90.0, 60.0],
                "measured_s": [10.0, 6.0],
            }
        ),
        links=pa.table(
            {
                "link": pa.array([0, 1], pa.uint32()),
                "name": ["bottleneck:reverse", "bottleneck"],
                "rate_bps": pa.array([None, 8.0e6], pa.float64()),
                "is_bottleneck": [False, True],
                "utilization": [0.0, 0.75],
                "busy_share": [0.0, 0.8],
                "queue_packets_mean": [0.0, 12.0],
                "queue_delay_max_ms": [0.0, 100.0],
                "packet_queue_delay_p95_ms": pa.array([None, 90.0], pa.float64()),
            }
        ),
        flow_series=_flow_series(),
        link_series=_link_series(),
        probes=_probes(),
        events=events(
            [
                (2.5, "drop", 0, 83.0),
                (3.5, "drop", 0, 84.0),
                (4.5, "drop", 0, None),
                (5.0, "deemed-lost", 1, 140.0),
            ]
        ),
    )


def _flow_series() -> pa.Table:
    seconds = np.arange(11.0)
    delivered_a = seconds * 500_000
    delivered_b = np.array([0, 0, 0, 0, 0, 250, 500, 1000, 1500, 2000, 2500]) * 1000.0
    delivered = np.concatenate([delivered_a, delivered_b]).astype("uint64")
    packets = pa.array(delivered // 1000)
    window = np.array([10, 11, 12, 8.4, 9.4, 10.4, 10.4, 10.4, 10.4, 10.4, 10.4])
    return pa.table(
        {
            "time_s": np.concatenate([seconds, seconds]),
            "flow": pa.array([0] * 11 + [1] * 11, pa.uint32()),
            "delivered_bytes": pa.array(delivered),
            "arrived_packets": packets,
            "arrived_bytes": pa.array(delivered // 1000 * 1500),
            "sent_packets": packets,
            "window_segments": np.concatenate([window, window]),
            "latest_rtt_ms": pa.array([*(40 + 10 * seconds), *[None] * 5, *[60.0] * 6], pa.float64()),
            "smoothed_rtt_ms": [500.0] * 22,
            "base_rtt_ms": [40.0] * 11 + [50.0] * 11,
        }
    )


def _link_series() -> pa.Table:
    seconds = np.arange(11.0)
    return pa.table(
        {
            "time_s": seconds,
            "link": pa.array([1] * 11, pa.uint32()),
            "queue_packets": pa.array(range(11), pa.uint32()),
            "departed_bytes": pa.array([750_000 * i for i in range(11)], pa.uint64()),
            "capacity_bytes": [1e6 * i for i in range(11)],
        }
    )


def events(rows: list[tuple[float, str, int, float | None]]) -> pa.Table:
    """A table of events at the bottleneck from time, kind, flow and value of each."""
    times, kinds, flows, values = zip(*rows, strict=True)
    return pa.table(
        {
            "time_s": pa.array(times, pa.float64()),
            "kind": pa.array(kinds).dictionary_encode(),
            "flow": pa.array(flows, pa.uint32()),
            "link": pa.array([1] * len(rows), pa.uint32()),
            "value": pa.array(values, pa.float64()),
        }
    )


def _probes() -> pa.Table:
    series = {
        "interval": [0, 1, 2, 3, 4, 5],
        "backoffs": [0, 0, 0, 1, 1, 1],
        "shadow_window": [10, 11, 12, 12, 13, 14],
        "raw_max": [2, 2, 2, 0, 0, 0],
        "raw_min": [2, 2, 2, 2, 2, 0],
        "queue_state": [3, 3, 3, 1, 1, 1],
    }
    names = [name for name, values in series.items() for _ in values]
    return pa.table(
        {
            "time_s": [float(t) for values in series.values() for t in range(len(values))],
            "flow": pa.array([0] * len(names), pa.uint32()),
            "name": pa.array(names).dictionary_encode(),
            "value": [float(v) for values in series.values() for v in values],
        }
    )
