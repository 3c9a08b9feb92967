"""The simulated endpoint: its clock moves when a script waits."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from ackclock import _engine
from ackclock.replay.script import Options, Packet, Text, UnsupportedError, Value
from ackclock.replay.shell import Setting

NANOSECONDS = 1e9
START_NANOS = 2_000_000
"""The engine's clock at the start of a script, in the middle of two ticks of Linux's clock (0, 4, 8 ms…)."""
FLAGS = {
    "syn": "S",
    "fin": "F",
    "reset": "R",
    "push": "P",
    "echo": "E",
    "reduced": "W",
    "ack": ".",
}
"""The fields of a packet of the engine by flag, in the order of scripts."""

OPTIONS_WITHOUT_EFFECT = {
    "SO_REUSEADDR",
    "SO_SNDBUF",
    "SO_KEEPALIVE",
    "IP_TOS",
    "IP_MTU_DISCOVER",
    "TCP_NOTSENT_LOWAT",
}
OF_LINUX: Mapping[str, Mapping[str, Any]] = {
    "reno": {"cc": "newreno", "parameters": {"stack": "linux"}},
    "bbr": {"cc": "bbr1"},
}
"""Controllers of Linux that have another name here."""
LARGEST_WINDOW_FIELD = 65535
LARGEST_BUFFER = 4 << 20
"""``net.core.rmem_max`` of Linux 6.18, the largest SO_RCVBUF."""
DEFAULT_SCALE = 7
"""The window scale for a receive buffer of at most 6 MiB, the default of Linux."""
UNCONFIGURED: Mapping[str, Any] = {"transport": {}, "controller": None, "window_scale": None, "ecn": None}
"""Until the profile is known."""
ASKS_FOR_ECN = (1, 4)
"""Values of ``tcp_ecn`` with which a SYN asks for ECN."""
ACCURATE, ASKS_FOR_ACCURATE = (3, 4, 5), 3
"""Values with which accurate ECN is granted, and with which a SYN asks for it."""


class Simulated:
    """An endpoint of the simulator."""

    sees_windows = False
    late = 0.0

    def __init__(
        self,
        profile: str = "linux",
        controller: str | None = None,
        overrides: Sequence[tuple[str, str]] = (),
    ) -> None:
        self._profile = profile
        self._controller = controller
        self._overrides = list(overrides)
        self._settings: list[tuple[str, str]] = []
        self._configured = UNCONFIGURED
        self._kernel_controller = "cubic"
        self._connects = False
        self._no_delay = False
        self._receive_buffer: int | None = None
        """SO_RCVBUF."""
        self._endpoint: _engine.Endpoint | None = None
        self._nanos = START_NANOS
        self._sent: deque[tuple[float, Packet]] = deque()
        self._sockets: dict[int, str] = {}
        self._read = 0
        self._is_shut = False
        self._built()  # refuses an unknown profile or controller at once
        self._configured = _configured(profile, [])

    @property
    def now(self) -> float:
        """The time of its clock."""
        return (self._nanos - START_NANOS) / NANOSECONDS

    def close(self) -> None:
        """Nothing is held."""

    def configure(self, setting: Setting) -> None:
        """Sets a sysctl as an option of the profile."""
        settings = [*self._settings, (setting.name, setting.value)]
        configured = _configured(self._profile, settings)
        if not configured["acts"]:
            return
        if self._endpoint is not None:
            raise UnsupportedError(f"{setting.name} is set while the connection is there")
        if configured["controller"] != self._configured["controller"]:
            self._kernel_controller = configured["controller"]
        self._settings, self._configured = settings, configured

    def _built(self) -> _engine.Endpoint:
        options = dict(self._configured["transport"])
        if self._connects and self._configured["ecn"] not in ASKS_FOR_ECN:
            options.pop("ecn", None)
        if self._receive_buffer is not None:
            options["receive_buffer"] = f"{self._receive_buffer}B"
        name = self._kernel_controller if self._controller is None else self._controller
        flow = {**OF_LINUX.get(name, {"cc": name}), "profile": self._profile, "transport": options}
        document = {
            "name": "replay",
            "duration": "1s",
            "path": {"rate": "unlimited", "rtt": "100ms"},
            "flows": [flow],
        }
        scale = (
            DEFAULT_SCALE if self._configured["window_scale"] is None else self._configured["window_scale"]
        )
        return _engine.Endpoint(_engine.resolve_json(json.dumps(document), self._overrides), scale)

    def wait_until(self, time: float) -> None:
        """Moves the clock through all deadlines on the way."""
        to = max(self._nanos, START_NANOS + round(time * NANOSECONDS))
        while self._step(to):
            pass
        self._nanos = to

    def _step(self, to: int) -> bool:
        """Moves the clock to the next deadline up to ``to``, if there is one."""
        endpoint = self._endpoint
        due = endpoint.poll_timeout() if endpoint is not None else None
        if endpoint is None or due is None or due > to:
            return False
        self._nanos = max(self._nanos, due)
        endpoint.on_timeout(self._nanos)
        self._collect()
        return True

    def _collect(self) -> None:
        """Takes the packets that leave now."""
        if self._endpoint is None:
            return
        while (packet := self._endpoint.poll_transmit(self._nanos)) is not None:
            self._sent.append((self.now, _from_engine(json.loads(packet))))

    def inject(self, packet: Packet) -> None:
        """Delivers a packet now."""
        if self._endpoint is None:
            raise UnsupportedError("a packet arrives before there is a socket")
        if self._configured["ecn"] in ACCURATE and {"S", "E", "W", "A"} <= set(packet.flags):
            raise UnsupportedError("accurate ECN on packets is not modelled, which this SYN asks for")
        refusal = self._endpoint.inject(self._nanos, json.dumps(_to_engine(packet)))
        if refusal is not None:
            raise UnsupportedError(refusal)
        self._collect()

    def receive(self, until: float) -> tuple[float, Packet] | None:
        """The next packet that left, letting the time pass for it."""
        to = max(self._nanos, START_NANOS + round(until * NANOSECONDS))
        while not self._sent and self._step(to):
            pass
        if self._sent:
            return self._sent.popleft()
        self._nanos = to
        return None

    @property
    def is_readable(self) -> bool:
        """True if data have arrived that were not read."""
        return self._endpoint is not None and self._endpoint.received > self._read

    def information(self) -> Mapping[str, int]:
        """The modelled fields of ``TCP_INFO``."""
        text = self._endpoint.information(self._nanos) if self._endpoint is not None else None
        if text is None:
            raise UnsupportedError("TCP_INFO before the connection is open is not modelled")
        fields: dict[str, int] = json.loads(text)
        return fields

    def call(self, name: str, arguments: Sequence[Value], blocks: bool) -> tuple[int, str | None]:
        """A system call. ``connect`` and ``write`` may block: data without room wait within the endpoint."""
        handler = getattr(self, f"_call_{name}", None)
        if handler is None:
            raise UnsupportedError(f"the system call {name} is not modelled")
        if blocks and name not in ("connect", "accept", "write"):
            raise UnsupportedError(f"a {name} that blocks is not modelled")
        result: tuple[int, str | None] = handler(list(arguments))
        self._collect()
        return result

    def _call_socket(self, arguments: list[Value]) -> tuple[int, str | None]:
        kind = str(arguments[1]) if len(arguments) == 3 else ""
        if not kind.startswith("SOCK_STREAM") or arguments[0] not in (..., "AF_INET"):
            raise UnsupportedError("only a socket(…, SOCK_STREAM, IPPROTO_TCP) is modelled")
        if self._sockets:
            raise UnsupportedError("a second socket is not modelled")
        self._sockets[3] = "new"
        return 3, None

    def _call_bind(self, _arguments: list[Value]) -> tuple[int, str | None]:
        return 0, None

    def _call_listen(self, arguments: list[Value]) -> tuple[int, str | None]:
        self._sockets[self._descriptor(arguments)] = "listening"
        self._endpoint = self._built()
        self._endpoint.listen()
        self._endpoint.set_no_delay(self._no_delay)
        return 0, None

    def _call_connect(self, arguments: list[Value]) -> tuple[int, str | None]:
        if self._configured["ecn"] == ASKS_FOR_ACCURATE:
            raise UnsupportedError("a SYN that asks for accurate ECN is not modelled")
        self._connects = True
        self._sockets[self._descriptor(arguments)] = "connected"
        self._endpoint = self._built()
        self._endpoint.set_no_delay(self._no_delay)
        self._endpoint.connect(self._nanos)
        return -1, "EINPROGRESS"

    def _call_accept(self, arguments: list[Value]) -> tuple[int, str | None]:
        self._descriptor(arguments)
        if self._endpoint is None or not self._endpoint.is_open:
            raise UnsupportedError("an accept before the handshake is over is not modelled")
        descriptor = max(self._sockets, default=2) + 1
        self._sockets[descriptor] = "connected"
        return descriptor, None

    def _call_accept4(self, arguments: list[Value]) -> tuple[int, str | None]:
        return self._call_accept(arguments)

    def _call_setsockopt(self, arguments: list[Value]) -> tuple[int, str | None]:
        self._descriptor(arguments)
        option, value = arguments[2], arguments[3]
        number = value[0] if isinstance(value, list) and value else value
        if option == "TCP_NODELAY":
            self._no_delay = number != 0
            if self._endpoint is not None:
                self._endpoint.set_no_delay(self._no_delay)
        elif option == "TCP_QUICKACK" and number == 0 and self._endpoint is not None:
            self._endpoint.end_quick_acks()
        elif option == "TCP_CONGESTION" and isinstance(value, Text) and self._endpoint is None:
            self._kernel_controller = str(value)
        elif option == "SO_RCVBUF" and isinstance(number, int) and self._endpoint is None:
            self._receive_buffer = min(number, LARGEST_BUFFER)
        elif option not in OPTIONS_WITHOUT_EFFECT:
            raise UnsupportedError(f"the socket option {option} is not modelled")
        return 0, None

    def _call_getsockopt(self, arguments: list[Value]) -> tuple[int, str | None]:
        self._descriptor(arguments)
        if arguments[2] != "SO_ERROR":
            raise UnsupportedError(f"reading the socket option {arguments[2]} is not modelled")
        return 0, None

    def _call_fcntl(self, arguments: list[Value]) -> tuple[int, str | None]:
        self._descriptor(arguments)
        if arguments[1] not in ("F_GETFL", "F_SETFL"):
            raise UnsupportedError(f"fcntl with {arguments[1]} is not modelled")
        return (2 if arguments[1] == "F_GETFL" else 0), None

    def _call_write(self, arguments: list[Value]) -> tuple[int, str | None]:
        self._descriptor(arguments)
        size = arguments[2] if len(arguments) > 2 else None
        if not isinstance(size, int) or size < 0:
            raise UnsupportedError("a write without a number of bytes is not modelled")
        if arguments[1] is not ... and not isinstance(arguments[1], Text):
            raise UnsupportedError(f"a write of {arguments[1]} is not modelled")
        if self._is_shut:
            return -1, "EPIPE"
        if self._endpoint is None or not self._endpoint.write(size):
            raise UnsupportedError("a write before the connection is open is not modelled")
        return size, None

    def _call_send(self, arguments: list[Value]) -> tuple[int, str | None]:
        flags = str(arguments[3]).split("|") if len(arguments) > 3 else ["0"]
        other = [flag for flag in flags if flag not in ("0", "MSG_DONTWAIT", "MSG_NOSIGNAL")]
        if other:
            raise UnsupportedError(f"a send with {'|'.join(other)} is not modelled")
        return self._call_write(arguments)

    def _call_sendto(self, arguments: list[Value]) -> tuple[int, str | None]:
        return self._call_send(arguments)

    def _call_read(self, arguments: list[Value]) -> tuple[int, str | None]:
        self._descriptor(arguments)
        size = arguments[2] if len(arguments) > 2 else None
        if not isinstance(size, int) or self._endpoint is None:
            raise UnsupportedError("a read without a number of bytes is not modelled")
        there = min(size, self._endpoint.received - self._read)
        if there <= 0:
            raise UnsupportedError("a read of what has not arrived is not modelled")
        self._read += there
        return there, None

    def _call_recv(self, arguments: list[Value]) -> tuple[int, str | None]:
        return self._call_read(arguments)

    def _call_shutdown(self, arguments: list[Value]) -> tuple[int, str | None]:
        if arguments[1:] != ["SHUT_WR"]:
            raise UnsupportedError("a shutdown of other than SHUT_WR is not modelled")
        self._descriptor(arguments)
        self._end()
        return 0, None

    def _end(self) -> None:
        """Nothing more is written."""
        self._is_shut = True
        if self._endpoint is None or not self._endpoint.close():
            raise UnsupportedError("an end before the connection is open is not modelled")

    def _call_close(self, arguments: list[Value]) -> tuple[int, str | None]:
        descriptor = self._descriptor(arguments)
        if self._sockets.pop(descriptor) != "connected":
            return 0, None
        if self._endpoint is not None and self._endpoint.received > self._read:
            raise UnsupportedError(
                "a close with data that were not read is not modelled: it resets the connection"
            )
        self._end()
        return 0, None

    def _descriptor(self, arguments: list[Value]) -> int:
        descriptor = arguments[0] if arguments else None
        if not isinstance(descriptor, int) or descriptor not in self._sockets:
            raise UnsupportedError(f"there is no socket {descriptor}")
        return descriptor


def _configured(profile: str, settings: Sequence[tuple[str, str]]) -> Mapping[str, Any]:
    """The meaning of sysctls for a host with this profile."""
    try:
        return _engine.configure(profile, settings)
    except ValueError as error:
        raise UnsupportedError(str(error)) from None


def _to_engine(packet: Packet) -> dict[str, Any]:
    options = packet.options or Options()
    stamps = options.timestamps
    return {
        **{name: flag in packet.flags for name, flag in FLAGS.items()},
        "codepoint": packet.codepoint or 0,
        "sequence": packet.sequence,
        "acknowledged": packet.acknowledged or 0,
        "payload": packet.payload,
        "window": LARGEST_WINDOW_FIELD if packet.window is None else packet.window,
        "options": {
            "segment_size": options.segment_size,
            "window_scale": options.window_scale,
            "sack_permitted": options.sack_permitted,
            "timestamps": None if stamps is None else {"value": stamps[0], "echo": stamps[1]},
            "sack": options.sack,
        },
    }


def _from_engine(packet: Mapping[str, Any]) -> Packet:
    options = packet["options"]
    stamps = options["timestamps"]
    flags = "".join(flag for name, flag in FLAGS.items() if packet[name])
    return Packet(
        flags,
        packet["sequence"],
        packet["payload"],
        packet["acknowledged"] if packet["ack"] else None,
        packet["window"],
        Options(
            options["segment_size"],
            options["window_scale"],
            options["sack_permitted"],
            None if stamps is None else (stamps["value"], stamps["echo"]),
            tuple((start, end) for start, end in options["sack"]),
        ),
        packet["codepoint"],
    )
