"""Makes a situation smaller in which two endpoints part, as long as they do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any

from ackclock.replay.differential.situation import LARGEST_WINDOW, DrawnSituation
from ackclock.replay.differential.trace import Difference

MARGIN_MS = 60
"""The part of a situation that is kept after the difference, in milliseconds."""
MOST_ATTEMPTS = 80
FAULTS = ("late_acks", "lost_acks", "twice", "marked", "late", "lost", "rtt_steps", "windows")
PLAIN = {"window": LARGEST_WINDOW, "ack_every": 1, "timestamps": False, "ecn": False, "gap_ms": 0}
"""The plainest value of each field that is no list."""

Differs = Callable[[DrawnSituation], Difference | None]


class Shrinking:
    """A search for the smallest situation. ``differs`` plays one on both endpoints."""

    def __init__(self, situation: DrawnSituation, first: Difference, differs: Differs) -> None:
        self.situation = situation
        self.difference = first
        self._differs = differs
        self._attempts = 0

    def run(self) -> DrawnSituation:
        """The smallest situation found."""
        self._cut()
        for name in FAULTS:
            self._remove(name)
        self._remove("writes")
        for name, value in PLAIN.items():
            if getattr(self.situation, name) != value:
                self._try({name: value})
        for name in FAULTS:
            self._remove(name)
        return self.situation

    def _try(self, changes: dict[str, Any]) -> bool:
        """Takes the changes if the endpoints still part."""
        if self._attempts >= MOST_ATTEMPTS:
            return False
        self._attempts += 1
        candidate = replace(self.situation, **changes)
        found = self._differs(candidate)
        if found is None:
            return False
        self.situation, self.difference = candidate, found
        self._cut()
        return True

    def _cut(self) -> None:
        """Leaves out all that is later than the difference: that cannot end it."""
        end = min(self.situation.end_ms, self.difference.at_ms + MARGIN_MS)
        writes = tuple(one for one in self.situation.writes if one[0] < end)
        self.situation = replace(self.situation, end_ms=end, writes=writes)

    def _remove(self, name: str) -> None:
        """Removes parts of a list, larger ones first."""
        size = len(getattr(self.situation, name))
        while size >= 1:
            at = 0
            while at < len(getattr(self.situation, name)):
                whole = getattr(self.situation, name)
                kept = sorted(whole)[:at] + sorted(whole)[at + size :]
                if not (name != "writes" or kept) or not self._try({name: type(whole)(kept)}):
                    at += size
            size //= 2


def parts(situation: DrawnSituation) -> int:
    """The size of a situation: its faults and writes."""
    lists = (getattr(situation, field.name) for field in fields(situation))
    return sum(len(one) for one in lists if isinstance(one, frozenset | tuple))


def used(situation: DrawnSituation, transmissions: int, acks: int) -> DrawnSituation:
    """The same situation without faults of packets that were never sent."""
    changes = {
        name: _below(getattr(situation, name), transmissions) for name in ("lost", "late", "twice", "marked")
    }
    changes |= {name: _below(getattr(situation, name), acks) for name in ("lost_acks", "late_acks")}
    return replace(situation, **changes)


def _below(faults: Any, limit: int) -> Any:
    return type(faults)(_kept(faults, limit))


def _kept(faults: Any, limit: int) -> Iterator[Any]:
    for fault in sorted(faults):
        if (fault[0] if isinstance(fault, tuple) else fault) < limit:
            yield fault
