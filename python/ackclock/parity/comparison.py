"""The quantities compared in a cell, and whether the engines differ by more than their runs do."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from ackclock import repetitions
from ackclock.engines import Engine, Progress
from ackclock.parity.grid import Cell, Grid
from ackclock.parity.readings import SHARE, measured, readings
from ackclock.result import Run


class Quantity(NamedTuple):
    """A quantity in tables."""

    heading: str
    digits: int
    """Digits behind the point of a difference."""


QUANTITIES: Mapping[str, Quantity] = {
    "utilization": Quantity("utilization", 4),
    "queue_mean_packets": Quantity("queue mean (packets)", 1),
    "queue_p95_packets": Quantity("queue p95 (packets)", 0),
    "rtt_mean_ms": Quantity("RTT mean (ms)", 1),
    "dropped_packets": Quantity("dropped", 0),
}
"""The quantities that tables show of every cell."""

SPREAD_LIMIT = 3.0
"""Standard errors by which the engines may differ before it is more than the spread from run to run."""

NEAR_UTILIZATION = 0.01
NEAR_SHARE = 0.1
NEAR_WINDOW = 1.0
NEAR_POINTS = 0.1
"""Near is within one point of utilization, and within a tenth of the simulated mean queue, completion time or
window; of a window within a segment, as the kernel's are whole; of a share within ten points."""


OF_THE_LINK = {"utilization": "utilization", "mean queue": "queue_mean_packets"}
"""The checks of quantities that the tables show of every cell, by name."""


class Check(NamedTuple):
    """One of the things that decide whether the engines are near."""

    what: str
    simulated: float
    live: float
    allowed: float
    """The largest difference at which they are near."""

    @property
    def near(self) -> bool:
        """True if they are. A transfer that did not complete has no number, and is near to nothing."""
        return abs(self.live - self.simulated) <= self.allowed

    def as_json(self) -> dict[str, Any]:
        """One object of ``checks``; null for what is not a number."""
        values = (self.simulated, self.live, self.allowed)
        numbers = [value if math.isfinite(value) else None for value in values]
        return dict(zip(("simulated", "live", "allowed"), numbers, strict=True)) | {
            "what": self.what,
            "near": self.near,
        }


@dataclass(frozen=True)
class Spread:
    """A quantity over runs that differ in their seeds."""

    values: Sequence[float]

    @property
    def mean(self) -> float:
        """Their mean."""
        return statistics.fmean(self.values)

    @property
    def deviation(self) -> float | None:
        """Their standard deviation; None of a single run."""
        return statistics.stdev(self.values) if len(self.values) > 1 else None

    def as_json(self) -> dict[str, float | None]:
        """Mean, range and standard deviation."""
        values = self.values
        return {"mean": self.mean, "low": min(values), "high": max(values), "deviation": self.deviation}


@dataclass(frozen=True)
class Simulated:
    """The simulation of a cell: the run with the first seed, and the quantities with every one."""

    run: Run
    quantities: Sequence[Mapping[str, float]]
    """By run, in the order of the seeds: see ``readings.measured`` and ``readings.readings``."""

    def of_seeds(self, seeds: Sequence[int]) -> Sequence[Mapping[str, float]]:
        """The quantities of the runs with these seeds."""
        return [self.quantities[seed - self.run.seed] for seed in seeds]


def simulate(
    grid: Grid, simulations: int, simulator: Engine, progress: Progress | None = None
) -> list[Simulated]:
    """Simulates each cell of the grid at least ``simulations`` times, with seeds from that of the grid on."""
    cells, points = grid.cells(), grid.points(simulations)
    firsts: dict[int, Run] = {}
    found: dict[tuple[int, int], dict[str, float]] = {}
    for cell, repetition, run in repetitions.results(points, simulator, progress):
        found[cell, repetition] = measured(run) | readings(run, cells[cell])
        if repetition == 0:
            firsts[cell] = run
    return [
        Simulated(firsts[cell], [found[cell, repetition] for repetition in range(len(point.seeds))])
        for cell, point in enumerate(points)
    ]


@dataclass(frozen=True)
class Comparison:
    """A cell with its runs in both engines."""

    cell: Cell
    simulated: Simulated
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
    def spreads(self) -> dict[str, tuple[Spread, Spread]]:
        """Each quantity, simulated and live."""
        live = [measured(run) for run in self.trusted]
        return {
            key: (
                Spread([quantities[key] for quantities in self.simulated.quantities]),
                Spread([quantities[key] for quantities in live]),
            )
            for key in QUANTITIES
        }

    def difference(self, key: str) -> float:
        """Mean live less mean simulated."""
        simulated, live = self.spreads[key]
        return live.mean - simulated.mean

    def differs(self, key: str) -> bool:
        """True if the means lie further apart than the spread from run to run explains.

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
    def checks(self) -> list[Check]:
        """The checks that decide the verdict: means over runs, medians of windows and transfers."""
        live = [measured(run) | readings(run, self.cell) for run in self.trusted]
        simulated = self.simulated.quantities
        if self.cell.situation.paired:
            simulated = self.simulated.of_seeds([run.seed for run in self.trusted])

        def both(key: str, average: Callable[[Iterable[float]], float]) -> tuple[float, float]:
            return average(one[key] for one in simulated), average(one[key] for one in live)

        found = []
        if "utilization" in self.cell.compare:
            found.append(Check("utilization", *both("utilization", statistics.fmean), NEAR_UTILIZATION))
        if "queue" in self.cell.compare:
            means = both("queue_mean_packets", statistics.fmean)
            found.append(Check("mean queue", *means, NEAR_SHARE * means[0]))
        for key in readings(self.trusted[0], self.cell):
            medians = both(key, statistics.median)
            if key == SHARE:
                found.append(Check(key, *medians, NEAR_POINTS))
                continue
            least = NEAR_WINDOW if key.startswith("window") else 0.0
            found.append(Check(key, *medians, max(NEAR_SHARE * medians[0], least)))
        return found

    @property
    def near(self) -> bool:
        """True if everything that the situation compares is near, see ``NEAR_UTILIZATION``."""
        return all(check.near for check in self.checks)

    @property
    def far(self) -> list[Check]:
        """The checks that are not near."""
        return [check for check in self.checks if not check.near]

    @property
    def within_spread(self) -> bool:
        """True if other seeds explain all that is not near, see ``differs``."""
        return all(
            check.what in OF_THE_LINK and not self.differs(OF_THE_LINK[check.what]) for check in self.far
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
            "checks": [check.as_json() for check in self.checks],
            "near": self.near,
            "within_spread": self.within_spread,
            "valid": self.valid,
            "runs": [{"seed": run.seed, "engine": run.engine} for run in self.live],
        }


def compared(
    cells: Sequence[Cell], simulated: Sequence[Simulated], live: Mapping[int, Sequence[Run]]
) -> list[Comparison]:
    """The cells of which a live run has finished, each with those of its number."""
    in_order = {index: sorted(runs, key=lambda run: run.seed) for index, runs in sorted(live.items())}
    return [Comparison(cells[index], simulated[index], runs) for index, runs in in_order.items()]
