"""The catalogue: reads the files of every paper and refuses what the format does not allow."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from string import Formatter
from typing import Any

from ackclock.errors import did_you_mean
from ackclock.papers.document import CatalogueError, Table, merged, read_toml
from ackclock.papers.functions import measures_files, measures_of
from ackclock.papers.readings import Reading, readings
from ackclock.papers.variations import REPETITIONS, Variation, variations
from ackclock.repetitions import MOST_REPETITIONS
from ackclock.trust import sentence

DATA = Path(__file__).parent / "data"
"""The folder of the papers."""

SUITES = Path(__file__).parent / "suites"
"""The folder of the suites: test sets of working groups and others, in the form of papers."""

Point = tuple[tuple[str, str], ...]
"""One point of a sweep: scenario keys and their values, spelled as after ``--set``."""

JUDGED_KINDS = ("reported-number", "ratio", "ordering", "shape")
WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
"""The form of the ids of experiments and the names of figures and tables, which name files."""
MOST_POINTS = 10_000
"""The largest number of points of a sweep."""
_NO_WORD = "must be a word of letters, digits, `.`, `_`, `-`"


@dataclass(frozen=True)
class Claim:
    """One statement of a paper about an experiment, and its measure."""

    id: str
    kind: str
    text: str
    reported: float | str
    unit: str
    low: float
    high: float
    source: str
    tolerance: str
    measure: Any
    """The expression that measures it (``ackclock.papers.expressions``), or None."""
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
    """One configuration of an experiment: a panel or a case of a figure."""

    name: str
    scenario: Mapping[str, Any]
    """The scenario document, as a scenario file would have it."""


@dataclass(frozen=True)
class Experiment:
    """One figure or table of a paper, with everything needed to repeat it."""

    id: str
    paper: str
    file: Path
    title: str
    section: str
    kind: str
    status: str
    shows: str
    assumed: tuple[str, ...]
    """Scenario keys without a value in the paper."""
    setups: tuple[Setup, ...]
    sweep: Mapping[str, tuple[str, ...]]
    repetitions: int
    seed: int
    figures: tuple[Mapping[str, Any], ...]
    tables: tuple[Mapping[str, Any], ...]
    claims: tuple[Claim, ...]
    quick_repetitions: int
    quick_sweep: Mapping[str, tuple[str, ...]]
    quick_scenario: Mapping[str, Any] = field(default_factory=dict)
    """The scenario that ``--quick`` lays over that of each run."""
    quick_members: int = 0
    """The number of members of each variation that ``--quick`` runs; 0 for all."""
    measures: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    """The functions of the paper's own ``measures.py``, by name."""
    trusted: bool = True
    """The code that its scenarios name may run."""
    variations: Mapping[str, Variation] = field(default_factory=dict)
    """The sets of runs of claims, by name."""
    drawn_repetitions: int = MOST_REPETITIONS
    """The most repetitions of a run that only trivial claims, figures and tables need."""

    def setup(self, name: str) -> Setup:
        """The configuration of that name."""
        for one in self.setups:
            if one.name == name:
                return one
        known = ", ".join(s.name for s in self.setups)
        raise CatalogueError(f"{self.file.name}: there is no run `{name}` (there are {known})")

    def under(self, reading: Reading) -> Experiment | None:
        """The experiment under a reading, its claims alone; None if the reading does not change it."""
        setups = tuple(replace(setup, scenario=reading.scenario(setup.scenario)) for setup in self.setups)
        claims = tuple(replace(claim, measure=reading.measure(claim.measure)) for claim in self.claims)
        changed = replace(
            self, id=f"{self.id}, {reading.name}", setups=setups, claims=claims, figures=(), tables=()
        )
        is_same = (setups, claims) == (self.setups, self.claims)
        return changed if reading.concerns(self.id.removeprefix(f"{self.paper}-")) and not is_same else None

    def points(self) -> Iterator[Point]:
        """The points of the sweep, in the order of the file; a single empty one where nothing is swept."""
        keys = list(self.sweep)
        for values in itertools.product(*(self.sweep[key] for key in keys)):
            yield tuple(zip(keys, values, strict=True))

    def reduced(self) -> Experiment:
        """The experiment as ``--quick`` runs it: fewer repetitions and points, the same bands.

        One that runs other scenarios, or fewer members of its variations, says so in its title. Claims that
        only the whole form can judge are not measured.
        """
        other = self.quick_scenario or self.quick_members
        return replace(
            self,
            title=f"{self.title} (reduced)" if other else self.title,
            repetitions=self.quick_repetitions,
            sweep={**self.sweep, **self.quick_sweep},
            setups=tuple(Setup(one.name, merged(one.scenario, self.quick_scenario)) for one in self.setups),
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


def _setups(table: Table, scenario: Mapping[str, Any]) -> tuple[Setup, ...]:
    runs = table.tables("runs")
    if not runs:
        return (Setup("main", dict(scenario)),)
    setups = []
    for number, run in enumerate(runs):
        one = Table(run, f"{table.where}, runs.{number}")
        setups.append(Setup(one.take("name", str), merged(scenario, one.take("scenario", dict, {}))))
        one.done()
    if len({s.name for s in setups}) < len(setups):
        raise CatalogueError(f"{table.where}: two runs have the same name")
    return tuple(setups)


def _sweep(values: Mapping[str, Any], where: str) -> dict[str, tuple[str, ...]]:
    for key, points in values.items():
        if not isinstance(points, list) or not points or not all(isinstance(p, str) for p in points):
            raise CatalogueError(
                f"{where}: sweep.{key} must be a list of strings, as they would be written after --set"
            )
    return {key: tuple(points) for key, points in values.items()}


def _claim(values: Mapping[str, Any], where: str) -> Claim:
    table = Table(values, where)
    kind = table.take("kind", str)
    if kind not in JUDGED_KINDS:
        raise CatalogueError(f'{where}: kind = "{kind}" must be one of {", ".join(JUDGED_KINDS)}')
    number = (int, float)
    claim = Claim(
        id=table.take("id", str),
        kind=kind,
        text=table.take("text", str),
        reported=table.take("reported", (int, float, str)),
        unit=table.take("unit", str, "-"),
        low=float(table.take("low", number, -math.inf)),
        high=float(table.take("high", number, math.inf)),
        source=table.take("source", str),
        tolerance=table.take("tolerance", str, ""),
        measure=table.take("measure", (dict, list), None),
        cited=table.take("cited", bool, False),
        informative=table.take("informative", bool, False),
        hard=table.take("hard", bool, False),
        derived=table.take("derived", bool, False),
        note=table.take("note", str, ""),
        trivial=table.take("trivial", bool, False),
        fragile=table.take("fragile", bool, False),
        judged_over=table.take("judged_over", str, ""),
        over=table.take("over", str, ""),
        share=float(table.take("share", number, 0.5)),
        measured_as=table.take("measured_as", str, ""),
        why=table.take("why", str, ""),
        whole_only=table.take("whole_only", bool, False),
    )
    table.done()
    _check_bounds(claim, where)
    if claim.measure is None and not (claim.cited or claim.informative):
        raise CatalogueError(f"{where}: `measure` is missing (only cited and informative claims do without)")
    if claim.measure is None and claim.whole_only:
        raise CatalogueError(f"{where}: `whole_only` is for claims that have a `measure`")
    if claim.over and not claim.judged_over:
        raise CatalogueError(f"{where}: `over` needs `judged_over`, which says in words what it is")
    return claim


def _check_bounds(claim: Claim, where: str) -> None:
    """Refuses numbers of a claim that are not finite, and bands and shares that contain nothing."""
    for key in ("reported", "low", "high"):
        bound = getattr(claim, key)
        if isinstance(bound, float) and (math.isnan(bound) or (key == "reported" and math.isinf(bound))):
            raise CatalogueError(f"{where}: {key} = {bound!r} must be a number")
    if claim.low > claim.high:
        raise CatalogueError(f"{where}: low = {claim.low:g} is above high = {claim.high:g}")
    if not 0 < claim.share <= 1:
        raise CatalogueError(f"{where}: share = {claim.share:g} must be above 0 and at most 1")


def filled(tree: Any, values: Mapping[str, Any], where: str) -> Any:
    """A tree of TOML values in which every ``{name}`` of a text has become the value of that name."""
    if isinstance(tree, str):
        try:
            # A blank is a name alone; Python gives `{x.y}`, `{x[0]}` and `{x:>9}` further meanings.
            blanks = [
                f"{name}{form}{how or ''}"
                for _, name, form, how in Formatter().parse(tree)
                if name is not None
            ]
        except ValueError as error:
            known = ", ".join(values)
            raise CatalogueError(f"{where}: `{tree}` has a blank that is none of {known} ({error})") from None
        if any(blank not in values for blank in blanks):
            known = ", ".join(values)
            raise CatalogueError(f"{where}: `{tree}` has a blank that is none of {known}")
        return tree.format_map(values)
    if isinstance(tree, Mapping):
        return {key: filled(value, values, where) for key, value in tree.items()}
    if isinstance(tree, list):
        return [filled(value, values, where) for value in tree]
    return tree


def _family(values: Mapping[str, Any], where: str) -> Iterator[tuple[Mapping[str, Any], str]]:
    """The claims that one entry stands for: itself, or with ``columns`` and ``rows`` one for each row.

    A cell fills the blanks ``{column}`` in the texts of the entry and of its measure; a column that is called
    like a key of a claim (``reported``, ``low``, ``high``) gives the claim that key.
    """
    if "rows" not in values:
        yield values, where
        return
    own = {key: value for key, value in values.items() if key not in ("columns", "rows")}
    columns, rows = values.get("columns"), values["rows"]
    if not isinstance(columns, list) or not isinstance(rows, list) or not rows:
        raise CatalogueError(f"{where}: `columns` and `rows` must be lists, and there must be a row")
    if not all(isinstance(column, str) for column in columns):
        raise CatalogueError(f"{where}: `columns` must be names")
    if twice := set(columns) & set(own):
        raise CatalogueError(f"{where}: `{min(twice)}` is both a key and a column")
    for number, cells in enumerate(rows):
        place = f"{where}, row {number}"
        if not isinstance(cells, list) or len(cells) != len(columns):
            raise CatalogueError(f"{place}: must be a list of {len(columns)}, one for each of `columns`")
        row = dict(zip(columns, cells, strict=True))
        keys = {key: value for key, value in row.items() if key in _KEYS_OF_A_CLAIM}
        yield filled(own, row, place) | keys, place


_KEYS_OF_A_CLAIM = frozenset(field.name for field in fields(Claim))


def read_experiment(
    path: Path, paper: str, measures: Mapping[str, Callable[..., Any]] | None = None
) -> Experiment:
    """Reads one experiment file; ``measures`` are the functions of the paper's own."""
    table = Table(_with_runs_of_another(read_toml(path), path), path.name)
    scenario = table.take("scenario", dict, {})
    sweep = _sweep(table.take("sweep", dict, {}), path.name)
    repetitions = table.take("repetitions", int, 1)
    quick = Table(table.take("quick", dict, {}), f"{path.name}, quick")
    quick_sweep = _sweep(quick.take("sweep", dict, {}), quick.where)
    setups = _setups(table, scenario)
    if stray := set(quick_sweep) - set(sweep):
        raise CatalogueError(f"{quick.where}: sweep.{min(stray)} is not a key of the sweep")
    experiment = Experiment(
        id=table.take("id", str),
        paper=paper,
        file=path,
        title=table.take("title", str),
        section=table.take("section", str),
        kind=table.take("kind", str),
        status=table.take("status", str),
        shows=table.take("shows", str),
        assumed=tuple(table.take("assumed", list, [])),
        setups=setups,
        sweep=sweep,
        repetitions=repetitions,
        seed=table.take("seed", int, 1),
        figures=tuple(table.tables("figures")),
        tables=tuple(table.tables("tables")),
        claims=tuple(
            _claim(*one)
            for i, c in enumerate(table.tables("claims"))
            for one in _family(c, f"{path.name}, claims.{i}")
        ),
        quick_repetitions=quick.take("repetitions", int, repetitions),
        quick_sweep=quick_sweep,
        quick_scenario=quick.take("scenario", dict, {}),
        quick_members=quick.take("members", int, 0),
        measures=measures or {},
        variations=variations(table, [setup.name for setup in setups]),
        drawn_repetitions=table.take("drawn_repetitions", int, MOST_REPETITIONS),
    )
    quick.done()
    table.done()
    _check_size(experiment)
    _check_names(experiment)
    for claim in experiment.claims:
        if claim.over and claim.over not in (REPETITIONS, *experiment.variations):
            known = ", ".join((REPETITIONS, *experiment.variations))
            raise CatalogueError(f"{path.name}, claim {claim.id}: over = `{claim.over}` is none of {known}")
    return experiment


RUNS = ("scenario", "runs", "sweep", "repetitions", "drawn_repetitions", "seed", "variations", "quick")
"""The keys of a file that describe its runs."""


def _with_runs_of_another(document: dict[str, Any], path: Path) -> dict[str, Any]:
    """Fills in the runs of the experiment that ``same_runs_as`` names."""
    if "same_runs_as" not in document:
        return document
    name = document.pop("same_runs_as")
    if own := sorted(set(document) & set(RUNS)):
        raise CatalogueError(f"{path.name}: `{own[0]}` may not stand beside `same_runs_as`")
    if not isinstance(name, str) or not WORD.fullmatch(name):
        raise CatalogueError(f"{path.name}: same_runs_as = {name!r} {_NO_WORD}")
    other = read_toml(path.with_name(f"{name}.toml"))
    if "same_runs_as" in other:
        raise CatalogueError(f"{path.name}: `{name}` itself has the runs of another experiment")
    return document | {key: other[key] for key in RUNS if key in other}


def _check_size(experiment: Experiment) -> None:
    """Refuses fewer than one repetition, and more repetitions or points than could be run."""
    where = experiment.file.name
    for repetitions in (experiment.repetitions, experiment.quick_repetitions, experiment.drawn_repetitions):
        if not 1 <= repetitions <= MOST_REPETITIONS:
            raise CatalogueError(
                f"{where}: repetitions = {repetitions}: from 1 to {MOST_REPETITIONS} are allowed"
            )
    points = math.prod(map(len, experiment.sweep.values()))
    if points > MOST_POINTS:
        raise CatalogueError(f"{where}: the sweep has {points} points; at most {MOST_POINTS} are allowed")


def _check_names(experiment: Experiment) -> None:
    """Refuses a name used twice, and one that is not a word: its file could leave the report's folder."""
    where = experiment.file.name
    if not WORD.fullmatch(experiment.id):
        raise CatalogueError(f"{where}: id = {experiment.id!r} {_NO_WORD}")
    shown = [one.get("name", "") for one in experiment.figures + experiment.tables]
    for name in shown:
        if name != "" and not (isinstance(name, str) and WORD.fullmatch(name)):
            raise CatalogueError(f"{where}: the name {name!r} of a figure or table {_NO_WORD}")
    if len(set(shown)) < len(shown):
        raise CatalogueError(f"{where}: two figures or tables have the same `name`")
    claims = [claim.id for claim in experiment.claims]
    if twice := [one for one in claims if claims.count(one) > 1]:
        raise CatalogueError(f"{where}: two claims have the id `{twice[0]}`")


def read_paper(folder: Path, code: bool = True) -> Paper:
    """Reads ``paper.toml`` and the experiments it names from a folder, with the ``code`` in it or without."""
    table = Table(read_toml(folder / "paper.toml"), f"{folder.name}/paper.toml")
    names = table.take("experiments", list)
    measures = measures_of(folder) if code else {}
    paper = Paper(
        id=table.take("id", str),
        title=table.take("title", str),
        authors=table.take("authors", str),
        year=table.take("year", int),
        venue=table.take("venue", str),
        experiments=tuple(read_experiment(folder / f"{name}.toml", folder.name, measures) for name in names),
        readings=readings(table),
    )
    table.done()
    return paper


def catalogue(folder: Path = DATA, code: bool = True) -> tuple[Paper, ...]:
    """The papers in the folders of ``folder``, by year; by default those that ship with ackclock.

    A folder is a paper if it has a ``paper.toml``. Raises CatalogueError for one that cannot be read.
    """
    papers = [read_paper(file.parent, code) for file in sorted(folder.glob("*/paper.toml"))]
    return tuple(sorted(papers, key=lambda paper: (paper.year, paper.id)))


def own(
    place: Path, *, trust: bool = False, listing: bool = False
) -> tuple[tuple[Paper, ...], list[Experiment]]:
    """Papers of your own with their experiments: a folder with ``paper.toml``, or a folder of such folders.

    A file is one experiment without its paper. Raises CatalogueError where there is none, and for code in the
    folder without ``trust``. With ``listing`` the experiments are read, and no code runs.
    """
    run = trust and not listing
    if place.is_file():
        folder = place.resolve().parent
        experiments = [read_experiment(place, folder.name, measures_of(folder) if run else {})]
        papers: tuple[Paper, ...] = ()
    else:
        folder = place.resolve()
        single = (folder / "paper.toml").is_file()
        papers = (read_paper(folder, run),) if single else catalogue(folder, run)
        if not papers:
            raise CatalogueError(
                f"{place}: has no paper.toml, and no folders with one (`ackclock new paper NAME`)"
            )
        experiments = select(papers, [])
    for experiment in experiments:
        folder = experiment.file.parent
        refusal = sentence(place, [str(file.relative_to(folder)) for file in measures_files(folder)])
        if refusal is not None and not (trust or listing):
            raise CatalogueError(refusal)
    return papers, [replace(experiment, trusted=trust) for experiment in experiments]


def select(papers: Sequence[Paper], wanted: Sequence[str]) -> list[Experiment]:
    """The experiments that ``wanted`` names by their ids or that of their paper; all if it is empty."""
    every = [experiment for paper in papers for experiment in paper.experiments]
    if not wanted:
        return every
    known = {e.id: [e] for e in every} | {p.id: list(p.experiments) for p in papers}
    chosen: dict[str, Experiment] = {}
    for name in wanted:
        if name not in known:
            if not known:
                raise CatalogueError(f"there is no experiment `{name}`: the catalogue is empty")
            meant = did_you_mean(name, known)
            raise CatalogueError(
                f"there is no experiment `{name}`{meant} (`ackclock reproduce --list` shows all)"
            )
        chosen.update({experiment.id: experiment for experiment in known[name]})
    return list(chosen.values())
