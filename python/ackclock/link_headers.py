"""The headers of links in captures: the places of IP packets in frames, by the type of their link.

Numbers are from pcapng and pcap (LINKTYPE_, IANA registry "PCAP Link Types"). Frames are columns: a function
takes the places of many frames and returns the places of their packets, or the ends of frames without one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ackclock.capture_files import Bytes, Numbers
from ackclock.errors import InputError

IP_TYPES = (0x0800, 0x86DD)
"""The EtherTypes of IPv4 and IPv6."""
VLAN_TYPES = (0x8100, 0x88A8, 0x9100)
PPPOE_SESSION = 0x8864
PPP_TYPES = (0x21, 0x57)
"""The protocols of PPP that are IPv4 and IPv6."""
DATA, PROTECTED, HAS_QOS, HAS_FOUR_ADDRESSES = 0x08, 0x40, 0x80, 0x03
SNAP = 0xAAAA_0300, 0x0000
"""The header of LLC before an EtherType: four bytes, and two."""


@dataclass(frozen=True)
class Fields:
    """Numbers in the bytes of many frames, in the order of the network. Bytes behind a frame are 0."""

    data: Bytes
    end: Numbers
    """The end of each frame."""

    def byte(self, at: Numbers) -> Numbers:
        """The bytes at ``at``, one in each frame."""
        inside = at < self.end
        return np.where(inside, self.data[np.where(inside, at, 0)], 0).astype(np.int64)

    def number(self, at: Numbers, length: int) -> Numbers:
        """The numbers of ``length`` bytes at ``at``, one in each frame."""
        is_inside = bool((at + length <= self.end).all())
        found = np.zeros(at.size, dtype=np.int64)
        for place in range(length):
            found = found << 8 | (self.data[at + place] if is_inside else self.byte(at + place))
        return found

    def of(self, rows: npt.NDArray[np.bool_]) -> Fields:
        """The fields of some of the frames."""
        return Fields(self.data, self.end[rows])


Places = Callable[[Fields, Numbers], Numbers]


def _after(bytes_before: int) -> Places:
    return lambda _, at: at + bytes_before


def _typed(offset: int) -> Places:
    """The packet behind an EtherType at ``offset``, with tags of VLANs and PPPoE between."""

    def packet(fields: Fields, at: Numbers) -> Numbers:
        at = at + offset
        kind = fields.number(at, 2)
        while (tagged := np.isin(kind, VLAN_TYPES)).any():
            at[tagged] += 4
            kind[tagged] = fields.of(tagged).number(at[tagged], 2)
        found = np.where(np.isin(kind, IP_TYPES), at + 2, fields.end)
        return np.where(kind == PPPOE_SESSION, _ppp(fields, at + 8), found)

    return packet


def _ppp(fields: Fields, at: Numbers) -> Numbers:
    """The packet in a frame of PPP, with the address of HDLC or without, its protocol in one byte or two."""
    at = np.where(fields.number(at, 2) == 0xFF03, at + 2, at)
    short = fields.byte(at)
    is_wide = (at < fields.end) & (short & 1 == 0)
    protocol = np.where(is_wide, fields.number(at, 2), short)
    return np.where(np.isin(protocol, PPP_TYPES), at + 1 + is_wide, fields.end)


def _cooked(fields: Fields, at: Numbers) -> Numbers:
    """The packet in a frame that Linux has cooked, version 2: the EtherType comes first."""
    return np.where(np.isin(fields.number(at, 2), IP_TYPES), at + 20, fields.end)


def _wireless(fields: Fields, at: Numbers) -> Numbers:
    """The packet in a frame of IEEE 802.11 that carries data in the clear."""
    kind, flags = fields.byte(at), fields.byte(at + 1)
    has_four = flags & HAS_FOUR_ADDRESSES == HAS_FOUR_ADDRESSES
    body = at + 24 + 6 * has_four + 2 * (kind & HAS_QOS != 0)
    is_snap = (fields.number(body, 4) == SNAP[0]) & (fields.number(body + 4, 2) == SNAP[1])
    carries = (kind & 0x0C == DATA) & (flags & PROTECTED == 0) & is_snap
    return np.where(carries, _typed(6)(fields, body), fields.end)


def _radiotap(fields: Fields, at: Numbers) -> Numbers:
    return _wireless(fields, at + fields.byte(at + 2) + 256 * fields.byte(at + 3))


LINKS: dict[int, Places] = {
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


def ip_packets(fields: Fields, begin: Numbers, links: Numbers, path: Path) -> Numbers:
    """The places of the IP packets in frames, or the ends of frames without one.

    Raises InputError for an unknown link.
    """
    found = fields.end.copy()
    for link in np.unique(links).tolist():
        if link not in LINKS:
            raise InputError(
                f"{path}: link type {link}: must be one of {', '.join(map(str, LINKS))} "
                "(loopback, Ethernet, PPP, raw IP, 802.11, cooked)"
            )
        rows = links == link
        found[rows] = LINKS[link](fields.of(rows), begin[rows])
    return found
