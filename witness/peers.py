"""The two ends of a measurement of a queue discipline: a script that ``disciplines.py`` runs in namespaces.

peers.py send|receive datagrams MBIT SECONDS SPREAD SEED
peers.py send|receive flows NUMBER SECONDS SPREAD SEED
peers.py counters DEVICE
"""

from __future__ import annotations

import random
import socket
import struct
import sys
import threading
import time
from contextlib import suppress

RECEIVER = ("10.9.0.2", 5000)
SIZE = 1500
"""IP size of a datagram."""
STAMP = struct.Struct("!q")
SETTLE = 1.0
"""The queue is empty for its first second: Linux's PIE sleeps for half of it."""

# struct nlmsghdr, struct tcmsg, struct nlattr and constants of linux/netlink.h and linux/rtnetlink.h.
NETLINK, TCMSG, ATTRIBUTE = struct.Struct("=IHHII"), struct.Struct("=BxxxiIII"), struct.Struct("=HH")
GET_QDISC, NEW_QDISC, REQUEST, DUMP, STATS, XSTATS, HANDLE = 38, 36, 1, 0x300, 3, 4, 0x20000
COUNTED, MARKED = struct.Struct("=8xII"), struct.Struct("=24xI")
"""Packets and drops of struct tc_stats, and ecn_mark, the seventh word of struct tc_dualpi2_xstats."""


def answer(word: object) -> None:
    """Prints a line for the caller at once."""
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


def send_datagrams(mbit: float, seconds: float) -> None:
    """Sends datagrams that carry their time of sending, at a constant rate."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.connect(RECEIVER)
    # A small buffer would hold back the sender before the queue does.
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 26)
    gap = SIZE * 8 * 1000 / mbit
    padding = bytes(SIZE - 28 - STAMP.size)
    start = time.monotonic_ns()
    for number in range(int(seconds * 1e9 / gap)):
        due = start + int(number * gap)
        while (left := due - time.monotonic_ns()) > 0:
            time.sleep(left / 1e9)
        sock.send(STAMP.pack(time.monotonic_ns()) + padding)
    time.sleep(0.01)


def receive_datagrams() -> None:
    """Prints the mean delay in ms once nothing has come for a second."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 26)
    sock.bind(RECEIVER)
    answer("ready")
    delays = []
    while True:
        try:
            data = sock.recv(SIZE)
        except TimeoutError:
            break
        delays.append(time.monotonic_ns() - STAMP.unpack_from(data)[0])
        sock.settimeout(1.0)
    answer(sum(delays) / len(delays) / 1e6)


def offsets(number: int, spread: float, seed: int) -> list[float]:
    """The start of each flow, in seconds."""
    drawn = random.Random(seed)
    return [drawn.uniform(0, spread) for _ in range(number)]


def send_flows(seconds: float, starts: list[float]) -> None:
    """Runs greedy flows of cubic, each from its start. Prints the mean of their smoothed RTT in ms."""
    chunk = bytes(1 << 16)
    socks = []
    for _ in starts:
        sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
        sock.connect(RECEIVER)
        # Data left at the end is dropped.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("=ii", 1, 0))
        socks.append(sock)
    stop = time.monotonic() + seconds

    def write(sock: socket.socket, start: float) -> None:
        time.sleep(start)
        while time.monotonic() < stop:
            sock.send(chunk)

    for pair in zip(socks, starts, strict=True):
        threading.Thread(target=write, args=pair, daemon=True).start()
    rtts = []
    while time.monotonic() < stop:
        for sock in socks:
            # tcpi_rtt, in microseconds, follows 8 bytes and 15 words of struct tcp_info.
            info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 72)
            rtts.append(struct.unpack_from("=I", info, 68)[0])
        time.sleep(0.02)
    answer(sum(rtts) / len(rtts) / 1000)


def receive_flows(number: int) -> None:
    """Reads until the flows end."""
    listener = socket.create_server(RECEIVER, backlog=number)
    answer("ready")

    def read(sock: socket.socket) -> None:
        with suppress(ConnectionResetError):
            while sock.recv(1 << 16):
                pass

    threads = [threading.Thread(target=read, args=(listener.accept()[0],)) for _ in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    answer(0)


def counters(device: str) -> tuple[int, int, int]:
    """Packets sent, dropped and marked by DualPI2 with the handle 2:, which older ``tc`` cannot show."""
    ask = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
    index = socket.if_nametoindex(device)
    tcmsg = TCMSG.pack(0, index, 0, 0, 0)
    ask.send(NETLINK.pack(NETLINK.size + len(tcmsg), GET_QDISC, REQUEST | DUMP, 1, 0) + tcmsg)
    while True:
        answer = ask.recv(1 << 16)
        while answer:
            length, kind, *_ = NETLINK.unpack_from(answer)
            if kind != NEW_QDISC:
                raise LookupError(f"no dualpi2 at {device}")
            message, answer = answer[NETLINK.size : length], answer[length:]
            if TCMSG.unpack_from(message)[1:3] == (index, HANDLE):
                found = attributes(message[TCMSG.size :])
                packets, drops = COUNTED.unpack_from(found[STATS])
                return packets, drops, MARKED.unpack_from(found[XSTATS])[0]


def attributes(data: bytes) -> dict[int, bytes]:
    """The attributes of a message of rtnetlink. Each is padded to four bytes."""
    found = {}
    while data:
        length, kind = ATTRIBUTE.unpack_from(data)
        found[kind], data = data[ATTRIBUTE.size : length], data[length + 3 & ~3 :]
    return found


def main() -> None:
    """The command."""
    if sys.argv[1] == "counters":
        answer(" ".join(map(str, counters(sys.argv[2]))))
        return
    _, side, kind, amount, seconds, spread, seed = sys.argv
    if side == "receive":
        receive_datagrams() if kind == "datagrams" else receive_flows(int(amount))
        return
    if kind == "flows":
        # The first packet resolves addresses, which would cost the first handshake another round trip.
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"", RECEIVER)
    time.sleep(SETTLE)
    if kind == "datagrams":
        time.sleep(offsets(1, float(spread), int(seed))[0])
        send_datagrams(float(amount), float(seconds))
    else:
        send_flows(float(seconds), offsets(int(amount), float(spread), int(seed)))


if __name__ == "__main__":
    main()
