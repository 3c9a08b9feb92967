"""Lines of ``tc`` as a path: ``tbf``, ``netem``, ``htb`` and queue disciplines, with the units of ``tc``.

``tc`` writes numbers in its own way: ``1Mbps`` is a megabyte a second, ``0.1MB`` are 104857 bytes, a bare
time counts microseconds. The words that describe a path become keys of the scenario language; the others are
named.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ackclock.errors import InputError

_NUMBER = re.compile(r"(?P<number>\d+\.?\d*|\.\d+)(?P<unit>.*)")

_RATES = {"": 1.0, "bit": 1.0, "bps": 8.0}
"""Bits a second of ``tc``'s rates, with the prefixes below; bare numbers count bits."""
_SIZES = {"": 1.0, "b": 1.0, "bit": 0.125}
"""Bytes of its sizes, whose prefixes are powers of 1024."""
_PREFIXES = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_TIMES = {"": 1.0, "us": 1.0, "usec": 1.0, "usecs": 1.0, "ms": 1e3, "msec": 1e3, "msecs": 1e3}
_TIMES |= {"s": 1e6, "sec": 1e6, "secs": 1e6, "ns": 1e-3, "nsec": 1e-3, "nsecs": 1e-3}

_FLAGS = {"add", "replace", "change", "qdisc", "class", "root", "tc", "sudo", "ingress", "egress"}
_PLACES = {"dev", "handle", "parent", "classid"}
"""Words that say where a discipline sits, each with a value."""

_ISOLATION = ("flows", "srchost", "dsthost", "hosts", "dual-srchost", "dual-dsthost", "triple-isolate")
_DIFFSERV = ("besteffort", "diffserv3", "diffserv4", "diffserv8", "precedence")
_ACK_FILTER = ("no-ack-filter", "ack-filter", "ack-filter-aggressive")
"""Words of CAKE, the values of its keys ``isolation``, ``diffserv`` and ``ack_filter``."""

_AS_IT_IS = (
    "no-split-gso",
    "split-gso",
    "nonat",
    "nowash",
    "noatm",
    "raw",
)
"""Words of CAKE that say what it does here anyway."""


@dataclass
class Path:
    """One direction of a path, as lines of ``tc`` describe it."""

    keys: dict[str, Any] = field(default_factory=dict)
    """Keys of ``[path]``, but for the delay."""
    delay: str | None = None
    """The delay of ``netem``, which is one-way."""
    left_out: list[str] = field(default_factory=list)
    """Words of the lines that describe no path."""
    remarks: list[str] = field(default_factory=list)

    def put(self, key: str, value: Any) -> None:
        """Sets a key; the line before that had it is named."""
        if key in self.keys and self.keys[key] != value:
            self.remarks.append(f"two lines have the {key} of the path; that of the last one counts")
        self.keys[key] = value


def read(text: str) -> Path:
    """The path that lines of ``tc`` describe. Raises InputError."""
    path = Path()
    for line in re.split(r"[\n;]|&&", text.replace("\\\n", " ")):
        try:
            words = _Words(shlex.split(line, comments=True))
        except ValueError as error:
            raise InputError(f"--tc: {line.strip()}: {error}") from None
        _read_line(words, path)
    if not path.keys and path.delay is None:
        raise InputError(
            f"--tc {text.strip()}: describes no path; there are {', '.join(sorted(_READERS))}, "
            'as in --tc "tbf rate 10mbit burst 32kbit latency 50ms"'
        )
    return path


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


def _read_line(words: _Words, path: Path) -> None:
    for word in words:
        if word in _PLACES:
            words.value(word)
        elif word in _READERS:
            _READERS[word](words, path)
        elif word not in _FLAGS:
            path.left_out.append(word)


def rate(text: str) -> str:
    """A rate of ``tc`` as the scenario language spells it. Raises InputError."""
    bits = _scaled(text, _RATES, 1000.0, "rate")
    return f"{round(bits)}bit"


def size(text: str) -> int:
    """A size of ``tc`` in bytes. Raises InputError."""
    return int(_scaled(text, _SIZES, 1024.0, "size"))


def time(text: str) -> str:
    """A time of ``tc``. Raises InputError."""
    found = _NUMBER.fullmatch(text)
    factor = _TIMES.get(found["unit"].lower()) if found else None
    if found is None or factor is None:
        raise InputError(f"--tc: {text}: is no time of tc, like 100ms")
    return f"{float(found['number']) * factor:.3f}us"


def share(text: str) -> str:
    """A percentage of ``tc``, with its sign or without. Raises InputError."""
    found = _NUMBER.fullmatch(text)
    if found is None or found["unit"] not in ("", "%") or float(found["number"]) > 100.0:
        raise InputError(f"--tc: {text}: is no percentage of tc, like 1%")
    return f"{found['number']}%"


def _scaled(text: str, units: dict[str, float], thousand: float, what: str) -> float:
    found = _NUMBER.fullmatch(text)
    unit = found["unit"].lower() if found else "?"
    binary = "ib" in unit
    for prefix, power in _PREFIXES.items():
        rest = unit.removeprefix(prefix)
        rest = rest.removeprefix("i") if binary and prefix else rest
        if found and unit.startswith(prefix) and rest in units and (prefix or not binary):
            return float(found["number"]) * units[rest] * (1024.0 if binary else thousand) ** power
    raise InputError(f"--tc: {text}: is no {what} of tc")


def _whole(text: str) -> int:
    if not text.isdecimal():
        raise InputError(f"--tc: {text}: is no whole number")
    return int(text)


def _signed(text: str) -> int:
    return -_whole(text[1:]) if text.startswith("-") else _whole(text)


def _real(text: str) -> float:
    if not _is_number(text) or not text.replace(".", "").isdecimal():
        raise InputError(f"--tc: {text}: is no number")
    return float(text)


def _is_number(word: str) -> bool:
    return _NUMBER.fullmatch(word) is not None


def _is_share(word: str) -> bool:
    found = _NUMBER.fullmatch(word)
    return found is not None and found["unit"] in ("", "%")


def _tbf(words: _Words, path: Path) -> None:
    """A token bucket: ``latency`` and ``limit`` are its queue."""
    given: dict[str, str] = {}
    for word in words:
        if word in ("rate", "burst", "buffer", "maxburst", "limit", "latency", "peakrate", "mtu", "minburst"):
            key = {"buffer": "burst", "maxburst": "burst", "minburst": "mtu"}.get(word, word)
            given[key] = words.value(word).partition("/")[0]
        else:
            path.left_out.append(word)
    if "rate" not in given or "burst" not in given:
        raise InputError("--tc: tbf needs rate and burst")
    burst = size(given["burst"])
    bucket = {"rate": rate(given["rate"]), "burst": f"{burst}B"}
    if "peakrate" in given:
        bucket["peakrate"] = rate(given["peakrate"])
    path.put("rate", bucket)
    if "limit" in given:
        path.put("queue", f"{size(given['limit'])}B")
    elif "latency" in given:
        bits = int(bucket["rate"].removesuffix("bit"))
        limit = bits / 8e6 * float(time(given["latency"]).removesuffix("us")) + burst
        path.put("queue", f"{int(limit)}B")
    if "mtu" in given:
        path.left_out.append(f"mtu {given['mtu']}")


def _htb(words: _Words, path: Path) -> None:
    """A class or discipline of HTB: its ceiling is the rate of the path."""
    given: dict[str, str] = {}
    for word in words:
        if word in ("rate", "ceil"):
            given[word] = rate(words.value(word))
        elif word in ("default", "burst", "cburst", "prio", "quantum", "r2q"):
            path.left_out.append(f"{word} {words.value(word)}")
        else:
            path.left_out.append(word)
    if "rate" in given:
        path.put("rate", given.get("ceil", given["rate"]))


def _netem(words: _Words, path: Path) -> None:
    jitter: dict[str, Any] = {}
    given: set[str] = set()
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
            path.put("queue", {"limit": f"{_whole(words.value(word))}p", "count_delayed": True})
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
    if "rate" in given and "queue" not in path.keys:
        # The limit of netem where none is given.
        path.put("queue", {"limit": "1000p", "count_delayed": True})


def _netem_delay(words: _Words, path: Path, jitter: dict[str, Any]) -> None:
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


def _netem_loss(words: _Words, path: Path) -> Any:
    kind = words.take(lambda word: word in ("random", "gemodel", "state"))
    given = []
    while word := words.take(_is_share):
        given.append(word)
    if not given:
        raise InputError("--tc: loss needs a percentage, as in loss 1%")
    if kind == "state":
        raise InputError("--tc: loss state: has no counterpart here; loss gemodel has")
    if kind == "gemodel":
        # Numbers two to four are r, 1-h and 1-k: the end of the bad state, its loss, that of the good one.
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


def _corrupt(lost: str, words: _Words, path: Path) -> None:
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
        slot[word] = _whole(value) if word == "packets" else f"{size(value)}B"
    return slot


def _limited(name: str, in_bytes: bool) -> Callable[[_Words, Path], None]:
    def reader(words: _Words, path: Path) -> None:
        for word in words:
            if word != "limit":
                path.left_out.append(word)
                continue
            value = words.value(word)
            path.put("queue", f"{size(value)}B" if in_bytes else f"{_whole(value)}p")
        if "queue" not in path.keys:
            raise InputError(f"--tc: {name} needs a limit here: the kernel takes that of the device")

    return reader


_SETTINGS: dict[str, dict[str, Callable[[str], Any]]] = {
    "codel": {"target": time, "interval": time, "ce_threshold": time},
    "fq_codel": {
        "target": time,
        "interval": time,
        "ce_threshold": time,
        "flows": _whole,
        "quantum": lambda text: f"{size(text)}B",
    },
    "pie": {"target": time, "tupdate": time, "alpha": _whole, "beta": _whole},
    "fq_pie": {"target": time, "tupdate": time, "alpha": _whole, "beta": _whole, "flows": _whole},
    "dualpi2": {"target": time, "tupdate": time, "alpha": _real, "beta": _real},
    "red": {
        "min": lambda text: f"{size(text)}B",
        "max": lambda text: f"{size(text)}B",
        "avpkt": lambda text: f"{size(text)}B",
        "probability": _real,
    },
    "cake": {"rtt": time, "memlimit": lambda text: f"{size(text)}B", "overhead": _signed, "mpu": _whole},
}
"""The settings of disciplines, with their readers."""

_SWITCHES = {
    "codel": {"ecn": True, "noecn": False},
    "fq_codel": {"ecn": True, "noecn": False},
    "pie": {"ecn": True, "noecn": False, "bytemode": True},
    "fq_pie": {"ecn": True, "noecn": False},
    "red": {"ecn": True},
    "cake": {"flowblind": True},
}


def _discipline(name: str) -> Callable[[_Words, Path], None]:
    def reader(words: _Words, path: Path) -> None:
        queue: dict[str, Any] = {"discipline": name}
        if name == "cake":
            # The defaults of tc.
            queue |= {"isolation": "triple-isolate", "diffserv": "diffserv3"}
        for word in words:
            if word in _SETTINGS[name]:
                queue[word] = _SETTINGS[name][word](words.value(word))
            elif word in _SWITCHES.get(name, {}):
                key = word.removeprefix("no") if word == "noecn" else word
                queue[key] = _SWITCHES[name][word]
            elif word == "limit":
                value = words.value(word)
                queue["limit"] = f"{size(value)}B" if name == "red" else f"{_whole(value)}p"
            elif name == "cake" and _cake(word, words, path, queue):
                continue
            else:
                number = words.take(_is_number)
                path.left_out.append(f"{word} {number}" if number else word)
        if queue.get("flowblind"):
            queue.pop("isolation")
        path.put("queue", queue if len(queue) > 1 else name)

    return reader


def _cake(word: str, words: _Words, path: Path, queue: dict[str, Any]) -> bool:
    """Words of CAKE besides its settings; true if it is one."""
    if word in ("bandwidth",):
        path.put("rate", rate(words.value(word)))
    elif word in _ISOLATION:
        queue["isolation"] = word
    elif word in _DIFFSERV:
        queue["diffserv"] = word
    elif word in _ACK_FILTER:
        queue["ack_filter"] = word
        if word != "no-ack-filter":
            path.remarks.append(
                f"{word} drops ACKs that cross this link; those of its data come back over path.reverse.queue"
            )
    elif word in ("atm", "ptm"):
        queue["link_layer"] = word
    elif word not in _AS_IT_IS and word != "unlimited":
        return False
    return True


_READERS: dict[str, Callable[[_Words, Path], None]] = {
    "tbf": _tbf,
    "htb": _htb,
    "netem": _netem,
    "pfifo": _limited("pfifo", in_bytes=False),
    "bfifo": _limited("bfifo", in_bytes=True),
    **{name: _discipline(name) for name in _SETTINGS},
}
