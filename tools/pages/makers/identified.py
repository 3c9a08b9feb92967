"""The kernel's controllers as `ackclock read --controllers` names them, from its measurement."""

from __future__ import annotations

from typing import Any

from pages.measurements import load
from pages.tables import Table, maker

COUNTERPARTS = {"lp": "tcp-lp", "nv": None}
"""The simulator's names of the kernel's modules, where they are others or none."""


@maker("identified")
def identified() -> Table:
    """A row for each module, with the place of its counterpart."""
    measured, document = load("controllers/identified.json")
    rows, places = [], []
    paths = sorted({path for found in document["controllers"].values() for path in found["alone"]})
    for module, found in document["controllers"].items():
        wanted = COUNTERPARTS.get(module, module)
        names = [[name, *also] for name, also, _ in found["together"]]
        place = next((number for number, known in enumerate(names, 1) if wanted in known), None)
        if wanted is not None:
            places.append(place)
        alone = [_words(found["alone"][path]) for path in paths]
        verdict = "unknown to us" if wanted is None else str(place or "not in three")
        rows.append([f"`{module}`", ", ".join(map(_words, found["together"])), verdict, *alone])
    first, three = places.count(1), sum(place is not None for place in places)
    above = f"From three captures {first} of {len(places)} are named first, and {three} among three."
    headings = ("module", "looks like", "place", *(f"path {path} alone" for path in paths))
    return Table(headings, rows, [measured], above)


def _words(guess: list[Any]) -> str:
    name, also, share = guess
    return f"{' = '.join([name, *also])} {share:.2f}"
