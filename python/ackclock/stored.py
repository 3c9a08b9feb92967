"""The tables of a run in files: read, and compared with the engine's own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from ackclock import _engine
from ackclock.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

TABLES: Final = ("flows", "links", "flow_series", "link_series", "probes", "events")
"""The names of the tables of a run."""

WIRELESS_TABLES: Final = ("stations", "frames")
"""The names of the further tables of a run with wireless networks."""

DATAGRAM_TABLES: Final = ("datagrams",)
"""The name of the further table of a run that records datagrams."""

VIDEO_TABLES: Final = ("video_frames",)
"""The name of the further table of such a run with flows of media."""

LEAST_ROWS = {"flows": 1, "links": 1}
"""Tables with a row for each of something that every run has."""

SHORTEST = {
    "duration": "1ms",
    "links": [{"from": "ap", "to": "server", "rate": "9mbit", "delay": "1ms", "queue": "9p", "duplex": True}],
    "wlans": [{"standard": "802.11g", "stations": ["laptop"]}],
    "flows": [
        {"cc": "newreno", "kind": "datagram", "source": {"rate": "1mbit"}, "from": "laptop", "to": "server"}
    ],
    "record": {"frames": True, "datagrams": True},
}
"""A scenario with every table."""


class TableError(InputError):
    """A file does not hold a table of a run. The message is one sentence."""


@cache
def schemas() -> dict[str, pa.Schema]:
    """The columns of each table. All runs have the same, so a run of a millisecond is asked."""
    import pyarrow as pa

    plan = _engine.resolve_json(json.dumps(SHORTEST), [])
    answer = _engine.Batch([(plan, 1)], threads=1).next()
    assert answer is not None
    _, run = answer
    names = TABLES + WIRELESS_TABLES + DATAGRAM_TABLES + VIDEO_TABLES
    return {name: pa.table(run.table(name)).schema for name in names}


SCENARIO: Mapping[str, type] = {"name": str, "duration": str, "warmup": str, "flows": list, "record": dict}
"""Keys of a resolved scenario by which results are read, and their types."""

FLOW: Mapping[str, type] = {"kind": str}
WLAN: Mapping[str, type] = {"name": str, "standard": str}
"""The same of each flow and of each wireless network."""


WORDS: Mapping[type, str] = {str: "text", list: "a list", dict: "an object"}


def check_described(described: Mapping[str, Any]) -> None:
    """Refuses the description of a run that lacks what readers of results need. Raises ValueError."""
    scenario = described["scenario"]
    _check(scenario, SCENARIO, "scenario")
    for key, needed in (("flows", FLOW), ("wlans", WLAN)):
        for number, one in enumerate(scenario.get(key) or ()):
            _check(one, needed, f"scenario.{key}.{number}")
    _check(scenario.get("path") or {}, {}, "scenario.path")
    _check(described["engine"], {"kind": str}, "engine")
    routes = described.get("routes", [])
    if not isinstance(routes, list) or not all(isinstance(one, list) for one in routes):
        raise ValueError("routes is no list of lists")
    if not all(isinstance(link, int) and link >= 0 for one in routes for link in one):
        raise ValueError("routes has a link that is no row of links")


def _check(value: Any, needed: Mapping[str, type], where: str) -> None:
    if not isinstance(value, dict):
        raise ValueError(f"{where} must be an object")
    for key, kind in needed.items():
        if not isinstance(value.get(key), kind):
            raise ValueError(f"{where}.{key} must be {WORDS[kind]}")


def table_in(file: Path | BinaryIO, columns: list[str] | None = None) -> pa.Table:
    """The table of a file of Parquet, all columns or these, read by the calling thread.

    Where there is no memory for another thread, Arrow waits for the thread for ever, deaf to signals. Raises
    OSError or what Arrow raises.
    """
    import pyarrow.parquet as pq

    with pq.ParquetFile(file) as opened:
        return opened.read(columns, use_threads=False)


def read(file: Path, name: str) -> pa.Table:
    """The table called ``name`` of a file of Parquet, with the columns and types of the engine.

    Columns that only the file has are left out. Raises TableError.
    """
    import pyarrow as pa

    try:
        with file.open("rb") as opened:
            found = table_in(opened)
    # Some damaged files have columns of one name, or of more bytes than there are.
    except (OSError, pa.ArrowException, ValueError, MemoryError) as error:
        raise TableError(f"{file}: is not a table of a run: {' '.join(str(error).split())}") from error
    if name == "links":
        found = _with_capacity(_with_bottleneck(found))
    elif name == "flow_series":
        found = _with_bytes_and_base(file, found)
    elif name == "link_series" and "capacity_bytes" not in found.column_names:
        # Versions 1 and 2 did not know it.
        found = found.append_column("capacity_bytes", pa.nulls(found.num_rows, pa.float64()))
    if found.num_rows < LEAST_ROWS.get(name, 0):
        raise TableError(f"{file}: has no rows, and every run has {name}")
    schema = schemas()[name]
    return pa.table([_column(file, found, field) for field in schema], schema)


def _column(file: Path, table: pa.Table, field: pa.Field) -> pa.ChunkedArray:
    """A column of a table as the type of ``field``. Raises TableError."""
    import pyarrow as pa

    if field.name not in table.column_names:
        raise TableError(f"{file}: the column `{field.name}` is missing")
    column = table.column(table.column_names.index(field.name))
    try:
        found = column.cast(field.type)
    except (pa.ArrowException, ValueError) as error:
        why = " ".join(str(error).split())
        raise TableError(f"{file}: the column `{field.name}` must be {field.type} ({why})") from error
    if found.null_count and not field.nullable:
        raise TableError(f"{file}: the column `{field.name}` has {found.null_count} rows without a value")
    return found


def _with_bytes_and_base(file: Path, series: pa.Table) -> pa.Table:
    """``flow_series`` with the columns that earlier runs have not, as if size and base never changed."""
    import numpy as np

    if {"arrived_bytes", "base_rtt_ms"} <= {*series.column_names} or not {"flow", "arrived_packets"} <= {
        *series.column_names
    }:
        return series
    flows = table_in(file.with_name(f"flows{file.suffix}"), ["throughput_bps", "measured_s", "base_rtt_ms"])
    rates, lives, bases = (flows[name].to_numpy() for name in ("throughput_bps", "measured_s", "base_rtt_ms"))
    of, packets = (series[name].to_numpy() for name in ("flow", "arrived_packets"))
    most = np.zeros(flows.num_rows)
    np.maximum.at(most, of, packets)
    sizes = np.divide(rates * lives / 8.0, most, out=np.zeros_like(most), where=most > 0)
    sized = np.round(packets * sizes[of]).astype(np.uint64)
    return series.append_column("arrived_bytes", [sized]).append_column("base_rtt_ms", [bases[of]])


def _with_bottleneck(links: pa.Table) -> pa.Table:
    """``links`` with the column that version 1 has not: its bottleneck was the first link with a rate."""
    if "is_bottleneck" in links.column_names or "rate_bps" not in links.column_names:
        return links
    rates = links["rate_bps"].to_pylist()
    first = next((row for row, rate in enumerate(rates) if rate is not None), None)
    return links.append_column("is_bottleneck", [[row == first for row in range(len(rates))]])


def _with_capacity(links: pa.Table) -> pa.Table:
    """``links`` with the columns that versions 1 and 2 have not. Their utilization was the busy share."""
    import pyarrow as pa

    if "busy_share" in links.column_names or "utilization" not in links.column_names:
        return links
    unknown = pa.nulls(links.num_rows, pa.float64())
    links = links.append_column("busy_share", links["utilization"])
    delays = (f"packet_queue_delay_{of}_ms" for of in ("mean", "p50", "p95", "p99", "max"))
    for name in ("capacity_bytes", *delays):
        links = links if name in links.column_names else links.append_column(name, unknown)
    return links
