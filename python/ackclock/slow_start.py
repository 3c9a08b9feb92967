"""Slow starts on many paths: the window at the exit against the BDP, losses, and arrival times of data.

Paths are drawn: rate, RTT and buffer independently, each from a logarithmic range. On each path every method
starts one flow, under the same controller and from the same seed. A path may lead over Wi-Fi or a cellular
link, others may use it, and the application may have less to send than it holds (``Conditions``).
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from ackclock import _engine, reading
from ackclock.result import Run

if TYPE_CHECKING:
    import numpy as np

METHODS = ("classic", "limited", "hystart", "hystart++", "search", "rapid-start", "careful-resume")
"""The values of the parameter `slow_start`, but for `own`."""

PACKET_BITS = 12_000
"""The size of a full packet, in which windows are counted."""

LEAST_BDP = 10.0
"""The least BDP of a path in packets: the initial window fills a smaller one at once."""

LEAST_QUEUE = 8
"""The smallest queue in packets."""

NETWORKS = ("wired", "wifi", "cellular")
"""The networks of paths."""

MOST_OVER_WIFI = 50e6
"""No wired link before a wireless one is faster, in bit/s: 802.11n of two streams carries more."""

NEIGHBOURS = 2
"""Stations that share the channel of a path over Wi-Fi, and send now and then."""

NEIGHBOUR_RATE = "8mbit"
"""The rate of each of them."""

TICK_S = 0.02
"""The time for which a cellular link has one rate."""

NOISE = 0.5
"""The standard deviation of the logarithm of a cellular rate after a second: it moves as Brownian motion.

Sprout has Brownian motion for the rate itself (Winstein, Sivaraman and Balakrishnan, NSDI 2013). With the
logarithm, slow links vary as much as fast ones.
"""

SWING = 4.0
"""A cellular rate stays within this factor of its median."""

SAMPLES_PER_RTT = 20
POWERS = tuple(range(4, 10))
"""The powers of ten of bytes whose times are measured."""


@dataclass(frozen=True)
class LogUniform:
    """Values between two, equally likely on a logarithmic scale."""

    low: float
    high: float

    def draw(self, random: np.random.Generator) -> float:
        """One of them."""
        import numpy as np

        return float(np.exp(random.uniform(math.log(self.low), math.log(self.high))))


@dataclass(frozen=True)
class Conditions:
    """The properties of a path beside its rate, RTT and buffer."""

    network: str = "wired"
    """One of :data:`NETWORKS`."""
    cross: float = 0.0
    """The share of the link that others take, in packets that come at random (Poisson)."""
    application: float = 0.0
    """The rate of the application, as a share of the rate of the link, or 0 for a greedy one."""
    traces: tuple[str, ...] = ()
    """Recordings of cellular links that paths take in turn, in place of drawn rates: absolute names."""


CLEAN = Conditions()
"""A wired link of its own, and no end of data."""


@dataclass(frozen=True)
class DrawnPath:
    """One bottleneck."""

    rate_bps: float
    rtt_s: float
    buffer_bdp: float
    conditions: Conditions = CLEAN
    trace: str | None = None
    """The recording that its rate follows."""
    seed: int = 0
    """The seed of the course of a cellular rate."""

    @property
    def bdp(self) -> float:
        """The BDP of the share of the path that is left for the flow, in packets."""
        return (1.0 - self.conditions.cross) * self.whole_bdp

    @property
    def whole_bdp(self) -> float:
        """The BDP of the whole path, in packets."""
        return self.rate_bps * self.rtt_s / PACKET_BITS

    @property
    def duration_s(self) -> float:
        """The length of a run."""
        return 1.0 + 30.0 * self.rtt_s

    def document(self, cc: str, method: str) -> str:
        """The scenario of one flow of ``cc`` that starts by ``method``, as JSON.

        The saved window and RTT of `careful-resume` are the path's.
        """
        parameters: dict[str, Any] = {"slow_start": method}
        if method == "careful-resume":
            parameters |= {"saved_window": self.bdp, "saved_rtt": f"{self.rtt_s * 1e3:.3f}ms"}
        flow: dict[str, Any] = {"cc": cc, "parameters": parameters}
        if self.conditions.application:
            flow["source"] = {"rate": _rate(self.conditions.application * self.rate_bps)}
        flows = [flow]
        if self.conditions.cross:
            flows.append(_datagrams("cross", _rate(self.conditions.cross * self.rate_bps)))
        step = max(1.0, self.rtt_s * 1e3 / SAMPLES_PER_RTT)
        return json.dumps(
            {
                "duration": f"{self.duration_s:.3f}s",
                "record": {"flow_series": f"{step:.3f}ms", "link_series": "off", "probes": "off"},
            }
            | self._network(flows)
        )

    def _network(self, flows: list[dict[str, Any]]) -> dict[str, Any]:
        """Links and flows."""
        queue = f"{max(LEAST_QUEUE, round(self.buffer_bdp * self.whole_bdp))}p"
        if self.conditions.network != "wifi":
            path = {"rate": self._link_rate(), "rtt": f"{self.rtt_s * 1e3:.3f}ms", "queue": queue}
            return {"path": path, "flows": flows}
        wired = {
            "name": "bottleneck",
            "from": "server",
            "to": "ap",
            "rate": self._link_rate(),
            "queue": queue,
        }
        ends = ("laptop", "ap")
        for flow, end in zip(flows, ends, strict=False):
            flow |= {"from": "server", "to": end}
        stations = [f"neighbour-{n}" for n in range(NEIGHBOURS)]
        others = [_datagrams(one, NEIGHBOUR_RATE) | {"from": one, "to": "ap"} for one in stations]
        return {
            "links": [wired | {"delay": f"{self.rtt_s * 5e2:.4f}ms", "reverse": {}}],
            "wlans": [{"standard": "802.11n", "rate": "minstrel", "stations": ["laptop", *stations]}],
            "flows": [*flows, *others],
        }

    def _link_rate(self) -> Any:
        if self.trace is not None:
            return {"trace": self.trace}
        if self.conditions.network != "cellular":
            return _rate(self.rate_bps)
        import numpy as np

        random, swing, level = np.random.default_rng(self.seed), math.log(SWING), 0.0
        steps = []
        for tick in range(math.ceil(self.duration_s / TICK_S)):
            steps.append([f"{tick * TICK_S * 1e3:.0f}ms", _rate(self.rate_bps * math.exp(level))])
            moved = level + float(random.normal(0.0, NOISE * math.sqrt(TICK_S)))
            level = min(swing, max(-swing, moved))
        return steps


def _rate(bits_per_second: float) -> str:
    return f"{bits_per_second:.0f}bit"


def _datagrams(name: str, rate: str) -> dict[str, Any]:
    """A source of packets at random times that does not react."""
    source = {"rate": rate, "arrivals": "poisson"}
    return {"name": name, "kind": "datagram", "cc": "newreno", "echo": False, "source": source}


def mean_rate(trace: str) -> float:
    """The mean rate of a recording as for `mm-link`, in bit/s. Raises ValueError with a sentence."""
    from pathlib import Path as File

    try:
        lines = reading.text(File(trace), reading.MOST_OF_TABLE).split("\n")
        times = [float(line) for line in map(str.strip, lines) if line and not line.startswith("#")]
        return len(times) * PACKET_BITS / (times[-1] * 1e-3)
    except OSError as error:
        raise ValueError(f"--trace {trace}: cannot be read: {error.strerror}") from None
    except (ValueError, IndexError, ZeroDivisionError) as error:
        raise ValueError(f"--trace {trace}: {error}") from None


def paths(
    count: int,
    rate: LogUniform,
    rtt: LogUniform,
    buffer: LogUniform,
    seed: int,
    conditions: Conditions = CLEAN,
) -> Iterator[DrawnPath]:
    """Draws ``count`` paths that hold at least :data:`LEAST_BDP` packets. Raises ValueError if none does."""
    import numpy as np

    rates = [mean_rate(trace) for trace in conditions.traces]
    highest = max(rates, default=rate.high)
    if conditions.network == "wifi":
        highest = min(highest, MOST_OVER_WIFI)
    if (1.0 - conditions.cross) * highest * rtt.high / PACKET_BITS < LEAST_BDP:
        raise ValueError(f"no path of these ranges holds {LEAST_BDP:.0f} packets")
    random = np.random.default_rng(seed)
    drawn = 0
    while count:
        number, drawn = drawn, drawn + 1
        trace = conditions.traces[number % len(rates)] if rates else None
        bits = rate.draw(random)
        bits = rates[number % len(rates)] if rates else min(bits, highest)
        path = DrawnPath(bits, rtt.draw(random), buffer.draw(random), conditions, trace, seed + number)
        if path.bdp >= LEAST_BDP:
            count -= 1
            yield path


@dataclass(frozen=True)
class Start:
    """One slow start on one path."""

    method: str
    rate_bps: float
    rtt_s: float
    buffer_bdp: float
    bdp_packets: float
    exit_s: float | None
    """The time of its exit, or None if it lasted to the end of the run."""
    exit_bdp: float | None
    """The largest window until the exit, in BDP."""
    lost_bdp: float
    """The packets deemed lost until the exit, or among the packets in flight then, in BDP."""
    times_s: tuple[float | None, ...]
    """The arrival times of 10^n bytes, n from 4 to 9. None if they did not arrive."""

    def row(self) -> dict[str, Any]:
        """A row of tables."""
        row = asdict(self)
        del row["times_s"]
        return row | {f"time_1e{n}_s": time for n, time in zip(POWERS, self.times_s, strict=True)}


def measure(method: str, path: DrawnPath, run: Run) -> Start:
    """The slow start of the first flow of ``run``."""
    import numpy as np
    import pyarrow.compute as pc

    series = run.flow_series.filter(pc.field("flow") == 0)
    times, windows = (series[name].to_numpy() for name in ("time_s", "window_segments"))
    threshold = series["threshold_segments"].to_numpy(zero_copy_only=False)
    left = np.flatnonzero(np.isfinite(threshold.astype(float)))
    exit_s, exit_bdp, until = None, None, math.inf
    if left.size:
        exit_s = float(times[left[0]])
        exit_bdp = float(windows[: left[0] + 1].max()) / path.bdp
        # The packets that were on the way, through a full queue, and the round trip in which they are missed.
        until = exit_s + (2.0 + max(path.buffer_bdp, LEAST_QUEUE / path.bdp)) * path.rtt_s
    events = run.events.filter(pc.field("flow") == 0)
    at, kind = events["time_s"].to_numpy(), np.asarray(events["kind"].to_pylist())
    # An event names the first segment that an ACK shows to be lost. The others are sent again.
    lost = np.isin(kind, ("deemed-lost", "retransmission")) & (at <= until)
    lost_bdp = len(np.unique(events["sequence"].to_numpy()[lost])) / path.bdp
    delivered = series["delivered_bytes"].to_numpy()
    reached = [int(np.searchsorted(delivered, 10**n)) for n in POWERS]
    arrived = tuple(float(times[index]) if index < len(times) else None for index in reached)
    facts = (path.rate_bps, path.rtt_s, path.buffer_bdp, path.bdp)
    return Start(method, *facts, exit_s, exit_bdp, lost_bdp, arrived)


@dataclass(frozen=True)
class Summary:
    """One method over all paths."""

    method: str
    paths: int
    ended: int
    """The number of paths on which it ended within the run."""
    exit_bdp: tuple[float, float, float] | None
    """The 10th, 50th and 90th percentile of the window at the exit, in BDP."""
    lossy: float
    """The share of paths on which it lost something."""
    lost_bdp: float
    """The mean loss."""
    times: tuple[float | None, ...]
    """Times to 10^n bytes over the first method's times, geometric means over the paths with both."""


def summaries(starts: Sequence[Start], methods: Sequence[str]) -> list[Summary]:
    """A summary of each method. ``starts`` has the paths of each in the same order."""
    by_method: Mapping[str, list[Start]] = {
        method: [start for start in starts if start.method == method] for method in methods
    }
    base = by_method[methods[0]]
    return [_summary(method, found, base) for method, found in by_method.items()]


def _summary(method: str, found: Sequence[Start], base: Sequence[Start]) -> Summary:
    import numpy as np

    exits = [start.exit_bdp for start in found if start.exit_bdp is not None]
    low, middle, high = np.percentile(exits, (10, 50, 90)) if exits else (0.0, 0.0, 0.0)
    ratios: list[float | None] = []
    for n in range(len(POWERS)):
        pairs = [(one.times_s[n], other.times_s[n]) for one, other in zip(found, base, strict=True)]
        both = [one / other for one, other in pairs if one and other]
        ratios.append(statistics.geometric_mean(both) if both else None)
    return Summary(
        method,
        len(found),
        len(exits),
        (float(low), float(middle), float(high)) if exits else None,
        sum(start.lost_bdp > 0 for start in found) / len(found),
        statistics.fmean(start.lost_bdp for start in found),
        tuple(ratios),
    )


def span(text: str, kind: str, option: str) -> LogUniform:
    """``LOW..HIGH`` in a quantity of the scenario language (``rate``, ``time``) or plain (``number``).

    Raises ValueError with a sentence.
    """
    low, dots, high = text.partition("..")
    try:
        if kind == "number":
            ends = float(low), float(high if dots else low)
        else:
            ends = _engine.quantity(low, kind), _engine.quantity(high if dots else low, kind)
    except ValueError as error:
        raise ValueError(f"{option} {text}: {error}") from None
    if not 0 < ends[0] <= ends[1] < math.inf:
        raise ValueError(f"{option} {text}: must be a range above 0, as 1mbit..1gbit, 5ms..600ms or 0.1..10")
    return LogUniform(*ends)
