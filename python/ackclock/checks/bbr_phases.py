"""The states of BBR in a recording, and measures of the stays in them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ackclock.checks.recording import Recording
from ackclock.metrics.tables import Array

STARTUP, DRAIN, DOWN, CRUISE, REFILL, UP, PROBE_RTT = STATES = (
    "startup",
    "drain",
    "probe_bw_down",
    "probe_bw_cruise",
    "probe_bw_refill",
    "probe_bw_up",
    "probe_rtt",
)
"""The states of BBR, in the numbering of the probe `state`, from 1 on."""
PROBE_BW = (DOWN, CRUISE, REFILL, UP)
GAINS = dict(zip(STATES, (2.77, 0.5, 0.9, 1.0, 1.0, 1.25, 1.0), strict=True))
"""The pacing gain of each state (draft-ietf-ccwg-bbr-06, section 4.6.1)."""
STEADY = (CRUISE, REFILL)
"""States in which the pacing rate is the estimate of the bandwidth."""
HIGH_LOSS = 0.02
"""The share of losses that ends Startup and UP (BBR.LossThresh)."""
LEAST_WINDOW = 4
"""The least window in datagrams (BBR.MinPipeCwnd)."""
UNUSED, UNSENT = 0.9, 0.7
"""An application limits a flight below this share of the window, below this share of the pacing rate."""
TRAIN = 8
"""Datagrams that one acknowledgement takes from the flight where ACKs are aggregated."""
MOMENT = 1e-9
"""The shortest duration, in s."""
UNCERTAIN = 0.1
"""A flight is known at a time if less than this share of the product is sent between two rows there."""
FEW = 2.0
"""Datagrams that leave between two rows of any log."""


@dataclass(frozen=True)
class Stay:
    """A stay in a state. ``before`` and ``after`` are empty at the ends of a recording."""

    begin: float
    end: float
    state: str
    before: str
    after: str


def state(text: str) -> str | None:
    """The state of BBR that a log calls ``text``, such as ``bbr_probe_bw_up``. None for any other."""
    plain = text.lower().replace("-", "_").removeprefix("bbr2_").removeprefix("bbr3_").removeprefix("bbr_")
    short = plain.removeprefix("probe_bw_").removeprefix("probebw_").removeprefix("probe").removeprefix("_")
    known = {one.removeprefix("probe_bw_").removeprefix("probe_"): one for one in STATES}
    return known.get(short)


class Phases:
    """The stays of a recording in states of BBR, with measures of them."""

    def __init__(self, of: Recording) -> None:
        self.of = of
        entered = [(time, one) for time, text in of.states if (one := state(text)) is not None]
        changes = [one for k, one in enumerate(entered) if k == 0 or one[1] != entered[k - 1][1]]
        times = [time for time, _ in changes] + [float(of.times[-1])]
        names = ["", *(name for _, name in changes), ""]
        self.stays = [
            Stay(times[k], times[k + 1], names[k + 1], names[k], names[k + 2]) for k in range(len(changes))
        ]

    def left(self, *states: str) -> Iterator[Stay]:
        """The stays in ``states`` that end within the recording."""
        return (one for one in self.stays if one.state in states and one.after)

    def at(self, values: Array, time: float) -> float:
        """The latest of ``values`` at a time."""
        return float(values[max(int(np.searchsorted(self.of.times, time, side="right")) - 1, 0)])

    def before(self, values: Array, time: float) -> float:
        """The latest of ``values`` before a time."""
        return float(values[max(int(np.searchsorted(self.of.times, time)) - 1, 0)])

    def gap(self, time: float) -> float:
        """The time from the last row before a time to the first from then on."""
        row = int(np.searchsorted(self.of.times, time))
        return float(np.diff(self.of.times[max(row - 1, 0) : row + 1]).sum())

    def knows_flight(self, time: float) -> bool:
        """True if the flight at a time cannot differ much from that of the last row before it."""
        row = int(np.searchsorted(self.of.times, time))
        begin, end = self.of.times[max(row - 1, 0)], self.of.times[min(row, self.of.times.size - 1)]
        sent = self.sent_in(float(begin), float(end))
        return sent <= max(UNCERTAIN * self.product(time) / self.of.segment, FEW)

    def median(self, values: Array, stay: Stay) -> float:
        """The median of ``values`` within a stay, without its last round trip begun in the state before."""
        chosen = values[(self.of.times >= stay.begin) & (self.of.times < stay.end)]
        chosen = chosen[np.isfinite(chosen)]
        return float(np.median(chosen)) if chosen.size else np.nan

    def rounds(self, begin: float, end: float) -> float:
        """The round trips from one time to another."""
        found = 0.0
        while begin < end:
            rtt = self.at(self.of.rtt, begin)
            found += min((end - begin) / rtt, 1.0)
            begin += rtt
        return found

    def lost_in(self, begin: float, end: float) -> int:
        """The losses in [begin, end]."""
        low, high = np.searchsorted(self.of.lost, begin), np.searchsorted(self.of.lost, end, side="right")
        return int(high - low)

    def sent_in(self, begin: float, end: float) -> float:
        """The datagrams that leave in [begin, end), as full ones: an event may stand for several."""
        low, high = np.searchsorted(self.of.sent, (begin, end))
        return float(self.of.sent_bytes[low:high].sum() / self.of.segment)

    def high_loss(self, stay: Stay, gaps: int = 1) -> float | None:
        """The time in a stay at which a round trip has lost over two per cent, in so many gaps at least."""
        if not self.of.sent.size:
            return None
        for time in self.of.lost[(self.of.lost >= stay.begin) & (self.of.lost <= stay.end)].tolist():
            rtt = self.at(self.of.rtt, time)
            low, high = np.searchsorted(self.of.lost, (time - rtt, time), side="right")
            numbers = np.sort(self.of.lost_numbers[low:high])
            found = high - low if np.isnan(numbers).any() else 1 + int((np.diff(numbers) > 1).sum())
            if found >= gaps and high - low > HIGH_LOSS * self.sent_in(time - 2 * rtt, time - rtt):
                return float(time)
        return None

    def is_limited(self, begin: float, end: float) -> bool:
        """True if the application sends less than window and pacing rate allow, all through an interval."""
        rows = (self.of.times >= begin) & (self.of.times < end)
        rate = self.sent_in(begin, end) * self.of.segment / max(end - begin, MOMENT)
        return (
            bool(rows.any())
            and float((self.of.flight[rows] / self.of.window[rows]).max()) < UNUSED
            and rate < UNSENT * float(np.median(self.pacing[rows]))
        )

    def is_clean(self, stay: Stay) -> bool:
        """True if nothing is lost from an RTT before a stay to one behind it, and the path holds packets."""
        rtt = self.at(self.of.rtt, stay.begin)
        least = LEAST_WINDOW * self.of.segment
        return not self.lost_in(stay.begin - rtt, stay.end + rtt) and self.product(stay.end) > least

    @cached_property
    def pacing(self) -> Array:
        """The pacing rate at each time in bytes/s."""
        pacing = self.of.pacing / 8
        # Some logs have it in bytes/s. A sender sends no more than its pacing rate allows in all.
        allowed = float(np.nansum(pacing[:-1] * np.diff(self.of.times)))
        return self.of.pacing if self.of.sent_bytes.sum() > 3 * allowed > 0 else pacing

    @cached_property
    def bandwidth(self) -> Array:
        """The estimate of the bandwidth at each time in bytes/s: the pacing rate over the gain.

        NaN without a state.
        """
        begins = np.array([one.begin for one in self.stays])
        gains = np.array([np.nan, *(GAINS[one.state] for one in self.stays)])
        return np.asarray(self.pacing / gains[np.searchsorted(begins, self.of.times, side="right")])

    def product(self, time: float) -> float:
        """The bandwidth-delay product in bytes, by the steady state after a time, or its own."""
        steady = [one for one in self.stays if one.state in STEADY and one.end > time]
        rate = self.median(self.bandwidth, steady[0]) if steady else self.at(self.bandwidth, time)
        return rate * self.at(self.of.least_rtt, time)

    def trains(self, stay: Stay) -> bool:
        """True if acknowledgements take many datagrams at once, in the last rounds of a stay."""
        rtt = self.before(self.of.rtt, stay.end)
        rows = (self.of.times >= max(stay.begin, stay.end - 3 * rtt)) & (self.of.times < stay.end)
        falls = -np.diff(self.of.flight[rows])
        return bool((falls > 0).any()) and float(np.median(falls[falls > 0])) >= TRAIN * self.of.segment
