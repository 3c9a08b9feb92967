"""Congestion controllers of this machine's kernel and the simulated ones: a lone flow of each.

Three network namespaces form a row. netem in the middle is the bottleneck, another netem delays the ACKs,
and a third loses ``--loss`` per cent of the data before the bottleneck. Each controller that the kernel
offers sends ``--runs`` times. The means are compared.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import socket
import statistics
import struct
import threading
import time
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from witness.namespaces import call, child, enter, remove

SAME = "cubic bic westwood htcp highspeed hybla vegas scalable veno yeah illinois"
NAMES: Mapping[str, str] = {"reno": "newreno", **{name: name for name in SAME.split()}}
"""The kernel's names and the simulator's."""

AT_ONCE = 4
SETTLED_S = 5.0
"""The measurement begins here, after slow start, which depends on when the receiver begins to delay ACKs."""

RATE_MBIT, RTT_MS, QUEUE = 10, 40, 33
"""The path, with a queue of one BDP. ``tc`` counts the packet in service too."""

NEAR, NEAR_GATEWAY, FAR, FAR_GATEWAY, PORT = "10.9.0.1", "10.9.0.254", "10.9.1.1", "10.9.1.254", 5000
SAMPLE_S = 0.02
# Offsets in struct tcp_info: the window, the smoothed RTT (us), all retransmissions, bytes acknowledged.
INFO_BYTES = 136
WINDOW, RTT, RETRANSMITTED, ACKNOWLEDGED = 80, 68, 100, 120


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of this survey alone."""
    parser.add_argument("--loss", type=float, default=0.0, help="percentage of the data that is lost")


def connect(name: str, loss: float) -> None:
    """Makes three namespaces in a row, NAME-a to NAME-c. The bottleneck is not the sender's own queue."""
    spaces = [f"{name}-{side}" for side in "abc"]
    near, router, far = spaces
    for space in spaces:
        call(f"ip netns add {space}")
    for space, link, at, gateway in ((near, "near", NEAR, NEAR_GATEWAY), (far, "far", FAR, FAR_GATEWAY)):
        call(f"ip -n {space} link add end type veth peer name {link} netns {router}")
        call(f"ip -n {space} address add {at}/24 dev end")
        call(f"ip -n {space} link set end gso_max_segs 1 up")
        call(f"ip -n {router} address add {gateway}/24 dev {link}")
        call(f"ip -n {router} link set {link} up")
        call(f"ip -n {space} route add default via {gateway}")
    call(f"ip netns exec {router} sysctl -qw net.ipv4.ip_forward=1")
    # netem counts the service of a packet from the end of the one before it, so late timers cost no rate. A
    # token bucket would let two pass at once after a pause. Lengths are without the header of Ethernet.
    call(f"tc -n {router} qdisc add dev far root netem limit {QUEUE + 1} rate {RATE_MBIT}mbit -14")
    call(f"tc -n {far} qdisc add dev end root netem limit 100000 delay {RTT_MS}ms")
    if loss:
        call(f"tc -n {near} qdisc add dev end root netem limit 100000 loss {loss}%")


def receive(name: str) -> None:
    """Reads until the flow ends."""
    enter(f"{name}-c")
    peer, _ = socket.create_server((FAR, PORT)).accept()
    while peer.recv(1 << 16):
        pass


def send(name: str, seconds: float) -> list[list[float]]:
    """Runs a greedy flow. Returns rows of time, window, RTT, retransmissions and bytes acknowledged."""
    enter(f"{name}-a")
    # A refused connection resolves addresses first. Otherwise the RTT of the handshake would include ARP.
    with contextlib.suppress(OSError):
        socket.create_connection((FAR, PORT + 1), timeout=5)
    sock = socket.socket()
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())
    for _ in range(200):
        try:
            sock.connect((FAR, PORT))
            break
        except OSError:
            time.sleep(0.05)
    start = time.monotonic()
    rows: list[list[float]] = []

    def sample() -> None:
        while (now := time.monotonic() - start) < seconds:
            info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, INFO_BYTES)
            window, rtt, again = (
                struct.unpack_from("=I", info, at)[0] for at in (WINDOW, RTT, RETRANSMITTED)
            )
            rows.append([now, window, rtt / 1000, again, struct.unpack_from("=Q", info, ACKNOWLEDGED)[0]])
            time.sleep(SAMPLE_S)

    sampling = threading.Thread(target=sample)
    sampling.start()
    sock.settimeout(0.5)
    while time.monotonic() - start < seconds:
        try:
            sock.send(bytes(1 << 16))
        except TimeoutError:
            continue
    sampling.join()
    return rows


def _send_into(file: Path, name: str, seconds: float) -> None:
    file.write_text(json.dumps(send(name, seconds)))


def survey(chosen: Namespace) -> Iterator[dict[str, Any]]:
    """Measures each controller of this machine's kernel."""
    offered = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()
    names = [name for name in NAMES if name in offered]
    found: dict[str, Any] = {"kernel": platform.release(), "seconds": chosen.seconds, "loss": chosen.loss}
    found["flows"] = {}
    readings: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    groups = [names[begin : begin + AT_ONCE] for begin in range(0, len(names), AT_ONCE)]
    for group in groups * chosen.runs:
        for name, reading in _measured(group, chosen.seconds, chosen.loss).items():
            readings[name].append(reading)
            found["flows"][name] = mean(readings[name])
        yield found


def _measured(group: Sequence[str], seconds: float, loss: float) -> dict[str, dict[str, float]]:
    """Runs a flow of each controller at the same time, on paths of their own."""
    try:
        for name in group:
            connect(name, loss)
            child(partial(receive, name))
        with TemporaryDirectory() as folder:
            files = {name: Path(folder, name) for name in group}
            senders = [child(partial(_send_into, file, name, seconds)) for name, file in files.items()]
            for pid in senders:
                os.waitpid(pid, 0)
            return {name: summary(json.loads(file.read_text())) for name, file in files.items()}
    finally:
        for name in group:
            for side in "abc":
                remove(f"{name}-{side}")


def summary(rows: Sequence[Sequence[float]]) -> dict[str, float]:
    """Goodput in Mbit/s, mean RTT in ms, mean window and retransmissions of a flow after slow start."""
    rows = [row for row in rows if row[0] >= SETTLED_S]
    first, last = rows[0], rows[-1]
    return {
        "goodput": (last[4] - first[4]) * 8e-6 / (last[0] - first[0]),
        "rtt": statistics.fmean(row[2] for row in rows),
        "window": statistics.fmean(row[1] for row in rows),
        "retransmitted": last[3] - first[3],
    }


def mean(readings: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The means over several runs."""
    return {key: statistics.fmean(reading[key] for reading in readings) for key in readings[0]}


def simulated(name: str, seconds: float, loss: float, seeds: int) -> dict[str, float]:
    """The means over ``seeds`` simulations."""
    from ackclock import Scenario, simulate

    # The device of the sender takes segments one by one (gso_max_segs 1).
    flow = {"cc": NAMES[name], "start_jitter": "100ms", "transport": {"segmentation_offload": False}}
    path = {"rate": f"{RATE_MBIT}mbit", "rtt": f"{RTT_MS}ms", "queue": f"{QUEUE}p", "loss": f"{loss}%"}
    # The hosts have the usual buffers of the kernel.
    document = {
        "duration": f"{seconds:g}s",
        "buffers": "profile",
        "path": path,
        "flows": [flow],
        "record": {"flow_series": "20ms"},
    }
    runs = simulate(Scenario.from_document(document), repeat=seeds)
    readings = []
    for run in runs if isinstance(runs, Sequence) else [runs]:
        columns = ("time_s", "window_segments", "smoothed_rtt_ms", "retransmitted_packets", "delivered_bytes")
        table = run.flow_series.select(list(columns)).to_pydict()
        readings.append(summary(list(zip(*(table[column] for column in columns), strict=True))))
    return mean(readings)


def table(found: Mapping[str, Any], chosen: Namespace) -> Iterator[str]:
    """Simulated and measured numbers as a table of Markdown."""
    yield "| controller | goodput (Mbit/s) | mean RTT (ms) | mean window | retransmissions |"
    yield "| --- | --- | --- | --- | --- |"
    for name, kernel in found["flows"].items():
        ours = simulated(name, found["seconds"], found.get("loss", 0.0), chosen.seeds)
        digits = {"goodput": 2, "rtt": 1, "window": 1, "retransmitted": 0}
        cells = (f"{ours[key]:.{places}f} / {kernel[key]:.{places}f}" for key, places in digits.items())
        yield f"| `{NAMES[name]}` | {' | '.join(cells)} |"
