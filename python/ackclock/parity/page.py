"""The report of a comparison: tables, windows over time, and the page."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock import _engine, metrics
from ackclock.figure import Axis, Panel, Series
from ackclock.parity import tables
from ackclock.parity.comparison import (
    NEAR,
    SPREAD_LIMIT,
    Comparison,
)
from ackclock.parity.situations import START_JITTER
from ackclock.report import Page, host, write_json

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def engine_of(done: Sequence[Comparison]) -> str:
    """The name of the engine beside the simulator."""
    return str(done[0].live[0].engine["kind"])


def legend(done: Sequence[Comparison]) -> str:
    """The meaning of the tables, in words."""
    engine = engine_of(done)
    simulations = len(done[0].simulated.quantities)
    live = max(len(comparison.live) for comparison in done)
    return (
        f"Simulated / {engine}. Simulated is the mean (and range) of {simulations} seeds, {engine} that of "
        f"{live}; greedy flows start within {START_JITTER}, as the seed draws. {tables.MARK.strip()} marks "
        f"means that differ by more than {SPREAD_LIMIT:g} standard errors, which other seeds do not explain. "
        f"Near is within {100 * NEAR['utilization'].margin:g} point of utilization and "
        f"{100 * NEAR['mean queue'].share:g} % of mean queue, completion time and window (or "
        f"{NEAR['window'].margin:g} segment), and {100 * NEAR['share'].margin:g} points of a share, as far "
        "as the situation compares them."
    )


def document(done: Sequence[Comparison]) -> dict[str, Any]:
    """The object of ``parity --json``."""
    valid = [one for one in done if one.valid]
    return {
        "version": _engine.version(),
        "near": sum(one.near for one in valid),
        "valid": len(valid),
        "cells": [comparison.as_json() for comparison in done],
    }


def write(done: Sequence[Comparison], runs: int, engine: str, folder: Path, finished: bool) -> None:
    """Writes the report of a grid of ``runs`` runs on ``engine`` into ``folder``, over the one that is there.

    An unfinished grid has no figures.
    """
    page = Page(f"Simulated and {engine}")
    if not finished:
        have = sum(len(comparison.live) for comparison in done)
        page.paragraph(f"Not finished: {have} of {runs} {engine} runs, without figures.", "miss")
    cells = [comparison.as_json() for comparison in done]
    if done:
        page.paragraph(tables.tally(cells))
        page.table(tables.summary_headings(cells), tables.summary(cells), numbers=False)
        page.paragraph(legend(done))
        if far := tables.far_rows(cells):
            page.table(tables.far_headings(cells), far, numbers=False)
    for number_of_path, (path, of_path) in enumerate(by_path(done)):
        page.heading(path)
        page.table(tables.HEADINGS, [tables.row(one.as_json()) for one in of_path], numbers=False)
        for comparison in of_path:
            for run in comparison.live:
                if not run.valid:
                    why = "; ".join(run.engine["reasons"])
                    page.paragraph(f"{comparison.cell.name}, seed {run.seed} is not valid: {why}.", "miss")
        if finished:
            caption = f"Windows over {path}: {engine} solid, simulated dashed"
            page.draw(folder / f"window-{number_of_path}.png", caption, partial(trajectories, of_path))
    if done:
        page.heading("As run")
        page.details(f"engine of the first {engine} run", json.dumps(done[0].live[0].engine, indent=2))
    page.details("versions and host", json.dumps(host(), indent=2))
    page.write(folder / "index.html")
    write_json(folder / "parity.json", document(done))


def trajectories(of_path: Sequence[Comparison]) -> Figure:
    """Windows over time, a panel for each cell: simulated dashed, the other engine solid."""
    from ackclock.plots import draw

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
            for curve, label, look in zip(
                curves, (engine_of([comparison]), "simulated"), ("line", "model"), strict=True
            )
        ]
        mark = "" if run.valid else " (invalid)"
        panels.append(Panel(comparison.cell.name + mark, series))
    return draw(panels, Axis("time (s)"), Axis("window (segments)", low=0.0), columns=columns)


def _first(of_path: Sequence[Comparison], cc: str) -> int:
    return next(index for index, comparison in enumerate(of_path) if comparison.cell.cc == cc)


def by_path(done: Sequence[Comparison]) -> Iterator[tuple[str, list[Comparison]]]:
    """The cells of each path, in the order of the grid."""
    for path, of_path in itertools.groupby(done, lambda comparison: comparison.cell.path):
        yield path, list(of_path)
