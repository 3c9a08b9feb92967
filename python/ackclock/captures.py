"""Packet captures: the TCP connections in them, each direction as columns of segments and ACKs.

A capture may come from anywhere: dumpcap, tcpdump, Wireshark, or ``--pcap`` of a simulation. The few fields
of the headers that are needed are taken from the packets here.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from ackclock.capture_files import Frames, Numbers, frames
from ackclock.link_headers import Fields, ip_packets
from ackclock.metrics.tables import Array

Rows = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]

TCP = 6
EXTENSIONS = (0, 43, 60)
"""Headers of IPv6 before TCP: hop-by-hop options, routing, destination options. They have their lengths."""
END, NO_OPERATION, SEGMENT_SIZE, SCALE, SACK, TIMESTAMPS = 0, 1, 2, 3, 5, 8
"""Kinds of TCP options."""
ONLY_TIMESTAMPS = 0x0101_080A
"""The first bytes of the options of most segments: two fillers, and timestamps to their end."""
FIN, SYN, RST, ACK = 1, 2, 4, 16
LONGEST = (1 << 31) - 1
"""Bytes of a packet. A damaged length may be any number."""
WHOLE = 1 << 32
"""Sequence numbers begin anew after so many."""
CHUNK = 1 << 18
"""Frames whose headers are read together."""
LEAST_HEADER = 16
"""Bytes of a TCP header up to the end of its window, without which a segment is left out."""
ENOUGH = 128
"""Bytes of a frame that hold the headers of Ethernet, IPv6 and TCP with all its options (14, 40 and 60)."""

SEGMENT = np.dtype(
    [
        ("packet", np.int64),
        ("time", np.float64),
        ("flow", np.int32),
        ("sequence", np.uint32),
        ("acknowledged", np.uint32),
        ("flags", np.uint8),
        ("payload", np.int32),
        ("length", np.int32),
        ("window", np.uint16),
        ("has_sack", np.bool_),
    ]
)
"""A TCP segment: ``packet`` is the number of its frame, from 0, ``length`` the bytes of its IP packet, and
``window`` as the header has it."""

BLOCK = np.dtype([("packet", np.int64), ("low", np.int64), ("high", np.int64), ("number", np.int64)])
"""A SACK block, which is the ``number``-th of its packet, from 0."""

Table = npt.NDArray[np.void]
Event = tuple[float, Literal["data", "ack"], int]
"""The time of a segment with data and the place behind it, or of an ACK and the place that it confirms."""


@dataclass(frozen=True)
class Opening:
    """The options of a SYN."""

    time: float
    sequence: int
    segment: int | None
    """The largest payload that its sender takes."""
    scale: int | None
    """The shift of its sender's windows."""
    has_timestamps: bool
    is_whole: bool = True
    """False if the capture cut some of them off."""


@dataclass(frozen=True)
class Flow:
    """One direction of a TCP connection: segments of ``sender`` with data, and the segments that come back.

    Places are bytes from the first byte of data that was seen, however often sequence numbers began anew.
    """

    sender: str
    """Address and port."""
    receiver: str
    data: Table
    """Its segments with data (``SEGMENT``)."""
    begin: Numbers
    """Their places."""
    answers: Table
    """Segments of the receiver with an ACK and without FIN, SYN or RST, from the first data on."""
    acked: Numbers
    """The places that they acknowledge."""
    blocks: Table
    """Their SACK blocks as places (``BLOCK``)."""
    openings: Sequence[Opening | None] = (None, None)
    """The SYN of the sender, and of the receiver."""
    handshake: float | None = None
    """Seconds from the SYN to the ACK of its answer: an RTT, wherever the capture was taken."""

    @property
    def end(self) -> Numbers:
        """The places behind the segments with data."""
        return np.asarray(self.begin + self.data["payload"])

    @property
    def packet_bytes(self) -> int:
        """The largest IP packet with data."""
        return int(self.data["length"].max())

    def acks(self) -> tuple[Array, Array]:
        """The times of pure ACKs, in s from the first packet, and the bytes that they acknowledged.

        Bytes count from the first ACK. Left out are one that acknowledges less than an earlier one, which was
        overtaken, and one that acknowledges the same and is no duplicate: a window update, or the answer to a
        probe of a closed window. It is a duplicate if data is outstanding, and the window is the same, or
        there are SACK blocks (RFC 5681, section 2).
        """
        pure = self.answers["payload"] == 0
        answers, acked = self.answers[pure], self.acked[pure]
        if not answers.size:
            return np.zeros(0), np.zeros(0)
        sent_to = np.maximum.accumulate(self.end)[
            np.searchsorted(self.data["packet"], answers["packet"], side="right") - 1
        ]
        same_window = np.diff(answers["window"].astype(np.int64), prepend=-1) == 0
        repeats = (sent_to > acked) & (answers["has_sack"] | same_window)
        highest = np.concatenate(([acked[0] - 1], np.maximum.accumulate(acked)[:-1]))
        chosen = (acked > highest) | (repeats & (acked == highest))
        return answers["time"][chosen], (acked - acked[0])[chosen].astype(np.float64)

    def events(self) -> list[Event]:
        """Ends of segments with data and ACKs, in their order."""
        order = np.argsort(np.concatenate((self.data["packet"], self.answers["packet"])), kind="stable")
        times = np.concatenate((self.data["time"], self.answers["time"]))[order].tolist()
        places = np.concatenate((self.end, self.acked))[order].tolist()
        kinds = (order < self.data.size).tolist()
        return [
            (time, "data" if is_data else "ack", place)
            for time, is_data, place in zip(times, kinds, places, strict=True)
        ]


@dataclass(frozen=True)
class Capture:
    """The TCP connections of a capture."""

    flows: Sequence[Flow]
    """Their directions that carry data, in the order in which they begin."""
    remark: str
    """Clauses about a capture that ends within a packet, or that cuts headers of TCP, or empty."""


def connections(path: Path, interface: int = 0) -> Capture:
    """The TCP connections that an interface of a capture has seen.

    ``interface`` counts from 0: a capture of the simulator at one place has one. A capture of all places has
    one for each, of which 0 is the sender. Raises InputError for a file that is no capture, or has no such
    interface.
    """
    seen = frames(path, interface)
    reader = _Reader()
    chunks = [reader.read(seen, low, path) for low in range(0, seen.times.size, CHUNK)]
    segments = np.concatenate([np.zeros(0, SEGMENT), *(one for one, _ in chunks)])
    blocks = np.concatenate([np.zeros(0, BLOCK), *(one for _, one in chunks)])
    found = list(_flows(segments, blocks, reader))
    flows = sorted(found, key=lambda one: int(one.data["packet"][0]))
    remarks = ["ends within a packet, as a killed tcpdump leaves it, and is read up to there"] * seen.is_cut
    if reader.cut:
        remarks.append(
            f"cuts {reader.cut} TCP headers at {int(seen.captured.max())} bytes of a frame: segments or SACK "
            "blocks lack, and data that those report counts as outstanding "
            f"(`tcpdump -s {ENOUGH}` keeps headers whole)"
        )
    return Capture(flows, "; ".join(f"{path}: {one}" for one in remarks))


class _Reader:
    """Reads segments, and numbers their flows by their ends."""

    def __init__(self) -> None:
        self.numbers: dict[tuple[str, str], int] = {}
        self.openings: dict[int, Opening] = {}
        """The options of SYNs, by their packets."""
        self.cut = 0
        """The headers of TCP that are not whole in the file."""

    def read(self, of: Frames, low: int, path: Path) -> tuple[Table, Table]:
        """The TCP segments in a chunk of frames, and their SACK blocks."""
        rows = slice(low, low + CHUNK)
        begin = of.begin[rows]
        fields = Fields(of.data, begin + of.captured[rows])
        ip = ip_packets(fields, begin, of.links[rows], path)
        is_tcp, tcp, length = _ip_headers(fields, ip, of.length[rows] - (ip - begin))
        found = is_tcp & (tcp + LEAST_HEADER <= fields.end)
        self.cut += int((is_tcp & ~found).sum())
        fields, ip, tcp = fields.of(found), ip[found], tcp[found]
        offset = fields.byte(tcp + 12) >> 4
        segments = np.zeros(ip.size, SEGMENT)
        segments["packet"] = low + np.flatnonzero(found)
        segments["time"] = of.times[rows][found]
        segments["flow"] = self._flow(fields, ip, tcp)
        segments["sequence"] = fields.number(tcp + 4, 4)
        segments["acknowledged"] = fields.number(tcp + 8, 4)
        segments["flags"] = fields.byte(tcp + 13)
        segments["window"] = fields.number(tcp + 14, 2)
        segments["length"] = length[found]
        segments["payload"] = np.maximum(ip + length[found] - (tcp + 4 * offset), 0)
        is_cut = tcp + 4 * offset > fields.end
        self.cut += int(is_cut.sum())
        options = Fields(of.data, np.minimum(fields.end, tcp + 4 * offset))
        places = _sack(options, tcp + 20)
        segments["has_sack"] = places < options.end
        for row in np.flatnonzero(segments["flags"] & SYN).tolist():
            opening = _opening(options, segments[row], int(tcp[row]), row)
            self.openings[int(segments["packet"][row])] = replace(opening, is_whole=not is_cut[row])
        return segments, _blocks(options, places, segments)

    def _flow(self, fields: Fields, ip: Numbers, tcp: Numbers) -> Numbers:
        """The number of the flow of each segment."""
        found = np.zeros(ip.size, dtype=np.int64)
        version = fields.byte(ip) >> 4
        for of, first, words in ((4, 12, 2), (6, 8, 8)):
            rows = np.flatnonzero(version == of)
            own = fields.of(version == of)
            places = [ip[rows] + first + 4 * word for word in range(words)]
            groups, chosen = _grouped([own.number(at, 4) for at in (*places, tcp[rows])], rows.size)
            numbers = [
                self._number(fields.data, int(ip[row]) + first, 2 * words, int(tcp[row]))
                for row in rows[chosen]
            ]
            found[rows] = np.array(numbers, dtype=np.int64)[groups]
        return found

    def _number(self, data: npt.NDArray[np.uint8], at: int, size: int, tcp: int) -> int:
        """The number of a flow whose addresses of ``size`` bytes are at ``at``."""
        ends = []
        for address, port in ((at, tcp), (at + size, tcp + 2)):
            name = ipaddress.ip_address(data[address : address + size].tobytes())
            ends.append(f"{name}:{int.from_bytes(data[port : port + 2].tobytes())}")
        return self.numbers.setdefault((ends[0], ends[1]), len(self.numbers))


def _ip_headers(fields: Fields, ip: Numbers, frame: Numbers) -> tuple[Mask, Numbers, Numbers]:
    """The frames with TCP, the places of its headers, and the bytes of the IP packets.

    A length of 0 in the header of IP is a packet that the card of the sender cuts (segmentation offload, BIG
    TCP). Its length is ``frame``, the rest of the frame.
    """
    version = fields.byte(ip) >> 4
    is_four, is_six = version == 4, version == 6
    length = np.where(is_four, fields.number(ip + 2, 2), fields.number(ip + 4, 2))
    length = np.where(length == 0, np.minimum(frame, LONGEST), length + 40 * is_six)
    protocol = np.where(is_four, fields.byte(ip + 9), fields.byte(ip + 6))
    tcp = ip + np.where(is_four, 4 * (fields.byte(ip) & 15), 40)
    while (before := is_six & np.isin(protocol, EXTENSIONS) & (tcp < fields.end)).any():
        own, at = fields.of(before), tcp[before]
        protocol[before] = own.byte(at)
        tcp[before] = at + 8 + 8 * own.byte(at + 1)
    is_fragment = is_four & (fields.number(ip + 6, 2) & 0x1FFF != 0)
    return (is_four | is_six) & (protocol == TCP) & ~is_fragment, tcp, length


def _grouped(words: Sequence[Numbers], count: int) -> tuple[Numbers, Rows]:
    """The group of each row, whose ``words`` are all equal, and a row of each group."""
    groups = np.zeros(count, dtype=np.int64)
    for word in words:
        groups = np.unique(groups << 32 | word, return_inverse=True)[1].reshape(-1)
    return groups, np.unique(groups, return_index=True)[1]


def _sack(options: Fields, at: Numbers) -> Numbers:
    """The places of SACK options, or the ends of the options without one."""
    at = np.where(options.number(at, 4) == ONLY_TIMESTAMPS, np.minimum(at + 12, options.end), at)
    rows = np.flatnonzero(at < options.end)
    while rows.size:
        own, here = Fields(options.data, options.end[rows]), at[rows]
        kind, size = own.byte(here), own.byte(here + 1)
        step = np.where(kind == NO_OPERATION, 1, size)
        is_over = (kind == END) | ((kind != NO_OPERATION) & (size < 2))
        at[rows] = np.where(kind == SACK, here, np.where(is_over, own.end, np.minimum(here + step, own.end)))
        rows = rows[(kind != SACK) & (at[rows] < own.end)]
    return at


def _blocks(options: Fields, places: Numbers, segments: Table) -> Table:
    """The SACK blocks behind the places of SACK options."""
    rows = np.flatnonzero(segments["has_sack"])
    own, at = Fields(options.data, options.end[rows]), places[rows]
    size = np.minimum(own.byte(at + 1), own.end - at)
    found = []
    for number in range(4):
        has_one = size >= 10 + 8 * number
        block = np.zeros(int(has_one.sum()), BLOCK)
        of, here = Fields(options.data, own.end[has_one]), at[has_one] + 2 + 8 * number
        block["packet"], block["number"] = segments["packet"][rows][has_one], number
        block["low"], block["high"] = of.number(here, 4), of.number(here + 4, 4)
        found.append(block)
    blocks = np.concatenate(found)
    return blocks[np.argsort(blocks["packet"], kind="stable")]


def _opening(options: Fields, segment: np.void, tcp: int, row: int) -> Opening:
    """The options of a SYN. One with a wrong length is none."""
    text = options.data[tcp + 20 : int(options.end[row])].tobytes()
    found: dict[int, bytes] = {}
    at = 0
    while at < len(text) and text[at] != END:
        size = 1 if text[at] == NO_OPERATION else text[at + 1] if at + 1 < len(text) else 0
        if size == 0:
            break
        found[text[at]] = text[at + 2 : at + size]
        at += size
    size_of_segment, scale = found.get(SEGMENT_SIZE, b""), found.get(SCALE, b"")
    return Opening(
        float(segment["time"]),
        int(segment["sequence"]),
        int.from_bytes(size_of_segment) if len(size_of_segment) == 2 else None,
        min(scale[0], 14) if len(scale) == 1 else None,
        TIMESTAMPS in found,
    )


def _flows(segments: Table, blocks: Table, reader: _Reader) -> Iterator[Flow]:
    """The directions of the connections that carry data."""
    ends = list(reader.numbers)
    order = np.argsort(segments["flow"], kind="stable")
    edges = np.searchsorted(segments["flow"][order], np.arange(len(ends) + 1))
    of = [order[low:high] for low, high in pairwise(edges)]
    nothing = np.zeros(0, dtype=np.intp)
    for number, (sender, receiver) in enumerate(ends):
        sent = of[number]
        if not segments["payload"][sent].any():
            continue
        back = reader.numbers.get((receiver, sender))
        answered = nothing if back is None else of[back]
        begins = [-1, *_begins(segments, sent, answered), segments.size]
        for low, high in pairwise(begins):
            own, other = (rows[(rows >= low) & (rows < high)] for rows in (sent, answered))
            if segments["payload"][own].any():
                openings = [_first_opening(segments, rows, reader) for rows in (own, other)]
                handshake = _handshake(segments, own, other, openings)
                yield _flow(sender, receiver, segments, own, other, blocks, openings, handshake)


def _begins(segments: Table, *directions: Rows) -> list[int]:
    """The rows at which the ends of a connection begin a new one: a SYN with another number than the last."""
    found = []
    for rows in directions:
        flags = segments["flags"][rows]
        opening = rows[(flags & SYN != 0) & (flags & ACK == 0)]
        numbers = segments["sequence"][opening]
        found += opening[1:][numbers[1:] != numbers[:-1]].tolist()
    return sorted(found)


def _first_opening(segments: Table, rows: Rows, reader: _Reader) -> Opening | None:
    packets = segments["packet"][rows[segments["flags"][rows] & SYN != 0]]
    return reader.openings[int(packets[0])] if packets.size else None


def _handshake(segments: Table, own: Rows, other: Rows, openings: Sequence[Opening | None]) -> float | None:
    """Seconds from the last SYN before its answer to the next segment of its sender."""
    if openings[0] is None or openings[1] is None:
        return None
    client, server = (own, other) if openings[0].time <= openings[1].time else (other, own)
    answer = server[segments["flags"][server] & SYN != 0][0]
    flags = segments["flags"][client]
    asked = client[(flags & SYN != 0) & (client < answer)]
    after = client[(flags & (SYN | ACK) == ACK) & (client > answer)]
    if not (asked.size and after.size):
        return None
    return float(segments["time"][after[0]] - segments["time"][asked[-1]])


def _flow(
    sender: str,
    receiver: str,
    segments: Table,
    sent: Rows,
    answered: Rows,
    blocks: Table,
    openings: Sequence[Opening | None],
    handshake: float | None,
) -> Flow:
    """A direction of a connection, from the rows of both directions."""
    data = sent[segments["payload"][sent] > 0]
    flags = segments["flags"][answered]
    is_ack = (flags & ACK != 0) & (flags & (FIN | SYN | RST) == 0)
    answers = answered[is_ack & (answered > data[0])]
    rows = np.concatenate((data, answers))
    order = np.argsort(rows, kind="stable")
    is_data = order < data.size
    numbers = np.where(is_data, segments["sequence"][rows[order]], segments["acknowledged"][rows[order]])
    places = np.concatenate(([0], np.cumsum(_ahead(numbers[1:], numbers[:-1]))))
    of_data, of_answers = segments[data], segments[answers]
    acked = places[~is_data]
    with_blocks = of_answers["packet"][of_answers["has_sack"]]
    lows, highs = (np.searchsorted(blocks["packet"], with_blocks, side=side) for side in ("left", "right"))
    counts = highs - lows
    own = blocks[np.arange(counts.sum()) + np.repeat(lows - np.cumsum(counts) + counts, counts)]
    answer = np.searchsorted(of_answers["packet"], own["packet"])
    for edge in ("low", "high"):
        own[edge] = acked[answer] + _ahead(own[edge], of_answers["acknowledged"][answer])
    return Flow(sender, receiver, of_data, places[is_data], of_answers, acked, own, openings, handshake)


def _ahead(one: Numbers, other: Numbers) -> Numbers:
    """The bytes by which sequence numbers are ahead of others, below 0 if they are behind."""
    return (one.astype(np.int64) - other + WHOLE // 2) % WHOLE - WHOLE // 2
