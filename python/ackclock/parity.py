"""Parity: the same scenarios in both engines, simulated and live, side by side."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ackclock import _engine, metrics
from ackclock.jobs import Engine, Job, Progress
from ackclock.papers import tables
from ackclock.report import Page, host, number, png, write_json
from ackclock.result import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUANTITIES = {
    "utilization": "utilization",
    "queue_mean_packets": "queue mean (packets)",
    "queue_p95_packets": "queue p95 (packets)",
    "rtt_mean_ms": "RTT mean (ms)",
    "dropped_packets": "dropped",
}
"""What is compared, with its heading."""

KERNEL = {
    "cubic": {
        "C": 0.4004,
        "beta": 0.7002,
        "reno_alpha_one": False,
        "look_ahead": "minimum",
        "growth_before_loss": 0.05,
        "whole_segments": True,
    }
}
"""Parameters with which a controller simulates that of the kernel, which has none to set."""


@dataclass(frozen=True)
class Cell:
    """One point of the grid."""

    rate: str
    rtt: str
    queue: str
    flows: int
    cc: str

    @property
    def path(self) -> str:
        """Its path in words."""
        return f"{self.rate}, {self.rtt}, {self.queue}"

    @property
    def name(self) -> str:
        """The cell in words."""
        return f"{self.flows} x {self.cc}"

    def resolved(self, duration: str, warmup: str, simulated: bool = False) -> str:
        """Its scenario, resolved. ``simulated``: with the parameters of the kernel's controller."""
        parameters = KERNEL.get(self.cc, {}) if simulated else {}
        document = {
            "name": f"{self.path}, {self.name}",
            "duration": duration,
            "warmup": warmup,
            "path": {"rate": self.rate, "rtt": self.rtt, "queue": self.queue},
            "flows": [{"cc": self.cc, "count": self.flows, "parameters": parameters}],
            "record": {"flow_series": "20ms", "events": False},
        }
        return _engine.resolve_json(json.dumps(document), [])


def grid(
    rates: Sequence[str], rtts: Sequence[str], queues: Sequence[str], flows: Sequence[int], ccs: Sequence[str]
) -> list[Cell]:
    """Every combination."""
    return [Cell(*values) for values in itertools.product(rates, rtts, queues, flows, ccs)]


@dataclass(frozen=True)
class Pair:
    """A cell with its run in each engine."""

    cell: Cell
    simulated: Run
    live: Run

    def as_json(self) -> dict[str, Any]:
        """One object of ``cells`` in ``parity --json``. A difference is live less simulated."""
        simulated, live = measured(self.simulated), measured(self.live)
        cell = {key: getattr(self.cell, key) for key in ("rate", "rtt", "queue", "flows", "cc")}
        return cell | {
            "simulated": simulated,
            "live": live,
            "difference": {key: live[key] - simulated[key] for key in QUANTITIES},
            "engine": self.live.engine,
        }


def measured(run: Run) -> dict[str, float]:
    """The quantities of a run, of its bottleneck and over its flows."""
    link = run.links.slice(0, 1).to_pylist()[0]
    rtts = metrics.column(run.flows, "rtt_mean_ms")
    return {
        "utilization": link["utilization"],
        "queue_mean_packets": link["queue_packets_mean"],
        "queue_p95_packets": link["queue_packets_p95"],
        "rtt_mean_ms": float(np.nanmean(rtts)) if np.isfinite(rtts).any() else 0.0,
        "dropped_packets": link["dropped_packets"],
    }


def pairs(
    cells: Sequence[Cell],
    scenarios: Sequence[tuple[str, str]],
    seed: int,
    simulator: Engine,
    live: Engine,
    progress: Progress | None = None,
) -> Iterator[Pair]:
    """Runs every cell, first all of them simulated, then one by one live, and yields each as it is complete.

    ``scenarios`` has two for each cell, resolved: the one to simulate and the live one.
    """
    simulated = dict(simulator.finished([Job(one, seed) for one, _ in scenarios]))
    for index, run in live.finished([Job(one, seed) for _, one in scenarios], progress):
        yield Pair(cells[index], simulated[index], run)


def trajectories(of_path: Sequence[Pair]) -> Figure:
    """Windows over time, a panel for each cell: live drawn through, simulated dashed in the same colour."""
    from ackclock.plots import Axis, Panel, Series, draw

    panels = []
    for pair in of_path:
        both = zip(
            metrics.signal_by_flow(pair.live, "window"),
            metrics.signal_by_flow(pair.simulated, "window"),
            strict=True,
        )
        series = [
            # One legend is enough for all flows: what begins with _ has none.
            Series(f"_{label}" if flow else label, curve.cc, curve.times, curve.values, look=look)
            for flow, curves in enumerate(both)
            for curve, label, look in zip(curves, ("live", "simulated"), ("line", "model"), strict=True)
        ]
        mark = "" if pair.live.valid else " (invalid)"
        panels.append(Panel(pair.cell.name + mark, series))
    return draw(panels, Axis("time (s)"), Axis("window (segments)", low=0.0), columns=min(2, len(panels)))


ENGINES = ("simulated", "live")
HEADINGS = ("path", "flows", *(f"{what}: {engine}" for what in QUANTITIES.values() for engine in ENGINES), "")


def row(pair: Pair) -> list[str]:
    """A pair as a row under ``HEADINGS``."""
    one = pair.as_json()
    values = [number(one[part][key]) for key in QUANTITIES for part in ENGINES]
    return [pair.cell.path, pair.cell.name, *values, "" if pair.live.valid else "invalid"]


def document(done: Sequence[Pair]) -> dict[str, Any]:
    """The object of ``parity --json``."""
    return {"version": _engine.version(), "cells": [pair.as_json() for pair in done]}


def write(done: Sequence[Pair], folder: Path, interrupted: bool) -> None:
    """Writes the report into ``folder``."""
    page = Page("Simulated and live")
    page.table(HEADINGS, [row(pair) for pair in done])
    for pair in done:
        if not pair.live.valid:
            why = "; ".join(pair.live.engine["reasons"])
            page.paragraph(f"{pair.cell.path}, {pair.cell.name} is not valid: {why}.", "miss")
    if interrupted:
        page.paragraph("Interrupted: the cells that had finished, without figures.", "miss")
    else:
        for index, (path, of_path) in enumerate(_by_path(done)):
            picture = png(trajectories(of_path))
            (folder / f"window-{index}.png").write_bytes(picture)
            page.figure(picture, f"Windows over {path}: live drawn through, simulated dashed")
    page.details("engine of the first live run", json.dumps(done[0].live.engine, indent=2))
    page.details("versions and host", json.dumps(host(), indent=2))
    page.write(folder / "index.html")
    write_json(folder / "parity.json", document(done))
    (folder / "parity.md").write_text(markdown(done), "utf-8")


def markdown(done: Sequence[Pair]) -> str:
    """The comparison as Markdown: what ran, and a table of both values and their difference."""
    kernel, today = done[0].live.engine["kernel"], datetime.now(UTC).date().isoformat()
    head = f"ackclock {_engine.version()}, Linux {kernel}, {today}: simulated / live (difference)\n\n"
    rows = []
    for pair in done:
        simulated, live = measured(pair.simulated), measured(pair.live)
        values = [
            f"{number(simulated[key])} / {number(live[key])} ({live[key] - simulated[key]:+.{digits}f})"
            for key, digits in zip(QUANTITIES, (4, 1, 0, 1, 0), strict=True)
        ]
        rows.append([pair.cell.path, pair.cell.name, *values, "" if pair.live.valid else "invalid"])
    return head + tables.markdown(("path", "flows", *QUANTITIES.values(), ""), rows)


def _by_path(done: Sequence[Pair]) -> Iterator[tuple[str, list[Pair]]]:
    key: Callable[[Pair], str] = lambda pair: pair.cell.path  # noqa: E731
    for path, of_path in itertools.groupby(sorted(done, key=key), key):
        yield path, list(of_path)
