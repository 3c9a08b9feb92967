"""Files of captures, byte by byte."""

import struct

import pytest

from ackclock import capture_files
from ackclock.errors import InputError

MOST = 1_048_576
"""Bytes of the largest frame."""


def classic(*frames):
    """A capture of Ethernet in microseconds, from the lengths of the frames in the file."""
    head = b"\xd4\xc3\xb2\xa1" + struct.pack("<HHiIII", 2, 4, 0, 0, 65_535, 1)
    records = (struct.pack("<IIII", 7, 5, length, length + 3) + bytes(length) for length in frames)
    return head + b"".join(records)


def block(kind, body, length=None):
    """A block of pcapng, of another length than it has if that is given."""
    shown = len(body) + 12 if length is None else length
    return struct.pack("<II", kind, shown) + body + struct.pack("<I", shown)


def sectioned(*blocks):
    """A capture in pcapng with one interface of Ethernet."""
    section = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
    return section + block(1, struct.pack("<HHI", 1, 0, 0)) + b"".join(blocks)


def read(tmp_path, text):
    (tmp_path / "capture").write_bytes(text)
    return capture_files.frames(tmp_path / "capture")


def test_a_frame_has_a_mebibyte_at_most(tmp_path):
    frames = read(tmp_path, classic(60, MOST))
    assert frames.captured.tolist() == [60, MOST]
    assert frames.length.tolist() == [63, MOST + 3]
    with pytest.raises(InputError, match="is no whole capture in pcap: the packet at byte 100 is damaged"):
        read(tmp_path, classic(60, MOST + 1))


def test_a_block_has_two_mebibytes_at_most(tmp_path):
    packet = block(6, struct.pack("<IIIII", 0, 0, 9, 4, 4) + b"data")
    other = block(0x0BAD, bytes(2 * MOST - 12))
    assert len(other) == 2 * MOST
    assert read(tmp_path, sectioned(other, packet)).captured.tolist() == [4]
    for length in (2 * MOST + 4, 8, 18):
        with pytest.raises(InputError, match="the block at byte 48 is damaged"):
            read(tmp_path, sectioned(block(0x0BAD, bytes(2 * MOST), length)))
