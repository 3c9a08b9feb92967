"""Packet scripts on the kernel's TCP: what matches here and in the simulator is a fact.

A busy machine is late, which proves nothing: then a script is run again, and in the end skipped.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from contextlib import closing
from dataclasses import replace
from functools import cache
from pathlib import Path
from subprocess import PIPE, Popen

import pytest

from ackclock import _engine
from ackclock.replay import replay_live
from ackclock.replay.datagram import HEADER, read, write
from ackclock.replay.differential import Recording, drawn, is_valid, play_live
from ackclock.replay.differential.playing import Stage
from ackclock.replay.kernel import Kernel, in_namespace
from ackclock.replay.script import Options, Packet
from calling import PATIENCE, needs_live, run

SCRIPTS = sorted((Path(__file__).parents[1] / "packetdrill").glob("*.pkt"))
ATTEMPTS = 10

needs_kernel = pytest.mark.skipif(
    "live" not in _engine.engines() or os.geteuid() != 0 or not os.access("/dev/net/tun", os.W_OK),
    reason="needs a build with live runs, root and a TUN device",
)


def test_the_clock_is_read_once_its_start_has_come() -> None:
    kernel = object.__new__(Kernel)
    seen: list[float] = []

    def wait() -> float:
        # The clock goes on while the first call waits.
        seen.append(time.monotonic())
        while time.monotonic() <= seen[0]:
            pass
        return time.monotonic()

    kernel._begin = cache(wait)
    assert kernel.now >= 0
    assert len(seen) == 1


def test_a_packet_survives_the_wire() -> None:
    options = Options(1000, 7, True, (100, 200), ((5, 9),))
    packet = Packet("SP.", 7, 3, 40, 512, options, 2)
    data = write(packet, ("192.0.2.1", "192.0.2.2"), (1, 2), base=1000)
    assert read(data) == (
        # Numbers of the other side begin at its base on the wire.
        Packet("SP.", 0, 3, 1040, 512, Options(1000, 7, True, (100, 200), ((1005, 1009),)), 2),
        (1, 2),
        7,
    )
    # The sums of header and segment, with their checksums in them, are all ones (RFC 1071).
    header, segment = data[HEADER : HEADER + 20], data[HEADER + 20 :]
    pseudo = header[12:20] + bytes([0, 6]) + len(segment).to_bytes(2, "big")
    for part in (header, pseudo + segment + b"\0" * (len(segment) % 2)):
        total = sum(int.from_bytes(part[at : at + 2], "big") for at in range(0, len(part), 2))
        assert total % 0xFFFF == 0


def test_options_end_at_multiples_of_four_bytes_as_those_of_linux() -> None:
    packet = Packet(".", 1, 0, 1, 512, Options(timestamps=(100, 200), sack=((5, 9),)))
    options = write(packet, ("192.0.2.1", "192.0.2.2"), (1, 2), base=0)[HEADER + 40 :]
    # Two NOPs before each, and kind and length: the fast path of a kernel looks for these four bytes.
    assert (options[:4], options[12:16], len(options)) == (bytes([1, 1, 8, 10]), bytes([1, 1, 5, 10]), 24)


def test_other_packets_are_no_tcp() -> None:
    assert read(b"") is None
    assert read(bytes(HEADER) + bytes([0x60]) + bytes(60)) is None


@needs_kernel
@pytest.mark.parametrize("file", SCRIPTS, ids=lambda file: file.stem)
def test_the_kernel_matches_the_script(file: Path) -> None:
    verdicts = []
    for _ in range(ATTEMPTS):
        verdicts.append(replay_live(file))
        if verdicts[-1].verdict == "match":
            return
    if not all(verdict.is_valid for verdict in verdicts):
        pytest.skip(f"this machine was late: {verdicts[-1].as_dict()['why']}")
    # A kernel of another time, or one without the controller, is no fault of the script.
    if verdicts[-1].verdict == "unsupported":
        pytest.skip(verdicts[-1].why)
    raise AssertionError(verdicts[-1].as_dict())


@needs_kernel
def test_a_wrong_script_does_not_match_the_kernel(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (SCRIPTS[0].parent / "slow-start.pkt").read_text("utf-8")
    file = tmp_path / "wrong.pkt"
    file.write_text(text.replace("tcpi_snd_cwnd == 12", "tcpi_snd_cwnd == 13"), encoding="utf-8")
    # Status 3 where the machine was late: then it is no verdict.
    status, out, _ = run(capsys, "replay", "--live", file, "--json")
    (script,) = json.loads(out)["scripts"]
    assert (status, script["verdict"]) in ((1, "divergence"), (3, "divergence"))


@needs_kernel
def test_a_write_that_blocks_fills_the_last_piece_of_a_full_buffer() -> None:
    situation = replace(drawn(1, "buffers"), send_buffer="4096 65536 65536", timestamps=False)

    def fill() -> list[int]:
        kernel = Kernel()
        stage = Stage(situation, kernel)
        stage.listen()
        stage.begin()
        stage.open()
        unsent = []
        with closing(kernel):
            for size in (61_000, 400_000, 1000):
                kernel.call("write", [4, ..., size], True)
                unsent.append(kernel.information()["tcpi_notsent_bytes"])
        return unsent

    # Ten segments of 1000 bytes leave. 61,000 bytes and six descriptions of 832 are more than the memory, but
    # the last piece takes 65 segments.
    assert in_namespace(fill) == [51_000, 65_000, 65_000]


@needs_kernel
def test_the_kernel_plays_a_situation() -> None:
    faults = {"lost": frozenset[int](), "writes": ((0, 4),), "end_ms": 400}
    played = play_live(replace(drawn(1, "losses"), **faults), retries=20)
    if not is_valid(played):
        pytest.skip(f"this machine was late: {played.late_s * 1e3:.1f} ms")
    # Four segments at once, and nothing more.
    assert played.sent == [(0, 0), (0, 1), (0, 2), (0, 3)]


@needs_kernel
def test_ctrl_c_ends_situations_on_the_kernel_and_keeps_what_was_played(tmp_path: Path) -> None:
    file = tmp_path / "recording.json"
    command = [
        sys.executable,
        "-m",
        "ackclock",
        "kernel",
        "differential",
        "--live",
        "--runs",
        "5000",
        "--record",
        str(file),
    ]
    for seconds in (4, 16, 64):
        process = Popen(command, stdout=PIPE, stderr=PIPE, text=True, process_group=0)
        time.sleep(seconds)
        # As a terminal does: all of its processes get the signal.
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
        assert (process.returncode, "Traceback" in err) == (130, False), err
        if file.is_file():
            kept = len(Recording.read(file).runs)
            assert f"of {kept} runs agree" in " ".join(out.split())
            return
    pytest.skip("this machine was late for a minute: nothing was played in time")


@needs_live
def test_live_takes_no_options_of_the_simulator(capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = run(capsys, "replay", "--live", SCRIPTS[0], "--profile", "freebsd-9")
    assert (status, "the simulator's" in err) == (2, True)
