"""The parts of a packet script: events, each at its time and in its line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from ackclock.errors import InputError

Value: TypeAlias = Any
"""An argument of a system call: a number, a name, a text (``Text``), a list, a table, or ``...``."""


class ScriptError(InputError):
    """A file that is no packet script. The message is one sentence with file and line."""


class UnsupportedError(Exception):
    """A statement that is not modelled, or unknown."""

    def __init__(self, why: str, line: int = 0) -> None:
        super().__init__(why)
        self.why = why
        self.line = line


class DivergenceError(Exception):
    """The endpoint behaved otherwise than the script says."""

    def __init__(self, why: str, line: int = 0) -> None:
        super().__init__(why)
        self.why = why
        self.line = line


class Text(str):
    """A text in quotes, as opposed to a name."""


@dataclass(frozen=True)
class When:
    """The time of an event, in seconds."""

    start: float
    end: float | None = None
    """The end of a range ``A~B``, or None if the time is one instant."""
    relative: bool = False
    """Since the event before, not since the first one."""
    any: bool = False
    """``*``: whenever it happens."""
    finish: float | None = None
    """The return of a blocking call (``A...B``)."""


@dataclass(frozen=True)
class Options:
    """The TCP options of a packet, without padding."""

    segment_size: int | None = None
    window_scale: int | None = None
    sack_permitted: bool = False
    timestamps: tuple[int, int] | None = None
    """Value and echo."""
    sack: tuple[tuple[int, int], ...] = ()

    def __str__(self) -> str:
        parts = []
        if self.segment_size is not None:
            parts.append(f"mss {self.segment_size}")
        if self.sack_permitted:
            parts.append("sackOK")
        if self.timestamps is not None:
            parts.append(f"TS val {self.timestamps[0]} ecr {self.timestamps[1]}")
        if self.window_scale is not None:
            parts.append(f"wscale {self.window_scale}")
        if self.sack:
            parts.append("sack " + " ".join(f"{start}:{end}" for start, end in self.sack))
        return f"<{','.join(parts)}>" if parts else ""


ORDER = "SFRPEWA."
"""The flags: ``.`` is ACK, E is ECE, W is CWR, A is AE (RFC 9768)."""


@dataclass(frozen=True)
class Packet:
    """A TCP packet. Sequence numbers count from the SYN of their side."""

    flags: str
    """Some letters of `ORDER`, in this order."""
    sequence: int
    payload: int
    acknowledged: int | None = None
    window: int | None = None
    options: Options | None = field(default_factory=Options)
    """None where any options will do (``<...>``)."""
    codepoint: int | None = None
    """The ECN field of the IP header, or None if any will do."""

    @property
    def end(self) -> int:
        """The number after the last byte. A FIN is not counted."""
        return self.sequence + self.payload

    def part(self, sequence: int, payload: int) -> Packet:
        """The same packet with other bytes."""
        return replace(self, sequence=sequence, payload=payload)

    def __str__(self) -> str:
        ack = "" if self.acknowledged is None else f" ack {self.acknowledged}"
        options = "<...>" if self.options is None else str(self.options)
        return f"{self.flags} {self.sequence}:{self.end}({self.payload}){ack} {options}".rstrip()


@dataclass(frozen=True)
class Inbound:
    """``<``: the packet arrives at the endpoint."""

    packet: Packet


@dataclass(frozen=True)
class Outbound:
    """``>``: the endpoint sends the packet."""

    packet: Packet


@dataclass(frozen=True)
class Call:
    """A system call and its result."""

    name: str
    arguments: Sequence[Value]
    result: Value
    errno: str | None = None


@dataclass(frozen=True)
class Code:
    """``%{ … }%``: assertions on ``tcpi_`` fields."""

    text: str


@dataclass(frozen=True)
class Shell:
    """A block in backticks."""

    text: str


Action: TypeAlias = Inbound | Outbound | Call | Code | Shell


@dataclass(frozen=True)
class Event:
    """One event."""

    line: int
    when: When
    action: Action


@dataclass(frozen=True)
class Script:
    """A script that was read."""

    options: Mapping[str, tuple[int, str]]
    """``--name=value`` lines: the line and the value by name."""
    events: Sequence[Event]
