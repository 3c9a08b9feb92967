"""``ackclock read --controllers``: the controllers that a recorded flow looks like."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from ackclock.cli import output

if TYPE_CHECKING:
    from ackclock.identify import Guess, Trajectory

SHOWN = 3
"""Controllers that are named for a flow."""

UNKNOWN = "unknown"


def identify(files: Sequence[Path], together: bool, interface: int, as_json: bool) -> None:
    """Names the controllers that a recorded flow looks like, by simulations of all of them.

    The first call simulates for a minute or two. A flow that looks like none is unknown.
    """
    from ackclock import identify as identifying

    identifying.require()
    flows = [(file, one) for file in files for one in identifying.read(file, interface, output.remark)]
    with output.progress("simulations of all controllers") as at:
        known = identifying.table(at)
    classifier = identifying.Classifier(known)
    asked = [flows] if together else [[flow] for flow in flows]
    found = [_answer(group, classifier.guesses([one for _, one in group])) for group in asked]
    output.show(_table(found), as_json=as_json)
    if as_json:
        output.print_json({"identify": found})


def _answer(group: list[tuple[Path, Trajectory]], guesses: list[Guess]) -> dict[str, Any]:
    """One object of ``--json``."""
    from ackclock.identify import LEAST

    likely = guesses[:SHOWN]
    return {
        "files": list(dict.fromkeys(str(file) for file, _ in group)),
        "flows": [one.name for _, one in group],
        "rounds": sum(len(one) for _, one in group),
        "controller": likely[0].name if likely[0].share >= LEAST else None,
        "guesses": [{"controller": one.name, "also": list(one.also), "share": one.share} for one in likely],
    }


def _table(found: list[dict[str, Any]]) -> Table:
    table = Table("file", "flow", "looks like", "then")
    for one in found:
        words = [
            f"{' = '.join([guess['controller'], *guess['also']])} {guess['share']:.2f}"
            for guess in one["guesses"]
        ]
        first, *others = words if one["controller"] else [UNKNOWN, *words]
        cells = "\n".join(one["files"]), "\n".join(one["flows"]), first, ", ".join(others)
        table.add_row(*map(Text, cells))
    return table
