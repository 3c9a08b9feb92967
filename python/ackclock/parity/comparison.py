"""The quantities compared in a cell, and whether the engines differ by more than their runs do."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from ackclock import repetitions
from ackclock.cases.judgement import verdict
from ackclock.cases.model import Claim, Judgement, Relative, finite
from ackclock.engines import Engine, Progress
from ackclock.parity.grid import Cell, Grid
from ackclock.parity.readings import measured, readings
from ackclock.result import Run


class Column(NamedTuple):
    """A quantity in tables."""

    heading: str
    digits: int
    """Digits behind the point of a difference."""


QUANTITIES: Mapping[str, Column] = {
    "utilization": Column("utilization", 4),
    "queue_mean_packets": Column("queue mean (packets)", 1),
    "queue_p95_packets": Column("queue p95 (packets)", 0),
    "rtt_mean_ms": Column("RTT mean (ms)", 1),
    "dropped_packets": Column("dropped", 0),
}
"""The quantities that tables show of every cell."""

SPREAD_LIMIT = 3.0
"""Standard errors by which the engines may differ before it is more than the spread from run to run."""

NEAR: Mapping[str, Relative] = {
    "utilization": Relative(("simulated",), "mean", margin=0.01),
    "mean queue": Relative(("simulated",), "mean", share=0.1),
    "completion": Relative(("simulated",), "median", share=0.1),
    "window": Relative(("simulated",), "median", share=0.1, margin=1.0),
    "share": Relative(("simulated",), "median", margin=0.1),
}
"""The distances from the simulated value at which the engines are near, by check, or by its first word.

The kernel's windows are whole, so they may differ by a segment.
"""

AVERAGES: Mapping[str, Callable[[Sequence[float]], float]] = {
    "mean": statistics.fmean,
    "median": statistics.median,
}

OF_THE_LINK = {"utilization": "utilization", "mean queue": "queue_mean_packets"}
"""The checks of quantities that the tables show of every cell, by name."""


def _judged(what: str, simulated: Sequence[float], live: Sequence[float]) -> Judgement:
    """Judges live values by simulated ones. A transfer that does not complete is a miss."""
    near = NEAR.get(what) or NEAR[what.split()[0]]
    value, measured = (float(AVERAGES[near.of](values)) for values in (simulated, live))
    low, high = value - near.allowed(value), value + near.allowed(value)
    relative = {"low": near, "high": near}
    claim = Claim(id=what, text=what, measure=None, low=low, high=high, relative=relative)
    return Judgement(claim, measured, verdict(claim, measured), beside={"simulated": value})


def _as_json(one: Judgement) -> dict[str, Any]:
    """One object of ``checks``, with null in place of values that are no number."""
    (value,) = one.beside.values()
    allowed = one.claim.relative["high"].allowed(value)
    numbers = {"simulated": value, "live": one.measured, "allowed": allowed}
    return finite(numbers) | {"what": one.claim.id, "near": one.verdict == "pass"}


@dataclass(frozen=True)
class QuantitySpread:
    """A quantity over runs that differ in their seeds."""

    values: Sequence[float]

    @property
    def mean(self) -> float:
        """Their mean."""
        return statistics.fmean(self.values)

    @property
    def deviation(self) -> float | None:
        """Their standard deviation, or None for a single run."""
        return statistics.stdev(self.values) if len(self.values) > 1 else None

    def as_json(self) -> dict[str, float | None]:
        """Mean, range and standard deviation."""
        values = self.values
        return {"mean": self.mean, "low": min(values), "high": max(values), "deviation": self.deviation}


@dataclass(frozen=True)
class SimulatedCell:
    """The simulation of a cell: the run with the first seed, and the quantities with every one."""

    run: Run
    quantities: Sequence[Mapping[str, float]]
    """By run, in the order of the seeds: see ``readings.measured`` and ``readings.readings``."""

    def of_seeds(self, seeds: Sequence[int]) -> Sequence[Mapping[str, float]]:
        """The quantities of the runs with these seeds."""
        return [self.quantities[seed - self.run.seed] for seed in seeds]


def simulate(
    grid: Grid, simulations: int, simulator: Engine, progress: Progress | None = None
) -> list[SimulatedCell]:
    """Simulates each cell of the grid at least ``simulations`` times, with seeds from the grid's seed on."""
    cells, points = grid.cells(), grid.points(simulations)
    firsts: dict[int, Run] = {}
    found: dict[tuple[int, int], dict[str, float]] = {}
    for cell, repetition, run in repetitions.results(points, simulator, progress):
        found[cell, repetition] = measured(run) | readings(run, cells[cell])
        if repetition == 0:
            firsts[cell] = run
    return [
        SimulatedCell(firsts[cell], [found[cell, repetition] for repetition in range(len(point.seeds))])
        for cell, point in enumerate(points)
    ]


@dataclass(frozen=True)
class Comparison:
    """A cell with its runs in both engines."""

    cell: Cell
    simulated: SimulatedCell
    live: Sequence[Run]
    """At least one."""

    @property
    def trusted(self) -> Sequence[Run]:
        """The live runs that are compared: those within their error budget, or all where none is."""
        return [run for run in self.live if run.valid] or self.live

    @property
    def valid(self) -> bool:
        """True if any live run stayed within its error budget."""
        return self.trusted[0].valid

    @cached_property
    def spreads(self) -> dict[str, tuple[QuantitySpread, QuantitySpread]]:
        """Each quantity, simulated and live."""
        live = [measured(run) for run in self.trusted]
        return {
            key: (
                QuantitySpread([quantities[key] for quantities in self.simulated.quantities]),
                QuantitySpread([quantities[key] for quantities in live]),
            )
            for key in QUANTITIES
        }

    def difference(self, key: str) -> float:
        """Mean live less mean simulated."""
        simulated, live = self.spreads[key]
        return live.mean - simulated.mean

    def differs(self, key: str) -> bool:
        """True if the means are further apart than the spread from run to run explains.

        A single live run is assumed to spread as the simulated ones do. A difference that rounds to 0 in
        the table does not count.
        """
        simulated, live = self.spreads[key]
        of_simulated = simulated.deviation or 0.0
        of_live = of_simulated if live.deviation is None else live.deviation
        error = math.hypot(
            of_simulated / math.sqrt(len(simulated.values)), of_live / math.sqrt(len(live.values))
        )
        difference = abs(self.difference(key))
        return difference > SPREAD_LIMIT * error and difference >= 0.5 * 10.0 ** -QUANTITIES[key].digits

    @cached_property
    def checks(self) -> list[Judgement]:
        """The checks that decide the verdict: means over runs, medians of windows and transfers."""
        live = [measured(run) | readings(run, self.cell) for run in self.trusted]
        simulated = self.simulated.quantities
        if self.cell.situation.paired:
            simulated = self.simulated.of_seeds([run.seed for run in self.trusted])

        of_link = [one for one in OF_THE_LINK.items() if one[0].removeprefix("mean ") in self.cell.compare]
        return [
            _judged(what, [one[key] for one in simulated], [one[key] for one in live])
            for what, key in [*of_link, *((key, key) for key in readings(self.trusted[0], self.cell))]
        ]

    @property
    def near(self) -> bool:
        """True if everything that the situation compares is near, see ``NEAR``."""
        return not self.far

    @property
    def far(self) -> list[Judgement]:
        """The checks that are not near."""
        return [one for one in self.checks if one.verdict == "miss"]

    @property
    def within_spread(self) -> bool:
        """True if other seeds explain all that is not near, see ``differs``."""
        return all(
            one.claim.id in OF_THE_LINK and not self.differs(OF_THE_LINK[one.claim.id]) for one in self.far
        )

    def as_json(self) -> dict[str, Any]:
        """One object of ``cells`` in ``parity --json``."""
        path = self.cell.situation.document()["path"]
        cell = {key: path.get(key) for key in ("rate", "rtt", "queue")}
        cell |= {"loss": path.get("loss", "0%"), "beside": self.cell.situation.other or None}
        cell |= {"situation": self.cell.situation.name, "flows": self.cell.flows, "cc": self.cell.cc}
        cell |= {"group": self.cell.situation.group, "path": self.cell.path, "name": self.cell.name}
        return cell | {
            "simulated": {key: simulated.as_json() for key, (simulated, _) in self.spreads.items()},
            "live": {key: live.as_json() for key, (_, live) in self.spreads.items()},
            "difference": {key: self.difference(key) for key in QUANTITIES},
            "differs": [key for key in QUANTITIES if self.differs(key)],
            "checks": [_as_json(one) for one in self.checks],
            "near": self.near,
            "within_spread": self.within_spread,
            "valid": self.valid,
            "runs": [{"seed": run.seed, "engine": run.engine} for run in self.live],
        }


def compared(
    cells: Sequence[Cell], simulated: Sequence[SimulatedCell], live: Mapping[int, Sequence[Run]]
) -> list[Comparison]:
    """The cells with finished live runs, each with its own. ``live`` has them by the number of the cell."""
    in_order = {index: sorted(runs, key=lambda run: run.seed) for index, runs in sorted(live.items())}
    return [Comparison(cells[index], simulated[index], runs) for index, runs in in_order.items()]
