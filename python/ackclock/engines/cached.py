"""A cache of runs: an interruption of hours of work, even by a power failure, loses none that finished."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from ackclock import _engine
from ackclock.engines import Job, NamedEngine, Progress
from ackclock.identity import Identities
from ackclock.report.files import sync
from ackclock.result import Run

LONGEST_NAME = 80


class CachedEngine:
    """An engine whose finished runs are saved in a folder. A run that is there already is loaded instead.

    A run is identified by all that its result depends on (``ackclock.identity``). Only one process at a time
    may use the folder.
    """

    def __init__(self, engine: NamedEngine, folder: Path) -> None:
        self.engine = engine
        self.folder = folder
        self.identities = Identities()
        self._context = json.dumps(engine.identity())

    def check(self, plan: _engine.Plan) -> None:
        """See ``Engine.check``."""
        self.engine.check(plan)

    def count(self) -> int:
        """The number of runs in the folder."""
        return sum(not place.name.startswith(".") for place in self.folder.glob("*"))

    def run(self, jobs: Sequence[Job], progress: Progress | None = None) -> Iterator[tuple[int, Run]]:
        """See ``Engine.run``. The cached runs come first.

        A run that is yielded is on disk and survives a power failure. Raises ResultError for one that cannot
        be read.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        for unfinished in self.folder.glob(".*"):
            shutil.rmtree(unfinished)
        cached = [index for index, job in enumerate(jobs) if self._place(job).exists()]
        for index in cached:
            yield index, Run.load(self._place(jobs[index]))
        missing = sorted(set(range(len(jobs))) - set(cached))

        def at(fraction: float) -> None:
            if progress is not None:
                progress((len(cached) + fraction * len(missing)) / len(jobs))

        for number, run in self.engine.run([jobs[index] for index in missing], at):
            place = self._place(jobs[missing[number]])
            _save(run, place)
            # Loaded runs read their tables at first use, so hours of runs do not fill the memory.
            yield missing[number], Run.load(place)

    def _place(self, job: Job) -> Path:
        name = re.sub(r"[^\w.]+", "-", job.plan.name)[:LONGEST_NAME].strip("-.")
        digest = self.identities.of(job.plan, job.seed, self._context)
        return self.folder / f"{name}-seed-{job.seed}-{digest}"


def _save(run: Run, place: Path) -> None:
    unfinished = place.with_name(f".{place.name}")
    try:
        run.save(unfinished)
        for file in (*unfinished.iterdir(), unfinished):
            sync(file)
        unfinished.rename(place)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    sync(place.parent)
