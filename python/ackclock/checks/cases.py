"""Reads the cases for controllers: laws for all, and rules of algorithms. Each is a TOML file."""

from __future__ import annotations

import copy
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from ackclock.cases.document import CaseError, TomlTable, as_mistakes, read_toml
from ackclock.cases.judgement import expressions, in_place_of_the_target
from ackclock.cases.measure import STATISTICS
from ackclock.cases.model import Case, Claim, Setup
from ackclock.cases.reading import OURS, band, beside_standards, check_bounds, sweep
from ackclock.cases.variations import REPETITIONS
from ackclock.checks.target import AIMS, Target, target
from ackclock.errors import InputError
from ackclock.scenario import override_list

LAWS = Path(__file__).parent / "laws"
"""Cases for every controller."""

RULES = Path(__file__).parent / "rules"
"""Cases for an algorithm: a folder for each."""

OWN = "own"
"""The group of cases that a user has written."""

WORST = "worst"
"""The statistic of a bound that every seed must keep."""

MOST_SEEDS = 100

RECORD = {"flow_series": "100ms", "link_series": "100ms", "probes": "off", "events": False}


@dataclass(frozen=True, kw_only=True)
class TargetCase(Case):
    """A case whose flows without ``cc`` are the target's."""

    group: str
    why: str
    source: str
    aims: tuple[str, ...] = tuple(AIMS)
    long: bool = False
    """It takes minutes, and runs only where it is asked for."""

    def with_target(self, one: Target) -> TargetCase:
        """The case with the target in it, and beside it with each controller that gives an end of a band."""
        ends = [relative for claim in self.claims for relative in claim.relative.values()]
        others = {cc: relative.seeds for relative in ends for cc in relative.beside}
        beside = tuple(
            replace(setup, name=in_place_of_the_target(cc, (setup.name, ()))[0], repetitions=seeds)
            for cc, seeds in others.items()
            for setup in self._filled(_beside(self._ours(one) if cc == OURS else cc)).setups
        )
        return replace(self._filled(one), others=beside)

    def _ours(self, one: Target) -> str:
        """The name of our controller of the target's algorithm."""
        if one.algorithm is None:
            raise InputError(f"{self.file.name}: {OURS}: name the algorithm of {one.name} with --as")
        return one.algorithm

    def _filled(self, one: Target) -> TargetCase:
        return self.with_scenarios(
            lambda scenario: {**scenario, "flows": [one.flow(flow) for flow in scenario["flows"]]}
        )


@cache
def _beside(cc: str) -> Target:
    """One of our controllers in the place of the target."""
    return target(cc)


@cache
def laws() -> tuple[TargetCase, ...]:
    """The laws, in the order of their files."""
    return tuple(case for file in sorted(LAWS.glob("*.toml")) for case in read(file, "laws"))


@cache
def rules(algorithm: str) -> tuple[TargetCase, ...]:
    """The rules of an algorithm. Empty if it has no folder."""
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


def read(file: Path, group: str) -> Iterator[TargetCase]:
    """The cases of a file, one for each variant. Raises CaseError."""
    table = TomlTable(read_toml(file), file.name)
    scenario = {"name": file.stem, **_with_defaults(table.take("scenario", dict), file.name)}
    aims = tuple(table.take("aims", list, list(AIMS)))
    if unknown := [aim for aim in aims if aim not in AIMS]:
        raise CaseError(f"{file.name}: aims: there is no aim {unknown[0]!r} (there are {', '.join(AIMS)})")
    seeds = table.take("seeds", int, 1)
    if not 1 <= seeds <= MOST_SEEDS:
        raise CaseError(f"{file.name}: seeds = {seeds}: from 1 to {MOST_SEEDS} are allowed")
    title, why, source = (table.take(key, str) for key in ("title", "why", "source"))
    long = table.take("long", bool, False)
    claims = _claims(table, group, why, source)
    variants = [*table.tables("variants"), *_swept(table)] or [{}]
    table.done()
    for number, values in enumerate(variants):
        variant = TomlTable(values, f"{file.name}, variants.{number}")
        name = variant.take("name", str, "")
        settings, ends = tuple(override_list(variant.take("set", dict, {}))), band(variant)
        variant.done()
        identity, titled = (f"{file.stem}/{_slug(name)}", f"{title}: {name}") if name else (file.stem, title)
        case = TargetCase(
            id=identity,
            file=file,
            group=group,
            title=titled,
            why=why,
            source=source,
            setups=(Setup("main", scenario, settings),),
            repetitions=seeds,
            claims=tuple(_of_case(one, identity, titled, ends) for one in claims),
            aims=aims,
            long=long,
        )
        for claim in case.claims:
            where = f"{file.name}, {claim.id}"
            check_bounds(claim, where)
            with as_mistakes(where):
                expressions(claim, case)
        yield case


def _swept(table: TomlTable) -> list[dict[str, Any]]:
    """A variant for each combination of the values of ``sweep``. Empty if nothing is swept."""
    keys = sweep(table)
    combined = itertools.product(*keys.values()) if keys else ()
    return [{"name": "-".join(values), "set": dict(zip(keys, values, strict=True))} for values in combined]


def _with_defaults(document: Mapping[str, Any], where: str) -> dict[str, Any]:
    """A scenario that records only the measured tables."""
    filled = copy.deepcopy(dict(document))
    filled["record"] = RECORD | filled.get("record", {})
    flows = filled.get("flows")
    if not isinstance(flows, list) or not all(isinstance(flow, dict) for flow in flows):
        raise CaseError(f"{where}: scenario.flows must be a list of tables")
    if all("cc" in flow for flow in flows):
        raise CaseError(f"{where}: a flow of the scenario must be without `cc`: the target has it")
    return filled


def _claims(table: TomlTable, group: str, why: str, source: str) -> list[Claim]:
    """The bounds of a file, each with an id of its own among several."""
    found = [
        _judge(TomlTable(one, f"{table.where}, judges.{number}"), group, why, source)
        for number, one in enumerate(table.tables("judges"))
    ]
    if not found:
        raise CaseError(f"{table.where}: `judges` is missing")
    if len({one.id for one in found}) < len(found):
        raise CaseError(f"{table.where}: judges: each of several needs an `id` of its own")
    return found


def _judge(table: TomlTable, group: str, why: str, source: str) -> Claim:
    statistic = table.take("statistic", str, WORST)
    if statistic not in (WORST, *STATISTICS):
        raise CaseError(
            f"{table.where}: statistic = {statistic!r} must be one of {WORST}, {', '.join(STATISTICS)}"
        )
    measure = table.take("measure", dict)
    worst: dict[str, Any] = {"over": REPETITIONS, "share": 1.0, "is_worst": True}
    claim = Claim(
        id=table.take("id", str, ""),
        text=table.take("words", str),
        unit=table.take("unit", str, "-"),
        measure=measure if statistic == WORST else {**measure, "statistic": statistic},
        group=group,
        because=why,
        source=source,
        **(worst if statistic == WORST else {}),
        **(beside_standards(table) or band(table)),
    )
    table.done()
    return claim


def _of_case(claim: Claim, case: str, title: str, ends: Mapping[str, Any]) -> Claim:
    """A bound as a variant has it: with its id and title, and the ends of a band of its own."""
    relative = {end: one for end, one in claim.relative.items() if end not in ends}
    own = {**ends, "relative": relative | ends.get("relative", {})}
    return replace(claim, id=f"{case}/{claim.id}" if claim.id else case, title=title, **own)


def _slug(name: str) -> str:
    return re.sub(r"[^\w.]+", "-", name).strip("-").lower()


def choose(cases: Sequence[TargetCase], names: Sequence[str]) -> list[TargetCase]:
    """The cases that ``names`` mean: an id, or the part of it before ``/``. Raises InputError."""
    found: list[TargetCase] = []
    for name in names:
        own = [case for case in cases if case.id == name or case.id.partition("/")[0] == name]
        if not own:
            known = ", ".join(dict.fromkeys(case.id.partition("/")[0] for case in cases))
            raise InputError(f"--only {name}: the target has no such case; there are {known}")
        found += [case for case in own if case not in found]
    return found
