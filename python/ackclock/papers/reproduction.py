"""Reproducing: runs the repetitions of experiments, measures each as it finishes, and judges the claims."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import pyarrow as pa

from ackclock import _engine, repetitions
from ackclock.cases.document import CaseError, as_mistakes
from ackclock.cases.judgement import Measures
from ackclock.cases.model import Claim, Condition, Count, Judgement
from ackclock.cases.running import CaseInProgress, longest_first
from ackclock.engines import Engine, Progress, registry
from ackclock.engines.by_plan import ByPlan
from ackclock.engines.simulator import Simulator
from ackclock.figure import Panel
from ackclock.papers import figures
from ackclock.papers.experiment import Experiment
from ackclock.papers.tables import PaperTable, tables
from ackclock.verdict import NOT_JUDGED


@dataclass(frozen=True)
class DrawnFigure:
    """A figure with its curves."""

    figure: figures.PaperFigure
    panels: list[Panel]


@dataclass(frozen=True)
class FilledTable:
    """A table with its cells: as text and as numbers."""

    table: PaperTable
    rows: list[list[str]]
    values: pa.Table


@dataclass
class Result:
    """The result of one experiment."""

    experiment: Experiment
    judgements: list[Judgement]
    figures: list[DrawnFigure]
    tables: list[FilledTable]
    runs_done: int
    runs: int
    seconds: float
    """Wall-clock seconds that its runs took, added up over all cores."""

    @property
    def missed(self) -> list[Judgement]:
        """The claims outside their bands."""
        return [j for j in self.judgements if j.verdict == "miss"]

    @property
    def line(self) -> str:
        """The experiment and its verdicts: ``cdg2011-fig4: 5 pass, 1 miss``."""
        counts = Counter(judgement.word for judgement in self.judgements)
        verdicts = ", ".join(f"{count} {word}" for word, count in counts.items())
        return f"{self.experiment.id}: {verdicts or 'no claims'}"


@dataclass
class Reproduction:
    """The results of all experiments."""

    results: list[Result]
    seed: int | None
    interrupted: bool
    scenarios: list[dict[str, Any]] = field(default_factory=list)
    """The runs: experiment, run, point, seeds and the resolved scenario of each condition."""
    refused: list[str] = field(default_factory=list)
    """The runs that the engine refuses, one sentence each."""
    replaced: bool = False
    """True if another engine made the runs that the engine refuses."""
    invalid: list[str] = field(default_factory=list)
    """Live runs past their error budget, one sentence each."""
    others: dict[str, Self] = field(default_factory=dict)
    """The same experiments run otherwise, by the name of the engine.

    An engine with a stack of its own comes after a simulation with that stack, by its profile.
    """
    perturbed: list[Self] = field(default_factory=list)
    """The same experiments with slightly different seeds, starts and base RTTs."""
    readings: Mapping[str, Mapping[str, Judgement]] = field(default_factory=dict)
    """The claims that each reading of the paper changes: by the reading's name, then by the claim's id."""

    @property
    def engines(self) -> Mapping[str, Self]:
        """The members of ``others`` that another engine ran."""
        return {name: other for name, other in self.others.items() if name in registry.ENGINES}

    @property
    def in_real_time(self) -> bool:
        """True if an engine ran the experiments on the machine's own kernel."""
        return any(registry.ENGINES[name].real_time for name in self.engines)

    def steadiness(self) -> Mapping[str, Count]:
        """The number of ``perturbed`` in which each judged claim holds, by its id."""
        found: dict[str, list[bool]] = {}
        for one in self.perturbed:
            for judgement in (j for result in one.results for j in result.judgements):
                if judgement.verdict != NOT_JUDGED:
                    found.setdefault(judgement.claim.id, []).append(judgement.verdict != "miss")
        return {identity: Count(sum(held), len(held)) for identity, held in found.items()}

    def measured(self) -> Mapping[str, float | None]:
        """The value of each claim, by its id."""
        return {j.claim.id: j.as_json()["measured"] for result in self.results for j in result.judgements}

    @property
    def begun(self) -> bool:
        """True if any run has finished, or none was needed: there are experiments without runs."""
        return not self.interrupted or any(result.runs_done for result in self.results)

    @property
    def missed(self) -> list[Judgement]:
        """All claims outside their bands."""
        return [j for result in self.results for j in result.missed]

    def as_json(self) -> dict[str, Any]:
        """The object of ``reproduce --json``."""
        others = self.measured_by_others()
        document: dict[str, Any] = {
            "experiments": [
                {
                    "id": result.experiment.id,
                    "runs": result.runs,
                    "runs_done": result.runs_done,
                    "seconds": round(result.seconds, 3),
                    "claims": [self._claim(j, others) for j in result.judgements],
                }
                for result in self.results
            ]
        }
        for name, other in self.engines.items():
            facts = {"refused": other.refused, "replaced": other.replaced, "invalid": other.invalid}
            document[name] = facts
        if self.readings:
            document["readings"] = {
                name: [judgement.as_json() for judgement in changed.values()]
                for name, changed in self.readings.items()
            }
        return document

    def _claim(self, judgement: Judgement, others: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        """One claim of ``as_json``."""
        document = judgement.as_json() | dict(others[judgement.claim.id])
        if self.perturbed:
            count = self.steadiness().get(judgement.claim.id)
            document["shaken"] = None if count is None else {"holds": count.number, "of": count.of}
        return document

    def measured_by_others(self) -> Mapping[str, Mapping[str, float | None]]:
        """The value of each claim in each of ``others``, by its id."""
        others = {name: other.measured() for name, other in self.others.items()}
        return {
            identity: {name: measured.get(identity) for name, measured in others.items()}
            for identity in self.measured()
        }

    def claims_table(self) -> pa.Table:
        """All judgements, one a row."""
        others = self.measured_by_others()
        rows = [
            {
                "experiment": r.experiment.id,
                **j.as_json(),
                **others[j.claim.id],
                "reported": str(j.claim.reported),
                "text": j.claim.text,
            }
            for r in self.results
            for j in r.judgements
        ]
        return pa.Table.from_pylist(rows)


class ExperimentInProgress(CaseInProgress):
    """An experiment in progress, with the samples that its figures and tables need too."""

    case: Experiment

    def __init__(
        self, experiment: Experiment, seed: int | None, engine: Engine, rest: Engine | None = None
    ) -> None:
        super().__init__(experiment, seed, _engine.Files(trusted=experiment.trusted))
        self.case = experiment
        with as_mistakes(f"{experiment.file.name}, figures"):
            self.figures = figures.figures(experiment)
            for figure in self.figures:
                figure.check()  # reads all of it before anything is run
        with as_mistakes(f"{experiment.file.name}, tables"):
            self.tables = tables(experiment)
        counted = (one for one in experiment.claims if not (one.trivial or one.cited or one.informative))
        self.counted = {condition for claim in counted for condition in self.needs[claim.id]}
        """The conditions that claims need which count."""
        shown: list[figures.PaperFigure | PaperTable] = [*self.figures, *self.tables]
        for demand in (demand for one in shown for demand in one.demands()):
            self.samples.want(*demand)
        self.engines: dict[_engine.Plan, Engine] = {}
        """The engine of each plan."""
        self.refused: dict[str, None] = {}
        self.replaced: set[Condition] = set()
        """The conditions that ``rest`` runs."""
        for condition in self.samples.conditions():
            self._choose(condition, engine, rest)

    def _choose(self, condition: Condition, engine: Engine, rest: Engine | None) -> None:
        """Plans a condition for ``engine``, or for ``rest`` if that refuses it.

        Raises CaseError if the simulator refuses it too. The simulator makes all runs, except if a controller
        exists on another engine alone.
        """
        plan = self._plan(condition)
        try:
            engine.check(plan)
        except _engine.ScenarioError as refusal:
            flows = self.case.setup(condition[0]).scenario["flows"]
            try:
                if not any(
                    flow.get("cc") in kind.own for kind in registry.ENGINES.values() for flow in flows
                ):
                    Simulator().check(plan)
            except _engine.ScenarioError as error:
                file = self.case.file.name
                raise CaseError(f"{file}, run {condition[0]}: {error}") from error
            self.refused[str(refusal)] = None
            if rest is None:
                return
            self.replaced.add(condition)
            engine = rest
        self.plans[condition] = plan
        self.engines[plan] = engine

    def _plan(self, condition: Condition) -> _engine.Plan:
        setup, _ = condition
        # Controllers and traces are in the experiment's folder.
        file = os.fspath(self.case.file)
        try:
            # Named by paper and run alone, so that experiments with a run in common share it.
            return self.resolved(condition, f"{self.case.paper}/{setup}", file)
        except _engine.ScenarioError as error:
            why = str(error).removeprefix(f"{file}: ")
            raise CaseError(f"{self.case.file.name}, run {setup}: {why}") from error

    def count(self, condition: Condition) -> int:
        """The number of repetitions of a condition."""
        most = super().count(condition)
        return most if condition in self.counted else min(most, self.case.drawn_repetitions)

    @cached_property
    def total(self) -> int:
        """The number of its runs."""
        return sum(map(self.count, self.plans))

    def result(self) -> Result:
        """The result, of all runs that will be made."""
        return self._shown(self.judgements())

    def so_far(self) -> Result:
        """The result of an interrupted batch: judged by finished runs alone, as models take their time."""
        if self.done == 0:
            return Result(self.case, [], [], [], self.done, self.total, self.seconds)
        judgements = [
            self.judgement(claim, measures)
            if self.needs[claim.id]
            else Judgement(claim, None, NOT_JUDGED, "interrupted before it was worked out")
            for claim, measures in self.claims
        ]
        return self._shown(judgements)

    def _shown(self, judgements: list[Judgement]) -> Result:
        """The result with figures and tables."""
        drawn = [DrawnFigure(figure, figure.panels(self.samples)) for figure in self.figures]
        filled = [
            FilledTable(table, table.rows(self.samples), table.values(self.samples)) for table in self.tables
        ]
        return Result(self.case, judgements, drawn, filled, self.done, self.total, self.seconds)

    def judgement(self, claim: Claim, measures: Measures) -> Judgement:
        """The judgement on a claim, which is not judged if ``rest`` makes all of its runs."""
        needs = self.needs[claim.id]
        if needs and needs <= self.replaced:
            return Judgement(claim, None, NOT_JUDGED, "the engine makes none of its runs")
        return super().judgement(claim, measures)

    def scenarios(self) -> Iterator[dict[str, Any]]:
        """Each condition with its seeds and its resolved scenario."""
        for (setup, point), plan in self.plans.items():
            yield {
                "experiment": self.case.id,
                "run": setup,
                "point": dict(point),
                "seeds": [self.base + r for r in range(self.count((setup, point)))],
                "scenario": json.loads(plan.resolved),
            }


def reproduce(
    experiments: Sequence[Experiment],
    *,
    engine: Engine | None = None,
    rest: Engine | None = None,
    seed: int | None = None,
    progress: Progress | None = None,
    finished: Callable[[Result], None] | None = None,
) -> Reproduction:
    """Runs the experiments in one batch, simulated unless another engine is given, and judges their claims.

    ``seed`` replaces the seed of the files. Repetition r of an experiment runs with seed + r. Interrupted by
    Ctrl-C, it judges the finished runs. Runs that several experiments share are made once. ``rest`` makes the
    runs that the engine refuses. Without it they are left out. A claim whose runs ``rest`` makes all has no
    value.

    ``finished`` gets the result of each experiment as soon as its last run has ended.
    """
    engine = registry.make(registry.DEFAULT) if engine is None else engine
    works = [ExperimentInProgress(experiment, seed, engine, rest) for experiment in experiments]
    engines = ByPlan({plan: one for work in works for plan, one in work.engines.items()})
    interrupted = False
    invalid: dict[str, None] = {}
    results: dict[ExperimentInProgress, Result] = {}
    try:
        for (work, condition), repetition, run in repetitions.results(
            longest_first(works), engines, progress
        ):
            work.add(condition, repetition, run)
            if work.done == work.total:
                results[work] = work.result()
                if finished is not None:
                    finished(results[work])
            if not run.valid:
                reasons = "; ".join(run.engine["reasons"])
                invalid[f"{run.scenario['name']}, seed {run.seed}: {reasons}"] = None
    except KeyboardInterrupt:
        interrupted = True
    return Reproduction(
        [results.get(work) or (work.so_far() if interrupted else work.result()) for work in works],
        seed,
        interrupted,
        [scenario for work in works for scenario in work.scenarios()],
        list(dict.fromkeys(sentence for work in works for sentence in work.refused)),
        any(work.replaced for work in works),
        list(invalid),
    )
