"""The network of a situation: a bottleneck and a receiver, which turn departures into events of the endpoint.

It knows no endpoint and no clock. Times are milliseconds.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, replace

from ackclock.replay.differential.receiver import Ack, Receiver, Segment
from ackclock.replay.differential.situation import SAMPLE_MS, DrawnSituation

TWICE_MS = 4
"""How much later the copy of a segment arrives."""
TARGET_MS, INTERVAL_MS = 10, 100
"""Of CoDel, with a target of a few segments."""
SCALE = 3
"""The shift of receive windows."""
WINDOW_STEP = 1 << SCALE
"""The bytes that they count."""


@dataclass(frozen=True)
class Write:
    """The application writes so many units of the situation."""

    units: int


@dataclass(frozen=True)
class Sample:
    """The state of the endpoint is read."""


@dataclass(frozen=True)
class Timer:
    """The ACK that waits may be due."""


@dataclass(frozen=True)
class Update:
    """The receiver announces another window."""


@dataclass(frozen=True)
class Data:
    """The other side sends a segment."""


Happening = Write | Sample | Timer | Segment | Ack | Update | Data


class Bottleneck:
    """A link that takes a time for each segment, behind a queue with a limit, or with CoDel (RFC 8289).

    It is first in, first out, so what happens to a segment is known when it arrives.
    """

    def __init__(self, situation: DrawnSituation) -> None:
        self._situation = situation
        self._free = 0
        self._first_above: int | None = None
        self._next: int | None = None
        """When CoDel drops or marks next, if it does."""
        self._count = 0

    def take(self, now: int, capable: bool) -> tuple[int, bool] | None:
        """A segment arrives. Says when it has left, and if it is marked. None if it is dropped."""
        situation = self._situation
        wait = max(self._free - now, 0)
        if situation.limit_ms is not None and wait > situation.limit_ms:
            return None
        chosen = situation.codel and self._chooses(now + wait, wait)
        if chosen and not capable:
            return None
        self._free = now + wait + situation.gap_ms
        return self._free, chosen

    def _chooses(self, at: int, wait: int) -> bool:
        """CoDel drops or marks the segment that has waited, and leaves the queue at ``at``."""
        if wait < TARGET_MS:
            self._first_above = self._next = None
            return False
        if self._first_above is None:
            self._first_above = at + INTERVAL_MS
        if self._next is None:
            if at < self._first_above:
                return False
            self._count, self._next = 0, at
        if at < self._next:
            return False
        self._count += 1
        self._next += round(INTERVAL_MS / math.sqrt(self._count))
        return True


class Network:
    """A network in motion."""

    def __init__(self, situation: DrawnSituation, bottleneck: Bottleneck | None = None) -> None:
        self._situation = situation
        self._bottleneck = Bottleneck(situation) if bottleneck is None else bottleneck
        self._late = dict(situation.late)
        self._late_acks = dict(situation.late_acks)
        self._receiver = Receiver(situation)
        self._queue: list[tuple[int, int, Happening]] = []
        self._pushed = 0
        self._sent = 0
        self._acks = 0
        self._latest = 0
        self._edge = situation.window_at(0)
        for at, segments in situation.writes:
            self._push(at, Write(segments))
        for at, _ in situation.windows[1:]:
            self._push(at, Update())
        for at, segments in situation.peer:
            for _ in range(segments):
                self._push(at, Data())
        for at in range(SAMPLE_MS, situation.end_ms, SAMPLE_MS):
            self._push(at, Sample())

    def _push(self, at: int, happening: Happening) -> None:
        heapq.heappush(self._queue, (at, self._pushed, happening))
        self._pushed += 1

    def depart(self, now: int, segment: Segment, capable: bool = False) -> None:
        """The endpoint sends a segment, which is ``capable`` of marks or not."""
        number, self._sent = self._sent, self._sent + 1
        situation = self._situation
        taken = self._bottleneck.take(now, capable)
        if taken is None or number in situation.lost:
            return
        free, marked = taken
        self._latest = max(self._latest, free + situation.rtt_at(now))
        arrives = self._latest + self._late.get(number, 0)
        segment = replace(segment, marked=capable and (marked or number in situation.marked))
        self._push(arrives, segment)
        if number in situation.twice:
            self._push(arrives + TWICE_MS, segment)

    @property
    def due(self) -> int | None:
        """The time of the next event, if there is one."""
        return self._queue[0][0] if self._queue else None

    def take(self) -> Write | Sample | Ack | None:
        """Lets the next event happen: what reaches the endpoint, if anything does."""
        now, _, happening = heapq.heappop(self._queue)
        if isinstance(happening, Write | Sample | Ack):
            return happening
        if isinstance(happening, Data):
            return self._leave(now, self._receiver.send())
        if isinstance(happening, Update):
            return self._leave(now, self._receiver.update())
        if isinstance(happening, Timer):
            return self._leave(now, self._receiver.on_timeout()) if self._receiver.due == now else None
        before = self._receiver.due
        answer = self._receiver.on_segment(now, happening)
        due = self._receiver.due
        if due is not None and due != before:
            self._push(due, Timer())
        return None if answer is None else self._leave(now, answer)

    def _window(self, now: int, start: int) -> int:
        """The receive window from byte ``start`` on. Its end never moves back."""
        window = max(self._edge - start, self._situation.window_at(now))
        window += -window % WINDOW_STEP
        self._edge = start + window
        return window

    def _leave(self, now: int, ack: Ack) -> Ack | None:
        number, self._acks = self._acks, self._acks + 1
        if self._situation.windows:
            ack = replace(ack, window=self._window(now, ack.cumulative * self._situation.unit))
        if number in self._situation.lost_acks:
            return None
        if number in self._late_acks:
            self._push(now + self._late_acks[number], ack)
            return None
        return ack
