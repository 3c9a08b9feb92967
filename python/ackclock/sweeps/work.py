"""The work in the workers of a sweep: makes a chunk of runs, and writes their rows into the folder.

A chunk travels to the worker as one value and needs nothing but ackclock and the folder, so that it can run
in a process of this machine or on another machine that has the folder.
"""

from __future__ import annotations

import hashlib
import time
import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ackclock import _engine
from ackclock.engines import Engine, Job
from ackclock.halves import SAMPLES, Halves, goodputs, is_expected, queue_delays
from ackclock.report.files import sync
from ackclock.sweeps.metrics import of_runs

if TYPE_CHECKING:
    import pyarrow as pa

    from ackclock.result import Run


CHUNKS = "chunks"
"""The folder inside the sweep's that workers write into."""

STOP = "stop"
"""The file in the folder of the chunks that ends the workers."""

STOP_CHECK_S = 0.2

FLOWS, LINKS = "flows", "links"


class Item(NamedTuple):
    """One run of a sweep."""

    digest: str
    """Its identity: see ``ackclock.identity``."""
    controller: str
    point: Mapping[str, str]
    plan: _engine.Plan
    """Its scenario."""
    seed: int


@dataclass(frozen=True)
class Chunk:
    """Runs that a worker makes at once."""

    items: tuple[Item, ...]
    folder: Path
    """The folder of the sweep."""
    engine: Engine
    """The engine that makes them."""


class Example(NamedTuple):
    """One run in numbers."""

    name: str
    """Its controller, point and seed."""
    values: Mapping[str, float]
    """Its value of each metric of ``METRICS``."""


class Done(NamedTuple):
    """The report of a worker on a chunk."""

    runs: int
    seconds: float
    """The time of the runs, in seconds."""
    writing: float
    """The time of writing their rows. On a busy or distant file system it is longer than short runs."""
    invalid: tuple[str, ...]
    """The reasons why live runs went past their error budget, a sentence each."""
    first: Example | None = None
    """The first of the runs, for a glance at a sweep that takes long."""


class _StoppedError(Exception):
    """The sweep was interrupted."""


def run(chunk: Chunk) -> Done:
    """Runs a chunk and writes the rows of the runs that finished, whatever ended it.

    A chunk that waited for its worker while the sweep was stopped makes no run. Raises the error of a run.
    """
    begun = time.monotonic()
    stop, looked = chunk.folder / CHUNKS / STOP, begun
    if stop.exists():
        return Done(0, 0.0, 0.0, ())

    def check(_fraction: float) -> None:
        nonlocal looked
        if time.monotonic() - looked > STOP_CHECK_S:
            looked = time.monotonic()
            if stop.exists():
                raise _StoppedError

    jobs = [Job(item.plan, item.seed) for item in chunk.items]
    rows = _Rows()
    invalid = []
    first = None
    try:
        for index, finished in chunk.engine.run(jobs, check):
            item = chunk.items[index]
            if not finished.valid:
                invalid.append(f"{_name(item)}: {'; '.join(finished.engine['reasons'])}")
            # The rest of the run, such as its series, is dropped.
            flows, links = finished.streamed("flows"), finished.streamed("links")
            seconds = finished.duration_s - finished.warmup_s
            halves = goodputs(finished) if len(finished.streamed("flow_series")) else [None] * len(flows)
            queue = _queue(finished, links)
            rows.add(_Finished(item, flows, links, finished.valid, finished.fairness, seconds, halves, queue))
    except _StoppedError:
        pass
    finally:
        ended = time.monotonic()
        if rows.digests:
            first = _write(chunk.folder / CHUNKS, rows)
    return Done(len(rows.digests), ended - begun, time.monotonic() - ended, tuple(invalid), first)


def _name(item: Item) -> str:
    point = ", ".join(f"{key}={value}" for key, value in item.point.items()) or "no key swept"
    return f"{item.controller}, {point}, seed {item.seed}"


def _queue(run: Run, links: _engine.Table | pa.Table) -> Halves | None:
    """The mean queueing delay of the bottleneck in both halves, in ms. None if they differ by description."""
    import pyarrow as pa

    series = pa.table(run.streamed("link_series"))
    marked = pa.table(links)["is_bottleneck"].to_pylist()
    if not series.num_rows or True not in marked:
        return None
    samples = {name: series[name].to_pylist() for name in SAMPLES}
    found = queue_delays(samples, run.warmup_s, run.duration_s).get(marked.index(True))
    return None if found is not None and found.is_moving_queue and is_expected(run) else found


class _Finished(NamedTuple):
    """The rows of a run."""

    item: Item
    flows: _engine.Table | pa.Table
    links: _engine.Table | pa.Table
    valid: bool
    fairness: float
    interval_s: float
    """The length of the measured interval."""
    halves: Sequence[Halves | None]
    """The goodputs of each flow in both halves of the measured interval, if its samples were recorded."""
    queue: Halves | None
    """The mean queueing delay of the bottleneck in both halves, in ms, if it is known."""


class _Rows:
    """The rows of a chunk. Runs are put together a few hundred at a time: tables of one run are large."""

    TOGETHER = 250

    def __init__(self) -> None:
        self.digests: list[str] = []
        self.first: Item | None = None
        self._waiting: list[_Finished] = []
        self._tables: dict[str, list[pa.Table]] = {LINKS: [], FLOWS: []}

    def add(self, run: _Finished) -> None:
        """Adds the rows of one run."""
        self.first = self.first or run.item
        self.digests.append(run.item.digest)
        self._waiting.append(run)
        if len(self._waiting) == self.TOGETHER:
            self._put_together()

    def tables(self) -> dict[str, pa.Table]:
        """The rows of all runs, links first."""
        import pyarrow as pa

        if self._waiting:
            self._put_together()
        return {kind: pa.concat_tables(tables) for kind, tables in self._tables.items()}

    def _put_together(self) -> None:
        for kind, table in _rows(self._waiting).items():
            self._tables[kind].append(table)
        self._waiting.clear()


def _rows(done: Sequence[_Finished]) -> dict[str, pa.Table]:
    """The rows of runs: their flows with the columns of their bottlenecks, and their links.

    All runs at once: a table for each would cost more than to simulate a second of a slow link.
    """
    import numpy as np
    import pyarrow as pa

    flows, links = _joined([run.flows for run in done]), _joined([run.links for run in done])
    counts = {FLOWS: [len(run.flows) for run in done], LINKS: [len(run.links) for run in done]}
    run_of = pa.array(np.repeat(np.arange(len(done)), counts[FLOWS]))
    marked = links["is_bottleneck"].to_pylist()
    rows, begin = [], 0
    for count in counts[LINKS]:
        of_run = marked[begin : begin + count]
        rows.append(begin + of_run.index(True) if True in of_run else None)
        begin += count
    bottleneck = pa.array(rows, pa.int64()).take(run_of)
    fields, columns = list(flows.schema), list(flows.columns)
    for field, column in zip(links.schema, links.columns, strict=True):
        if field.name not in ("link", "is_bottleneck"):
            fields.append(field.with_name(f"link_{field.name}").with_nullable(True))
            columns.append(column.take(bottleneck))
    fields.append(pa.field("valid", pa.bool_()))
    columns.append(pa.array([run.valid for run in done]).take(run_of))
    fields.append(pa.field("jain", pa.float64()))
    columns.append(pa.array([run.fairness for run in done], pa.float64(), from_pandas=True).take(run_of))
    fields.append(pa.field("interval_s", pa.float64()))
    columns.append(pa.array([run.interval_s for run in done]).take(run_of))
    for half, name in enumerate(HALVES):
        fields.append(pa.field(name, pa.float64()))
        columns.append(pa.array([one and one[half] for run in done for one in run.halves], pa.float64()))
    for half, name in enumerate(QUEUES):
        fields.append(pa.field(name, pa.float64()))
        values = pa.array([run.queue and run.queue[half] for run in done], pa.float64())
        columns.append(values.take(run_of))
    items = [run.item for run in done]
    taken = {*LABELS, *links.column_names, *(field.name for field in fields)}
    return {
        LINKS: _labelled(links, items, counts[LINKS], taken),
        FLOWS: _labelled(pa.table(columns, pa.schema(fields)), items, counts[FLOWS], taken),
    }


def _joined(tables: Sequence[_engine.Table | pa.Table]) -> pa.Table:
    """The tables as one, without dictionaries, which differ from run to run."""
    import pyarrow as pa

    # One table crosses in place of hundreds. An engine gives all its tables in the same form.
    of_engine = [one for one in tables if isinstance(one, _engine.Table)]
    arrow = [_engine.joined(of_engine)] if of_engine else tables
    table = pa.concat_tables([pa.table(one).replace_schema_metadata(None) for one in arrow])
    fields = [
        field.with_type(pa.string()) if pa.types.is_dictionary(field.type) else field
        for field in table.schema
    ]
    return table.cast(pa.schema(fields)).combine_chunks()


HALVES = ("first_half_goodput_bps", "second_half_goodput_bps")
"""The columns of goodputs in both halves of the measured interval: null without ``record.flow_series``."""

QUEUES = ("first_half_queue_delay_ms", "second_half_queue_delay_ms")
"""The columns of mean queueing delays in both halves: null if unknown, or if they differ by description."""

LABELS = ("run", "controller", "seed")
"""The columns of the runs, besides their swept keys."""


def key_column(key: str, taken: Collection[str]) -> str:
    """The column of a swept key: its name, with ``scenario.`` before one that another column has."""
    return f"scenario.{key}" if key in taken else key


def _labelled(
    table: pa.Table, items: Sequence[Item], rows: Sequence[int], taken: Collection[str]
) -> pa.Table:
    """The table with the columns of its runs: so many rows of each item."""
    import numpy as np
    import pyarrow as pa

    item_of = pa.array(np.repeat(np.arange(len(items)), rows))
    given: dict[str, list[str]] = {
        "run": [item.digest for item in items],
        "controller": [item.controller for item in items],
        **{key_column(key, taken): [item.point[key] for item in items] for key in items[0].point},
    }
    columns = [pa.array(values, pa.string()).take(item_of) for values in given.values()]
    columns.append(pa.array([item.seed for item in items], pa.int64()).take(item_of))
    names = [*given, "seed"]
    fields = [pa.field(name, column.type) for name, column in zip(names, columns, strict=True)]
    return pa.table([*columns, *table.columns], pa.schema([*fields, *table.schema]))


def _write(folder: Path, rows: _Rows) -> Example | None:
    """Writes the rows of finished runs under a name made of their digests, links first, then flows.

    Gives the first of the runs.

    A chunk counts as written when its flows are there.
    """
    import pyarrow.parquet as pq

    name = hashlib.sha256("".join(rows.digests).encode()).hexdigest()[:32]
    tables = rows.tables()
    for kind, table in tables.items():
        # A scheduler may start a chunk twice, on two machines.
        unfinished = folder / f".{name}.{kind}.{uuid.uuid4().hex}.part"
        pq.write_table(table, unfinished, compression="zstd")
        sync(unfinished)
        unfinished.rename(folder / f"{name}.{kind}.parquet")
    sync(folder)
    values = {metric: float(found[0]) for metric, found in of_runs(tables[FLOWS])[1].items()}
    return None if rows.first is None else Example(_name(rows.first), values)
