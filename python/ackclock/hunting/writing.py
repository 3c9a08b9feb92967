"""The output of a hunt: cases for `ackclock check`, scenarios, and a page with a figure for each finding."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock import _engine, metrics
from ackclock.checks.target import Target
from ackclock.engines import Engine
from ackclock.figure import Axis, Panel, Series
from ackclock.hunting.conditions import Noise
from ackclock.hunting.search import NOISES, WEAK, Finding
from ackclock.hunting.weakness import REFERENCES
from ackclock.repetitions import Point, Result, seeds, survivors
from ackclock.report import Page, number
from ackclock.result import Run
from ackclock.scenario import override_list

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH_S = 1.0
"""The width of a bin of the figures, in seconds."""


def case(finding: Finding, target: Target, seed: int) -> str:
    """A finding as a case of ``ackclock check``: at least half of the better reference's goodput."""
    condition = finding.condition
    document = condition.scenario("", Noise.number(1))
    document.pop("record")
    document.pop("name")
    lacking = f"{finding.weakness:.0%} of what the better of NewReno and CUBIC has here"
    why = f"{target.name} lacks {lacking}."
    lines = [
        f"title = {json.dumps(f'Found by a hunt: {condition.words}')}",
        f"why = {json.dumps(why)}",
        f'source = "ackclock check --hunt, seed {seed}"',
        "seeds = 3",
        "",
        "[scenario]",
        *(f"{key} = {value}" for key, value in override_list(_texts(document))),
        "",
        "[[judges]]",
        'words = "utilization"',
        'measure = { metric = "utilization" }',
        'statistic = "median"',
        f'low = {{ beside = {json.dumps(REFERENCES)}, of = "largest", share = {1 - WEAK:g} }}',
        "",
    ]
    return "\n".join(lines)


def _texts(document: dict[str, Any]) -> dict[str, Any]:
    """The document with texts in quotes, which ``override_list`` leaves as they are."""
    return {key: json.dumps(value) if isinstance(value, str) else value for key, value in document.items()}


def page(found: Sequence[Finding], target: Target, engine: Engine, folder: Path, words: str) -> None:
    """Writes the page, with the goodput over time of the target and the references in each finding."""
    page = Page(f"Hunt for weaknesses of {target.name}")
    page.paragraph(words)
    rows = [
        [one.kind, number(one.weakness, 2), f"{one.survives} of {NOISES}", one.condition.words]
        for one in found
    ]
    page.table(("class", "weakness", "survives", "condition"), rows, numbers=False)
    for place, one in enumerate(found, 1):
        page.heading(f"{place}: {one.condition.words}")
        if one.why:
            page.paragraph(one.why, "miss")
        noise = Noise.number(0 if one.kind == "knife edge" else 1)
        runs = _runs(one, target, engine, noise)
        name = f"finding-{place}"
        page.draw(folder / f"{name}.png", "Goodput in each second", partial(_figure, runs))
        scenario = json.dumps(one.condition.scenario(target, noise), indent=2) + "\n"
        (folder / f"{name}.json").write_text(scenario, encoding="utf-8")
        page.details(f"ackclock run {name}.json", scenario)
    page.write(folder / "index.html")


def _runs(one: Finding, target: Target, engine: Engine, noise: Noise) -> dict[str, Run]:
    points: list[Point[str]] = []
    for who in (target, *REFERENCES):
        document = one.condition.scenario(who, noise)
        document["record"] = {**document["record"], "flow_series": "100ms"}
        plan = _engine.resolve_json(json.dumps(document), [], target.files())
        label = who if isinstance(who, str) else who.name
        if label not in (point.key for point in points):
            points.append(Point(label, plan, seeds(noise.seed, 1)))
    # The finding itself names an exception of the target.
    found = {one.key: one.run for one in survivors(points, engine) if isinstance(one, Result)}
    return {point.key: found[point.key] for point in points if point.key in found}


def _figure(runs: dict[str, Run]) -> Figure:
    from ackclock.plots import draw

    series = []
    for label, run in runs.items():
        flow = next(name for name in metrics.flow_names(run) if name.startswith("target"))
        times, rates = metrics.goodput_bins(run, flow, WIDTH_S)
        series.append(Series(label, label, times, rates * 1e-6))
    return draw([Panel("", series)], Axis("time (s)"), Axis("goodput (Mbit/s)", low=0.0))
