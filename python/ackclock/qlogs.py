"""Logs of QUIC stacks: qlog 0.3 and 0.4, as JSON or as a sequence of JSON texts (RFC 7464, ``.sqlog``).

The names and units of events are by draft-ietf-quic-qlog-main-schema and draft-ietf-quic-qlog-quic-events.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ackclock.errors import InputError
from ackclock.metrics.tables import Array
from ackclock.reading import refuse_pipe, unreadable

RECORD = "\x1e"
"""Begins each text of a sequence."""
SINCE_PREVIOUS = ("delta", "relative_to_previous_event")
"""Formats in which a time counts from the event before."""
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*(?:"|$)|[{}\[\]]', re.DOTALL)
"""A string of JSON, which may hold brackets, or a bracket."""
LONGEST_LITERAL = 24
"""The letters of a number, or of a word like ``false``, of which a part may be the end of a text."""
MILLI = 1e3
MOST = float(1 << 64)
"""Numbers of a log are below this: the integers of qlog have 64 bits."""

METRICS = {
    "congestion_window": 1.0,
    "bytes_in_flight": 1.0,
    "ssthresh": 1.0,
    "latest_rtt": MILLI,
    "smoothed_rtt": MILLI,
    "min_rtt": MILLI,
    "pacing_rate": 1.0,
}
"""The metrics that are read, and the number by which each is divided: times become seconds."""


@dataclass(frozen=True)
class Log:
    """One trace of a log. Times are in s from its first event."""

    file: Path
    title: str
    times: Array
    """The times at which metrics change."""
    metrics: Mapping[str, Array]
    """The values of ``METRICS`` from each of these times on, NaN while unknown: bytes, s, and bit/s."""
    sent: Array
    """The times at which packets were sent."""
    sent_bytes: Array
    lost: Array
    """The times at which packets were declared lost."""
    lost_numbers: Array
    """Their numbers, NaN where the log has none."""
    spurious: Array
    """The times at which packets were acknowledged that had been declared lost."""
    states: tuple[tuple[float, str], ...]
    """New states of the controller, with their times."""
    end: float
    """The time of the last event."""
    is_tcp: bool
    """The log names TCP as its protocol."""
    limits: Mapping[str, float] = field(default_factory=dict)
    """The shares of the busy time in which something else than the window limited the sender, where known."""


@dataclass(frozen=True)
class Logs:
    """The traces of a file."""

    traces: tuple[Log, ...]
    remark: str
    """A sentence about a file that ends within an event, or empty."""


def is_log(path: Path) -> bool:
    """True for a file that begins as a log, and as no capture."""
    refuse_pipe(path)
    try:
        with path.open("rb") as file:
            return file.read(64).lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", RECORD.encode())
    except OSError as error:
        raise unreadable(path, error) from error


def read(path: Path) -> Logs:
    """The traces of a log. Raises InputError for a file that is none, or has no event of a sender."""
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise unreadable(path, error) from error
    except UnicodeDecodeError:
        raise InputError(f"{path}: is no qlog: it is not text in UTF-8") from None
    remark = ""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        document = _whole_events(text) if is_at_end(error, text) else None
        if document is None:
            texts, is_cut = _texts(text, path)
            traces = [(texts[0].get("trace"), texts[1:])]
        else:
            traces, is_cut = _contained(document, path), True
        if is_cut:
            remark = f"{path}: ends within an event, and is read up to there"
    else:
        traces = _contained(document, path)
    return _of_traces(traces, path, remark)


def _of_traces(traces: Sequence[tuple[Any, Any]], path: Path, remark: str) -> Logs:
    found = [_trace(path, number, *one) for number, one in enumerate(traces, 1)]
    logs = tuple(one for one in found if one.times.size or one.sent.size or one.lost.size)
    if not logs:
        raise InputError(
            f"{path}: has neither metrics_updated nor packet_sent nor packet_lost: is it a log of a sender?"
        )
    return Logs(logs, remark)


def of_document(document: Mapping[str, Any], path: Path) -> Logs:
    """The traces of a log in memory, which errors call ``path``. Raises InputError if none is of a sender."""
    return _of_traces(_contained(document, path), path, "")


def _contained(document: Any, path: Path) -> list[tuple[Any, Any]]:
    """The traces of a log that is one JSON text, each with its events."""
    if not isinstance(document, dict) or not isinstance(document.get("traces"), list):
        raise InputError(f"{path}: is no qlog: it has no list `traces`")
    return [(one, one.get("events")) for one in document["traces"] if isinstance(one, dict)]


def is_at_end(error: Exception, text: str) -> bool:
    """True for the error about a text that is JSON but for its missing end."""
    if not isinstance(error, json.JSONDecodeError):
        return False
    return error.msg.startswith("Unterminated string") or len(text) - error.pos <= LONGEST_LITERAL


def _whole_events(text: str) -> Any:
    """A log that is one JSON text and ends within it, up to its last whole event. None for any other text."""
    closing: list[str] = []
    end, ending = 0, ""
    for found in _TOKEN.finditer(text):
        token = found[0]
        if token in "{[":
            closing.append("}" if token == "{" else "]")
        elif token in "}]":
            if not closing or closing.pop() != token:
                return None
            if token == "}" and closing[-1:] == ["]"]:
                end, ending = found.end(), "".join(reversed(closing))
    if not closing or not end:
        return None
    try:
        document = json.loads(text[:end] + ending)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) and "traces" in document else None


def _texts(text: str, path: Path) -> tuple[list[dict[str, Any]], bool]:
    """The texts of a sequence, and if the last of them is cut off."""
    parts = [part for part in text.split(RECORD if RECORD in text else "\n") if part.strip()]
    if not parts:
        raise InputError(f"{path}: is no qlog: there is no text in it")
    found: list[dict[str, Any]] = []
    for number, part in enumerate(parts, 1):
        try:
            one = json.loads(part)
        except (ValueError, RecursionError):
            if number == len(parts) > 1:
                return found, True
            raise InputError(f"{path}: is no qlog: text {number} in it is no JSON") from None
        if not isinstance(one, dict):
            raise InputError(f"{path}: is no qlog: text {number} in it is no object")
        found.append(one)
    return found, False


def _trace(path: Path, number: int, head: Any, events: Any) -> Log:
    """One trace. Raises InputError for one of several paths."""
    head = head if isinstance(head, dict) else {}
    common = head.get("common_fields")
    common = common if isinstance(common, dict) else {}
    form = common.get("time_format")
    protocols = common.get("protocol_types", common.get("protocol_type"))
    vantage = head.get("vantage_point")
    name = (
        head.get("title") or (vantage.get("name") if isinstance(vantage, dict) else None) or f"trace {number}"
    )
    rows: list[tuple[float, dict[str, float]]] = []
    sent: list[tuple[float, float]] = []
    lost: list[tuple[float, float]] = []
    spurious: list[float] = []
    missing: set[tuple[str, int]] = set()
    states: list[tuple[float, str]] = []
    known: dict[str, float] = {}
    paths: set[str] = set()
    end = 0.0
    for time, kind, data in _events(path, events, form in SINCE_PREVIOUS):
        end = max(end, time)
        if kind == "metrics_updated":
            known |= {key: value for key in METRICS if (value := _amount(data.get(key))) is not None}
            rows.append((time, dict(known)))
            paths |= {str(data["path_id"])} if "path_id" in data else set()
        elif kind == "packet_sent":
            sent.append((time, _length(data)))
        elif kind == "packet_lost":
            space, packet = _packet(data)
            lost.append((time, math.nan if packet is None else float(packet)))
            missing |= set() if packet is None else {(space, packet)}
        elif kind == "packet_received":
            back = _acknowledged(data, missing)
            spurious += [time] * len(back)
            missing -= back
        elif kind == "congestion_state_updated":
            states.append((time, str(data.get("new"))))
    if len(paths) > 1:
        raise InputError(
            f"{path}: has the metrics of {len(paths)} paths of a connection, and its packets name none: they "
            "cannot be told apart. `ackclock read DIR --to qlog` writes a trace for each path of a run"
        )
    metrics = {
        key: np.array([row.get(key, math.nan) for _, row in rows]) / unit for key, unit in METRICS.items()
    }
    return Log(
        path,
        str(name),
        np.array([time for time, _ in rows]),
        metrics,
        np.array([time for time, _ in sent]),
        np.array([size for _, size in sent]),
        np.array([time for time, _ in lost]),
        np.array([number for _, number in lost]),
        np.array(spurious),
        tuple(states),
        end,
        isinstance(protocols, list) and "TCP" in protocols,
    )


def _events(path: Path, events: Any, is_relative: bool) -> Iterator[tuple[float, str, Mapping[str, Any]]]:
    """Times in s from the first event, names without their namespaces, and data, in the order of time.

    A stack of several threads may write an event behind a later one.
    """
    found = sorted(_written(path, events, is_relative), key=lambda one: one[0])
    for time, kind, data in found:
        yield (time - found[0][0]) / MILLI, kind, data


def _written(path: Path, events: Any, is_relative: bool) -> Iterator[tuple[float, str, Mapping[str, Any]]]:
    """The same in the order of the file, with times in ms."""
    if not isinstance(events, Iterable) or isinstance(events, str):
        return
    now = 0.0
    for number, event in enumerate(events, 1):
        if not isinstance(event, dict):
            raise InputError(f"{path}: event {number}: is no object, as qlog has them since 0.3")
        time, name = _number(event.get("time")), event.get("name")
        if time is None or not isinstance(name, str):
            raise InputError(f"{path}: event {number}: has no `time` in ms or no `name`")
        now = now + time if is_relative else time
        kind = name.rpartition(":")[2].removeprefix("recovery_")
        data = event.get("data")
        yield now, kind, data if isinstance(data, dict) else {}


def _amount(value: Any) -> float | None:
    """Bytes, a rate or an RTT. None for anything else."""
    number = _number(value)
    return None if number is None or number < 0.0 else number


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if abs(number) < MOST else None


def _packet(data: Mapping[str, Any]) -> tuple[str, int | None]:
    """The kind of a packet, of which each has numbers of its own, and its number."""
    header = data.get("header")
    header = header if isinstance(header, dict) else {}
    number = _amount(header.get("packet_number"))
    return str(header.get("packet_type")), None if number is None else int(number)


def _acknowledged(data: Mapping[str, Any], missing: set[tuple[str, int]]) -> set[tuple[str, int]]:
    """The packets among ``missing`` that a received packet acknowledges."""
    frames = data.get("frames")
    if not missing or not isinstance(frames, list):
        return set()
    kind, _ = _packet(data)
    ranges = [one for frame in frames if isinstance(frame, dict) for one in _ranges(frame)]
    return {one for one in missing if one[0] == kind and any(low <= one[1] <= high for low, high in ranges)}


def _ranges(frame: Mapping[str, Any]) -> Iterator[tuple[float, float]]:
    """The ranges of packet numbers of a frame with acknowledgements."""
    ranges = frame.get("acked_ranges")
    for one in ranges if isinstance(ranges, list) else ():
        ends = [_amount(end) for end in one] if isinstance(one, list) else []
        known = [end for end in ends if end is not None]
        if known and len(known) == len(ends):
            yield known[0], known[-1]


def _length(data: Mapping[str, Any]) -> float:
    """The bytes of a packet."""
    for place, key in (("raw", "length"), ("header", "packet_size")):
        inner = data.get(place)
        value = _amount(inner.get(key)) if isinstance(inner, dict) else None
        if value is not None:
            return value
    return 0.0
