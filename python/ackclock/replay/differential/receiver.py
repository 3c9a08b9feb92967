"""The other end of the connection: it acknowledges what arrives. Times are whole milliseconds."""

from __future__ import annotations

from dataclasses import dataclass

from ackclock.replay.differential.situation import DrawnSituation

DELAY_MS = 26
"""How long an ACK waits for a second segment."""
MOST_BLOCKS = 4
"""SACK blocks of an ACK, one less beside timestamps (RFC 2018, section 3)."""


@dataclass(frozen=True)
class Ack:
    """An acknowledgement. Segments count from 0."""

    cumulative: int
    blocks: tuple[tuple[int, int], ...] = ()
    """SACK blocks [start, end), a duplicate first."""
    echo: bool = False
    """ECE (RFC 3168)."""
    stamp: int | None = None
    """The timestamp that it echoes."""


@dataclass(frozen=True)
class Segment:
    """A segment on its way."""

    number: int
    stamp: int | None = None
    marked: bool = False
    reduced: bool = False
    """CWR (RFC 3168)."""


class Receiver:
    """A receiver of RFC 5681, RFC 2018 and RFC 2883."""

    def __init__(self, situation: DrawnSituation) -> None:
        self._sack = situation.sack
        self._every = situation.ack_every
        self._most = MOST_BLOCKS - (1 if situation.timestamps else 0)
        self._next = 0
        self._blocks: list[tuple[int, int]] = []
        """Ranges above the cumulative point, the latest first."""
        self._waiting = 0
        self._due: int | None = None
        self._echo = False
        self._stamp: int | None = None
        self._acknowledged = 0

    @property
    def due(self) -> int | None:
        """When the ACK that waits is due."""
        return self._due

    def on_segment(self, now: int, segment: Segment) -> Ack | None:
        """A segment arrives. Returns the ACK that it calls for at once."""
        number = segment.number
        self._echo = segment.marked or (self._echo and not segment.reduced)
        if segment.stamp is not None and number <= self._acknowledged:
            # TS.Recent (RFC 7323, section 4.3).
            self._stamp = segment.stamp if self._stamp is None else max(self._stamp, segment.stamp)
        duplicate = number < self._next or any(start <= number < end for start, end in self._blocks)
        if duplicate:
            return self._answer(number)
        had_holes = bool(self._blocks)
        self._take(number)
        if had_holes or self._blocks:
            return self._answer()
        self._waiting += 1
        if self._waiting >= self._every:
            return self._answer()
        self._due = now + DELAY_MS if self._due is None else self._due
        return None

    def on_timeout(self) -> Ack:
        """The ACK that waited."""
        return self._answer()

    def _take(self, number: int) -> None:
        start, end = number, number + 1
        for block in self._blocks:
            start, end = (block[0] if block[1] == start else start), (block[1] if block[0] == end else end)
        rest = [block for block in self._blocks if not start <= block[0] < end]
        if start <= self._next:
            self._next = end
            self._blocks = rest
        else:
            self._blocks = [(start, end), *rest]

    def _answer(self, duplicate: int | None = None) -> Ack:
        self._waiting, self._due = 0, None
        self._acknowledged = self._next
        blocks = self._blocks
        if duplicate is not None:
            around = [block for block in blocks if block[0] <= duplicate < block[1]]
            blocks = [(duplicate, duplicate + 1), *around, *(one for one in blocks if one not in around)]
        shown = tuple(blocks[: self._most]) if self._sack else ()
        return Ack(self._next, shown, self._echo, self._stamp)
