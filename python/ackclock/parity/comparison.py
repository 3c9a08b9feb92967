"""The quantities compared in a cell, and whether the engines differ by more than their runs do."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ackclock import metrics, repetitions
from ackclock.engines import Engine, Progress
from ackclock.metrics.tables import link_row
from ackclock.parity.grid import Cell, Grid
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
"""What is compared."""

SPREAD_LIMIT = 3.0
"""Standard errors by which the engines may differ before it is more than the spread from run to run."""

NEAR_UTILIZATION = 0.01
NEAR_QUEUE = 0.1
"""Within one point of utilization, and within a tenth of the simulated mean queue, a cell counts as near."""


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


def measured(run: Run) -> dict[str, float]:
    """The quantities of a run, of its bottleneck and over its flows."""
    link = run.links.to_pylist()[link_row(run, None)]
    rtts = metrics.column(run.flows, "rtt_mean_ms")
    return {
        "utilization": link["utilization"],
        "queue_mean_packets": link["queue_packets_mean"],
        "queue_p95_packets": link["queue_packets_p95"],
        "rtt_mean_ms": float(np.nanmean(rtts)) if np.isfinite(rtts).any() else 0.0,
        "dropped_packets": link["dropped_packets"],
    }


@dataclass(frozen=True)
class Simulated:
    """The simulation of a cell: the run with the first seed, and the quantities with every one."""

    run: Run
    quantities: Sequence[Mapping[str, float]]


def simulate(
    grid: Grid, simulations: int, simulator: Engine, progress: Progress | None = None
) -> list[Simulated]:
    """Simulates each cell of the grid ``simulations`` times, with seeds counted up from that of the grid."""
    points = grid.points(simulations)
    firsts: dict[int, Run] = {}
    found: dict[tuple[int, int], dict[str, float]] = {}
    for cell, repetition, run in repetitions.results(points, simulator, progress):
        found[cell, repetition] = measured(run)
        if repetition == 0:
            firsts[cell] = run
    return [
        Simulated(firsts[cell], [found[cell, repetition] for repetition in range(simulations)])
        for cell in range(len(points))
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
        """Whether any live run stayed within its error budget."""
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
        """Whether the means lie further apart than the spread from run to run explains.

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

    @property
    def near(self) -> bool:
        """Whether utilization and mean queue are those simulated, see ``NEAR_UTILIZATION``."""
        queue, _ = self.spreads["queue_mean_packets"]
        return (
            abs(self.difference("utilization")) <= NEAR_UTILIZATION
            and abs(self.difference("queue_mean_packets")) <= NEAR_QUEUE * queue.mean
        )

    def as_json(self) -> dict[str, Any]:
        """One object of ``cells`` in ``parity --json``."""
        cell = {key: getattr(self.cell, key) for key in ("rate", "rtt", "queue", "flows", "cc")}
        return cell | {
            "simulated": {key: simulated.as_json() for key, (simulated, _) in self.spreads.items()},
            "live": {key: live.as_json() for key, (_, live) in self.spreads.items()},
            "difference": {key: self.difference(key) for key in QUANTITIES},
            "differs": [key for key in QUANTITIES if self.differs(key)],
            "near": self.near,
            "valid": self.valid,
            "runs": [{"seed": run.seed, "engine": run.engine} for run in self.live],
        }


def compared(
    cells: Sequence[Cell], simulated: Sequence[Simulated], live: Mapping[int, Sequence[Run]]
) -> list[Comparison]:
    """The cells of which a live run has finished, each with those of its number."""
    in_order = {index: sorted(runs, key=lambda run: run.seed) for index, runs in sorted(live.items())}
    return [Comparison(cells[index], simulated[index], runs) for index, runs in in_order.items()]
