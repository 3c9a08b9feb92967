"""The kernel's TCP as the endpoint: real sockets in a network namespace of their own, behind a TUN device.

Packets that arrive are written to the device, packets that leave are read from it. Namespace and device
belong to the thread that made them, and end with it.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import select
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TypeVar

from ackclock._engine import MachineError
from ackclock.descriptors import is_ready
from ackclock.replay.datagram import HEADER, read, write
from ackclock.replay.departures import Departures
from ackclock.replay.jiffies import wait_for_start
from ackclock.replay.script import Packet, Text, UnsupportedError, Value
from ackclock.replay.shell import Setting

CLONE_NEWNET = 0x40000000
IFF_TUN, IFF_NO_PI, IFF_VNET_HDR, IFF_UP, IFF_RUNNING = 0x1, 0x1000, 0x4000, 0x1, 0x40
TUNSETIFF, TUNSETVNETHDRSZ, TUNSETOFFLOAD = 0x400454CA, 0x400454D8, 0x400454D0
CHECKSUMS_AND_TRAINS = 0x1 | 0x2
"""TUN_F_CSUM and TUN_F_TSO4: trains of segments cross the device whole."""
SIOCSIFFLAGS, SIOCSIFADDR, SIOCSIFNETMASK = 0x8914, 0x8916, 0x891C
LOCAL, REMOTE, MASK = "192.168.0.1", "192.168.1.1", "255.255.0.0"
LOCAL_PORT, REMOTE_PORT = 8080, 40000
LARGEST_PACKET = 1 << 17
DEVICE = "tun0"
PRIORITY = 10
"""The lowest priority of real-time scheduling, above all other threads."""
CONTROLLERS = {"newreno": "reno"}
"""Controllers that have another name here."""

FIELDS = (
    ("state ca_state retransmits probes backoff options wscale flags", "B"),
    (
        "rto ato snd_mss rcv_mss unacked sacked lost retrans fackets last_data_sent last_ack_sent "
        "last_data_recv last_ack_recv pmtu rcv_ssthresh rtt rttvar snd_ssthresh snd_cwnd advmss reordering "
        "rcv_rtt rcv_space total_retrans",
        "I",
    ),
    ("pacing_rate max_pacing_rate bytes_acked bytes_received", "Q"),
    ("segs_out segs_in notsent_bytes min_rtt data_segs_in data_segs_out", "I"),
    ("delivery_rate busy_time rwnd_limited sndbuf_limited", "Q"),
    ("delivered delivered_ce", "I"),
    ("bytes_sent bytes_retrans", "Q"),
    ("dsack_dups reord_seen", "I"),
)
"""The beginning of ``struct tcp_info``."""
NAMES = [f"tcpi_{name}" for names, _ in FIELDS for name in names.split()]
LAYOUT = struct.Struct("=" + "".join(kind * len(names.split()) for names, kind in FIELDS))

Result = TypeVar("Result")


def in_namespace(work: Callable[[], Result]) -> Result:
    """Runs ``work`` in a thread with a network namespace of its own. Returns its result.

    Raises the errors of ``work``, and MachineError without a namespace.
    """
    outcome: list[Result] = []
    failure: list[BaseException] = []

    def run() -> None:
        try:
            new_namespace()
            with contextlib.suppress(OSError):
                # Other programs must not delay it. It sleeps nearly all the time.
                os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
            outcome.append(work())
        except BaseException as error:
            failure.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if failure:
        raise failure[0]
    return outcome[0]


def new_namespace() -> None:
    """Gives the thread a network namespace. Raises MachineError."""
    library = ctypes.CDLL(None, use_errno=True)
    if library.unshare(CLONE_NEWNET) != 0:
        why = os.strerror(ctypes.get_errno())
        raise MachineError(f"a script on the kernel's TCP needs a network namespace, which takes root: {why}")


class Kernel:
    """The kernel's TCP, made, used and closed in one thread of ``in_namespace``."""

    sees_windows = True

    def __init__(self, controller: str | None = None, start: Callable[[], float] | None = None) -> None:
        """Its time begins when it is first asked for, or with others that have the same ``start``."""
        self._controller = controller
        self._kernel_controller = "cubic"
        self._sockets: dict[int, socket.socket] = {}
        self._connected: socket.socket | None = None
        self._sent: deque[tuple[float, Packet]] = deque()
        self._base: int | None = None
        """The number of the endpoint's SYN."""
        self._ports = (REMOTE_PORT, LOCAL_PORT)
        self._late = 0.0
        self._unwritten = 0
        """Bytes of writes that block."""
        self._waits = False
        """They wait for room in the send buffer."""
        try:
            self._device = _device()
            self._departures = Departures(DEVICE)
        except OSError as error:
            raise MachineError(f"a script on the kernel's TCP needs a TUN device: {error.strerror}") from None
        self._begin = cache(wait_for_start) if start is None else start

    @property
    def _start(self) -> float:
        return self._begin()

    @property
    def now(self) -> float:
        """The time since the start."""
        # The first call waits for the start, so that the clock is read after it.
        start = self._start
        return time.monotonic() - start

    @property
    def late(self) -> float:
        """Its largest lateness in seconds."""
        return self._late

    def close(self) -> None:
        """Closes the sockets and the device."""
        for opened in self._sockets.values():
            opened.close()
        self._departures.close()
        os.close(self._device)

    def configure(self, setting: Setting) -> None:
        """Sets a sysctl of the namespace."""
        if setting.name == "net.ipv4.tcp_congestion_control":
            # A namespace may not choose every controller as its default, but a socket may.
            self._kernel_controller = setting.value
            return
        module, _, parameter = setting.name.partition(".")
        if module != "net":
            file = Path("/sys/module", module, "parameters", parameter)
            if not file.is_file() or file.read_text(encoding="ascii").strip() != setting.value:
                raise UnsupportedError(f"{file} is another on this machine than {setting.value}")
            return
        try:
            Path("/proc/sys", setting.name.replace(".", "/")).write_text(setting.value, encoding="ascii")
        except OSError as error:
            raise UnsupportedError(f"the sysctl {setting.name} cannot be set: {error.strerror}") from None

    def wait_until(self, time_s: float) -> None:
        """Waits, and takes the packets that leave meanwhile."""
        while (left := time_s - self.now) > 0:
            self._poll(left)
        if time_s > 0:
            self._late = max(self._late, self.now - time_s)
        self._poll(0.0)

    def _poll(self, wait: float) -> None:
        """Waits until packets have left, or for this time, and takes them."""
        if not is_ready(self._device, select.POLLIN, wait):
            return
        while True:
            try:
                data = os.read(self._device, LARGEST_PACKET)
            except BlockingIOError:
                break
            left = self._departures.next()
            self._take(self.now if left is None else left - self._start, data)

    def _take(self, at: float, data: bytes) -> None:
        found = read(data)
        if found is None:
            return
        packet, ports, number = found
        if "S" in packet.flags and self._base is None:
            self._base = number
            self._ports = (ports[1], ports[0])
        if self._base is not None:
            sequence = (number - self._base) & 0xFFFFFFFF
            self._sent.append((at, packet.part(sequence, packet.payload)))

    def inject(self, packet: Packet) -> None:
        """Delivers a packet."""
        os.write(self._device, write(packet, (REMOTE, LOCAL), self._ports, self._base or 0))
        self._go_on_writing()
        self._poll(0.0)

    def receive(self, until: float) -> tuple[float, Packet] | None:
        """The next packet that left, waiting for it until then."""
        while not self._sent and self.now < until:
            self._poll(until - self.now)
        return self._sent.popleft() if self._sent else None

    def _go_on_writing(self) -> None:
        """Writes what blocks, as far as the buffer has room: where none was left, once a third of it is free.

        No write is held back before: also a full buffer fills the piece that waits last (tcp_sendmsg_locked).
        """
        while self._unwritten > 0 and self._connected is not None:
            if self._waits and not is_ready(self._connected.fileno(), select.POLLOUT):
                break
            written = 0
            with contextlib.suppress(BlockingIOError):
                written = self._connected.send(bytes(self._unwritten))
            self._unwritten -= written
            self._waits = self._unwritten > 0

    @property
    def is_readable(self) -> bool:
        """True if data have arrived that were not read."""
        return self._connected is not None and is_ready(self._connected.fileno(), select.POLLIN)

    def information(self) -> Mapping[str, int]:
        """The fields of ``TCP_INFO``."""
        if self._connected is None:
            raise UnsupportedError("TCP_INFO before the connection is open is not modelled")
        data = self._connected.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, LAYOUT.size)
        return dict(zip(NAMES, LAYOUT.unpack(data.ljust(LAYOUT.size, b"\0")), strict=True))

    def call(self, name: str, arguments: Sequence[Value], blocks: bool) -> tuple[int, str | None]:
        """Makes a system call. A write that blocks goes on with the ACKs. Other calls fail."""
        handler = getattr(self, f"_call_{name}", None)
        if handler is None:
            raise UnsupportedError(f"the system call {name} is not modelled")
        if blocks and name not in ("connect", "accept", "write"):
            raise UnsupportedError(f"a {name} that blocks is not modelled")
        try:
            result: int = handler(list(arguments), blocks) if name == "write" else handler(list(arguments))
        except BlockingIOError as error:
            if name != "connect":
                raise UnsupportedError(f"a {name} that blocks is not modelled") from None
            return -1, errno.errorcode[error.errno or 0]
        except OSError as error:
            return -1, errno.errorcode.get(error.errno or 0, str(error.errno))
        self._poll(0.0)
        return result, None

    def _call_socket(self, arguments: list[Value]) -> int:
        kind = str(arguments[1]) if len(arguments) == 3 else ""
        if not kind.startswith("SOCK_STREAM") or arguments[0] not in (..., "AF_INET"):
            raise UnsupportedError("only a socket(…, SOCK_STREAM, IPPROTO_TCP) is modelled")
        opened = socket.socket(socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        controller = self._controller or self._kernel_controller
        name = CONTROLLERS.get(controller, controller)
        try:
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())
        except OSError:
            opened.close()
            raise UnsupportedError(f"this kernel has no controller `{name}`") from None
        return self._add(opened)

    def _add(self, opened: socket.socket) -> int:
        descriptor = max(self._sockets, default=2) + 1
        self._sockets[descriptor] = opened
        return descriptor

    def _call_bind(self, arguments: list[Value]) -> int:
        self._socket(arguments).bind((LOCAL, LOCAL_PORT))
        return 0

    def _call_listen(self, arguments: list[Value]) -> int:
        self._socket(arguments).listen(1)
        return 0

    def _call_connect(self, arguments: list[Value]) -> int:
        self._connected = self._socket(arguments)
        self._connected.connect((REMOTE, LOCAL_PORT))
        return 0

    def _call_accept(self, arguments: list[Value]) -> int:
        opened, _ = self._socket(arguments).accept()
        opened.setblocking(False)
        self._connected = opened
        return self._add(opened)

    def _call_accept4(self, arguments: list[Value]) -> int:
        return self._call_accept(arguments)

    def _call_setsockopt(self, arguments: list[Value]) -> int:
        level, option = (_constant(argument) for argument in arguments[1:3])
        value = arguments[3]
        number = value[0] if isinstance(value, list) and value else value
        if not isinstance(number, int | Text):
            number = _constant(number)
        written = str(number).encode() if isinstance(number, str) else struct.pack("=I", number & 0xFFFFFFFF)
        self._socket(arguments).setsockopt(level, option, written)
        return 0

    def _call_getsockopt(self, arguments: list[Value]) -> int:
        if arguments[2] != "SO_ERROR":
            raise UnsupportedError(f"reading the socket option {arguments[2]} is not modelled")
        return 0 if self._socket(arguments).getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0 else -1

    def _call_fcntl(self, arguments: list[Value]) -> int:
        if arguments[1] not in ("F_GETFL", "F_SETFL"):
            raise UnsupportedError(f"fcntl with {arguments[1]} is not modelled")
        # Sockets here never block, whatever a script says.
        return os.O_RDWR if arguments[1] == "F_GETFL" else 0

    def _call_write(self, arguments: list[Value], blocks: bool = False) -> int:
        size = arguments[2] if len(arguments) > 2 else None
        if not isinstance(size, int) or size < 0:
            raise UnsupportedError("a write without a number of bytes is not modelled")
        if arguments[1] is not ... and not isinstance(arguments[1], Text):
            raise UnsupportedError(f"a write of {arguments[1]} is not modelled")
        if not blocks and self._unwritten == 0:
            return self._socket(arguments).send(bytes(size))
        if self._socket(arguments) is not self._connected:
            raise UnsupportedError("a write that blocks on a socket without a connection is not modelled")
        self._unwritten += size
        self._go_on_writing()
        return size

    def _call_send(self, arguments: list[Value]) -> int:
        flags = str(arguments[3]).split("|") if len(arguments) > 3 else ["0"]
        other = [flag for flag in flags if flag not in ("0", "MSG_DONTWAIT", "MSG_NOSIGNAL")]
        if other:
            raise UnsupportedError(f"a send with {'|'.join(other)} is not modelled")
        return self._call_write(arguments)

    def _call_sendto(self, arguments: list[Value]) -> int:
        return self._call_send(arguments)

    def _call_read(self, arguments: list[Value]) -> int:
        size = arguments[2] if len(arguments) > 2 else None
        if not isinstance(size, int) or size < 0:
            raise UnsupportedError("a read without a number of bytes is not modelled")
        return len(self._socket(arguments).recv(size))

    def _call_recv(self, arguments: list[Value]) -> int:
        return self._call_read(arguments)

    def _call_shutdown(self, arguments: list[Value]) -> int:
        self._socket(arguments).shutdown(_constant(arguments[1]))
        return 0

    def _call_close(self, arguments: list[Value]) -> int:
        self._socket(arguments).close()
        del self._sockets[arguments[0]]
        return 0

    def _socket(self, arguments: list[Value]) -> socket.socket:
        descriptor = arguments[0] if arguments else None
        if not isinstance(descriptor, int) or descriptor not in self._sockets:
            raise UnsupportedError(f"there is no socket {descriptor}")
        return self._sockets[descriptor]


def _constant(name: Value) -> int:
    """A constant of the socket interface, or a number."""
    known = {"SOL_IP": socket.IPPROTO_IP, "SOL_TCP": socket.IPPROTO_TCP, "IP_MTU_DISCOVER": 10}
    known |= {"IP_PMTUDISC_DONT": 0, "IP_PMTUDISC_DO": 2, "TCP_NOTSENT_LOWAT": 25}
    value = name if isinstance(name, int) else known.get(str(name), getattr(socket, str(name), None))
    if not isinstance(value, int):
        raise UnsupportedError(f"the socket option {name} is not modelled")
    return value


def _device() -> int:
    """A TUN device with the local address, and the loopback device, both up."""
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        fcntl.ioctl(
            device, TUNSETIFF, struct.pack("16sH22x", DEVICE.encode(), IFF_TUN | IFF_NO_PI | IFF_VNET_HDR)
        )
        fcntl.ioctl(device, TUNSETVNETHDRSZ, struct.pack("i", HEADER))
        fcntl.ioctl(device, TUNSETOFFLOAD, CHECKSUMS_AND_TRAINS)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
            for request, address in ((SIOCSIFADDR, LOCAL), (SIOCSIFNETMASK, MASK)):
                value = struct.pack(
                    "16sHH4s16x", DEVICE.encode(), socket.AF_INET, 0, socket.inet_aton(address)
                )
                fcntl.ioctl(control, request, value)
            for name in (b"lo", DEVICE.encode()):
                fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sH22x", name, IFF_UP | IFF_RUNNING))
    except OSError:
        os.close(device)
        raise
    return device
