"""Random situations: the writes of an application, and the faults of a network on segments and ACKs.

The generator has a version, as recorded answers of a kernel belong to the situations that it draws.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar, get_args

Faults = Literal[
    "losses",
    "all",
    "pauses",
    "steps",
    "long",
    "thin",
    "windows",
    "small",
    "sizes",
    "bleached",
    "modules",
    "bbr",
    "both",
    "buffers",
    "close",
    "flows",
]
"""What is drawn: lost segments alone, everything that happens to single packets, or a path and its use.

``pauses`` are bursts between idle times, ``steps`` RTTs that change, ``long`` RTTs of 0.7 to 2 s, and
``thin`` ACKs for many segments, most of which may be lost. ``windows`` are receive windows that change,
``small`` writes of bytes, ``sizes`` segments of other sizes, and ``bleached`` marks whose echo is removed.
``modules`` are the controllers that Linux has as modules, and ``bbr`` its BBR. ``both`` are data of the other
side, ``buffers`` send buffers, and ``close`` ACKs less than a millisecond apart. ``flows`` are two or three
connections that share a queue with CoDel, or with a limit alone.
"""
FAULTS: Sequence[Faults] = get_args(Faults)

GENERATOR = 2
"""The version of ``drawn``. Another one draws other situations from the same seeds."""
NUMBERED = 600
"""Faults are drawn for so many segments and ACKs of a situation."""
LARGEST_WINDOW = 520
"""The receive window where it does not matter, in segments."""
END_MS = 3000
PAUSED_END_MS = 7000
LONG_END_MS = 14_000
SAMPLE_MS = 240
"""The state is read at multiples of this time."""

WRITES: Sequence[Sequence[tuple[int, int]]] = (
    ((0, 30),),
    ((0, 60),),
    ((0, 10), (500, 10), (1000, 20)),
    ((0, 4), (150, 3), (300, 4), (600, 8)),
    ((0, 20), (1200, 30)),
    tuple((50 * n, 2) for n in range(20)),
)
"""Applications: times in milliseconds, and segments."""

RTTS_MS = (62, 102, 102, 202)
"""An RTT of 4n + 2 ms keeps the timeout, a probe and RACK's timer away from multiples of a tick of 4 ms.

There a tenth of a millisecond would decide about a whole tick. All times are even for the same reason: a
second segment waits for a train only within a millisecond of the first (``tcp_tso_should_defer``). ACKs of a
train are at most 2 ms apart for HyStart, so that a bottleneck takes none of these 2 ms for a segment.
"""

STEPPED_RTTS_MS = (30, 62, 102, 202, 402, 702)
LONG_RTTS_MS = (702, 1202, 2002)
IN_OPEN_LOOP = ("modules", "both", "buffers", "bbr", "windows")
"""Kinds that are played in an open loop whatever is drawn: they hang on less than the grid of the network."""
IN_BYTES = ("windows", "small")
"""Kinds whose segments may be short: numbers count bytes there, and segments elsewhere."""
SEGMENT = 1000
"""Payload of a full segment in bytes, where the kind draws no other."""
WRITTEN = (1, 40, 300, 999, 1000, 1001, 1700, 5000)
"""Small writes in bytes."""
SIZES = (88, 536, 1296, 1400)
WINDOWS = (600, 1000, 1504, 2800, 3504, 4000, 8200, 12_400, 20_000, 45_104)
"""Receive windows in bytes, most of them no multiple of a segment."""
MODULES = (
    "bic",
    "highspeed",
    "htcp",
    "hybla",
    "illinois",
    "scalable",
    "vegas",
    "veno",
    "westwood",
    "yeah",
)
"""Modules of Linux whose rules the simulator has. ``cdg`` and ``lp`` are the papers'."""
SEND_BUFFERS = ("4096 16384 65536", "4096 16384 200000", "4096 16384 4194304", "4096 65536 65536")
"""Values of ``tcp_wmem``."""
LARGE_WRITES: Sequence[Sequence[tuple[int, int]]] = (
    ((0, 150),),
    ((0, 400),),
    ((0, 100), (700, 200)),
    tuple((100 * n, 25) for n in range(12)),
)
SPACINGS_US = (200, 400, 700, 900)
"""Times between ACKs of one cell."""
FLOW_MS = 60
STEPS_MS = (80, 180, 340, 620, 1000, 1600)
"""When the RTT may change."""

One = TypeVar("One")


@dataclass(frozen=True)
class DrawnSituation:
    """One connection and its network. Times are even numbers of milliseconds since the handshake.

    Faults are named by the number of the transmission, or of the ACK, counted from 0.
    """

    seed: int
    faults: Faults
    controller: str
    """Its name in Linux."""
    sack: bool
    timestamps: bool
    ecn: bool
    rtt_ms: int
    handshake_ms: int
    gap_ms: int
    """The time that the bottleneck takes for a segment."""
    window: int
    """The receive window in segments."""
    ack_every: int
    """Segments in order that an ACK waits for."""
    writes: tuple[tuple[int, int], ...]
    end_ms: int
    lost: frozenset[int]
    late: tuple[tuple[int, int], ...] = ()
    """Transmissions that arrive so many milliseconds later."""
    twice: frozenset[int] = frozenset()
    marked: frozenset[int] = frozenset()
    lost_acks: frozenset[int] = frozenset()
    late_acks: tuple[tuple[int, int], ...] = ()
    rtt_steps: tuple[tuple[int, int], ...] = ()
    """From these times on segments that leave have another RTT. They arrive in order."""
    size: int = SEGMENT
    """Payload of a full segment in bytes."""
    windows: tuple[tuple[int, int], ...] = ()
    """From these times on ACKs have a receive window of so many bytes, or what is left of a larger one."""
    no_delay: bool = False
    """The application has switched Nagle's algorithm off."""
    bleached: bool = False
    """No ACK echoes a mark."""
    peer: tuple[tuple[int, int], ...] = ()
    """The other side sends so many segments at these times."""
    send_buffer: str | None = None
    """``tcp_wmem``. Without one the buffer holds all."""
    spacing_us: int = 0
    """The time between ACKs that would come at once."""
    flows: int = 1
    """Connections that share the bottleneck. Each writes ``FLOW_MS`` later than the one before."""
    limit_ms: int | None = None
    """The longest wait in the queue of the bottleneck."""
    codel: bool = False
    """The queue drops, or marks, by CoDel."""

    @property
    def is_open(self) -> bool:
        """The simulation meets the same at the same times as a kernel: an open loop."""
        return self.spacing_us > 0 or self.flows > 1 or self.faults in IN_OPEN_LOOP

    @property
    def unit(self) -> int:
        """The bytes that numbers count: of a byte, or of a full segment."""
        return 1 if self.faults in IN_BYTES else self.size

    def window_at(self, at_ms: int) -> int:
        """The receive window in bytes."""
        return next((size for step, size in reversed(self.windows) if step <= at_ms), self.window * self.size)

    def rtt_at(self, at_ms: int) -> int:
        """The RTT of a segment that leaves then, in milliseconds."""
        return next((rtt for step, rtt in reversed(self.rtt_steps) if step <= at_ms), self.rtt_ms)


class _Draw:
    """Draws by ``random()`` alone, whose values Python promises to keep."""

    def __init__(self, name: str) -> None:
        self._random = random.Random(name)

    def one_of(self, options: Sequence[One]) -> One:
        return options[int(self._random.random() * len(options))]

    def some(self, share: float) -> frozenset[int]:
        """A random share of the numbers."""
        return frozenset(number for number in range(NUMBERED) if self._random.random() < share)


def drawn(seed: int, faults: Faults) -> DrawnSituation:
    """The situation of a seed."""
    draw = _Draw(f"{GENERATOR} {faults} {seed}")
    rtt_ms = draw.one_of(RTTS_MS)
    common: dict[str, Any] = {
        "seed": seed,
        "faults": faults,
        "controller": draw.one_of(("reno", "cubic")),
        "rtt_ms": rtt_ms,
        # Shorter than every RTT of data, so that no tenth of a millisecond decides which is the smallest.
        "handshake_ms": rtt_ms - draw.one_of((4, 4, 20)),
        "gap_ms": draw.one_of((0, 4, 4, 6)),
        "writes": tuple(draw.one_of(WRITES)),
        "end_ms": END_MS,
    }
    plain: dict[str, Any] = {
        "sack": True,
        "timestamps": False,
        "ecn": False,
        "window": LARGEST_WINDOW,
        "ack_every": 1,
    }
    if faults == "losses":
        return DrawnSituation(**common, **plain, lost=draw.some(draw.one_of((0.03, 0.08, 0.15, 0.25))))
    if faults != "all":
        return DrawnSituation(**common | plain | _drawn_use(draw, faults))
    ecn = draw.one_of((False, False, True))
    late, late_acks = draw.one_of((14, 36, 60)), draw.one_of((8, 26))
    return DrawnSituation(
        **common,
        sack=draw.one_of((True, True, True, True, False)),
        timestamps=draw.one_of((True, False)),
        ecn=ecn,
        window=draw.one_of((LARGEST_WINDOW, LARGEST_WINDOW, LARGEST_WINDOW, 8, 20)),
        ack_every=draw.one_of((1, 1, 2, 4)),
        lost=draw.some(draw.one_of((0.0, 0.03, 0.08, 0.15))),
        late=tuple((number, late) for number in sorted(draw.some(draw.one_of((0.0, 0.0, 0.1, 0.3))))),
        twice=draw.some(draw.one_of((0.0, 0.0, 0.05))),
        marked=draw.some(draw.one_of((0.02, 0.15))) if ecn else frozenset(),
        lost_acks=draw.some(draw.one_of((0.0, 0.0, 0.1, 0.3))),
        late_acks=tuple((number, late_acks) for number in sorted(draw.some(draw.one_of((0.0, 0.0, 0.1))))),
    )


def _drawn_use(draw: _Draw, faults: Faults) -> dict[str, Any]:
    """The fields that the kind sets."""
    found: dict[str, Any] = {"timestamps": draw.one_of((True, False))}
    match faults:
        case "pauses":
            found |= {"writes": tuple(_bursts(draw)), "end_ms": PAUSED_END_MS}
        case "steps":
            times = sorted({draw.one_of(STEPS_MS) for _ in range(draw.one_of((1, 2, 3)))})
            found["rtt_steps"] = tuple((at, draw.one_of(STEPPED_RTTS_MS)) for at in times)
        case "long":
            rtt_ms = draw.one_of(LONG_RTTS_MS)
            handshake_ms = rtt_ms - draw.one_of((4, 4, 20))
            found |= {"rtt_ms": rtt_ms, "handshake_ms": handshake_ms, "end_ms": LONG_END_MS}
        case "windows":
            times = sorted({draw.one_of(STEPS_MS) for _ in range(draw.one_of((1, 2, 4, 6)))})
            found["windows"] = ((0, draw.one_of(WINDOWS[-4:])), *((at, draw.one_of(WINDOWS)) for at in times))
            found["writes"] = tuple((at, SEGMENT * size) for at, size in draw.one_of(WRITES))
            found["no_delay"] = draw.one_of((False, False, True))
        case "small":
            found["writes"] = tuple(
                (at, draw.one_of(WRITTEN))
                for at in range(0, draw.one_of((400, 1200, 2400)), draw.one_of((4, 20, 60)))
            )
            found["no_delay"] = draw.one_of((False, True))
        case "sizes":
            found["size"] = draw.one_of(SIZES)
        case "bleached":
            found |= {"ecn": True, "bleached": True, "marked": draw.some(draw.one_of((0.05, 0.3, 1.0)))}
        case "modules":
            found["controller"] = draw.one_of(MODULES)
        case "bbr":
            found["controller"] = "bbr"
        case "both":
            every, size = draw.one_of((4, 20, 60, 180)), draw.one_of((1, 2, 5))
            found["peer"] = tuple((at, size) for at in range(draw.one_of((0, 100)), 1600, every))
            found["ack_every"] = draw.one_of((1, 2))
        case "buffers":
            found["send_buffer"] = draw.one_of(SEND_BUFFERS)
            found["writes"] = tuple(draw.one_of(LARGE_WRITES))
            found["ack_every"] = draw.one_of((1, 2))
        case "flows":
            found |= {
                "flows": draw.one_of((2, 3)),
                "limit_ms": draw.one_of((40, 80, 160)),
                "codel": draw.one_of((False, True)),
                "ecn": draw.one_of((False, True)),
                "gap_ms": draw.one_of((4, 6)),
                "timestamps": False,
            }
            return found | {"lost": frozenset()}
        case "close":
            found |= {
                "timestamps": False,
                "gap_ms": draw.one_of((0, 0, 4)),
                "spacing_us": draw.one_of(SPACINGS_US),
            }
        case _:
            found["ack_every"] = draw.one_of((3, 6, 16, 50))
            found["lost_acks"] = draw.some(draw.one_of((0.0, 0.1, 0.3, 0.6)))
    return found | {"lost": draw.some(draw.one_of((0.0, 0.03, 0.08, 0.15)))}


def one_of(situation: DrawnSituation, number: int) -> DrawnSituation:
    """One connection of those that share a bottleneck. The controllers alternate."""
    if number == 0:
        return situation
    controllers = ("reno", "cubic")
    other = controllers[(controllers.index(situation.controller) + number) % 2]
    writes = tuple((at + FLOW_MS * number, size) for at, size in situation.writes)
    return replace(situation, controller=other, writes=writes)


def _bursts(draw: _Draw) -> Iterator[tuple[int, int]]:
    """Bursts, the last of which comes after 5.2 s at the latest."""
    at_ms = 0
    for _ in range(draw.one_of((2, 3, 4, 5))):
        yield at_ms, draw.one_of((1, 2, 5, 10, 20, 40))
        at_ms += draw.one_of((60, 260, 420, 700, 1300))
