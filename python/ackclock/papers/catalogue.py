"""The catalogue: reads the files of every paper and refuses mistakes of format."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ackclock.cases.document import CaseError, TomlTable, merged, read_toml
from ackclock.cases.model import Setup
from ackclock.cases.reading import claims, sweep
from ackclock.cases.variations import REPETITIONS, variations
from ackclock.errors import did_you_mean
from ackclock.papers.experiment import Experiment, Paper
from ackclock.papers.functions import measures_files, measures_of
from ackclock.papers.readings import readings
from ackclock.repetitions import MOST_REPETITIONS
from ackclock.trust import sentence

DATA = Path(__file__).parent / "data"
"""The folder of the papers."""

SUITES = Path(__file__).parent / "suites"
"""The folder of the suites: test sets of working groups and others, in the form of papers."""

WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
"""The form of the ids of experiments and the names of figures and tables, which name files."""
_NO_WORD = "must be a word of letters, digits, `.`, `_`, `-`"


def _setups(table: TomlTable, scenario: Mapping[str, Any]) -> tuple[Setup, ...]:
    runs = table.tables("runs")
    if not runs:
        return (Setup("main", dict(scenario)),)
    setups = []
    for number, run in enumerate(runs):
        one = TomlTable(run, f"{table.where}, runs.{number}")
        setups.append(Setup(one.take("name", str), merged(scenario, one.take("scenario", dict, {}))))
        one.done()
    if len({s.name for s in setups}) < len(setups):
        raise CaseError(f"{table.where}: two runs have the same name")
    return tuple(setups)


def read_experiment(
    path: Path, paper: str, measures: Mapping[str, Callable[..., Any]] | None = None
) -> Experiment:
    """Reads one experiment file. ``measures`` are the functions of the paper's own."""
    table = TomlTable(_with_runs_of_another(read_toml(path), path), path.name)
    scenario = table.take("scenario", dict, {})
    swept = sweep(table)
    repetitions = table.take("repetitions", int, 1)
    quick = TomlTable(table.take("quick", dict, {}), f"{path.name}, quick")
    quick_sweep = sweep(quick)
    setups = _setups(table, scenario)
    if stray := set(quick_sweep) - set(swept):
        raise CaseError(f"{quick.where}: sweep.{min(stray)} is not a key of the sweep")
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
        sweep=swept,
        repetitions=repetitions,
        seed=table.take("seed", int, 1),
        figures=tuple(table.tables("figures")),
        tables=tuple(table.tables("tables")),
        claims=claims(table),
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
            raise CaseError(f"{path.name}, claim {claim.id}: over = `{claim.over}` is none of {known}")
    return experiment


RUNS = ("scenario", "runs", "sweep", "repetitions", "drawn_repetitions", "seed", "variations", "quick")
"""The keys of a file that describe its runs."""


def _with_runs_of_another(document: dict[str, Any], path: Path) -> dict[str, Any]:
    """Fills in the runs of the experiment that ``same_runs_as`` names."""
    if "same_runs_as" not in document:
        return document
    name = document.pop("same_runs_as")
    if own := sorted(set(document) & set(RUNS)):
        raise CaseError(f"{path.name}: `{own[0]}` may not stand beside `same_runs_as`")
    if not isinstance(name, str) or not WORD.fullmatch(name):
        raise CaseError(f"{path.name}: same_runs_as = {name!r} {_NO_WORD}")
    other = read_toml(path.with_name(f"{name}.toml"))
    if "same_runs_as" in other:
        raise CaseError(f"{path.name}: `{name}` itself has the runs of another experiment")
    return document | {key: other[key] for key in RUNS if key in other}


def _check_size(experiment: Experiment) -> None:
    """Refuses fewer than one repetition, and more than could be run."""
    where = experiment.file.name
    for repetitions in (experiment.repetitions, experiment.quick_repetitions, experiment.drawn_repetitions):
        if not 1 <= repetitions <= MOST_REPETITIONS:
            raise CaseError(f"{where}: repetitions = {repetitions}: from 1 to {MOST_REPETITIONS} are allowed")


def _check_names(experiment: Experiment) -> None:
    """Refuses a name used twice, and one that is not a word: its file could leave the report's folder."""
    where = experiment.file.name
    if not WORD.fullmatch(experiment.id):
        raise CaseError(f"{where}: id = {experiment.id!r} {_NO_WORD}")
    shown = [one.get("name", "") for one in experiment.figures + experiment.tables]
    for name in shown:
        if name != "" and not (isinstance(name, str) and WORD.fullmatch(name)):
            raise CaseError(f"{where}: the name {name!r} of a figure or table {_NO_WORD}")
    if len(set(shown)) < len(shown):
        raise CaseError(f"{where}: two figures or tables have the same `name`")
    claims = [claim.id for claim in experiment.claims]
    if twice := [one for one in claims if claims.count(one) > 1]:
        raise CaseError(f"{where}: two claims have the id `{twice[0]}`")


def read_paper(folder: Path, code: bool = True) -> Paper:
    """Reads ``paper.toml`` and the experiments it names from a folder, with the ``code`` in it or without."""
    table = TomlTable(read_toml(folder / "paper.toml"), f"{folder.name}/paper.toml")
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
    """The papers in the folders of ``folder``, by year. The default is ackclock's own papers.

    A folder is a paper if it has a ``paper.toml``. Raises CaseError for one that cannot be read.
    """
    papers = [read_paper(file.parent, code) for file in sorted(folder.glob("*/paper.toml"))]
    return tuple(sorted(papers, key=lambda paper: (paper.year, paper.id)))


def own(
    place: Path, *, trust: bool = False, listing: bool = False
) -> tuple[tuple[Paper, ...], list[Experiment]]:
    """Papers of your own with their experiments: a folder with ``paper.toml``, or a folder of such folders.

    A file is one experiment without its paper. Raises CaseError where there is none, and for code in the
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
            raise CaseError(
                f"{place}: has no paper.toml, and no folders with one (`ackclock new paper NAME`)"
            )
        experiments = select(papers, [])
    for experiment in experiments:
        folder = experiment.file.parent
        refusal = sentence(place, [str(file.relative_to(folder)) for file in measures_files(folder)])
        if refusal is not None and not (trust or listing):
            raise CaseError(refusal)
    return papers, [replace(experiment, trusted=trust) for experiment in experiments]


def select(papers: Sequence[Paper], wanted: Sequence[str]) -> list[Experiment]:
    """The experiments that ``wanted`` names by their ids or by their paper's, or all if it is empty."""
    every = [experiment for paper in papers for experiment in paper.experiments]
    if not wanted:
        return every
    known = {e.id: [e] for e in every} | {p.id: list(p.experiments) for p in papers}
    chosen: dict[str, Experiment] = {}
    for name in wanted:
        if name not in known:
            if not known:
                raise CaseError(f"there is no experiment `{name}`: the catalogue is empty")
            meant = did_you_mean(name, known)
            raise CaseError(f"there is no experiment `{name}`{meant} (`ackclock reproduce --list` shows all)")
        chosen.update({experiment.id: experiment for experiment in known[name]})
    return list(chosen.values())
