"""The end of ``ackclock compare --networks NAME:rrul``: both directions of each network at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ackclock.cli.strips import StripsOutcome
from ackclock.figure import StripRow
from ackclock.report import advice, rrul
from ackclock.result import Run


@dataclass(frozen=True)
class RrulOutcome(StripsOutcome):
    """The end of ``compare --networks NAME:rrul``."""

    KEY: ClassVar[str] = "rrul"
    RULE: ClassVar[str] = rrul.RULE

    def rows(self, runs: Sequence[tuple[str, Run]]) -> list[StripRow]:
        """The directions and the ping with each controller."""
        return rrul.rows(self._of_networks(runs), {one.name: one.cc for one in self.compared})

    def table(self, rows: Sequence[StripRow]) -> Any:
        """A row for each pair of a network and a controller."""
        return advice.table(rows, ("network", "controller"), "both directions at once")

    def advice(self, runs: dict[str, Any]) -> dict[str, Any]:
        """The sentence, and the quantities of each controller."""
        return {"advice": rrul.sentence(runs), "controllers": advice.as_json(runs, rrul.MEASURES)}
