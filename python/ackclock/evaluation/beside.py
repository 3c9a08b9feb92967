"""Two versions of a controller side by side: the measures in which the second is better or worse."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ackclock.evaluation.judging import Evaluation
from ackclock.evaluation.measuring import Measure
from ackclock.report import Page, markdown, number, write_json, write_whole

CHANGES = ("worse", "better", "like")
"""The changes from the first version to the second, in the order in which they are shown."""


@dataclass(frozen=True)
class Change:
    """One measure of two versions."""

    first: Measure
    second: Measure

    @property
    def verdict(self) -> str:
        """``worse``, ``like`` or ``better``: the second beside the first, by the rule of the standards.

        A measure that only the first has a value of is worse, one that only the second has better.
        """
        if self.first.missing or self.second.missing:
            if bool(self.first.missing) == bool(self.second.missing):
                return "like"
            return "worse" if self.second.missing else "better"
        return self.second.beside([self.first.estimate()])

    def as_json(self) -> dict[str, Any]:
        """One object of ``changes``."""
        first, second = self.first.as_json(), self.second.as_json()
        shared = {key: first[key] for key in ("id", "name", "unit", "better")}
        values = {
            f"{name}_{key}": one[key]
            for name, one in (("first", first), ("second", second))
            for key in ("target", "low", "high")
        }
        return {**shared, **values, "verdict": self.verdict}


@dataclass(frozen=True)
class Comparison:
    """Two evaluations with the same seeds."""

    first: Evaluation
    second: Evaluation

    @property
    def changes(self) -> list[Change]:
        """The measures. The ones in which the second is worse come first."""
        found = [Change(one, self.second.measures[key]) for key, one in self.first.measures.items()]
        return sorted(found, key=lambda one: CHANGES.index(one.verdict))

    def having(self, verdict: str) -> list[Change]:
        """The measures with a verdict."""
        return [one for one in self.changes if one.verdict == verdict]

    @property
    def sentence(self) -> str:
        """The result in one sentence."""
        worse, better = (len(self.having(word)) for word in ("worse", "better"))
        return (
            f"{self.second.target.name} beside {self.first.target.name}: "
            f"worse in {worse}, better in {better} "
            f"of {len(self.changes)} measures."
        )

    @property
    def headings(self) -> tuple[str, ...]:
        """The head of its table."""
        return "measure", self.first.target.name, self.second.target.name, "change"

    def rows(self) -> Iterator[list[str]]:
        """The table: each measure with the intervals of both."""
        for one in self.changes:
            yield [f"{one.first.id}: {one.first.name}", _shown(one.first), _shown(one.second), one.verdict]

    def as_json(self) -> dict[str, Any]:
        """The object of ``evaluate --beside --json``."""
        return {
            "first": self.first.target.name,
            "second": self.second.target.name,
            "changes": [one.as_json() for one in self.changes],
        }


def _shown(one: Measure) -> str:
    if one.missing:
        return "-"
    low, high = one.estimate().ends
    return f"{one.shown()} ({number(low, 3)} to {number(high, 3)})"


def write(done: Comparison, folder: Path) -> Sequence[str]:
    """Writes the page, the Markdown and the JSON."""
    heading = f"{done.first.target.name} and {done.second.target.name}"
    page = Page(heading)
    page.paragraph(done.sentence, "miss" if done.having("worse") else "pass")
    page.table(done.headings, list(done.rows()), css_column=3)
    write_json(folder / "beside.json", done.as_json())
    text = f"# {heading}\n\n{done.sentence}\n\n{markdown(done.headings, list(done.rows()))}"
    write_whole(folder / "beside.md", text)
    page.write(folder / "index.html")
    return page.undrawn
