#!/usr/bin/env python3
"""BBR of this machine's kernel beside the simulated one: a lone flow over many paths.

    .ci/bbr.py [--seconds 25] [--hz 250] [--linux FILE] [--beside FILE]

Four network namespaces in a row: the sender, a router that loses packets at random, one with the kernel's
token bucket and a FIFO, and the receiver, which delays its ACKs. It needs root, ``ip`` and ``tc``, and a
kernel with ``bbr`` whose time a busy machine does not disturb. ``--linux`` writes what the kernel does and
does not simulate; ``--beside`` lays that beside the simulation. ``--hz`` is the rate of that kernel's clock
(CONFIG_HZ).
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import platform
import socket
import statistics
import struct
import threading
import time
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise, product
from typing import Any

from beside import call, child, enter, lay, parser

RATES, RTTS, QUEUES, LOSSES = (10, 50), (20, 100), (0.5, 1, 2, 5), (0, 1)
"""Of the paths: Mbit/s, ms, bandwidth-delay products, percent."""
SETTLED_S, LOOK_S = 5.0, 0.0047
"""Before this nothing is measured; so often the queue is looked at."""
SPACES = "abcd"
PORT, SIZE = 5000, 1500
# Of linux/sockios.h, ethtool.h, netlink.h and rtnetlink.h.
ETHTOOL, SET_TSO = 0x8946, 0x1F
NETLINK, TCMSG, ATTRIBUTE = struct.Struct("=IHHII"), struct.Struct("=BxxxiIII"), struct.Struct("=HH")
GET_QDISC, NEW_QDISC, REQUEST, DUMP, STATS = 38, 36, 0x001, 0x300, 3
COUNTS = struct.Struct("=QII12xI")
"""Of struct tc_stats: bytes, packets, drops, packets that wait."""
SHAPER, QUEUE = 0x10000, 0x20000

Cell = tuple[int, int, float, int]


def packets(cell: Cell) -> int:
    """That may wait, in a scenario as behind a token bucket of one packet.

    The bucket lets a packet go when a link would begin to send it, so that both hold as many.
    """
    rate, rtt, queue, _ = cell
    return 1 + int(queue * rate * rtt * 1000 / 8 / SIZE)


def behind_the_first(waiting: Sequence[int]) -> float:
    """The mean of the packets that waited behind the first."""
    return statistics.fmean(max(count - 1, 0) for count in waiting)


def connect(cell: Cell) -> None:
    """The row of namespaces: links of 10.8.N.1 and 10.8.N.2."""
    rate, rtt, _, loss = cell
    for space in SPACES:
        call(f"ip netns add {space}")
        options = "net.ipv4.ip_forward=1 net.ipv4.tcp_comp_sack_slack_ns=0"
        call(f"ip netns exec {space} sysctl -qw {options}")
    for number, (left, right) in enumerate(pairwise(SPACES)):
        call(f"ip -n {left} link add right type veth peer name left netns {right}")
        for space, device, host in ((left, "right", 1), (right, "left", 2)):
            call(f"ip -n {space} address add 10.8.{number}.{host}/24 dev {device}")
            call(f"ip -n {space} link set {device} up")
    for space, route in (("a", "0.2"), ("b", "1.2"), ("c", "1.1"), ("d", "2.1")):
        call(f"ip -n {space} route add default via 10.8.{route}")
    if loss:
        call(f"tc -n b qdisc add dev right root netem limit 100000 loss {loss}%")
    shaper = f"stab overhead -14 linklayer ethernet tbf rate {rate}mbit burst {SIZE} limit 100000000"
    call(f"tc -n c qdisc add dev right root handle 1: {shaper}")
    call(f"tc -n c qdisc add dev right parent 1: handle 2: pfifo limit {packets(cell)}")
    # A packet passes an idle token bucket at once, where a link takes its time for it.
    call(f"tc -n d qdisc add dev left root netem limit 100000 delay {rtt + SIZE * 8 / rate / 1000}ms")


def receive() -> None:
    """Reads until the flow ends."""
    enter("d")
    peer, _ = socket.create_server(("10.8.2.2", PORT)).accept()
    while peer.recv(1 << 16):
        pass


def send(seconds: float) -> None:
    """A greedy flow of trains that leave as single packets, as without offload in the device."""
    enter("a")
    off = ctypes.create_string_buffer(struct.pack("=II", SET_TSO, 0))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as plain:
        fcntl.ioctl(plain, ETHTOOL, struct.pack("=16sQ16x", b"right", ctypes.addressof(off)))
    sock = socket.socket()
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"bbr")
    sock.connect(("10.8.2.2", PORT))
    sock.settimeout(0.5)
    stop = time.monotonic() + seconds
    while time.monotonic() < stop:
        try:
            sock.send(bytes(1 << 16))
        except TimeoutError:
            continue


def counts(ask: socket.socket) -> dict[int, tuple[int, ...]]:
    """What the disciplines of a namespace have counted."""
    tcmsg = TCMSG.pack(0, 0, 0, 0, 0)
    ask.send(NETLINK.pack(NETLINK.size + len(tcmsg), GET_QDISC, REQUEST | DUMP, 1, 0) + tcmsg)
    found: dict[int, tuple[int, ...]] = {}
    while True:
        answer = ask.recv(1 << 16)
        while answer:
            length, kind, *_ = NETLINK.unpack_from(answer)
            if kind != NEW_QDISC:
                return found
            handle, at = TCMSG.unpack_from(answer, NETLINK.size)[2], NETLINK.size + TCMSG.size
            while at < length:
                size, name = ATTRIBUTE.unpack_from(answer, at)
                if name == STATS:
                    found[handle] = COUNTS.unpack_from(answer, at + ATTRIBUTE.size)
                at += size + 3 & ~3
            answer = answer[length:]


def watch(rate: int, seconds: float) -> dict[str, float]:
    """Utilization and mean queue of the bottleneck once the flow has settled."""
    enter("c")
    ask = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
    time.sleep(SETTLED_S)
    start, before = time.monotonic(), counts(ask)[SHAPER][0]
    waiting = []
    while time.monotonic() < start + seconds - SETTLED_S:
        waiting.append(counts(ask)[QUEUE][3])
        time.sleep(LOOK_S)
    sent = counts(ask)[SHAPER][0] - before
    used = sent * 8e-6 / (time.monotonic() - start) / rate
    return {"utilization": used, "queue": behind_the_first(waiting)}


def measured(cell: Cell, seconds: float) -> dict[str, float]:
    """What this machine's kernel does."""
    connect(cell)
    children = []
    for work in (receive, lambda: send(seconds)):
        children.append(child(work))
        time.sleep(0.1)
    found: dict[str, float] = {}
    # A thread of its own enters the namespace.
    watcher = threading.Thread(target=lambda: found.update(watch(cell[0], seconds)))
    watcher.start()
    for pid in children:
        os.waitpid(pid, 0)
    watcher.join()
    for space in SPACES:
        call(f"ip netns del {space}")
    return found


def simulated(cell: Cell, seconds: float, seeds: int, hz: int) -> Mapping[str, Sequence[float]]:
    """Of so many simulations, with timers and waits of ``hz`` ticks a second."""
    from ackclock import Scenario, simulate

    rate, rtt, _, loss = cell
    path = {"rate": f"{rate}mbit", "rtt": f"{rtt}ms", "queue": f"{packets(cell)}p", "loss": f"{loss}%"}
    ticks = {"parameters": {"hz": hz}, "transport": {"timer_tick": f"{1000 / hz:g}ms"}}
    document = {
        "duration": f"{seconds:g}s",
        "warmup": f"{SETTLED_S:g}s",
        "path": path,
        "flows": [{"cc": "bbr1", "start_jitter": "1s", **ticks}],
        "profile": "linux",
        "record": {"link_series": f"{LOOK_S:g}s"},
    }
    found: dict[str, list[float]] = {"utilization": [], "queue": []}
    runs = simulate(Scenario.from_document(document), repeat=seeds)
    for run in runs if isinstance(runs, Sequence) else [runs]:
        series = run.link_series.to_pydict()
        looks = zip(series["time_s"], series["queue_packets"], strict=True)
        found["utilization"].append(run.links.to_pylist()[0]["utilization"])
        found["queue"].append(behind_the_first([count for at, count in looks if at >= SETTLED_S]))
    return found


def survey(chosen: Namespace) -> Iterator[dict[str, Any]]:
    """What this machine's kernel does on each path."""
    found: dict[str, Any] = {"kernel": platform.release(), "seconds": chosen.seconds, "readings": []}
    for cell in product(RATES, RTTS, QUEUES, LOSSES):
        runs = [measured(cell, chosen.seconds) for _ in range(chosen.seeds)]
        found["readings"].append({"cell": cell, "linux": runs})
        yield found


def spread(values: Sequence[float]) -> str:
    """Mean and range."""
    return f"{statistics.fmean(values):.1f} ({min(values):.1f} to {max(values):.1f})"


def table(found: Mapping[str, Any], chosen: Namespace) -> Iterator[str]:
    """The kernel's figures beside the simulated ones, as a table of Markdown."""
    yield "| path | utilization | mean queue behind the first (packets) | |"
    yield "| --- | --- | --- | --- |"
    for reading in found["readings"]:
        cell: Cell = tuple(reading["cell"])
        rate, rtt, queue, loss = cell
        ours = simulated(cell, found["seconds"], chosen.seeds, chosen.hz)
        kernel = {key: [run[key] for run in reading["linux"]] for key in ours}
        used, waiting = (statistics.fmean(ours[key]) for key in ("utilization", "queue"))
        carried, stood = (statistics.fmean(kernel[key]) for key in ("utilization", "queue"))
        near = abs(used - carried) <= 0.01 and abs(waiting / stood - 1) <= 0.1
        yield (
            f"| {rate}mbit, {rtt}ms, {queue:g}bdp, {loss} % lost | {used:.4f} / {carried:.4f} "
            f"| {spread(ours['queue'])} / {spread(kernel['queue'])} | {'near' if near else 'far'} |"
        )


if __name__ == "__main__":
    arguments = parser(__doc__, seconds=25.0, seeds=5)
    arguments.add_argument("--hz", type=int, default=250, help="ticks a second of the kernel's clock")
    lay(arguments.parse_args(), survey, table)
