"""The end of ``ackclock compare --networks NAME:rrul``: both directions of each network at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ackclock import summary
from ackclock.cli.first_page import draw_overview
from ackclock.cli.networks import NetworksOutcome
from ackclock.cli.outcome import Finished
from ackclock.figure import StripRow
from ackclock.report import Page, advice, rrul
from ackclock.result import Run


@dataclass(frozen=True)
class RrulOutcome(NetworksOutcome):
    """A sentence for each network, and a row for each controller."""

    def _rows(self, runs: Sequence[tuple[str, Run]]) -> list[StripRow]:
        return rrul.rows(self._of_networks(runs), {one.name: one.cc for one in self.compared})

    def answer(self, done: Finished) -> Sequence[Any]:
        """The sentences before the table."""
        sentences = [f"{row.name}: {row.notes[0]}" for row in self._rows(done.runs)]
        broken = summary.broken(done.summaries)
        return *sentences, *broken, *self.tables(done), summary.engine_line(done.summaries)

    def tables(self, done: Finished) -> Sequence[Any]:
        """A row for each pair."""
        return (self._table(done.runs),)

    def _table(self, runs: Sequence[tuple[str, Run]]) -> Any:
        return advice.table(self._rows(runs), ("network", "controller"), "both directions at once")

    def draw(self, page: Page, done: Finished, folder: Path) -> None:
        """The sentences, the small multiples, and the overview of all runs."""
        from ackclock import plots

        rows = self._rows(done.runs)
        page.strips(rows)
        page.paragraph(rrul.RULE, "note")
        page.save(folder / "rrul.png", partial(plots.strips, rows), self.report.formats)
        draw_overview(page, done.by_label, folder, self.report.formats)

    def document(self, done: Finished) -> dict[str, Any]:
        """With the sentence and the quantities of each network."""
        found = {
            name: {"advice": rrul.sentence(of), "controllers": advice.as_json(of, rrul.MEASURES)}
            for name, of in self._of_networks(done.runs).items()
        }
        return summary.document(done.summaries) | {"rrul": found}
