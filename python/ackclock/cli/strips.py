"""The end of a comparison that has a sentence and a row of small multiples for each network."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from ackclock import summary
from ackclock.cli.first_page import draw_overview
from ackclock.cli.networks import NetworksOutcome
from ackclock.cli.outcome import Finished
from ackclock.figure import StripRow
from ackclock.report import Page
from ackclock.result import Run


@dataclass(frozen=True)
class StripsOutcome(NetworksOutcome):
    """A sentence for each network, and a row for each controller."""

    KEY: ClassVar[str]
    """The name of the figure, and of the advice in the document."""
    RULE: ClassVar[str]
    """What the sentences go by."""

    @abstractmethod
    def rows(self, runs: Sequence[tuple[str, Run]]) -> list[StripRow]:
        """The sentences and quantities of runs, a row for each network."""

    @abstractmethod
    def table(self, rows: Sequence[StripRow]) -> Any:
        """Rows as a table."""

    @abstractmethod
    def advice(self, runs: dict[str, Any]) -> dict[str, Any]:
        """The sentence and the quantities of the runs of a network, for the document."""

    def drawn(self, row: StripRow) -> StripRow:
        """A row as the figure has it."""
        return row

    def answer(self, done: Finished) -> Sequence[Any]:
        """The sentences before the table."""
        rows = self.rows(done.runs)
        sentences = [f"{row.name}: {row.notes[0]}" if row.name else row.notes[0] for row in rows]
        broken = summary.broken(done.summaries)
        return *sentences, *broken, *self.tables(done), summary.engine_line(done.summaries)

    def tables(self, done: Finished) -> Sequence[Any]:
        """A row for each pair."""
        return (self.table(self.rows(done.runs)),)

    def draw(self, page: Page, done: Finished, folder: Path) -> None:
        """The sentences, the small multiples, and the overview of all runs."""
        from ackclock import plots

        rows = [self.drawn(row) for row in self.rows(done.runs)]
        page.strips(rows)
        page.paragraph(self.RULE, "note")
        page.save(folder / f"{self.KEY}.png", partial(plots.strips, rows), self.report.formats)
        draw_overview(page, done.by_label, folder, self.report.formats)

    def document(self, done: Finished) -> dict[str, Any]:
        """With the sentence and the quantities of each network."""
        found = {name: self.advice(of) for name, of in self._of_networks(done.runs).items()}
        return summary.document(done.summaries) | {self.KEY: found}
