"""Running scenarios."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Literal, overload

from ackclock.controller import Controller
from ackclock.jobs import LARGEST_SEED, Engine, Job, Progress, Simulator
from ackclock.result import Run, Runs
from ackclock.scenario import Factory, Flow, Path, Scenario

Flows = Sequence[Flow | str | type[Controller]]
"""Flows, or just their controllers."""


@overload
def simulate(
    scenario: Scenario | Path | str | os.PathLike[str],
    flows: Flows | None = None,
    *,
    duration: str | None = None,
    warmup: str | None = None,
    seed: int | None = None,
    repeat: Literal[1] = 1,
    threads: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> Run: ...


@overload
def simulate(
    scenario: Scenario | Path | str | os.PathLike[str],
    flows: Flows | None = None,
    *,
    duration: str | None = None,
    warmup: str | None = None,
    seed: int | None = None,
    repeat: int,
    threads: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> Run | Runs: ...


def simulate(
    scenario: Scenario | Path | str | os.PathLike[str],
    flows: Flows | None = None,
    *,
    duration: str | None = None,
    warmup: str | None = None,
    seed: int | None = None,
    repeat: int = 1,
    threads: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> Run | Runs:
    """Simulates a scenario, a scenario file, or ``flows`` on a path::

        run = ackclock.simulate(ackclock.Path("10mbit", "40ms", "84p"), ["cdg", "newreno"], duration="60s")
        print(run.flows.select(["name", "goodput_bps"]))

    ``flows``, ``duration``, ``warmup`` and ``seed``, where given, stand in place of the scenario's. With
    ``repeat`` above 1 the scenario is run with that many seeds, counted up from ``seed``, on ``threads``
    threads (by default one a core), and the runs are returned in the order of their seeds. ``progress`` is
    called with the fraction done, several times a second.

    Raises ScenarioError for a scenario that cannot be run, and whatever a controller written in Python
    raises.
    """
    resolved, factories = compiled(scenario, flows, {"duration": duration, "warmup": warmup, "seed": seed})
    return in_order(repetitions(resolved, repeat), Simulator(threads, factories), progress)


def compiled(
    scenario: Scenario | Path | str | os.PathLike[str],
    flows: Flows | None,
    given: Mapping[str, object],
    *,
    any_controller: bool = False,
) -> tuple[str, list[Factory]]:
    """What the engine takes, see ``Scenario.compiled``, with what is given (not None) in place of its own."""
    if isinstance(scenario, Path):
        scenario = Scenario(path=scenario)
    elif not isinstance(scenario, Scenario):
        scenario = Scenario.load(scenario, any_controller=any_controller)
    if flows is not None:
        scenario = replace(scenario, flows=[flow if isinstance(flow, Flow) else Flow(flow) for flow in flows])
    overrides = {key: value for key, value in given.items() if value is not None}
    return scenario.compiled(overrides, any_controller=any_controller)


def repetitions(resolved: str, repeat: int) -> list[Job]:
    """A job for each of ``repeat`` seeds, counted up from that of the scenario. Raises ValueError."""
    if repeat < 1:
        raise ValueError(f"repeat is {repeat}: at least 1 is needed")
    first: int = json.loads(resolved)["seed"]
    if first + repeat - 1 > LARGEST_SEED:
        raise ValueError(
            f"repeat is {repeat} from seed {first}: the last seed would be {first + repeat - 1}, "
            f"at most {LARGEST_SEED} is allowed"
        )
    return [Job(resolved, first + index) for index in range(repeat)]


def in_order(jobs: Sequence[Job], engine: Engine, progress: Progress | None) -> Run | Runs:
    """Runs the jobs and gives their runs in order, a single one as it is."""
    runs = dict(engine.finished(jobs, progress))
    ordered = Runs(runs[index] for index in range(len(jobs)))
    return ordered[0] if len(ordered) == 1 else ordered
