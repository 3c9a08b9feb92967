"""The files of packet captures: pcapng, and the classic pcap of ``tcpdump -w``. Frames with their times.

A capture may have millions of frames, so a file is mapped into memory and its frames are columns of numbers.
"""

from __future__ import annotations

import mmap
import struct
from array import array
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ackclock.errors import InputError
from ackclock.metrics.tables import Array
from ackclock.reading import refuse_pipe, unreadable

Numbers = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]

CLASSIC = {
    b"\xa1\xb2\xc3\xd4": (">", 10**6),
    b"\xd4\xc3\xb2\xa1": ("<", 10**6),
    b"\xa1\xb2\x3c\x4d": (">", 10**9),
    b"\x4d\x3c\xb2\xa1": ("<", 10**9),
}
"""The first bytes of a classic capture, with its byte order and the parts of a second of its times."""

SECTION, INTERFACE, PACKET = 0x0A0D0D0A, 1, 6
"""Types of blocks of pcapng that are read: section header, interface description, enhanced packet. The first
is the same in both byte orders."""
ORDERS = {b"\x1a\x2b\x3c\x4d": ">", b"\x4d\x3c\x2b\x1a": "<"}
"""The byte order of a section, by its magic number."""
RESOLUTION = 9
"""The option of an interface that has the unit of its times (if_tsresol)."""

LARGEST_FRAME = 1 << 20
"""No frame is longer in bytes. A larger number in a file is an error in it."""
LEAST_BLOCK, LEAST_PACKET = 12, 32
"""Bytes of a block, and of an enhanced packet without options and data."""


@dataclass(frozen=True)
class Frames:
    """The frames that an interface of a capture has seen, a row each."""

    data: Bytes
    """The bytes of the file."""
    times: Array
    """Seconds from the first frame."""
    links: Numbers
    """The types of their links."""
    begin: Numbers
    """The places of their first bytes in ``data``."""
    captured: Numbers
    """The bytes of them that the file holds."""
    length: Numbers
    """Their bytes on the link."""
    is_cut: bool
    """The file ends within a frame, which is left out."""


@dataclass
class _Rows:
    """Frames that are being found."""

    data: Bytes
    places: array[int] = field(default_factory=lambda: array("q"))
    """The records or blocks of frames."""
    parts: list[_Part] = field(default_factory=list)
    seen: int = 0
    """Interfaces."""
    is_cut: bool = False

    def frames(self) -> Frames:
        """The frames as columns. Ticks are whole: a float of the time since 1970 is good to 0.2 us only."""
        places = np.array(self.places, dtype=np.int64)
        times = np.zeros(places.size)
        links, begin, captured, length = (np.zeros(places.size, dtype=np.int64) for _ in range(4))
        ends = [one.row for one in self.parts[1:]] + [places.size]
        start: Fraction | None = None
        for part, high in zip(self.parts, ends, strict=True):
            rows = slice(part.row, high)
            if high > part.row:
                ticks, begin[rows], captured[rows], length[rows] = part.read(self.data, places[rows])
                first = int(ticks[0])
                start = first * part.unit if start is None else start
                steps = (ticks - ticks[0]).astype(np.int64)
                times[rows] = float(first * part.unit - start) + steps * float(part.unit)
                links[rows] = part.link
        return Frames(self.data, times, links, begin, captured, length, self.is_cut)


@dataclass(frozen=True)
class _Part:
    """Frames in succession with one link, unit of time and byte order."""

    row: int
    """The first of them."""
    order: str
    link: int
    unit: Fraction
    """The seconds of a tick."""
    is_classic: bool = False

    def read(self, data: Bytes, places: Numbers) -> tuple[npt.NDArray[np.uint64], Numbers, Numbers, Numbers]:
        """Ticks, first bytes, captured bytes and lengths of frames."""

        def word(offset: int) -> npt.NDArray[np.uint64]:
            text = data[places[:, None] + np.arange(offset, offset + 4)]
            return np.asarray(text.view(f"{self.order}u4")[:, 0], dtype=np.uint64)

        first = 0 if self.is_classic else 12
        high = np.uint64(self.unit.denominator if self.is_classic else 1 << 32)
        ticks = word(first) * high + word(first + 4)
        captured, length = (word(first + offset).astype(np.int64) for offset in (8, 12))
        return ticks, places + first + 16, captured, length


def is_capture(path: Path) -> bool:
    """True for a file that begins as a capture."""
    try:
        with path.open("rb") as file:
            head = file.read(4)
    except OSError as error:
        raise unreadable(path, error) from error
    return head in CLASSIC or head == SECTION.to_bytes(4)


def frames(path: Path, interface: int = 0) -> Frames:
    """The frames that an interface of a capture has seen.

    A file that ends within a packet is read up to there, as a killed ``tcpdump`` leaves it. Raises InputError
    for a file that is no capture, is damaged, or has no such interface.
    """
    refuse_pipe(path)
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            text: bytes | mmap.mmap = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if size else b""
    except OSError as error:
        raise unreadable(path, error) from error
    rows = _Rows(np.frombuffer(text, dtype=np.uint8))
    kind = "pcapng or pcap"
    try:
        if text[:4] in CLASSIC:
            kind = "pcap"
            _classic(text, rows)
        else:
            _pcapng(text, rows, interface)
        if rows.is_cut and not rows.places:
            raise ValueError("it ends before its first packet does")
        if not rows.seen:
            raise InputError(f"{path}: the capture is empty")
        if interface >= rows.seen:
            raise InputError(f"{path}: --interface {interface}: the capture has {rows.seen}, counted from 0")
        return rows.frames()
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: is no whole capture in {kind}: {error}") from None


def _classic(text: bytes | mmap.mmap, rows: _Rows) -> None:
    """The frames of a classic capture, which has one interface."""
    order, parts = CLASSIC[text[:4]]
    if len(text) < 24:
        raise ValueError(f"its head ends after {len(text)} bytes")
    rows.seen = 1
    link = struct.unpack_from(f"{order}I", text, 20)[0] & 0x0FFFFFFF
    rows.parts.append(_Part(0, order, link, Fraction(1, parts), is_classic=True))
    captured = struct.Struct(f"{order}I").unpack_from
    at, size, found = 24, len(text), rows.places.append
    while at + 16 <= size:
        [length] = captured(text, at + 8)
        if length > LARGEST_FRAME:
            raise ValueError(f"the packet at byte {at} is damaged")
        if at + 16 + length > size:
            break
        found(at)
        at += 16 + length
    rows.is_cut = at != size


def _pcapng(text: bytes | mmap.mmap, rows: _Rows, interface: int) -> None:
    """The frames of an interface of a capture in pcapng (draft-ietf-opsawg-pcapng)."""
    if text and text[:4] != SECTION.to_bytes(4):
        raise ValueError("it does not begin as one")
    at, size, order, described, found = 0, len(text), "<", 0, rows.places.append
    head, packet = (struct.Struct(f"{order}{fields}").unpack_from for fields in ("II", "IIIIIII"))
    while at + LEAST_BLOCK <= size:
        kind, length = head(text, at)
        if kind == SECTION:
            order, described = ORDERS.get(text[at + 8 : at + 12], ""), 0
            if not order:
                raise ValueError(f"the section at byte {at} has no byte order")
            head, packet = (struct.Struct(f"{order}{fields}").unpack_from for fields in ("II", "IIIIIII"))
            kind, length = head(text, at)
        if length < LEAST_BLOCK or length % 4 or length > 2 * LARGEST_FRAME:
            raise ValueError(f"the block at byte {at} is damaged")
        if at + length > size:
            break
        if kind == PACKET and length >= LEAST_PACKET:
            of, captured = packet(text, at)[2:6:3]
            if captured > length - LEAST_PACKET or of >= described:
                raise ValueError(f"the packet at byte {at} is damaged")
            if of == interface:
                found(at)
        elif kind == INTERFACE:
            if described == interface:
                rows.parts.append(_Part(len(rows.places), order, *_described(text[at : at + length], order)))
            described += 1
            rows.seen = max(rows.seen, described)
        at += length
    rows.is_cut = at != size


def _described(block: bytes, order: str) -> tuple[int, Fraction]:
    """The link type and the seconds of a tick in the description of an interface."""
    if len(block) < 20:
        raise ValueError("the description of an interface is damaged")
    [link] = struct.unpack_from(f"{order}H", block, 8)
    at, unit = 16, Fraction(1, 10**6)
    while at + 8 <= len(block):
        code, length = struct.unpack_from(f"{order}HH", block, at)
        if code == 0:
            break
        if code == RESOLUTION and length:
            base, power = (2, block[at + 4] & 0x7F) if block[at + 4] & 0x80 else (10, block[at + 4])
            unit = Fraction(1, base**power)
        at += 4 + -(-length // 4) * 4
    return link, unit
