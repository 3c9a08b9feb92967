"""The other end of the connection: it acknowledges what arrives. Times are whole milliseconds."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ackclock.replay.differential.situation import DrawnSituation

DELAY_MS = 26
"""How long an ACK waits for a second segment."""
MOST_BLOCKS = 4
"""SACK blocks of an ACK, one less beside timestamps (RFC 2018, section 3)."""


@dataclass(frozen=True)
class Ack:
    """An acknowledgement. Numbers count units of the situation from 0: segments, or bytes."""

    cumulative: int
    blocks: tuple[tuple[int, int], ...] = ()
    """SACK blocks [start, end), a duplicate first."""
    echo: bool = False
    """ECE (RFC 3168)."""
    stamp: int | None = None
    """The timestamp that it echoes."""
    window: int | None = None
    """The receive window in bytes, if it is not always the same."""
    start: int = 0
    """The number of the segment of the other side that it is on, or of the next one."""
    data: int = 0
    """The segments of the other side: one, or none."""


@dataclass(frozen=True)
class Segment:
    """A segment on its way."""

    number: int
    stamp: int | None = None
    marked: bool = False
    reduced: bool = False
    """CWR (RFC 3168)."""
    length: int = 1
    """Its units."""


class Receiver:
    """A receiver of RFC 5681, RFC 2018 and RFC 2883."""

    def __init__(self, situation: DrawnSituation) -> None:
        self._sack = situation.sack
        self._every = situation.ack_every
        self._bleached = situation.bleached
        self._most = MOST_BLOCKS - (1 if situation.timestamps else 0)
        self._next = 0
        self._blocks: list[tuple[int, int]] = []
        """Ranges above the cumulative point, the latest first."""
        self._waiting = 0
        self._due: int | None = None
        self._echo = False
        self._stamp: int | None = None
        self._acknowledged = 0
        self._sent = 0
        """Segments of the other side."""

    @property
    def due(self) -> int | None:
        """When the ACK that waits is due."""
        return self._due

    def on_segment(self, now: int, segment: Segment) -> Ack | None:
        """A segment arrives. Returns the ACK that it calls for at once."""
        number, end = segment.number, segment.number + segment.length
        self._echo = segment.marked or (self._echo and not segment.reduced)
        if segment.stamp is not None and number <= self._acknowledged:
            # TS.Recent (RFC 7323, section 4.3).
            self._stamp = segment.stamp if self._stamp is None else max(self._stamp, segment.stamp)
        duplicate = end <= self._next or any(start <= number and end <= stop for start, stop in self._blocks)
        if duplicate:
            return self._answer((number, end))
        had_holes = bool(self._blocks)
        self._take(max(number, self._next), end)
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

    def send(self) -> Ack:
        """A segment of the other side, which acknowledges all that has arrived."""
        answer = self._answer()
        self._sent += 1
        return replace(answer, start=self._sent - 1, data=1)

    def update(self) -> Ack:
        """An ACK that tells nothing but its window."""
        return self._answer()

    def _take(self, start: int, end: int) -> None:
        touching = [block for block in self._blocks if block[0] <= end and start <= block[1]]
        rest = [block for block in self._blocks if block not in touching]
        for block in touching:
            start, end = min(start, block[0]), max(end, block[1])
        if start <= self._next:
            self._next = end
            self._blocks = rest
        else:
            self._blocks = [(start, end), *rest]

    def _answer(self, duplicate: tuple[int, int] | None = None) -> Ack:
        self._waiting, self._due = 0, None
        self._acknowledged = self._next
        blocks = self._blocks
        if duplicate is not None:
            around = [block for block in blocks if block[0] <= duplicate[0] < block[1]]
            blocks = [duplicate, *around, *(one for one in blocks if one not in around)]
        shown = tuple(blocks[: self._most]) if self._sack else ()
        return Ack(self._next, shown, self._echo and not self._bleached, self._stamp, start=self._sent)
