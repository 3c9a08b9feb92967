"""The result of a run: tables, scenario, and a summary."""

from __future__ import annotations

import json
import math
import os
import pathlib
import platform
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Self

from ackclock import _engine, stored
from ackclock.errors import InputError
from ackclock.printable import write_csv
from ackclock.stored import DATAGRAM_TABLES, TABLES, VIDEO_TABLES, WIRELESS_TABLES
from ackclock.sums import of_controllers

if TYPE_CHECKING:
    import polars
    import pyarrow as pa

    from ackclock.plots.shortcuts import Plots

# pyarrow takes longer to load than many runs to finish, so it is imported only where a table is used.

SCHEMA_VERSION: Final = 3
"""The version of the tables that this package writes. It reads version 1 as well."""

BREAKERS = ("RTCP timeout", "media timeout", "congestion")
"""The conditions of circuit breakers by their numbers, from 1 (RFC 8083, sections 4.1 to 4.3)."""


class ResultError(InputError):
    """A folder does not hold the result of a run, or cannot take one. The message is one sentence."""


class Run:
    """One run: its tables, and everything needed to repeat it.

    Tables are Arrow tables that share the engine's memory. The unit of a column is in the metadata of its
    field. Times are in seconds since the start of the run. ``flows`` and ``links`` cover the measured
    interval, series and events the whole run.
    """

    def __init__(
        self,
        table: Callable[[str], pa.Table],
        scenario: Mapping[str, Any],
        seed: int,
        engine: Mapping[str, Any],
        made: tuple[_engine.Run, _engine.Plan] | None = None,
        routes: Sequence[Sequence[int]] = (),
    ) -> None:
        """A run whose tables ``table`` gives by name, each at its first use.

        ``made`` is the run of an engine of this process. It gives rows, routes and fairness without pyarrow.
        """
        self._table = table
        self._made = made
        self._routes = routes
        self._tables: dict[str, pa.Table] = {}
        self.scenario: dict[str, Any] = dict(scenario)
        """The resolved scenario."""
        self.seed = seed
        """The seed of this run, which need not be the scenario's."""
        self.engine: dict[str, Any] = dict(engine)
        """The engine and the cost of the run: ``kind``, ``events``, ``data_packets``, ``cpu_s``, ``wall_s``.

        A live run also has its fidelity: ``valid``, ``reasons``, ``lateness_us`` and more.
        """

    @property
    def valid(self) -> bool:
        """True if the run stayed within its error budget. A simulation always does."""
        return bool(self.engine.get("valid", True))

    @classmethod
    def from_engine(cls, run: _engine.Run, plan: _engine.Plan, seed: int) -> Self:
        """The run that an engine made of ``plan`` with ``seed``."""

        def table(name: str) -> pa.Table:
            import pyarrow as pa

            return pa.table(run.table(name))

        return cls(table, json.loads(plan.resolved), seed, run.engine, (run, plan))

    def table(self, name: str) -> pa.Table:
        """The table called ``name``. Raises KeyError."""
        if name not in self._tables:
            self._tables[name] = self._table(name)
        return self._tables[name]

    def rows(self, name: str) -> list[dict[str, Any]]:
        """The rows of the table called ``name``, each with its values by column. Raises KeyError."""
        if self._made is not None:
            return self._made[0].rows(name)
        rows: list[dict[str, Any]] = self.table(name).to_pylist()
        return rows

    def streamed(self, name: str) -> _engine.Table | pa.Table:
        """The table called ``name`` in the cheapest form that pyarrow reads. Raises KeyError."""
        return self.table(name) if self._made is None else self._made[0].table(name)

    @property
    def flows(self) -> pa.Table:
        """A row per flow, over the measured interval."""
        return self.table("flows")

    @property
    def links(self) -> pa.Table:
        """A row per link direction, over the measured interval."""
        return self.table("links")

    @property
    def flow_series(self) -> pa.Table:
        """Samples of the flows: windows, round-trip times, delivered bytes."""
        return self.table("flow_series")

    @property
    def link_series(self) -> pa.Table:
        """Samples of the link directions: queues, and counts since the start."""
        return self.table("link_series")

    @property
    def probes(self) -> pa.Table:
        """Samples of named internals of the controllers, one a row."""
        return self.table("probes")

    @property
    def events(self) -> pa.Table:
        """Drops, marks, losses, retransmissions, timeouts, recoveries, one a row."""
        return self.table("events")

    @property
    def stations(self) -> pa.Table:
        """A row per station of a wireless network, over the measured interval."""
        return self.table("stations")

    @property
    def frames(self) -> pa.Table:
        """Frames on the air, one a row. Only if the scenario says so (``record.frames``)."""
        return self.table("frames")

    @property
    def table_names(self) -> tuple[str, ...]:
        """The names of the tables that are saved. Wireless tables need a wireless network."""
        wireless = WIRELESS_TABLES if self.scenario.get("wlans") else ()
        datagrams = DATAGRAM_TABLES if self.scenario.get("record", {}).get("datagrams") else ()
        has_media = any(flow["kind"] == "media" for flow in self.scenario["flows"])
        return TABLES + wireless + datagrams + (VIDEO_TABLES if datagrams and has_media else ())

    @property
    def datagrams(self) -> pa.Table:
        """Datagrams that arrived, one a row. Only if the scenario says so (``record.datagrams``)."""
        return self.table("datagrams")

    @property
    def video_frames(self) -> pa.Table:
        """Frames of video, one a row. Only of media, if the scenario says so (``record.datagrams``)."""
        return self.table("video_frames")

    def polars(self, name: str) -> polars.DataFrame:
        """The table called ``name`` as a polars frame that shares the numbers. Needs the extra ``polars``."""
        import polars

        frame = polars.from_arrow(self.table(name))
        assert isinstance(frame, polars.DataFrame)
        return frame

    @property
    def duration_s(self) -> float:
        """The length of the run in simulated seconds."""
        return _seconds(self.scenario["duration"])

    @property
    def warmup_s(self) -> float:
        """The start of the measured interval, in seconds."""
        return _seconds(self.scenario["warmup"])

    @property
    def fairness(self) -> float:
        """Jain's index of the goodputs of lasting flows at the bottleneck. Flows that complete are left out.

        If some flows send all they can, flows with a ``source`` are left out too: a call needs no more.
        NaN if fewer than two of several flows are left, or nothing was delivered.
        """
        marked = [row["is_bottleneck"] for row in self.rows("links")]
        return self._fairness(marked.index(True) if True in marked else None)

    def _fairness(self, link: int | None) -> float:
        """Jain's index of the flows whose data cross a link, or of all flows."""
        if self._made is not None:
            return self._made[0].fairness(self._made[1], link)
        flows = self.rows("flows")
        goodputs = [row["goodput_bps"] for row in flows]
        completions = [row["completion_s"] for row in flows]
        return _engine.fairness(json.dumps(self.scenario["flows"]), goodputs, completions, self.routes, link)

    @property
    def routes(self) -> Sequence[Sequence[int]]:
        """The rows in ``links`` that data of each flow cross, in the order of the scenario.

        Empty in a folder of an earlier version.
        """
        return self._routes if self._made is None else self._made[1].routes

    def with_flows(self, chosen: Callable[[str], bool]) -> Run:
        """The same run, with only the rows of flows with ``chosen`` names in ``flows``."""
        import pyarrow as pa

        mask = pa.array([chosen(name) for name in self.flows["name"].to_pylist()], pa.bool_())

        def table(name: str) -> pa.Table:
            return self.flows.filter(mask) if name == "flows" else self.table(name)

        return type(self)(table, self.scenario, self.seed, self.engine)

    def summary(self, label: str | None = None) -> dict[str, Any]:
        """The run in numbers, as the command line prints it under ``runs`` with ``--json``.

        ``label`` is the name of the scenario if it is not given.
        """
        flows = self._flow_summaries()
        return {
            "label": self.scenario["name"] if label is None else label,
            "seed": self.seed,
            "duration_s": self.duration_s,
            "scenario": self.scenario,
            "flows": flows,
            "controllers": of_controllers(flows, self.scenario, self.duration_s - self.warmup_s),
            "links": [
                link_summary(row) | {"jain": _known(self._fairness(link))}
                for link, row in enumerate(self.rows("links"))
            ],
            "fairness": {"jain": _known(self.fairness)},
            "engine": dict(self.engine),
        }

    def _flow_summaries(self) -> list[dict[str, Any]]:
        """The rows of ``flows``, with the delays of recorded datagrams and frames (``ackclock.arrived``)."""
        flows = [flow_summary(row) for row in self.rows("flows")]
        if "datagrams" in self.table_names:
            from ackclock.arrived import arrivals

            for index in self.table("datagrams").column("flow").unique().to_pylist():
                flows[index] |= arrivals(self, flows[index]["name"])
            flows = self._with_quality(flows)
        called = [flow["media"] for flow in self.scenario["flows"] if isinstance(flow.get("media"), Mapping)]
        if any("breaker" in media for media in called):
            self._add_breakers(flows)
        return flows

    def _with_quality(self, flows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The summaries of flows. Voice has its MOS if it arrives (``call_best_rating``)."""
        from ackclock.metrics.calls import call_best_rating, is_voice, mean_opinion_score

        def quality(name: str) -> dict[str, Any]:
            described = _described(self.scenario["flows"], name)
            heard = described is not None and is_voice(described)
            return {"mos": mean_opinion_score(call_best_rating(self, name))} if heard else {}

        return [flow | (quality(flow["name"]) if "one_way_delay_ms" in flow else {}) for flow in flows]

    def _add_breakers(self, flows: list[dict[str, Any]]) -> None:
        """Adds to summaries of flows when and why a circuit breaker stopped them."""
        for event in self.events.to_pylist():
            if event["kind"] == "circuit-breaker":
                condition = BREAKERS[round(event["value"]) - 1]
                flows[event["flow"]]["circuit_breaker"] = {"at_s": event["time_s"], "condition": condition}

    def save(self, folder: str | os.PathLike[str]) -> pathlib.Path:
        """Writes Parquet tables and ``run.json`` (scenario, seed, versions, host) into a new or empty folder.

        Raises ResultError if the folder holds something, OSError if it cannot be written.
        """
        import pyarrow.parquet as pq

        target = _empty_folder(folder)
        for name in self.table_names:
            pq.write_table(self.table(name), target / f"{name}.parquet", compression="zstd")
        described = {
            "version": _engine.version(),
            "schema_version": SCHEMA_VERSION,
            "seed": self.seed,
            "scenario": self.scenario,
            "engine": self.engine,
            "routes": self.routes,
            "host": {
                "system": f"{platform.system()} {platform.release()}",
                "machine": platform.machine(),
                "cores": os.cpu_count(),
                "python": platform.python_version(),
            },
        }
        (target / "run.json").write_text(json.dumps(described, indent=2) + "\n", "utf-8")
        return target

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Self:
        """Reads a folder that ``save`` wrote, each table at its first use. Raises ResultError."""
        source = pathlib.Path(folder)
        try:
            described = json.loads((source / "run.json").read_text("utf-8"))
            version = described["schema_version"]
            if version not in (1, 2, SCHEMA_VERSION):
                raise ResultError(
                    f"{source}: the tables have schema version {version}, this package reads {SCHEMA_VERSION}"
                )
            stored.check_described(described)
            given = dict(described["scenario"]), int(described["seed"]), dict(described["engine"])
        except OSError as error:
            why = f"{source}: run.json cannot be read: {error.strerror}"
            if any(source.glob("*/run.json")):
                why = f"{source}: holds several runs: Runs.load reads them all"
            raise ResultError(why) from error
        except ResultError:
            raise
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise ResultError(f"{source}: run.json is not the description of a run ({error})") from error
        run = cls(lambda name: _stored(source, name), *given, routes=described.get("routes", ()))
        missing = [name for name in run.table_names if not (source / f"{name}.parquet").is_file()]
        if missing:
            raise ResultError(f"{source}: {missing[0]}.parquet is missing")
        return run

    def to_csv(self, folder: str | os.PathLike[str]) -> pathlib.Path:
        """Writes the tables as CSV files into a new or empty folder. Raises ResultError or OSError."""
        target = _empty_folder(folder)
        for name in self.table_names:
            write_csv(self.table(name), target / f"{name}.csv")
        return target

    @property
    def plot(self) -> Plots:
        """The figures of the run: ``run.plot()``, ``run.plot.window()`` and the like."""
        from ackclock.plots.shortcuts import Plots

        return Plots({self.scenario["name"]: [self]})

    def _repr_html_(self) -> str:
        from ackclock.report.notebook import tables

        return tables([self.summary()])

    def __reduce__(self) -> tuple[Any, ...]:
        tables = {name: self.table(name) for name in self.table_names}
        return type(self), (tables.__getitem__, self.scenario, self.seed, self.engine, None, self.routes)

    def __repr__(self) -> str:
        name, flows = self.scenario["name"], self.rows("flows")
        goodput = sum(row["goodput_bps"] for row in flows) / 1e6
        what = f"{len(flows)} flows, {self.duration_s:g} s, goodput {goodput:.4g} Mbit/s"
        return f"<Run {name!r} ({self.engine['kind']}), seed {self.seed}, {what}>"


class Runs(list[Run]):
    """Several runs: the repetitions of one scenario in the order of their seeds, or the runs of a folder."""

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Self:
        """Reads every run that ``run`` or ``compare`` wrote into ``folder``. Raises ResultError."""
        place = pathlib.Path(folder)
        found = sorted(file.parent for file in (*place.glob("run.json"), *place.glob("*/run.json")))
        if not found:
            raise ResultError(f"{place}: holds no run: there is no run.json in it or in a folder of it")
        return cls(sorted((Run.load(one) for one in found), key=lambda run: (run.scenario["name"], run.seed)))

    @property
    def flows(self) -> pa.Table:
        """The rows of all flows, with first columns ``label`` (the scenario) and ``seed``."""
        return self.table("flows")

    @property
    def links(self) -> pa.Table:
        """The rows of all link directions, with first columns ``label`` and ``seed``."""
        return self.table("links")

    @property
    def plot(self) -> Plots:
        """The figures of the runs, a label for each scenario: ``runs.plot()``, ``runs.plot.window()``."""
        from ackclock.plots.shortcuts import Plots

        by_label: dict[str, list[Run]] = {}
        for run in self:
            by_label.setdefault(run.scenario["name"], []).append(run)
        return Plots(by_label)

    def _repr_html_(self) -> str:
        from ackclock.report.notebook import tables

        return tables(self.summary())

    def table(self, name: str) -> pa.Table:
        """The tables called ``name`` of all runs, first ``label`` (the name of the scenario) and ``seed``."""
        import numpy as np
        import pyarrow as pa

        parts = []
        for run in self:
            part = run.table(name)
            seeds = pa.array(np.full(part.num_rows, run.seed, dtype=np.uint64))
            labels = pa.array([run.scenario["name"]] * part.num_rows, pa.string())
            parts.append(part.add_column(0, "seed", seeds).add_column(0, "label", labels))
        return pa.concat_tables(parts).unify_dictionaries()

    def summary(self, label: str | None = None) -> list[dict[str, Any]]:
        """``Run.summary`` of each."""
        return [run.summary(label) for run in self]


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


def _described(flows: Sequence[Mapping[str, Any]], name: str) -> Mapping[str, Any] | None:
    """The table of a resolved scenario for the flow ``name``, or for its copies ``name-0``, ``name-1``…"""
    whole = [one for one in flows if one.get("name") == name]
    copies = [one for one in flows if one.get("name", one.get("cc")) == name.rpartition("-")[0]]
    return next(iter([*whole, *copies]), None)


def flow_summary(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of ``flows`` as ``--json`` prints it."""
    return _summary("flows", row)


def link_summary(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of ``links`` as ``--json`` prints it."""
    return _summary("links", row)


def _summary(table: str, row: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of a table in its order, then each quantity that has several statistics as an object."""
    single: dict[str, Any] = {}
    several: dict[str, dict[str, Any]] = {}
    for name, quantity, statistic in _columns(table):
        if name in row and quantity:
            several.setdefault(quantity, {})[statistic] = row[name]
        elif name in row:
            single[name] = row[name]
    return single | several


@cache
def _columns(table: str) -> list[tuple[str, str, str]]:
    """The name of each column but the first, which numbers the rows.

    Of a statistic such as ``rtt_p50_ms`` also its quantity, ``rtt_ms``, and its own name, ``p50``.
    """
    names = [column["name"] for column in _engine.columns() if column["table"] == table]
    parts = [re.fullmatch(r"(.+)_(min|mean|max|p\d+)(_ms)?", name) for name in names[1:]]
    return [
        (name, part[1] + (part[3] or ""), part[2]) if part else (name, "", "")
        for name, part in zip(names[1:], parts, strict=True)
    ]


def _seconds(text: str) -> float:
    """A span of a scenario (``"60s"``, ``"1.5ms"``) in seconds. Raises ResultError."""
    try:
        return _engine.quantity(text, "time")
    except ValueError as error:
        raise ResultError(str(error)) from None


def _empty_folder(folder: str | os.PathLike[str]) -> pathlib.Path:
    target = pathlib.Path(folder)
    if target.exists() and not target.is_dir():
        raise ResultError(f"{target}: is a file, but must be a folder")
    target.mkdir(parents=True, exist_ok=True)
    if any(target.iterdir()):
        raise ResultError(f"{target}: the folder is not empty")
    return target


def _stored(folder: pathlib.Path, name: str) -> pa.Table:
    known = TABLES + WIRELESS_TABLES + DATAGRAM_TABLES + VIDEO_TABLES
    if name not in known:
        raise KeyError(f"there is no table `{name}`; there are {', '.join(known)}")
    try:
        return stored.read(folder / f"{name}.parquet", name)
    except stored.TableError as error:
        raise ResultError(str(error)) from error
