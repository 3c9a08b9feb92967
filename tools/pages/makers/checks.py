"""Tables of `ackclock check`: its laws and rules, from the files of the cases."""

from __future__ import annotations

from collections.abc import Sequence

from ackclock import checks, evaluation
from ackclock.cases.model import Judgement
from ackclock.checks import recorded_bbr, recordings
from ackclock.verdict import NOT_JUDGED
from pages.tables import PageError, Table, maker


@maker("laws")
def laws() -> Table:
    """A row for each law, with the aims that it is for."""
    return _cases(checks.laws(), with_aims=True)


@maker("rules")
def rules(algorithm: str) -> Table:
    """A row for each rule of an algorithm."""
    if not (found := checks.rules(algorithm)):
        raise PageError(f"there are no rules of `{algorithm}`")
    return _cases(found)


@maker("recorded")
def recorded(kind: str) -> Table:
    """A row for each law of recorded windows, or for each case of an algorithm."""
    bounds = {
        "laws": [claim for claim, _, _ in recordings.LAWS],
        recorded_bbr.NAME: [claim for claim, _ in recorded_bbr.CASES],
    }
    if (claims := bounds.get(kind)) is None:
        raise PageError(f"there are no laws of recordings for `{kind}`")
    allowed = [Judgement(one, None, NOT_JUDGED).allowed for one in claims]
    rows = [[f"`{one.id}`", one.text, band, one.source] for one, band in zip(claims, allowed, strict=True)]
    return Table(("case", "measure", "allowed", "source"), rows)


@maker("aims")
def aims() -> Table:
    """A row for each aim."""
    return Table(("aim", "for"), [[f"`{name}`", words] for name, words in checks.AIMS.items()])


def _cases(cases: Sequence[checks.TargetCase], with_aims: bool = False) -> Table:
    """A row for each file of cases, whose variants are one case here."""
    first = {case.id.partition("/")[0]: case for case in reversed(cases)}
    rows = []
    for name, case in sorted(first.items()):
        row = [f"`{name}`", f"{case.title.partition(':')[0]}. {case.why}", case.source]
        aims = "all" if set(case.aims) == set(checks.AIMS) else ", ".join(case.aims)
        rows.append([*row, aims] if with_aims else row)
    headings = ("case", "what it asks, and why", "source")
    return Table((*headings, "aims") if with_aims else headings, rows)


@maker("criteria")
def criteria() -> Table:
    """The criteria of RFC 9743 with the cases that measure them."""
    rows = [
        [
            one.section,
            one.title,
            one.asks,
            ", ".join(f"`{name}`" for name in one.cases) or "the author's text",
        ]
        for one in evaluation.criteria()
    ]
    return Table(("section", "criterion", "what it asks", "cases"), rows)
