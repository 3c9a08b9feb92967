"""When packets left a device, by the kernel's own time stamps.

A program that reads the device is woken later, on a busy machine by milliseconds.
"""

from __future__ import annotations

import socket
import struct
import time

EVERYTHING = 3
"""ETH_P_ALL: only sockets of every protocol see packets that leave."""
OUTGOING = 4
"""PACKET_OUTGOING."""
TIMESTAMP = 35
"""SO_TIMESTAMPNS."""
FORCED_BUFFER = 33
"""SO_RCVBUFFORCE."""
BUFFER = 1 << 24
STAMP = struct.Struct("qq")
READINGS = 5


class Departures:
    """The times at which packets leave a device, in the order in which it yields them."""

    def __init__(self, device: str) -> None:
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        self._socket.setsockopt(socket.SOL_SOCKET, FORCED_BUFFER, BUFFER)
        self._socket.setsockopt(socket.SOL_SOCKET, TIMESTAMP, 1)
        self._socket.bind((device, EVERYTHING))
        self._ahead = min(_ahead() for _ in range(READINGS))

    def next(self) -> float | None:
        """The time of the next packet on the monotonic clock, if one has left."""
        while True:
            try:
                _, ancillary, _, (_, _, kind, *_) = self._socket.recvmsg(0, socket.CMSG_SPACE(STAMP.size))
            except BlockingIOError:
                return None
            if kind == OUTGOING:
                seconds, nanos = STAMP.unpack(ancillary[0][2])
                stamp = int(seconds) * 1_000_000_000 + int(nanos)
                return (stamp - self._ahead) / 1e9

    def close(self) -> None:
        """Closes the socket."""
        self._socket.close()


def _ahead() -> int:
    """Nanoseconds by which the clock of time stamps is ahead of the monotonic one. A delay adds to them."""
    before = time.monotonic_ns()
    return time.time_ns() - before
