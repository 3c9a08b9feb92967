"""Packet captures of every kind, as Wireshark's expert sees them: it notes nothing that is not so."""

import shutil
import subprocess
import sys

import pytest

from calling import ENDED, PATIENCE, refused, run

pytestmark = pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")

LOSSY = ("--set", "path.loss=1%", "--set", "duration=4s")

TRUE_OF_ANY = (
    "Connection establish",
    "Connection finish",
    "Duplicate ACK",
    "This frame is a (suspected) fast retransmission",
    "This frame is a (suspected) retransmission",
    "This frame is a (suspected) spurious retransmission",
    "D-SACK Sequence",
    "TCP window update",
    "TCP keep-alive",
    "TCP window specified by the receiver is now completely full",
)
"""Remarks of the expert on any sender that loses packets, without those on segments that it never saw."""

SENDER = """
import socket
with socket.create_connection(("10.0.0.2", 5001)) as out:
    out.sendall(bytes(1_000_000))
    out.shutdown(socket.SHUT_WR)
    out.recv(1)
"""

RECEIVER = """
import socket
with socket.create_server(("10.0.0.2", 5001)) as server:
    one, _ = server.accept()
    while one.recv(65536): pass
    one.close()
"""


def tshark(file, *arguments):
    """The output of tshark on a capture, line by line."""
    done = subprocess.run(["tshark", "-r", str(file), *arguments], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def check(file):
    """Compares each note of the expert with the packets. Returns the number of retransmissions found."""
    columns = ("frame.number", "tcp.stream", "tcp.seq_raw", "tcp.len", "_ws.expert.message")
    fields = [part for name in columns for part in ("-e", name)]
    rows = [line.split("\t") for line in tshark(file, "-Y", "tcp", "-T", "fields", *fields)]
    sent, again = {}, 0
    for number, stream, sequence, length, said in rows:
        # Up to version 4.0 what leaves soon after new data is called out of order: of a sender it is not, and
        # it must be a retransmission.
        if "retransmission" in said or "out-of-order" in said:
            assert int(sequence) < sent[stream], f"{number}: {said}"
            again += 1
        elif said:
            assert said.startswith(TRUE_OF_ANY), f"{number}: {said}"
        if length != "0":
            sent[stream] = max(sent.get(stream, 0), int(sequence) + int(length))
    assert sent, "a capture without data"
    return again


def opening(file):
    """Flags and window scale of the first packets."""
    fields = ("-T", "fields", "-e", "tcp.flags.syn", "-e", "tcp.flags.ack", "-e", "tcp.options.wscale.shift")
    return [line.split("\t")[:2] for line in tshark(file, "-Y", "tcp", *fields)][:3]


def test_a_simulated_capture_is_that_of_a_sender(capsys, scenario, tmp_path):
    file = tmp_path / "sim.pcapng"
    assert run(capsys, "run", scenario, *LOSSY, "--pcap", file)[0] == 0
    assert check(file) > 0
    assert opening(file) == [["1", "0"], ["1", "1"], ["0", "1"]]
    assert all(tshark(file, "-Y", "tcp.flags.syn == 1", "-T", "fields", "-e", "tcp.options.wscale.shift"))


def test_a_place_is_chosen(capsys, scenario, tmp_path):
    counts = {}
    for place in ("sender", "receiver", "bottleneck", "all"):
        file = tmp_path / f"{place}.pcapng"
        assert run(capsys, "run", scenario, *LOSSY, "--pcap", f"{place}:{file}")[0] == 0
        counts[place] = len(tshark(file))
    assert "lost: impairment" in "\n".join(tshark(tmp_path / "bottleneck.pcapng", "-V"))
    # Lost packets never reach the receiver. The links of `scenario` are the bottleneck and its reverse.
    assert counts["receiver"] < counts["sender"]
    assert counts["all"] == counts["sender"] + counts["receiver"] + counts["bottleneck"]
    where = ("--pcap", f"bottleneck:{tmp_path}/x.pcapng")
    free = ("--set", "path.rate=unlimited", "--set", "flows.0.transport.receive_window=100")
    assert "no bottleneck to capture at" in refused(capsys, "run", scenario, *where, *free)


@pytest.mark.usefixtures("live")
def test_a_live_capture_is_that_of_a_sender(capsys, scenario, tmp_path):
    file = tmp_path / "live.pcapng"
    status, _, err = run(capsys, "live", scenario, *LOSSY, "--pcap", file)
    assert status in ENDED, err
    assert check(file) > 0
    assert opening(file) == [["1", "0"], ["1", "1"], ["0", "1"]]
    # The link drops, so the receiver sees fewer.
    place = ("--pcap", f"all:{tmp_path}/at.pcapng")
    assert run(capsys, "live", scenario, *LOSSY, *place)[0] in ENDED
    seen = [len(tshark(tmp_path / "at.pcapng", "-Y", f"frame.interface_id == {one}")) for one in range(4)]
    assert seen[0] > seen[1] > seen[2] > 0
    assert seen[2:] == [seen[2], 0]  # The way back has no link of its own.
    assert "lost: impairment" in "\n".join(tshark(tmp_path / "at.pcapng", "-V"))


@pytest.mark.usefixtures("live")
def test_both_engines_are_captured_side_by_side(capsys, scenario, tmp_path):
    status, _, err = run(capsys, "run", scenario, "--beside", "live", "--pcap", tmp_path / "two.pcapng")
    assert status in ENDED, err
    for label in ("simulated", "live"):
        (file,) = tmp_path.glob(f"two-{label}-seed-*.pcapng")
        check(file)


@pytest.mark.usefixtures("live")
def test_a_session_of_a_shell_is_captured(tmp_path):
    file, far = tmp_path / "session.pcapng", tmp_path / "far.py"
    far.write_text(RECEIVER)
    main = [sys.executable, "-c", "import sys; from ackclock.cli import main; sys.exit(main())"]
    path = ["shell", "--rate", "20mbit", "--rtt", "20ms", "--loss", "1%", "--pcap", str(file)]
    command = [*main, *path, "--far", f"{sys.executable} {far}", "--", sys.executable, "-c", SENDER]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode in ENDED, done.stderr
    assert check(file) > 0
    assert opening(file) == [["1", "0"], ["1", "1"], ["0", "1"]]
