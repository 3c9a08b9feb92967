"""CSV: every table of a run as a file of its own."""

from __future__ import annotations

from pathlib import Path

from ackclock.result import Run


def write(run: Run, path: Path) -> None:
    """Writes a folder with one CSV file for each table."""
    run.to_csv(path)
