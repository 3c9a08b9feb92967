"""The result of a sweep: its tables, its metrics with intervals, and its figures."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from ackclock import spread
from ackclock.errors import InputError, did_you_mean
from ackclock.halves import Halves
from ackclock.result import ResultError, flow_summary, link_summary
from ackclock.scenario import display_name
from ackclock.stored import table_in
from ackclock.sweeps.axes import Axis, Design, axis
from ackclock.sweeps.folder import RUNS
from ackclock.sweeps.metrics import (
    COLUMNS,
    DELIVERED,
    METRICS,
    Interval,
    Place,
    numbers,
    of_runs,
    rates_of,
)
from ackclock.sweeps.work import LINKS, QUEUES, key_column

if TYPE_CHECKING:
    import numpy as np
    import polars
    import pyarrow as pa
    import pyarrow.parquet as pq
    from matplotlib.figure import Figure

    Array = np.ndarray[Any, Any]

DESCRIPTION = "sweep.json"


@dataclass
class Sweep:
    """A finished sweep, or the finished runs of an interrupted one, in a folder."""

    folder: Path
    design: Design
    controllers: Sequence[str]

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """The sweep that was written into ``folder``. Raises ResultError."""
        place = Path(folder)
        try:
            described = json.loads((place / DESCRIPTION).read_text("utf-8"))
            axes = tuple(_axis(*one) for one in described["axes"])
            design = Design(axes, described["samples"], described["draw"], described["draw_seed"])
            return cls(place, design, list(described["controllers"]))
        except OSError as error:
            raise ResultError(f"{place}: {DESCRIPTION} cannot be read: {error.strerror}") from None
        except (ValueError, KeyError, TypeError, InputError) as error:
            raise ResultError(f"{place}: {DESCRIPTION} is not the description of a sweep ({error})") from None

    @cached_property
    def runs(self) -> pa.Table:
        """A row for each flow of each run: controller, swept keys, seed, and the columns of the flow.

        The columns of its bottleneck follow, with ``link_`` before their names.
        """
        return self._read(RUNS)

    @cached_property
    def links(self) -> pa.Table:
        """A row for each link direction of each run, with controller, swept keys and seed."""
        return self._read(LINKS)

    def polars(self) -> polars.DataFrame:
        """``runs`` as a polars frame. Needs the extra ``polars``."""
        import polars

        return polars.read_parquet(self.folder / f"{RUNS}.parquet")

    def _read(self, name: str) -> pa.Table:
        import pyarrow as pa

        file = self.folder / f"{name}.parquet"
        try:
            return table_in(file)
        except (OSError, pa.ArrowException) as error:
            raise ResultError(f"{file}: cannot be read: {' '.join(str(error).split())}") from None

    @cached_property
    def values(self) -> dict[Place, dict[str, list[float]]]:
        """The value of each metric of each run, by controller and point; NaN where it is not known."""
        import pyarrow.parquet as pq

        found: dict[Place, dict[str, list[float]]] = {}
        file = pq.ParquetFile(self.folder / f"{RUNS}.parquet")
        keys = self.design.keys
        names = [self._column(file, key) for key in keys]
        for number in range(file.num_row_groups):
            rows = file.read_row_group(number, ["controller", *names, "flow", *COLUMNS])
            starts, of_run = of_runs(rows)
            labels = [rows[name].take(starts).to_pylist() for name in ("controller", *names)]
            for run, (controller, *point) in enumerate(zip(*labels, strict=True)):
                place = Place(controller, tuple(zip(keys, point, strict=True)))
                into = found.setdefault(place, {name: [] for name in METRICS})
                for name, values in of_run.items():
                    into[name].append(float(values[run]))
        return found

    @cached_property
    def bottlenecks(self) -> dict[Place, str]:
        """The link of utilization and queueing delay at each place, where runs have more than one link.

        A link is named as in tables. Names are joined by ``, `` where the link changes among the repetitions.
        """
        import pyarrow.compute as pc
        import pyarrow.parquet as pq

        links = table_in(self.folder / f"{LINKS}.parquet", ["link", "name"])
        if pc.count_distinct(links["name"]).as_py() < 2:
            return {}
        file = pq.ParquetFile(self.folder / f"{RUNS}.parquet")
        keys = self.design.keys
        names = ["controller", *(self._column(file, key) for key in keys)]
        rows = file.read([*names, "link_name"])
        places = rows.group_by([*names, "link_name"], use_threads=False).aggregate([]).to_pylist()
        found: dict[Place, str] = {}
        for row in places:
            place = Place(
                row["controller"], tuple((key, row[name]) for key, name in zip(keys, names[1:], strict=True))
            )
            named = row["link_name"] or "-"
            found[place] = f"{found[place]}, {named}" if place in found else named
        return found

    @staticmethod
    def _column(file: pq.ParquetFile, key: str) -> str:
        """The column of a swept key: see ``work.key_column``."""
        prefixed = key_column(key, [key])
        return prefixed if prefixed in file.schema_arrow.names else key

    def interval(self, place: Place, metric: str) -> Interval | None:
        """The median of a metric over the repetitions, with its interval. None if no run has a value."""
        return self._intervals[metric].get(place)

    @cached_property
    def _intervals(self) -> dict[str, dict[Place, Interval]]:
        """The interval of each metric at each place with a value."""
        return {
            metric: _intervals({place: of[metric] for place, of in self.values.items()}) for metric in METRICS
        }

    @property
    def alike(self) -> list[str]:
        """The controllers whose repetitions came out the same in the digits shown: little in them is random.

        With the first of their points where others differ.
        """
        found: dict[str, list[Place | None]] = {}
        for place in self.values:
            found.setdefault(place.controller, []).append(place if self.is_alike(place) else None)
        sentences = []
        for controller, places in found.items():
            same = [place for place in places if place is not None]
            more = f" and {len(same) - 1} more" if len(same) > 1 else ""
            where = ", ".join(f"{key}={value}" for key, value in same[0].point) if same else ""
            if same:
                sentences.append(controller if len(same) == len(places) else f"{controller} at {where}{more}")
        return sentences

    @cached_property
    def moving_queues(self) -> dict[str, tuple[int, int]]:
        """The runs of each controller whose queue still moves, and all its runs. Only of those with some."""
        import pyarrow.parquet as pq

        file = pq.ParquetFile(self.folder / f"{RUNS}.parquet")
        if not set(QUEUES) <= set(file.schema_arrow.names):
            return {}
        counts: dict[str, tuple[int, int]] = {}
        for number in range(file.num_row_groups):
            rows = file.read_row_group(number, ["controller", *QUEUES, "flow", *COLUMNS])
            starts, _ = of_runs(rows)
            columns = (rows[name].take(starts).to_pylist() for name in ("controller", *QUEUES))
            for controller, first, second in zip(*columns, strict=True):
                count, of = counts.get(controller, (0, 0))
                moves = first is not None and Halves(first, second).is_moving_queue
                counts[controller] = count + moves, of + 1
        return {controller: both for controller, both in counts.items() if both[0]}

    def is_alike(self, place: Place) -> bool:
        """True if the repetitions of a place came out the same: intervals would have no width in tables."""
        # As text: a value that is not known equals itself.
        of = self.values[place].items()
        repeated = [[f"{value:.{METRICS[name].digits}f}" for value in values] for name, values in of]
        return len(repeated[0]) > 1 and all(len(set(values)) == 1 for values in repeated)

    @cached_property
    def of_controllers(self) -> dict[Place, dict[str, Interval]]:
        """The goodput of all flows of each controller, in Mbit/s, at each place whose runs have several.

        Controllers of datagrams do not react, so labels of runs and this leave them out.
        """
        import numpy as np
        import pyarrow.parquet as pq

        file = pq.ParquetFile(self.folder / f"{RUNS}.parquet")
        keys = self.design.keys
        names = ["controller", *(self._column(file, key) for key in keys), "cc"]
        rows = file.read([*names, "flow", *DELIVERED])
        rated = rows.append_column("rate", [rates_of(numbers(rows, DELIVERED))])
        # Flows count from 0 in each run.
        rated = rated.append_column("run", [np.cumsum(rows["flow"].to_numpy() == 0)])
        by_run = rated.group_by([*names, "run"], use_threads=False)
        found: dict[Place, dict[str, list[float]]] = {}
        for row in by_run.aggregate([("rate", "sum")]).to_pylist():
            point = tuple((key, row[name]) for key, name in zip(keys, names[1:-1], strict=True))
            place = Place(row["controller"], point)
            cc = display_name(row["cc"])
            if "+" in place.controller and cc in place.controller.split("+"):
                found.setdefault(place, {}).setdefault(cc, []).append(row["rate_sum"])
        return {
            place: {cc: one[place] for cc, values in of.items() if (one := _intervals({place: values}))}
            for place, of in found.items()
        }

    def plot(self, metric: str = "goodput") -> Figure:
        """The figure of a metric, one of ``METRICS``.

        Lines over one swept key, a heat map over two, several of them over three, points for drawn samples.
        Raises InputError.
        """
        if metric not in METRICS:
            near = did_you_mean(metric, METRICS) or f"; there are {', '.join(METRICS)}"
            raise InputError(f"there is no metric `{metric}` of a sweep{near}")
        from ackclock.sweeps.drawing import draw_sweep

        return draw_sweep(self.design, self.controllers, METRICS[metric].axis, self._intervals[metric])

    def rows(self) -> Iterator[dict[str, Any]]:
        """A row for each run, as ``--json`` prints it: controller, point, seed, validity, flows, links."""
        import pyarrow.parquet as pq

        flows = pq.ParquetFile(self.folder / f"{RUNS}.parquet")
        links = pq.ParquetFile(self.folder / f"{LINKS}.parquet")
        of_keys = {key: self._column(flows, key) for key in self.design.keys}
        # Both files hold the same slices of runs.
        for number in range(flows.num_row_groups):
            of_links = _by_run(links.read_row_group(number), "link")
            for run, rows in enumerate(_by_run(flows.read_row_group(number), "flow")):
                yield {
                    "controller": rows[0]["controller"],
                    "point": {key: rows[0][name] for key, name in of_keys.items()},
                    "seed": rows[0]["seed"],
                    "valid": rows[0]["valid"],
                    "flows": [flow_summary(row) for row in rows],
                    "links": [link_summary(row) for row in of_links[run]],
                }

    def described(self) -> dict[str, Any]:
        """The design of the sweep, for ``sweep.json``."""
        return {
            "controllers": list(self.controllers),
            "over": self.design.described(),
            "axes": [_described(one) for one in self.design.axes],
            "samples": self.design.samples,
            "draw": self.design.draw,
            "draw_seed": self.design.seed,
        }

    def __repr__(self) -> str:
        over = ", ".join(self.design.keys)
        return f"<Sweep over {over}: {', '.join(self.controllers)}, {len(self.design)} points>"


def _intervals(values: Mapping[Place, Sequence[float]]) -> dict[Place, Interval]:
    """The median of the values of each place that has some, with its interval, of finite numbers."""
    import numpy as np

    known = {place: [value for value in of if math.isfinite(value)] for place, of in values.items()}
    found: dict[Place, Interval] = {}
    # Places with as many values are computed at once: a call for each would take longer than its runs.
    for size in {len(of) for of in known.values()} - {0}:
        places = [place for place, of in known.items() if len(of) == size]
        ordered = np.sort(np.array([known[place] for place in places]), axis=1)
        low, high = spread.ranks(size)
        ends = np.stack((ordered[:, low], np.median(ordered, axis=1), ordered[:, high]), axis=1)
        found |= {place: Interval(*of) for place, of in zip(places, ends.tolist(), strict=True)}
    return {place: found[place] for place in known if place in found}


def _by_run(rows: pa.Table, index: str) -> list[list[dict[str, Any]]]:
    """Rows run by run: ``index`` counts from 0 in each."""
    runs: list[list[dict[str, Any]]] = []
    for row in rows.to_pylist():
        if row[index] == 0:
            runs.append([])
        runs[-1].append(row)
    return runs


def _described(axis: Axis) -> list[Any]:
    span = axis.range
    if axis.labels:
        return [list(axis.keys), [list(values) for values in axis.values], axis.labels, list(axis.conditions)]
    if span is None or axis.values:
        return [":".join(axis.keys), [list(values) for values in axis.values]]
    return [
        ":".join(axis.keys),
        f"{axis.at(0.0)[axis.keys[0]]}..{axis.at(1.0)[axis.keys[0]]}{'*log' * span.log}",
    ]


def _axis(
    keys: str | list[str], values: str | list[list[str]], labels: int = 0, conditions: Sequence[str] = ()
) -> Axis:
    if isinstance(keys, list):
        return Axis(tuple(keys), tuple(map(tuple, values)), labels=labels, conditions=tuple(conditions))
    if isinstance(values, str):
        return axis(keys, values)
    return Axis(tuple(keys.split(":")), tuple(map(tuple, values)))
