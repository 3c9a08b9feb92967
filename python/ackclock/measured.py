"""Measurements of other tools: ``iperf3 --json``, Flent's data files, logs of ``ss -ti`` and of ``ping``.

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
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from ackclock.errors import InputError
from ackclock.qlogs import METRICS, Log, Logs, is_at_end
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
_LIMITS = {
    "receiver": re.compile(r"\brwnd_limited:(\d+)ms"),
    "sender": re.compile(r"\bsndbuf_limited:(\d+)ms"),
}
"""The times with each limit: no room in the window of the receiver, none in the send buffer."""
_BUSY = re.compile(r"\bbusy:(\d+)ms")
_PING = re.compile(r"(?:\bseq[= ](?P<number>\d+)\b.*?|\bbytes=\d+ .*?)\btime[=<](?P<rtt>\d+(?:[.,]\d+)?) ?ms")
"""The answer to a ping: of iputils, BSD and busybox with a number, of Windows without one."""
_UNANSWERED = re.compile(r"^(?:Request timed out|no answer yet for icmp_seq=)|\bUnreachable\b", re.IGNORECASE)
_STAMP = re.compile(r"^\[(\d+\.\d+)\]")
"""The time of ``ping -D``."""
_SENT_IN = re.compile(r"^(\d+) packets transmitted, .*\btime (\d+) ?ms", re.MULTILINE)
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
    return bool(re.search(r"\bcwnd:\d", text) or _PING.search(_of_pings(text)))


def _of_pings(text: str) -> str:
    """The same with one word for the numbers of pings, which busybox and BSD call otherwise."""
    return text.replace("icmp_seq", "seq")


def _is_of_tool(text: str) -> bool:
    """True for the beginning of an object of iperf3, of one of its events, or of Flent unpacked."""
    keys = ("test_start", "connecting_to", "event", "x_values", "error")
    return any(f'"{key}"' in text for key in keys)


def read(path: Path) -> Logs:
    """The streams of a file. Raises InputError for one that cannot be read, or has none."""
    text = _text(path)
    if text.lstrip("\ufeff \t\r\n").startswith("{"):
        documents = _documents(path, text)
        several = len(documents) > 1
        traces = []
        for number, document in enumerate(documents, 1):
            run = f"run {number}, " if several else ""
            traces += _flent(path, document) if "x_values" in document else _iperf3(path, document, run)
    elif "cwnd:" in text:
        traces = _ss(path, text)
    else:
        traces = _pings(path, _of_pings(text))
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
        why = (
            "has no text in it: a capture is read unpacked, as gunzip leaves it"
            if packed
            else "is not text in UTF-8"
        )
        raise InputError(f"{path}: {why}") from None


def _documents(path: Path, text: str) -> list[Mapping[str, Any]]:
    """The objects of JSON, as ``iperf3 --logfile`` appends them.

    The events of ``iperf3 --json-stream`` are the object that ``--json`` prints.
    """
    decoder, at, whole = json.JSONDecoder(), 0, text.strip()
    documents: list[Mapping[str, Any]] = []
    is_cut = False
    while at < len(whole):
        try:
            document, at = decoder.raw_decode(whole, at)
            documents.append(dict(document))
        except (ValueError, TypeError, RecursionError) as error:
            is_cut = is_at_end(error, whole)
            break
        at += len(whole[at:]) - len(whole[at:].lstrip())
    else:
        if not all("event" in one for one in documents):
            return documents
    if is_cut and not any("event" in one for one in documents):
        raise InputError(f"{path}: ends within an object of JSON")
    return [_streamed(path, text)]


def _streamed(path: Path, text: str) -> Mapping[str, Any]:
    """The events of ``iperf3 --json-stream``, one a line."""
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


def _iperf3(path: Path, document: Mapping[str, Any], run: str) -> list[Log]:
    """A log for each stream. ``run`` names the document among several."""
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
        found.append(_log(path, f"{run}stream {number}", samples, sent, lost))
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
            if now is None and ends in rows:
                raise InputError(
                    f"{path}: ss prints no time: log it as `while sleep 0.1; do date +%s.%N; ss -tin; done`"
                )
            values = {name: float(one) for name, one in _VALUE.findall(line)}
            if again := _AGAIN.search(line):
                values["again"] = float(again[1])
            if pacing := _PACING.search(line):
                values["pacing"] = float(pacing[1]) * _PREFIX[pacing[2]]
            if busy := _BUSY.search(line):
                limited = {name: limit.search(line) for name, limit in _LIMITS.items()}
                values |= {name: float(one[1]) if one else 0.0 for name, one in limited.items()}
                values["busy"] = float(busy[1])
            # One call alone needs no time.
            rows.setdefault(ends, []).append((now or 0.0, values))
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
    return replace(_log(path, title, samples, sent, lost), limits=_limits([values for _, values in rows]))


def _limits(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The shares of the busy time with each limit: from the first call to the last, or up to a single one."""
    known = [row for row in rows if "busy" in row]
    if not known:
        return {}
    last = known[-1]
    first = known[0] if last["busy"] > known[0]["busy"] else dict.fromkeys(last, 0.0)
    busy = last["busy"] - first["busy"]
    return {name: (last[name] - first[name]) / busy for name in _LIMITS} if busy else {}


def _pings(path: Path, text: str) -> list[Log]:
    """The RTTs of pings, at the times of ``ping -D``, or as far apart as its summary says, or a second."""
    summary = _SENT_IN.search(text)
    count = int(summary[1]) if summary else 0
    gap = float(summary[2]) * MILLI / (count - 1) if summary and count > 1 else 1.0
    answers: dict[int, tuple[float, float | None]] = {}
    unanswered: list[int] = []
    for line in text.splitlines():
        answer = _PING.search(line)
        if answer:
            given = answer["number"]
            place = len(answers) + len(unanswered) if given is None else int(given)
            stamp = _STAMP.match(line)
            rtt = float(answer["rtt"].replace(",", ".")) * MILLI
            # A second answer is a duplicate.
            answers.setdefault(place, (rtt, float(stamp[1]) if stamp else None))
        elif _UNANSWERED.search(line) and "seq=" not in line:
            unanswered.append(len(answers) + len(unanswered))
    first = min([*answers, *unanswered])
    end = max([*answers, *unanswered, first + count - 1])
    began = answers[first][1] if first in answers else None
    samples: list[Sample] = []
    for number, (rtt, stamped) in sorted(answers.items()):
        known = {"latest_rtt": rtt, "smoothed_rtt": rtt}
        at = (number - first) * gap if stamped is None or began is None else stamped - began
        samples.append((at, known))
    lost = [(number - first) * gap for number in range(first, end + 1) if number not in answers]
    return [_log(path, "ping", samples, [], lost)]


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
    return Log(
        path,
        title,
        times,
        metrics,
        at,
        sizes,
        losses,
        unknown,
        never,
        (),
        max(ends, default=0.0),
        is_tcp=True,
    )


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
