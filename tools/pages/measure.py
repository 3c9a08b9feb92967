"""Writes a measurement: ``python -m pages.measure NAME.json COMMAND…`` runs a command and keeps its JSON.

Run it with ``PYTHONPATH=tools``. The command prints one JSON object on standard output, as every ``ackclock``
command does with ``--json``; the file holds it as ``result``, beside the head.
"""

from __future__ import annotations

import datetime
import json
import os
import platform
import shlex
import subprocess
import sys
from typing import Any

from pages.measurements import MEASUREMENTS, ROOT


def head(command: list[str]) -> dict[str, str]:
    """Date, commit, machine and command of what is measured now."""
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()
    system = platform.uname()
    machine = f"{os.cpu_count()} processors, {system.machine}, {system.system} {system.release}"
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    return {"date": today, "commit": commit, "machine": machine, "command": shlex.join(command)}


def write(name: str, command: list[str]) -> None:
    """Runs the command, and writes what it printed under ``measurements/``."""
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    measured: dict[str, Any] = head(command) | {"result": json.loads(done.stdout)}
    file = MEASUREMENTS / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(measured, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    write(sys.argv[1], sys.argv[2:])
