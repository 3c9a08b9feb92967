"""Plays a situation on an endpoint: the same network for the simulated one and the kernel's.

Time is a grid of two milliseconds: events reach the endpoint in the middle of a cell, its timers expire at
the beginning of one, and its packets count from the beginning of the cell in which they leave. So a machine
that is late by less than half a cell changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ackclock.replay.differential.network import SCALE, Network, Sample, Write
from ackclock.replay.differential.receiver import Ack, Segment
from ackclock.replay.differential.situation import DrawnSituation
from ackclock.replay.differential.trace import FIELDS, Trace
from ackclock.replay.endpoint import Endpoint
from ackclock.replay.script import Options, Packet, Text
from ackclock.replay.shell import Setting

TIMESTAMPS = 12
"""Bytes that timestamps take from a segment."""
CELL_MS = 2
OPENING_MS = 20
"""The SYN arrives then: the calls before it take a moment."""
FIRST_STAMP = 1000
"""The first timestamp of the other side."""
CAPABLE = 2
"""ECT(0)."""
SETTINGS = {"net.ipv4.tcp_rmem": "4096 131072 15728640"}


@dataclass(frozen=True)
class Arrival:
    """A packet that arrived at the endpoint."""

    packet: Packet


@dataclass(frozen=True)
class Departure:
    """A packet that left, as it did."""

    packet: Packet


@dataclass(frozen=True)
class State:
    """A state that was read: :data:`FIELDS`."""

    values: tuple[int, ...]


Logged = Write | Arrival | Departure | State


@dataclass
class Played:
    """A situation that was played."""

    sent: list[tuple[int, int]] = field(default_factory=list)
    states: list[tuple[int, ...]] = field(default_factory=list)
    log: list[tuple[int, Logged]] = field(default_factory=list)
    """Everything, in its order: segments written, packets that arrived and left, states."""
    late_s: float = 0.0

    @property
    def trace(self) -> Trace:
        """The segments sent and the states, which are compared."""
        return Trace(tuple(self.sent), tuple(self.states))


def instant(at_ms: int) -> float:
    """The middle of the cell that begins ``at_ms`` after the start of the endpoint, in seconds."""
    return (at_ms + CELL_MS / 2) / 1000


def settings(situation: DrawnSituation) -> dict[str, str]:
    """The sysctls of a situation."""
    return {"net.ipv4.tcp_ecn": "1" if situation.ecn else "0", **SETTINGS}


def syn(situation: DrawnSituation) -> Packet:
    """The SYN of the other side."""
    size = situation.size + (TIMESTAMPS if situation.timestamps else 0)
    stamps = (FIRST_STAMP, 0) if situation.timestamps else None
    options = Options(size, SCALE, situation.sack, stamps)
    return Packet("SEW" if situation.ecn else "S", 0, 0, None, 65535, options)


def play(situation: DrawnSituation, endpoint: Endpoint) -> Played:
    """Plays a situation to its end."""
    stage = _Stage(situation, endpoint)
    stage.open()
    stage.run()
    return stage.played


class _Stage:
    def __init__(self, situation: DrawnSituation, endpoint: Endpoint) -> None:
        self._situation = situation
        self._endpoint = endpoint
        self._origin = OPENING_MS + situation.handshake_ms
        self._network = Network(situation)
        self._descriptor = 0
        self._stamp: int | None = None
        """The timestamp of the SYN-ACK."""
        self.played = Played()

    def _instant(self, at_ms: int) -> float:
        return instant(self._origin + at_ms)

    def _cell(self, at_s: float) -> int:
        """The cell of a departure. A microsecond more keeps rounding errors out."""
        return int((at_s * 1000 + 0.001) // CELL_MS) * CELL_MS - self._origin

    def open(self) -> None:
        """The handshake."""
        situation, endpoint = self._situation, self._endpoint
        for name, value in settings(situation).items():
            endpoint.configure(Setting(name, value))
        name = Text(situation.controller)
        opened, _ = endpoint.call("socket", [..., "SOCK_STREAM", "IPPROTO_TCP"], False)
        for level, option, chosen in (
            ("SOL_SOCKET", "SO_REUSEADDR", [1]),
            ("SOL_SOCKET", "SO_SNDBUF", [4_000_000]),
            ("SOL_TCP", "TCP_CONGESTION", name),
        ):
            endpoint.call("setsockopt", [opened, level, option, chosen, 4], False)
        endpoint.call("bind", [opened, ..., ...], False)
        endpoint.call("listen", [opened, 1], False)
        endpoint.wait_until(self._instant(-situation.handshake_ms))
        endpoint.inject(syn(situation))
        endpoint.wait_until(self._instant(0))
        answer = endpoint.receive(self._instant(0))
        if answer is not None and answer[1].options is not None and answer[1].options.timestamps:
            self._stamp = answer[1].options.timestamps[0]
        self._inject(0, Ack(0, stamp=self._stamp))
        self._descriptor, _ = endpoint.call("accept", [opened, ..., ...], False)
        if situation.no_delay:
            endpoint.call("setsockopt", [self._descriptor, "SOL_TCP", "TCP_NODELAY", [1], 4], False)

    def run(self) -> None:
        """The transfer."""
        end = self._situation.end_ms
        while True:
            due = self._network.due
            until = end if due is None else min(due, end)
            left = self._endpoint.receive(self._instant(until))
            if left is not None:
                self._on_departure(*left)
            elif due is None or due >= end:
                break
            else:
                self._endpoint.wait_until(self._instant(due))
                self._happen(due)
        self.played.late_s = self._endpoint.late

    def _happen(self, now: int) -> None:
        situation = self._situation
        happening = self._network.take()
        log = self.played.log
        if isinstance(happening, Write):
            log.append((now, happening))
            size = happening.units * situation.unit
            self._endpoint.call("write", [self._descriptor, ..., size], False)
        elif isinstance(happening, Sample):
            information = self._endpoint.information()
            values = tuple(information[f"tcpi_{name}"] for name in FIELDS)
            self.played.states.append((now, *values))
            log.append((now, State(values)))
        elif isinstance(happening, Ack):
            self._inject(now, happening)

    def _inject(self, now: int, ack: Ack) -> None:
        packet = acknowledgement(self._situation, now, ack, self._stamp)
        self.played.log.append((now, Arrival(packet)))
        self._endpoint.inject(packet)

    def _on_departure(self, at_s: float, packet: Packet) -> None:
        if packet.payload == 0:
            return
        now = self._cell(at_s)
        self.played.log.append((now, Departure(packet)))
        for segment in segments(self._situation, packet):
            self.played.sent.append((now, segment.number))
            self._network.depart(now, segment, capable=packet.codepoint == CAPABLE)


def segments(situation: DrawnSituation, packet: Packet) -> Iterator[Segment]:
    """The segments of a packet. CWR belongs to the first of a train."""
    stamps = packet.options.timestamps if packet.options is not None else None
    unit = situation.unit
    for index, start in enumerate(range(packet.sequence, packet.end, situation.size)):
        reduced = index == 0 and "W" in packet.flags
        length = -(-min(situation.size, packet.end - start) // unit)
        yield Segment(
            (start - 1) // unit, None if stamps is None else stamps[0], reduced=reduced, length=length
        )


def acknowledgement(situation: DrawnSituation, now: int, ack: Ack, first_stamp: int | None) -> Packet:
    """An ACK as a packet. It echoes the timestamp of the SYN-ACK before the first of data."""
    stamps = None
    if situation.timestamps:
        stamps = (FIRST_STAMP + situation.handshake_ms + now, ack.stamp or first_stamp or 0)
    unit = situation.unit
    sack = tuple((1 + start * unit, 1 + end * unit) for start, end in ack.blocks)
    options = Options(timestamps=stamps, sack=sack)
    window = (situation.window_at(now) if ack.window is None else ack.window) >> SCALE
    return Packet("E." if ack.echo else ".", 1, 0, 1 + ack.cumulative * unit, window, options)
