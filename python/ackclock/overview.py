"""The first page of a report as numbers: a sentence per question, curves, and distributions.

The engine makes them (``crates/overview``), for reports and for the playground. The interactive charts of the
page and the figures for papers are drawn from the same values. With several labels a curve is a label (a
controller of ``compare``): all flows of a run together, the median over the repetitions, and the band around
it. With a single label a curve is a flow, or a group of flows.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from ackclock import _engine
from ackclock.figure import Axis, Panel, Plane, Points, Series, Ticks
from ackclock.metrics import Array, Tables, column


class RunTables(Tables, Protocol):
    """A run as an overview reads it."""

    @property
    def scenario(self) -> Mapping[str, Any]:
        """The resolved scenario."""
        ...

    @property
    def routes(self) -> Sequence[Sequence[int]]:
        """The rows in ``links`` that data of each flow cross, or nothing if that is not known."""
        ...

    @property
    def stations(self) -> pa.Table:
        """A row per station of a wireless network."""
        ...

    def table(self, name: str) -> pa.Table:
        """The table called ``name``."""
        ...

    @property
    def duration_s(self) -> float:
        """Its length in simulated seconds."""
        ...

    @property
    def warmup_s(self) -> float:
        """The start of the measured interval, in seconds."""
        ...


Labelled = Mapping[str, Sequence[RunTables]]
"""Runs to compare: repetitions by label."""


@dataclass(frozen=True)
class Overview:
    """The first page of a report."""

    sentences: Sequence[tuple[str, str]]
    """The question and its answer."""
    stack: Sequence[Panel]
    plane: Plane
    distributions: Sequence[Panel] = field(default_factory=list)
    band: tuple[float, float] = (0.0, 100.0)
    """The percentiles at the ends of the bands."""


def overview(runs: Labelled) -> Overview:
    """The first page of a report on ``runs``."""
    page = json.loads(_engine.first_page(request(runs)))
    plane = page["plane"]
    points = [Points(p["label"], p["cc"], _array(p["x"]), _array(p["y"])) for p in plane["points"]]
    return Overview(
        [(question, answer) for question, answer in page["sentences"]],
        [_panel(panel) for panel in page["stack"]],
        Plane(Axis(plane["x_label"]), Axis(plane["y_label"]), points),
        [_panel(panel) for panel in page["distributions"]],
        tuple(page["band"]),
    )


def _panel(panel: Mapping[str, Any]) -> Panel:
    x = _array(panel["x"])
    curves = []
    for one in panel["curves"]:
        median, *ends = (_array(one[key]) for key in ("median", "low", "high") if key in one)
        low, high = ends or (None, None)
        curves.append(Series(one["label"], one["cc"], x, median, low, high))
    levels = [Series(one["label"], "", x, _array(one["values"]), look="level") for one in panel["levels"]]
    return Panel(
        "",
        [*curves, *levels],
        panel["name"],
        Axis(panel["x_label"], "log" if panel["log_x"] else "linear"),
        Axis(panel["title"], "log" if panel["log"] else "linear", panel["floor"]),
        [Ticks(one["label"], one["cc"], _array(one["at"])) for one in panel["ticks"]],
    )


def _array(values: Sequence[float | None]) -> Array:
    """Numbers of JSON. Null becomes NaN."""
    return np.array(values, dtype=np.float64)


class _Doubles:
    """Columns of numbers one after the other."""

    def __init__(self) -> None:
        self.columns: list[bytes] = []
        self._length = 0

    def place(self, values: Array) -> dict[str, Any]:
        """Appends a column: its place."""
        self.columns.append(values.astype("<f8").tobytes())
        self._length += values.size
        return {"at": self._length - values.size, "length": values.size}


def request(runs: Labelled) -> bytes:
    """The page of ``runs`` as the engine is asked for it: a line of JSON, then the columns of numbers."""
    doubles = _Doubles()
    line = [{"label": label, "of": [_facts(run, doubles) for run in of]} for label, of in runs.items()]
    return b"".join([json.dumps(line).encode(), b"\n", *doubles.columns])


def _facts(run: RunTables, doubles: _Doubles) -> dict[str, Any]:
    wanted = _engine.first_page_columns()
    if not run.scenario.get("wlans"):
        del wanted["stations"]
    tables = {
        name: {key: _column(table, key, doubles) for key in columns if key in table.column_names}
        for name, columns in wanted.items()
        for table in [run.table(name)]
    }
    facts = {"scenario": run.scenario, "duration_s": run.duration_s, "warmup_s": run.warmup_s}
    facts |= {"routes": run.routes}
    return facts | {"tables": tables}


def _column(table: pa.Table, name: str, doubles: _Doubles) -> Any:
    """A column as the engine reads it: texts, names with the indices into them, or numbers."""
    values = table[name]
    if pa.types.is_string(values.type):
        return values.to_pylist()
    if pa.types.is_dictionary(values.type):
        coded = values.combine_chunks()
        indices = coded.indices.to_numpy(zero_copy_only=False).astype(np.float64)
        return {"names": coded.dictionary.to_pylist()} | doubles.place(indices)
    return doubles.place(column(table, name))


def loss_percent(run: RunTables) -> float:
    """The data packets of all flows that were dropped or lost on the way, in percent of those sent."""
    sent, share = (column(run.flows, name).tolist() for name in ("data_packets", "loss_rate"))
    return _engine.loss_percent(sent, share)


def total_goodput(run: RunTables, chosen: Callable[[str], bool] = lambda _: True) -> float:
    """The goodput of all flows with ``chosen`` names over the measured interval, in bit/s.

    The goodput of a flow is over its own life: summed over short flows it would exceed the rate of the link.
    """
    mask = [chosen(name) for name in run.flows["name"].to_pylist()]
    delivered = column(run.flows, "delivered_bytes")[np.array(mask, bool)]
    return _engine.goodput(delivered.tolist(), run.duration_s - run.warmup_s)
