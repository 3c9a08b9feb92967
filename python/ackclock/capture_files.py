"""The files of packet captures: pcapng, and the classic pcap of ``tcpdump -w``. Frames with their times."""

from __future__ import annotations

import struct
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ackclock.arguments import library
from ackclock.errors import InputError

CLASSIC = {
    b"\xa1\xb2\xc3\xd4": (">", 1e-6),
    b"\xd4\xc3\xb2\xa1": ("<", 1e-6),
    b"\xa1\xb2\x3c\x4d": (">", 1e-9),
    b"\x4d\x3c\xb2\xa1": ("<", 1e-9),
}
"""The first bytes of a classic capture, with its byte order and the unit of its fractions of seconds."""

LARGEST_FRAME = 1 << 20
"""No frame is longer in bytes. A larger number in a file is an error in it."""


class Frame(NamedTuple):
    """A frame of a capture."""

    time: float
    """Seconds from the first frame of its interface."""
    link: int
    """The type of its link."""
    data: bytes


def frames(path: Path, interface: int = 0) -> Iterator[Frame]:
    """The frames that an interface of a capture has seen.

    Raises InputError for a file that is no capture, or has no such interface.
    """
    try:
        with path.open("rb") as file:
            classic = file.read(4) in CLASSIC
        yield from _classic(path, interface) if classic else _pcapng(path, interface)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error


def _classic(path: Path, interface: int) -> Iterator[Frame]:
    """The frames of a classic capture, which has one interface."""
    with path.open("rb") as file:
        head = file.read(24)
        order, unit = CLASSIC[head[:4]]
        if len(head) < 24:
            raise InputError(f"{path}: is no whole capture: its head ends after {len(head)} bytes")
        if interface > 0:
            raise InputError(f"{path}: --interface {interface}: the capture has 1, counted from 0")
        link = struct.unpack(f"{order}I", head[20:])[0] & 0x0FFFFFFF
        first: tuple[int, int] | None = None
        while record := file.read(16):
            if len(record) == 16:
                seconds, fraction, length, _ = struct.unpack(f"{order}IIII", record)
            if len(record) < 16 or length > LARGEST_FRAME or len(data := file.read(length)) < length:
                raise InputError(f"{path}: is no whole capture: it ends within a packet, or is damaged")
            first = (seconds, fraction) if first is None else first
            yield Frame(seconds - first[0] + (fraction - first[1]) * unit, link, data)


def _pcapng(path: Path, interface: int) -> Iterator[Frame]:
    pcapng = library("pcapng", "reading a capture", "python-pcapng")
    first: int | None = None
    seen = 0
    try:
        with path.open("rb") as file, warnings.catch_warnings():
            # The package warns of itself where a packet has a comment.
            warnings.simplefilter("ignore", DeprecationWarning)
            for block in pcapng.FileScanner(file):
                if isinstance(block, pcapng.blocks.InterfaceDescription):
                    seen += 1
                if not isinstance(block, pcapng.blocks.EnhancedPacket) or block.interface_id != interface:
                    continue
                # Whole ticks, as a time since 1970 as a float is good to 0.2 microseconds only.
                ticks = (block.timestamp_high << 32) + block.timestamp_low
                first = ticks if first is None else first
                time = (ticks - first) * float(block.timestamp_resolution)
                yield Frame(time, block.interface.link_type, block.packet_data)
    except InputError:
        raise
    except (pcapng.exceptions.PcapngException, ValueError, LookupError, OverflowError, MemoryError) as error:
        why = " ".join(str(error).split()) or type(error).__name__
        raise InputError(f"{path}: is no whole capture in pcapng or pcap ({why})") from error
    except struct.error as error:
        raise InputError(f"{path}: is no whole capture in pcapng or pcap ({error})") from error
    if not seen:
        raise InputError(f"{path}: the capture is empty")
    if interface >= seen:
        raise InputError(f"{path}: --interface {interface}: the capture has {seen}, counted from 0")
