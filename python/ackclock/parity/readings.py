"""The readings of one run: the quantities of the tables, and further ones that a situation compares."""

from __future__ import annotations

from typing import Any

import numpy as np

from ackclock import metrics
from ackclock.metrics.tables import link_row
from ackclock.parity.grid import Cell
from ackclock.result import Run

REDUCING = ("recovery", "reduced")
"""The states in which the flight comes down."""

SHARE = "share"
"""The name of the share that the first flow has of the goodput, 0 to 1."""


def measured(run: Run) -> dict[str, float]:
    """The quantities of a run, of its bottleneck and over its flows."""
    link = run.links.to_pylist()[link_row(run, None)]
    rtts = metrics.column(run.flows, "rtt_mean_ms")
    return {
        "utilization": link["utilization"],
        "queue_mean_packets": link["queue_packets_mean"],
        "queue_p95_packets": link["queue_packets_p95"],
        "rtt_mean_ms": float(np.nanmean(rtts)) if np.isfinite(rtts).any() else 0.0,
        "dropped_packets": link["dropped_packets"],
    }


def readings(run: Run, cell: Cell) -> dict[str, float]:
    """The other readings of a cell, by name: windows in segments, completion times in seconds, shares.

    A transfer that does not complete has none, which is not a number.
    """
    found: dict[str, float] = {}
    if not {"windows", "completion", "share"} & set(cell.compare):
        return found
    flows = run.flows.to_pylist()
    described = cell.situation.document()["flows"]
    finite = {index for index, flow in enumerate(described) if "bytes" in flow}
    if "share" in cell.compare:
        both = sum(flow["goodput_bps"] for flow in flows)
        found[SHARE] = flows[0]["goodput_bps"] / both if both > 0 else float("nan")
        return found
    for index, flow in enumerate(flows):
        of = f" of {flow['name']}" if len(flows) > 1 else ""
        if "windows" in cell.compare:
            for time in cell.situation.windows_at_s:
                found[f"window{of} at {time:g} s"] = window_at(run, index, time)
        if "completion" in cell.compare and (index in finite or not finite):
            completion = flow["completion_s"]
            found[f"completion{of}"] = float("nan") if completion is None else completion
    return found


def window_at(run: Run, flow: int, time: float) -> float:
    """The window that governs a flow at a time, in segments.

    While the flight comes down this is the flight: the kernel's window falls with it, and the simulator's
    window is already at the end of the fall.
    """
    table = run.flow_series
    rows = np.flatnonzero(
        (metrics.column(table, "flow") == flow) & (metrics.column(table, "time_s") <= time + 1e-9)
    )
    if not rows.size:
        return float("nan")
    latest: dict[str, Any] = table.slice(int(rows[-1]), 1).to_pylist()[0]
    reducing = latest["state"] in REDUCING
    return float(latest["in_flight_segments" if reducing else "window_segments"])
