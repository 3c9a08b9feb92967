"""The search: random conditions and changes of the weakest, judged under noise and made small."""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ackclock.hunting.conditions import NUMBERS, PATH, Condition, changed, drawn
from ackclock.hunting.weakness import Weaknesses

Class: TypeAlias = Literal["stall", "slow", "knife edge"]

WEAK = 0.5
"""The weakness from which on a condition is a finding."""

STALL = 0.9
"""The weakness from which on it is a stall."""

BATCH = 32
PARENTS = 8
"""The weakest conditions, of which half a batch are changes."""

NOISES = 5
"""Perturbed runs by which a finding is judged."""

SHRINKING = 3
"""The number of these runs by which a smaller condition is judged."""

KEPT = 0.8
"""The share of the weakness that a smaller condition must have."""

MOST_NUMBERS = 4
MOST_OF_A_KIND = 2
"""Findings of one kind that are made small. More would be the same again."""


@dataclass(frozen=True)
class Finding:
    """A condition in which the target is weak."""

    condition: Condition
    weakness: float
    """The median over the perturbed runs. A knife edge has the weakness of the run without noise."""
    survives: int
    """The perturbed runs in which it is weak."""
    why: str = ""
    """The exception of the target, if it raises one."""

    @property
    def kind(self) -> Class:
        """Its class."""
        if 2 * self.survives < NOISES:
            return "knife edge"
        return "stall" if self.weakness >= STALL else "slow"


@dataclass
class Search:
    """A search in progress. The same seed asks the same questions in the same order."""

    weaknesses: Weaknesses
    seed: int
    tried: int = 0

    def run(self, more: Callable[[], bool], tries: int | None = None) -> list[Finding]:
        """Searches in batches while there is ``more`` to spend. Returns the findings, the worst first.

        ``tries`` is the most conditions that it tries.
        """
        found: dict[str, Finding] = {}
        counts: dict[str, int] = {}
        weakest: list[tuple[float, Condition]] = []
        batches = self._batches(weakest)
        while more():
            batch = next(batches)[: None if tries is None else tries - self.tried]
            values = self.weaknesses.of([(condition, 0) for condition in batch])
            self.tried += len(batch)
            ranked = sorted(zip(values, batch, strict=True), key=lambda one: -one[0])
            for value, condition in ranked:
                if value < WEAK or counts.get(condition.kind, 0) >= MOST_OF_A_KIND:
                    continue
                counts[condition.kind] = counts.get(condition.kind, 0) + 1
                _keep(found, self._judged(condition, value))
            weakest[:] = sorted(
                [*weakest, *((value, one) for value, one in ranked if 0.05 < value < WEAK)],
                key=lambda one: -one[0],
            )[:PARENTS]
        return sorted(found.values(), key=_order)

    def _batches(self, weakest: Sequence[tuple[float, Condition]]) -> Iterator[list[Condition]]:
        chance = random.Random(f"hunt {self.seed}")
        while True:
            batch = [drawn(chance) for _ in range(BATCH)]
            for place, (_, parent) in zip(range(0, BATCH, 2), _around(weakest), strict=False):
                batch[place] = changed(parent, chance)
            yield batch

    def _judged(self, condition: Condition, value: float) -> Finding:
        """The finding, made small if it survives noise."""
        noisy = self._noisy(condition, NOISES)
        survives = sum(one >= WEAK for one in noisy)
        why = self.weaknesses.broken.get(condition, "")
        if 2 * survives < NOISES:
            return Finding(condition, value, survives, why)
        whole = Finding(condition, statistics.median(noisy), survives, why)
        small = self._smaller(condition, whole.weakness)
        noisy = self._noisy(small, NOISES)
        survives = sum(one >= WEAK for one in noisy)
        # A smaller condition that is on a knife edge is no finding.
        if 2 * survives < NOISES:
            return whole
        return Finding(small, statistics.median(noisy), survives, self.weaknesses.broken.get(small, why))

    def _noisy(self, condition: Condition, count: int) -> list[float]:
        return self.weaknesses.of([(condition, noise) for noise in range(1, count + 1)])

    def _smaller(self, condition: Condition, weakness: float) -> Condition:
        """Numbers become neutral, then round, as long as the weakness stays."""
        least = max(WEAK, KEPT * weakness)
        while True:
            condition, is_smaller = self._best(
                condition, [condition.without(one) for one, _ in condition.values], least
            )
            if not is_smaller:
                break
        if len(condition) > MOST_NUMBERS:
            path = [condition.without(name) for name, _ in condition.values if name in PATH]
            condition, _ = self._best(condition, path, WEAK)
        for digits in (1, 2):
            for name, value in condition.values:
                shorter = condition.with_value(name, NUMBERS[name].rounded(value, digits))
                condition, _ = self._best(condition, [shorter] if shorter != condition else [], least)
        return condition

    def _best(
        self, condition: Condition, candidates: Sequence[Condition], least: float
    ) -> tuple[Condition, bool]:
        """The weakest of the candidates if it is weak enough, else the condition as it is."""
        asked = [(one, noise) for one in candidates for noise in range(1, SHRINKING + 1)]
        values = self.weaknesses.of(asked)
        medians = [
            statistics.median(values[place : place + SHRINKING]) for place in range(0, len(values), SHRINKING)
        ]
        best = max(zip(medians, candidates, strict=True), key=lambda one: one[0], default=(0.0, condition))
        return (best[1], True) if best[0] >= least and candidates else (condition, False)


def _around(weakest: Sequence[tuple[float, Condition]]) -> Iterator[tuple[float, Condition]]:
    """The weakest conditions again and again, or nothing if there are none."""
    while weakest:
        yield from list(weakest)


def _keep(found: dict[str, Finding], finding: Finding) -> None:
    """Keeps the worst finding of each kind."""
    kind = f"{finding.condition.kind}{finding.kind == 'knife edge'}"
    if kind not in found or _order(finding) < _order(found[kind]):
        found[kind] = finding


def _order(finding: Finding) -> tuple[bool, float, int]:
    return finding.kind == "knife edge", -finding.weakness, len(finding.condition)
