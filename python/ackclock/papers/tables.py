"""Tables of papers: read from data, filled from samples.

Entries under ``[[tables]]`` become tables of the report: rows and columns with labels, and in each cell the
measured and the reported value of a claim, or the value of a measure:

    [[tables]]
    title = "Round-trip delays"
    columns = [
      { label = "smallest", claim = "demo-{id}-min" },
      { label = "median (ms)", measure = { metric = "rtt_percentile", percentile = 50, run = "{id}" } },
    ]
    rows = [{ label = "DA source", id = "da" }, { label = "JK source", id = "jk" }]

The keys of a row fill the blanks ``{key}`` in the texts of the columns.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from ackclock.cases.document import CaseError, refuse_unknown
from ackclock.cases.expressions import parse
from ackclock.cases.judgement import Measures, expressions, judge, members
from ackclock.cases.measure import Sample, Samples
from ackclock.cases.model import Claim, Condition
from ackclock.cases.reading import filled
from ackclock.metrics import MetricError
from ackclock.papers.experiment import Experiment
from ackclock.report import number

_KEYS = {"name", "title", "heading", "columns", "rows"}


@dataclass(frozen=True)
class Entry:
    """One cell of a table: its measure, and its claim, if any."""

    measures: Measures
    claim: Claim | None = None
    experiment: Experiment | None = None
    """The experiment of the claim."""

    def value(self, samples: Samples) -> float | None:
        """The measured value, or None."""
        if self.claim is not None and self.experiment is not None:
            of = members(self.claim, self.experiment, samples)
            return judge(self.claim, self.measures, samples, of).measured
        try:
            return self.measures[0][0].value(samples)
        except MetricError:
            return None

    def text(self, samples: Samples) -> str:
        """The value as text, with the reported one in brackets."""
        measured = number(self.value(samples))
        if self.claim is None:
            return measured
        reported = self.claim.reported
        return f"{measured} ({reported if isinstance(reported, str) else number(float(reported))})"


class PaperTable:
    """One table of an experiment."""

    def __init__(self, spec: Mapping[str, Any], experiment: Experiment) -> None:
        self.name = str(spec.get("name", ""))
        self.where = f"{experiment.file.name}, table {self.name}".rstrip()
        refuse_unknown(spec, _KEYS, self.where)
        if not spec.get("columns") or not spec.get("rows"):
            raise CaseError(f"{self.where}: a table has columns and rows")
        self.title = str(spec.get("title", experiment.title))
        self.headings = (str(spec.get("heading", "")), *(str(c.get("label", "")) for c in spec["columns"]))
        self.labels = tuple(str(row.get("label", "")) for row in spec["rows"])
        claims = {claim.id: claim for claim in experiment.claims}
        self.entries = tuple(
            tuple(self._entry(column, row, claims, experiment) for column in spec["columns"])
            for row in spec["rows"]
        )

    def _entry(
        self,
        column: Mapping[str, Any],
        row: Mapping[str, Any],
        claims: Mapping[str, Claim],
        experiment: Experiment,
    ) -> Entry:
        where = f"{self.where}, {row.get('label')}, {column.get('label')}"
        if len({"claim", "measure"} & set(column)) != 1 or set(column) - {"claim", "measure", "label"}:
            raise CaseError(f"{where}: a column has a `label` and either a `claim` or a `measure`")
        if "measure" in column:
            return Entry(((parse(filled(column["measure"], row, where), experiment, where),),))
        name = filled(column["claim"], row, where)
        if name not in claims:
            raise CaseError(f"{where}: there is no claim `{name}`")
        return Entry(expressions(claims[name], experiment), claims[name], experiment)

    def demands(self) -> Iterator[tuple[Condition, Sample]]:
        """The samples that the table needs."""
        for entries in self.entries:
            for entry in entries:
                for measure in itertools.chain.from_iterable(entry.measures):
                    yield from measure.demands()

    def rows(self, samples: Samples) -> list[list[str]]:
        """The cells as text, under ``headings``."""
        return [
            [label, *(entry.text(samples) for entry in entries)]
            for label, entries in zip(self.labels, self.entries, strict=True)
        ]

    def values(self, samples: Samples) -> pa.Table:
        """The cells in long form: row, column, measured value and reported value (null without)."""
        found: list[dict[str, Any]] = [
            {
                "row": label,
                "column": heading,
                "measured": entry.value(samples),
                "reported": None if entry.claim is None else str(entry.claim.reported),
            }
            for label, entries in zip(self.labels, self.entries, strict=True)
            for heading, entry in zip(self.headings[1:], entries, strict=True)
        ]
        kinds = {"row": pa.string(), "column": pa.string(), "measured": pa.float64(), "reported": pa.string()}
        return pa.Table.from_pylist(found, pa.schema(kinds))


def tables(experiment: Experiment) -> list[PaperTable]:
    """The tables of an experiment."""
    return [PaperTable(spec, experiment) for spec in experiment.tables]
