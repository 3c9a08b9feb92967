"""Every controller beside every other on one path: shares, delays, and the harm that they do each other.

Harm is defined as by Ware, Mukerjee, Seshan and Sherry 2019, "Beyond Jain's Fairness Index: Setting the Bar
For The Deployment of Congestion Control Algorithms" (HotNets). A flow has x alone on the path, and y beside
another. Harm is (x - y) / x of quantities that are better large (goodput), and (y - x) / y of those that are
better small (RTT). 0 is no harm, 1 is the most possible. Below 0 the flow is better off than alone. By their
bar a controller should harm another flow no more than a second flow of that kind would.

A pair is one run of two flows. Runs form a sweep without keys: they go on after an interruption.
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ackclock.figure import HeatMap
from ackclock.halves import Halves, median, shares
from ackclock.printable import write_csv
from ackclock.sweeps import Sweep
from ackclock.sweeps.axes import Design
from ackclock.sweeps.plan import Plan, Variant
from ackclock.sweeps.run import of_document
from ackclock.sweeps.work import HALVES
from ackclock.trust import named

if TYPE_CHECKING:
    from ackclock.contenders import Contender

START_JITTER = "1s"
"""Flows start at random within this time. Started together, all repetitions would be the same."""

SAMPLED = {"record.flow_series": "500ms"}
"""The samples from which the halves of a run are known."""

TABLE = "matrix"
"""The name of the table of rows in a folder."""


class Quantity(NamedTuple):
    """A number of a row, for tables and figures."""

    title: str
    unit: str
    factor: float
    """Converts the number of a row to the unit of tables."""
    digits: int
    colours: str
    """The colour map of its figure. Red is bad for the flow: a small share, or harm."""
    low: float | None = None
    high: float | None = None
    """The values at the ends of the colour map. The default are the grid's extremes."""

    @property
    def words(self) -> str:
        """The title with its unit."""
        return f"{self.title} ({self.unit})" if self.unit else self.title


QUANTITIES: Mapping[str, Quantity] = {
    "share": Quantity("share of the goodput", "%", 100.0, 0, "RdBu", 0.0, 100.0),
    "rtt_mean_ms": Quantity("mean RTT", "ms", 1.0, 0, "cividis"),
    "harm_goodput": Quantity("harm to its goodput", "", 1.0, 2, "RdBu_r", -1.0, 1.0),
    "harm_rtt": Quantity("harm to its RTT", "", 1.0, 2, "RdBu_r", -1.0, 1.0),
}
"""The quantities that tables and the figure show of a flow (its row) beside another (its column)."""


@dataclass(frozen=True)
class Row:
    """One flow in one run."""

    controller: str
    beside: str | None
    """The controller of the other flow, or None if it is alone."""
    seed: int
    goodput_bps: float
    share: float | None
    """Its share of the goodput of both flows, 0 to 1, or None if neither delivered anything."""
    rtt_mean_ms: float | None
    queue_delay_mean_ms: float | None
    """The mean over time at the bottleneck."""
    utilization: float | None
    loss_rate: float | None
    harm_goodput: float | None
    """Harm by the other flow. None if it is alone, or delivered nothing alone."""
    harm_rtt: float | None
    first_half_share: float | None
    """Its share in the first half of the measured interval, None if ``share`` is."""
    second_half_share: float | None
    valid: bool
    """False for a live run past its error budget, or one that is compared with such a run alone."""


@dataclass(frozen=True)
class Setting:
    """The path and the times that all runs share, as the scenario language spells them."""

    path: Mapping[str, Any]
    duration: str
    warmup: str
    profile: str

    def document(self, name: str, flows: Sequence[Mapping[str, Any]]) -> str:
        """A scenario as JSON."""
        common = {"duration": self.duration, "warmup": self.warmup, "profile": self.profile}
        started = [{**flow, "start_jitter": START_JITTER} for flow in flows]
        return json.dumps({"name": name, "path": dict(self.path), "flows": started} | common)


Runs = Mapping[str, tuple[str, ...]]
"""The controllers of the flows of each run, by its label."""


def every_pair(names: Sequence[str]) -> list[tuple[str, ...]]:
    """Each controller alone, then each pair once, with pairs of one kind."""
    alone: list[tuple[str, ...]] = [(one,) for one in names]
    return alone + [(one, names[b]) for a, one in enumerate(names) for b in range(a, len(names))]


def plan(
    compared: Sequence[Contender],
    setting: Setting,
    seeds: range,
    settings: Mapping[str, str],
    *,
    wanted: Iterable[tuple[str, ...]] | None = None,
) -> tuple[Plan, Runs]:
    """The sweep that runs the pairs ``wanted``, by default all, and the controllers of each of its runs.

    Every controller of a pair has to run alone too, because harm compares with that.
    """
    by_name = {one.name: one for one in compared}
    runs: dict[str, tuple[str, ...]] = {}
    variants, files = [], named(compared, settings.items())
    for pair in every_pair(list(by_name)) if wanted is None else wanted:
        label = " | ".join(pair)
        kinds = [by_name[name] for name in dict.fromkeys(pair)]
        flows = [one.flow(pair.count(one.name)) for one in kinds]
        runs[label] = pair
        variants.append(Variant(of_document(setting.document(label, flows), files), label))
    factories = [one.factory for one in compared if one.factory is not None]
    context = "\0".join(one.context for one in compared)
    return Plan(variants, Design(()), seeds, {**SAMPLED, **settings}, factories, context), runs


@dataclass(frozen=True)
class Matrix:
    """The rows of all runs that have finished."""

    names: Sequence[str]
    """The controllers, in the order of the command."""
    rows: Sequence[Row]

    @cached_property
    def _cells(self) -> dict[tuple[str, str | None], list[Row]]:
        found: dict[tuple[str, str | None], list[Row]] = {}
        for row in self.rows:
            found.setdefault((row.controller, row.beside), []).append(row)
        return found

    def median(self, quantity: str, controller: str, beside: str | None) -> float | None:
        """The median of a field of ``Row`` over repetitions. Beside itself it is also over both flows.

        None where no run has a value.
        """
        rows = self._cells.get((controller, beside), [])
        values = [value for row in rows if (value := getattr(row, quantity)) is not None]
        return statistics.median(values) if values else None

    def shown(self, quantity: str, controller: str, beside: str | None) -> str:
        """The median as tables show it."""
        value = self.median(quantity, controller, beside)
        if value is None:
            return "-"
        text = f"{value * QUANTITIES[quantity].factor:.{QUANTITIES[quantity].digits}f}"
        return text.removeprefix("-") if float(text) == 0.0 else text

    @property
    def moving(self) -> list[str]:
        """A sentence for each pair of two controllers whose shares still move, by the one with less."""
        sentences = []
        for (one, beside), rows in self._cells.items():
            halves = [
                Halves(row.first_half_share, row.second_half_share)
                for row in rows
                if row.first_half_share is not None and row.second_half_share is not None
            ]
            if beside not in (None, one) and halves and sum(median(halves)) <= 1 and median(halves).moves:
                sentences.append(f"{one} beside {beside} has {median(halves).words}")
        return sentences

    def heat_maps(self) -> list[HeatMap]:
        """A heat map for each of ``QUANTITIES``: a row for the flow, a column for the other."""
        return [self._heat_map(name, quantity) for name, quantity in QUANTITIES.items()]

    def _heat_map(self, name: str, quantity: Quantity) -> HeatMap:
        import numpy as np

        medians = [[self.median(name, one, other) for other in self.names] for one in self.names]
        known = [[math.nan if v is None else v * quantity.factor for v in row] for row in medians]
        texts = [[self.shown(name, one, other) for other in self.names] for one in self.names]
        ends = quantity.low, quantity.high
        return HeatMap(
            quantity.words, self.names, self.names, np.array(known), texts, quantity.colours, *ends
        )

    def write(self, folder: Path) -> None:
        """Writes the rows as ``matrix.parquet`` and ``matrix.csv``."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        numbers = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
        kinds = dict.fromkeys(Row.__dataclass_fields__, float) | {
            "controller": str,
            "beside": str,
            "seed": int,
        }
        schema = pa.schema([(name, numbers[kind]) for name, kind in (kinds | {"valid": bool}).items()])
        table = pa.Table.from_pylist([asdict(row) for row in self.rows], schema)
        pq.write_table(table, folder / f"{TABLE}.parquet", compression="zstd")
        write_csv(table, folder / f"{TABLE}.csv")


def matrix(swept: Sweep, runs: Runs, names: Sequence[str]) -> Matrix:
    """The matrix of the runs of a sweep that ``plan`` made."""
    wanted = (
        *HALVES,
        *("controller", "seed", "goodput_bps", "rtt_mean_ms", "loss_rate", "valid"),
        *("link_queue_delay_mean_ms", "link_utilization"),
    )
    found: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for row in swept.runs.select(wanted).to_pylist():
        found.setdefault((row["controller"], row["seed"]), []).append(row)
    alone = {
        (runs[label][0], seed): flows[0] for (label, seed), flows in found.items() if len(runs[label]) == 1
    }
    rows = [
        _row(runs[label], flow, flows, alone.get((runs[label][flow], seed)))
        for (label, seed), flows in found.items()
        for flow in range(len(flows))
    ]
    return Matrix(names, rows)


def _row(
    pair: tuple[str, ...], flow: int, flows: Sequence[Mapping[str, Any]], alone: Mapping[str, Any] | None
) -> Row:
    """The row of one flow of a run of ``pair``."""
    own = flows[flow]
    halves = [Halves(*(one[half] for half in HALVES)) for one in flows if one[HALVES[0]] is not None]
    share = shares(halves)[flow] if len(halves) == len(flows) else None
    both = sum(one["goodput_bps"] for one in flows)
    beside = pair[1 - flow] if len(pair) == 2 else None
    x = alone if beside is not None else None
    return Row(
        pair[flow],
        beside,
        own["seed"],
        own["goodput_bps"],
        own["goodput_bps"] / both if both > 0.0 else None,
        _number(own["rtt_mean_ms"]),
        _number(own["link_queue_delay_mean_ms"]),
        _number(own["link_utilization"]),
        _number(own["loss_rate"]),
        None if x is None else harm_of_more(x["goodput_bps"], own["goodput_bps"]),
        None if x is None else harm_of_less(x["rtt_mean_ms"], own["rtt_mean_ms"]),
        None if share is None else share.first,
        None if share is None else share.second,
        own["valid"] and (x is None or x["valid"]),
    )


def harm_of_more(alone: float | None, beside: float | None) -> float | None:
    """Harm in quantities that are better large: (x - y) / x.

    None without both numbers, or with nothing alone.
    """
    if _number(alone) is None or _number(beside) is None or not alone:
        return None
    assert beside is not None
    return (alone - beside) / alone


def harm_of_less(alone: float | None, beside: float | None) -> float | None:
    """Harm in quantities that are better small: (y - x) / y.

    None without both numbers, or with 0 beside the other.
    """
    if _number(alone) is None or _number(beside) is None or not beside:
        return None
    assert alone is not None
    return (beside - alone) / beside


def _number(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)
