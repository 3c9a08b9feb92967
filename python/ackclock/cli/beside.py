"""The end of ``ackclock compare --call``: a call that adapts, beside each controller."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from rich.table import Table

from ackclock.cli.home import VOICE
from ackclock.cli.strips import StripsOutcome
from ackclock.contenders import Contender
from ackclock.figure import StripRow
from ackclock.networks import Network
from ackclock.report import advice, beside
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
class BesideOutcome(StripsOutcome):
    """The end of ``compare --call``: the call beside each controller."""

    KEY: ClassVar[str] = "call"
    RULE: ClassVar[str] = beside.RULE

    def rows(self, runs: Sequence[tuple[str, Run]]) -> list[StripRow]:
        """The call beside each controller."""
        return beside.rows(self._of_networks(runs), {one.name: one.cc for one in self.compared})

    def drawn(self, row: StripRow) -> StripRow:
        """With the measures of the figure."""
        return replace(row, cells=beside.drawn(row.cells))

    def table(self, rows: Sequence[StripRow]) -> Table:
        """A row for each pair of a network and a controller."""
        heads = ("network", "beside") if any(one.name for one in self.named) else ("beside",)
        return advice.table(rows, heads, "the call")

    def advice(self, runs: dict[str, Any]) -> dict[str, Any]:
        """The sentence, and the call beside each controller."""
        return {"advice": beside.sentence(runs), "beside": advice.as_json(runs, beside.MEASURES)}
