"""The variation of a sweep: axes of lists and ranges, their grid, or points drawn from them.

An axis is written ``KEY=VALUES``: a list (``0.1bdp,1bdp,5bdp``), a range with a number of values
(``1mbit..1gbit*10log``, ``0..100ms*11``), or with several keys the lists of values that go together
(``rate:rtt=10mbit:40ms,100mbit:20ms``). Values are spelled as in the scenario language.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ackclock import _engine, reading
from ackclock.errors import InputError, did_you_mean

if TYPE_CHECKING:
    import numpy as np

Point = Mapping[str, str]
"""The value of each swept key, as the scenario language spells it."""

SHORT_KEYS = {
    key: f"path.{key}" for key in ("rate", "rtt", "queue", "loss", "jitter", "duplicate", "reverse")
}
"""Keys of the path that may be written without ``path.``, as in the options of ``compare``."""

TOP_KEYS = ("duration", "warmup", "seed", "profile", "phase_noise", "name")
"""Keys of a scenario that hold one value."""

TRACE = "trace"
"""The key whose values are files of rates, as ``--trace`` takes them."""

MOST_POINTS = 1_000_000
"""The largest number of points of a sweep."""

DRAWS = ("latin-hypercube", "sobol", "random")
"""How ``samples`` are drawn: stratified in each key, a low-discrepancy sequence, or independent."""

KINDS = ("rate", "time", "size", "fraction")
"""The kinds of quantity whose units can be converted."""

_RANGE = re.compile(r"(?P<low>.+?)\.\.(?P<high>[^*]+)(?:\*(?P<count>\d*)(?P<log>log)?)?")
_NUMBER = re.compile(r"(?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)(?P<unit>[^\d.].*)?")


@dataclass(frozen=True)
class Range:
    """The numbers from ``low`` to ``high``, both in ``unit``."""

    low: float
    high: float
    unit: str
    log: bool
    count: int | None
    """The number of values of a grid, or None if only samples are drawn."""

    def at(self, share: float) -> str:
        """The value at a share of the way, 0 to 1, as the scenario language spells it."""
        if share in (0.0, 1.0):
            return _spelled(self.high if share else self.low, self.unit)
        if self.log:
            return _spelled(self.low * (self.high / self.low) ** share, self.unit)
        return _spelled(self.low + share * (self.high - self.low), self.unit)

    def values(self) -> list[str]:
        """The values of a grid."""
        assert self.count is not None
        return [self.at(0.0 if self.count == 1 else k / (self.count - 1)) for k in range(self.count)]


@dataclass(frozen=True)
class Axis:
    """One dimension of a sweep: the keys that change together, and their values."""

    keys: tuple[str, ...]
    values: tuple[tuple[str, ...], ...] = ()
    """The values of the keys at each place of the axis. Empty for a range without a count."""
    range: Range | None = None
    labels: int = 0
    """So many keys, the first ones, name the places and are no keys of the scenario."""
    conditions: tuple[str, ...] = ()
    """Questions to the places of a file of lines."""

    def at(self, share: float) -> Point:
        """The values of the keys at ``share``, 0 to 1."""
        if self.range is not None:
            return {self.keys[0]: self.range.at(share)}
        place = min(int(share * len(self.values)), len(self.values) - 1)
        return dict(zip(self.keys, self.values[place], strict=True))

    def points(self) -> Iterator[Point]:
        """The places of the axis, one after the other."""
        return (dict(zip(self.keys, values, strict=True)) for values in self.values)


@dataclass(frozen=True)
class Design:
    """The points of a sweep: the grid of all axes, or ``samples`` points drawn from them."""

    axes: tuple[Axis, ...]
    samples: int | None = None
    draw: str = DRAWS[0]
    seed: int = 1

    def __post_init__(self) -> None:
        if self.draw not in DRAWS:
            raise InputError(f"draw `{self.draw}`: must be one of {', '.join(DRAWS)}")
        if self.samples is not None and not self.axes:
            raise InputError("samples: there is nothing to draw from; name a key with its range")
        if twice := [key for key in self.keys if self.keys.count(key) > 1]:
            raise InputError(f"over {twice[0]}: is swept twice")
        if self.samples is None:
            for axis in self.axes:
                if not axis.values:
                    raise InputError(
                        f"{axis.keys[0]}: a range needs the number of its values, as in 1mbit..1gbit*10log, "
                        "or a number of samples to draw"
                    )
        if len(self) > MOST_POINTS:
            raise InputError(f"a sweep of {len(self)} points: at most {MOST_POINTS} are allowed")

    def __len__(self) -> int:
        if self.samples is not None:
            return self.samples
        return math.prod(len(axis.values) for axis in self.axes)

    @property
    def keys(self) -> list[str]:
        """The swept keys, in the order of the axes."""
        return [key for axis in self.axes for key in axis.keys]

    def points(self) -> Iterator[Point]:
        """The points: the last axis of a grid changes fastest."""
        if self.samples is None:
            for places in itertools.product(*(axis.points() for axis in self.axes)):
                yield {key: value for place in places for key, value in place.items()}
            return
        for row in _draws(self.draw, self.samples, len(self.axes), self.seed):
            drawn = [axis.at(float(share)) for axis, share in zip(self.axes, row, strict=True)]
            yield {key: value for place in drawn for key, value in place.items()}

    @property
    def lines(self) -> Axis | None:
        """The axis of a file of lines, if there is one."""
        return next((axis for axis in self.axes if axis.labels), None)

    @property
    def labels(self) -> frozenset[str]:
        """The keys of a point that name it and change no run."""
        return frozenset(key for axis in self.axes for key in axis.keys[: axis.labels])

    def overrides(self, point: Point) -> Point:
        """The keys of the scenario in a point of the design."""
        labels = self.labels
        return {key: value for key, value in point.items() if key not in labels}

    def settings(self) -> Iterator[tuple[str, str]]:
        """The swept keys with their listed values, point by point of each axis."""
        for axis in self.axes:
            for values in axis.values:
                yield from zip(axis.keys[axis.labels :], values[axis.labels :], strict=True)

    def described(self) -> dict[str, Any]:
        """The values of each key, for JSON: its list, or the ends of its range."""
        described: dict[str, Any] = {}
        for axis in self.axes:
            for place, key in enumerate(axis.keys):
                described[key] = [values[place] for values in axis.values] or {
                    "from": axis.at(0.0)[key],
                    "to": axis.at(1.0)[key],
                    "scale": "log" if axis.range is not None and axis.range.log else "linear",
                }
        return described


def _draws(kind: str, samples: int, dimensions: int, seed: int) -> np.ndarray[Any, Any]:
    """``samples`` rows of numbers from 0 to 1, a column for each axis."""
    try:
        from scipy.stats import qmc
    except ImportError:
        raise InputError(
            "samples: draws need scipy: python -m pip install scipy, or name lists of values"
        ) from None
    import numpy as np

    if kind == "random":
        return np.random.default_rng(seed).random((samples, dimensions))
    sampler = {"latin-hypercube": qmc.LatinHypercube, "sobol": qmc.Sobol}[kind](dimensions, rng=seed)
    if kind == "sobol":
        # The sequence is balanced at powers of two. We take its first points.
        drawn = sampler.random_base2(max(samples - 1, 1).bit_length())[:samples]
    else:
        drawn = sampler.random(samples)
    return np.asarray(drawn)


def parse(text: str) -> Axis:
    """The axis that ``text`` spells, as ``--over`` takes it. Raises InputError."""
    key, equals, values = text.partition("=")
    if not equals or not key.strip() or not values.strip():
        raise InputError(
            f"over {text}: must be KEY=VALUE,VALUE,… or KEY=FROM..TO*COUNT, as in queue=0.1bdp,1bdp,5bdp"
        )
    return axis(key, values)


def axis(key: str, values: str | Sequence[object]) -> Axis:
    """The axis over ``key``. ``values`` is text as in ``parse``, or a list."""
    if key.strip() == TRACE:
        files = _split(values, ",") if isinstance(values, str) else [str(value) for value in values]
        return axis("rate", [_trace(file.strip()) for file in files])
    keys = tuple(dotted(one.strip()) for one in key.split(":"))
    if not all(keys) or len(set(keys)) < len(keys):
        raise InputError(f"over {key}: must name different keys of the scenario")
    if not isinstance(values, str):
        listed = [_texts(value, len(keys)) for value in values]
    elif len(keys) == 1 and (found := _RANGE.fullmatch(values.strip())) and "," not in values:
        span = _range(key, values, found)
        check_shares(f"over {key}", keys, [(span.at(1.0),)])
        listed = [] if span.count is None else [(value,) for value in span.values()]
        return Axis(keys, tuple(listed), span)
    else:
        listed = [tuple(part.strip() for part in _split(one, ":", len(keys))) for one in _split(values, ",")]
    if not listed or any(len(one) != len(keys) or not all(one) for one in listed):
        each = f"{len(keys)} values joined by `:`" if len(keys) > 1 else "a value"
        raise InputError(f"over {key}: each place of the list must have {each}, as its keys")
    if len(set(listed)) < len(listed):
        raise InputError(f"over {key}: a value is named twice")
    if isinstance(values, str):
        check_shares(f"over {key}", keys, listed)
    return Axis(keys, tuple(listed))


def _trace(text: str) -> str:
    """The rate of a file, as the scenario language spells it."""
    file, columns = reading.trace_file(text)
    chosen = "" if columns is None else f", columns = {json.dumps(columns)}"
    return f"{{ trace = {json.dumps(file)}{chosen} }}"


def dotted(key: str) -> str:
    """The key as a scenario has it: ``path.rate`` for ``rate``. Raises InputError for an unknown one."""
    if not key or "." in key or key in TOP_KEYS:
        return key
    if key not in SHORT_KEYS:
        known = [*SHORT_KEYS, TRACE, *TOP_KEYS]
        near = did_you_mean(key, known) or f"; there are {', '.join(known)}, and dotted keys as flows.0.cc"
        raise InputError(f"over {key}: is no key of a scenario{near}")
    return SHORT_KEYS[key]


def check_shares(where: str, keys: Sequence[str], listed: Sequence[tuple[str, ...]]) -> None:
    """Refuses a bare number above 0 for a share of 1, because 1 may mean all or one percent."""
    for number, one in enumerate(keys):
        if one.rpartition(".")[2] != "loss":
            continue
        for place in listed:
            bare = _NUMBER.fullmatch(place[number])
            if bare is not None and not bare["unit"] and float(bare["number"]) > 0:
                raise InputError(
                    f"{where}: {place[number]}: a bare number may mean a percentage or a share; "
                    f"write it with %, as in {place[number]}%"
                )


def _texts(value: object, keys: int) -> tuple[str, ...]:
    """A value from Python as texts: one, or a tuple of them for several keys."""
    if keys > 1 and isinstance(value, Sequence) and not isinstance(value, str):
        return tuple(map(_text, value))
    return (_text(value),)


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)


def _split(text: str, at: str, most: int | None = None) -> list[str]:
    """``text`` split at each ``at`` outside quotes and brackets, or whole if only one part is wanted."""
    if most == 1:
        return [text]
    parts, depth, quote = [""], 0, ""
    for letter in text:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        else:
            depth += (letter in "[{(") - (letter in "]})")
        if letter == at and not quote and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def _range(key: str, text: str, found: re.Match[str]) -> Range:
    """The range that a match of ``FROM..TO*COUNT`` spells."""
    where = f"over {key}={text}"
    low, high = (_NUMBER.fullmatch(found[name].strip()) for name in ("low", "high"))
    if low is None or high is None:
        raise InputError(f"{where}: a range goes from a number to a number, as in 1mbit..1gbit*10log")
    unit = low["unit"] or ""
    first, last = float(low["number"]), float(high["number"])
    if (high["unit"] or "") != unit:
        last = _in_unit(where, found["high"].strip(), unit)
    if not (math.isfinite(first) and math.isfinite(last)):
        raise InputError(f"{where}: the ends of a range must be finite")
    log = found["log"] is not None
    if log and not (first > 0.0 and last > 0.0):
        raise InputError(f"{where}: a logarithmic range must begin and end above zero")
    # A number with more digits is too large in any case.
    count = int(found["count"][:20]) if found["count"] else None
    if count is not None and count > MOST_POINTS:
        raise InputError(f"{where}: a range of so many values: at most {MOST_POINTS} are allowed")
    if count == 0 or (count == 1 and first != last):
        raise InputError(f"{where}: a range has at least 2 values")
    return Range(first, last, unit, log, count)


def _in_unit(where: str, text: str, unit: str) -> float:
    """A quantity as a number of another unit."""
    for kind in KINDS:
        with suppress(ValueError):
            return _engine.quantity(text, kind) / _engine.quantity(f"1{unit}", kind)
    raise InputError(f"{where}: the ends cannot be compared; write both in one unit")


def _spelled(number: float, unit: str) -> str:
    """A number with its unit, six digits, never with an exponent."""
    from decimal import Decimal

    digits = format(Decimal(f"{number:.6g}"), "f")
    return f"{digits}{unit}"


def numbers(values: Sequence[str]) -> tuple[list[float | None], str]:
    """The numbers of values, and their unit: the common one, or the base unit where they differ.

    A value that is no number gives None. So does every value whose unit cannot be compared with the others.
    """
    found = [_NUMBER.fullmatch(value) for value in values]
    units = {(one["unit"] or "") for one in found if one is not None}
    if len(units) <= 1:
        return [None if one is None else float(one["number"]) for one in found], "".join(units)
    converted: list[float | None] = []
    for value in values:
        try:
            converted.append(_engine.quantity(value))
        except ValueError:
            converted.append(None)
    return converted, ""
