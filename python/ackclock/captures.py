"""Packet captures (pcapng): the ACKs that reach the sender of each TCP connection.

A capture may come from anywhere: dumpcap, tcpdump, Wireshark, or ``--pcap`` of a simulation. Blocks are read
by the package ``pcapng``; the few fields of the headers that are needed are taken from the packets here.
"""

from __future__ import annotations

import ipaddress
import struct
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ackclock.errors import InputError
from ackclock.metrics.tables import Array
from ackclock.models.checks import library

LINK_HEADERS = {0: 4, 1: 14, 101: 0, 108: 4, 113: 16, 228: 0, 229: 0, 276: 20}
"""Bytes before the IP header by the type of a link: loopback of BSD, Ethernet, raw IP, cooked by Linux."""
_VLAN = b"\x81\x00"
_TCP = 6
_FIN_SYN_RST = 0b111
_ACK = 0b1_0000


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
    seen: list[tuple[float, int]] = field(default_factory=list)
    """Its ACKs: when they came, in s, and their numbers in the header."""

    def acks(self) -> tuple[Array, Array]:
        """When ACKs came, in s from the first packet of the capture, and what they acknowledged, in bytes.

        Bytes count from the first ACK. One that acknowledges less than an earlier one was overtaken and is
        left out.
        """
        if not self.seen:
            return np.zeros(0), np.zeros(0)
        times, numbers = (np.array(one) for one in zip(*self.seen, strict=True))
        # Sequence numbers begin anew after 2^32.
        steps = (np.diff(numbers) + 2**31) % 2**32 - 2**31
        bytes_acked = np.concatenate(([0.0], np.cumsum(steps)))
        newest = bytes_acked >= np.maximum.accumulate(bytes_acked)
        return times[newest], bytes_acked[newest]


def connections(path: Path, interface: int = 0) -> list[Connection]:
    """The directions of the connections of a capture that carry data, in the order in which they begin.

    ``interface`` is its interface, from 0: a capture of the simulator at one place has one, and that of all
    places one for each, of which 0 is the sender. Raises InputError for a file that is no capture, or has no
    such interface.
    """
    found: dict[tuple[str, str], Connection] = {}
    with warnings.catch_warnings():
        # The package warns of itself where a packet has a comment.
        warnings.simplefilter("ignore", DeprecationWarning)
        for time, segment in _segments(path, interface):
            if segment.payload:
                one = found.setdefault((segment.source, segment.destination), _new(segment))
                one.packets += 1
                one.packet_bytes = max(one.packet_bytes, segment.length)
            elif segment.flags & _ACK and not segment.flags & _FIN_SYN_RST:
                back = found.get((segment.destination, segment.source))
                if back is not None:
                    back.seen.append((time, segment.acknowledged))
    return list(found.values())


def _new(segment: _Segment) -> Connection:
    return Connection(segment.source, segment.destination)


def _segments(path: Path, interface: int) -> Iterator[tuple[float, _Segment]]:
    """The TCP segments seen by an interface, with their times."""
    pcapng = library("pcapng", "captures", "reading a capture")
    first: int | None = None
    seen = 0
    try:
        with path.open("rb") as file:
            for block in pcapng.FileScanner(file):
                if isinstance(block, pcapng.blocks.InterfaceDescription):
                    seen += 1
                if not isinstance(block, pcapng.blocks.EnhancedPacket) or block.interface_id != interface:
                    continue
                # Whole ticks, as a time since 1970 as a float is good to 0.2 microseconds only.
                ticks = (block.timestamp_high << 32) + block.timestamp_low
                first = ticks if first is None else first
                segment = _segment(_ip_packet(block.packet_data, block.interface.link_type, path))
                if segment is not None:
                    yield (ticks - first) * float(block.timestamp_resolution), segment
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    except (pcapng.exceptions.PcapngException, ValueError, KeyError, IndexError, struct.error) as error:
        raise InputError(
            f"{path}: is no whole capture in pcapng ({error}); `editcap -F pcapng` makes one"
        ) from error
    if not seen:
        raise InputError(f"{path}: the capture is empty")
    if interface >= seen:
        raise InputError(f"{path}: --interface {interface}: the capture has {seen}, counted from 0")


def _ip_packet(packet: bytes, link: int, path: Path) -> bytes:
    """A packet without the header of its link."""
    if link not in LINK_HEADERS:
        known = ", ".join(map(str, LINK_HEADERS))
        raise InputError(
            f"{path}: link type {link}: must be one of {known} (Ethernet, raw IP, cooked, loopback)"
        )
    header = LINK_HEADERS[link]
    if link == 1 and packet[12:14] == _VLAN:
        header += 4
    return packet[header:]


def _segment(packet: bytes) -> _Segment | None:
    """A TCP segment from the bytes of an IP packet, whose payload may be cut off; None for anything else."""
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
        ports, sequence, acknowledged, offset, flags = struct.unpack_from("!4sIIBB", packet, header)
    except (IndexError, struct.error):
        return None
    here, there = (
        f"{ipaddress.ip_address(address)}:{port}"
        for address, port in zip(addresses, struct.unpack("!HH", ports), strict=True)
    )
    payload = length - header - (offset >> 4) * 4
    return _Segment(here, there, sequence, acknowledged, flags, max(payload, 0), length)
