"""The scores of all controllers over drawn paths, from their measurement."""

from __future__ import annotations

from itertools import combinations
from typing import Any

from pages.measurements import Measurement, load
from pages.tables import Table, maker

FILE = "evaluate/front.json"
"""The scores over paths of a stated seed and of the day's, as ``pages.front`` writes them."""

FAIR = 0.45
"""The least share beside CUBIC of a controller that does not yield."""

SCORES = ("use", "delay", "harm", "own", "worst")


@maker("front")
def front() -> Table:
    """A row for each controller: its scores with their intervals over the stated paths."""
    measured, document = load(FILE)
    return _table(measured, document["stated"])


@maker("scores")
def scores(file: str) -> Table:
    """The same from the output of one `ackclock evaluate --front`."""
    measured, document = load(file)
    return _table(measured, document["result"]["evaluate"]["front"])


@maker("front-again")
def again() -> Table:
    """A row for each score: the agreement of the two sets of paths."""
    measured, document = load(FILE)
    stated, drawn = document["stated"], document["drawn"]
    rows = []
    for key in SCORES:
        first, second = (_values(one, key) for one in (stated, drawn))
        pairs = list(combinations(sorted(first), 2))
        alike = sum((first[a] < first[b]) == (second[a] < second[b]) for a, b in pairs)
        moved = max(first, key=lambda name: abs(first[name] - second[name]))
        rows.append(
            [key, f"{alike / len(pairs):.2f}", f"{moved}: {first[moved]:.2f}, then {second[moved]:.2f}"]
        )
    fronts = [
        {one["name"] for one in found["controllers"] if one["on_front"] >= 0.5} for found in (stated, drawn)
    ]
    words = [", ".join(sorted(names)) for names in fronts]
    fair = ", ".join(sorted(_fair(stated) & _fair(drawn)))
    above = (
        f"{drawn['paths']} other paths, drawn from seed {drawn['seed']}.\n\n"
        f"- On the front in half of the draws, stated paths: {words[0]}.\n"
        f"- On the front in half of the draws, these paths: {words[1]}.\n"
        f"- A share of at least {FAIR:g} and no more harm than NewReno, in both sets: {fair}."
    )
    return Table(("score", "pairs in the same order", "largest change"), rows, [measured], above)


def _table(measured: Measurement, found: dict[str, Any]) -> Table:
    rows = [
        [_linked(one["name"]), *(_score(one[key]) for key in SCORES), f"{one['on_front']:.2f}"]
        for one in found["controllers"]
    ]
    above = f"{found['paths']} paths, drawn from seed {found['seed']}."
    return Table(("controller", *SCORES, "on the front"), rows, [measured], above)


def _linked(name: str) -> str:
    """A controller of ours with a link to its page, any other as it is spelled."""
    own = "(" not in name and ":" not in name
    return f"[{name}](controllers/{name}.md)" if own else f"`{name}`"


def _fair(found: dict[str, Any]) -> set[str]:
    """The controllers that take a fair share and harm CUBIC no more than NewReno does."""
    harm, own = _values(found, "harm"), _values(found, "own")
    return {name for name in harm if own[name] >= FAIR and harm[name] <= harm["newreno"]}


def _score(one: dict[str, Any]) -> str:
    return f"{one['value']:.2f} ({one['low']:.2f} to {one['high']:.2f})"


def _values(found: dict[str, Any], key: str) -> dict[str, float]:
    return {one["name"]: one[key]["value"] for one in found["controllers"]}
