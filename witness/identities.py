"""The kernel's controllers, as ``read --controllers`` names them: ``python -m witness.identities FOLDER``.

Each module of a kernel in virtual time sends alone on three paths. A capture in the folder is not made
again. Writes the three likeliest controllers of each module into ``measurements/``.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

MODULES = (
    *("bbr1", "bic", "cdg", "cubic", "dctcp", "highspeed", "htcp", "hybla", "illinois", "lp", "newreno"),
    *("nv", "scalable", "vegas", "veno", "westwood", "yeah"),
)
"""Names of a flow's ``cc`` on the kernel. ``nv`` has no counterpart in the simulator."""

PATHS = {
    "a": ("8mbit", "50ms", 33, "32s"),
    "b": ("6mbit", "120ms", 60, "42s"),
    "c": ("12mbit", "30ms", 60, "24s"),
}
"""Rate, RTT, queue in packets, and duration."""

FILE = "controllers/identified.json"


def capture(folder: Path, place: str, module: str) -> Path:
    """The capture of a module on a path. The queue of DCTCP marks above a third."""
    file = folder / f"{place}-{module}.pcapng"
    if file.exists():
        return file
    rate, rtt, limit, duration = PATHS[place]
    queue: object = f"{limit}p"
    flow: dict[str, Any] = {"cc": module}
    if module == "dctcp":
        queue = {"limit": f"{limit}p", "mark_above": f"{limit // 3}p"}
        flow["transport"] = {"ecn": "accurate"}
    document = {
        "name": file.stem,
        "duration": duration,
        "record": {"flow_series": "100ms", "events": False},
        "path": {"rate": rate, "rtt": rtt, "queue": queue},
        "flows": [flow],
    }
    scenario = file.with_suffix(".json")
    scenario.write_text(json.dumps(document))
    part = file.with_name("part.pcapng")
    command = ["ackclock", "run", str(scenario), "--engine", "uml", "--pcap", str(part)]
    subprocess.run(command, check=True, capture_output=True)
    return part.rename(file)


def identified(captures: Sequence[Path]) -> list[list[Any]]:
    """The likeliest controllers of captures of one module, with their shares."""
    from ackclock import identify

    classifier = identify.Classifier(identify.table())
    flows = [max(identify.of_capture(file), key=len) for file in captures]
    return [[one.name, list(one.also), round(one.share, 3)] for one in classifier.guesses(flows)[:3]]


def main() -> None:
    """Runs the command."""
    from pages import MEASUREMENTS, measure

    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    found: dict[str, Any] = {}
    for module in MODULES:
        files = [capture(folder, place, module) for place in PATHS]
        alone = {place: identified([file])[0] for place, file in zip(PATHS, files, strict=True)}
        found[module] = {"alone": alone, "together": identified(files)}
    head = measure.head(["PYTHONPATH=tools", "python", "-m", "witness.identities", "captures"])
    head["machine"] = "Linux 6.1 in virtual time, the same on every machine"
    document = head | {"controllers": found}
    (MEASUREMENTS / FILE).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
