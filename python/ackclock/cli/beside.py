"""The end of ``ackclock compare --call``: a call that adapts, beside each controller."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from rich.table import Table

from ackclock import summary
from ackclock.cli.first_page import draw_overview
from ackclock.cli.home import VOICE
from ackclock.cli.networks import NetworksOutcome
from ackclock.cli.outcome import Finished
from ackclock.contenders import Contender
from ackclock.figure import StripRow
from ackclock.networks import Network
from ackclock.report import Page, advice, beside
from ackclock.result import Run

REPAIR = "300ms"
"""Lost packets of the video leave again for so long, as WebRTC has it by default (NACK)."""


def with_call(network: Network, call: Contender, ends: Mapping[str, str] | None = None) -> Network:
    """The network with a call: video whose rate ``call`` sets, and voice.

    Both follow its first greedy flow, or have ``ends``. They come before all others, so that ``flows.0`` is
    the video in every run. Raises InputError.
    """

    def flows(greedy: dict[str, Any]) -> list[dict[str, Any]]:
        keys = ("from", "to", "rtt", "reverse") if ends is None else ()
        given: dict[str, Any] = {**(ends or {}), **{key: greedy[key] for key in keys if key in greedy}}
        video = {"name": beside.VIDEO, **call.flow(1), "kind": "media", "media": {"repair": REPAIR}}
        return [video | given, {"name": beside.VOICE, **VOICE, **given}]

    return network.with_flows(flows)


@dataclass(frozen=True)
class BesideOutcome(NetworksOutcome):
    """The end of ``compare --call``: a sentence for each network, and the call beside each controller."""

    def _rows(self, runs: Sequence[tuple[str, Run]]) -> list[StripRow]:
        of_flows = {one.name: one.cc for one in self.compared}
        return beside.rows(self._of_networks(runs), of_flows)

    def answer(self, done: Finished) -> Sequence[Any]:
        """The sentences before the table."""
        return (
            *self._sentences(done),
            *summary.broken(done.summaries),
            *self.tables(done),
            summary.engine_line(done.summaries),
        )

    def tables(self, done: Finished) -> Sequence[Any]:
        """A row for each pair."""
        return (self._table(done.runs),)

    def _sentences(self, done: Finished) -> list[str]:
        return [f"{row.name}: {row.notes[0]}" if row.name else row.notes[0] for row in self._rows(done.runs)]

    def _table(self, runs: Sequence[tuple[str, Run]]) -> Table:
        heads = ("network", "beside") if any(one.name for one in self.named) else ("beside",)
        return advice.table(self._rows(runs), heads, "the call")

    def draw(self, page: Page, done: Finished, folder: Path) -> None:
        """The sentences, the small multiples, and the overview of all runs."""
        from ackclock import plots

        rows = [replace(row, cells=beside.drawn(row.cells)) for row in self._rows(done.runs)]
        page.strips(rows)
        page.paragraph(beside.RULE, "note")
        page.save(folder / "call.png", partial(plots.strips, rows), self.report.formats)
        draw_overview(page, done.by_label, folder, self.report.formats)

    def document(self, done: Finished) -> dict[str, Any]:
        """With the sentence and the quantities of each network."""
        found = {
            name: {"advice": beside.sentence(of), "beside": advice.as_json(of, beside.MEASURES)}
            for name, of in self._of_networks(done.runs).items()
        }
        return summary.document(done.summaries) | {"call": found}
