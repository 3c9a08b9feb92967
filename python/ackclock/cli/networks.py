"""``ackclock compare --networks``: each controller alone on several networks, and one page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from rich.table import Table

from ackclock import _engine, networks, summary, trust
from ackclock.cli.command import given
from ackclock.cli.outcome import Finished, Outcome
from ackclock.contenders import Contender
from ackclock.errors import InputError
from ackclock.figure import StripRow
from ackclock.report import Page, advice
from ackclock.report.notebook import cells, heads
from ackclock.result import Run
from ackclock.scenario import as_json


def plans(
    named: Sequence[networks.Network],
    compared: Sequence[Contender],
    common: Mapping[str, Any],
    settings: Sequence[tuple[str, str]],
    others: Sequence[Contender] = (),
) -> dict[str, _engine.Plan]:
    """A plan for each pair, by its label. ``others`` are controllers of the networks. Raises InputError."""
    files, found = trust.named([*compared, *others], settings), {}
    for network in named:
        for one in compared:
            name = label(network.name, one.name)
            made = network.without_controllers() if one is ALONE else network.with_controller(one)
            document = made | {"name": name} | _common(network, common)
            try:
                found[name] = _engine.resolve_json(as_json(document), settings, files)
            except _engine.ScenarioError as error:
                said = str(error).removeprefix("scenario: ")
                place = f"--networks: {network.name}: " if network.name else ""
                raise InputError(f"{place}{said}") from None
    return found


def _common(network: networks.Network, common: Mapping[str, Any]) -> dict[str, Any]:
    """Keys of every run: as the command line has them, then the file of a network, then by default."""
    return {key: value for key, value in common.items() if given(key) or key not in network.document}


def lengths(named: Sequence[networks.Network], common: Mapping[str, Any]) -> str:
    """The lengths of the runs on networks in words, each once."""
    every = (one.document.get("duration") for one in named)
    found = dict.fromkeys(str(common["duration"] if one is None else one) for one in every)
    return common["duration"] if given("duration") else " and ".join(found)


ALONE = Contender("nothing", "")
"""Stands for the network without its greedy flows."""


def label(network: str, controller: str) -> str:
    """The label of the runs of a pair. A path has no name."""
    return f"{network}, {controller}" if network else controller


@dataclass(frozen=True)
class NetworksOutcome(Outcome):
    """The end of the command: a table, and a page of small multiples with advice for each network."""

    named: Sequence[networks.Network] = ()
    compared: Sequence[Contender] = ()

    def _of_networks(self, runs: Sequence[tuple[str, Run]]) -> dict[str, dict[str, list[Run]]]:
        """The runs by network and controller, without interrupted pairs."""
        by_label: dict[str, list[Run]] = {}
        for name, run in runs:
            by_label.setdefault(name, []).append(run)
        pairs = {
            network.name: {
                one.name: by_label[label(network.name, one.name)]
                for one in self.compared
                if label(network.name, one.name) in by_label
            }
            for network in self.named
        }
        return {name: of for name, of in pairs.items() if of}

    def _rows(self, runs: Sequence[tuple[str, Run]]) -> list[StripRow]:
        of_flows = {one.name: one.cc for one in self.compared}
        left_out = {network.name: network.left_out for network in self.named}
        return advice.rows(self._of_networks(runs), of_flows, left_out)

    def tables(self, done: Finished) -> Sequence[Any]:
        """A row for each pair, and the advice."""
        return self._table(done.runs), *(f"{row.name}: {row.notes[0]}" for row in self._rows(done.runs))

    def _table(self, runs: Sequence[tuple[str, Run]]) -> Table:
        return advice.table(self._rows(runs), ("network", "controller"), f"networks ({advice.DELAY})")

    def draw(self, page: Page, done: Finished, folder: Path) -> None:
        """The small multiples."""
        from ackclock import plots

        rows = self._rows(done.runs)
        page.strips(rows)
        page.paragraph(advice.RULE, "note")
        page.save(folder / "networks.png", partial(plots.strips, rows), self.report.formats)

    def numbers(self, page: Page, done: Finished) -> None:
        """The same as a table."""
        table = self._table(done.runs)
        page.table(heads(table), cells(table))

    def document(self, done: Finished) -> dict[str, Any]:
        """With the quantities and the sentences of each network."""
        left_out = {network.name: network.left_out for network in self.named}
        found = {
            name: {
                "advice": advice.advice(of),
                "limits": advice.limits(of, left_out[name]),
                "controllers": advice.as_json(of),
            }
            for name, of in self._of_networks(done.runs).items()
        }
        return summary.document(done.summaries) | {"networks": found}
