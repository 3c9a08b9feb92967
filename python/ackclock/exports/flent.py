"""Flent: a data file (``.flent.gz``, format 4) of its test ``tcp_nup``, which Flent plots and compares.

Each flow is an upload in Mbit/s. Flent's ping is the RTT of the flows, their mean at each instant. The raw
values of a flow are its samples, under Flent's names for the values of ``ss``.
"""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from ackclock import _engine
from ackclock.exports import series
from ackclock.metrics import Array
from ackclock.result import Run

STEP_S = 0.2
"""The interval of Flent's samples."""
EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
"""The wall-clock time at which a simulation begins, for tools that need one."""


def write(run: Run, path: Path) -> None:
    """Writes the file."""
    with gzip.GzipFile(path, "wb", mtime=0) as file:
        file.write(json.dumps(document(run)).encode())


def document(run: Run) -> dict[str, Any]:
    """The data file as one object."""
    grid: Array = np.arange(STEP_S, run.duration_s + STEP_S / 2, STEP_S)
    uploads, rtts, raw = [], [], []
    for flow in run.flows["flow"].to_pylist():
        one = series.of_flow(run, flow)
        times = one["time_s"]
        delivered = np.interp(grid, times, np.nan_to_num(one["delivered_bytes"]), left=0.0)
        uploads.append(np.diff(delivered, prepend=0.0) * 8e-6 / STEP_S)
        rtts.append(_at(grid, times, one["smoothed_rtt_ms"]))
        raw.append(_raw(one))
    known = np.isfinite(np.array(rtts))
    total = np.nansum(np.array(rtts), axis=0)
    count = known.sum(axis=0)
    ping = np.divide(total, count, out=np.full(grid.shape, np.nan), where=count > 0)
    results = {f"TCP upload::{number}": _listed(rates) for number, rates in enumerate(uploads, 1)}
    results["TCP upload sum"] = _listed(np.nansum(np.array(uploads), axis=0))
    results["TCP upload avg"] = _listed(np.nanmean(np.array(uploads), axis=0))
    results["Ping (ms) ICMP"] = _listed(ping)
    began = EPOCH.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return {
        "version": 4,
        "x_values": [round(float(x), 6) for x in grid],
        "results": results,
        "raw_values": {name: [] for name in results}
        | {f"TCP upload::{number}": samples for number, samples in enumerate(raw, 1)},
        "metadata": {
            "NAME": "tcp_nup",
            "TITLE": f"{run.scenario['name']}, seed {run.seed}",
            "HOST": "receiver",
            "HOSTS": ["receiver"],
            "LOCAL_HOST": "sender",
            "TIME": began,
            "T0": began,
            "LENGTH": math.ceil(run.duration_s),
            "TOTAL_LENGTH": math.ceil(run.duration_s),
            "STEP_SIZE": STEP_S,
            "NOTE": f"ackclock {_engine.version()}, {run.engine['kind']}",
            "TEST_PARAMETERS": {"upload_streams": str(len(uploads))},
            "SERIES_META": {name: {"UNITS": "ms" if "Ping" in name else "Mbits/s"} for name in results},
            "BATCH_TIME": (EPOCH + timedelta(seconds=run.seed % 1_000_000)).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        },
    }


def _raw(one: Mapping[str, Array]) -> list[dict[str, float]]:
    """The samples of a flow: window in segments, RTT in ms, rates in Mbit/s. Missing values are left out."""
    times, delivered = one["time_s"], np.nan_to_num(one["delivered_bytes"])
    spans = np.diff(times, prepend=0.0)
    rates = np.divide(
        np.diff(delivered, prepend=0.0) * 8e-6, spans, out=np.zeros_like(spans), where=spans > 0.0
    )
    columns = {
        "val": rates,
        "dur": spans,
        "tcp_cwnd": one["window_segments"],
        "tcp_rtt": one["smoothed_rtt_ms"],
        "tcp_pacing_rate": one["pacing_rate_bps"] * 1e-6,
        "tcp_delivery_rate": rates,
    }
    return [
        {"t": EPOCH.timestamp() + time}
        | {name: float(values[k]) for name, values in columns.items() if math.isfinite(values[k])}
        for k, time in enumerate(times.tolist())
    ]


def _at(grid: Array, times: Array, values: Array) -> Array:
    """The latest value at the times of the grid, and none before the first."""
    latest = np.searchsorted(times, grid + 1e-9, side="right") - 1
    return np.where(latest >= 0, values[np.maximum(latest, 0)], np.nan)


def _listed(values: Array) -> list[float | None]:
    return [float(v) if math.isfinite(v) else None for v in values.tolist()]
