"""The findings of `ackclock check --hunt` in our controllers, from its measurement, with causes."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Any

from pages.measurements import load, text
from pages.tables import PageError, Table, maker

FILE = "controllers/hunts.json"
"""The findings of each controller, as `tests/python/test_hunts_of_ours.py` writes them."""

LINUX = "controllers/hunted-linux.json"
"""The same conditions on the kernel's modules, as `python -m witness.hunted` writes them."""

CAUSES = "controllers/hunts.toml"
"""The cause of each finding, by the controller and the kind of its condition."""

CLASSES = ("ours", "draft", "algorithm", "open")
"""Causes: an error of ours or of the draft that a controller follows, the published algorithm, or unknown."""

EDGE = "knife edge"


@maker("hunts")
def hunts() -> Table:
    """A row for each finding that is on no knife edge."""
    measured, document = load(FILE)
    on_linux, kernel = load(LINUX)
    controllers = document["controllers"]
    causes = classes(controllers)
    rows = [
        [
            f"[{name}](controllers/{name}.md)",
            one["condition"],
            one["class"],
            one["weakness"],
            one["survives"],
            causes[name, one["kind"]],
            _on_linux(kernel["controllers"].get(name, {}).get(one["kind"])),
        ]
        for name, found in controllers.items()
        for one in found
        if one["class"] != EDGE
    ]
    headings = ("controller", "condition", "finding", "weakness", "survives", "cause", "Linux's module")
    return Table(headings, rows, [measured, on_linux])


def _on_linux(found: Mapping[str, str] | None) -> str:
    """The weakness of the kernel's module, or empty if Linux has none."""
    return f"{found['weakness']}, {found['survives']}" if found else ""


@maker("hunted")
def hunted() -> Table:
    """The controllers, grouped by their findings."""
    measured, document = load(FILE)
    groups: dict[str, list[str]] = {"nothing": [], "knife edges alone": [], "more": []}
    for name, found in document["controllers"].items():
        if not found:
            groups["nothing"].append(name)
        elif all(one["class"] == EDGE for one in found):
            groups["knife edges alone"].append(name)
        else:
            groups["more"].append(name)
    rows = [[what, str(len(names)), ", ".join(names)] for what, names in groups.items()]
    return Table(("found", "number", "controllers"), rows, [measured])


def classes(controllers: Mapping[str, Any]) -> Mapping[tuple[str, str], str]:
    """The cause of each finding that is on no knife edge. Raises PageError for one without a cause."""
    document = tomllib.loads(text(CAUSES))
    found: dict[tuple[str, str], str] = {}
    for cause in document["causes"]:
        if cause["class"] not in CLASSES:
            raise PageError(f"{CAUSES}: class = {cause['class']!r}: must be one of {', '.join(CLASSES)}")
        words = f"{cause['class']}: {cause['why']}"
        for kind, names in cause["findings"].items():
            found |= {(name, kind): words for name in names}
    for name, findings in controllers.items():
        for one in findings:
            if one["class"] != EDGE and (name, one["kind"]) not in found:
                raise PageError(f"{CAUSES}: the finding `{one['kind']}` of `{name}` has no cause")
    return found
