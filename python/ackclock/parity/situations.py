"""Situations: scenarios without their controllers, each with the quantities on which engines should agree."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ackclock import _engine
from ackclock.cases.document import CaseError, TomlTable, read_toml
from ackclock.cases.reading import NUMBER
from ackclock.errors import InputError

DATA = Path(__file__).parent / "situations"

COMPARED = ("utilization", "queue", "windows", "completion", "share")
"""The kinds of quantities that a situation may compare."""

GREEDY = "greedy"
"""The name of the grid of paths with greedy flows."""

START_JITTER = "1s"
"""Greedy flows start within this, at instants that the seed draws for both engines. Without it all simulated
runs of a controller that draws nothing itself are the same, and there is no spread to compare with."""


@dataclass(frozen=True)
class Situation:
    """A scenario that every controller is put into, and the quantities to compare."""

    name: str
    """As ``--only`` names it."""
    title: str
    """In words."""
    group: str
    """The row of the summary that counts it."""
    scenario: str
    """As JSON, without controllers."""
    compare: tuple[str, ...]
    """The kinds of ``COMPARED`` that decide the verdict."""
    windows_at_s: tuple[float, ...] = ()
    """The instants at which "windows" compares them, in seconds."""
    paired: bool = False
    """True if live runs are compared with simulated runs of their own seeds, which draw the same losses."""
    other: str = ""
    """The controller of the flow beside, where there is one."""

    def document(self) -> dict[str, Any]:
        """The scenario."""
        document: dict[str, Any] = json.loads(self.scenario)
        return document

    @property
    def flows(self) -> int:
        """How many flows it has."""
        return sum(flow.get("count", 1) for flow in self.document()["flows"])


@dataclass(frozen=True)
class GridPath:
    """A path of the grid, and the times of its runs."""

    rate: str
    rtt: str
    queue: str
    duration: str
    warmup: str
    loss: str = "0%"
    jitter: str = "0s"
    """By how much ACKs are late at most, each by a random part of it."""

    @property
    def lossy(self) -> bool:
        """True if it loses packets at random."""
        return _engine.quantity(self.loss, "fraction") > 0

    @property
    def jitters(self) -> bool:
        """True if its ACKs are late at random."""
        return _engine.quantity(self.jitter, "time") > 0

    @property
    def words(self) -> str:
        """Its name in tables."""
        more = [f"loss {self.loss}"] if self.lossy else []
        more += [f"jitter {self.jitter}"] if self.jitters else []
        return ", ".join((self.rate, self.rtt, self.queue, *more))

    def document(self, flows: Sequence[Mapping[str, Any]]) -> str:
        """The scenario of flows that start within a second, as JSON."""
        path: dict[str, Any] = {"rate": self.rate, "rtt": self.rtt, "queue": self.queue}
        path |= {"loss": self.loss} if self.lossy else {}
        reverse = {"reverse": {"jitter": self.jitter}} if self.jitters else {}
        times = {"duration": self.duration, "warmup": self.warmup}
        return json.dumps(
            times
            | {"path": path | reverse, "flows": [{**flow, "start_jitter": START_JITTER} for flow in flows]}
        )


def greedy(path: GridPath, flows: int) -> Situation:
    """Flows that always have something to send over a path."""
    group = f"greedy, {flows} flow{'s' if flows > 1 else ''}{', lost at random' if path.lossy else ''}"
    compared = ("utilization", "queue")
    return Situation(
        GREEDY, path.words, group, path.document([{"count": flows}]), compared, paired=path.lossy
    )


def beside(path: GridPath, other: str) -> Situation:
    """A greedy flow beside one of the controller ``other``: how they share the path."""
    group = f"greedy, beside {other}"
    document = path.document([{}, {"cc": other}])
    return Situation(GREEDY, path.words, group, document, ("share",), paired=path.lossy, other=other)


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
    """The situation of a file. Raises CaseError."""
    table = TomlTable(read_toml(file), file.name)
    title, scenario, compare = (
        table.take("title", str),
        table.take("scenario", dict),
        table.take("compare", list),
    )
    times = table.take("windows_at_s", list, [])
    paired = table.take("paired", bool, False)
    table.done()
    if not compare or any(what not in COMPARED for what in compare):
        raise CaseError(f"{file.name}: compare = {compare!r} must be a list of {', '.join(COMPARED)}")
    if not all(isinstance(time, NUMBER) and time >= 0 for time in times):
        raise CaseError(f"{file.name}: windows_at_s = {times!r} must be a list of seconds")
    if bool(times) != ("windows" in compare):
        raise CaseError(f'{file.name}: `windows_at_s` is for compare = ["windows"], and needs a time there')
    return Situation(file.stem, title, title, json.dumps(scenario), tuple(compare), tuple(times), paired)
