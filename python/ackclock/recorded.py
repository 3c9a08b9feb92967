"""A recorded TCP connection: RTTs, retransmissions and their causes, data outstanding, limits of its rate.

All is seen from one place. A capture at the sender shows most. Causes and limits are rules about packets and
their times, so they are approximate. Times are in s from the first packet of the capture.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from ackclock.capture_files import Numbers
from ackclock.captures import WHOLE, Capture, Flow, Mask, Table
from ackclock.metrics.tables import Array

SEGMENT, LARGEST_SEGMENT = 1448, 8960
"""Payload bytes of a segment on Ethernet with timestamps, and with jumbo frames. Longer packets are several
segments, cut by the sender's card."""
OPTIONS = 12
"""Bytes that timestamps take from each segment."""

USUAL = 10
"""A payload is a full segment if so many segments have it, and a fifth of all."""

SILENCE = 1.5
"""A sender that repeats data after this many RTTs without a packet does so by a timer."""
LEAST_SILENCE = 5e-3
"""The same in s, at least: no timer of a stack is shorter."""
REORDERED = 0.9
"""What closes a gap within this many RTTs was overtaken: a retransmission takes an RTT at least."""
LEAST_RTT = 3e-3
"""The RTT in s that is assumed where none can be seen, as Wireshark does."""

RECOVERED = 5.0
"""Seconds after a loss in which the loss explains a constant window. CUBIC needs them to come back to 200
segments (RFC 9438, section 4.2, K)."""
ROUNDS = 8
"""A window that has not grown for so many RTTs does not grow."""
ALIKE = 0.03
"""Windows that differ by less than this share are the same, and so are those within two segments."""
QUEUED = 1.03
"""A queue stays on the path if no RTT of a round is below so many times the smallest."""
PAUSE, PAUSES = 0.1, 3
"""A link is idle for a while if no ACK comes for this share of a round, and for so many usual gaps."""
CLOCKED = 2e-4
"""A segment that leaves within so many seconds of an ACK was sent because of it."""
MOST_ROUNDS = 100_000
"""The rounds of a connection are longer than an RTT if there would be more."""

Cause = Literal["fast", "timeout", "probe"]
CAUSES: tuple[Cause, ...] = ("fast", "timeout", "probe")
LIMITS = ("network", "receiver", "sender", "application")


@dataclass(frozen=True)
class Retransmissions:
    """Segments that were sent again, a row each."""

    rows: Numbers
    """Their places among the segments with data."""
    causes: npt.NDArray[np.str_]
    """Their causes: by duplicate ACKs or SACK (``fast``), by a timer (``timeout``), or as the last segment
    outstanding, by a timer (``probe``)."""
    timers: int
    """The expired timers among them, without probes. Each may repeat many segments."""
    spurious: Mask
    """The receiver had the data: it was acknowledged before, or a D-SACK says so (RFC 2883)."""


@dataclass(frozen=True)
class Recorded:
    """A direction of a connection, and all that follows from its packets."""

    flow: Flow

    @cached_property
    def data(self) -> Table:
        """The segments with data, without probes of the window or of the connection."""
        return self.flow.data[self._is_data]

    @cached_property
    def begin(self) -> Numbers:
        """The places of the segments with data."""
        return self.flow.begin[self._is_data]

    @cached_property
    def end(self) -> Numbers:
        """The places behind them."""
        return self.flow.end[self._is_data]

    @cached_property
    def _is_data(self) -> Mask:
        """Leaves out a byte beyond a closed window, and a repeated last byte (keep-alive)."""
        flow = self.flow
        before = np.concatenate((flow.begin[:1], np.maximum.accumulate(flow.end)[:-1]))
        is_small = flow.data["payload"] == 1
        windows = np.concatenate(([1], flow.answers["window"]))
        is_closed = windows[np.searchsorted(flow.answers["packet"], flow.data["packet"])] == 0
        is_probe = is_small & (is_closed | (flow.begin == before - 1))
        is_probe[0] = False
        return np.asarray(~is_probe)

    @property
    def probes(self) -> int:
        """Segments of one byte that probe a closed window, or whether the receiver is there."""
        return int((~self._is_data).sum())

    @cached_property
    def segment(self) -> int:
        """The payload of a full segment.

        A capture at the sender may have several in a packet, which its card cuts.
        """
        payloads = self.data["payload"]
        largest = int(payloads.max())
        own, other = self.flow.openings
        if other is not None and other.segment:
            both = own is not None and own.has_timestamps and other.has_timestamps
            announced = max(other.segment - OPTIONS * both, 1)
        else:
            announced = largest if largest <= LARGEST_SEGMENT else SEGMENT
        is_usual = np.sum(payloads == largest) >= max(USUAL, 0.2 * payloads.size)
        return largest if largest <= announced and is_usual else announced

    @cached_property
    def sent_to(self) -> Numbers:
        """The highest place that was sent, after each segment."""
        return np.asarray(np.maximum.accumulate(self.end))

    @cached_property
    def _before(self) -> Numbers:
        """The same before each segment."""
        return np.concatenate((self.begin[:1], self.sent_to[:-1]))

    @cached_property
    def acknowledged(self) -> Numbers:
        """The highest place that was acknowledged, after each answer. The FIN behind the data is no data."""
        return np.asarray(np.minimum(np.maximum.accumulate(np.maximum(self.flow.acked, 0)), self.sent_to[-1]))

    @cached_property
    def _answers(self) -> Numbers:
        """The number of answers before each segment."""
        return np.searchsorted(self.flow.answers["packet"], self.data["packet"])

    @cached_property
    def _unacknowledged(self) -> Numbers:
        """The first place that was not acknowledged when each segment left."""
        return np.asarray(np.concatenate(([0], self.acknowledged))[self._answers])

    @cached_property
    def outstanding(self) -> Numbers:
        """Bytes sent and neither acknowledged nor in a SACK block of the last answer, after each segment."""
        blocks, answers = self.flow.blocks, self.flow.answers
        of = np.searchsorted(answers["packet"], blocks["packet"])
        is_beyond = blocks["low"] >= self.flow.acked[of]
        sacked = np.bincount(of[is_beyond], (blocks["high"] - blocks["low"])[is_beyond], answers.size)
        sacked = np.concatenate(([0], sacked.astype(np.int64)))[self._answers]
        return np.asarray(np.maximum(self.sent_to - self._unacknowledged - sacked, 0))

    @cached_property
    def _gaps(self) -> tuple[Numbers, Numbers, Mask]:
        """Segments behind missing data, the last of them before each segment, and if it fills the gap."""
        gaps = np.flatnonzero(self.begin > self._before)
        if not gaps.size:
            return gaps, np.zeros(self.data.size, np.int64), np.zeros(self.data.size, np.bool_)
        low, high = self._before[gaps], self.begin[gaps]
        of = np.maximum(np.searchsorted(low, self.begin, side="right") - 1, 0)
        fills = (self.begin >= low[of]) & (self.end <= high[of]) & (self.begin < self._before)
        return gaps, gaps[of], np.asarray(fills)

    @cached_property
    def _is_reordered(self) -> Mask:
        """Segments that fill a gap too early for a retransmission: others overtook them on the way."""
        _, of, fills = self._gaps
        times = self.data["time"]
        return np.asarray(fills & (times - times[of] < REORDERED * self._least_rtt))

    @property
    def reordered(self) -> int:
        """Segments that others overtook before the capture."""
        return int(self._is_reordered.sum())

    @property
    def missing(self) -> int:
        """Bytes that were acknowledged and that the capture lacks, as what wrote it was too slow."""
        gaps, _, fills = self._gaps
        if not self.is_at_sender:
            return 0
        _, rows = np.unique(self.begin[fills], return_index=True)
        filled = int(self.data["payload"][fills][rows].sum())
        return max(int((self.begin - self._before)[gaps].sum()) - filled, 0)

    @cached_property
    def rtt(self) -> tuple[Array, Array]:
        """Times of ACKs, and the RTTs that they show, in s.

        The sample is from the newest segment that an ACK acknowledges. There is none if any of the newly
        acknowledged data was sent again, as the ACK may be for either copy (Karn's rule; tcptrace).
        """
        first = np.flatnonzero((self.begin >= self._before) & ~self._is_reordered)
        begins, ends = self.begin[first], self.end[first]
        again = np.zeros(first.size + 1, dtype=np.int64)
        rows = np.flatnonzero(self.begin < self._before)
        lows = np.searchsorted(ends, self.begin[rows], side="right")
        highs = np.searchsorted(begins, self.end[rows])
        np.add.at(again, lows, 1)
        np.add.at(again, np.maximum(lows, highs), -1)
        copies = np.concatenate(([0], np.cumsum(np.cumsum(again)[:-1] > 0)))
        before = np.concatenate(([0], self.acknowledged[:-1]))
        advances = (
            np.flatnonzero(self.acknowledged > before) if self.acknowledged.size else np.zeros(0, np.int64)
        )
        newest = np.searchsorted(ends, self.acknowledged[advances], side="right") - 1
        oldest = np.searchsorted(ends, before[advances], side="right")
        valid = (newest >= oldest) & (copies[newest + 1] == copies[np.minimum(oldest, newest + 1)])
        at, of = advances[valid], first[newest[valid]]
        is_after = self.flow.answers["packet"][at] > self.data["packet"][of]
        times = self.flow.answers["time"][at[is_after]]
        return times, times - self.data["time"][of[is_after]]

    @cached_property
    def sacked(self) -> tuple[Array, Array, Numbers]:
        """Times of ACKs that first report a segment by SACK, its RTT in s, and the segments missing below it.

        The first block of an ACK holds the segment that caused it (RFC 2018, section 4). Segments that were
        sent twice have no sample.
        """
        flow = self.flow
        blocks = flow.blocks[flow.blocks["number"] == 0]
        of = np.searchsorted(flow.answers["packet"], blocks["packet"])
        ends, rows, copies = np.unique(self.end, return_index=True, return_counts=True)
        at = np.minimum(np.searchsorted(ends, blocks["high"]), ends.size - 1)
        highest = np.concatenate(([-1], np.maximum.accumulate(blocks["high"])[:-1]))[: blocks.size]
        is_first = (blocks["low"] > flow.acked[of]) & (blocks["high"] > highest)
        is_first &= (ends[at] == blocks["high"]) & (copies[at] == 1)
        of, at = of[is_first], at[is_first]
        times = flow.answers["time"][of]
        missing = -(-(blocks["low"][is_first] - flow.acked[of]) // self.segment)
        return times, times - self.data["time"][rows[at]], missing

    @cached_property
    def _least_rtt(self) -> float:
        """The RTT without queues: the handshake's if it was captured, as the data may have none here."""
        return self.flow.handshake or LEAST_RTT

    @cached_property
    def usual_rtt(self) -> float:
        """The median of the RTTs in s, or the handshake's if that is larger."""
        _, samples = self.rtt
        return max(float(np.median(samples)) if samples.size else 0.0, self._least_rtt)

    @cached_property
    def retransmissions(self) -> Retransmissions:
        """The segments that were sent again, and why."""
        rows = np.flatnonzero((self.begin < self._before) & ~self._is_reordered)
        times = self.data["time"]
        answered = np.concatenate(([-np.inf], self.flow.answers["time"]))[self._answers[rows]]
        silence = times[rows] - np.maximum(times[np.maximum(rows - 1, 0)], answered)
        at, samples = self.rtt
        recent = np.concatenate(([self._least_rtt], samples))[np.searchsorted(at, times[rows])]
        by_timer = silence >= np.maximum(SILENCE * np.maximum(recent, self._least_rtt), LEAST_SILENCE)
        causes: list[Cause] = []
        until = timers = 0
        for begin, end, sent_to, unacknowledged, silent in zip(
            *(one[rows].tolist() for one in (self.begin, self.end, self._before, self._unacknowledged)),
            by_timer.tolist(),
            strict=True,
        ):
            if silent and end == sent_to and begin > unacknowledged:
                causes.append("probe")
                continue
            if silent:
                until, timers = sent_to, timers + 1
            causes.append("timeout" if begin < until else "fast")
        spurious = self.end[rows] <= self._unacknowledged[rows]
        self._mark_repeated(rows, spurious)
        return Retransmissions(rows, np.array(causes, dtype=np.str_), timers, spurious)

    def _mark_repeated(self, rows: Numbers, spurious: Mask) -> None:
        """Marks the retransmissions that a D-SACK reports: a first block below the ACK, or in the second."""
        blocks, answers = self.flow.blocks, self.flow.answers
        first = blocks[blocks["number"] == 0]
        second = {
            int(one["packet"]): (int(one["low"]), int(one["high"])) for one in blocks[blocks["number"] == 1]
        }
        acked = self.flow.acked[np.searchsorted(answers["packet"], first["packet"])]
        order = np.argsort(self.begin[rows], kind="stable")
        begins = self.begin[rows][order]
        for packet, low, high, place in zip(
            *(first[name].tolist() for name in ("packet", "low", "high")), acked.tolist(), strict=True
        ):
            inner = second.get(packet, (WHOLE, 0))
            if high > place and not (inner[0] <= low and high <= inner[1]):
                continue
            some = order[np.searchsorted(begins, low) : np.searchsorted(begins, high)]
            some = some[(self.data["packet"][rows[some]] < packet) & ~spurious[some]]
            spurious[some[-1:]] = True

    @cached_property
    def windows(self) -> Numbers | None:
        """The receive window in bytes that each answer has, or None where its unit was not captured."""
        own, other = self.flow.openings
        if own is None or other is None or not (own.is_whole and other.is_whole):
            return None
        scaled = own.scale is not None and other.scale is not None
        shift = other.scale if scaled and other.scale is not None else 0
        return self.flow.answers["window"].astype(np.int64) << shift

    @property
    def has_near_window(self) -> bool:
        """The receive window comes near the data outstanding, so that both fit into one figure."""
        windows = self.windows
        return windows is not None and bool(windows.size) and bool(windows.min() < 4 * self.outstanding.max())

    @cached_property
    def zero_windows(self) -> Mask:
        """The answers that close the window."""
        return np.asarray(self.flow.answers["window"] == 0)

    @property
    def closed(self) -> float:
        """Seconds for which the window was closed."""
        times = np.append(self.flow.answers["time"], self.last)
        return float(np.diff(times)[self.zero_windows].clip(min=0.0).sum())

    @property
    def first(self) -> float:
        """The time of the first data."""
        return float(self.data["time"][0])

    @property
    def last(self) -> float:
        """The time of the last data, or of the last ACK of new data."""
        before = np.concatenate(([0], self.acknowledged[:-1]))[: self.acknowledged.size]
        acks = self.flow.answers["time"][self.acknowledged > before]
        return max(float(self.data["time"].max()), float(acks.max()) if acks.size else 0.0)

    @property
    def bursts(self) -> Numbers:
        """The segments sent between two answers, if any (micro-bursts of Allman and Blanton 2005)."""
        segments = -(-self.data["payload"].astype(np.int64) // self.segment)
        found = np.bincount(self._answers, weights=segments).astype(np.int64)
        return found[found > 0]

    @property
    def first_window(self) -> int:
        """Bytes sent before the first answer: the initial window, if there was as much to send."""
        return int(self.end[self._answers == 0].max(initial=0))

    @cached_property
    def limits(self) -> dict[str, float]:
        """The share of the time, from the first data to the last ACK, in which each of ``LIMITS`` held.

        - ``receiver``: its window has no room for another segment.
        - ``application``: nothing is outstanding, or the last segment was short, so all data has left. Or the
          data outstanding stays the same for eight RTTs, segments leave without an ACK, and the path has
          shown neither losses nor queues.
        - ``sender``: the data outstanding stays the same for eight RTTs, ACKs pause in most of them, no queue
          stays, and the last loss is five seconds away: a buffer, or a window that does not grow.
        - ``network``: the rest. Its losses, marks and queues end the growth of the window.

        The data outstanding decides nothing in a capture that was not taken at the sender.
        """
        times, sent_to, acked, room, is_short = self._states()
        spans = np.diff(np.append(times, self.last)).clip(min=0.0)
        flat, is_slow = self._flat(times)
        receiver = room < self.segment
        is_idle = (sent_to <= acked) & self.is_at_sender
        application = ~receiver & (is_idle | is_short | is_slow)
        sender = ~receiver & ~application & flat
        network = ~receiver & ~application & ~sender
        whole = float(spans.sum())
        parts = zip(LIMITS, (network, receiver, sender, application), strict=True)
        return {name: float(spans[rows].sum() / whole) if whole else 0.0 for name, rows in parts}

    def _states(self) -> tuple[Array, Numbers, Numbers, Numbers, Mask]:
        """The state after each packet.

        Its time, the place sent to, the place acknowledged, the room of the window beyond the data, and if
        the last new segment was short.
        """
        answers = self.flow.answers
        order = np.argsort(np.concatenate((self.data["packet"], answers["packet"])), kind="stable")
        is_data = order < self.data.size
        data = np.cumsum(is_data) - 1
        answer = np.cumsum(~is_data)
        times = np.concatenate((self.data["time"], answers["time"]))[order]
        sent_to = self.sent_to[data]
        acked = np.concatenate(([0], self.acknowledged))[answer]
        windows = self.windows
        if windows is None:
            room = np.where(np.concatenate(([1], answers["window"]))[answer] == 0, 0, WHOLE)
        else:
            edge = np.concatenate(([WHOLE], np.maximum.accumulate(self.flow.acked + windows)))[answer]
            room = edge - sent_to
        newest = np.maximum.accumulate(np.where(self.end > self._before, np.arange(self.data.size), 0))
        is_short = (self.data["payload"] % self.segment != 0)[newest][data]
        return times, sent_to, acked, room, is_short

    @property
    def is_at_sender(self) -> bool:
        """The capture was taken near the sender: an ACK takes more than half of an RTT to come."""
        samples = self.rtt[1]
        return bool(samples.size) and float(np.median(samples)) > (self.flow.handshake or 0.0) / 2

    def _flat(self, times: Array) -> tuple[Mask, Mask]:
        """If the data outstanding has been the same for eight rounds, at each time.

        First: ACKs clock the segments, and pause in most rounds. Second: segments leave without an ACK, and
        the path has shown no limit so far. A round takes an RTT.
        """
        length = max(self.usual_rtt, (self.last - self.first) / MOST_ROUNDS)

        def rounds(of: Array) -> Numbers:
            return ((of - self.first) / length).astype(np.int64).clip(min=0, max=MOST_ROUNDS)

        sent, answered = rounds(self.data["time"]), rounds(self.flow.answers["time"])
        count = int(sent.max()) + 1
        if count < ROUNDS or not self.is_at_sender:
            return np.zeros(times.size, dtype=np.bool_), np.zeros(times.size, dtype=np.bool_)
        answered = answered.clip(max=count - 1)
        most, least_rtt, gap = np.zeros(count), np.full(count, np.inf), np.zeros(count)
        np.maximum.at(most, sent, self.outstanding)
        at, samples = self.rtt
        np.minimum.at(least_rtt, rounds(at).clip(max=count - 1), samples)
        is_queued = (least_rtt > QUEUED * samples.min()) & np.isfinite(least_rtt)
        gaps = np.diff(self.flow.answers["time"], prepend=self.first)
        np.maximum.at(gap, answered, gaps)
        pauses = gap >= max(PAUSE * length, PAUSES * float(np.median(gaps)))
        before = np.concatenate(([-np.inf], self.flow.answers["time"]))[self._answers]
        clocked = np.bincount(sent, self.data["time"] - before < CLOCKED, count)
        lost = np.full(count, -np.inf)
        lost[sent[self.retransmissions.rows]] = sent[self.retransmissions.rows]
        lost = np.maximum.accumulate(lost)
        is_other = is_queued | (np.arange(count) - lost <= RECOVERED / length)
        shown = np.logical_or.accumulate(is_queued | (lost >= 0))[ROUNDS - 1 :]

        def over(values: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
            return np.lib.stride_tricks.sliding_window_view(values, ROUNDS)

        least = np.min(over(most), axis=1)
        same = np.max(over(most), axis=1) - least <= np.maximum(2 * self.segment, ALIKE * least)
        same &= ~np.any(over(is_other), axis=1) & (least > 0)
        is_clocked = 2 * np.sum(over(clocked), axis=1) > np.sum(
            over(np.bincount(sent, minlength=count)), axis=1
        )
        sender = same & is_clocked & (2 * np.sum(over(pauses), axis=1) > ROUNDS)
        here = rounds(times).clip(max=count - 1)
        return _spread(sender, count)[here], _spread(same & ~is_clocked & ~shown, count)[here]


def _spread(begins: Mask, count: int) -> Mask:
    """The rounds in any of the stretches of ``ROUNDS`` that begin at the marked ones."""
    found = np.zeros(count + 1, dtype=np.int64)
    found[:-ROUNDS] += begins
    found[ROUNDS:] -= begins
    return np.asarray(np.cumsum(found)[:-1] > 0)


def largest(seen: Capture, most: int, name: str) -> tuple[list[Recorded], str]:
    """The directions of a capture with the most data, in the order in which they begin.

    The sentence names the capture, and is empty if there are no others.
    """
    sizes = np.array([one.data["payload"].sum(dtype=np.int64) for one in seen.flows])
    chosen = np.sort(np.argsort(-sizes, kind="stable")[:most])
    others = f"{name}: {most} of {len(seen.flows)} directions of connections are read, with the most data"
    return [Recorded(seen.flows[row]) for row in chosen.tolist()], others if sizes.size > most else ""
