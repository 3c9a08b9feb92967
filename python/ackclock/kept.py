"""Runs kept as they finish, so that hours of them can be interrupted, by a power failure too, and go on."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from ackclock.jobs import Engine, Job, Progress
from ackclock.result import Run

LONGEST_NAME = 80


class Keeping:
    """An engine whose runs are kept in a folder; what lies there already does not run again.

    A run is known by its scenario, the controllers' files that this names, and its seed. The folder is to be
    used by one process at a time.
    """

    def __init__(self, engine: Engine, folder: Path) -> None:
        self.engine = engine
        self.folder = folder
        self.any_controller = engine.any_controller

    def check(self, resolved: str) -> None:
        """See ``Engine.check``."""
        self.engine.check(resolved)

    def count(self) -> int:
        """How many runs are kept."""
        return sum(not place.name.startswith(".") for place in self.folder.glob("*"))

    def finished(self, jobs: Sequence[Job], progress: Progress | None = None) -> Iterator[tuple[int, Run]]:
        """See ``Engine.finished``. Those that are kept come first.

        When a run is yielded, a failing power supply takes it no more. Raises ResultError for one that
        cannot be read.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        for unfinished in self.folder.glob(".*"):
            shutil.rmtree(unfinished)
        kept = [index for index, job in enumerate(jobs) if self._place(job).exists()]
        for index in kept:
            yield index, Run.load(self._place(jobs[index]))
        missing = sorted(set(range(len(jobs))) - set(kept))

        def at(fraction: float) -> None:
            if progress is not None:
                progress((len(kept) + fraction * len(missing)) / len(jobs))

        for number, run in self.engine.finished([jobs[index] for index in missing], at):
            place = self._place(jobs[missing[number]])
            _keep(run, place)
            # Its tables are read when they are asked for: those of hours of runs need not stay in memory.
            yield missing[number], Run.load(place)

    def _place(self, job: Job) -> Path:
        scenario = json.loads(job.resolved)
        name = re.sub(r"[^\w.]+", "-", scenario["name"])[:LONGEST_NAME].strip("-.")
        digest = hashlib.sha256(job.resolved.encode())
        for file in (Path(flow["cc"]) for flow in scenario["flows"] if flow["cc"].endswith(".bpf.c")):
            digest.update(file.read_bytes() if file.is_file() else b"")
        return self.folder / f"{name}-seed-{job.seed}-{digest.hexdigest()[:8]}"


def _keep(run: Run, place: Path) -> None:
    unfinished = place.with_name(f".{place.name}")
    try:
        run.save(unfinished)
        for file in (*unfinished.iterdir(), unfinished):
            _sync(file)
        unfinished.rename(place)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    _sync(place.parent)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
