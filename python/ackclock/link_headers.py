"""The headers of links in captures: the IP packet in a frame, by the type of its link.

Numbers are from pcapng and pcap (LINKTYPE_, IANA registry "PCAP Link Types").
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ackclock.errors import InputError

IP_TYPES = (0x0800, 0x86DD)
"""The EtherTypes of IPv4 and IPv6."""
VLAN_TYPES = (0x8100, 0x88A8, 0x9100)
PPPOE_SESSION = 0x8864
PPP_TYPES = (0x21, 0x57)
"""The protocols of PPP that are IPv4 and IPv6."""
DATA, PROTECTED, HAS_QOS, HAS_FOUR_ADDRESSES = 0x08, 0x40, 0x80, 0x03
SNAP = b"\xaa\xaa\x03\x00\x00\x00"


def _after(bytes_before: int) -> Callable[[bytes], bytes]:
    return lambda frame: frame[bytes_before:]


def _typed(at: int) -> Callable[[bytes], bytes]:
    """The packet behind an EtherType at ``at``, with tags of VLANs and PPPoE between."""

    def packet(frame: bytes) -> bytes:
        place = at
        while (kind := int.from_bytes(frame[place : place + 2])) in VLAN_TYPES:
            place += 4
        if kind == PPPOE_SESSION:
            return _ppp(frame[place + 8 :])
        return frame[place + 2 :] if kind in IP_TYPES else b""

    return packet


def _ppp(frame: bytes) -> bytes:
    """The packet in a frame of PPP, with the address of HDLC or without, its protocol in one byte or two."""
    frame = frame.removeprefix(b"\xff\x03")
    wide = bool(frame) and not frame[0] & 1
    return frame[1 + wide :] if int.from_bytes(frame[: 1 + wide]) in PPP_TYPES else b""


def _cooked(frame: bytes) -> bytes:
    """The packet in a frame that Linux has cooked, version 2: the EtherType comes first."""
    return frame[20:] if int.from_bytes(frame[:2]) in IP_TYPES else b""


def _wireless(frame: bytes) -> bytes:
    """The packet in a frame of IEEE 802.11 that carries data in the clear."""
    if len(frame) < 2 or frame[0] & 0x0C != DATA or frame[1] & PROTECTED:
        return b""
    header = 24
    header += 6 if frame[1] & HAS_FOUR_ADDRESSES == HAS_FOUR_ADDRESSES else 0
    header += 2 if frame[0] & HAS_QOS else 0
    body = frame[header:]
    return _typed(6)(body) if body.startswith(SNAP) else b""


def _radiotap(frame: bytes) -> bytes:
    return _wireless(frame[int.from_bytes(frame[2:4], "little") :])


LINKS: dict[int, Callable[[bytes], bytes]] = {
    0: _after(4),
    1: _typed(12),
    9: _ppp,
    12: _after(0),
    14: _after(0),
    50: _ppp,
    101: _after(0),
    105: _wireless,
    108: _after(4),
    113: _typed(14),
    127: _radiotap,
    228: _after(0),
    229: _after(0),
    276: _cooked,
}
"""Loopback of BSD, Ethernet, PPP, raw IP, IEEE 802.11 with a radiotap header or without, cooked by Linux."""


def ip_packet(frame: bytes, link: int, path: Path) -> bytes:
    """The IP packet in a frame of a capture, or empty for one without.

    Raises InputError for an unknown link.
    """
    if link not in LINKS:
        raise InputError(
            f"{path}: link type {link}: must be one of {', '.join(map(str, LINKS))} "
            "(loopback, Ethernet, PPP, raw IP, 802.11, cooked)"
        )
    return LINKS[link](frame)
