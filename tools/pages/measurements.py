"""Measurements: results under version control, each with date, commit, machine and command in its head.

JSON files have the four as keys of their object, and the result beside them. CSV files have them as comments
above the names of the columns: ``# date: 2026-11-24``.
"""

from __future__ import annotations

import csv
import datetime
import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
MEASUREMENTS = ROOT / "measurements"
HEAD = ("date", "commit", "machine", "command")


class MeasurementError(ValueError):
    """A measurement that does not exist, or that does not name its command."""


@dataclass(frozen=True)
class Measurement:
    """The head of a file."""

    name: str
    """The file's path below ``measurements/``."""
    date: str
    commit: str
    machine: str
    command: str

    def __post_init__(self) -> None:
        """Refuses a head that is not whole."""
        try:
            datetime.date.fromisoformat(self.date)
        except (TypeError, ValueError) as fault:
            raise MeasurementError(f"measurements/{self.name}: date {self.date!r} is no date") from fault
        if not re.fullmatch(r"[0-9a-f]{7,40}", self.commit):
            raise MeasurementError(f"measurements/{self.name}: commit {self.commit!r} is no commit")
        for key in ("machine", "command"):
            if not getattr(self, key).strip():
                raise MeasurementError(f"measurements/{self.name}: `{key}` says nothing")

    def line(self) -> str:
        """The line below a table."""
        made = f"{self.date}, commit `{self.commit[:7]}`, {self.machine}: `{self.command}`"
        return f'<small markdown="span">Measured {made}</small>'


def load(name: str) -> tuple[Measurement, dict[str, Any]]:
    """The head of a JSON file and its whole object."""
    loaded = json.loads(text(name))
    if not isinstance(loaded, dict):
        raise MeasurementError(f"measurements/{name}: must be an object with {', '.join(HEAD)}")
    return _measurement(name, loaded), loaded


def load_csv(name: str) -> tuple[Measurement, list[dict[str, str]]]:
    """The head of a CSV file and its rows by the names of the columns."""
    lines = text(name).splitlines()
    comments = [line.removeprefix("#").strip() for line in lines if line.startswith("#")]
    head = dict(comment.split(": ", 1) for comment in comments if ": " in comment)
    rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    return _measurement(name, head), rows


def _measurement(name: str, head: dict[str, Any]) -> Measurement:
    if missing := [key for key in HEAD if not isinstance(head.get(key), str)]:
        raise MeasurementError(f"measurements/{name}: the head has no {', '.join(missing)}")
    return Measurement(name, *(head[key] for key in HEAD))


@cache
def text(name: str) -> str:
    """The text of a file. Raises MeasurementError."""
    try:
        return (MEASUREMENTS / name).read_text("utf-8")
    except OSError as fault:
        raise MeasurementError(f"measurements/{name}: {fault.strerror}") from fault


def forget() -> None:
    """Files are read anew, as one was written."""
    text.cache_clear()
