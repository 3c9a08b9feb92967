"""Findings of hunts, tried on the kernel's controllers: ``python -m witness.hunted FOLDER``.

Each finding of a controller that Linux has as a module runs on a kernel in virtual time, with the references
of the kernel. Answers that are in the folder are not asked again. Writes ``measurements/``.
"""

from __future__ import annotations

import json
import re
import statistics
import sys
from pathlib import Path
from typing import Any

MODULES = {
    **{name: name for name in ("bic", "cdg", "cubic", "dctcp", "highspeed", "htcp", "hybla", "illinois")},
    **{name: name for name in ("scalable", "vegas", "veno", "westwood", "yeah")},
    "bbr1": "bbr1",
    "tcp-lp": "lp",
}
"""Controllers of ours, and the kernel's modules as ``cc`` names them."""

NOISES = 3
"""Perturbed runs of a finding on the kernel."""

HUNTS = "controllers/hunts.json"
FILE = "controllers/hunted-linux.json"


def condition(words: str) -> Any:
    """The condition that the page of the hunts has in words."""
    from ackclock.hunting import Condition
    from ackclock.hunting.conditions import NUMBERS

    spelled = {
        name: re.escape(number.words).replace(r"\{\}", "([0-9.e+-]+)") for name, number in NUMBERS.items()
    }
    found = [
        (name, float(match[1]))
        for part in words.split("; ")
        for name, one in spelled.items()
        if (match := re.fullmatch(one, part))
    ]
    made = Condition.of(dict(found))
    assert made.words == words, f"{words} is read as {made.words}"
    return made


def tried(module: str, words: str, journal: Path) -> dict[str, str]:
    """A finding on the kernel: the weakness of the module there."""
    from ackclock import checks, hunting
    from ackclock.engines import registry

    weaknesses = hunting.Weaknesses(checks.target(module), registry.make("uml", kernels=1))
    if journal.exists():
        weaknesses.known.update(hunting.load(journal.read_text("utf-8").splitlines()))
    with journal.open("a", encoding="utf-8") as lines:
        weaknesses.learnt = lambda key, value: print(json.dumps([key, value]), file=lines, flush=True)
        values = [weaknesses.of([(condition(words), noise)])[0] for noise in range(1, NOISES + 1)]
    weak = sum(value >= hunting.WEAK for value in values)
    return {"weakness": f"{statistics.median(values):.2f}", "survives": f"{weak} of {NOISES}"}


def main() -> None:
    """Runs the command."""
    from pages import MEASUREMENTS, measure

    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    hunts = json.loads((MEASUREMENTS / HUNTS).read_text("utf-8"))["controllers"]
    document = {
        name: {
            one["kind"]: tried(module, one["condition"], folder / f"{module}.jsonl")
            for one in hunts[name]
            if one["class"] != "knife edge"
        }
        for name, module in MODULES.items()
    }
    head = measure.head(["PYTHONPATH=tools", "python", "-m", "witness.hunted", "hunted"])
    head["machine"] = "Linux 6.1 in virtual time, the same on every machine"
    found = {name: one for name, one in document.items() if one}
    (MEASUREMENTS / FILE).write_text(json.dumps(head | {"controllers": found}, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
