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

WITHOUT_EFFECT = {
    "net.ipv4.tcp_wmem",
    "net.ipv4.tcp_mem",
    "net.ipv4.tcp_syn_retries",
    "net.ipv4.tcp_synack_retries",
    "net.ipv4.tcp_pacing_ss_ratio",
    "net.ipv4.tcp_pacing_ca_ratio",
    "net.ipv4.tcp_notsent_lowat",
    "net.ipv4.tcp_fastopen",
    "net.ipv4.tcp_fastopen_key",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.tcp_ecn_option",
    "net.ipv4.tcp_min_tso_segs",
    "net.ipv4.tcp_limit_output_bytes",
    "net.ipv4.tcp_no_metrics_save",
    "net.ipv4.tcp_no_ssthresh_metrics_save",
    "net.ipv4.tcp_autocorking",
}
"""Sysctls without effect on a script of one connection here."""

ONLY: Mapping[str, str] = {
    "net.ipv4.tcp_dsack": "1",
    "net.ipv4.tcp_fack": "0",
    "net.ipv4.tcp_window_scaling": "1",
    "net.ipv4.tcp_moderate_rcvbuf": "1",
    "tcp_cubic.hystart_detect": "3",
}
"""Sysctls with one modelled value."""

SWITCHES: Mapping[str, str] = {
    "net.ipv4.tcp_sack": "sack",
    "net.ipv4.tcp_timestamps": "timestamps",
    "net.ipv4.tcp_slow_start_after_idle": "slow_start_restart",
    "net.ipv4.tcp_frto": "forward_rto",
    "net.ipv4.tcp_early_retrans": "tail_loss_probe",
    "net.ipv4.tcp_recovery": "rack",
}
"""Sysctls that switch an option off (0) or on (anything else)."""

NEEDS_SACK = ("tail_loss_probe", "rack")
"""Options that the kernel does not use without SACK, whatever their sysctls."""

OPTIONS_WITHOUT_EFFECT = {
    "SO_REUSEADDR",
    "SO_SNDBUF",
    "SO_RCVBUF",
    "SO_KEEPALIVE",
    "IP_TOS",
    "IP_MTU_DISCOVER",
    "TCP_NOTSENT_LOWAT",
}
RENO: Mapping[str, Any] = {"cc": "newreno", "parameters": {"stack": "linux"}}
"""The ``reno`` of Linux."""
LARGEST_WINDOW_FIELD = 65535
DEFAULT_SCALE = 7
"""The window scale for a receive buffer of at most 6 MiB, the default of Linux."""


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
        self._options: dict[str, Any] = {}
        self._kernel_controller = "cubic"
        self._scale = DEFAULT_SCALE
        self._connects = False
        self._offers_ecn = False
        self._accurate = False
        self._offers_accurate = False
        self._no_delay = False
        self._endpoint: _engine.Endpoint | None = None
        self._nanos = START_NANOS
        self._sent: deque[tuple[float, Packet]] = deque()
        self._sockets: dict[int, str] = {}
        self._read = 0
        self._is_shut = False
        self._built()  # refuses an unknown profile or controller at once

    @property
    def now(self) -> float:
        """The time of its clock."""
        return (self._nanos - START_NANOS) / NANOSECONDS

    def close(self) -> None:
        """Nothing is held."""

    def configure(self, setting: Setting) -> None:
        """Sets a sysctl as an option of the profile."""
        name, value = setting.name, setting.value
        if name in WITHOUT_EFFECT:
            return
        if self._endpoint is not None:
            raise UnsupportedError(f"{name} is set while the connection is there")
        if name in ONLY:
            if value != ONLY[name]:
                raise UnsupportedError(f"{name}={value} is not modelled; {ONLY[name]} is")
        elif name in SWITCHES and value.isdigit():
            self._options[SWITCHES[name]] = value != "0"
        elif name == "net.ipv4.tcp_congestion_control":
            self._kernel_controller = value
        elif name == "net.ipv4.tcp_reordering" and value.isdigit():
            self._options["duplicate_threshold"] = int(value[:4])
        elif name == "net.ipv4.tcp_ecn" and value in ("0", "1", "2", "3", "4", "5"):
            self._options["ecn"] = value != "0"
            self._offers_ecn = value in ("1", "4")
            self._accurate, self._offers_accurate = value in ("3", "4", "5"), value == "3"
        elif name == "net.ipv4.tcp_tso_win_divisor" and value.isdigit():
            self._set_divisor(int(value[:4]))
        elif name == "net.ipv4.tcp_rmem":
            self._scale = _scale(value)
        else:
            raise UnsupportedError(f"the sysctl {name}={value} is not modelled")

    def _set_divisor(self, divisor: int) -> None:
        """Segments wait for a train while they are a smaller part of the window than this."""
        if divisor != 3 and divisor < 100:
            raise UnsupportedError(
                f"tcp_tso_win_divisor={divisor} is not modelled; 3 is, and from 100 on no train waits"
            )
        self._options["segmentation_offload"] = divisor == 3

    def _built(self) -> _engine.Endpoint:
        options = dict(self._options)
        if options.get("sack") is False:
            for name in NEEDS_SACK:
                options.pop(name, None)
        if self._connects and not self._offers_ecn:
            options.pop("ecn", None)
        controller: Mapping[str, Any] = {
            "cc": self._kernel_controller if self._controller is None else self._controller
        }
        if controller["cc"] == "reno":
            controller = RENO
        flow = {**controller, "profile": self._profile, "transport": options}
        document = {
            "name": "replay",
            "duration": "1s",
            "path": {"rate": "unlimited", "rtt": "100ms"},
            "flows": [flow],
        }
        return _engine.Endpoint(_engine.resolve_json(json.dumps(document), self._overrides), self._scale)

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
        if self._accurate and {"S", "E", "W", "A"} <= set(packet.flags):
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

    def information(self) -> Mapping[str, int]:
        """The modelled fields of ``TCP_INFO``."""
        text = self._endpoint.information(self._nanos) if self._endpoint is not None else None
        if text is None:
            raise UnsupportedError("TCP_INFO before the connection is open is not modelled")
        fields: dict[str, int] = json.loads(text)
        return fields

    def call(self, name: str, arguments: Sequence[Value], blocks: bool) -> tuple[int, str | None]:
        """A system call. The only one that may block is ``connect``."""
        handler = getattr(self, f"_call_{name}", None)
        if handler is None:
            raise UnsupportedError(f"the system call {name} is not modelled")
        if blocks and name not in ("connect", "accept"):
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
        if self._offers_accurate:
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


def _scale(value: str) -> int:
    """The shift of windows for the largest receive buffer, the last of three numbers, as in Linux."""
    sizes = value.split()
    if len(sizes) != 3 or not all(size.isdigit() for size in sizes):
        raise UnsupportedError(f"net.ipv4.tcp_rmem={value} is not three numbers")
    # The binary logarithm less 15: 15 MiB are 2^23.9 bytes, and the shift is 8.
    return min(max(int(sizes[2][:15]).bit_length() - 16, 0), 14)


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
