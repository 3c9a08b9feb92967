"""The table and the page of ``ackclock read DIR…``."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ackclock import summary
from ackclock.cli.first_page import draw_overview
from ackclock.cli.outcome import Finished, Outcome
from ackclock.figure import StripRow
from ackclock.groups import only_controller
from ackclock.report import Page, advice
from ackclock.report.notebook import cells, heads

__all__ = ["Finished", "PlotOutcome"]


class PlotOutcome(Outcome):
    """The end of the command: boxes over the repetitions of each label, then the overview of all."""

    def tables(self, done: Finished) -> Sequence[Any]:
        """The boxes in numbers."""
        return (advice.table(_rows(done), ("run",), f"results ({advice.DELAY})"),)

    def draw(self, page: Page, done: Finished, folder: Path) -> None:
        """The boxes, and the overview."""
        from ackclock import plots

        page.strips(_rows(done))
        page.save(folder / "boxes.png", partial(plots.strips, _rows(done)), self.report.formats)
        draw_overview(page, done.by_label, folder, self.report.formats)

    def numbers(self, page: Page, done: Finished) -> None:
        """The boxes in numbers."""
        for table in self.tables(done):
            page.table(heads(table), cells(table))

    def document(self, done: Finished) -> dict[str, Any]:
        """With the quantities of each label, their spread and their intervals."""
        return summary.document(done.summaries) | {"results": advice.as_json(done.by_label)}


def _rows(done: Finished) -> list[StripRow]:
    """One line, with all labels in each cell."""
    of_flows = {label: only_controller(of[0].flows) for label, of in done.by_label.items()}
    return [StripRow("", advice.cells(done.by_label, of_flows))]
