"""The behaviour of an endpoint in a situation, and the first difference between two endpoints."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import zip_longest
from typing import Any

from ackclock.replay.differential.network import Sample, Write
from ackclock.replay.differential.receiver import Ack

FIELDS = (
    "snd_cwnd",
    "snd_ssthresh",
    "ca_state",
    "unacked",
    "sacked",
    "lost",
    "retrans",
    "total_retrans",
    "reordering",
)
"""Fields of ``TCP_INFO`` that are compared."""
TOLERANCE_MS = 8
"""By how much the times of a segment may differ: two ticks of the kernel's clock.

One timer in some hundreds expires a tick late, and those that it sets follow.
"""


Met = tuple[int, Ack | Write | Sample]
"""Something that an endpoint met, with the time since its start in microseconds."""


@dataclass(frozen=True)
class Trace:
    """Segments that left, each with its time in milliseconds, and the states at the times of the samples.

    An acknowledgement without data is a negative number: -1 less the segments that it acknowledges.
    """

    sent: tuple[tuple[int, int], ...]
    states: tuple[tuple[int, ...], ...]
    """The time, and :data:`FIELDS`."""
    met: tuple[Met, ...] = ()
    """In an open loop the simulation meets the same at the same times: SYN, ACK, and all that followed."""
    others: tuple[Trace, ...] = ()
    """The other connections, if several share the bottleneck."""

    def as_json(self) -> dict[str, Any]:
        """As it is recorded: times as differences."""
        times = [at for at, _ in self.sent]
        waits = [after - before for before, after in zip([0, *times], times, strict=False)]
        found: dict[str, Any] = {
            "waits": waits,
            "segments": [number for _, number in self.sent],
            "states": [list(state) for state in self.states],
        }
        met = {"met": [*map(_met_as_json, self.met)]} if self.met else {}
        return found | met | ({"others": [one.as_json() for one in self.others]} if self.others else {})

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Trace:
        """The trace of ``as_json``."""
        now, sent = 0, []
        for wait, number in zip(value["waits"], value["segments"], strict=True):
            now += wait
            sent.append((now, number))
        met = tuple(map(_met_from_json, value.get("met", [])))
        others = tuple(map(cls.from_json, value.get("others", [])))
        return cls(tuple(sent), tuple(tuple(state) for state in value["states"]), met, others)


def _met_as_json(met: Met) -> list[Any]:
    at, one = met
    match one:
        case Ack():
            own = {field.name: getattr(one, field.name) for field in fields(one)}
            return [at, {name: value for name, value in own.items() if value != getattr(Ack, name, None)}]
        case Write():
            return [at, one.units]
    return [at]


def _met_from_json(value: Sequence[Any]) -> Met:
    match value:
        case [at]:
            return at, Sample()
        case [at, dict(own)]:
            blocks = tuple((start, end) for start, end in own.get("blocks", ()))
            return at, Ack(**own | {"blocks": blocks})
    at, units = value
    return at, Write(units)


@dataclass(frozen=True)
class Difference:
    """The first difference between two traces."""

    at_ms: int
    why: str


def compared(simulated: Trace, kernel: Trace, tolerance_ms: int = TOLERANCE_MS) -> Difference | None:
    """The first difference of the simulation from the kernel, or None if there is none."""
    both = zip((simulated, *simulated.others), (kernel, *kernel.others), strict=True)
    found = [one for pair in both for one in (*_of_segments(*pair, tolerance_ms), *_of_states(*pair))]
    return min(found, key=lambda one: one.at_ms, default=None)


def _of_segments(simulated: Trace, kernel: Trace, tolerance_ms: int) -> Iterator[Difference]:
    for index, (one, other) in enumerate(zip_longest(simulated.sent, kernel.sent)):
        parts = one is None or other is None or one[1] != other[1]
        if parts or abs(one[0] - other[0]) > tolerance_ms:
            at = min(both[0] for both in (one, other) if both is not None)
            yield Difference(at, f"packet {index}: simulated {_named(one)}, kernel {_named(other)}")
            return


def _named(departure: tuple[int, int] | None) -> str:
    if departure is None:
        return "nothing"
    at, number = departure
    return f"segment {number} at {at} ms" if number >= 0 else f"ACK of {-1 - number} at {at} ms"


def _of_states(simulated: Trace, kernel: Trace) -> Iterator[Difference]:
    for one, other in zip(simulated.states, kernel.states, strict=False):
        if one != other and _last_before(one[0], simulated) == _last_before(one[0], kernel):
            yield Difference(one[0], f"state at {one[0]} ms: {_parting(one, other)}")
            return


def _last_before(at_ms: int, trace: Trace) -> int:
    """When a segment last left before a time. After a timer that was late, states differ for a moment."""
    index = bisect_left(trace.sent, (at_ms,))
    return trace.sent[index - 1][0] if index else 0


def _parting(one: Sequence[int], other: Sequence[int]) -> str:
    pairs = zip(FIELDS, one[1:], other[1:], strict=True)
    return ", ".join(f"{name} {mine} simulated, {its} kernel" for name, mine, its in pairs if mine != its)
