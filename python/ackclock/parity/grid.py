"""The scenarios that both engines run."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from dataclasses import dataclass

from ackclock import _engine
from ackclock.repetitions import Point, seeds
from ackclock.scenario import display_name

START_JITTER = "1s"
"""Flows start within this, at instants that the seed draws for both engines. Without it all simulated runs of
a controller that draws nothing itself are the same, and there is no spread to compare with."""


@dataclass(frozen=True)
class Cell:
    """One point of the grid."""

    rate: str
    rtt: str
    queue: str
    flows: int
    cc: str

    @property
    def path(self) -> str:
        """Its path in words."""
        return f"{self.rate}, {self.rtt}, {self.queue}"

    @property
    def name(self) -> str:
        """Its flows in words."""
        return f"{self.flows} x {display_name(self.cc)}"

    def resolved(self, duration: str, warmup: str) -> str:
        """Its scenario, resolved; simulated with profile `linux` its controller is the kernel's too."""
        flow = {"cc": self.cc, "count": self.flows, "start_jitter": START_JITTER}
        document = {
            "name": f"{self.path}, {self.name}",
            "duration": duration,
            "warmup": warmup,
            "path": {"rate": self.rate, "rtt": self.rtt, "queue": self.queue},
            "flows": [flow],
            "record": {"flow_series": "20ms", "events": False},
        }
        return _engine.resolve_json(json.dumps(document), [])


@dataclass(frozen=True)
class Grid:
    """Every combination of paths, numbers of flows and controllers, and how they are run live."""

    rates: Sequence[str]
    rtts: Sequence[str]
    queues: Sequence[str]
    flows: Sequence[int]
    controllers: Sequence[str]
    duration: str
    warmup: str
    seed: int
    repeat: int

    def cells(self) -> list[Cell]:
        """The cells, those of a path together."""
        every = itertools.product(self.rates, self.rtts, self.queues, self.flows, self.controllers)
        return list(dict.fromkeys(Cell(*values) for values in every))

    def points(self, simulations: int = 0) -> list[Point[int]]:
        """The cells as the points of a sweep, by their numbers: live, or simulated ``simulations`` times."""
        repetitions = seeds(self.seed, simulations or self.repeat)
        return [
            Point(number, cell.resolved(self.duration, self.warmup), repetitions)
            for number, cell in enumerate(self.cells())
        ]
