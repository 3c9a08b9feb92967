"""Writes a played situation as a packet script, with the answers of the endpoint that played it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ackclock.replay.differential.network import Write
from ackclock.replay.differential.playing import (
    OPENING_MS,
    Arrival,
    Departure,
    Logged,
    Played,
    Read,
    State,
    instant,
    settings,
    syn,
)
from ackclock.replay.differential.situation import DrawnSituation
from ackclock.replay.differential.trace import FIELDS
from ackclock.replay.script import Options, Packet

OUR_SIZE = 1460
"""The largest segment that the endpoint announces."""
OUR_SCALE = 8
"""The shift of its windows, for the receive buffer of ``settings``."""


def script(situation: DrawnSituation, played: Played, why: str) -> str:
    """The script. ``why`` becomes its first line."""
    labels = _Labels()
    lines = [f"// {why}", *_opening(situation, labels), *_events(situation, played, labels)]
    return "\n".join([*lines, ""])


class _Labels:
    """Timestamps of the endpoint as a script has them: numbers from 1 on, as a kernel begins anywhere."""

    def __init__(self) -> None:
        self._first: int | None = None

    def of(self, stamp: int) -> int:
        self._first = stamp if self._first is None else self._first
        return stamp - self._first + 1


def _opening(situation: DrawnSituation, labels: _Labels) -> Iterator[str]:
    for name, value in settings(situation).items():
        yield f'`sysctl -q {name}="{value}"`'
    name = situation.controller
    yield " 0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3"
    yield "+0 setsockopt(3, SOL_SOCKET, SO_REUSEADDR, [1], 4) = 0"
    if situation.send_buffer is None:
        yield "+0 setsockopt(3, SOL_SOCKET, SO_SNDBUF, [4000000], 4) = 0"
    yield f'+0 setsockopt(3, SOL_TCP, TCP_CONGESTION, "{name}", {len(name)}) = 0'
    yield "+0 bind(3, ..., ...) = 0"
    yield "+0 listen(3, 1) = 0"
    theirs = syn(situation)
    yield f"{_time(OPENING_MS)} < {_written(theirs, theirs.options)}"
    stamps = theirs.options.timestamps if theirs.options is not None else None
    options = Options(OUR_SIZE, OUR_SCALE, situation.sack, stamps and (labels.of(0), stamps[0]))
    yield f"+0 > {_written(Packet('SE.' if situation.ecn else 'S.', 0, 0, 1), options)}"


def _events(situation: DrawnSituation, played: Played, labels: _Labels) -> Iterator[str]:
    origin = OPENING_MS + situation.handshake_ms
    last = max((index for index, (_, one) in enumerate(played.log) if isinstance(one, State)), default=-1)
    offset = _first_stamp(played)
    accepted = False
    for index, (now, one) in enumerate(_joined(played.log)):
        at = _time(origin + now)
        match one:
            case Write(units):
                size = units * situation.unit
                blocks = "" if situation.send_buffer is None else f"...{_time(origin + situation.end_ms)}"
                yield f"{at}{blocks} write(4, ..., {size}) = {size}"
            case Arrival(packet):
                yield f"{at} < {_written(packet, _labelled(packet, labels, offset, arrives=True))}"
            case Read(size):
                yield f"{at} read(4, ..., {size}) = {size}"
            case Departure(packet):
                # The windows that an endpoint announces are not modelled.
                left = replace(packet, window=None)
                yield f"{at} > {_written(left, _labelled(packet, labels, offset, arrives=False))}"
            case State(values) if played.log[last][1] is one:
                tests = "; ".join(
                    f"assert tcpi_{name} == {value}" for name, value in zip(FIELDS, values, strict=True)
                )
                yield f"{at} %{{ {tests} }}%"
        if index == 0 and not accepted:
            accepted = True
            yield "+0 accept(3, ..., ...) = 4"
            if situation.no_delay:
                yield "+0 setsockopt(4, SOL_TCP, TCP_NODELAY, [1], 4) = 0"


def _joined(log: list[tuple[float, Logged]]) -> list[tuple[float, Logged]]:
    """The log with trains that follow one another in one piece: an endpoint may cut them elsewhere."""
    joined: list[tuple[float, Logged]] = []
    for now, one in log:
        before = joined[-1] if joined else None
        if (
            isinstance(one, Departure)
            and before is not None
            and isinstance(before[1], Departure)
            and before[0] == now
            and before[1].packet.end == one.packet.sequence
            and "W" not in before[1].packet.flags
        ):
            whole = replace(one.packet, sequence=before[1].packet.sequence)
            whole = replace(whole, payload=one.packet.end - whole.sequence, options=before[1].packet.options)
            joined[-1] = (now, Departure(whole))
        else:
            joined.append((now, one))
    return joined


def _first_stamp(played: Played) -> int:
    """The timestamp of the SYN-ACK, which the first ACK echoes."""
    first = next(one for _, one in played.log if isinstance(one, Arrival))
    stamps = first.packet.options.timestamps if first.packet.options is not None else None
    return stamps[1] if stamps is not None else 0


def _labelled(packet: Packet, labels: _Labels, offset: int, arrives: bool) -> Options:
    options = packet.options or Options()
    if options.timestamps is None:
        return options
    value, echo = options.timestamps
    stamps = (value, labels.of(echo - offset)) if arrives else (labels.of(value - offset), echo)
    return replace(options, timestamps=stamps)


def _written(packet: Packet, options: Options | None) -> str:
    ack = "" if packet.acknowledged is None else f" ack {packet.acknowledged}"
    window = "" if packet.window is None else f" win {packet.window}"
    shown = f" {options}" if options is not None and str(options) else ""
    return f"{packet.flags} {packet.sequence}:{packet.end}({packet.payload}){ack}{window}{shown}"


def _time(at_ms: float) -> str:
    return f"{instant(at_ms):.{3 if at_ms == int(at_ms) else 4}f}"
