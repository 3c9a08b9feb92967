"""Published statements about controllers, and the answers of an evaluation's measures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from ackclock.cases.document import CaseError, TomlTable, read_toml
from ackclock.cases.reading import STANDARDS
from ackclock.evaluation.judging import Evaluation
from ackclock.evaluation.measuring import Measure
from ackclock.evaluation.suite import SUITE, cases, measure_id

VERDICTS = ("worse", "like", "better")


@dataclass(frozen=True)
class Statement:
    """A statement about one controller, and the measure that shows it."""

    text: str
    source: str
    measure: str
    """``case/id``."""
    variant: str
    """One variant of the case; empty for all."""
    than: str
    """The standard beside which the measure is judged; empty for both."""
    verdict: str
    """The expected verdict of the measure."""
    why: str = ""
    """The reason for another verdict, if it is known."""


@dataclass(frozen=True)
class Answer:
    """A statement with the measure and its verdict."""

    statement: Statement
    measure: Measure
    verdict: str

    @property
    def agrees(self) -> bool:
        """True if the verdict is the expected one."""
        return self.verdict == self.statement.verdict

    @property
    def word(self) -> str:
        """``agrees``, or the verdict with its reason."""
        if self.agrees:
            return "agrees"
        return f"no: {self.verdict}. {self.statement.why}.".removesuffix(" .")

    def as_json(self) -> dict[str, Any]:
        """One object of ``statements`` in ``evaluate --json``."""
        about = self.statement
        return {
            "text": about.text,
            "source": about.source,
            "measure": about.measure,
            "variant": about.variant or None,
            "than": about.than or None,
            "expected": about.verdict,
            "verdict": self.verdict,
            "why": None if self.agrees else about.why or None,
        }


@cache
def statements(folder: Path = SUITE) -> Mapping[str, tuple[Statement, ...]]:
    """The statements about each controller. Raises CaseError for a mistake in their file."""
    table = TomlTable(read_toml(folder / "statements.toml"), "statements.toml")
    found: dict[str, tuple[Statement, ...]] = {}
    for number, values in enumerate(table.tables("about")):
        about = TomlTable(values, f"{table.where}, about.{number}")
        controller, listed = about.take("controller", str), about.tables("statements")
        about.done()
        found[controller] = tuple(
            _statement(TomlTable(one, f"{about.where}, statements.{place}"))
            for place, one in enumerate(listed)
        )
    table.done()
    return found


def _statement(table: TomlTable) -> Statement:
    text, source, measure, verdict = (
        table.take(key, str) for key in ("text", "source", "measure", "verdict")
    )
    variant, than, why = (table.take(key, str, "") for key in ("variant", "than", "why"))
    table.done()
    variants = cases(measure.partition("/")[0])
    if measure not in {measure_id(claim.id) for claim in variants[0].claims}:
        raise CaseError(f"{table.where}: there is no measure `{measure}`")
    if variant and not any(case.title.endswith(f": {variant}") for case in variants):
        raise CaseError(f"{table.where}: the case has no variant `{variant}`")
    for key, value, allowed in (("verdict", verdict, VERDICTS), ("than", than, ("", *STANDARDS))):
        if value not in allowed:
            raise CaseError(
                f"{table.where}: {key} = {value!r} must be one of {', '.join(filter(None, allowed))}"
            )
    return Statement(text, source, measure, variant, than, verdict, why)


def answers(done: Evaluation) -> list[Answer]:
    """The published statements about the target's algorithm that the measures of an evaluation can answer."""
    about = statements().get(done.target.algorithm or "", ())
    return [
        _answer(one, done.measures[one.measure])
        for one in about
        if one.measure in done.measures and not done.measures[one.measure].missing
    ]


def _answer(one: Statement, measure: Measure) -> Answer:
    rows = [row for row in measure.rows if one.variant in ("", row.variant)]
    chosen = replace(measure, rows=rows)
    others = [chosen.estimate(cc) for cc in STANDARDS if one.than in ("", cc)]
    return Answer(one, chosen, chosen.beside(others))
