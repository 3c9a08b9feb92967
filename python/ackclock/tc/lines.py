"""Lines of ``tc`` as a path: ``tbf``, ``htb``, policers, queue disciplines, and the devices that have them.

The text is commands, or the output of ``tc qdisc show``. Two devices are the two directions of the path, and
the first one has the data. The engine reads queue disciplines, as it writes them for the kernel. Words that
describe no path are named.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable

from ackclock import _engine
from ackclock.errors import InputError
from ackclock.tc.direction import Direction
from ackclock.tc.frames import FRAMES, OF_SIZE_TABLES, put_framing, read_frame
from ackclock.tc.netem import netem
from ackclock.tc.words import Words, rate, size, time

_HANDLE = re.compile(r"[\da-f]*:[\da-f]*", re.IGNORECASE)
"""The name of a discipline or class: ``1:``, ``1:10``."""

_FLAGS = {"add", "replace", "change", "qdisc", "class", "filter", "root", "ingress", "egress", "offloaded"}
_PLACES = {"dev", "handle", "parent", "classid", "leaf", "refcnt"}
"""Words that say where a discipline sits, each with a value."""
_OF_FILTERS = {"protocol", "prio", "pref", "chain"}
"""Words of a filter before its kind, each with a value."""
_FILTERS = ("u32", "matchall", "basic", "flower", "fw", "bpf", "flow", "cgroup", "route")
"""Kinds of filters, which may police."""
_INGRESS = {"ffff:", "ffff:fff2", "ingress"}
"""Words of a filter for the packets that a device receives."""
_SHOWN = ("qdisc", "class", "filter")
"""How a line begins that ``tc`` prints. Lines below it that begin otherwise are statistics."""
_QUEUELESS = {"noqueue", "mq", "clsact"}
"""Disciplines without a queue of their own."""

DEVICE_LIMIT = 1000
"""The packets that wait at a device without a discipline of its own: ``txqueuelen`` of Ethernet."""


def read(text: str) -> Direction:
    """The path that lines of ``tc`` describe, the direction of its data. Raises InputError."""
    if text.lstrip().startswith(("[", "{")):
        raise InputError("--tc: is JSON, as `tc -j` prints it: give what `tc qdisc show` prints without -j")
    directions = _directions(text)
    for one in directions:
        put_framing(one)
    path, *others = sorted(directions, key=lambda one: not one.keys and one.delay is None)
    if not path.keys and path.delay is None:
        known = ", ".join(sorted({*_READERS} - {*_FILTERS}))
        raise InputError(
            f"--tc {text.strip()}: describes no path; there are {known}, and filters that police, "
            'as in --tc "tbf rate 10mbit burst 32kbit latency 50ms"'
        )
    used = [other for other in others if other.keys or other.delay is not None]
    if len(used) > 1:
        devices = ", ".join(one.device for one in (path, *used))
        raise InputError(
            f"--tc: describes {len(used) + 1} devices ({devices}), and a path has two directions"
        )
    for other in others:
        path.left_out += other.left_out
        path.remarks += other.remarks
    path.reverse = used[0] if used else None
    return path


def _directions(text: str) -> list[Direction]:
    """A direction for each device, in the order of the lines."""
    found = {"": Direction()}
    device, shown = "", False
    for line in re.split(r"[\n;]|&&", text.replace("\\\n", " ")):
        first = (line.split(maxsplit=1) or [""])[0]
        if shown and first not in (*_SHOWN, "tc"):
            continue
        shown = shown or first in _SHOWN
        try:
            split = shlex.split(line, comments=True)
        except ValueError as error:
            raise InputError(f"--tc: {line.strip()}: {error}") from None
        words = Words(split)
        device, name, frames = _place(words, device)
        if name in _FILTERS and _INGRESS & set(split):
            # A device receives in the direction opposite to the one in which it sends.
            there = f"{device} ingress".strip()
            _read_line(name, words, found.setdefault(there, Direction(there)))
            continue
        if device and "" in found:
            # Lines before the first device that is named are of that one.
            found = {device: found[""]}
            found[device].device = device
        here = found.setdefault(device, Direction(device))
        for word, value in frames:
            read_frame(word, value, here)
        _read_line(name, words, here)
    return list(found.values())


def _place(words: Words, device: str) -> tuple[str, str | None, list[tuple[str, str]]]:
    """Device of a line, by default the earlier line's, name of its discipline, words of ``stab``.

    A program that runs ``tc`` in another namespace or host names it last.
    """
    before = [word for word in words.take_before("tc") if word != "sudo" and not word.startswith("-")]
    host = before[-1] if before else ""
    name: str | None = None
    frames: list[tuple[str, str]] = []
    while option := words.take(lambda word: word.startswith("-")):
        if option in ("-n", "-netns"):
            host = words.value(option)
    for word in words:
        if word == "dev":
            device = f"{host} {words.value(word)}".strip()
        elif word in _PLACES or word in _OF_FILTERS:
            words.value(word)
        elif word == "stab":
            while frame := words.take(lambda word: word in (*FRAMES, *OF_SIZE_TABLES)):
                frames.append((frame, words.value(frame)))
        elif word not in _FLAGS and not _HANDLE.fullmatch(word) and word.strip("-"):
            name = word
            break
    # In the output of tc, the place is behind the name.
    while place := words.take(
        lambda word: word in _PLACES or word in ("root", "offloaded") or _HANDLE.fullmatch(word)
    ):
        value = words.value(place) if place in _PLACES else ""
        device = f"{host} {value}".strip() if place == "dev" else device
    return device, name, frames


def _read_line(name: str | None, words: Words, path: Direction) -> None:
    if name in _READERS:
        _READERS[name](words, path)
    elif name is not None and name not in _QUEUELESS:
        path.left_out.append(" ".join([name, *words]))


_TBF = {word: word for word in ("rate", "burst", "limit", "latency", "peakrate", "mtu")}
_TBF |= {"buffer": "burst", "maxburst": "burst", "minburst": "mtu", "lat": "latency"}
"""The words of a token bucket, and their meanings."""


def _tbf(words: Words, path: Direction) -> None:
    """A token bucket: ``latency`` and ``limit`` are its queue."""
    given: dict[str, str] = {}
    for word in words:
        if key := _TBF.get(word):
            given[key] = words.value(word).partition("/")[0]
        elif word in FRAMES:
            read_frame(word, words.value(word), path)
        else:
            path.left_out.append(word)
    if "rate" not in given or "burst" not in given:
        raise InputError("--tc: tbf needs rate and burst")
    bucket = {"rate": rate(given["rate"]), "burst": size(given["burst"])}
    if "peakrate" in given:
        bucket["peakrate"] = rate(given["peakrate"])
    path.put("rate", bucket)
    if "limit" in given:
        path.put("queue", size(given["limit"]))
    elif "latency" in given:
        waiting = _engine.quantity(bucket["rate"]) / 8 * _engine.quantity(time(given["latency"]))
        path.put("queue", f"{int(waiting + _engine.quantity(bucket['burst']))}B")
    if "mtu" in given:
        path.left_out.append(f"mtu {given['mtu']}")


def _htb(words: Words, path: Direction) -> None:
    """A class or discipline of HTB: its ceiling is the rate of the path."""
    given: dict[str, str] = {}
    for word in words:
        if word in ("rate", "ceil"):
            given[word] = rate(words.value(word))
        elif word in FRAMES:
            read_frame(word, words.value(word), path)
        elif word in ("default", "burst", "cburst", "prio", "quantum", "r2q", *OF_SIZE_TABLES):
            path.left_out.append(f"{word} {words.value(word)}")
        elif word in ("direct_packets_stat", "direct_qlen"):
            words.value(word)
        else:
            path.left_out.append(word)
    if "rate" in given:
        path.put("rate", given.get("ceil", given["rate"]))


def _filter(words: Words, path: Direction) -> None:
    """A filter describes a path if it polices: what exceeds a token bucket is dropped."""
    passed_over = []
    for word in words:
        if word == "police":
            _police(words, path)
            return
        passed_over.append(word)
    path.left_out.append(" ".join(["filter", *passed_over]))


def _police(words: Words, path: Direction) -> None:
    given: dict[str, str] = {}
    for word in words:
        if word in ("rate", "burst", "buffer", "maxburst"):
            given["rate" if word == "rate" else "burst"] = words.value(word)
        elif word in ("mtu", "peakrate", "avrate", "flowid", "classid", "index", *FRAMES):
            path.left_out.append(f"police {word} {words.value(word)}")
        elif word in ("pass", "ok", "continue", "reclassify", "pipe"):
            raise InputError(f"--tc: police … {word}: packets that exceed go on; `drop` polices")
        elif word not in ("action", "conform-exceed", "exceed", "drop", "drop/pass", "drop/ok", "drop/pipe"):
            path.left_out.append(f"police {word}")
    if "rate" not in given or "burst" not in given:
        raise InputError("--tc: police needs rate and burst")
    police = {"rate": rate(given["rate"]), "burst": size(given["burst"]), "limit": f"{DEVICE_LIMIT}p"}
    path.put("queue", {"discipline": "police", **police})


def _queue(name: str) -> Callable[[Words, Direction], None]:
    def reader(words: Words, path: Direction) -> None:
        given = list(words)
        if name == "cake" and "ingress" in given:
            # SQM sets it on the side of the downloads.
            given = [word for word in given if word != "ingress"]
            path.remarks.append(
                "cake's `ingress` would count dropped packets against the rate, and does not here"
            )
        try:
            keys = _engine.tc_queue(name, given)
        except ValueError as error:
            raise InputError(f"--tc: {error}") from None
        for key, value in keys.items():
            path.put(key, value)
        ack_filter = keys["queue"].get("ack_filter") if isinstance(keys["queue"], dict) else None
        if ack_filter is not None:
            path.remarks.append(
                f"{ack_filter} drops ACKs that cross this link; "
                "those of its data come back over path.reverse.queue"
            )

    return reader


_READERS: dict[str, Callable[[Words, Direction], None]] = {
    "tbf": _tbf,
    "htb": _htb,
    "netem": netem,
    **dict.fromkeys(_FILTERS, _filter),
    **{word["discipline"]: _queue(word["discipline"]) for word in _engine.tc_words()},
}
