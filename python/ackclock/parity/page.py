"""The report of a comparison: tables, windows over time, and the page."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock import _engine, metrics
from ackclock.figure import Axis, Panel, Series
from ackclock.parity.comparison import (
    NEAR_POINTS,
    NEAR_SHARE,
    NEAR_UTILIZATION,
    NEAR_WINDOW,
    OF_THE_LINK,
    QUANTITIES,
    SPREAD_LIMIT,
    Comparison,
    Spread,
)
from ackclock.parity.situations import START_JITTER
from ackclock.report import Page, host, number, write_json
from ackclock.scenario import display_name

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HEADINGS = (
    "flows",
    *(quantity.heading for quantity in QUANTITIES.values()),
    "windows, completion",
    "near",
    "",
)
"""Of the table of a situation: see ``rows``."""

FAR_HEADINGS = ("situation", "flows", "far in", "simulated", "live")
"""Of the table of what is far: see ``far_rows``."""

MARK = " *"


def legend(done: Sequence[Comparison]) -> str:
    """What the tables mean, in words."""
    simulations = len(done[0].simulated.quantities)
    live = max(len(comparison.live) for comparison in done)
    return (
        f"Simulated / live. Simulated is the mean (and range) of {simulations} seeds, live that of {live}; "
        f"greedy flows start within {START_JITTER}, as the seed draws. {MARK.strip()} marks means that "
        f"differ by more than {SPREAD_LIMIT:g} standard errors, which other seeds do not explain. Near is "
        f"within {100 * NEAR_UTILIZATION:g} point of utilization and {100 * NEAR_SHARE:g} % of mean queue, "
        f"completion time and window (or {NEAR_WINDOW:g} segment), and {100 * NEAR_POINTS:g} points of a "
        "share, as far as the situation compares them."
    )


def rows(of_path: Sequence[Comparison], ranges: bool = True) -> list[list[str]]:
    """The cells of a situation under ``HEADINGS``."""
    return [
        [
            one.cell.name,
            *(_both(one, key, ranges) for key in QUANTITIES),
            _besides(one),
            one.verdict,
            _validity(one),
        ]
        for one in of_path
    ]


def _both(comparison: Comparison, key: str, ranges: bool) -> str:
    simulated, live = (_shown(spread, ranges) for spread in comparison.spreads[key])
    return f"{simulated} / {live}{MARK if comparison.differs(key) else ''}"


def _shown(spread: Spread, ranges: bool) -> str:
    mean, low, high = (number(value) for value in (spread.mean, min(spread.values), max(spread.values)))
    return f"{mean} ({low} to {high})" if ranges and low != high else mean


def _besides(comparison: Comparison) -> str:
    """What is compared besides the quantities of the bottleneck."""
    return "; ".join(
        f"{check.what}: {_of(check.simulated)} / {_of(check.live)}"
        for check in comparison.checks
        if check.what not in OF_THE_LINK
    )


def _of(value: float) -> str:
    return number(value) if math.isfinite(value) else "none"


def _validity(comparison: Comparison) -> str:
    invalid = sum(not run.valid for run in comparison.live)
    if not invalid:
        return ""
    return "invalid" if len(comparison.live) == 1 else f"{invalid} of {len(comparison.live)} invalid"


def summary_headings(done: Sequence[Comparison]) -> list[str]:
    """Of the summary: a column for each controller."""
    return ["situation", *(display_name(cc) for cc in _controllers(done))]


def summary(done: Sequence[Comparison]) -> list[list[str]]:
    """Where the engines are near: a row for each situation, a column for each controller."""
    found = []
    for group in dict.fromkeys(comparison.cell.situation.group for comparison in done):
        of_group = [comparison for comparison in done if comparison.cell.situation.group == group]
        found.append(
            [group, *(_entry([one for one in of_group if one.cell.cc == cc]) for cc in _controllers(done))]
        )
    return found


def _controllers(done: Sequence[Comparison]) -> list[str]:
    return list(dict.fromkeys(comparison.cell.cc for comparison in done))


def _entry(cells: Sequence[Comparison]) -> str:
    """Whether they are near, or how many of them."""
    valid = [one for one in cells if one.valid]
    if not valid:
        return "invalid" if cells else "-"
    if len(cells) == 1:
        return valid[0].verdict
    near, within = _counts(valid)
    return f"{near} of {len(valid)}" + (f", {within} within spread" if within else "")


def _counts(valid: Sequence[Comparison]) -> tuple[int, int]:
    """How many are near, and how many others within the spread."""
    return sum(one.near for one in valid), sum(one.within_spread and not one.near for one in valid)


def tally(done: Sequence[Comparison]) -> str:
    """How many cells are near, in a sentence. Invalid ones do not count."""
    valid = [one for one in done if one.valid]
    near, within = _counts(valid)
    others = f", {within} more within the spread of the seeds" if within else ""
    invalid = len(done) - len(valid)
    left_out = f"; {invalid} cell{'s are' if invalid > 1 else ' is'} invalid" if invalid else ""
    return f"{near} of {len(valid)} cells are near{others}{left_out}."


def far_rows(done: Sequence[Comparison]) -> list[list[str]]:
    """What is far in the valid cells, under ``FAR_HEADINGS``."""
    return [
        [one.cell.path, one.cell.name, check.what, _of(check.simulated), _of(check.live)]
        for one in done
        if one.valid
        for check in one.far
    ]


def document(done: Sequence[Comparison]) -> dict[str, Any]:
    """The object of ``parity --json``."""
    valid = [one for one in done if one.valid]
    return {
        "version": _engine.version(),
        "near": sum(one.near for one in valid),
        "valid": len(valid),
        "cells": [comparison.as_json() for comparison in done],
    }


def write(done: Sequence[Comparison], runs: int, folder: Path, finished: bool) -> None:
    """Writes the report of a grid of ``runs`` live runs into ``folder``, over the one that is there.

    That of an unfinished grid has no figures.
    """
    page = Page("Simulated and live")
    if not finished:
        have = sum(len(comparison.live) for comparison in done)
        page.paragraph(f"Not finished: {have} of {runs} live runs, without figures.", "miss")
    if done:
        page.paragraph(tally(done))
        page.table(summary_headings(done), summary(done), numbers=False)
        page.paragraph(legend(done))
        if far := far_rows(done):
            page.table(FAR_HEADINGS, far, numbers=False)
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


def trajectories(of_path: Sequence[Comparison]) -> Figure:
    """Windows over time, a panel for each cell: live solid, simulated dashed in the same colour."""
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
            for curve, label, look in zip(curves, ("live", "simulated"), ("line", "model"), strict=True)
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
