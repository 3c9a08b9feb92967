"""Runs the cases of the criteria with a target, and judges each criterion beside NewReno and CUBIC."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ackclock.checks.cases import OWN, TargetCase
from ackclock.checks.judging import CheckInProgress, run
from ackclock.checks.target import Target
from ackclock.engines import Engine, Progress
from ackclock.errors import InputError
from ackclock.evaluation.measuring import Measure, measures
from ackclock.evaluation.suite import LONG_SEEDS, Criterion, cases, criteria, names, own, with_seeds

VERDICTS = ("worse", "like", "better", "text")
"""The words for a criterion. ``text``: the author answers it, or nothing could be measured."""


@dataclass(frozen=True)
class Finding:
    """A criterion with its measures."""

    criterion: Criterion
    measures: Sequence[Measure]
    bears: Sequence[Measure]
    """Measures of other criteria that bear on it."""

    @property
    def verdict(self) -> str:
        """``worse`` if a measure is worse than the standards, else ``better`` if one is, else ``like``."""
        found = {one.verdict for one in self.measures} - {"text"}
        return next((word for word in ("worse", "better", "like") if word in found), "text")

    def having(self, verdict: str) -> list[Measure]:
        """Its measures with a verdict."""
        return [one for one in self.measures if one.verdict == verdict]


@dataclass(frozen=True)
class Evaluation:
    """The findings about a target."""

    target: Target
    seed: int
    findings: Sequence[Finding]
    measures: Mapping[str, Measure]
    """Every measure by its id."""
    added: Sequence[Path] = ()
    """The files of cases that the user has added."""
    engine: str = ""
    """The engine as ``--engine`` takes it; empty for the one that the target has without it."""

    @property
    def tally(self) -> Counter[str]:
        """The number of criteria with each verdict."""
        return Counter(one.verdict for one in self.findings)

    def command(self, section: str = "") -> str:
        """The command that repeats it, or one criterion of it."""
        import shlex

        judged = [one.criterion.section for one in self.findings if one.criterion.section != OWN]
        only = section or (",".join(judged) if len(judged) < len(criteria()) else "")
        words = ["ackclock", "evaluate", self.target.text, *(["--only", only] if only else [])]
        if section in ("", OWN):
            words += [word for file in self.added for word in ("--case", str(file))]
        seeds = max(one.case.repetitions for one in self.measures.values())
        words += ["--long"] if seeds == LONG_SEEDS else []
        words += ["--engine", self.engine] if self.engine else []
        return shlex.join(words + (["--seed", str(self.seed)] if self.seed != 1 else []))


def evaluate(
    chosen: Sequence[Criterion],
    target: Target,
    engine: Engine,
    seed: int = 1,
    *,
    long: bool = False,
    known: Mapping[str, Measure] | None = None,
    added: Mapping[str, tuple[TargetCase, ...]] | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """Runs the cases of some criteria and judges these.

    ``added`` are cases of the user, which make a criterion of their own. ``known`` are measures with the same
    seeds, whose values of the standards hold for this target, too.
    Raises InputError for an exception of the target, and where the engine runs none of the cases.
    """
    variants = {name: cases(name) for name in names(chosen)} | dict(added or {})
    chosen = [*chosen, *([own(added)] if added else [])]
    works = {
        name: [
            CheckInProgress(one, target, seed, engine)
            for one in (with_seeds(found, LONG_SEEDS) if long else found)
        ]
        for name, found in variants.items()
    }
    every = [work for found in works.values() for work in found]
    if every and all(work.refused for work in every):
        raise InputError(every[0].refused)
    if known is not None:
        for work in every:
            work.plans = {key: plan for key, plan in work.plans.items() if key[0] == work.case.setups[0].name}
    run(every, engine, target, progress)
    if broken := [why for work in every for why in work.broken.values()]:
        raise InputError(broken[0])
    found = {one.id: one for group in works.values() for one in measures(group, known or {})}
    findings = [
        Finding(one, [m for key, m in found.items() if one.takes(key)], [found[key] for key in one.bears])
        for one in chosen
    ]
    files = [variants[name][0].file for name in added or ()]
    return Evaluation(target, seed, findings, found, files)
