"""Frames of wireless networks as a capture: pcap with radiotap headers, as Wireshark and tshark read it.

From the table ``frames``: for each attempt the RTS, the data frames and the ACK or block ACK. Headers are
whole, bodies are left out: frames are cut, and have their true lengths. Addresses are
02:00:00:<network>:<station>, with the access point as station 0 and BSSID. A frame has the time of the start
of its exchange, a response the time of its end. Frames that collided or were lost have a bad FCS.
https://www.radiotap.org describes the format.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ackclock.errors import InputError, named
from ackclock.result import Run

NANOSECOND_PCAP = 0xA1B23C4D
RADIOTAP = 127
"""LINKTYPE_IEEE802_11_RADIOTAP."""

FLAGS, RATE, CHANNEL, MCS, A_MPDU, VHT, HE = 1, 2, 3, 19, 20, 21, 23
"""Bits of the fields in a radiotap header."""
HAS_FCS, BAD_FCS = 0x10, 0x40
OFDM, CCK, GHZ_2, GHZ_5 = 0x40, 0x20, 0x80, 0x100
"""Flags of channels."""

DATA, QOS_DATA, RTS, BLOCK_ACK, ACK = 0x08, 0x88, 0xB4, 0x94, 0xD4
"""Frame control, the first byte."""
TO_DS, FROM_DS, RETRY = 0x01, 0x02, 0x08
"""Frame control, the second byte."""

CATEGORIES = (":background", ":video", ":voice")
"""The ending of the name of a queue, by access category."""

WIDTHS = ("20MHz", "40MHz", "80MHz", "160MHz")
SUBCARRIERS = {"802.11ac": (52, 108, 234, 468), "802.11ax": (234, 468, 980, 1960)}
"""Data subcarriers at these widths. 802.11n has those of 802.11ac at the first two."""
CODES = (1 / 2, 1, 3 / 2, 2, 3, 4, 9 / 2, 5, 6, 20 / 3, 15 / 2, 25 / 3)
"""Data bits on a subcarrier by scheme. 802.11ac has the first ten, 802.11n eight."""
VHT_WIDTHS = (0, 1, 4, 11)
"""The bandwidths in a VHT field."""
GUARDS = {"0.8us": (13.6e-6, 0), "1.6us": (14.4e-6, 1), "3.2us": (16e-6, 2)}
"""Symbols of 802.11ax, and their guard intervals in an HE field."""


@dataclass
class _Network:
    """One wireless network: its rates and its stations."""

    number: int
    standard: str
    wide: bool
    short: bool
    qos: bool
    width: int = 0
    """The place of its channel among ``WIDTHS``."""
    guard: str = "0.8us"
    named: tuple[int, int] | None = None
    """Streams and scheme of the rate that the scenario names."""
    stations: dict[int, int] = field(default_factory=dict)
    """The number of the station of each queue, by the row of the queue in ``links``."""
    sequence: dict[int, int] = field(default_factory=dict)

    @property
    def block_ack(self) -> int:
        """Bytes of a block ACK. In 802.11ax it answers 256 frames."""
        return 56 if self.standard == "802.11ax" else 32

    def address(self, station: int) -> bytes:
        """The MAC address of a station. 0 is the access point."""
        return struct.pack(">BBBBH", 2, 0, 0, self.number, station)

    def index(self, rate_bps: float) -> int | None:
        """The modulation and coding scheme of a rate of HT, or None for any other."""
        if self.standard != "802.11n":
            return None
        symbol = 3.6e-6 if self.short else 4e-6
        bits, subcarriers = round(rate_bps * symbol), SUBCARRIERS["802.11ac"][self.wide]
        # Among equal rates the scheme with fewer streams is meant.
        schemes = [(streams, one) for streams in range(1, 5) for one in range(8)]
        found = (streams * subcarriers * CODES[one] - bits for streams, one in schemes)
        return next((mcs for mcs, off in enumerate(found) if abs(off) <= 1.0), None)

    def scheme(self, rate_bps: float) -> tuple[int, int] | None:
        """Streams and scheme of a rate of VHT or HE.

        Of equal rates the named one, or else the fewest streams.
        """
        if self.standard not in SUBCARRIERS:
            return None
        symbol = GUARDS[self.guard][0] if self.standard == "802.11ax" else 3.6e-6 if self.short else 4e-6
        bits, subcarriers = rate_bps * symbol, SUBCARRIERS[self.standard][self.width]
        codes = CODES if self.standard == "802.11ax" else CODES[:10]
        of_all = [(streams, mcs) for streams in range(1, 5) for mcs in range(len(codes))]
        first = [self.named] if self.named in of_all else []
        return next(
            (one for one in [*first, *of_all] if abs(one[0] * subcarriers * codes[one[1]] - bits) <= 1.0),
            None,
        )

    def _described(self, streams: int, mcs: int) -> bytes:
        """The field of VHT, or of HE for a single user. Each begins on an even byte."""
        if self.standard == "802.11ac":
            # Guard interval and bandwidth are known.
            known, width = 0x04 | 0x40, VHT_WIDTHS[self.width]
            schemes = bytes((mcs << 4 | streams, 0, 0, 0))
            return struct.pack("<HBB4sBBH", known, self.short << 2, width, schemes, 0, 0, 0)
        # Scheme, bandwidth and guard interval are known.
        width = self.width | GUARDS[self.guard][1] << 4
        return struct.pack("<HHHHHH", 0x20 | 0x4000, 0x02, mcs << 8, 0, width, streams)

    def radiotap(self, rate_bps: float, bad: bool, group: int | None = None) -> bytes:
        """The header of a frame at a rate, within an A-MPDU of this number."""
        mcs, low = self.index(rate_bps), self.standard in ("802.11b", "802.11g")
        frequency = 2412 + 25 * (self.number % 3) if low else 5180 + 20 * self.number
        cck = low and rate_bps in (1e6, 2e6, 5.5e6, 11e6)
        channel = (CCK if cck else OFDM) | (GHZ_2 if low else GHZ_5)
        present = 1 << FLAGS | 1 << CHANNEL
        flags = HAS_FCS | (BAD_FCS if bad else 0)
        scheme = self.scheme(rate_bps)
        if scheme is not None:
            present |= 1 << (VHT if self.standard == "802.11ac" else HE)
            body = struct.pack("<BxHH", flags, frequency, channel)
        elif mcs is None:
            present |= 1 << RATE
            body = struct.pack("<BBHH", flags, round(rate_bps / 5e5), frequency, channel)
        else:
            # Bandwidth, scheme and guard interval are known.
            present |= 1 << MCS
            body = struct.pack("<BxHHBBB", flags, frequency, channel, 0x07, self.wide | self.short << 2, mcs)
        if group is not None:
            present |= 1 << A_MPDU
            body += bytes(-(8 + len(body)) % 4) + struct.pack("<IHBx", group, 0, 0)
        if scheme is not None:
            body += self._described(*scheme)
        return struct.pack("<BxHI", 0, 8 + len(body), present) + body


def write(run: Run, path: Path) -> None:
    """Writes the frames of a run. Raises InputError for one that has none recorded."""
    if not run.frames.num_rows:
        raise InputError("no frames are recorded: write `record.frames = true` beside `wlans`")
    head = struct.pack("<IHHiIII", NANOSECOND_PCAP, 2, 4, 0, 0, 262_144, RADIOTAP)
    try:
        records = b"".join(_records(run))
    except (LookupError, ValueError, TypeError, ArithmeticError, struct.error) as error:
        why = named(error)
        raise InputError(f"frames, stations and `wlans` of the result do not fit together ({why})") from error
    path.write_bytes(head + records)


def _records(run: Run) -> Iterator[bytes]:
    networks = _networks(run)
    for group, row in enumerate(run.frames.to_pylist()):
        yield from _attempt(networks[row["link"]], row, group)


def _networks(run: Run) -> dict[int, _Network]:
    """The network of each queue."""
    found: dict[str, _Network] = {}
    of_queue: dict[int, _Network] = {}
    names: dict[str, list[str]] = {}
    described = {wlan["name"]: (number, wlan) for number, wlan in enumerate(run.scenario["wlans"])}
    for row in run.stations.to_pylist():
        number, wlan = described[row["wlan"]]
        network = found.setdefault(row["wlan"], _network(number, wlan))
        # The queues of one station have a suffix after its name: `phone:voice`.
        station = row["name"]
        for suffix in CATEGORIES:
            station = station.removesuffix(suffix)
        known = names.setdefault(row["wlan"], [])
        if station not in known:
            known.append(station)
        network.stations[row["link"]] = known.index(station)
        of_queue[row["link"]] = network
    return of_queue


def _network(number: int, wlan: Mapping[str, Any]) -> _Network:
    aggregates = wlan["standard"] in ("802.11n", "802.11ac", "802.11ax")
    wide, short = wlan.get("channel_width") == "40MHz", bool(wlan.get("short_guard_interval"))
    usual = "80MHz" if wlan["standard"] in SUBCARRIERS else "20MHz"
    width, guard = WIDTHS.index(wlan.get("channel_width", usual)), wlan.get("guard_interval", "0.8us")
    qos = aggregates or bool(wlan.get("edca"))
    rate = str(wlan.get("rate", ""))
    named = (wlan.get("streams", 2), int(rate[3:])) if rate.startswith("mcs") else None
    return _Network(number, wlan["standard"], wide, short, qos, width, guard, named)


def _attempt(network: _Network, row: Mapping[str, Any], number: int) -> Iterator[bytes]:
    """The frames of one attempt."""
    sender, receiver = network.stations[row["link"]], row["to"]
    start, end = row["time_s"], row["time_s"] + row["airtime_us"] / 1e6
    lowest = 1e6 if network.standard == "802.11b" else 6e6
    there, back = network.address(sender), network.address(receiver)
    collided = row["fate"] == "collision"
    if row["has_rts"]:
        yield _record(start, network.radiotap(lowest, collided), bytes((RTS, 0, 0, 0)) + back + there, 20)
        if collided:
            return
    direction = FROM_DS if sender == 0 else TO_DS
    # Via the access point: receiver, transmitter, and destination or source.
    addresses = back + there + network.address(0)
    kind = bytes((QOS_DATA if network.qos else DATA, direction | (RETRY if row["is_retry"] else 0)))
    several = row["frames"] > 1
    tap = network.radiotap(row["rate_bps"], row["fate"] != "acknowledged", number if several else None)
    for _ in range(row["frames"]):
        sequence = network.sequence[sender] = (
            network.sequence.get(sender, -1) + (not row["is_retry"])
        ) % 4096
        body = kind + bytes(2) + addresses + struct.pack("<H", sequence << 4) + bytes(2 * network.qos)
        yield _record(start, tap, body, row["bytes"] // row["frames"])
    if row["fate"] == "acknowledged":
        answer = bytes((BLOCK_ACK if several else ACK, 0, 0, 0)) + there + (back if several else b"")
        yield _record(end, network.radiotap(lowest, False), answer, network.block_ack if several else 14)


def _record(at_s: float, tap: bytes, frame: bytes, length: int) -> bytes:
    """A record of the capture: the headers of a frame of ``length`` bytes."""
    seconds, nanoseconds = divmod(round(at_s * 1e9), 10**9)
    kept = tap + frame[:length]
    return struct.pack("<IIII", seconds, nanoseconds, len(kept), len(tap) + length) + kept
