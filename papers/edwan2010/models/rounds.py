"""A lone flow of TCP-Gentle or YeAH, round by round, on a link with an unlimited buffer (thesis, chapter 7).

A round lasts the RTT that its first packet meets: the base RTT, or the window over the rate of the link where
that is longer. Its ACKs are as many as the window had packets when it began. The estimate of the queue comes
from the least RTT of the round, and the ACK that closes the round counts: after a reduction it is the first
that has seen the shorter queue. Without losses only the queue moves these algorithms.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np

from ackclock.arguments import positive
from ackclock.metrics.tables import Array

FEWEST_SAMPLES = 3
"""A round with fewer RTT samples is not evaluated."""


class Rounds(NamedTuple):
    """The course of a flow: a value for each round, at its end."""

    times: Array
    """In seconds."""
    windows: Array
    """In packets."""
    queues: Array
    """The estimate of the queue, in packets."""
    decongestions: Array
    """When the window was reduced to empty the queue, in seconds."""


class Rule(Protocol):
    """The rule of an algorithm in congestion avoidance."""

    def increase(self, window: float) -> float:
        """By how much an ACK raises the window."""
        ...

    def evaluate(self, window: float, queue: float, ratio: float) -> float:
        """The window after a round. ``ratio`` is the queueing delay over the base RTT."""
        ...


@dataclass
class Gentle:
    """TCP-Gentle-1 as its boxes say, with NP to the power v, which is missing in algorithm 2."""

    allowed_queue: float = 80.0
    """Q_max, in packets."""
    alpha: float = 2.0
    """alpha_gh, in packets per RTT."""
    floor: float = 0.0
    """alpha_gl, which the text has and the boxes do not."""
    rocket: float = 2.0
    alpha_max: float = 20.0
    largest_counter: int = 7
    """The largest NP."""
    ages: int = 8
    """The largest AG: so many decongestions pass before NP begins to grow."""
    exponent: float = 2.0
    """v."""
    age_restarts: bool = False
    """AG starts again whenever NP grows, as the text may be read. The boxes do not say so."""
    empty: float = 0.5
    """A queue up to this many packets counts as empty. 0.5 is equivalent to TPQ = 0."""
    ratio: float = 0.125
    """1/phi."""
    patience: int = 50
    """zeta: after so many rounds in gentle mode the window of the virtual Reno flow is forgotten."""
    _now: float = field(default=0.0, init=False)
    _counter: int = field(default=1, init=False)
    _age: int = field(default=1, init=False)
    _fuel: int = field(default=0, init=False)
    _calm: int = field(default=0, init=False)
    _virtual: float = field(default=2.0, init=False)

    def __post_init__(self) -> None:
        for name in ("allowed_queue", "alpha", "rocket", "alpha_max", "largest_counter", "ages"):
            positive(name, getattr(self, name))
        self._now = self.alpha

    def increase(self, window: float) -> float:
        """alpha/w."""
        return self._now / window

    def evaluate(self, window: float, queue: float, ratio: float) -> float:
        """Decongests above the allowed queue, then sets the increase of the next round."""
        if queue > self.allowed_queue or ratio > self.ratio:
            if queue > self.allowed_queue and window > self._virtual:
                window = max(window - min(queue, window / 2), self._virtual)
                self._fuel = 0
                self._grow_older()
            self._virtual = max(window / 2, 2.0) if self._virtual <= 2 else self._virtual + 1
            self._now = 1.0
            return window
        self._calm += 1
        if self._calm > self.patience:
            self._virtual, self._calm = 2.0, 0
        if queue <= self.empty:
            self._fuel += 1
            self._now = min(self._fuel * self.rocket, self.alpha_max)
        else:
            self._fuel = 0
            damped = self.alpha / self._counter**self.exponent * self.allowed_queue / queue
            self._now = max(min(damped, self.alpha), self.floor)
        return window

    def _grow_older(self) -> None:
        if self._age < self.ages:
            self._age += 1
        elif self._counter < self.largest_counter:
            self._counter += 1
            self._age = 1 if self.age_restarts else self._age
        else:
            self._age = 1


@dataclass
class Yeah:
    """YeAH (algorithm 1): Scalable TCP while the queue is short, Reno while it is not."""

    allowed_queue: float = 80.0
    scale: float = 100.0
    """An ACK raises the window by 1/min(w, scale)."""
    ratio: float = 0.125
    patience: int = 50
    _slow: bool = field(default=False, init=False)
    _fast_rounds: int = field(default=0, init=False)
    _virtual: float = field(default=2.0, init=False)

    def __post_init__(self) -> None:
        for name in ("allowed_queue", "scale", "ratio"):
            positive(name, getattr(self, name))

    def increase(self, window: float) -> float:
        """1/min(w, 100) in fast mode, else 1/w."""
        return 1 / window if self._slow else 1 / min(window, self.scale)

    def evaluate(self, window: float, queue: float, ratio: float) -> float:
        """Chooses the mode, and decongests above the allowed queue."""
        self._slow = queue > self.allowed_queue or ratio > self.ratio
        if not self._slow:
            self._fast_rounds += 1
            if self._fast_rounds > self.patience:
                self._virtual, self._fast_rounds = 2.0, 0
            return window
        if queue > self.allowed_queue and window > self._virtual:
            window = max(window - min(queue, window / 2), self._virtual)
        self._virtual = max(window / 2, 2.0) if self._virtual <= 2 else self._virtual + 1
        return window


def course(rule: Rule, pipe: float, rtt: float, until: float, initial: float = 1.0) -> Rounds:
    """The rounds of a flow from a window of ``initial`` packets, for ``until`` seconds.

    ``pipe`` is the bandwidth-delay product in packets, ``rtt`` the base RTT in seconds. A rule has a state:
    give a new one to each course.
    """
    rate = positive("pipe", pipe) / positive("rtt", rtt)
    window, time, before = positive("initial", initial), 0.0, rtt
    seen: list[tuple[float, float, float]] = []
    reductions: list[float] = []
    while time < until:
        own = max(rtt, window / rate)
        time += own
        acks = int(window)
        for _ in range(acks):
            window += rule.increase(window)
        least, before = min(before, own), own
        queue = window * (least - rtt) / least
        if acks >= FEWEST_SAMPLES:
            after = rule.evaluate(window, queue, (least - rtt) / rtt)
            if after < window:
                reductions.append(time)
            window = after
        seen.append((time, window, queue))
    table = np.array(seen)
    return Rounds(table[:, 0], table[:, 1], table[:, 2], np.array(reductions))
