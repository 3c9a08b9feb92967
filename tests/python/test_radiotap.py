"""Frames as a capture with radiotap headers, and tshark's reading of it."""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path

import pytest

import ackclock
from ackclock.errors import InputError
from ackclock.exports import radiotap


def simulated(standard: str, **keys: object) -> ackclock.Run:
    wire = ackclock.Link(from_="ap", to="server", rate="100mbit", delay="5ms", queue="infinite", duplex=True)
    scenario = ackclock.Scenario(
        duration="300ms",
        wlans=[ackclock.Wlan(standard=standard, stations=2, **keys)],  # type: ignore[arg-type]
        links=[wire],
        flows=[
            ackclock.Flow("cubic", from_="sta-0", to="server"),
            ackclock.Flow("cubic", from_="server", to="sta-1"),
        ],
        record=ackclock.Record(frames=True),
    )
    run = ackclock.simulate(scenario)
    assert isinstance(run, ackclock.Run)
    return run


def test_the_first_frame_has_the_bytes_of_its_header(tmp_path: Path) -> None:
    radiotap.write(simulated("802.11g"), tmp_path / "g.pcap")
    capture = (tmp_path / "g.pcap").read_bytes()
    # Nanoseconds, version 2.4, link type 127.
    assert struct.unpack("<IHHiIII", capture[:24]) == (0xA1B23C4D, 2, 4, 0, 0, 262_144, 127)
    kept, length = struct.unpack("<II", capture[32:40])
    # A SYN: 60 bytes of IP, 24 of header, 4 of FCS, 8 of LLC. The header is kept, behind 14 of radiotap.
    assert (kept, length) == (14 + 24, 14 + 96)
    # Flags (bit 1), rate (2) and channel (3): FCS, 108 times 500 kbit/s, 2412 MHz, OFDM at 2.4 GHz.
    assert capture[40:54] == struct.pack("<BxHIBBHH", 0, 14, 0b1110, 0x10, 108, 2412, 0xC0)
    # Data to the access point: receiver, sender and destination.
    ap, station = bytes((2, 0, 0, 0, 0, 0)), bytes((2, 0, 0, 0, 0, 1))
    assert capture[54:78] == b"\x08\x01\x00\x00" + ap + station + ap + b"\x00\x00"


@pytest.mark.parametrize("standard", ["802.11b", "802.11g"])
@pytest.mark.parametrize("rate", [1e6, 2e6, 5.5e6, 6e6, 11e6, 54e6])
def test_the_old_rates_are_modulated_by_cck_and_others_by_ofdm(standard: str, rate: float) -> None:
    header = radiotap._Network(0, standard, False, False, False).radiotap(rate, False)
    # The rate in units of 500 kbit/s, 2412 MHz, and CCK or OFDM at 2.4 GHz.
    modulation = 0x20 if rate in (1e6, 2e6, 5.5e6, 11e6) else 0x40
    assert header[9:] == struct.pack("<BHH", round(rate / 5e5), 2412, modulation | 0x80)


def test_rates_of_802_11n_are_schemes() -> None:
    wide = radiotap._Network(0, "802.11n", True, True, True)
    # 540 bits in 3.6 us are 150 Mbit/s, with two streams 300.
    assert [wide.index(rate) for rate in (150e6, 300e6)] == [7, 15]
    # 130 Mbit/s: two streams of 65. 26 Mbit/s: 104 bits of one stream, and not two of 52.
    narrow = radiotap._Network(0, "802.11n", False, False, True)
    assert [narrow.index(rate) for rate in (130e6, 26e6, 6e6)] == [15, 3, None]


@pytest.mark.parametrize(
    ("wide", "short", "rates"),
    # Mbit/s and schemes of IEEE 802.11, clause 19.5. Of equal rates the fewest streams are meant.
    [
        (False, False, {6.5: 0, 13: 1, 26: 3, 39: 4, 52: 5, 58.5: 6, 65: 7, 195: 23, 234: 30, 260: 31}),
        (False, True, {7.2222: 0, 72.2222: 7, 144.4444: 15, 216.6667: 23, 288.8889: 31}),
        (True, False, {13.5: 0, 135: 7, 270: 15, 405: 23, 540: 31}),
        (True, True, {15: 0, 150: 7, 300: 15, 450: 23, 600: 31}),
    ],
)  # fmt: skip
def test_schemes_of_ht_are_those_of_the_standard(wide: bool, short: bool, rates: dict[float, int]) -> None:
    network = radiotap._Network(0, "802.11n", wide, short, True)
    assert {rate: network.index(rate * 1e6) for rate in rates} == rates


@pytest.mark.parametrize(
    ("standard", "width", "guard", "rates"),
    # Mbit/s, streams and schemes of IEEE 802.11, clauses 21.5 and 27.5.
    [
        ("802.11ac", 0, "", {6.5: (1, 0), 78: (1, 8), 58.5: (1, 6)}),
        ("802.11ac", 1, "", {13.5: (1, 0), 180: (1, 9), 720: (4, 9)}),
        ("802.11ac", 2, "", {29.8: None, 29.25: (1, 0), 390: (1, 9), 1170: (3, 9), 1560: (4, 9)}),
        ("802.11ac", 2, "short", {433.3333: (1, 9), 1733.3333: (4, 9)}),
        ("802.11ac", 3, "short", {866.6667: (1, 9), 3466.6667: (4, 9)}),
        ("802.11ax", 0, "0.8us", {8.6029: (1, 0), 143.3824: (1, 11), 573.5294: (4, 11)}),
        ("802.11ax", 1, "1.6us", {16.25: (1, 0), 270.8333: (1, 11)}),
        ("802.11ax", 2, "3.2us", {30.625: (1, 0), 459.375: (1, 10), 510.4167: (1, 11)}),
        ("802.11ax", 3, "0.8us", {1200.9804: (1, 11), 4803.9216: (4, 11)}),
    ],
)
def test_schemes_of_vht_and_he_are_those_of_the_standard(
    standard: str, width: int, guard: str, rates: dict[float, tuple[int, int] | None]
) -> None:
    network = radiotap._Network(0, standard, False, guard == "short", True, width, guard)
    assert {rate: network.scheme(rate * 1e6) for rate in rates} == rates
    # The scenario names one of several schemes of a rate: two streams at half of the bits.
    named = radiotap._Network(0, "802.11ac", False, False, True, 0, "", (2, 1))
    assert (network.scheme(1e6), named.scheme(26e6)) == (None, (2, 1))


def test_a_header_of_ht_has_width_guard_and_scheme() -> None:
    tap = radiotap._Network(2, "802.11n", True, True, True).radiotap(300e6, True, 9)
    # Flags, channel, MCS and A-MPDU. FCS, and a bad one. Channel 2 of ours at 5.22 GHz. 40 MHz, short, 15.
    head = struct.pack("<BxHI", 0, len(tap), 1 << 1 | 1 << 3 | 1 << 19 | 1 << 20)
    body = struct.pack("<BxHHBBB", 0x50, 5220, 0x140, 0x07, 0b101, 15)
    assert tap == head + body + bytes(3) + struct.pack("<IHBx", 9, 0, 0)
    # Three networks share the band of 2.4 GHz.
    for number, frequency in enumerate((2412, 2437, 2462, 2412)):
        tap = radiotap._Network(number, "802.11g", False, False, False).radiotap(6e6, False)
        assert tap[10:12] == struct.pack("<H", frequency)


def frames(network: radiotap._Network, **changes: object) -> list[tuple[int, int, int]]:
    """Time in ns, first byte and length of each frame of an attempt from station 1 to the access point."""
    row = {
        "link": 3, "to": 0, "time_s": 1.5, "airtime_us": 250.0, "fate": "acknowledged", "has_rts": False,
        "is_retry": False, "frames": 1, "rate_bps": 54e6, "bytes": 1500,
    }  # fmt: skip
    network.stations[3] = 1
    found = []
    for record in radiotap._attempt(network, {**row, **changes}, 7):
        seconds, nanoseconds, _, length = struct.unpack("<IIII", record[:16])
        (tap,) = struct.unpack("<H", record[18:20])
        found.append((seconds * 10**9 + nanoseconds, record[16 + tap], length - tap))
    return found


def test_an_attempt_is_its_frames_and_an_answer() -> None:
    old = radiotap._Network(0, "802.11g", False, False, False)
    new = radiotap._Network(0, "802.11n", False, False, True)
    # Data with 1500 bytes, and an ACK of 14 at the end of the exchange.
    assert frames(old) == [(1_500_000_000, 0x08, 1500), (1_500_250_000, 0xD4, 14)]
    assert frames(old, fate="lost") == [(1_500_000_000, 0x08, 1500)]
    # The RTS has 20 bytes. One that collided is all.
    assert frames(old, has_rts=True)[0] == (1_500_000_000, 0xB4, 20)
    assert frames(old, has_rts=True, fate="collision") == [(1_500_000_000, 0xB4, 20)]
    # Three frames of 500 bytes, with a block ACK of 32 bytes, or of 56 for 256 frames.
    three = [(1_500_000_000, 0x88, 500)] * 3
    assert frames(new, frames=3) == [*three, (1_500_250_000, 0x94, 32)]
    assert new.block_ack == 32
    assert radiotap._Network(0, "802.11ax", False, False, True).block_ack == 56


def test_sequence_numbers_go_on_unless_a_frame_is_sent_again() -> None:
    network = radiotap._Network(0, "802.11g", False, False, False)
    found = []
    for changes in ({}, {"is_retry": True}, {}, {"frames": 2, "bytes": 3000}):
        frames(network, **changes)
        found.append(network.sequence[1])
    assert found == [0, 0, 1, 3]
    network.sequence[1] = 4095
    frames(network)
    assert network.sequence[1] == 0


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
@pytest.mark.parametrize("standard", ["802.11a", "802.11b", "802.11g", "802.11n", "802.11ac", "802.11ax"])
def test_tshark_reads_as_many_frames_as_were_sent(tmp_path: Path, standard: str) -> None:
    run = simulated(standard, rts_above="1000B" if standard == "802.11a" else None)
    radiotap.write(run, tmp_path / "frames.pcap")

    fields = ("wlan.fc.type_subtype", "wlan.fc.retry", "radiotap.ampdu.reference", "_ws.malformed")
    asked = [option for name in fields for option in ("-e", name)]
    command = ["tshark", "-r", str(tmp_path / "frames.pcap"), "-T", "fields", *asked]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    read = [line.split("\t") for line in shown.splitlines()]
    kinds = [int(kind, 0) for kind, *_ in read]
    rows = run.frames.to_pylist()
    sent = [row for row in rows if not (row["has_rts"] and row["fate"] == "collision")]
    # 27: RTS, 29: ACK, 25: block ACK; 32 and 40: data, without and with QoS.
    assert kinds.count(27) == sum(row["has_rts"] for row in rows)
    assert kinds.count(32) + kinds.count(40) == sum(row["frames"] for row in sent)
    assert sum(retry in ("1", "True") for _, retry, *_ in read) == sum(
        row["frames"] for row in sent if row["is_retry"]
    )
    answered = [row["frames"] for row in rows if row["fate"] == "acknowledged"]
    assert kinds.count(29) == sum(frames == 1 for frames in answered)
    assert kinds.count(25) == sum(frames > 1 for frames in answered)
    aggregated = sum(row["frames"] for row in rows if row["frames"] > 1)
    assert sum(bool(group) for _, _, group, _ in read) == aggregated
    assert (aggregated > 0) == (standard in ("802.11n", "802.11ac", "802.11ax"))
    assert not any(malformed for *_, malformed in read)


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
@pytest.mark.parametrize(
    ("keys", "shown"),
    [
        # 234 x 20/3 x 2 bits in 3.6 us are 866.7 Mbit/s.
        ({"standard": "802.11ac", "short_guard_interval": True}, {("4", "9", "2", "1")}),
        ({"standard": "802.11ac", "rate": "mcs4", "channel_width": "160MHz"}, {("11", "4", "2", "0")}),
        # 980 x 25/3 x 2 bits in 13.6 us are 1201 Mbit/s.
        ({"standard": "802.11ax"}, {("2", "11", "2", "0")}),
        (
            {"standard": "802.11ax", "rate": "mcs9", "channel_width": "20MHz", "guard_interval": "3.2us"},
            {("0", "9", "2", "2")},
        ),
    ],
)
def test_tshark_reads_width_scheme_streams_and_guard(
    tmp_path: Path, keys: dict[str, object], shown: set[tuple[str, ...]]
) -> None:
    radiotap.write(simulated(**keys), tmp_path / "frames.pcap")  # type: ignore[arg-type]
    he = ("he.data_5.data_bw_ru_allocation", "he.data_3.data_mcs", "he.data_6.nsts", "he.data_5.gi")
    vht = ("vht.bw", "vht.mcs.0", "vht.nss.0", "vht.gi")
    asked = [f"radiotap.{name}" for name in (vht if keys["standard"] == "802.11ac" else he)]
    command = ["tshark", "-r", str(tmp_path / "frames.pcap"), "-Y", "wlan.fc.type == 2", "-T", "fields"]
    command += [option for name in asked for option in ("-e", name)]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    whole = {"True": 1, "False": 0}
    found = {tuple(str(whole.get(cell, cell)) for cell in line.split("\t")) for line in lines}
    numbers = {tuple(str(int(cell, 0)) for cell in row) for row in found}
    assert numbers == shown


def test_a_run_without_frames_has_no_such_capture(tmp_path: Path) -> None:
    run = ackclock.simulate(ackclock.Path("10mbit", "40ms", "84p"), ["newreno"], duration="1s")
    with pytest.raises(InputError, match=r"write `record.frames = true` beside `wlans`"):
        radiotap.write(run, tmp_path / "none.pcap")  # type: ignore[arg-type]
