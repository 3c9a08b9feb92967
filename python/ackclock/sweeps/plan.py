"""A sweep before it runs: its controllers, its design, and the run at each of its places."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ackclock import _engine, repetitions
from ackclock.engines import Engine, NamedEngine
from ackclock.errors import InputError
from ackclock.identity import Identities
from ackclock.scenario import display_name
from ackclock.sweeps import work
from ackclock.sweeps.axes import Design

Resolve = Callable[[Sequence[tuple[str, str]]], _engine.Plan]
"""The plan of a scenario with overrides set: dotted keys, and values as the scenario language writes them."""

ROWS_ONLY: Mapping[str, str] = {
    "record.events": "false",
    "record.flow_series": "off",
    "record.link_series": "200ms",
    "record.probes": "off",
}
"""A sweep uses the rows of flows and links, and samples of the queue for its halves."""


@dataclass(frozen=True)
class Variant:
    """A scenario of a sweep before the overrides of a point."""

    resolve: Resolve
    controller: str | None = None
    """The controller, as tables call it, or None if the flows of the scenario have theirs."""

    def label(self, plan: _engine.Plan) -> str:
        """The controllers of a run, as tables call them: an override of the point may have set them."""
        return self.controller or label_of(json.loads(plan.resolved)["flows"])


def label_of(flows: Sequence[Mapping[str, Any]]) -> str:
    """The controllers of the flows, each once, joined by ``+``.

    The controller of datagrams does not react: it counts only where there is nothing else.
    """
    reacting = [flow for flow in flows if flow.get("kind") != "datagram"]
    return "+".join(dict.fromkeys(display_name(flow["cc"]) for flow in reacting or flows))


@dataclass(frozen=True)
class Plan:
    """The runs of a sweep: every controller at every point, ``repeat`` times."""

    variants: Sequence[Variant]
    design: Design
    seeds: range
    settings: Mapping[str, str] = field(default_factory=dict)
    """Overrides of every run."""
    controllers: Sequence[Callable[[], Any]] = ()
    """Makers of the controllers that are written in Python."""
    context: str = ""
    """Further inputs of the results, in digests."""
    identities: Identities = field(default_factory=Identities)
    engine: NamedEngine | None = None
    """The engine that runs it."""

    def on(self, engine: NamedEngine) -> Plan:
        """The same plan, whose digests contain everything that the results of an engine depend on."""
        return replace(self, context=f"{self.context}\0{json.dumps(engine.identity())}", engine=engine)

    def __len__(self) -> int:
        return len(self.variants) * len(self.design) * len(self.seeds)

    def places(self) -> Iterator[tuple[str, Mapping[str, str], _engine.Plan]]:
        """Label, point and plan of each place. Raises ScenarioError."""
        for variant in self.variants:
            for point in self.design.points():
                overrides = {**ROWS_ONLY, **self.settings, **self.design.overrides(point)}
                try:
                    plan = variant.resolve(list(overrides.items()))
                except _engine.ScenarioError as error:
                    if self.design.lines is not None:
                        raise InputError(f"{error}, at {self._name(point)}") from None
                    raise
                yield variant.label(plan), point, plan

    def items(self) -> Iterator[work.Item]:
        """The runs, the repetitions of a place one after the other."""
        for label, point, plan in self.places():
            context = f"{self.context}\0{label}\0{sorted(point.items())}"
            seeds = repetitions.seeds(plan.seed, len(self.seeds)) if "seed" in point else self.seeds
            for seed in seeds:
                yield work.Item(self.identities.of(plan, seed, context), label, point, plan, seed)

    def _name(self, point: Mapping[str, str]) -> str:
        """A point in a sentence: a line by the columns that name it."""
        own = self.design.lines
        left_out = set() if own is None else set(own.keys[own.labels :])
        return ", ".join(f"{key}={value}" for key, value in point.items() if key not in left_out)

    def check(self, engine: Engine) -> list[str]:
        """Refuses impossible runs before any starts. Returns warnings and notes, each with its points.

        Raises InputError or ScenarioError.
        """
        if both := set(self.settings) & set(self.design.keys):
            raise InputError(
                f"{sorted(both)[0]}: is swept, and set to {self.settings[sorted(both)[0]]} as well"
            )
        found: dict[str, dict[str, None]] = {}
        for _, point, plan in self.places():
            engine.check(plan)
            where = self._name(point)
            said = plan.inspect()
            for kind in ("warning", "note"):
                for sentence in said[f"{kind}s"]:
                    found.setdefault(f"{kind}: {sentence}", {})[where] = None
            self.identities.of(plan, plan.seed)
        sentences = [f"{sentence}{_at(list(points))}" for sentence, points in found.items()]
        return [*sentences, *(f"warning: {sentence}" for sentence in self.identities.unknown())]


def _at(points: Sequence[str]) -> str:
    """The points of a warning in words: the first, and the number of the others."""
    more = f" and at {len(points) - 1} more" if len(points) > 1 else ""
    return f", at {points[0]}{more}" if points[0] else ""
