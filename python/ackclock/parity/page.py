"""The report of a comparison: tables, windows over time, the page, and Markdown for documentation."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock import _engine, metrics, report
from ackclock.parity.comparison import (
    NEAR_QUEUE,
    NEAR_UTILIZATION,
    QUANTITIES,
    SPREAD_LIMIT,
    Comparison,
    Spread,
)
from ackclock.parity.grid import START_JITTER
from ackclock.report import Page, host, number, write_json, write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HEADINGS = ("flows", *(quantity.heading for quantity in QUANTITIES.values()), "")
"""Of the table of a path: see ``rows``."""

SUMMARY_HEADINGS = (
    "flows",
    "valid cells",
    "near",
    "within spread",
    "largest difference in utilization",
    "largest difference in mean queue",
)
"""Of the summary: see ``summary``."""

MARK = " *"


def legend(done: Sequence[Comparison]) -> str:
    """What the tables mean, in words."""
    simulations = len(done[0].simulated.quantities)
    live = max(len(comparison.live) for comparison in done)
    return (
        f"Simulated / live. Simulated is the mean (and range) of {simulations} seeds, live that of {live}; "
        f"flows start within {START_JITTER}, as the seed draws. {MARK.strip()} marks means that differ by "
        f"more than {SPREAD_LIMIT:g} standard errors, which other seeds do not explain. Near is within "
        f"{100 * NEAR_UTILIZATION:g} point of utilization and {100 * NEAR_QUEUE:g} % of the mean queue."
    )


def rows(of_path: Sequence[Comparison], ranges: bool = True) -> list[list[str]]:
    """The cells of a path under ``HEADINGS``."""
    return [
        [one.cell.name, *(_both(one, key, ranges) for key in QUANTITIES), _validity(one)] for one in of_path
    ]


def _both(comparison: Comparison, key: str, ranges: bool) -> str:
    simulated, live = (_shown(spread, ranges) for spread in comparison.spreads[key])
    return f"{simulated} / {live}{MARK if comparison.differs(key) else ''}"


def _shown(spread: Spread, ranges: bool) -> str:
    mean, low, high = (number(value) for value in (spread.mean, min(spread.values), max(spread.values)))
    return f"{mean} ({low} to {high})" if ranges and low != high else mean


def _validity(comparison: Comparison) -> str:
    invalid = sum(not run.valid for run in comparison.live)
    if not invalid:
        return ""
    return "invalid" if len(comparison.live) == 1 else f"{invalid} of {len(comparison.live)} invalid"


def summary(done: Sequence[Comparison]) -> list[list[str]]:
    """How near the engines are over all paths, under ``SUMMARY_HEADINGS``. Invalid cells do not count."""
    found = []
    for name in dict.fromkeys(comparison.cell.name for comparison in done):
        every = [comparison for comparison in done if comparison.cell.name == name]
        valid = [comparison for comparison in every if comparison.valid]
        near = sum(comparison.near for comparison in valid)
        within = sum(not any(comparison.differs(key) for key in QUANTITIES) for comparison in valid)
        of = len(valid)
        counts = (f"{of} of {len(every)}", f"{near} of {of}", f"{within} of {of}")
        found.append([name, *counts, _worst_utilization(valid), _worst_queue(valid)])
    return found


def _worst_utilization(valid: Sequence[Comparison]) -> str:
    if not valid:
        return "-"
    worst = max(valid, key=lambda one: abs(one.difference("utilization")))
    return f"{100 * worst.difference('utilization'):+.2f} points at {worst.cell.path}"


def _worst_queue(valid: Sequence[Comparison]) -> str:
    def relative(one: Comparison) -> float:
        simulated, _ = one.spreads["queue_mean_packets"]
        return one.difference("queue_mean_packets") / simulated.mean if simulated.mean else 0.0

    if not valid:
        return "-"
    worst = max(valid, key=lambda one: abs(relative(one)))
    return f"{100 * relative(worst):+.1f} % at {worst.cell.path}"


def document(done: Sequence[Comparison]) -> dict[str, Any]:
    """The object of ``parity --json``."""
    return {"version": _engine.version(), "cells": [comparison.as_json() for comparison in done]}


def write(done: Sequence[Comparison], runs: int, folder: Path, finished: bool) -> None:
    """Writes the report of a grid of ``runs`` live runs into ``folder``, over the one that is there.

    That of an unfinished grid has no figures.
    """
    page = Page("Simulated and live")
    if not finished:
        have = sum(len(comparison.live) for comparison in done)
        page.paragraph(f"Not finished: {have} of {runs} live runs, without figures.", "miss")
    if done:
        page.paragraph(legend(done))
        page.table(SUMMARY_HEADINGS, summary(done), numbers=False)
    for number_of_path, (path, of_path) in enumerate(by_path(done)):
        page.heading(path)
        page.table(HEADINGS, rows(of_path), numbers=False)
        for comparison in of_path:
            for run in comparison.live:
                if not run.valid:
                    why = "; ".join(run.engine["reasons"])
                    page.paragraph(f"{comparison.cell.name}, seed {run.seed} is not valid: {why}.", "miss")
        if finished:
            caption = f"Windows over {path}: live solid, simulated dashed"
            page.draw(folder / f"window-{number_of_path}.png", caption, partial(trajectories, of_path))
    if done:
        page.heading("As run")
        page.details("engine of the first live run", json.dumps(done[0].live[0].engine, indent=2))
    page.details("versions and host", json.dumps(host(), indent=2))
    page.write(folder / "index.html")
    write_json(folder / "parity.json", document(done))
    if finished:
        write_whole(folder / "parity.md", markdown(done))


def trajectories(of_path: Sequence[Comparison]) -> Figure:
    """Windows over time, a panel for each cell: live solid, simulated dashed in the same colour."""
    from ackclock.plots import Axis, Panel, Series, draw

    panels = []
    columns = min(2, len(of_path))
    numbers = {comparison.cell.flows for comparison in of_path}
    if len(numbers) == columns:
        # A row for each controller.
        of_path = sorted(of_path, key=lambda comparison: _first(of_path, comparison.cell.cc))
    for comparison in of_path:
        run = comparison.trusted[0]
        both = zip(
            metrics.signal_by_flow(run, "window"),
            metrics.signal_by_flow(comparison.simulated.run, "window"),
            strict=True,
        )
        series = [
            # One legend is enough for all flows.
            Series("" if flow else label, curve.cc, curve.times, curve.values, look=look)
            for flow, curves in enumerate(both)
            for curve, label, look in zip(curves, ("live", "simulated"), ("line", "model"), strict=True)
        ]
        mark = "" if run.valid else " (invalid)"
        panels.append(Panel(comparison.cell.name + mark, series))
    return draw(panels, Axis("time (s)"), Axis("window (segments)", low=0.0), columns=columns)


def _first(of_path: Sequence[Comparison], cc: str) -> int:
    return next(index for index, comparison in enumerate(of_path) if comparison.cell.cc == cc)


def markdown(done: Sequence[Comparison]) -> str:
    """The comparison as Markdown: what ran, the summary, and a table for each path."""
    kernel, today = done[0].live[0].engine["kernel"], datetime.now(UTC).date().isoformat()
    parts = [
        f"ackclock {_engine.version()}, Linux {kernel}, {today}. {legend(done)}\n",
        report.markdown(SUMMARY_HEADINGS, summary(done)),
    ]
    for path, of_path in by_path(done):
        parts += [f"### {path}\n", report.markdown(HEADINGS, rows(of_path))]
    return "\n".join(parts)


def by_path(done: Sequence[Comparison]) -> Iterator[tuple[str, list[Comparison]]]:
    """The cells of each path, in the order of the grid."""
    for path, of_path in itertools.groupby(done, lambda comparison: comparison.cell.path):
        yield path, list(of_path)
