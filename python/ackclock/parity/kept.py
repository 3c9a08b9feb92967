"""The live runs of a grid, kept as they finish."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

from ackclock import _engine
from ackclock.parity.grid import Cell, Grid
from ackclock.report import lasting_folder
from ackclock.result import Run

RUNS = "live"
"""The folder of the runs in that of the report."""


class Kept:
    """The live runs that have finished, by number of the cell and seed; in a folder, if there is one."""

    def __init__(self, grid: Grid, folder: Path | None) -> None:
        self.folder = folder
        self.runs: dict[tuple[int, int], Run] = {}
        self._cells = grid.cells()
        if folder is None:
            return
        runs = folder / RUNS
        runs.mkdir(exist_ok=True)
        for unfinished in runs.glob(".*"):
            shutil.rmtree(unfinished)
        for index in range(len(self._cells)):
            for seed in grid.seeds():
                place = runs / self._name(index, seed)
                if place.exists():
                    self.runs[index, seed] = Run.load(place)

    @classmethod
    @contextmanager
    def opened(cls, grid: Grid, out: Path | None, force: bool) -> Iterator[Self]:
        """Those in ``out``, where a grid begun with the same settings goes on. Raises FolderError."""
        if out is None:
            yield cls(grid, None)
            return
        # Runs of another kernel or version would be compared with the wrong simulation.
        made_with = {"ackclock": _engine.version(), "kernel": os.uname().release}
        settings: dict[str, Any] = json.loads(json.dumps(made_with | asdict(grid)))
        with lasting_folder(out, settings, force) as folder:
            yield cls(grid, folder)

    def keep(self, index: int, run: Run) -> None:
        """Keeps a run: when this returns, a failing power supply takes it no more."""
        if self.folder is not None:
            place = self.folder / RUNS / self._name(index, run.seed)
            unfinished = place.with_name(f".{place.name}")
            try:
                run.save(unfinished)
                for file in (*unfinished.iterdir(), unfinished):
                    _sync(file)
                unfinished.rename(place)
            finally:
                shutil.rmtree(unfinished, ignore_errors=True)
            _sync(place.parent)
            # Its tables are read again when they are looked at: those of a long grid need not stay in memory.
            run = Run.load(place)
        self.runs[index, run.seed] = run

    def of(self, index: int) -> list[Run]:
        """The finished runs of a cell, in the order of their seeds."""
        return [
            run for (cell, _), run in sorted(self.runs.items(), key=lambda item: item[0]) if cell == index
        ]

    def _name(self, index: int, seed: int) -> str:
        cell: Cell = self._cells[index]
        words = re.sub(r"[^\w.]+", "-", f"{cell.path} {cell.name}")
        return f"{index + 1:03}-{words}-seed-{seed}"


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
