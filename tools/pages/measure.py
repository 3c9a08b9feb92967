"""Writes a measurement: ``python -m pages.measure NAME.json COMMAND…`` runs a command and keeps its JSON.

Run it with ``PYTHONPATH=tools``. The command prints one JSON object on standard output, as every ``ackclock``
command does with ``--json``. The file holds it as ``result``, beside the head. Numbers have eight digits, and
each item of a list a line.
"""

from __future__ import annotations

import csv
import datetime
import io
import json
import os
import platform
import shlex
import subprocess
import sys
from typing import Any

from pages.measurements import MEASUREMENTS, ROOT, forget


def head(command: list[str]) -> dict[str, str]:
    """Date, commit, machine and command of a measurement now."""
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()
    system = platform.uname()
    machine = f"{os.cpu_count()} processors, {system.machine}, {system.system} {system.release}"
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    return {"date": today, "commit": commit, "machine": machine, "command": shlex.join(command)}


def rounded(value: Any) -> Any:
    """A value of JSON whose numbers have at most eight significant digits."""
    if isinstance(value, float):
        return float(f"{value:.8g}")
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    return [rounded(item) for item in value] if isinstance(value, list) else value


def text(value: Any, depth: int = 0) -> str:
    """JSON in which objects have a line for each key, and items of lists a line each."""

    def line(item: Any) -> str:
        return json.dumps(item, ensure_ascii=False)

    inner, outer = " " * (depth + 1), " " * depth
    if isinstance(value, dict) and value:
        rows = [f"{inner}{line(key)}: {text(item, depth + 1)}" for key, item in value.items()]
        return "{\n" + ",\n".join(rows) + f"\n{outer}}}"
    if isinstance(value, list) and any(isinstance(item, dict) for item in value):
        return "[\n" + ",\n".join(f"{inner}{line(item)}" for item in value) + f"\n{outer}]"
    return line(value)


def put(name: str, content: str) -> None:
    """Writes a file under ``measurements/``, which is read anew from then on."""
    file = MEASUREMENTS / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content, "utf-8")
    forget()


def write(name: str, command: list[str]) -> None:
    """Runs the command, and writes its output under ``measurements/``."""
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    measured: dict[str, Any] = head(command) | {"result": rounded(json.loads(done.stdout))}
    put(name, text(measured) + "\n")


def write_rows(
    name: str, command: str, rows: list[dict[str, str]], machine: str = "simulated, the same on every machine"
) -> None:
    """Writes the rows of a simulation that ``command`` repeats."""
    measured = head(shlex.split(command)) | {"machine": machine}
    table = io.StringIO()
    table.writelines(f"# {key}: {value}\n" for key, value in measured.items())
    writer = csv.DictWriter(table, rows[0], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    put(name, table.getvalue())


if __name__ == "__main__":
    write(sys.argv[1], sys.argv[2:])
