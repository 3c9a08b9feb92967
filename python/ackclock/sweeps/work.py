"""What a worker of a sweep does: runs a chunk of runs, and writes their rows into the folder of the sweep.

A chunk travels to the worker as one value and needs nothing but ackclock and the folder, so that it can run
in a process of this machine or on another machine that has the folder.
"""

from __future__ import annotations

import hashlib
import json
import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ackclock import _engine
from ackclock.engines import Engine, Job
from ackclock.engines.live import Live
from ackclock.engines.simulator import Simulator
from ackclock.report.files import sync

if TYPE_CHECKING:
    import pyarrow as pa

    from ackclock.result import Run

CHUNKS = "chunks"
"""The folder, inside that of the sweep, that workers write into."""

STOP = "stop"
"""The file in the folder of the chunks that tells workers to end."""

STOP_CHECK_S = 0.5

FLOWS, LINKS = "flows", "links"


class Item(NamedTuple):
    """One run of a sweep."""

    digest: str
    """What the run is known by: a digest of all that its result depends on."""
    controller: str
    point: Mapping[str, str]
    resolved: str
    """The resolved scenario as JSON."""
    seed: int


@dataclass(frozen=True)
class Chunk:
    """Runs that a worker does in one go."""

    items: tuple[Item, ...]
    folder: Path
    """The folder of the sweep."""
    controllers: Sequence[Callable[[], Any]] = ()
    """Makers of the controllers that are written in Python."""
    live: Live | None = None
    """The kernel's TCP, in place of the simulator."""


class Done(NamedTuple):
    """What a worker says of a chunk."""

    runs: int
    seconds: float
    invalid: tuple[str, ...]
    """Why live runs went past their error budget, a sentence each."""


def digest(resolved: str, seed: int, context: str = "") -> str:
    """What a run is known by: its scenario, the content of the files named in it, its seed, our version."""
    found = hashlib.sha256(f"{_engine.version()}\0{context}\0{seed}\0{resolved}".encode())
    for file in sorted(_files(json.loads(resolved))):
        found.update(Path(file).read_bytes() if Path(file).is_file() else b"")
    return found.hexdigest()[:32]


def _files(part: Any) -> Iterable[str]:
    """The files that a resolved scenario names: traces, and controllers in C."""
    if isinstance(part, Mapping):
        for key, value in part.items():
            if key == "cc" and isinstance(value, str):
                file = _engine.controller_file(value)
                if file is not None:
                    yield file
            elif key == "trace" and isinstance(value, str):
                yield value
            else:
                yield from _files(value)
    elif isinstance(part, list):
        for value in part:
            yield from _files(value)


class _StoppedError(Exception):
    """The sweep was interrupted."""


def run(chunk: Chunk) -> Done:
    """Runs a chunk and writes the rows of the runs that finished, whatever ended it.

    Raises what a run raises.
    """
    begun = time.monotonic()
    stop, looked = chunk.folder / CHUNKS / STOP, begun

    def check(_fraction: float) -> None:
        nonlocal looked
        if time.monotonic() - looked > STOP_CHECK_S:
            looked = time.monotonic()
            if stop.exists():
                raise _StoppedError

    engine: Engine = chunk.live or Simulator(1, chunk.controllers)
    jobs = [Job(item.resolved, item.seed) for item in chunk.items]
    tables: dict[str, list[pa.Table]] = {FLOWS: [], LINKS: []}
    done: list[Item] = []
    invalid = []
    try:
        for index, finished in engine.run(jobs, check):
            item = chunk.items[index]
            if not finished.valid:
                reasons = "; ".join(finished.engine["reasons"])
                invalid.append(f"{item.controller}, {_point(item)}, seed {item.seed}: {reasons}")
            flows, links = _rows(finished, item)
            tables[FLOWS].append(flows)
            tables[LINKS].append(links)
            done.append(item)
    except _StoppedError:
        pass
    finally:
        if done:
            _write(chunk.folder / CHUNKS, done, tables)
    return Done(len(done), time.monotonic() - begun, tuple(invalid))


def _point(item: Item) -> str:
    return ", ".join(f"{key}={value}" for key, value in item.point.items()) or "no key swept"


def _rows(finished: Run, item: Item) -> tuple[pa.Table, pa.Table]:
    """The rows of one run: its flows with the columns of its bottleneck, and its links."""
    import pyarrow as pa
    import pyarrow.compute as pc

    flows, links = _plain(finished.flows), _plain(finished.links)
    bottleneck = links.filter(pc.field("is_bottleneck"))
    for name in links.column_names:
        if name in ("link", "is_bottleneck"):
            continue
        column = links.schema.field(name)
        value = bottleneck[name][0].as_py() if bottleneck.num_rows else None
        flows = flows.append_column(
            column.with_name(f"link_{name}").with_nullable(True),
            pa.array([value] * flows.num_rows, column.type),
        )
    valid = pa.array([finished.valid] * flows.num_rows)
    return _labelled(flows.append_column("valid", valid), item), _labelled(links, item)


def _plain(table: pa.Table) -> pa.Table:
    """The table without dictionaries, which differ from run to run."""
    import pyarrow as pa

    fields = [
        field.with_type(pa.string()) if pa.types.is_dictionary(field.type) else field
        for field in table.schema
    ]
    return table.cast(pa.schema(fields))


def _labelled(table: pa.Table, item: Item) -> pa.Table:
    """The table with the columns that say which run its rows are of."""
    import pyarrow as pa

    rows = table.num_rows
    given: dict[str, Any] = {"run": item.digest, "controller": item.controller} | dict(item.point)
    columns = [pa.array([value] * rows, pa.string()) for value in given.values()]
    columns.append(pa.array([item.seed] * rows, pa.int64()))
    names = [*given, "seed"]
    fields = [pa.field(name, column.type) for name, column in zip(names, columns, strict=True)]
    return pa.table([*columns, *table.columns], pa.schema([*fields, *table.schema]))


def _write(folder: Path, done: Sequence[Item], tables: Mapping[str, list[pa.Table]]) -> None:
    """Writes the rows of finished runs under a name made of their digests; links first, then flows.

    A chunk counts as written when its flows are there.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    name = hashlib.sha256("".join(item.digest for item in done).encode()).hexdigest()[:32]
    for kind in (LINKS, FLOWS):
        # A scheduler may start a chunk twice, on two machines.
        unfinished = folder / f".{name}.{kind}.{uuid.uuid4().hex}.part"
        pq.write_table(pa.concat_tables(tables[kind]), unfinished, compression="zstd")
        sync(unfinished)
        unfinished.rename(folder / f"{name}.{kind}.parquet")
    sync(folder)
