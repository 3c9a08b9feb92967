"""Running scenarios from Python, on any engine."""

from __future__ import annotations

import operator
import os
import pathlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias, Unpack, overload

from ackclock import _engine, repetitions
from ackclock.controller import Controller
from ackclock.engines import Engine, Progress, registry
from ackclock.engines.live import LiveOptions
from ackclock.engines.quic import QuicOptions
from ackclock.engines.simulator import SimulatorOptions
from ackclock.engines.uml import UmlOptions
from ackclock.language import Flow, Path
from ackclock.result import Run, Runs
from ackclock.scenario import Factory, Scenario, override_list, read
from ackclock.trust import all_named

Flows: TypeAlias = Sequence[Flow | str | type[Controller]]
"""Flows, or their controllers alone."""

Described: TypeAlias = Scenario | Path | Mapping[str, Any] | str | os.PathLike[str]
"""A scenario, a path for ``flows``, the document of a scenario, or a scenario file."""


class Options(SimulatorOptions, QuicOptions, LiveOptions, UmlOptions, total=False):
    """The keyword arguments of ``simulate`` apart from ``repeat``, the options of all engines among them."""

    engine: str
    duration: str | None
    warmup: str | None
    seed: int | None
    progress: Progress | None


# Only where ``repeat`` is written out as 1 can a type checker know that the result is a ``Run``. So the
# second overload is ``Runs | Any``: code for ``Runs`` passes, and code for a single ``Run`` too.
@overload
def simulate(
    scenario: Described,
    flows: Flows | None = None,
    *,
    repeat: Literal[1] = 1,
    **options: Unpack[Options],
) -> Run: ...


@overload
def simulate(
    scenario: Described, flows: Flows | None = None, *, repeat: int, **options: Unpack[Options]
) -> Runs | Any: ...


def simulate(
    scenario: Described,
    flows: Flows | None = None,
    *,
    engine: str = registry.DEFAULT,
    duration: str | None = None,
    warmup: str | None = None,
    seed: int | None = None,
    repeat: int = 1,
    progress: Progress | None = None,
    **options: Any,
) -> Run | Runs:
    """Runs a scenario, its document as a dict, a scenario file, or ``flows`` on a path:

        run = ackclock.simulate(ackclock.Path("10mbit", "40ms", "84p"), ["cdg", "newreno"], duration="60s")
        print(run.flows.select(["name", "goodput_bps"]))

    ``flows``, ``duration``, ``warmup`` and ``seed``, if given, replace the scenario's. With ``repeat`` above
    1 the scenario is run with that many seeds, counted up from ``seed``, and the runs are returned in the
    order of their seeds. ``progress`` is called with the fraction done, several times a second.

    ``engine`` is one of these:

    - ``"sim"`` runs on ``threads`` threads (by default one a core), each run on ``cores`` cores (by default
      one).
    - ``"quic"`` runs over QUIC, in virtual time, on ``threads`` threads: connections of noq with ackclock's
      controllers or its own (``noq:cubic``). ``qlog`` is a folder for the log of the stack itself.
    - ``"quic-live"`` runs the same in real time, over UDP sockets, with ``qlog``, and with ``retries`` and
      ``at_once`` as for live runs.
    - ``"live"`` is this machine's own TCP: see ``ackclock.live``.
    - ``"uml"`` is a whole Linux in virtual time, which ``ackclock kernel build`` has made. ``linux`` is its
      version (by default the newest), ``kernels`` the number of them side by side (by default one a core).
      ``disciplines`` is ``"kernel"`` or ``"simulated"``. By default a queue is the kernel's if the
      scenario names a discipline of ``tc``. ``gso_max_segs`` is as for live runs.

    Raises ScenarioError for a scenario that the engine cannot run, and whatever a controller written in
    Python raises.
    """
    kind = registry.find(engine)
    given = {"duration": duration, "warmup": warmup, "seed": _whole("seed", seed)}
    plan, factories = _compiled(scenario, flows, given)
    if factories and kind.no_python is None:
        options |= {"controllers": factories}
    made = registry.make(engine, **options)
    made.check(plan)
    return _in_order(plan, repeat, made, progress)


def live(scenario: Described, flows: Flows | None = None, **options: Any) -> Any:
    """Runs a scenario on the TCP of this machine's kernel, in real time:

        run = ackclock.live(ackclock.Path("10mbit", "40ms", "84p"), ["cdg", "bbr"], duration="20s", retries=2)
        print(run.valid, run.engine["lateness_us"])

    Arguments and result are as for ``simulate(..., engine="live")``. Flows may name any controller that the
    kernel has. A run that goes past its error budget is repeated up to ``retries`` times. One that stays past
    it is returned all the same, with ``run.valid`` false and the reasons in ``run.engine["reasons"]``.
    ``at_once`` repetitions go on at the same time. ``gso_max_segs`` bounds the segments that TCP sends at
    once.

    Raises ScenarioError for a scenario that cannot run live, MachineError where this machine, or this build
    of ackclock, lacks something for it.
    """
    return simulate(scenario, flows, engine="live", **options)


def _compiled(
    scenario: Described, flows: Flows | None, given: Mapping[str, object]
) -> tuple[_engine.Plan, list[Factory]]:
    """See ``Scenario.compiled``. Given values that are not None replace the scenario's."""
    overrides = {key: value for key, value in given.items() if value is not None}
    files = all_named()
    if isinstance(scenario, str | os.PathLike) and flows is None:
        text = read(pathlib.Path(scenario))
        return _engine.resolve(text, os.fspath(scenario), override_list(overrides), files), []
    return described(scenario, flows, files).compiled(overrides, files)


def described(scenario: Described, flows: Flows | None, files: _engine.Files | None = None) -> Scenario:
    """The scenario that the first two arguments of ``simulate`` describe. Raises ScenarioError."""
    if isinstance(scenario, Path):
        scenario = Scenario(path=scenario)
    elif isinstance(scenario, Mapping):
        scenario = Scenario.from_document(scenario)
    elif not isinstance(scenario, Scenario | str | os.PathLike):
        raise TypeError(f"scenario is {scenario!r}: it must be a Scenario, a Path, a dict or a scenario file")
    elif not isinstance(scenario, Scenario):
        scenario = Scenario.load(scenario, files=files)
    if flows is not None:
        if isinstance(flows, str | Flow | type):
            raise TypeError(f'flows is {flows!r}: it must be a list, as in ["cubic"]')
        scenario = replace(scenario, flows=[flow if isinstance(flow, Flow) else Flow(flow) for flow in flows])
    return scenario


def _whole(name: str, number: object) -> int | None:
    """A whole number of any type, such as NumPy's, as one of Python. None stays None."""
    if number is None:
        return None
    try:
        return operator.index(number)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"{name} is {number!r}: must be a whole number") from None


def _in_order(plan: _engine.Plan, repeat: int, engine: Engine, progress: Progress | None) -> Run | Runs:
    """Runs the repetitions and gives them in the order of their seeds, a single one by itself."""
    if (number := _whole("repeat", repeat)) is not None:
        repeat = number
    if not 1 <= repeat <= repetitions.MOST_REPETITIONS:
        raise ValueError(f"repeat is {repeat}: must be from 1 to {repetitions.MOST_REPETITIONS}")
    repetitions.check_memory([plan], repeat)
    point = repetitions.Point(None, plan, repetitions.seeds(plan.seed, repeat))
    runs = {result.repetition: result.run for result in repetitions.results([point], engine, progress)}
    ordered = Runs(runs[repetition] for repetition in range(repeat))
    return ordered[0] if repeat == 1 else ordered
