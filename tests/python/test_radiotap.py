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
