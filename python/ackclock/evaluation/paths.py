"""Draws paths from quantile tables: kinds of paths, each with its share, rates, RTTs and buffers."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ackclock.cases.document import CaseError, TomlTable, read_toml
from ackclock.cases.reading import NUMBER
from ackclock.evaluation.suite import SUITE

PATHS = SUITE / "paths.toml"
"""The kinds of paths that ship with ackclock."""

LARGEST = 1e6
"""The largest rate (Mbit/s) or time (ms) of a table."""


@dataclass(frozen=True)
class Kind:
    """One kind of paths."""

    name: str
    share: float
    """Its share of the paths, over the sum of all shares."""
    rate_mbit: Sequence[float]
    """Quantiles, evenly spaced from the smallest to the largest."""
    rtt_ms: Sequence[float]
    buffer_ms: Sequence[float]
    """The drop-tail queue in time at the rate; empty with ``discipline`` or ``policer_ms``."""
    discipline: Sequence[str]
    """Queue disciplines with the limit of ``tc``, one for each path in turn."""
    policer_ms: float
    """The bucket of a policer in time at the rate; 0 for none."""
    more: Mapping[str, Any]
    """Further keys of the path: ``loss``, ``jitter``."""
    source: str


@dataclass(frozen=True)
class DrawnPath:
    """One path."""

    kind: str
    rate_bps: float
    """The rate that it can carry."""
    rtt_ms: float
    document: Mapping[str, Any]
    """The key ``path`` of a scenario."""


def kinds(file: Path = PATHS) -> list[Kind]:
    """The kinds of paths in a file. Raises CaseError for a mistake."""
    table = TomlTable(read_toml(file), file.name)
    found = [
        _kind(TomlTable(one, f"{file.name}, kinds.{number}"))
        for number, one in enumerate(table.tables("kinds"))
    ]
    table.done()
    if not found or not sum(one.share for one in found) > 0.0:
        raise CaseError(f"{file.name}: `kinds` must have one whose share is above 0")
    return found


def _kind(table: TomlTable) -> Kind:
    share, policer = float(table.take("share", NUMBER)), float(table.take("policer_ms", NUMBER, 0))
    for key, value in (("share", share), ("policer_ms", policer)):
        if not 0.0 <= value <= LARGEST:
            raise CaseError(f"{table.where}: {key} = {value:g} must be from 0 to {LARGEST:g}")
    found = Kind(
        name=table.take("name", str),
        share=share,
        rate_mbit=_quantiles(table, "rate_mbit"),
        rtt_ms=_quantiles(table, "rtt_ms"),
        buffer_ms=_quantiles(table, "buffer_ms") if "buffer_ms" in table.values else (),
        discipline=tuple(table.take("discipline", list, [])),
        policer_ms=policer,
        more={key: table.take(key, (str, dict)) for key in ("loss", "jitter") if key in table.values},
        source=table.take("source", str),
    )
    table.done()
    if sum(map(bool, (found.buffer_ms, found.discipline, found.policer_ms))) != 1:
        raise CaseError(f"{table.where}: one of `buffer_ms`, `discipline` and `policer_ms` must be given")
    return found


def _quantiles(table: TomlTable, key: str) -> tuple[float, ...]:
    listed = table.take(key, list)
    if len(listed) < 2 or not all(isinstance(one, int | float) and 0 < one <= LARGEST for one in listed):
        raise CaseError(f"{table.where}: {key} = {listed!r} must be two numbers or more, above 0")
    if sorted(listed) != listed:
        raise CaseError(f"{table.where}: {key} = {listed!r} must not decrease")
    return tuple(map(float, listed))


def draw(of: Sequence[Kind], count: int, seed: int) -> list[DrawnPath]:
    """So many paths: the kinds in the order of their shares, each path drawn at random."""
    random_ = random.Random(seed)
    total, found, numbers = sum(one.share for one in of), [], dict.fromkeys((one.name for one in of), 0)
    for place in range(count):
        at, below = (place + random_.random()) / count * total, 0.0
        chosen = of[-1]
        for one in of:
            below += one.share
            if at < below:
                chosen = one
                break
        found.append(_drawn(chosen, numbers[chosen.name], random_))
        numbers[chosen.name] += 1
    return found


def _drawn(kind: Kind, number: int, random_: random.Random) -> DrawnPath:
    rate, rtt = (quantile(one, random_.random()) for one in (kind.rate_mbit, kind.rtt_ms))
    if kind.buffer_ms:
        queue: Any = f"{quantile(kind.buffer_ms, random_.random()):.3f}ms"
    elif kind.discipline:
        queue = kind.discipline[number % len(kind.discipline)]
    else:
        burst = max(3000, round(rate * kind.policer_ms * 125))
        queue = {"discipline": "police", "rate": f"{rate:.4f}mbit", "burst": f"{burst}B", "limit": "1000p"}
    link = 10 * rate if kind.policer_ms else rate
    document = {"rate": f"{link:.4f}mbit", "rtt": f"{rtt:.3f}ms", "queue": queue, **kind.more}
    return DrawnPath(kind.name, rate * 1e6, rtt, document)


def quantile(table: Sequence[float], share: float) -> float:
    """A value of a quantile table at a share from 0 to 1, between its entries by their logarithms."""
    place = share * (len(table) - 1)
    below = min(int(place), len(table) - 2)
    low, high = math.log(table[below]), math.log(table[below + 1])
    return math.exp(low + (high - low) * (place - below))
