"""The first page of a report: its numbers are those that NumPy gave for the same tables."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from ackclock.overview import overview

GOLDEN = Path(__file__).with_name("overview.json")
"""Sentences, and every 25th value of each curve, to eleven digits."""
STEP = 25


class Made:
    """Tables from a few remainders: the simulator may change, these stay.

    Flows are sampled twice a second for 20 s, and packets have 500 bytes. The second one starts at 3.5 s.
    The link doubles its rate at 8 s.
    """

    duration_s = 20.0
    warmup_s = 2.0

    def __init__(self, seed: int, controllers: list[str], names: list[str]) -> None:
        self.scenario = {
            "path": {"rate": "8mbit", "rtt": "40ms", "queue": {"limit": "0.75bdp"}},
            "flows": [{"cc": cc} for cc in controllers],
        }
        self._flows = range(len(controllers))
        self.routes = [[0] for _ in controllers]
        series = self._flow_series(seed)
        self._tables = {
            "flows": self._rows(seed, controllers, names, series),
            "links": self._links(seed),
            "flow_series": series,
            "link_series": self._link_series(seed),
            "events": self._events(seed),
        }

    def table(self, name: str) -> pa.Table:
        return self._tables[name]

    flows = property(lambda self: self.table("flows"))

    def _rows(self, seed, controllers, names, series):
        edges = [one for one in series.to_pylist() if one["time_s"] in (2.0, 20.0)]
        arrived = [[one["arrived_packets"] for one in edges if one["flow"] == flow] for flow in self._flows]
        measured = [16.5 if flow == 1 else 18.0 for flow in self._flows]
        goodput = [1e6 + 1e5 * (flow * 7 % 5) + 1e4 * seed for flow in self._flows]
        short = [0.4 + 0.13 * (flow * 5 % 11) + 0.01 * seed for flow in self._flows]
        return pa.table(
            {
                "flow": pa.array(self._flows, pa.uint32()),
                "name": names,
                "cc": controllers,
                "start_s": [3.5 if flow == 1 else 0.0 for flow in self._flows],
                "stop_s": [20.0 for _ in self._flows],
                "measured_s": measured,
                "throughput_bps": [
                    500 * 8 * (counts[-1] - (counts[0] if len(counts) > 1 else 0)) / life
                    for counts, life in zip(arrived, measured, strict=True)
                ],
                "base_rtt_ms": [40.0 for _ in self._flows],
                "delivered_bytes": pa.array([12_000 * (flow + 1) ** 2 for flow in self._flows], pa.uint64()),
                "goodput_bps": goodput,
                "data_packets": pa.array([1000 + flow for flow in self._flows], pa.uint64()),
                "loss_rate": [0.001 * (flow + seed) for flow in self._flows],
                "rtt_p50_ms": [45.0 + 1.7 * flow + seed for flow in self._flows],
                "completion_s": pa.array(
                    [short[flow] if flow % 3 == 2 else None for flow in self._flows], pa.float64()
                ),
            }
        )

    def _links(self, seed):
        return pa.table(
            {
                "link": pa.array([0, 1], pa.uint32()),
                "name": ["forth", "back"],
                "is_bottleneck": [True, False],
                "rate_bps": pa.array([8e6, None], pa.float64()),
                "utilization": [0.5, 0.0],
                "throughput_bps": [4e6, 0.0],
                "queue_delay_mean_ms": pa.array([12.0 + seed, None], pa.float64()),
                "queue_delay_p95_ms": pa.array([31.4 + seed, None], pa.float64()),
            }
        )

    def _flow_series(self, seed):
        rows = [(n, flow) for n in range(1, 41) for flow in self._flows if flow != 1 or n > 7]
        wave = [(n * 13 + flow * 7 + seed * 5) % 17 for n, flow in rows]
        counted = [0] * len(self._flows)
        arrived = []
        for (_, flow), height in zip(rows, wave, strict=True):
            counted[flow] += 120 + 6 * height
            arrived.append(counted[flow])
        return pa.table(
            {
                "time_s": [n / 2 for n, _ in rows],
                "flow": pa.array([flow for _, flow in rows], pa.uint32()),
                "arrived_packets": pa.array(arrived, pa.uint64()),
                "arrived_bytes": pa.array([500 * count for count in arrived], pa.uint64()),
                "base_rtt_ms": [40.0] * len(arrived),
                "latest_rtt_ms": pa.array(
                    [None if height == 3 else 40.0 + 2.3 * height for height in wave], pa.float64()
                ),
                "window_segments": [4.0 + 0.7 * height for height in wave],
            }
        )

    def _link_series(self, seed):
        times = np.arange(1, 41) / 2
        queue = [1500 * ((n * 11 + seed * 3) % 23) for n in range(1, 41)]
        return pa.table(
            {
                "time_s": np.repeat(times, 2),
                "link": pa.array([0, 1] * 40, pa.uint32()),
                "queue_bytes": pa.array([one for bytes_ in queue for one in (bytes_, 0)], pa.uint64()),
                "capacity_bytes": pa.array(
                    [one for t in times for one in (1e6 * t + 1e6 * max(t - 8.0, 0.0), None)], pa.float64()
                ),
            }
        )

    def _events(self, seed):
        times = sorted((n * 37 + seed) % 2000 / 100 for n in range(700))
        kinds = ["drop" if n % 7 else "mark" for n in range(700)]
        return pa.table({"time_s": times, "kind": pa.array(kinds).dictionary_encode()})


def cases():
    """Several labels, the flows of one, many flows, and a number of flows that complete."""
    two, three = (["cubic", "cdg"], ["a", "b"]), (["cubic"] * 3, ["x", "y", "z"])
    many = (["cubic"] * 14 + ["cdg"] * 6, [f"web-{n}" for n in range(19)] + ["file"])
    return {
        "labels": {"one": [Made(seed, *two) for seed in (1, 2, 3)], "other": [Made(4, *three)]},
        "flows": {"both": [Made(seed, *two) for seed in (1, 2)]},
        "many": {"many": [Made(seed, *many) for seed in (1, 5, 9, 2)]},
    }


def written(shown):
    """A page as the golden file has it."""

    def some(values):
        return [float(f"{one:.11g}") if math.isfinite(one) else None for one in values.tolist()[::STEP]]

    def panel(one):
        curves = [
            [s.label, s.cc, some(s.y), *(some(end) for end in (s.low, s.high) if end is not None)]
            for s in one.series
        ]
        axes = [[axis.label, axis.scale, axis.low] for axis in (one.x, one.y)]
        ticks = [[t.label, t.cc, len(t.at), some(t.at)] for t in one.ticks]
        return {"name": one.name, "axes": axes, "curves": curves, "ticks": ticks}

    return {
        "sentences": [list(row) for row in shown.sentences],
        "panels": [panel(one) for one in (*shown.stack, *shown.distributions)],
        "points": [[p.label, p.cc, some(p.x), some(p.y)] for p in shown.plane.points],
    }


@pytest.mark.parametrize("name", ["labels", "flows", "many"])
def test_the_page_has_the_numbers_of_numpy(name):
    expected = json.loads(GOLDEN.read_text("utf-8"))[name]
    found = json.loads(json.dumps(written(overview(cases()[name]))))
    assert found["sentences"] == expected["sentences"]
    assert found["points"] == expected["points"]
    for ours, theirs in zip(found["panels"], expected["panels"], strict=True):
        assert ours == theirs, ours["name"]
