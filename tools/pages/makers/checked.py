"""What `ackclock check` finds in a controller of ours, from its measurement."""

from __future__ import annotations

from pages.measurements import load
from pages.tables import PageError, Table, maker

FILE = "controllers/checks.json"
"""The bounds that each controller misses, as `tests/python/test_checks_of_ours.py` writes it."""


@maker("check")
def check(controller: str) -> Table:
    """A row for each bound that `controller` misses."""
    measured, document = load(FILE)
    found = document["controllers"].get(controller)
    if found is None:
        raise PageError(f"measurements/{FILE}: there is no controller `{controller}`")
    missed, bounds = found["missed"], found["bounds"]
    above = f"It keeps {bounds - len(missed)} of the {bounds} bounds of [`ackclock check`](../check.md)."
    rows = [[f"`{one['id']}`", one["measure"], one["measured"], one["allowed"]] for one in missed]
    return Table(
        ("misses", "measure", "measured", "allowed"), rows or [["none", "", "", ""]], [measured], above
    )
