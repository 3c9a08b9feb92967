"""Cases: what a controller is put into, and what it must do there. Each is a TOML file."""

from __future__ import annotations

import copy
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from ackclock import _engine
from ackclock.cases.document import CaseError, Table, as_mistakes, read_toml
from ackclock.cases.measure import REFERENCES, STATISTICS, Sample, checked
from ackclock.checks.target import AIMS, Target
from ackclock.errors import InputError
from ackclock.metrics import METRICS, MetricError, Tables
from ackclock.scenario import override_list

LAWS = Path(__file__).parent / "laws"
"""Cases for every controller."""

RULES = Path(__file__).parent / "rules"
"""Cases for an algorithm: a folder for each."""

WORST = "worst"
"""The statistic of a bound that every seed must keep."""

MOST_SEEDS = 100

RECORD = {"flow_series": "100ms", "link_series": "100ms", "probes": "off", "events": False}


@dataclass(frozen=True)
class Judge:
    """A bound on one measure."""

    id: str
    """Its part of the id of its case; empty where that has one bound."""
    words: str
    sample: Sample
    low: float
    high: float
    statistic: str
    """Over the seeds."""
    over: str | None = None
    """The statistic over the windows of a measure that has several."""
    times: float = 1.0
    """The factor that gives the measure its unit."""

    def value(self, runs: Sequence[Tables]) -> float:
        """Its measure over all seeds. Raises MetricError where it has none."""
        values = [self._of(run) for run in runs]
        if self.statistic != WORST:
            return float(STATISTICS[self.statistic](_array(values)))
        # With both bounds the worst is the value that is furthest outside.
        return max(values, key=lambda value: max(self.low - value, value - self.high))

    def _of(self, run: Tables) -> float:
        value = self.sample.of(run)
        return self.times * float(value if self.over is None else STATISTICS[self.over](value))

    def holds(self, value: float) -> bool:
        """True if a value is within the bounds; not a number is not."""
        return self.low <= value <= self.high


@dataclass(frozen=True)
class Case:
    """A scenario with its bounds."""

    id: str
    group: str
    title: str
    why: str
    source: str
    scenario: str
    """As JSON; the target has the flows without ``cc``."""
    settings: tuple[tuple[str, str], ...]
    """Keys that the variant sets."""
    judges: tuple[Judge, ...]
    seeds: int
    aims: tuple[str, ...]
    long: bool = False
    """It takes minutes, and runs only where it is asked for."""

    def plan(self, target: Target) -> _engine.Plan:
        """The scenario with the target in it. Raises ScenarioError."""
        document = json.loads(self.scenario)
        document["flows"] = [target.flow(flow) for flow in document["flows"]]
        return _engine.resolve_json(json.dumps(document), self.settings)

    def named(self, judge: Judge) -> str:
        """The id of one of its bounds."""
        return f"{self.id}/{judge.id}" if judge.id else self.id


def _array(values: Sequence[float]) -> Any:
    import numpy as np

    return np.asarray(values, np.float64)


@cache
def laws() -> tuple[Case, ...]:
    """The laws, in the order of their files."""
    return tuple(case for file in sorted(LAWS.glob("*.toml")) for case in read(file, "laws"))


@cache
def rules(algorithm: str) -> tuple[Case, ...]:
    """The rules of an algorithm; none where it has no folder."""
    folder = RULES / elsewhere("same").get(algorithm, algorithm)
    return tuple(case for file in sorted(folder.glob("*.toml")) for case in read(file, algorithm))


@cache
def elsewhere(kind: str) -> Mapping[str, str]:
    """Algorithms with the rules of another (``same``), or of a suite (``suites``)."""
    return dict(read_toml(RULES / "sets.toml")[kind])


@cache
def rule_sets() -> tuple[str, ...]:
    """The algorithms that have rules."""
    folders = [folder.name for folder in RULES.iterdir() if folder.is_dir()]
    return tuple(sorted({*folders, *elsewhere("same"), *elsewhere("suites")}))


def read(file: Path, group: str) -> Iterator[Case]:
    """The cases of a file, one for each variant. Raises CaseError."""
    table = Table(read_toml(file), file.name)
    document = table.take("scenario", dict)
    aims = tuple(table.take("aims", list, list(AIMS)))
    if unknown := [aim for aim in aims if aim not in AIMS]:
        raise CaseError(f"{file.name}: aims: there is no aim {unknown[0]!r} (there are {', '.join(AIMS)})")
    seeds = table.take("seeds", int, 1)
    if not 1 <= seeds <= MOST_SEEDS:
        raise CaseError(f"{file.name}: seeds = {seeds}: from 1 to {MOST_SEEDS} are allowed")
    about = {key: table.take(key, str) for key in ("title", "why", "source")}
    long = table.take("long", bool, False)
    judges = tuple(
        _judge(Table(one, f"{file.name}, judges.{number}"))
        for number, one in enumerate(table.tables("judges"))
    )
    if not judges:
        raise CaseError(f"{file.name}: `judges` is missing")
    if len({one.id for one in judges}) < len(judges):
        raise CaseError(f"{file.name}: judges: each of several needs an `id` of its own")
    variants = table.tables("variants") or [{}]
    table.done()
    scenario = json.dumps({"name": file.stem, **_with_defaults(document, file.name)})
    for number, values in enumerate(variants):
        variant = Table(values, f"{file.name}, variants.{number}")
        name = variant.take("name", str, "")
        settings = variant.take("set", dict, {})
        bounds = {key: variant.take(key, (int, float), None) for key in ("low", "high")}
        variant.done()
        yield Case(
            id=f"{file.stem}/{_slug(name)}" if name else file.stem,
            group=group,
            title=f"{about['title']}: {name}" if name else about["title"],
            why=about["why"],
            source=about["source"],
            scenario=scenario,
            settings=tuple(override_list(settings)),
            judges=tuple(_bounded(one, bounds) for one in judges),
            seeds=seeds,
            aims=aims,
            long=long,
        )


def _with_defaults(document: Mapping[str, Any], where: str) -> dict[str, Any]:
    """A scenario that records what is measured, and no more."""
    filled = copy.deepcopy(dict(document))
    filled["record"] = RECORD | filled.get("record", {})
    flows = filled.get("flows")
    if not isinstance(flows, list) or not all(isinstance(flow, dict) for flow in flows):
        raise CaseError(f"{where}: scenario.flows must be a list of tables")
    if all("cc" in flow for flow in flows):
        raise CaseError(f"{where}: a flow of the scenario must be without `cc`: the target has it")
    return filled


def _judge(table: Table) -> Judge:
    identity = table.take("id", str, "")
    words = table.take("words", str)
    measure = dict(table.take("measure", dict))
    number = (int, float)
    low = float(table.take("low", number, -math.inf))
    high = float(table.take("high", number, math.inf))
    statistic = table.take("statistic", str, WORST)
    table.done()
    if statistic not in (WORST, *STATISTICS):
        raise CaseError(
            f"{table.where}: statistic = {statistic!r} must be one of {WORST}, {', '.join(STATISTICS)}"
        )
    metric, relative_to, over = (measure.pop(key, None) for key in ("metric", "relative_to", "over"))
    times = float(measure.pop("times", 1.0))
    if metric not in METRICS:
        raise CaseError(f"{table.where}: metric = {metric!r}: there is no such metric")
    if relative_to not in (None, *REFERENCES):
        raise CaseError(
            f"{table.where}: relative_to = {relative_to!r} must be one of {', '.join(REFERENCES)}"
        )
    if over not in (None, *STATISTICS):
        raise CaseError(f"{table.where}: over = {over!r} must be one of {', '.join(STATISTICS)}")
    with as_mistakes(table.where):
        arguments = checked(METRICS[metric], measure)
    return Judge(
        identity,
        words,
        Sample(metric, tuple(arguments.items()), relative_to),
        low,
        high,
        statistic,
        over,
        times,
    )


def _bounded(judge: Judge, bounds: Mapping[str, float | None]) -> Judge:
    low, high = bounds["low"], bounds["high"]
    return replace(
        judge, low=judge.low if low is None else float(low), high=judge.high if high is None else float(high)
    )


def _slug(name: str) -> str:
    return re.sub(r"[^\w.]+", "-", name).strip("-").lower()


def choose(cases: Sequence[Case], names: Sequence[str]) -> list[Case]:
    """The cases that ``names`` mean: an id, or the part of it before ``/``. Raises InputError."""
    found: list[Case] = []
    for name in names:
        own = [case for case in cases if case.id == name or case.id.partition("/")[0] == name]
        if not own:
            known = ", ".join(dict.fromkeys(case.id.partition("/")[0] for case in cases))
            raise InputError(f"--only {name}: the target has no such case; there are {known}")
        found += [case for case in own if case not in found]
    return found


__all__ = ["LAWS", "RULES", "Case", "Judge", "MetricError", "choose", "laws", "read", "rules"]
