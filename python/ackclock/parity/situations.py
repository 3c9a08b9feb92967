"""Situations: scenarios without their controllers, each with what shows whether the engines agree in it."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ackclock.errors import InputError

DATA = Path(__file__).parent / "situations"

GREEDY = "greedy"
"""The name of the grid of paths with greedy flows."""

START_JITTER = "1s"
"""Greedy flows start within this, at instants that the seed draws for both engines. Without it all simulated
runs of a controller that draws nothing itself are the same, and there is no spread to compare with."""


@dataclass(frozen=True)
class Situation:
    """A scenario that every controller is put into, and what is compared of it."""

    name: str
    """As ``--only`` names it."""
    title: str
    """In words."""
    group: str
    """The row of the summary that counts it."""
    scenario: str
    """As JSON, without controllers."""
    compare: tuple[str, ...]
    """What decides whether the engines are near: "utilization", "queue", "windows", "completion"."""
    windows_at_s: tuple[float, ...] = ()
    """The instants at which "windows" compares them, in seconds."""
    paired: bool = False
    """Whether live runs are compared with simulated runs of their own seeds, which draw the same losses."""

    def document(self) -> dict[str, Any]:
        """The scenario."""
        document: dict[str, Any] = json.loads(self.scenario)
        return document

    @property
    def flows(self) -> int:
        """How many flows it has."""
        return sum(flow.get("count", 1) for flow in self.document()["flows"])


def greedy(rate: str, rtt: str, queue: str, flows: int, duration: str, warmup: str) -> Situation:
    """Flows that always have something to send over a path."""
    document = {
        "duration": duration,
        "warmup": warmup,
        "path": {"rate": rate, "rtt": rtt, "queue": queue},
        "flows": [{"count": flows, "start_jitter": START_JITTER}],
    }
    group = f"greedy, {flows} flow{'s' if flows > 1 else ''}"
    return Situation(GREEDY, f"{rate}, {rtt}, {queue}", group, json.dumps(document), ("utilization", "queue"))


@cache
def catalogue() -> dict[str, Situation]:
    """The situations beside the grid of paths, by name."""
    return {file.stem: _read(file) for file in sorted(DATA.glob("*.toml"))}


def select(names: Sequence[str]) -> list[str]:
    """The names, each once. Raises InputError for one that is not known."""
    known = [GREEDY, *catalogue()]
    for name in names:
        if name not in known:
            raise InputError(f"--only {name}: there is no such situation; there are {', '.join(known)}")
    return list(dict.fromkeys(names))


def _read(file: Path) -> Situation:
    data = tomllib.loads(file.read_text())
    return Situation(
        file.stem,
        data["title"],
        data["title"],
        json.dumps(data["scenario"]),
        tuple(data["compare"]),
        tuple(data.get("windows_at_s", ())),
        data.get("paired", False),
    )
