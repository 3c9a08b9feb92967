"""Perturbation (``reproduce --shake``): an experiment with slightly different seeds, starts and base RTTs.

A claim that holds only for one seed, one phase or one round number of an RTT flips its verdict here. The
number of the perturbation alone decides the changes, so the same number gives the same experiment.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ackclock import _engine
from ackclock.papers.experiment import Experiment

SEEDS = 1000
"""The distance between the seeds of two perturbations."""
LATER_S = 0.1
"""The largest delay of a start, in seconds."""
RTT_SHARE = 0.01
"""The largest change of a base RTT or of the delay of a link, as a share."""


def perturbed(experiment: Experiment, number: int) -> Experiment:
    """The experiment with the perturbation of a number, counted from 1. Swept keys keep their values."""
    draw = random.Random(number)
    # One factor for all delays keeps the ratios between paths.
    factor = 1.0 + draw.uniform(-RTT_SHARE, RTT_SHARE)
    later = [draw.uniform(0.0, LATER_S) for _ in range(len(_longest(experiment)))]
    found = experiment.with_scenarios(lambda scenario: _scenario(scenario, factor, later))
    # Only claims are compared.
    return replace(found, seed=experiment.seed + SEEDS * number, figures=(), tables=())


def _longest(experiment: Experiment) -> list[Any]:
    return max((setup.scenario.get("flows", []) for setup in experiment.setups), key=len, default=[])


def _scenario(scenario: Mapping[str, Any], factor: float, later: list[float]) -> dict[str, Any]:
    found = copy.deepcopy(dict(scenario))
    groups = [_entries(flow) for flow in found.get("flows", [])]
    flows = [flow for group in groups for flow in group]
    for table in (found.get("path", {}), *found.get("links", []), *flows):
        for key in ("rtt", "delay"):
            if key in table:
                table[key] = _stretched(table[key], factor)
    for group, delay in zip(groups, later, strict=False):
        for flow in group:
            # Flows that come one after another have a time between them of their own.
            if "every" not in flow:
                flow["start"] = _time(_seconds(flow.get("start", "0s")) + delay)
    return found


def _entries(flow: dict[str, Any]) -> list[dict[str, Any]]:
    """The flows of an entry: its ``each``, which start together, or itself."""
    entries: list[dict[str, Any]] = flow.get("each", [flow])
    return entries


def _stretched(value: Any, factor: float) -> Any:
    """A delay, or a list of steps of one, times a factor."""
    if isinstance(value, list):
        return [[at, _stretched(step, factor)] for at, step in value]
    return _time(_seconds(value) * factor)


def _seconds(text: str) -> float:
    return _engine.quantity(text, "time")


def _time(seconds: float) -> str:
    return f"{round(seconds * 1e9)}ns"
