"""The rows of a file as points of a sweep: lines of subscribers, with keys and columns of their own.

``lines=homes.csv`` reads a table whose header names keys (``rate``, ``rtt``, ``path.reverse.rate``), perhaps
with their unit (``rate_mbit``, ``loss_percent``, ``RTT (ms)``, ``Upload [Mbit/s]``). Every other column is
the file's own: it names the line and changes no run. Conditions may follow:
``lines=homes.csv,queue_delay_p95>100``.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ackclock import _engine, reading
from ackclock.errors import InputError, did_you_mean
from ackclock.sweeps.axes import MOST_POINTS, SHORT_KEYS, TOP_KEYS, Axis, check_shares, dotted, parse
from ackclock.sweeps.metrics import METRICS

LINES = "lines"
"""The key whose value is a file of lines."""

LINE = "line"
"""The column with the number of a line, from 1: lines may be equal."""

UNITS = {"percent": "%", "pct": "%", "packets": "p"} | {
    f"{prefix}{spelling}": f"{prefix}bit"
    for prefix in "kmg"
    for spelling in ("bps", "bit/s", "b/s", "bits/s")
}
"""Units that a name spells in another way than a value. As in tables over time, ``Mbps`` counts bits."""

SPELLED = {
    **dict.fromkeys(("download", "downstream", "downlink", "down", "dl", "bandwidth"), "rate"),
    **dict.fromkeys(("upload", "upstream", "uplink", "up", "ul"), "path.reverse.rate"),
    "ping": "rtt",
    "buffer": "queue",
}
"""Quantities with a unit behind them, as registers of lines call them, and their keys."""

_WITH_UNIT = re.compile(r"\s*(?P<quantity>[^(\[]+?)\s*[(\[]\s*(?P<unit>[^()\[\]]+?)\s*[)\]]\s*")
"""A name with its unit in brackets: ``RTT (ms)``."""

_DECIMAL_COMMA = re.compile(r"\d+,\d+")

QUANTITIES = ("rate", "rtt", "delay", "queue", "loss", "jitter", "duration", "warmup")
"""The last words of keys whose columns may name a unit."""

COUNTS = ("p", "bdp")
"""Units of a queue that are no quantities."""

_CONDITION = re.compile(r"(?P<metric>\w+)\s*(?P<sign>[<>])\s*(?P<bound>\d+\.?\d*)")


class Condition(NamedTuple):
    """The question how many lines have a metric above a bound, or below it."""

    metric: str
    above: bool
    bound: float

    @classmethod
    def read(cls, text: str) -> Condition:
        """The condition that ``text`` spells, such as ``loss>1``. Raises InputError."""
        found = _CONDITION.fullmatch(text.strip())
        if found is None or found["metric"] not in METRICS:
            near = "" if found is None else did_you_mean(found["metric"], METRICS)
            raise InputError(
                f"lines: {text}: must be METRIC>NUMBER or METRIC<NUMBER, with a METRIC of "
                f"{', '.join(METRICS)}{near}"
            )
        return cls(found["metric"], found["sign"] == ">", float(found["bound"]))

    def __str__(self) -> str:
        """As in a sentence: ``p95 queueing delay above 100 ms``."""
        metric = METRICS[self.metric]
        side = "above" if self.above else "below"
        return f"{metric.label} {side} {self.bound:g} {metric.unit}".strip()


DEFAULT = "queue_delay_p95>100"
"""The condition where none is given: a queue that a call suffers from."""


def parse_over(text: str) -> Axis:
    """The axis that ``text`` spells, as ``--over`` takes it, with files of lines. Raises InputError."""
    key, equals, value = text.partition("=")
    if key.strip() != LINES or not equals:
        return parse(text)
    file, *conditions = (part.strip() for part in value.split(","))
    if not file:
        raise InputError(f"over {text}: needs a file, as in lines=homes.csv")
    return read(Path(file), conditions)


def read(file: Path, conditions: Sequence[str] = ()) -> Axis:
    """The axis of the lines in a file. Raises InputError."""
    for condition in conditions:
        Condition.read(condition)
    separator, header, rows = _table(file)
    columns = [_key(name) for name in header]
    keys = [number for number, found in enumerate(columns) if found is not None]
    own = [number for number, found in enumerate(columns) if found is None]
    if not keys:
        raise InputError(
            f"{file}: has no column that is a key of a scenario, like rate_mbit or rtt_ms, among "
            f"{', '.join(header)}"
        )
    names = [LINE, *(header[number] for number in own)]
    swept = [columns[number][0] for number in keys]  # type: ignore[index]
    if twice := [name for name in [*names, *swept] if [*names, *swept].count(name) > 1]:
        raise InputError(f"{file}: the column {twice[0]} is there twice")
    values = []
    for count, (at, row) in enumerate(rows, 1):
        if len(row) != len(header):
            raise InputError(f"{file}, line {at}: has {len(row)} cells, not the {len(header)} of the header")
        given = []
        for number in keys:
            if not row[number]:
                raise InputError(f"{file}, line {at}: {header[number]} is empty")
            value = row[number]
            if separator != "," and _DECIMAL_COMMA.fullmatch(value):
                value = value.replace(",", ".")
            given.append(value + columns[number][1])  # type: ignore[index]
        values.append((str(count), *(row[number] for number in own), *given))
    if not values:
        raise InputError(f"{file}: has a header and no lines")
    if len(values) > MOST_POINTS:
        raise InputError(f"{file}: has more than {MOST_POINTS} lines")
    all_keys = (*names, *swept)
    check_shares(str(file), all_keys, values)
    return Axis(all_keys, tuple(values), labels=len(names), conditions=tuple(conditions) or (DEFAULT,))


def _table(file: Path) -> tuple[str, list[str], list[tuple[int, list[str]]]]:
    """What separates cells, the header, and the rows with the numbers of their lines in the file."""
    try:
        text = reading.text(file, reading.MOST_OF_TABLE)
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"{file}: is no text") from None
    text = text.removeprefix("\ufeff")
    first = next((line for line in text.splitlines() if line.strip() and not line.startswith("#")), "")
    separator = max(",;\t", key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=True)
    try:
        rows = [
            (reader.line_num, [cell.strip() for cell in row])
            for row in reader
            if any(cell.strip() for cell in row) and not row[0].startswith("#")
        ]
    except csv.Error as error:
        raise InputError(f"{file}, line {reader.line_num}: {error}") from None
    if not rows:
        raise InputError(f"{file}: is empty")
    return separator, rows[0][1], rows[1:]


def _key(name: str) -> tuple[str, str] | None:
    """The key that a column has, and the unit that its values lack. None for a column of the file's own."""
    key, unit = _parts(name)
    key = SPELLED.get(key.lower(), key) if unit else key
    if key.rpartition(".")[2] in QUANTITIES and _is_key(key) and _is_unit(unit):
        return dotted(key), unit
    return (dotted(name), "") if _is_key(name) else None


def _parts(name: str) -> tuple[str, str]:
    """The quantity and the unit of a column, if it names one."""
    if found := _WITH_UNIT.fullmatch(name):
        key, unit = re.sub(r"[\s_-]+", "_", found["quantity"].lower()), found["unit"].lower()
    else:
        key, _, unit = name.rpartition("_")
        unit = unit if unit in COUNTS or _is_unit(unit) else unit.lower()
    return key, UNITS.get(unit, unit)


def unused(axis: Axis) -> list[str]:
    """The file's own columns that have a unit: a reader may take them for keys."""
    return [name for name in axis.keys[1 : axis.labels] if _is_unit(_parts(name)[1])]


def _is_key(name: str) -> bool:
    # The name of a line is its own.
    return (
        name in SHORT_KEYS
        or (name in TOP_KEYS and name != "name")
        or bool(re.fullmatch(r"\w+(\.\w+)+", name))
    )


def _is_unit(unit: str) -> bool:
    try:
        return unit in COUNTS or _engine.quantity(f"1{unit}") >= 0.0
    except ValueError:
        return False
