"""Conditions of a hunt: a path and its events, as a few numbers, each with a neutral value."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ackclock.checks.target import Target


@dataclass(frozen=True)
class Number:
    """One of the numbers of a condition. Its words have the place of the value."""

    words: str
    neutral: float
    low: float
    high: float
    whole: bool = False

    def drawn(self, chance: random.Random) -> float:
        """A value between the ends, uniform in its logarithm."""
        value = math.exp(chance.uniform(math.log(self.low), math.log(self.high)))
        return self.rounded(value, 3)

    def rounded(self, value: float, digits: int) -> float:
        """A value with so many significant digits, between the ends."""
        short = float(f"{min(max(value, self.low), self.high):.{digits}g}")
        return float(max(1, round(short))) if self.whole else short


PATH: Mapping[str, Number] = {
    "rate_mbit": Number("rate {} Mbit/s", 10.0, 1.0, 20.0),
    "rtt_ms": Number("RTT {} ms", 40.0, 5.0, 200.0),
    "queue_bdp": Number("queue {} BDP", 1.0, 0.2, 8.0),
}
DISTURBANCES: Mapping[str, Number] = {
    "burst": Number("burst of datagrams of {} times the rate", 0.0, 0.5, 1.5),
    "slow": Number("rate times {} for a while", 0.0, 0.01, 0.9),
    "outage_s": Number("outage of {} s", 0.0, 0.05, 3.0),
    "route": Number("RTT times {} from then on", 0.0, 0.25, 4.0),
}
LASTING: Mapping[str, Number] = {
    "loss": Number("random loss of {}", 0.0, 1e-4, 0.02),
    "ack_jitter_ms": Number("jitter of ACKs of {} ms", 0.0, 0.1, 20.0),
    "ack_loss": Number("random loss of ACKs of {}", 0.0, 0.01, 0.3),
    "pair": Number("{} flows of the controller", 0.0, 2.0, 2.0, whole=True),
}
NUMBERS: Mapping[str, Number] = {**PATH, **DISTURBANCES, **LASTING}

AT_S = 7.0
"""The time of a disturbance, in seconds."""

FOR_S = 3.0
"""The length of a burst and of a slow time, in seconds."""

DURATION_S = 40.0

WARMUP_S = 15.0
"""Goodput counts from then on, some seconds after a disturbance."""


@dataclass(frozen=True)
class Noise:
    """A small perturbation of a condition, by which a knife edge is known."""

    seed: int
    ack_jitter_ms: float = 0.0
    rtt: float = 1.0

    @classmethod
    def number(cls, index: int) -> Noise:
        """The perturbation of that number. 0 is none."""
        if index == 0:
            return cls(1)
        chance = random.Random(f"noise {index}")
        return cls(index + 1, chance.uniform(0.5, 2.0), chance.uniform(0.97, 1.03))


@dataclass(frozen=True)
class Condition:
    """Numbers that are not neutral, by name."""

    values: tuple[tuple[str, float], ...] = field(default=())

    @classmethod
    def of(cls, values: Mapping[str, float]) -> Condition:
        """The condition with these numbers, in the order of ``NUMBERS``."""
        kept = {name: values[name] for name, number in NUMBERS.items() if name in values}
        return cls(tuple((name, value) for name, value in kept.items() if value != NUMBERS[name].neutral))

    def __getitem__(self, name: str) -> float:
        """The value of a number."""
        return dict(self.values).get(name, NUMBERS[name].neutral)

    def __len__(self) -> int:
        """How many numbers it has."""
        return len(self.values)

    def with_value(self, name: str, value: float) -> Condition:
        """The same with another value of one number."""
        return Condition.of({**dict(self.values), name: value})

    def without(self, name: str) -> Condition:
        """The same with one number neutral."""
        return self.with_value(name, NUMBERS[name].neutral)

    @property
    def kind(self) -> str:
        """The names of its numbers besides the path's."""
        return ", ".join(name for name, _ in self.values if name not in PATH) or "path"

    @property
    def words(self) -> str:
        """Its numbers in words."""
        words = [NUMBERS[name].words.format(f"{value:g}") for name, value in self.values]
        return "; ".join(words) or "the plain path"

    def scenario(self, target: Target | str, noise: Noise | None = None) -> dict[str, Any]:
        """The scenario with flows of a target, or of a controller of ours. The empty text is none."""
        noise = noise or Noise(1)
        own: dict[str, Any] = {"name": "target"}
        own |= {"count": int(self["pair"])} if self["pair"] else {}
        if noise.ack_jitter_ms:
            own["start_jitter"] = "100ms"
        if isinstance(target, Target):
            flows = [target.flow(own)]
        else:
            flows = [{"cc": target, **own} if target else own]
        if self["burst"]:
            flows.append(
                {
                    "name": "burst",
                    "cc": "newreno",
                    "kind": "datagram",
                    "echo": False,
                    "start": f"{AT_S:g}s",
                    "stop": f"{AT_S + FOR_S:g}s",
                    "source": {"rate": f"{self['burst'] * self['rate_mbit']:.4g}mbit"},
                }
            )
        record = {"flow_series": "off", "link_series": "off", "probes": "off", "events": False}
        times = {"duration": f"{DURATION_S:g}s", "warmup": f"{WARMUP_S:g}s"}
        return {"name": self.kind, **times, "record": record, "path": self._path(noise), "flows": flows}

    def _path(self, noise: Noise) -> dict[str, Any]:
        rtt = self["rtt_ms"] * noise.rtt
        packets = self["rate_mbit"] * self["rtt_ms"] / 12.0 * self["queue_bdp"]
        path: dict[str, Any] = {
            "rate": self._rate(),
            "rtt": f"{rtt:.6g}ms",
            "queue": f"{max(2, round(packets))}p",
        }
        if self["route"]:
            path["rtt"] = [["0s", path["rtt"]], [f"{AT_S:g}s", f"{rtt * self['route']:.6g}ms"]]
        if self["loss"]:
            path["loss"] = self["loss"]
        jitter = self["ack_jitter_ms"] or noise.ack_jitter_ms
        reverse: dict[str, Any] = {"jitter": f"{jitter:.4g}ms"} if jitter else {}
        reverse |= {"loss": self["ack_loss"]} if self["ack_loss"] else {}
        return path | ({"reverse": reverse} if reverse else {})

    def _rate(self) -> str | list[list[str]]:
        whole = f"{self['rate_mbit']:.6g}mbit"
        steps = [["0s", whole]]
        if self["outage_s"]:
            steps += [[f"{AT_S:g}s", "0bit"], [f"{AT_S + self['outage_s']:.6g}s", whole]]
        elif self["slow"]:
            slow = f"{self['rate_mbit'] * self['slow']:.6g}mbit"
            steps += [[f"{AT_S:g}s", slow], [f"{AT_S + FOR_S:g}s", whole]]
        return steps if len(steps) > 1 else whole


def drawn(chance: random.Random) -> Condition:
    """A random condition: a path with one or two disturbances, or with one or two that last."""
    values = {name: number.drawn(chance) for name, number in PATH.items()}
    table = DISTURBANCES if chance.random() < 0.6 else LASTING
    for name in chance.sample(sorted(table), chance.choice((1, 1, 2))):
        values[name] = table[name].drawn(chance)
    return Condition.of(_without_conflicts(values))


def changed(condition: Condition, chance: random.Random) -> Condition:
    """A condition near another: one or two of its numbers are multiplied."""
    values = dict(condition.values)
    for name in chance.sample(sorted(values), min(len(values), chance.choice((1, 2)))):
        number = NUMBERS[name]
        values[name] = number.rounded(values[name] * math.exp(chance.gauss(0.0, 0.4)), 3)
    return Condition.of(_without_conflicts(values))


def _without_conflicts(values: dict[str, float]) -> dict[str, float]:
    """An outage is a slow time of rate zero."""
    if "outage_s" in values:
        values.pop("slow", None)
    return values
