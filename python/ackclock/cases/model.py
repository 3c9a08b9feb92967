"""The data of cases: scenarios, claims about measures in them, and what a measurement makes of a claim."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ackclock.cases.document import CaseError
from ackclock.cases.variations import Variation

Point = tuple[tuple[str, str], ...]
"""One point of a sweep: scenario keys and their values, spelled as after ``--set``."""


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A statement about a case: a measure, and the band in which its value has to lie."""

    id: str
    kind: str = "reported-number"
    text: str
    reported: float | str = ""
    unit: str = "-"
    low: float = -math.inf
    high: float = math.inf
    source: str
    tolerance: str = ""
    measure: Any
    """The expression that measures it (``ackclock.cases.expressions``), or None."""
    cited: bool = False
    informative: bool = False
    hard: bool = False
    derived: bool = False
    note: str = ""
    trivial: bool = False
    """A restatement, or a band that no correct set-up can miss: checked and shown, counted as nothing."""
    fragile: bool = False
    """It holds only in some realisations (seed, start, phase); their number is shown."""
    judged_over: str = ""
    """The set of runs of the verdict, in words."""
    over: str = ""
    """That set: the name of a variation, or ``repetitions``; empty where ``measure`` takes all runs."""
    share: float = 0.5
    """The smallest share of the set ``over`` that has to lie in the band."""
    measured_as: str = ""
    """The exact meaning of ``measure`` in words, where ``text`` leaves that open."""
    why: str = ""
    """The reason for a miss, if it is known."""
    whole_only: bool = False
    """The reduced form cannot judge it: its path is another one, or it has too few runs."""


@dataclass(frozen=True)
class Setup:
    """One configuration of a case: a panel of a figure, or one of several paths."""

    name: str
    scenario: Mapping[str, Any]
    """The scenario document, as a scenario file would have it."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """Scenarios, the keys that are swept in them, their repetitions, and the claims about them."""

    id: str
    file: Path
    title: str
    setups: tuple[Setup, ...]
    sweep: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    repetitions: int = 1
    seed: int = 1
    claims: tuple[Claim, ...]
    measures: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    """The functions of the case's own that measures name, by name."""
    variations: Mapping[str, Variation] = field(default_factory=dict)
    """The sets of runs of claims, by name."""

    def setup(self, name: str) -> Setup:
        """The configuration of that name."""
        for one in self.setups:
            if one.name == name:
                return one
        known = ", ".join(s.name for s in self.setups)
        raise CaseError(f"{self.file.name}: there is no run `{name}` (there are {known})")


@dataclass(frozen=True)
class Count:
    """A number of runs out of all."""

    number: int
    of: int

    def __str__(self) -> str:
        return f"{self.number} of {self.of}"


@dataclass(frozen=True)
class Judgement:
    """A claim with its measured value."""

    claim: Claim
    measured: float | None
    """The value, or None. An ordering has the ratio that misses, or else the smallest. A claim that is judged
    over a variation has the median of its members."""
    verdict: str
    """One of ``VERDICTS``."""
    why: str = ""
    """Why there is no measured value."""
    holds: Count | None = None
    """The members of its set, or the single repetitions if it is fragile, whose value lies in the band; None
    for other claims."""
    counted: Count | None = None
    """The repetitions with a value, if not all have one."""

    def as_json(self) -> dict[str, Any]:
        """The object of ``reproduce --json``; an open end of the band is null."""
        claim = self.claim
        finite = [None if abs(bound) == float("inf") else bound for bound in (claim.low, claim.high)]
        return {
            "id": claim.id,
            "kind": claim.kind,
            "reported": claim.reported,
            "measured": None if self.measured is None or not math.isfinite(self.measured) else self.measured,
            "unit": claim.unit,
            "low": finite[0],
            "high": finite[1],
            "verdict": self.verdict,
            "trivial": claim.trivial,
            "fragile": claim.fragile,
            "judged_over": claim.judged_over or None,
            "holds": None if self.holds is None else self.holds.number,
            "of": None if self.holds is None else self.holds.of,
            "why": self.reason or None,
        }

    @property
    def reason(self) -> str:
        """The known reason for a missing value or a miss; empty for a claim that holds."""
        return self.why or (self.claim.why if self.verdict == "miss" else "")
