"""Lines of ``tc`` as a path: ``tbf``, ``netem``, ``htb`` and queue disciplines, with the units of ``tc``.

The text is commands, or the output of ``tc qdisc show``. Two devices are the two directions of the path, and
the first one has the data. The engine reads queue disciplines, as it writes them for the kernel. Words that
describe no path are named.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ackclock import _engine
from ackclock.errors import InputError

_NUMBER = re.compile(r"(?P<number>\d+\.?\d*|\.\d+)(?P<unit>.*)")
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

NETEM_LIMIT = 1000
"""The packets that netem holds, where no other limit is given."""


DEVICE_LIMIT = 1000
"""The packets that wait at a device without a discipline of its own: ``txqueuelen`` of Ethernet."""


@dataclass
class Direction:
    """One direction of a path, as lines of ``tc`` describe it."""

    device: str = ""
    keys: dict[str, Any] = field(default_factory=dict)
    """Keys of ``[path]``, but for the delay."""
    delay: str | None = None
    """The delay of ``netem``, which is one-way."""
    left_out: list[str] = field(default_factory=list)
    """Words of the lines that describe no path."""
    remarks: list[str] = field(default_factory=list)
    reverse: Direction | None = None
    """The direction of the ACKs, if lines of a second device describe it."""

    def put(self, key: str, value: Any) -> None:
        """Sets a key. If an earlier line had it, a remark names that key."""
        if key in self.keys and self.keys[key] != value:
            of = f"`{self.device}`" if self.device else "the path"
            self.remarks.append(f"two lines have the {key} of {of}; that of the last one counts")
        self.keys[key] = value

    def __str__(self) -> str:
        """Both directions in one line."""
        back = "" if self.reverse is None else f"; {self.reverse._said('ACKs')}"
        return self._said("data") + back

    def _said(self, packets: str) -> str:
        over = f" over {self.device}" if self.device else ""
        delay = {} if self.delay is None else {"delay": self.delay}
        return f"{packets}{over}: " + ", ".join(_said(*item) for item in (self.keys | delay).items())


def _said(key: str, value: Any) -> str:
    if not isinstance(value, dict):
        return f"{key} {str(value).lower() if isinstance(value, bool) else value}"
    parts = {name: one for name, one in value.items() if name != "discipline"}
    names = [name for name in (key, value.get("discipline")) if name is not None and name not in parts]
    return " ".join([*names, *(_said(*item) for item in parts.items())])


def read(text: str) -> Direction:
    """The path that lines of ``tc`` describe, the direction of its data. Raises InputError."""
    path, *others = sorted(_directions(text), key=lambda one: not one.keys and one.delay is None)
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
        words = _Words(split)
        device, name = _place(words, device)
        if name in _FILTERS and _INGRESS & set(split):
            # A device receives in the direction opposite to the one in which it sends.
            there = f"{device} ingress".strip()
            _read_line(name, words, found.setdefault(there, Direction(there)))
            continue
        if device and "" in found:
            # Lines before the first device that is named are of that one.
            found = {device: found[""]}
            found[device].device = device
        _read_line(name, words, found.setdefault(device, Direction(device)))
    return list(found.values())


class _Words:
    """The words of a line, one after the other."""

    def __init__(self, words: list[str]) -> None:
        self._words = words

    def __iter__(self) -> Iterator[str]:
        while self._words:
            yield self._words.pop(0)

    def value(self, after: str) -> str:
        """The word behind ``after``."""
        if not self._words:
            raise InputError(f"--tc: `{after}` needs a value")
        return self._words.pop(0)

    def take(self, fits: Callable[[str], object]) -> str | None:
        """The next word if it fits."""
        return self._words.pop(0) if self._words and fits(self._words[0]) else None

    def take_before(self, program: str) -> list[str]:
        """The words before a call of ``program``, which goes with them. Empty if it is not called."""
        called = [word.rpartition("/")[2] == program for word in self._words]
        place = called.index(True) if True in called else -1
        taken, self._words = self._words[: max(place, 0)], self._words[place + 1 :]
        return taken


def _place(words: _Words, device: str) -> tuple[str, str | None]:
    """The device of a line, by default the earlier line's, and the name of its discipline.

    A program that runs ``tc`` in another namespace or host names it last.
    """
    before = [word for word in words.take_before("tc") if word != "sudo" and not word.startswith("-")]
    host = before[-1] if before else ""
    name: str | None = None
    while option := words.take(lambda word: word.startswith("-")):
        if option in ("-n", "-netns"):
            host = words.value(option)
    for word in words:
        if word == "dev":
            device = f"{host} {words.value(word)}".strip()
        elif word in _PLACES or word in _OF_FILTERS:
            words.value(word)
        elif word not in _FLAGS and not _HANDLE.fullmatch(word) and word.strip("-"):
            name = word
            break
    # In the output of tc, the place is behind the name.
    while place := words.take(
        lambda word: word in _PLACES or word in ("root", "offloaded") or _HANDLE.fullmatch(word)
    ):
        value = words.value(place) if place in _PLACES else ""
        device = f"{host} {value}".strip() if place == "dev" else device
    return device, name


def _read_line(name: str | None, words: _Words, path: Direction) -> None:
    if name in _READERS:
        _READERS[name](words, path)
    elif name is not None and name not in _QUEUELESS:
        path.left_out.append(" ".join([name, *words]))


def _quantity(text: str, kind: str) -> str:
    try:
        return _engine.tc_quantity(text, kind)
    except ValueError as error:
        raise InputError(f"--tc: {error}") from None


def rate(text: str) -> str:
    """A rate of ``tc`` as the scenario language spells it. Raises InputError."""
    return _quantity(text, "rate")


def size(text: str) -> str:
    """A size of ``tc`` as the scenario language spells it. Raises InputError."""
    return _quantity(text, "size")


def time(text: str) -> str:
    """A time of ``tc`` as the scenario language spells it. Raises InputError."""
    return _quantity(text, "time")


def share(text: str) -> str:
    """A percentage of ``tc``, with its sign or without. Raises InputError."""
    found = _NUMBER.fullmatch(text)
    if found is None or found["unit"] not in ("", "%") or float(found["number"]) > 100.0:
        raise InputError(f"--tc: {text}: is no percentage of tc, like 1%")
    return f"{found['number']}%"


def _whole(text: str) -> int:
    if not text.isdecimal():
        raise InputError(f"--tc: {text}: is no whole number")
    return int(text)


def _is_number(word: str) -> bool:
    return _NUMBER.fullmatch(word) is not None


def _is_share(word: str) -> bool:
    found = _NUMBER.fullmatch(word)
    return found is not None and found["unit"] in ("", "%")


_TBF = {word: word for word in ("rate", "burst", "limit", "latency", "peakrate", "mtu")}
_TBF |= {"buffer": "burst", "maxburst": "burst", "minburst": "mtu", "lat": "latency"}
"""The words of a token bucket, and their meanings."""
_FRAMES = ("overhead", "linklayer", "mpu")
"""Words about frames, each with a value."""
_GEMODEL = ("p", "r", "1-h", "1-k")
"""Letters before the numbers of the Gilbert-Elliott model, as ``tc`` prints it."""


def _tbf(words: _Words, path: Direction) -> None:
    """A token bucket: ``latency`` and ``limit`` are its queue."""
    given: dict[str, str] = {}
    for word in words:
        if key := _TBF.get(word):
            given[key] = words.value(word).partition("/")[0]
        elif word in _FRAMES:
            path.left_out.append(f"{word} {words.value(word)}")
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


def _htb(words: _Words, path: Direction) -> None:
    """A class or discipline of HTB: its ceiling is the rate of the path."""
    given: dict[str, str] = {}
    for word in words:
        if word in ("rate", "ceil"):
            given[word] = rate(words.value(word))
        elif word in ("default", "burst", "cburst", "prio", "quantum", "r2q", *_FRAMES):
            path.left_out.append(f"{word} {words.value(word)}")
        elif word in ("direct_packets_stat", "direct_qlen"):
            words.value(word)
        else:
            path.left_out.append(word)
    if "rate" in given:
        path.put("rate", given.get("ceil", given["rate"]))


def _netem(words: _Words, path: Direction) -> None:
    jitter: dict[str, Any] = {}
    given: set[str] = set()
    limit = NETEM_LIMIT
    for word in words:
        given.add(word)
        if word in ("delay", "latency"):
            _netem_delay(words, path, jitter)
        elif word == "distribution":
            _distribution(words.value(word), jitter)
        elif word == "loss":
            path.put("loss", _netem_loss(words, path))
        elif word == "corrupt":
            _corrupt(share(words.value(word)), words, path)
        elif word == "duplicate":
            path.put("duplicate", _netem_duplicate(words))
        elif word == "reorder":
            early = {"share": share(words.value(word))}
            if correlation := words.take(_is_share):
                early["correlation"] = share(correlation)
            jitter["reorder"] = early | ({"gap": gap} if (gap := jitter.pop("gap", None)) else {})
        elif word == "gap":
            _netem_gap(_whole(words.value(word)), jitter)
        elif word == "slot":
            jitter["slot"] = _netem_slot(words)
        elif word == "rate":
            path.put("rate", rate(words.value(word)))
            while overhead := words.take(_is_number):
                path.left_out.append(f"rate … {overhead}")
        elif word == "limit":
            limit = _whole(words.value(word))
        elif word in ("ecn", "seed"):
            path.left_out.append(word if word == "ecn" else f"seed {words.value(word)}")
        else:
            path.left_out.append(word)
    if "gap" in jitter:
        jitter["reorder"] = {"share": "100%", "gap": jitter.pop("gap")}
    if "around" in jitter and "reorder" not in jitter:
        jitter["reorder"] = True
    if jitter.get("distribution"):
        law = jitter.pop("distribution")
        if "around" in jitter:
            jitter[law] = jitter.pop("around")
    if jitter:
        path.keys["jitter"] = jitter
    if limit != NETEM_LIMIT or ("rate" in given and "queue" not in path.keys):
        path.put("queue", {"limit": f"{limit}p", "count_delayed": True})


def _netem_delay(words: _Words, path: Direction, jitter: dict[str, Any]) -> None:
    path.delay = time(words.value("delay"))
    if (size_ := words.take(_is_number)) is None:
        return
    jitter["around"] = time(size_)
    if correlation := words.take(_is_share):
        jitter["correlation"] = share(correlation)
        path.remarks.append(
            f"jitter correlates by {correlation} and keeps its distribution; by netem's formula neither"
        )


def _distribution(name: str, jitter: dict[str, Any]) -> None:
    if name not in ("uniform", "normal", "pareto", "paretonormal"):
        raise InputError(
            f"--tc: distribution {name}: there are uniform, normal, pareto and paretonormal; "
            "tables of one's own are not read"
        )
    if name != "uniform":
        jitter["distribution"] = name


def _netem_loss(words: _Words, path: Direction) -> Any:
    kind = words.take(lambda word: word in ("random", "gemodel", "state"))
    given = []
    while word := words.take(lambda word: _is_share(word) or (kind == "gemodel" and word in _GEMODEL)):
        given += [] if word in _GEMODEL else [word]
    if not given:
        raise InputError("--tc: loss needs a percentage, as in loss 1%")
    if kind == "state":
        raise InputError("--tc: loss state: has no counterpart here; loss gemodel has")
    if kind == "gemodel":
        # Numbers two to four are r, 1-h and 1-k: the end of the bad state, its loss, the loss of the good
        # state.
        last = f"{100.0 - float(given[0].removesuffix('%')):g}%"
        p, r, bad, good = [*given, *[last, "100%", "0%"][len(given) - 1 :]][:4]
        return {
            "model": "gilbert-elliott",
            "good_to_bad": share(p),
            "bad_to_good": share(r),
            "loss_bad": share(bad),
            "loss_good": share(good),
        }
    if len(given) > 1 and float(given[1].removesuffix("%")) > 0:
        path.remarks.append(
            f"losses correlate by {given[1]} and are {given[0]} in the mean; netem's own formula loses fewer"
        )
        return {"share": share(given[0]), "correlation": share(given[1])}
    return share(given[0])


def _corrupt(lost: str, words: _Words, path: Direction) -> None:
    """To TCP and UDP a corrupt packet is a lost one."""
    words.take(_is_share)
    if "loss" in path.keys:
        path.left_out.append(f"corrupt {lost}")
        return
    path.keys["loss"] = lost
    path.remarks.append(f"corrupt {lost} counts as loss: a checksum drops such packets")


def _netem_duplicate(words: _Words) -> Any:
    found = share(words.value("duplicate"))
    if correlation := words.take(_is_share):
        return {"share": found, "correlation": share(correlation)}
    return found


def _netem_gap(gap: int, jitter: dict[str, Any]) -> None:
    if isinstance(jitter.get("reorder"), dict):
        jitter["reorder"]["gap"] = gap
    else:
        jitter["gap"] = gap


def _netem_slot(words: _Words) -> dict[str, Any]:
    if words.take(lambda word: word == "distribution"):
        raise InputError("--tc: slot distribution: has no counterpart here; slot MIN MAX has")
    slot: dict[str, Any] = {"min": time(words.value("slot"))}
    if largest := words.take(_is_number):
        slot["max"] = time(largest)
    while word := words.take(lambda word: word in ("packets", "bytes")):
        value = words.value(word)
        slot[word] = _whole(value) if word == "packets" else size(value)
    return slot


def _filter(words: _Words, path: Direction) -> None:
    """A filter describes a path if it polices: what exceeds a token bucket is dropped."""
    passed_over = []
    for word in words:
        if word == "police":
            _police(words, path)
            return
        passed_over.append(word)
    path.left_out.append(" ".join(["filter", *passed_over]))


def _police(words: _Words, path: Direction) -> None:
    given: dict[str, str] = {}
    for word in words:
        if word in ("rate", "burst", "buffer", "maxburst"):
            given["rate" if word == "rate" else "burst"] = words.value(word)
        elif word in ("mtu", "peakrate", "avrate", "flowid", "classid", "index", *_FRAMES):
            path.left_out.append(f"police {word} {words.value(word)}")
        elif word in ("pass", "ok", "continue", "reclassify", "pipe"):
            raise InputError(f"--tc: police … {word}: packets that exceed go on; `drop` polices")
        elif word not in ("action", "conform-exceed", "exceed", "drop", "drop/pass", "drop/ok", "drop/pipe"):
            path.left_out.append(f"police {word}")
    if "rate" not in given or "burst" not in given:
        raise InputError("--tc: police needs rate and burst")
    police = {"rate": rate(given["rate"]), "burst": size(given["burst"]), "limit": f"{DEVICE_LIMIT}p"}
    path.put("queue", {"discipline": "police", **police})


def _queue(name: str) -> Callable[[_Words, Direction], None]:
    def reader(words: _Words, path: Direction) -> None:
        try:
            keys = _engine.tc_queue(name, list(words))
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


_READERS: dict[str, Callable[[_Words, Direction], None]] = {
    "tbf": _tbf,
    "htb": _htb,
    "netem": _netem,
    **dict.fromkeys(_FILTERS, _filter),
    **{word["discipline"]: _queue(word["discipline"]) for word in _engine.tc_words()},
}
