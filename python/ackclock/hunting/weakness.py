"""The weakness of a target in conditions: the goodput that it lacks beside the better of two references."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ackclock import _engine, repetitions
from ackclock.checks.target import Target
from ackclock.engines import Engine
from ackclock.hunting.conditions import Condition, Noise
from ackclock.result import Run

REFERENCES = ("newreno", "cubic")

ENOUGH = 0.6
"""A target with this share of the link is not weak, whatever others have."""

Question = tuple[str, Condition, int]
"""A controller (empty for the target), a condition, and the number of its noise."""


def key(question: Question) -> str:
    """A question as text."""
    who, condition, noise = question
    return json.dumps([who, dict(condition.values), noise])


@dataclass
class Weaknesses:
    """Answers questions by runs, each once."""

    target: Target
    engine: Engine
    known: dict[str, float] = field(default_factory=dict)
    """The goodputs so far, in bit/s."""
    learnt: Callable[[str, float], None] | None = None
    """Called with each new one."""
    cpu_s: float = 0.0
    runs: int = 0
    broken: dict[Condition, str] = field(default_factory=dict)
    """Conditions in which the target raises an exception."""

    def of(self, asked: Sequence[tuple[Condition, int]]) -> list[float]:
        """The weakness in each condition with its noise: 0 is none, 1 is nothing delivered.

        References run only where the target has too little of the link.
        """
        self._run([("", condition, noise) for condition, noise in asked])
        poor = [
            (condition, noise)
            for condition, noise in asked
            if self._goodput("", condition, noise) < ENOUGH * condition["rate_mbit"] * 1e6
        ]
        self._run([(who, condition, noise) for condition, noise in poor for who in REFERENCES])
        return [
            self._weakness(condition, noise) if (condition, noise) in poor else 0.0
            for condition, noise in asked
        ]

    def _weakness(self, condition: Condition, noise: int) -> float:
        best = max(self._goodput(who, condition, noise) for who in REFERENCES)
        return max(0.0, 1.0 - self._goodput("", condition, noise) / best) if best > 0 else 0.0

    def _goodput(self, who: str, condition: Condition, noise: int) -> float:
        return self.known[key((who, condition, noise))]

    def _run(self, questions: Sequence[Question]) -> None:
        new = {key(one): one for one in questions if key(one) not in self.known}
        points = [
            repetitions.Point(name, self._plan(one), repetitions.seeds(Noise.number(one[2]).seed, 1))
            for name, one in new.items()
        ]
        found: dict[str, float] = {}
        for result in repetitions.survivors(points, self.engine):
            if isinstance(result, repetitions.Broken):
                # Nothing is delivered by a run that fails.
                found[result.key], self.broken[new[result.key][1]] = 0.0, result.why
            else:
                found[result.key] = self._counted(result.run)
        for name in new:
            self.known[name] = found[name]
            if self.learnt is not None:
                self.learnt(name, found[name])

    def _counted(self, run: Run) -> float:
        self.cpu_s += float(run.engine["cpu_s"])
        self.runs += 1
        rows = run.flows.to_pylist()
        own = [row["goodput_bps"] for row in rows if row["name"] != "burst"]
        # The poorer of two flows counts for both.
        return float(min(own) * len(own))

    def _plan(self, question: Question) -> _engine.Plan:
        who, condition, noise = question
        document = condition.scenario(who or self.target, Noise.number(noise))
        return _engine.resolve_json(json.dumps(document), [], self.target.files())


def load(lines: Sequence[str]) -> Mapping[str, float]:
    """Goodputs from the lines of a journal, up to the first damaged line."""
    found: dict[str, float] = {}
    for line in lines:
        try:
            name, value = json.loads(line)
            found[str(name)] = float(value)
        except (TypeError, ValueError):
            break
    return found
