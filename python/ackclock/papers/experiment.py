"""The data of papers and suites: their experiments, each a case with figures and tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from ackclock.cases.document import merged
from ackclock.cases.model import Case
from ackclock.papers.readings import Reading
from ackclock.repetitions import MOST_REPETITIONS


@dataclass(frozen=True, kw_only=True)
class Experiment(Case):
    """One figure or table of a paper, with everything needed to repeat it."""

    paper: str
    """The id of its paper."""
    section: str
    kind: str
    status: str
    shows: str
    assumed: tuple[str, ...]
    """Scenario keys without a value in the paper."""
    figures: tuple[Mapping[str, Any], ...]
    tables: tuple[Mapping[str, Any], ...]
    quick_repetitions: int
    quick_sweep: Mapping[str, tuple[str, ...]]
    quick_scenario: Mapping[str, Any] = field(default_factory=dict)
    """The scenario that ``--quick`` lays over each run's."""
    quick_members: int = 0
    """The number of members of each variation that ``--quick`` runs, or 0 for all."""
    trusted: bool = True
    """The code that its scenarios name may run."""
    drawn_repetitions: int = MOST_REPETITIONS
    """The most repetitions of a run that only trivial claims, figures and tables need."""

    def under(self, reading: Reading) -> Experiment | None:
        """The experiment under a reading, its claims alone, or None if the reading does not change it."""
        claims = tuple(replace(claim, measure=reading.measure(claim.measure)) for claim in self.claims)
        changed = replace(self.with_scenarios(reading.scenario), claims=claims)
        if changed == self or not reading.concerns(self.id.removeprefix(f"{self.paper}-")):
            return None
        return replace(changed, id=f"{self.id}, {reading.name}", figures=(), tables=())

    def reduced(self) -> Experiment:
        """The experiment as ``--quick`` runs it: fewer repetitions and points, the same bands.

        One that runs other scenarios, or fewer members of its variations, says so in its title. Claims that
        only the whole form can judge are not measured.
        """
        other = self.quick_scenario or self.quick_members
        return replace(
            self.with_scenarios(partial(merged, over=self.quick_scenario)),
            title=f"{self.title} (reduced)" if other else self.title,
            repetitions=self.quick_repetitions,
            sweep={**self.sweep, **self.quick_sweep},
            variations={name: one.first(self.quick_members) for name, one in self.variations.items()},
            claims=tuple(replace(one, measure=None) if one.whole_only else one for one in self.claims),
        )


@dataclass(frozen=True)
class Paper:
    """A paper and its experiments, in the order of its figures."""

    id: str
    title: str
    authors: str
    year: int
    venue: str
    experiments: tuple[Experiment, ...]
    readings: tuple[Reading, ...] = ()
    """Other choices where the paper leaves one open."""
