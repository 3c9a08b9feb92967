"""A recorded sender: its window, flight, RTT, packets and losses over time."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ackclock.cases.model import Claim
from ackclock.metrics.tables import Array

GROUP = "recording"
INITIAL = 10
"""The initial window in datagrams (RFC 9002, section 7.2)."""

Measured = tuple[float | None, str]
"""A value, or None and the reason."""


def _nothing() -> Array:
    return np.zeros(0)


@dataclass(frozen=True)
class Recording:
    """What a log or a capture shows of a sender. Times are in s, data in bytes."""

    name: str
    times: Array
    window: Array
    """The congestion window at each time, or for a capture the data outstanding."""
    flight: Array
    rtt: Array
    """The RTT at each time."""
    lost: Array
    """The times of losses."""
    segment: float
    has_window: bool
    sent: Array
    sent_bytes: Array
    pacing: Array = field(default_factory=_nothing)
    """The pacing rate at each time as the log has it, in bit/s. NaN while unknown."""
    states: tuple[tuple[float, str], ...] = ()
    """New states of the controller in the words of the log, with their times."""
    lost_numbers: Array = field(default_factory=_nothing)
    """The packet number of each loss, or NaN."""
    spurious: Array = field(default_factory=_nothing)
    """The times at which lost packets turn out to have arrived."""
    is_tcp: bool = False

    def episodes(self) -> list[tuple[float, float]]:
        """The first loss of each round with losses, with the RTT at that time."""
        found: list[tuple[float, float]] = []
        for time in self.lost.tolist():
            if not found or time > found[-1][0] + found[-1][1]:
                rtt = self.rtt[max(int(np.searchsorted(self.times, time, side="right")) - 1, 0)]
                found.append((time, float(rtt)))
        return found

    def within(self, low: float, high: float) -> Array:
        """The windows in (low, high]."""
        rows = slice(*np.searchsorted(self.times, (low, high), side="right").tolist())
        return self.window[rows]

    def before(self, time: float) -> float:
        """The window at a time, before what happens then."""
        return float(self.window[max(int(np.searchsorted(self.times, time)) - 1, 0)])

    @cached_property
    def least_rtt(self) -> Array:
        """The least RTT until each time."""
        return np.minimum.accumulate(self.rtt)


def law(name: str, text: str, source: str, because: str, low: float = -np.inf, high: float = np.inf) -> Claim:
    """A bound on a measure of a recording."""
    return Claim(
        id=f"recorded-{name}", text=text, source=source, because=because, low=low, high=high, measure=None,
        group=GROUP, title=text,
    )  # fmt: skip
