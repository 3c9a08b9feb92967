"""Plays a situation on an endpoint: the same network for the simulated one and the kernel's.

Time is a grid of two milliseconds: events reach the endpoint in the middle of a cell, its timers expire at
the beginning of one, and its packets count from the beginning of the cell in which they leave. So a machine
that is late by less than half a cell changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from ackclock.replay.differential.network import SCALE, Bottleneck, Network, Sample, Write
from ackclock.replay.differential.receiver import Ack, Segment
from ackclock.replay.differential.situation import DrawnSituation, one_of
from ackclock.replay.differential.trace import FIELDS, Met, Trace
from ackclock.replay.endpoint import Endpoint
from ackclock.replay.script import Options, Packet, Text, UnsupportedError
from ackclock.replay.shell import Setting

TIMESTAMPS = 12
"""Bytes that timestamps take from a segment."""
CELL_MS = 2
OPENING_MS = 20
"""The SYN arrives then: the calls before it take a moment."""
MICROSECONDS = 1e6
FIRST_STAMP = 1000
"""The first timestamp of the other side."""
LARGE_BUFFER = 4_000_000
"""SO_SNDBUF of a buffer that holds all."""
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
class Read:
    """The application read data of the other side."""

    size: int


@dataclass(frozen=True)
class State:
    """A state that was read: :data:`FIELDS`."""

    values: tuple[int, ...]


Logged = Write | Arrival | Departure | Read | State


@dataclass
class Played:
    """A situation that was played."""

    sent: list[tuple[int, int]] = field(default_factory=list)
    states: list[tuple[int, ...]] = field(default_factory=list)
    log: list[tuple[float, Logged]] = field(default_factory=list)
    """Everything, in its order: segments written and read, packets that arrived and left, states."""
    met: list[Met] = field(default_factory=list)
    """Everything that the endpoint met, with the times at which it did."""
    others: list[Played] = field(default_factory=list)
    """The other connections, if several share the bottleneck."""
    open_loop: bool = False
    """The simulation meets the same at these times."""
    late_s: float = 0.0

    @property
    def trace(self) -> Trace:
        """The segments sent and the states, which are compared."""
        others = tuple(one.trace for one in self.others)
        return Trace(tuple(self.sent), tuple(self.states), tuple(self.met) if self.open_loop else (), others)


def instant(at_ms: float) -> float:
    """The middle of the cell that begins ``at_ms`` after the start of the endpoint, in seconds."""
    return (at_ms + CELL_MS / 2) / 1000


def settings(situation: DrawnSituation) -> dict[str, str]:
    """The sysctls of a situation."""
    buffer = {} if situation.send_buffer is None else {"net.ipv4.tcp_wmem": situation.send_buffer}
    return {"net.ipv4.tcp_ecn": "1" if situation.ecn else "0", **SETTINGS, **buffer}


def syn(situation: DrawnSituation) -> Packet:
    """The SYN of the other side."""
    size = situation.size + (TIMESTAMPS if situation.timestamps else 0)
    stamps = (FIRST_STAMP, 0) if situation.timestamps else None
    options = Options(size, SCALE, situation.sack, stamps)
    return Packet("SEW" if situation.ecn else "S", 0, 0, None, 65535, options)


def play(situation: DrawnSituation, endpoint: Endpoint) -> Played:
    """Plays a situation to its end."""
    stage = Stage(situation, endpoint)
    stage.listen()
    stage.begin()
    stage.open()
    stage.run()
    return stage.played


def play_together(situation: DrawnSituation, make: Callable[[], Endpoint]) -> Played:
    """Plays the connections of a situation, which share its bottleneck, each on an endpoint of its own."""
    bottleneck = Bottleneck(situation)
    stages = []
    for number in range(situation.flows):
        stages.append(Stage(one_of(situation, number), make(), bottleneck))
        stages[-1].listen()
    for phase in (Stage.begin, Stage.open):
        for stage in stages:
            phase(stage)
    for now in range(0, situation.end_ms, CELL_MS):
        for stage in stages:
            stage.receive_in(now)
        for stage in stages:
            stage.happen_in(now)
    first, *others = [stage.end() for stage in stages]
    first.others = others
    first.late_s = max(one.late_s for one in (first, *others))
    return first


def answer(situation: DrawnSituation, met: Sequence[Met], endpoint: Endpoint) -> Played:
    """Lets an endpoint meet what another one met in a situation, at the same times: an open loop."""
    stage = Stage(situation, endpoint)
    (syn_us, _), (ack_us, _), *rest = met
    stage.listen()
    stage.begin(syn_us / MICROSECONDS)
    stage.open(ack_us / MICROSECONDS)
    stage.follow(rest)
    return stage.played


class Stage:
    """A situation and the endpoint that plays it."""

    def __init__(
        self, situation: DrawnSituation, endpoint: Endpoint, bottleneck: Bottleneck | None = None
    ) -> None:
        self._situation = situation
        self._endpoint = endpoint
        self._origin = OPENING_MS + situation.handshake_ms
        self._network = Network(situation, bottleneck)
        self._listener = 0
        self._descriptor = 0
        self._stamp: int | None = None
        """The timestamp of the SYN-ACK."""
        self._latest = 0.0
        """The time for which the latest ACK was due."""
        self._follows = False
        """It meets what another endpoint met."""
        self.played = Played(open_loop=situation.is_open)

    def _instant(self, at_ms: float) -> float:
        return instant(self._origin + at_ms)

    def _cell(self, at_s: float) -> int:
        """The cell of a departure. A microsecond more keeps rounding errors out."""
        return int((at_s * 1000 + 0.001) // CELL_MS) * CELL_MS - self._origin

    def listen(self) -> None:
        """The calls before the handshake."""
        situation, endpoint = self._situation, self._endpoint
        for name, value in settings(situation).items():
            endpoint.configure(Setting(name, value))
        name = Text(situation.controller)
        self._listener, _ = endpoint.call("socket", [..., "SOCK_STREAM", "IPPROTO_TCP"], False)
        options = [("SOL_SOCKET", "SO_REUSEADDR", [1]), ("SOL_TCP", "TCP_CONGESTION", name)]
        if situation.send_buffer is None:
            options.append(("SOL_SOCKET", "SO_SNDBUF", [LARGE_BUFFER]))
        for level, option, chosen in options:
            endpoint.call("setsockopt", [self._listener, level, option, chosen, 4], False)
        endpoint.call("bind", [self._listener, ..., ...], False)
        endpoint.call("listen", [self._listener, 1], False)

    def begin(self, syn_s: float | None = None) -> None:
        """The SYN arrives, at another time than that of the situation if there is one."""
        situation, endpoint = self._situation, self._endpoint
        endpoint.wait_until(self._instant(-situation.handshake_ms) if syn_s is None else syn_s)
        self._note_met(Sample())
        endpoint.inject(syn(situation))

    def open(self, ack_s: float | None = None) -> None:
        """The ACK of the handshake arrives, and the application has a connection."""
        situation, endpoint = self._situation, self._endpoint
        opened_s = self._instant(0) if ack_s is None else ack_s
        endpoint.wait_until(opened_s)
        reply = endpoint.receive(opened_s)
        if reply is not None and reply[1].options is not None and reply[1].options.timestamps:
            self._stamp = reply[1].options.timestamps[0]
        self._inject(0, Ack(0, stamp=self._stamp))
        self._descriptor, _ = endpoint.call("accept", [self._listener, ..., ...], False)
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
                happening = self._network.take()
                if happening is not None:
                    self._happen(due, happening)
        self.end()

    def receive_in(self, now: int) -> None:
        """Takes what leaves before the middle of a cell."""
        self._receive(self._instant(now))

    def happen_in(self, now: int) -> None:
        """Lets the events of a cell happen."""
        self._endpoint.wait_until(self._instant(now))
        while (due := self._network.due) is not None and due <= now:
            happening = self._network.take()
            if happening is not None:
                self._happen(due, happening)

    def end(self) -> Played:
        """The situation was played."""
        self.played.late_s = self._endpoint.late
        return self.played

    def follow(self, met: Sequence[Met]) -> None:
        """The transfer in an open loop. It ends where the endpoint meets segments that it has not sent."""
        self._follows = True
        for at_us, happening in met:
            self._receive(at_us / MICROSECONDS)
            self._endpoint.wait_until(at_us / MICROSECONDS)
            try:
                self._happen(self._cell(at_us / MICROSECONDS), self._shifted(happening, self._stamp))
            except UnsupportedError:
                return
        self._receive(self._instant(self._situation.end_ms))

    def _receive(self, until_s: float) -> None:
        while (left := self._endpoint.receive(until_s)) is not None:
            self._on_departure(*left)

    def _note_met(self, happening: Ack | Write | Sample) -> float:
        """Notes that the endpoint meets it now. Returns the time, as it is kept."""
        at_us = round(self._endpoint.now * MICROSECONDS)
        self.played.met.append((at_us, self._shifted(happening, -(self._stamp or 0))))
        return at_us / MICROSECONDS

    @staticmethod
    def _shifted(happening: Ack | Write | Sample, by: int | None) -> Ack | Write | Sample:
        """An ACK with another timestamp: those that are kept count from that of the SYN-ACK."""
        if not isinstance(happening, Ack) or happening.stamp is None or by is None:
            return happening
        return replace(happening, stamp=happening.stamp + by)

    def _happen(self, now: int, happening: Write | Sample | Ack) -> None:
        log = self.played.log
        if isinstance(happening, Write):
            self._note_met(happening)
            log.append((now, happening))
            size = happening.units * self._situation.unit
            blocks = self._situation.send_buffer is not None
            self._endpoint.call("write", [self._descriptor, ..., size], blocks)
        elif isinstance(happening, Sample):
            read_s = self._note_met(happening)
            if self.played.open_loop:
                # Both loops read it then, however late.
                now = self._cell(read_s)
            information = self._endpoint.information()
            values = tuple(information[f"tcpi_{name}"] for name in FIELDS)
            self.played.states.append((now, *values))
            log.append((now, State(values)))
        else:
            self._inject(now, happening)

    def _inject(self, now: float, ack: Ack) -> None:
        packet = acknowledgement(self._situation, int(now), ack, self._stamp)
        if self._situation.spacing_us and not self._follows:
            self._latest = max(self._instant(now), self._latest + self._situation.spacing_us / MICROSECONDS)
            self._endpoint.wait_until(self._latest)
            now = self._latest * 1000 - 1 - self._origin
        self.played.log.append((now, Arrival(packet)))
        self._note_met(ack)
        self._endpoint.inject(packet)
        if packet.payload > 0 and self._endpoint.is_readable:
            # Unread data would hold ACKs back, as the window would not advance (__tcp_ack_snd_check).
            self.played.log.append((now, Read(packet.payload)))
            self._endpoint.call("read", [self._descriptor, ..., packet.payload], False)

    def _on_departure(self, at_s: float, packet: Packet) -> None:
        now = self._cell(at_s)
        if packet.payload == 0:
            if self._situation.peer and packet.acknowledged is not None:
                self.played.sent.append((now, -1 - (packet.acknowledged - 1) // self._situation.size))
                self.played.log.append((now, Departure(packet)))
            return
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
    start, length = 1 + ack.start * situation.size, ack.data * situation.size
    return Packet("E." if ack.echo else ".", start, length, 1 + ack.cumulative * unit, window, options)
