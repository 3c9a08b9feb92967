"""Plays a script: its events happen in time, and the packets of the endpoint are compared with it."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from pathlib import Path

from ackclock.replay.endpoint import Endpoint
from ackclock.replay.expressions import Assertions
from ackclock.replay.script import (
    Call,
    Code,
    DivergenceError,
    Event,
    Inbound,
    Options,
    Outbound,
    Packet,
    Script,
    Shell,
    UnsupportedError,
    When,
)
from ackclock.replay.shell import Discipline, settings

TOLERANCE_S = 0.004
"""The default tolerance of the time of an event."""
TOLERANCE_SHARE = 0.125
"""Or this share of the time since the event before, if that is more."""
WITHOUT_EFFECT = {"ip_version": "ipv4", "tcp_ts_tick_usecs": "1000", "mtu": "1500"}
"""Options of a script whose value here is the default."""
OPENING = ("socket", "accept", "accept4")
"""Calls that return a new descriptor."""


class Player:
    """Plays one script on one endpoint."""

    def __init__(self, script: Script, endpoint: Endpoint, folder: Path) -> None:
        self._script = script
        self._endpoint = endpoint
        self._folder = folder
        self._assertions = Assertions()
        self._left: deque[tuple[float, Packet]] = deque()
        self._tolerance = TOLERANCE_S
        self._share = TOLERANCE_SHARE
        self._last = 0.0
        """The due time of the event before."""
        self._anchor: float | None = None
        """The due time of the event before if that is a packet. A packet that left later has that time."""
        self._stamps: dict[int, int] = {}
        """The timestamps of the endpoint by the script's."""
        self._connected: int | None = None
        self._called = False
        self._descriptors: dict[int, int] = {}

    def play(self) -> None:
        """Plays it to its end. Raises DivergenceError or UnsupportedError, with the line."""
        line = 0
        try:
            for name, (at, value) in self._script.options.items():
                line = at
                self._take_option(name, value)
            for event in self._script.events:
                line = event.line
                self._play(event)
        except (DivergenceError, UnsupportedError) as error:
            error.line = error.line or line
            raise
        except OverflowError:
            refusal = UnsupportedError("has a number of more than 64 bits")
            refusal.line = line
            raise refusal from None

    def _take_option(self, name: str, value: str) -> None:
        try:
            if name == "tolerance_usecs":
                self._tolerance = float(value) / 1e6
            elif name == "tolerance_percent":
                self._share = float(value) / 100
            elif WITHOUT_EFFECT.get(name) != value:
                raise UnsupportedError(f"the option --{name}={value} is not modelled")
        except ValueError:
            raise UnsupportedError(f"the option --{name}={value} is no number") from None

    def _play(self, event: Event) -> None:
        anchored = isinstance(event.action, Inbound)
        base = 0.0
        if event.when.relative or event.when.any:
            base = self._anchor if anchored and self._anchor is not None else self._endpoint.now
        due = base + event.when.start
        self._anchor = due if anchored else None
        match event.action:
            case Inbound(packet):
                self._endpoint.wait_until(due)
                self._endpoint.inject(self._to_endpoint(packet))
            case Outbound(packet):
                end = due if event.when.end is None else base + event.when.end
                self._expect(packet, event.when, due, end)
            case Call() as call:
                self._endpoint.wait_until(due)
                self._call(call, event.when.finish is not None)
            case Code(text):
                self._endpoint.wait_until(due)
                self._assertions.run(text, self._endpoint.information())
            case Shell(text):
                self._endpoint.wait_until(due)
                self._configure(text)
        self._last = due

    def _call(self, call: Call, blocks: bool) -> None:
        self._called = True
        arguments = list(call.arguments)
        if arguments and isinstance(arguments[0], int):
            arguments[0] = self._descriptors.get(arguments[0], arguments[0])
        try:
            result, errno = self._endpoint.call(call.name, arguments, blocks)
        except (IndexError, TypeError, ValueError):
            raise UnsupportedError(f"a call of {call.name} with these arguments is not modelled") from None
        if blocks or call.result is ...:
            return
        if call.name in OPENING and errno is None and isinstance(call.result, int) and call.result >= 0:
            # A script numbers its sockets freely.
            self._descriptors[call.result] = result
            return
        expected = (call.result, call.errno)
        if call.name == "connect" and expected == (0, None):
            return  # it blocks for as long as the handshake takes
        if expected != (result, errno):
            raise DivergenceError(
                f"{call.name} returned {_result(result, errno)} instead of {_result(*expected)}"
            )

    def _configure(self, text: str) -> None:
        for setting in settings(text, self._folder):
            if not isinstance(setting, Discipline):
                self._endpoint.configure(setting)
            elif self._called:
                raise UnsupportedError(f"`tc {setting.command}` while the script runs is not modelled")
            elif setting.paces:
                raise UnsupportedError(f"`tc {setting.command}` paces what leaves, which is not modelled")

    def _expect(self, packet: Packet, when: When, due: float, end: float) -> None:
        """Expects ``packet`` from the endpoint, in any number of parts."""
        tolerance = max(self._tolerance, self._share * (due - self._last))
        latest = float("inf") if when.any else end + tolerance
        rest = packet
        while True:
            found = self._next(min(latest, self._endpoint.now + 3600.0))
            if found is None:
                raise DivergenceError(f"nothing left until {self._endpoint.now:.3f} s; expected was {packet}")
            at, sent = found
            if not when.any and not due - tolerance <= at <= latest:
                raise DivergenceError(
                    f"`{sent}` left at {at:.3f} s; expected was `{packet}` at {_between(due, end)}"
                )
            taken = self._compare(rest, sent, at, whole=rest is packet)
            if taken == rest.payload:
                # The next arrival has the same time at every endpoint that is in time.
                self._anchor = at if when.any else max(at, due)
                return
            rest = rest.part(rest.sequence + taken, rest.payload - taken)

    def _next(self, until: float) -> tuple[float, Packet] | None:
        return self._left.popleft() if self._left else self._endpoint.receive(until)

    def _compare(self, expected: Packet, sent: Packet, at: float, whole: bool) -> int:
        """Compares a packet with the rest of an expected one. Returns the length of its payload."""
        wrong = DivergenceError(f"`{sent}` left; expected was `{expected}`")
        if sent.sequence != expected.sequence or (sent.payload == 0) != (expected.payload == 0):
            raise wrong
        taken = min(sent.payload, expected.payload)
        # The flags at the end of a train belong to its last segment, and trains may be cut elsewhere.
        exact = whole and sent.payload == expected.payload
        ignored = "" if exact else "PF"
        if _without(sent.flags, ignored) != _without(expected.flags, ignored):
            raise wrong
        if sent.acknowledged != expected.acknowledged:
            raise wrong
        if expected.codepoint is not None and sent.codepoint != expected.codepoint:
            raise DivergenceError(f"`{sent}` left with ECN field {sent.codepoint}, not {expected.codepoint}")
        self._compare_window(expected, sent)
        if expected.options is not None:
            self._compare_options(expected.options, sent)
        if sent.payload > taken:
            rest = sent.part(sent.sequence + taken, sent.payload - taken)
            self._left.appendleft((at, rest))
        return taken

    def _compare_window(self, expected: Packet, sent: Packet) -> None:
        if expected.window is None:
            return
        if not self._endpoint.sees_windows:
            raise UnsupportedError("the window that the endpoint announces is not modelled")
        if expected.window != sent.window:
            raise DivergenceError(f"`{sent}` left with window {sent.window}, not {expected.window}")

    def _compare_options(self, expected: Options, sent: Packet) -> None:
        options = sent.options or Options()
        theirs = options.timestamps
        if expected.timestamps is not None and theirs is not None:
            value, echo = expected.timestamps
            if self._stamps.setdefault(value, theirs[0]) == theirs[0] and theirs[1] == echo:
                options = replace(options, timestamps=expected.timestamps)
        if options != expected:
            raise DivergenceError(f"`{sent}` left; expected were the options {expected or 'none'}")

    def _to_endpoint(self, packet: Packet) -> Packet:
        """A packet of the script with timestamps of the endpoint's clock."""
        options = packet.options
        if options is None or options.timestamps is None:
            return packet
        value, echo = options.timestamps
        mapped = (value, self._stamps.get(echo, echo))
        return replace(packet, options=replace(options, timestamps=mapped))


def _without(flags: str, ignored: str) -> str:
    return "".join(flag for flag in flags if flag not in ignored)


def _between(start: float, end: float) -> str:
    return f"{start:.3f} s" if start == end else f"{start:.3f} to {end:.3f} s"


def _result(value: object, errno: str | None) -> str:
    return f"{value} {errno}" if errno else str(value)
