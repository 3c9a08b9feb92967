"""The end of ``compare --networks 802.11g``: the quality of a call, beside the tables of each outcome."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ackclock import summary
from ackclock.cli.first_page import draw_overview
from ackclock.cli.outcome import Finished, Outcome
from ackclock.report import Page, bottlenecks, calls, notebook
from ackclock.result import Run


class CallOutcome(Outcome):
    """The end of ``compare --networks 802.11g``, whose runs have a call by which they are compared."""

    def tables(self, done: Finished) -> Sequence[Any]:
        """The flows and links of a home are in the report alone: they are too many for the terminal."""
        return bottlenecks.sentence(_background(done.runs)), calls.table(done.runs)

    def draw(self, page: Page, done: Finished, folder: Path) -> None:
        """The bottleneck, the call, and the overview of the background."""
        background = _background(done.runs)
        page.paragraph(bottlenecks.sentence(background))
        page.paragraph(calls.sentence(done.runs))
        draw_overview(page, background, folder, self.report.formats, calls.panels(done.by_label))

    def numbers(self, page: Page, done: Finished) -> None:
        """The call."""
        of_call = calls.table(done.runs)
        page.table(notebook.heads(of_call), notebook.cells(of_call))

    def document(self, done: Finished) -> dict[str, Any]:
        """With the bottleneck and the call."""
        of_call = {
            "bottleneck": bottlenecks.sentence(_background(done.runs)),
            "calls": calls.as_json(done.runs),
        }
        return summary.document(done.summaries) | of_call


def _background(runs: Sequence[tuple[str, Run]]) -> dict[str, list[Run]]:
    """The runs with flows beside the call, by label, without the call."""
    found: dict[str, list[Run]] = {}
    for label, run in runs:
        if label != calls.ALONE:
            found.setdefault(label, []).append(run.with_flows(calls.is_background))
    return found
