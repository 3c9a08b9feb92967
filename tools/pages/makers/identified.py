"""The kernel's controllers as `ackclock identify` names them, from its measurement."""

from __future__ import annotations

from typing import Any

from pages.measurements import load
from pages.tables import Table, maker
from witness.identities import COUNTERPARTS, FILE, PATHS


@maker("identified")
def identified() -> Table:
    """A row for each module, with the place of its counterpart."""
    measured, document = load(FILE)
    rows, places = [], []
    for module, found in document["controllers"].items():
        wanted = COUNTERPARTS.get(module, module)
        names = [[name, *also] for name, also, _ in found["together"]]
        place = next((number for number, known in enumerate(names, 1) if wanted in known), None)
        if wanted is not None:
            places.append(place)
        alone = [_words(found["alone"][path]) for path in PATHS]
        verdict = "unknown to us" if wanted is None else str(place or "not in three")
        rows.append([f"`{module}`", ", ".join(map(_words, found["together"])), verdict, *alone])
    first, three = places.count(1), sum(place is not None for place in places)
    above = f"From three captures {first} of {len(places)} are named first, and {three} among three."
    headings = ("module", "looks like", "place", *(f"path {path} alone" for path in PATHS))
    return Table(headings, rows, [measured], above)


def _words(guess: list[Any]) -> str:
    name, also, share = guess
    return f"{' = '.join([name, *also])} {share:.2f}"
