"""Writes the scores of all controllers: ``python -m pages.front STATED DRAWN``, the numbers of paths.

Run it with ``PYTHONPATH=tools``. The first paths are drawn from seed 1. The seed of the second is the date
as a number, for which no controller can have been made. ``docs/front.md`` shows both.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from ackclock import _engine
from pages import measure
from pages.makers.front import FILE

STATED = 1
"""The seed of the first paths."""


def scores(names: list[str], paths: int, seed: int) -> dict[str, Any]:
    """The scores of some controllers over paths drawn from a seed."""
    options = ["--front", "--paths", str(paths), "--seed", str(seed), "--json"]
    command = [sys.executable, "-m", "ackclock.cli", "evaluate", *names, *options]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)["evaluate"]["front"]
    return found


def write(stated: int, drawn: int) -> None:
    """Measures all controllers of ackclock and writes the file."""
    head = measure.head(["PYTHONPATH=tools", "python", "-m", "pages.front", str(stated), str(drawn)])
    head["machine"] = "simulated, the same on every machine"
    names = [one["name"] for one in _engine.controllers()]
    found = {
        "stated": scores(names, stated, STATED),
        "drawn": scores(names, drawn, int(head["date"].replace("-", ""))),
    }
    measure.put(FILE, measure.text(head | measure.rounded(found)) + "\n")


if __name__ == "__main__":
    write(int(sys.argv[1]), int(sys.argv[2]))
