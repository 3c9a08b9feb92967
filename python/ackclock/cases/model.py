"""The data of cases: scenarios, claims about measures in them, and judgements on the claims."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from ackclock.cases.document import CaseError
from ackclock.cases.variations import Settings, Variation
from ackclock.report.text import number
from ackclock.verdict import NOT_JUDGED, Verdict

WORDS = ("pass", "miss", "trivial", "cited", "informative", NOT_JUDGED)
"""The words for verdicts in documents. "trivial" is a pass of a claim that cannot fail. "cited" and
"informative" are claims that are never judged. "not judged" has its reason beside it."""

Point = Settings
"""One point of a sweep."""

Condition = tuple[str, Point]
"""One configuration at one point of the sweep. Its repetitions differ only in the seed."""


@dataclass(frozen=True)
class Relative:
    """One end of a band, at a distance from the values of other controllers in the same case.

    The distance is ``share`` times their value, and at least ``margin``.
    """

    beside: tuple[str, ...]
    """The controllers; each runs in the place of the target."""
    of: str
    """The statistic over their values."""
    share: float = 0.0
    margin: float = 0.0
    seeds: int = 0
    """The number of seeds of their runs (0: as many as the case has)."""

    def allowed(self, value: float) -> float:
        """The distance from a value."""
        return max(self.share * abs(value), self.margin)


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A statement about a case: a measure, and the band that its value has to be in."""

    id: str
    kind: str = "reported-number"
    text: str
    reported: float | str = ""
    unit: str = "-"
    low: float = -math.inf
    high: float = math.inf
    source: str = ""
    tolerance: str = ""
    measure: Any
    """The expression that measures it (``ackclock.cases.expressions``), or None."""
    cited: bool = False
    informative: bool = False
    hard: bool = False
    derived: bool = False
    note: str = ""
    trivial: bool = False
    """A restatement, or a band that no correct set-up can miss. It is checked and shown, but not counted."""
    fragile: bool = False
    """It holds only in some realisations (seed, start, phase). Their number is shown."""
    judged_over: str = ""
    """The set of runs of the verdict, in words."""
    over: str = ""
    """That set: the name of a variation, or ``repetitions``. Empty if ``measure`` takes all runs."""
    share: float = 0.5
    """The smallest share of the set ``over`` that has to be in the band."""
    measured_as: str = ""
    """The exact meaning of ``measure`` in words, where ``text`` leaves that open."""
    why: str = ""
    """The reason for a miss, if it is known."""
    whole_only: bool = False
    """The reduced form cannot judge it: its path is another one, or it has too few runs."""
    relative: Mapping[str, Relative] = field(default_factory=dict)
    """The ends of the band, ``low`` or ``high``, that follow from other controllers."""
    is_worst: bool = False
    """Over ``repetitions``: its value is the one that is furthest outside, not their median."""
    group: str = ""
    """The set of claims that it belongs to, such as laws."""
    title: str = ""
    """The case in words, where the claim is shown alone."""
    because: str = ""
    """The reason for the claim, one sentence."""
    better: str = ""
    """The direction of a measure that is judged beside others: ``more``, ``less``, or empty."""


@dataclass(frozen=True)
class Setup:
    """One configuration of a case: a panel of a figure, or one of several paths."""

    name: str
    scenario: Mapping[str, Any]
    """The scenario document, as a scenario file would have it."""
    settings: Settings = ()
    """Keys that it sets besides a point's."""
    repetitions: int = 0
    """The number of its repetitions (0: as many as the case has)."""


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
    others: tuple[Setup, ...] = ()
    """The configurations with another controller in the place of the target."""

    def setup(self, name: str) -> Setup:
        """The configuration of that name."""
        for one in self.setups + self.others:
            if one.name == name:
                return one
        known = ", ".join(s.name for s in self.setups)
        raise CaseError(f"{self.file.name}: there is no run `{name}` (there are {known})")

    def with_scenarios(self, change: Callable[[Mapping[str, Any]], Mapping[str, Any]]) -> Self:
        """The case with changed scenarios."""
        setups = tuple(replace(one, scenario=change(one.scenario)) for one in self.setups)
        return replace(self, setups=setups)


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
    """The value, or None. An ordering has the ratio that misses, or else the smallest. A claim over a set of
    runs has the median of its members, or the worst."""
    verdict: Verdict
    unmeasured: str = ""
    """Why there is no measured value."""
    holds: Count | None = None
    """The members of its set, or the single repetitions if it is fragile, whose value is in the band. None
    for other claims."""
    counted: Count | None = None
    """The repetitions with a value, if not all have one."""
    beside: Mapping[str, float] = field(default_factory=dict)
    """The values of the controllers beside which it is judged, medians over their seeds."""
    scenario: str = ""
    """The resolved scenario as JSON, where the claim is about one."""
    valid: bool = True
    """False if a live run went past its error budget."""
    raised: bool = False
    """True if code of the user ended a run with an exception, which ``unmeasured`` names."""
    seconds: float = field(default=0.0, compare=False)
    """The time of the runs of its case. The first judgement of a case has it."""

    @property
    def word(self) -> str:
        """One of ``WORDS``."""
        if self.claim.cited:
            return "cited"
        if self.claim.informative:
            return "informative"
        return "trivial" if self.claim.trivial and self.verdict == "pass" else self.verdict

    @property
    def reason(self) -> str:
        """The known reason for a missing value or a miss. Empty for a claim that holds."""
        return self.unmeasured or (self.claim.why if self.verdict == "miss" else "")

    @property
    def allowed(self) -> str:
        """The band in words."""
        low, high = number(self.claim.low), number(self.claim.high)
        if math.isinf(self.claim.high):
            return f"at least {low}"
        return f"at most {high}" if math.isinf(self.claim.low) else f"{low} to {high}"

    @property
    def sentence(self) -> str:
        """The measured value and the band, or why there is no value."""
        if self.measured is None:
            return self.reason
        return f"{self.claim.text}: measured {number(self.measured)}, allowed is {self.allowed}"

    @property
    def numbers(self) -> dict[str, float | None]:
        """The measured value and the ends of the band for JSON, with None for an open end or no value."""
        return finite({"measured": self.measured, "low": self.claim.low, "high": self.claim.high})

    def as_json(self) -> dict[str, Any]:
        """The object of ``reproduce --json``."""
        claim, numbers = self.claim, self.numbers
        return {
            "id": claim.id,
            "kind": claim.kind,
            "reported": claim.reported,
            "measured": numbers["measured"],
            "unit": claim.unit,
            "low": numbers["low"],
            "high": numbers["high"],
            "verdict": self.word,
            "trivial": claim.trivial,
            "fragile": claim.fragile,
            "judged_over": claim.judged_over or None,
            "holds": None if self.holds is None else self.holds.number,
            "of": None if self.holds is None else self.holds.of,
            "why": self.reason or None,
        }


def finite(numbers: Mapping[str, float | None]) -> dict[str, float | None]:
    """Numbers for JSON, with None for one that is not finite."""
    return {key: one if one is not None and math.isfinite(one) else None for key, one in numbers.items()}
