"""Running scenarios from Python: ``simulate`` in simulated time, ``live`` on this machine's kernel."""

from __future__ import annotations

import json
import operator
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias, TypedDict, Unpack, overload

from ackclock import repetitions
from ackclock.controller import Controller
from ackclock.engines import Engine, Progress
from ackclock.engines.live import Live, check_built_in
from ackclock.engines.simulator import Simulator
from ackclock.result import Run, Runs
from ackclock.scenario import Factory, Flow, Path, Scenario

Flows: TypeAlias = Sequence[Flow | str | type[Controller]]
"""Flows, or just their controllers."""

Described: TypeAlias = Scenario | Path | str | os.PathLike[str]
"""A scenario, a path that ``flows`` are put on, or a scenario file."""


class Options(TypedDict, total=False):
    """The keyword arguments of ``simulate`` and ``live`` alike, apart from ``repeat``."""

    duration: str | None
    warmup: str | None
    seed: int | None
    progress: Progress | None


class SimulateOptions(Options, total=False):
    """The keyword arguments of ``simulate``."""

    threads: int | None


class LiveOptions(Options, total=False):
    """The keyword arguments of ``live``."""

    retries: int
    gso_max_segs: int | None


# Only where ``repeat`` is written out as 1 can a type checker know that the result is a ``Run``. So the
# second overload is ``Runs | Any``: what is right for ``Runs`` passes, and for a single ``Run`` too.
@overload
def simulate(
    scenario: Described,
    flows: Flows | None = None,
    *,
    repeat: Literal[1] = 1,
    **options: Unpack[SimulateOptions],
) -> Run: ...


@overload
def simulate(
    scenario: Described, flows: Flows | None = None, *, repeat: int, **options: Unpack[SimulateOptions]
) -> Runs | Any: ...


def simulate(
    scenario: Described,
    flows: Flows | None = None,
    *,
    duration: str | None = None,
    warmup: str | None = None,
    seed: int | None = None,
    repeat: int = 1,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Run | Runs:
    """Simulates a scenario, a scenario file, or ``flows`` on a path:

        run = ackclock.simulate(ackclock.Path("10mbit", "40ms", "84p"), ["cdg", "newreno"], duration="60s")
        print(run.flows.select(["name", "goodput_bps"]))

    ``flows``, ``duration``, ``warmup`` and ``seed``, if given, replace those of the scenario. With
    ``repeat`` above 1 the scenario is run with that many seeds, counted up from ``seed``, on ``threads``
    threads (by default one a core), and the runs are returned in the order of their seeds. ``progress`` is
    called with the fraction done, several times a second.

    Raises ScenarioError for a scenario that cannot be run, and whatever a controller written in Python
    raises.
    """
    given = {"duration": duration, "warmup": warmup, "seed": _whole("seed", seed)}
    resolved, factories = _compiled(scenario, flows, given)
    return _in_order(resolved, repeat, Simulator(threads, factories), progress)


@overload
def live(
    scenario: Described,
    flows: Flows | None = None,
    *,
    repeat: Literal[1] = 1,
    **options: Unpack[LiveOptions],
) -> Run: ...


@overload
def live(
    scenario: Described, flows: Flows | None = None, *, repeat: int, **options: Unpack[LiveOptions]
) -> Runs | Any: ...


def live(
    scenario: Described,
    flows: Flows | None = None,
    *,
    duration: str | None = None,
    warmup: str | None = None,
    seed: int | None = None,
    repeat: int = 1,
    retries: int = 0,
    gso_max_segs: int | None = None,
    progress: Progress | None = None,
) -> Run | Runs:
    """Runs on the TCP of this machine's kernel what :func:`ackclock.simulate` simulates, in real time:

        run = ackclock.live(ackclock.Path("10mbit", "40ms", "84p"), ["cdg", "bbr"], duration="20s", retries=2)
        print(run.valid, run.engine["lateness_us"])

    Arguments and result are those of ``simulate``, without threads: repetitions run one after the other.
    Flows may name any controller that the kernel has. A run that goes past its error budget is repeated up to
    ``retries`` times; one that stays past it is returned all the same, with ``run.valid`` false and the
    reasons in ``run.engine["reasons"]``. ``gso_max_segs`` bounds how many segments TCP sends at once.

    Raises ScenarioError for a scenario that cannot run live, MachineError where this machine, or this build
    of ackclock, lacks something for it.
    """
    check_built_in()
    if retries < 0:
        raise ValueError(f"retries is {retries}: must not be negative")
    if gso_max_segs is not None and gso_max_segs < 1:
        raise ValueError(f"gso_max_segs is {gso_max_segs}: must be at least 1")
    engine = Live(retries, gso_max_segs=gso_max_segs)
    given = {"duration": duration, "warmup": warmup, "seed": _whole("seed", seed)}
    resolved, _ = _compiled(scenario, flows, given, any_controller=True)
    engine.check(resolved)
    return _in_order(resolved, repeat, engine, progress)


def _compiled(
    scenario: Described,
    flows: Flows | None,
    given: Mapping[str, object],
    *,
    any_controller: bool = False,
) -> tuple[str, list[Factory]]:
    """See ``Scenario.compiled``; the values given that are not None replace those of the scenario."""
    overrides = {key: value for key, value in given.items() if value is not None}
    built = described(scenario, flows, any_controller=any_controller)
    return built.compiled(overrides, any_controller=any_controller)


def described(scenario: Described, flows: Flows | None, *, any_controller: bool = False) -> Scenario:
    """The scenario that the first two arguments of :func:`simulate` describe. Raises ScenarioError."""
    if isinstance(scenario, Path):
        scenario = Scenario(path=scenario)
    elif not isinstance(scenario, Scenario):
        scenario = Scenario.load(scenario, any_controller=any_controller)
    if flows is not None:
        if isinstance(flows, str | Flow | type):
            raise TypeError(f'flows is {flows!r}: it must be a list, as in ["cubic"]')
        scenario = replace(scenario, flows=[flow if isinstance(flow, Flow) else Flow(flow) for flow in flows])
    return scenario


def _whole(name: str, number: object) -> int | None:
    """A whole number of any type, such as NumPy's, as one of Python; None as it is."""
    if number is None:
        return None
    try:
        return operator.index(number)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"{name} is {number!r}: must be a whole number") from None


def _in_order(resolved: str, repeat: int, engine: Engine, progress: Progress | None) -> Run | Runs:
    """Runs the repetitions and gives them in the order of their seeds, a single one by itself."""
    if (number := _whole("repeat", repeat)) is not None:
        repeat = number
    if not 1 <= repeat <= repetitions.MOST_REPETITIONS:
        raise ValueError(f"repeat is {repeat}: must be from 1 to {repetitions.MOST_REPETITIONS}")
    repetitions.check_memory([resolved], repeat)
    point = repetitions.Point(None, resolved, repetitions.seeds(json.loads(resolved)["seed"], repeat))
    runs = {result.repetition: result.run for result in repetitions.results([point], engine, progress)}
    ordered = Runs(runs[repetition] for repetition in range(repeat))
    return ordered[0] if repeat == 1 else ordered
