"""The cells of a comparison: situations times controllers, as both engines run them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ackclock import _engine
from ackclock.parity.situations import Situation
from ackclock.repetitions import Point, seeds
from ackclock.scenario import display_name

SIMULATED_PARAMETERS: Mapping[str, Mapping[str, Any]] = {"newreno": {"stack": "linux"}}
"""Parameters that make a simulated controller the live one: the kernel's reno has whole segments."""

DRAWING = ("cdg",)
"""Controllers that back off at random: their windows at one instant differ from run to run."""


@dataclass(frozen=True)
class Cell:
    """A controller in a situation."""

    situation: Situation
    cc: str

    @property
    def path(self) -> str:
        """Its situation in words, for a greedy flow its path."""
        return self.situation.title

    @property
    def compare(self) -> tuple[str, ...]:
        """The comparisons that decide if the engines are near in it."""
        left_out = ("windows",) if self.cc in DRAWING else ()
        return tuple(what for what in self.situation.compare if what not in left_out)

    @property
    def flows(self) -> int:
        """How many flows it has."""
        return self.situation.flows

    @property
    def name(self) -> str:
        """Its flows in words."""
        if self.situation.other:
            return f"{display_name(self.cc)} beside {self.situation.other}"
        return f"{self.flows} x {display_name(self.cc)}"

    def plan(self, simulated: bool = False) -> _engine.Plan:
        """Its scenario; simulated with profile `linux` its controller is the kernel's too."""
        document = self.situation.document()
        for flow in document["flows"]:
            cc = flow.setdefault("cc", self.cc)
            if simulated and cc in SIMULATED_PARAMETERS:
                flow["parameters"] = dict(SIMULATED_PARAMETERS[cc])
        document |= {
            "name": f"{self.path}, {self.name}",
            "record": {"flow_series": "10ms" if self.situation.windows_at_s else "20ms", "events": False},
        }
        return _engine.resolve_json(json.dumps(document), [], _engine.Files([self.cc]))


@dataclass(frozen=True)
class Grid:
    """Every combination of situations and controllers, and how they are run live."""

    situations: Sequence[Situation]
    controllers: Sequence[str]
    seed: int
    repeat: int

    def cells(self) -> list[Cell]:
        """The cells, grouped by situation."""
        every = (Cell(situation, cc) for situation in self.situations for cc in self.controllers)
        return list(dict.fromkeys(every))

    def points(self, simulations: int = 0) -> list[Point[int]]:
        """The cells as points of a sweep, by their numbers: live, or simulated ``simulations`` times."""
        repetitions = seeds(self.seed, max(simulations, self.repeat))
        return [
            Point(number, cell.plan(simulated=simulations > 0), repetitions)
            for number, cell in enumerate(self.cells())
        ]
