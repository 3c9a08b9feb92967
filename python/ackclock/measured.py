"""Measurements of other tools: ``iperf3 --json``, Flent's data files, and logs of ``ss -ti``.

Each stream becomes a log, as a trace of qlog does, so that it can be drawn beside others. The RTT of these
tools is smoothed by the sender. Segments that were sent again count as lost.
"""

from __future__ import annotations

import gzip
import json
import math
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from ackclock.errors import InputError
from ackclock.qlogs import METRICS, Log, Logs
from ackclock.reading import MOST_OF_TABLE, refuse_pipe, unreadable

GZIP = b"\x1f\x8b"
SEGMENT_BYTES = 1448
"""The data of a segment, where a tool counts segments and does not say their size."""
MICRO, MILLI, MEGA, BITS = 1e-6, 1e-3, 1e6, 8
SUMS = re.compile(r"(?: (?:sum|avg|totals)|\(all\)|fairness)$", re.IGNORECASE)
"""The end of the name of a series that Flent computes from others."""

_CLOCK = re.compile(r"^\W*(\d{9,}(?:\.\d+)?|\d+\.\d+)(?=[\s,;\]]|$)")
"""A time in s at the beginning of a line, as ``date +%s.%N`` prints it."""
_SOCKET = re.compile(r"\b\d+\s+\d+\s+(\S+:\S+)\s+(\S+:\S+)")
"""The queues of a connection, and its ends."""
_VALUE = re.compile(r"(?<!\S)(\w+):(\d+(?:\.\d+)?)")
_AGAIN = re.compile(r"\bretrans:\d+/(\d+)")
"""The segments that a connection has sent again so far."""
_PACING = re.compile(r"\bpacing_rate (\d+(?:\.\d+)?)([KMG]?)bps")
_PREFIX = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9}

Sample = tuple[float, Mapping[str, float]]
"""A time, and the metrics that are known then."""


def is_measured(path: Path) -> bool:
    """True for a file that begins as one of ``iperf3``, Flent or ``ss``."""
    refuse_pipe(path)
    try:
        with path.open("rb") as file:
            head = file.read(1 << 16)
    except OSError as error:
        raise unreadable(path, error) from error
    if head.startswith(GZIP):
        return True
    text = head.decode("utf-8", "replace")
    if text.lstrip("\ufeff \t\r\n").startswith("{"):
        return '"qlog_version"' not in text and '"traces"' not in text and _is_of_tool(text)
    return bool(re.search(r"\bcwnd:\d", text))


def _is_of_tool(text: str) -> bool:
    """True for the beginning of an object of iperf3, of one of its events, or of Flent unpacked."""
    keys = ("test_start", "connecting_to", "event", "x_values", "error")
    return any(f'"{key}"' in text for key in keys)


def read(path: Path) -> Logs:
    """The streams of a file. Raises InputError for one that cannot be read, or has none."""
    text = _text(path)
    if text.lstrip("\ufeff \t\r\n").startswith("{"):
        document = _document(path, text)
        traces = _flent(path, document) if "x_values" in document else _iperf3(path, document)
    else:
        traces = _ss(path, text)
    if not traces:
        raise InputError(f"{path}: has no stream of a sender")
    return Logs(tuple(traces), "")


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            packed = file.read(2) == GZIP
        with gzip.open(path) if packed else path.open("rb") as file:
            content = file.read(MOST_OF_TABLE + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise InputError(f"{path}: is no whole file of gzip") from None
    except OSError as error:
        raise unreadable(path, error) from error
    if len(content) > MOST_OF_TABLE:
        raise InputError(f"{path}: has more than the {MOST_OF_TABLE >> 20} MiB that are allowed")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{path}: is not text in UTF-8") from None


def _document(path: Path, text: str) -> Mapping[str, Any]:
    """An object of JSON, or the events of ``iperf3 --json-stream`` as the object that ``--json`` prints."""
    try:
        return dict(json.loads(text))
    except (ValueError, TypeError, RecursionError):
        pass
    found: dict[str, Any] = {"intervals": []}
    for number, line in enumerate(text.splitlines(), 1):
        try:
            event = json.loads(line)
            kind, data = event["event"], event["data"]
        except (ValueError, TypeError, KeyError, RecursionError):
            raise InputError(f"{path}: line {number}: is neither JSON nor an event of iperf3") from None
        if kind == "interval":
            found["intervals"].append(data)
        else:
            found[kind] = data
    return found


def _iperf3(path: Path, document: Mapping[str, Any]) -> list[Log]:
    """A log for each stream."""
    if isinstance(document.get("error"), str) and not document.get("intervals"):
        raise InputError(f"{path}: iperf3 ended with an error: {document['error']}")
    streams: dict[Any, list[Mapping[str, Any]]] = {}
    for interval in _items(document, "intervals"):
        for one in _items(interval, "streams"):
            if not one.get("omitted"):
                streams.setdefault(one.get("socket"), []).append(one)
    found = []
    for number, rows in enumerate(streams.values(), 1):
        samples, sent, lost = [], [], []
        for row in rows:
            end, data = _number(row, "end"), _number(row, "bytes")
            if end is None or data is None:
                raise InputError(f"{path}: an interval of stream {number} has no `end` or no `bytes`")
            rtt = _scaled(row, "rtt", MICRO)
            metrics = {"congestion_window": _scaled(row, "snd_cwnd"), "smoothed_rtt": rtt, "latest_rtt": rtt}
            samples.append((end, metrics))
            sent.append((end, data))
            lost += [end] * int(_scaled(row, "retransmits", missing=0.0))
        found.append(_log(path, f"stream {number}", samples, sent, lost))
    return found


def _flent(path: Path, document: Mapping[str, Any]) -> list[Log]:
    """A log for each series of a rate, with the window and RTT of its sender, and one for each ping."""
    results, raw = document.get("results"), document.get("raw_values")
    if not isinstance(results, dict):
        raise InputError(f"{path}: is no data file of Flent: it has no object `results`")
    times = [float(time) for time in document["x_values"] if isinstance(time, int | float)]
    found = []
    for name, values in results.items():
        if SUMS.search(name) or not isinstance(values, list) or len(values) != len(times):
            continue
        known = [(t, float(v)) for t, v in zip(times, values, strict=True) if isinstance(v, int | float)]
        if "ping" in name.lower() or "(ms)" in name:
            samples: list[Sample] = [
                (t, {"latest_rtt": v * MILLI, "smoothed_rtt": v * MILLI}) for t, v in known
            ]
            found += [_log(path, name, samples, [], [])] if known else []
        elif known:
            gaps = np.diff([t for t, _ in known], prepend=0.0)
            sent = [(t, v * MEGA / BITS * gap) for (t, v), gap in zip(known, gaps.tolist(), strict=True)]
            samples = _raw(raw.get(name) if isinstance(raw, dict) else None, document)
            found.append(_log(path, name, samples, sent, []))
    return found


def _raw(rows: Any, document: Mapping[str, Any]) -> list[Sample]:
    """The window and the RTT of a sender, which Flent has from ``ss``, from the beginning of its test."""
    rows = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    known = [row for row in rows if _number(row, "t") is not None and _number(row, "tcp_cwnd") is not None]
    metadata = document.get("metadata")
    try:
        first = datetime.fromisoformat(metadata["T0"]).timestamp() if isinstance(metadata, dict) else None
    except (KeyError, TypeError, ValueError):
        first = None
    if first is None:
        first = min((row["t"] for row in known), default=0.0)
    return [
        (
            row["t"] - first,
            {
                "congestion_window": row["tcp_cwnd"] * SEGMENT_BYTES,
                "smoothed_rtt": _scaled(row, "tcp_rtt", MILLI),
                "latest_rtt": _scaled(row, "tcp_rtt", MILLI),
            },
        )
        for row in known
    ]


def _ss(path: Path, text: str) -> list[Log]:
    """A log for each connection. A line with the time precedes each call of ``ss``, or each of its lines."""
    rows: dict[tuple[str, str], list[tuple[float, dict[str, float]]]] = {}
    now, ends = None, None
    for line in text.splitlines():
        if clock := _CLOCK.match(line):
            now = float(clock[1])
        if socket := _SOCKET.search(line):
            ends = socket[1], socket[2]
        if ends is not None and "cwnd:" in line:
            if now is None:
                raise InputError(
                    f"{path}: ss prints no time: log it as `while sleep 0.1; do date +%s.%N; ss -tin; done`"
                )
            values = {name: float(one) for name, one in _VALUE.findall(line)}
            if again := _AGAIN.search(line):
                values["again"] = float(again[1])
            if pacing := _PACING.search(line):
                values["pacing"] = float(pacing[1]) * _PREFIX[pacing[2]]
            rows.setdefault(ends, []).append((now, values))
            ends = None
    begun = min((of[0][0] for of in rows.values()), default=0.0)
    return [
        _of_socket(path, f"{near} to {far}", [(time - begun, values) for time, values in of])
        for (near, far), of in rows.items()
    ]


def _of_socket(path: Path, title: str, rows: Sequence[tuple[float, Mapping[str, float]]]) -> Log:
    samples: list[Sample] = []
    sent, lost = [], []
    before: Mapping[str, float] = {}
    for time, values in rows:
        segment = values.get("mss", SEGMENT_BYTES)
        metrics = {
            "congestion_window": values["cwnd"] * segment,
            "bytes_in_flight": values.get("unacked", math.nan) * segment,
            "ssthresh": values.get("ssthresh", math.nan) * segment,
            "smoothed_rtt": values.get("rtt", math.nan) * MILLI,
            "latest_rtt": values.get("rtt", math.nan) * MILLI,
            "min_rtt": values.get("minrtt", math.nan) * MILLI,
            "pacing_rate": values.get("pacing", math.nan),
        }
        samples.append((time, metrics))
        for counter in ("bytes_sent", "bytes_acked"):
            if counter in values:
                # What was sent before the first call is not known.
                sent.append((time, values[counter] - before.get(counter, values[counter])))
                break
        again = values.get("again", 0.0)
        lost += [time] * max(0, int(again - before.get("again", again)))
        before = {"again": again} | dict(values)
    return _log(path, title, samples, sent, lost)


def _log(
    path: Path,
    title: str,
    samples: Sequence[Sample],
    sent: Sequence[tuple[float, float]],
    lost: Sequence[float],
) -> Log:
    times = np.array([time for time, _ in samples])
    metrics = {
        name: np.array([known.get(name, math.nan) for _, known in samples], np.float64) for name in METRICS
    }
    at, sizes = (np.array([one[part] for one in sent], np.float64) for part in (0, 1))
    ends = [float(one.max()) for one in (times, at) if one.size]
    losses = np.array(lost, np.float64)
    unknown, never = np.full(losses.size, math.nan), np.zeros(0)
    return Log(path, title, times, metrics, at, sizes, losses, unknown, never, (), max(ends, default=0.0))


def _items(of: Any, key: str) -> Iterable[Mapping[str, Any]]:
    """The objects of a list."""
    items = of.get(key) if isinstance(of, dict) else None
    return [one for one in items if isinstance(one, dict)] if isinstance(items, list) else []


def _number(of: Mapping[str, Any], key: str) -> float | None:
    value = of.get(key)
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def _scaled(of: Mapping[str, Any], key: str, factor: float = 1.0, missing: float = math.nan) -> float:
    value = _number(of, key)
    return missing if value is None else value * factor
