"""The table of the training: features of every controller of ours, alone on each of many drawn paths.

It takes some two CPU minutes. The table is kept in the user's cache, under a digest of everything that makes
it.
"""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import json
import math
import os
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ackclock import _engine
from ackclock.contenders import WITHOUT_WINDOW
from ackclock.engines import Progress, registry
from ackclock.identify import features as shapes
from ackclock.identify import trajectories
from ackclock.metrics.tables import Array
from ackclock.repetitions import Point, results, seeds

PATHS = 60
"""Drawn paths."""

MARKED = 4
"""The queue of each fourth path marks."""

ACCURATE = ("dctcp", "prague")
"""Controllers that need marks, with a signal for each. Others get one signal a round trip."""

BATCH = 64
"""Simulations at once: each has megabytes of samples."""


@dataclass(frozen=True)
class Table:
    """The features of simulated flows."""

    columns: list[str]
    values: Array
    labels: list[str]

    def merged(self) -> tuple[Table, dict[str, list[str]]]:
        """Controllers with the same features on all paths become one. Returns the names of each."""
        labels = np.asarray(self.labels)
        kept: dict[bytes, str] = {}
        also: dict[str, list[str]] = {}
        for name in dict.fromkeys(self.labels):
            first = kept.setdefault(self.values[labels == name].tobytes(), name)
            also.setdefault(first, []).append(name)
        rows = np.isin(labels, list(also))
        return Table(self.columns, self.values[rows], labels[rows].tolist()), also


def _marks(number: int) -> bool:
    """The queue of the path marks. Without marks controllers that need them are NewReno."""
    return number % MARKED == MARKED - 1


def scenario(number: int, cc: str) -> dict[str, Any]:
    """The scenario of a controller on a drawn path."""
    draw = random.Random(f"path {number}")
    rate = math.exp(draw.uniform(math.log(4), math.log(40)))
    rtt = math.exp(draw.uniform(math.log(20), math.log(120)))
    queue = math.exp(draw.uniform(math.log(0.4), math.log(3)))
    loss = draw.choice([0, 0, 0, 0.001, 0.003])
    packets = max(8, round(rate * rtt / 12 * queue))
    path: dict[str, Any] = {"rate": f"{rate:.1f}mbit", "rtt": f"{rtt:.0f}ms", "queue": f"{packets}p"}
    flow: dict[str, Any] = {"cc": cc}
    if _marks(number):
        path["queue"] = {"limit": f"{packets}p", "mark_above": f"{max(4, packets // 3)}p"}
        flow["transport"] = {"ecn": "accurate" if cc in ACCURATE else True}
    else:
        path["loss"] = loss
    record = {"flow_series": "5ms", "link_series": "off", "probes": "off", "events": False}
    return {"name": cc, "duration": "40s", "path": path, "flows": [flow], "record": record}


def names() -> list[str]:
    """The controllers that a flow may have."""
    return [one["name"] for one in _engine.controllers() if one["name"] not in WITHOUT_WINDOW]


def train(
    progress: Progress | None = None, count: int = PATHS, controllers: Sequence[str] | None = None
) -> Table:
    """Simulates every controller, or those named, alone on each path."""
    points = [
        Point(
            (number, name), _engine.resolve_json(json.dumps(scenario(number, name)), []), seeds(number + 1, 1)
        )
        for number in range(count)
        for name in controllers or names()
        if name not in ACCURATE or _marks(number)
    ]
    found: dict[tuple[int, str], dict[str, float]] = {}
    for key, _, run in results(points, registry.make("sim"), progress, batch=BATCH):
        for one in trajectories.of_run(run):
            found[key] = shapes.features(one)
    rows = [(name, found[number, name]) for number, name in sorted(found)]
    columns = list(rows[0][1])
    return Table(columns, np.asarray([list(one.values()) for _, one in rows]), [name for name, _ in rows])


def table(progress: Progress | None = None) -> Table:
    """The table of the cache, or a new one."""
    file = folder() / f"{_state()}.npz"
    try:
        # Arrays of numbers and text alone: nothing in the file is run.
        with file.open("rb") as opened, np.load(opened, allow_pickle=False) as known:
            return Table(known["columns"].tolist(), known["values"], known["labels"].tolist())
    except Exception:  # a damaged file raises errors of many kinds in NumPy, zipfile and zlib
        made = train(progress)
    with contextlib.suppress(OSError):  # Without room or permission the next call simulates again.
        _keep(made, file)
    return made


def _keep(made: Table, file: Path) -> None:
    """Writes a table into the cache, whole or not at all."""
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_suffix(f".{os.getpid()}.npz")
    try:
        np.savez_compressed(part, columns=made.columns, values=made.values, labels=made.labels)
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)


def folder() -> Path:
    """The folder of the tables."""
    given = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(given) if Path(given).is_absolute() else Path.home() / ".cache"
    return base / "ackclock" / "identify"


def _state() -> str:
    """A digest of the engine with its controllers, and of the modules that make the table."""
    digest = hashlib.sha256(Path(str(_engine.__file__)).read_bytes())
    for module in (shapes, trajectories, inspect.getmodule(train)):
        digest.update(inspect.getsource(module).encode() if module else b"")
    return digest.hexdigest()[:32]
