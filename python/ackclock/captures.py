"""Packet captures: the ACKs that reach the sender of each TCP connection.

A capture may come from anywhere: dumpcap, tcpdump, Wireshark, or ``--pcap`` of a simulation. The few fields
of the headers that are needed are taken from the packets here.
"""

from __future__ import annotations

import ipaddress
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from ackclock.capture_files import frames
from ackclock.link_headers import ip_packet
from ackclock.metrics.tables import Array

_TCP = 6
_SACK, _END, _NO_OPERATION = 5, 0, 1
"""Kinds of TCP options."""
_FIN_SYN_RST = 0b111
_ACK = 0b1_0000
_WHOLE = 1 << 32
"""Sequence numbers begin anew after so many."""


class _Segment(NamedTuple):
    """The fields of a TCP segment that are read."""

    source: str
    destination: str
    sequence: int
    acknowledged: int
    flags: int
    payload: int
    length: int
    """Bytes of the IP packet."""
    window: int
    """The receive window as the header has it."""
    has_sack: bool


class Acknowledgement(NamedTuple):
    """A pure ACK as the sender gets it."""

    time: float
    """In s from the first packet of the capture."""
    number: int
    """Its number in the header."""
    repeats: bool = True
    """If it acknowledges no more than the one before, it is a duplicate: data is outstanding, and the window
    is the same, or there are SACK blocks (RFC 5681, section 2)."""


@dataclass
class Connection:
    """One direction of a TCP connection: data of ``sender``, and the pure ACKs that come back."""

    sender: str
    """Address and port."""
    receiver: str
    packets: int = 0
    """The number of packets with data."""
    packet_bytes: int = 0
    """The largest of them, with its IP header."""
    seen: list[Acknowledgement] = field(default_factory=list)
    """Its ACKs, in the order in which they came."""
    _sent_to: int | None = None
    """The highest sequence number that was sent."""
    _window: int | None = None
    """The receive window of the last ACK."""

    def send(self, segment: _Segment) -> None:
        """Counts a segment with data."""
        self.packets += 1
        self.packet_bytes = max(self.packet_bytes, segment.length)
        end = (segment.sequence + segment.payload) % _WHOLE
        if self._sent_to is None or _ahead(end, self._sent_to) > 0:
            self._sent_to = end

    def acknowledge(self, time: float, segment: _Segment) -> None:
        """Notes a pure ACK."""
        outstanding = self._sent_to is not None and _ahead(self._sent_to, segment.acknowledged) > 0
        repeats = outstanding and (segment.has_sack or segment.window == self._window)
        self.seen.append(Acknowledgement(time, segment.acknowledged, repeats))
        self._window = segment.window

    def acks(self) -> tuple[Array, Array]:
        """The times of ACKs, in s from the first packet of the capture, and the bytes that they acknowledged.

        Bytes count from the first ACK. Left out are one that acknowledges less than an earlier one, which was
        overtaken, and one that acknowledges the same and is no duplicate: a window update, or the answer to a
        probe of a closed window.
        """
        if not self.seen:
            return np.zeros(0), np.zeros(0)
        times = np.array([one.time for one in self.seen])
        numbers = np.array([one.number for one in self.seen])
        repeats = np.array([one.repeats for one in self.seen])
        steps = (np.diff(numbers) + _WHOLE // 2) % _WHOLE - _WHOLE // 2
        bytes_acked = np.concatenate(([0.0], np.cumsum(steps)))
        highest = np.concatenate(([-1.0], np.maximum.accumulate(bytes_acked)[:-1]))
        chosen = (bytes_acked > highest) | (repeats & (bytes_acked == highest))
        return times[chosen], bytes_acked[chosen]


def connections(path: Path, interface: int = 0) -> list[Connection]:
    """The directions of the connections of a capture that carry data, in the order in which they begin.

    ``interface`` is its interface, from 0: a capture of the simulator at one place has one. A capture of all
    places has one for each, of which 0 is the sender. Raises InputError for a file that is no capture, or has
    no such interface.
    """
    found: dict[tuple[str, str], Connection] = {}
    for time, segment in _segments(path, interface):
        if segment.payload:
            ends = segment.source, segment.destination
            found.setdefault(ends, Connection(*ends)).send(segment)
        elif segment.flags & _ACK and not segment.flags & _FIN_SYN_RST:
            back = found.get((segment.destination, segment.source))
            if back is not None:
                back.acknowledge(time, segment)
    return list(found.values())


@dataclass
class Passage:
    """One direction of a connection: ends of data segments, and the numbers of ACKs, in bytes."""

    sender: str
    segment: int = 0
    """The largest payload of a segment."""
    events: list[tuple[float, Literal["data", "ack"], int]] = field(default_factory=list)
    _first: int = 0
    _highest: int = 0

    def _place(self, number: int) -> int:
        """A sequence number counted from the start, however often numbers began anew."""
        return self._highest + _ahead(number, (self._first + self._highest) % _WHOLE)

    def add(self, time: float, kind: Literal["data", "ack"], number: int) -> None:
        """Notes a segment by its end, or an ACK."""
        place = self._place(number)
        self._highest = max(self._highest, place)
        self.events.append((time, kind, place))


def passages(path: Path, interface: int = 0) -> list[Passage]:
    """The directions of the connections of a capture that carry data, packet by packet."""
    found: dict[tuple[str, str], Passage] = {}
    for time, segment in _segments(path, interface):
        ends = segment.source, segment.destination
        if segment.payload:
            passage = found.get(ends)
            if passage is None:
                passage = found.setdefault(ends, Passage(segment.source, _first=segment.sequence))
            passage.segment = max(passage.segment, segment.payload)
            passage.add(time, "data", (segment.sequence + segment.payload) % _WHOLE)
        back = found.get((segment.destination, segment.source))
        if back is not None and segment.flags & _ACK and not segment.flags & _FIN_SYN_RST:
            back.add(time, "ack", segment.acknowledged)
    return list(found.values())


def _ahead(one: int, other: int) -> int:
    """The bytes by which a sequence number is ahead of another, below 0 if it is behind."""
    return (one - other + _WHOLE // 2) % _WHOLE - _WHOLE // 2


def _segments(path: Path, interface: int) -> Iterator[tuple[float, _Segment]]:
    """The TCP segments seen by an interface, with their times."""
    for frame in frames(path, interface):
        segment = _segment(ip_packet(frame.data, frame.link, path))
        if segment is not None:
            yield frame.time, segment


def _segment(packet: bytes) -> _Segment | None:
    """A TCP segment from the bytes of an IP packet, whose payload may be cut off. None for anything else."""
    try:
        if packet[0] >> 4 == 4:
            header, length, protocol = (packet[0] & 15) * 4, int.from_bytes(packet[2:4]), packet[9]
            addresses = packet[12:16], packet[16:20]
            if int.from_bytes(packet[6:8]) & 0x1FFF:
                return None  # a fragment without TCP header
        elif packet[0] >> 4 == 6:
            header, length, protocol = 40, 40 + int.from_bytes(packet[4:6]), packet[6]
            addresses = packet[8:24], packet[24:40]
        else:
            return None
        if protocol != _TCP:
            return None
        fields = struct.unpack_from("!4sIIBBH", packet, header)
    except (IndexError, struct.error):
        return None
    ports, sequence, acknowledged, offset, flags, window = fields
    here, there = (
        f"{ipaddress.ip_address(address)}:{port}"
        for address, port in zip(addresses, struct.unpack("!HH", ports), strict=True)
    )
    data = header + (offset >> 4) * 4
    has_sack = _has_sack(packet[header + 20 : data])
    return _Segment(
        here, there, sequence, acknowledged, flags, max(length - data, 0), length, window, has_sack
    )


def _has_sack(options: bytes) -> bool:
    """True if there are SACK blocks among the options of a segment."""
    at = 0
    while at < len(options) and options[at] not in (_END, _SACK):
        if options[at] == _NO_OPERATION:
            at += 1
        elif at + 1 < len(options) and options[at + 1] >= 2:
            at += options[at + 1]
        else:
            return False
    return at < len(options) and options[at] == _SACK
