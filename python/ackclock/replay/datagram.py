"""IPv4 packets with TCP as the bytes that cross a TUN device, with the header of virtio before them."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator

from ackclock.replay.script import ORDER, Options, Packet

HEADER = 10
"""The length of the virtio header, with the work on checksums and trains left to the device."""
IP = struct.Struct("!BBHHHBBH4s4s")
TCP = struct.Struct("!HHIIBBHHH")
BITS = {"F": 0x01, "S": 0x02, "R": 0x04, "P": 0x08, ".": 0x10, "E": 0x40, "W": 0x80, "A": 0x100}
WORD = 0xFFFFFFFF
NOP = b"\1"
MSS, WSCALE, SACK_PERMITTED, SACK, TIMESTAMPS = 2, 3, 4, 5, 8


def read(data: bytes) -> tuple[Packet, tuple[int, int], int] | None:
    """The packet in ``data``, its ports, and its sequence number on the wire. None if it is no TCP over IPv4.

    The packet has sequence number 0. Acknowledgement and SACK blocks are as on the wire.
    """
    data = data[HEADER:]
    if len(data) < IP.size + TCP.size or data[0] >> 4 != 4 or data[9] != socket.IPPROTO_TCP:
        return None
    header = (data[0] & 0xF) * 4
    source, target, sequence, acknowledged, offset, bits, window, _, _ = TCP.unpack_from(data, header)
    options = data[header + TCP.size : header + (offset >> 4) * 4]
    payload = len(data) - header - (offset >> 4) * 4
    bits |= (offset & 1) << 8
    flags = "".join(flag for flag in ORDER if bits & BITS[flag])
    packet = Packet(
        flags, 0, payload, acknowledged if "." in flags else None, window, _options(options), data[1] & 3
    )
    return packet, (source, target), sequence


def _options(data: bytes) -> Options:
    known = dict(_parts(data))
    stamps = struct.unpack("!II", known[TIMESTAMPS]) if TIMESTAMPS in known else None
    numbers = struct.unpack(f"!{len(known.get(SACK, b'')) // 4}I", known.get(SACK, b""))
    return Options(
        int.from_bytes(known[MSS], "big") if MSS in known else None,
        known[WSCALE][0] if WSCALE in known else None,
        SACK_PERMITTED in known,
        (stamps[0], stamps[1]) if stamps else None,
        tuple(zip(numbers[::2], numbers[1::2], strict=True)),
    )


def _parts(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Each option with its value."""
    at = 0
    while at < len(data) and data[at] != 0:
        if data[at] == 1:
            at += 1
            continue
        length = max(data[at + 1], 2)
        yield data[at], data[at + 2 : at + length]
        at += length


def write(packet: Packet, addresses: tuple[str, str], ports: tuple[int, int], base: int) -> bytes:
    """The bytes of ``packet`` from the first to the second address and port, with a payload of zeros.

    ``base`` is the first number of the other side on the wire, for acknowledgement and SACK blocks.
    """
    options = _written(packet.options or Options(), base)
    bits = sum(BITS[flag] for flag in packet.flags)
    acknowledged = 0 if packet.acknowledged is None else (packet.acknowledged + base) & WORD
    offset = (TCP.size + len(options)) // 4 << 4 | bits >> 8
    window = 0xFFFF if packet.window is None else packet.window & 0xFFFF
    numbers = (*ports, packet.sequence & WORD, acknowledged, offset, bits & 0xFF, window)
    ends = [socket.inet_aton(address) for address in addresses]
    segment = TCP.pack(*numbers, 0, 0) + options + bytes(packet.payload)
    pseudo = struct.pack("!4s4sHH", *ends, socket.IPPROTO_TCP, len(segment))
    segment = TCP.pack(*numbers, _checksum(pseudo + segment), 0) + segment[TCP.size :]
    fields = (0x45, packet.codepoint or 0, IP.size + len(segment), 0, 0x4000, 64, socket.IPPROTO_TCP)
    header = IP.pack(*fields, _checksum(IP.pack(*fields, 0, *ends)), *ends)
    return bytes(HEADER) + header + segment


def _written(options: Options, base: int) -> bytes:
    """The options, each behind as many NOPs as let it end at a multiple of 4 bytes (RFC 7323, appendix A).

    Linux takes its fast path for packets with timestamps only if these are so (tcp_parse_aligned_timestamp).
    """
    parts = []
    if options.segment_size is not None:
        parts.append(struct.pack("!BBH", MSS, 4, options.segment_size))
    if options.sack_permitted:
        parts.append(struct.pack("!BB", SACK_PERMITTED, 2))
    if options.timestamps is not None:
        parts.append(struct.pack("!BBII", TIMESTAMPS, 10, *options.timestamps))
    if options.window_scale is not None:
        parts.append(struct.pack("!BBB", WSCALE, 3, options.window_scale))
    if options.sack:
        numbers = [(number + base) & WORD for block in options.sack for number in block]
        parts.append(struct.pack(f"!BB{len(numbers)}I", SACK, 2 + 4 * len(numbers), *numbers))
    return b"".join(NOP * (-len(part) % 4) + part for part in parts)


def _checksum(data: bytes) -> int:
    """The checksum of the Internet protocols (RFC 1071)."""
    padded = data + b"\0" * (len(data) % 2)
    total: int = sum(struct.unpack(f"!{len(padded) // 2}H", padded))
    while total > 0xFFFF:
        total = (total >> 16) + (total & 0xFFFF)
    return ~total & 0xFFFF
