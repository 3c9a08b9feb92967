"""The experiments of papers that the page can run in a few seconds."""

from __future__ import annotations

import copy
import json
import math
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ackclock import _engine
from ackclock.cases.model import Setup
from ackclock.papers.catalogue import catalogue
from ackclock.papers.experiment import Experiment

MOST_RUNS = 5
MOST_PACKETS = 1_500_000
"""The most data packets of all runs of an experiment, about two seconds in a page."""
MOST_TEXT = 3000
"""The most letters of a scenario with its runs that one reads in an editor."""
PACKET_BITS = 12_000


def groups(folder: Path) -> list[dict[str, Any]]:
    """A group for each paper below ``folder``, with the experiments that the page can run."""
    found = []
    for paper in catalogue(folder, code=False):
        scenarios = [one for one in map(_scenario, paper.experiments) if one]
        found.append({"name": f"{paper.authors}, {paper.year}", "scenarios": scenarios})
    return [group for group in found if group["scenarios"]]


def _scenario(experiment: Experiment) -> dict[str, Any] | None:
    """The experiment as the page opens it, or None if it takes long, or needs files."""
    setups = [_inside_sweep(experiment, one) for one in _drawn(experiment)]
    try:
        plans = [_plan(one) for one in setups]
    except _engine.ScenarioError:
        return None
    if not plans or sum(map(_packets, plans)) > MOST_PACKETS or any(plan.files for plan in plans):
        return None
    figure = experiment.id.removeprefix(f"{experiment.paper}-")
    first = setups[0].scenario
    remark = f"# {experiment.title} (section {experiment.section}).\n"
    text = remark + toml({"name": f"{experiment.paper} {figure}"} | dict(first))
    variants = "".join(_variant(one, first) for one in setups) if len(setups) > 1 else ""
    if len(text) + len(variants) > MOST_TEXT:
        return None
    found = {"id": experiment.id, "title": f"{figure}: {experiment.title}", "file": f"{experiment.id}.toml"}
    return found | {"text": text, "files": {}, "variants": variants}


def _inside_sweep(experiment: Experiment, setup: Setup) -> Setup:
    """A run at the middle of each swept key."""
    scenario = copy.deepcopy(dict(setup.scenario))
    for key, values in experiment.sweep.items():
        at: Any = scenario
        *parents, last = [int(name) if name.isdigit() else name for name in key.split(".")]
        try:
            for name in parents:
                at = at[name]
            at[last] = _read(values[len(values) // 2])
        except (KeyError, IndexError, TypeError):
            continue  # for instance `flows.*.cc`: the run stays as it is written
    return Setup(setup.name, scenario)


def _read(value: str) -> Any:
    """A value as after ``--set``."""
    try:
        return tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return value


def _drawn(experiment: Experiment) -> Iterator[Setup]:
    """The runs in the figures, or all if no figure names one. Only the first ones of many."""
    named = set(_runs(experiment.figures))
    drawn = [one for one in experiment.setups if one.name in named] or list(experiment.setups)
    yield from (one for one in drawn[:MOST_RUNS] if one.scenario.get("flows"))


def _runs(tree: Any) -> Iterator[str]:
    """The names of runs anywhere in ``tree``."""
    match tree:
        case Mapping():
            for key, value in tree.items():
                if key == "run" and isinstance(value, str):
                    yield value
                yield from _runs(value)
        case list() | tuple():
            for one in tree:
                yield from _runs(one)


def _plan(setup: Setup) -> _engine.Plan:
    return _engine.resolve_json(json.dumps(dict(setup.scenario)), [])


def _packets(plan: _engine.Plan) -> float:
    """The packets that the bottleneck can carry."""
    about = plan.inspect()
    rates = [link["rate_bps"] for link in about["links"] if link["name"] == about["bottleneck"]]
    return float(about["duration_s"] * (rates[0] or math.inf) / PACKET_BITS) if rates else math.inf


def _variant(setup: Setup, first: Mapping[str, Any]) -> str:
    """A line of the page for one run: its name, and the keys in which it differs from the first."""
    changes = [f"{key} = {_value(value)}" for key, value in setup.scenario.items() if first.get(key) != value]
    return f"{setup.name}: {'; '.join(changes)}\n"


def toml(document: Mapping[str, Any]) -> str:
    """``document`` as TOML that people like to edit."""
    lines = [f"{key} = {_value(value)}" for key, value in document.items() if not _is_own(value)]
    for key, value in document.items():
        if _is_own(value):
            tables = [value] if isinstance(value, Mapping) else value
            heading = f"[{key}]" if isinstance(value, Mapping) else f"[[{key}]]"
            for table in tables:
                lines += ["", heading, *(f"{name} = {_value(one)}" for name, one in table.items())]
    return "\n".join(lines) + "\n"


def _is_own(value: Any) -> bool:
    """True for a table, or a list of tables."""
    is_list = isinstance(value, Sequence) and not isinstance(value, str)
    return isinstance(value, Mapping) or (
        is_list and bool(value) and all(isinstance(one, Mapping) for one in value)
    )


def _value(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return json.dumps(value)
        case Mapping():
            return "{ " + ", ".join(f"{key} = {_value(one)}" for key, one in value.items()) + " }"
        case Sequence():
            return "[" + ", ".join(map(_value, value)) + "]"
    return repr(value)
