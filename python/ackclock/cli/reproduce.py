"""``ackclock reproduce``: the experiments of the papers, and of the suites."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.table import Column, Table
from rich.text import Text

from ackclock import repetitions
from ackclock.cli import archive, completing, output
from ackclock.cli.command import FILE, Argument, Number, Option, command, flag
from ackclock.cli.engine import Chosen, engine_beside_simulator
from ackclock.cli.interrupts import Interrupts
from ackclock.cli.options import JUNIT, SEED, TRUST, report_options
from ackclock.cli.output import Report, say
from ackclock.engines import Engine, NamedEngine
from ackclock.errors import InputError
from ackclock.report import check_folder, junit, new_folder, page_of
from ackclock.report import number as shown

if TYPE_CHECKING:
    from ackclock import papers
    from ackclock.papers.reproduction import Result

CLAIM_FAILED = 1
MOST_SHAKES = 100


@command(
    Argument(
        "ids",
        nargs=-1,
        metavar="[ID|DIR|ZIP…]",
        help="Experiments, papers, suites, or folders of your own; default: all papers. Or an archive of "
        "results, whose runs are repeated and compared.",
        completes=completing.experiments,
    ),
    flag("--list", "listing", help="List the experiments and leave."),
    flag("--quick", heading="Runs", help="Fewer repetitions and points; the same bands."),
    SEED,
    Option(
        "--shake",
        heading="Runs",
        type=Number(0, MOST_SHAKES),
        default=0,
        metavar="N",
        help="Repeat everything N times with slightly other seeds, starts and base RTTs; shows how often "
        "each claim holds.",
    ),
    flag(
        "--readings",
        heading="Runs",
        help="Judge the claims under every reading that the paper leaves open; shows how near each is.",
    ),
    TRUST,
    engine_beside_simulator(without=("gso_max_segs", "qlog")),
    flag(
        "--simulate-refused",
        "rest",
        heading="Engine",
        help="Simulate the runs that the other engine refuses; claims compare them with its own.",
    ),
    report_options(
        "pdf",
        "svg",
        out=Option(
            "--out",
            heading="Output",
            type=FILE,
            metavar="DIR",
            help="Folder of the report; default: reports/reproduce-TIME.",
        ),
    ),
    Option(
        "--measurements",
        heading="Output",
        type=FILE,
        metavar="FILE",
        help="Write what the claims measure into FILE, as pages publish it.",
    ),
    JUNIT,
    flag("-v", "--verbose", heading="Output", help="Show the ids of the claims."),
)
def reproduce(
    ids: Sequence[str],
    listing: bool,
    quick: bool,
    seed: int | None,
    shake: int,
    readings: bool,
    trusted: bool,
    engines: tuple[Chosen, Chosen],
    rest: bool,
    report: Report,
    measurements: Path | None,
    junit_file: Path | None,
    verbose: bool,
) -> None:
    """Repeat experiments of papers and suites: reported beside measured, with the figures.

    Suites are test sets of others, judged in the same way: `l4s`, `ccwg-bbr`, `ccwg-c4`, `rmcat`,
    `bbr-sharing`; `further` asks what the papers leave open.
    A folder of your own is written `./my-paper`. `ackclock new paper` makes one. The exit status is 1 when a
    claim misses its band, or a run of an archive comes out otherwise. Examples:
    `ackclock reproduce cdg2011-fig4 --quick`, `ackclock reproduce results.zip`
    """
    if archives := [name for name in ids if archive.is_archive(Path(name))]:
        if len(ids) > 1:
            raise InputError(f"{' '.join(ids)}: {archives[0]} is repeated alone")
        archive.repeat(Path(archives[0]), trusted, report, junit_file)
        return
    engine, simulator = engines
    other = engine if engine.name != simulator.name else None
    _check(other, shake, readings, rest)
    formats = report.formats
    simulated = simulator.make()
    catalogue, chosen = _chosen(ids, trusted, listing)
    if listing:
        _list(chosen, report.as_json)
        return
    if quick:
        chosen = [experiment.reduced() for experiment in chosen]
    for experiment in chosen:
        repetitions.seeds(experiment.seed if seed is None else seed, experiment.repetitions)
    flags = {"--quick": quick, "--readings": readings, f"--shake {shake}": shake, "--simulate-refused": rest}
    options = _options(flags | {f"--seed {seed}": seed is not None}, other)
    if measurements is not None:
        from ackclock.papers import published

        published.published(measurements, options)  # refuses a file of other options before anything runs
    folder = report.out or Path("reports") / f"reproduce-{datetime.now():%Y%m%d-%H%M%S}"
    if other is not None:
        settings = {"experiments": [one.id for one in chosen], "quick": quick, "seed": seed}
        runner = other.make()
        with output.cached(runner, folder, settings, report.force) as (cached, work):
            done = _with_another(chosen, catalogue, seed, simulated, (runner, cached, rest), work, formats)
        output.show(_table(done, verbose), as_json=report.as_json)
    else:
        check_folder(folder, report.force)
        done = _simulated(chosen, seed, simulated, catalogue if readings else ())
        _shake(done, chosen, seed, simulated, shake)
        answer = [_table(done, verbose), *([_closeness(done)] if readings else [])]
        finish = output.show_early(*answer, as_json=report.as_json)
        if done.begun:
            _report(done, catalogue, folder, report.force, formats)
        finish()
    if measurements is not None and not any(one.interrupted for one in (done, *done.others.values())):
        published.write(measurements, done, options)
    if other is not None or done.begun:
        report.done(folder)
    for judgement in done.missed:
        if judgement.reason:
            claim = judgement.claim.id if verbose else f"“{judgement.claim.text}”"
            line = f"{claim} misses: {judgement.reason}"
            say(line, highlight=False)
    if report.as_json:
        output.print_json(done.as_json())
    if junit_file is not None:
        junit.write(junit_file, "ackclock reproduce", _cases(done))
    _end(done, folder if other is not None and report.out else None)


def _chosen(
    names: Sequence[str], trust: bool, listing: bool
) -> tuple[tuple[papers.Paper, ...], list[papers.Experiment]]:
    """The known papers and the folders among ``names``, and the experiments that are named.

    Without a name these are the experiments of all papers. A ``listing`` has the suites too.
    """
    from ackclock import papers

    folders = [name for name in names if "/" in name or name in (".", "..")]
    known = [name for name in names if name not in folders]
    catalogue = papers.catalogue() if known or not folders else ()
    if known or (listing and not folders):
        catalogue += papers.catalogue(papers.SUITES)
    if meant := [name for name in known if Path(name, "paper.toml").is_file()]:
        raise InputError(f"{meant[0]}: write ./{meant[0]} for the folder")
    chosen = papers.select(catalogue, known) if known or not folders else []
    for folder in folders:
        if not Path(folder).exists():
            raise InputError(f"{folder}: there is no such folder or file")
        more, experiments = papers.own(Path(folder), trust=trust, listing=listing)
        catalogue += more
        chosen += experiments
    ids = [experiment.id for experiment in chosen]
    if twice := [one for one in ids if ids.count(one) > 1]:
        raise InputError(f"{' '.join(names)}: two experiments have the id `{twice[0]}`")
    return catalogue, chosen


def _cases(done: papers.Reproduction) -> list[junit.Entry]:
    """An entry for each claim: a claim that is not judged was skipped.

    The first of an experiment has its time.
    """
    cases = []
    for result in done.results:
        for one in result.judgements:
            claim, why = one.claim, one.word
            if one.verdict == "miss":
                why = f"{claim.text}: measured {shown(one.measured)}, allowed is {one.allowed}"
            why = f"{why}: {one.reason}" if one.reason else why
            cases.append(junit.Entry(result.experiment.id, claim.id, one.verdict, why, one.seconds))
    return cases


def _end(done: papers.Reproduction, resumable: Path | None) -> None:
    """Leaves with the status of an interruption or of a missed claim, if there was one."""
    if any(one.interrupted for one in (done, *done.others.values())):
        continues = f"; the same command continues with the runs in {resumable}" if resumable else ""
        output.leave_interrupted(f"interrupted: judged on what had finished{continues}")
    if done.missed:
        raise click.exceptions.Exit(CLAIM_FAILED)


def _with_another(
    chosen: list[papers.Experiment],
    catalogue: tuple[papers.Paper, ...],
    seed: int | None,
    simulated: Engine,
    another: tuple[NamedEngine, Engine, bool],
    work: Path,
    formats: Sequence[str],
) -> papers.Reproduction:
    """The experiments simulated, simulated with the endpoints of another engine, and on that engine.

    The second of ``another`` caches its runs. If the third is True, refused experiments are simulated. The
    report grows meanwhile.
    """
    from ackclock.papers.live import with_stack

    engine, cached, rest = another
    done = _simulated(chosen, seed, simulated)
    if not (work / "index.html").exists():
        _write(done, catalogue, work, formats)
    if done.interrupted:
        return done
    if engine.stack is not None:
        chosen = [with_stack(one, engine.stack) for one in chosen]
        done.others[engine.stack] = _simulated(chosen, seed, simulated)
    if not any(one.interrupted for one in done.others.values()):
        done.others[engine.name] = _on_another(chosen, seed, engine.name, cached, simulated if rest else None)
    _write(done, catalogue, work, formats)
    return done


def _report(
    done: papers.Reproduction,
    catalogue: tuple[papers.Paper, ...],
    folder: Path,
    force: bool,
    formats: Sequence[str],
) -> None:
    """Writes the report into a new folder; an interruption leaves its figures out."""
    with Interrupts() as interrupts, new_folder(folder, force) as work:
        with interrupts.stoppable():
            interrupts.check()
            with page_of(work, "Experiments reproduced"):
                _write(done, catalogue, work, formats)
            output.record(work)
        if interrupts.asked:
            done.interrupted = True
            _write(done, catalogue, work, formats)


def _write(
    done: papers.Reproduction, catalogue: tuple[papers.Paper, ...], folder: Path, formats: Sequence[str]
) -> None:
    from ackclock.papers import page

    for sentence in page.write(done, catalogue, folder, formats):
        say(f"warning: {sentence}")


def _options(flags: dict[str, Any], other: Chosen | None) -> list[str]:
    """The options of the command that change values."""
    engine = {} if other is None else {other.spelled: True}
    given = [flag for flag, value in (engine | flags).items() if value]
    return [option for flag in given for option in flag.split()]


def _check(other: Chosen | None, shake: int, readings: bool, rest: bool) -> None:
    """Refuses options that exclude each other, or are without effect."""
    if rest and other is None:
        raise InputError("--simulate-refused: needs an engine that refuses runs, such as --engine uml")
    if other is not None and (shake or readings):
        raise InputError(f"{'--shake' if shake else '--readings'}: cannot be combined with {other.spelled}")
    if shake and readings:
        raise InputError("--readings: cannot be combined with --shake")


def _simulated(
    chosen: list[papers.Experiment],
    seed: int | None,
    simulated: Engine,
    with_readings_of: Sequence[papers.Paper] = (),
) -> papers.Reproduction:
    """The experiments simulated, with those that a reading changes for the papers named."""
    from ackclock.papers.closeness import under_readings

    named = {experiment.paper for experiment in chosen}
    if with_readings_of and not any(paper.readings for paper in with_readings_of if paper.id in named):
        raise InputError("--readings: none of these papers lists `[[readings]]` in its paper.toml")

    def finished(result: Result) -> None:
        if len(chosen) > 1:
            say(result.line)

    with output.progress(f"{len(chosen)} experiments" if len(chosen) > 1 else chosen[0].id) as at:
        return under_readings(
            with_readings_of, chosen, engine=simulated, seed=seed, progress=at, finished=finished
        )


def _shake(
    done: papers.Reproduction,
    chosen: list[papers.Experiment],
    seed: int | None,
    simulated: Engine,
    shakes: int,
) -> None:
    """Repeats the experiments that often, slightly changed, beside ``done``."""
    from ackclock.papers.perturbation import SEEDS, perturbed

    for number in range(1, shakes + 1):
        if done.interrupted:
            return
        # A given seed replaces the file's.
        first = None if seed is None else seed + SEEDS * number
        one = _simulated([perturbed(experiment, number) for experiment in chosen], first, simulated)
        if one.interrupted:
            done.interrupted = True
        else:
            done.perturbed.append(one)


def _on_another(
    chosen: list[papers.Experiment], seed: int | None, name: str, engine: Engine, rest: Engine | None
) -> papers.Reproduction:
    """The experiments on the engine called ``name``, as far as they run there. ``rest`` has the others."""
    from ackclock import papers

    with output.progress(name) as at:
        done = papers.reproduce(chosen, engine=engine, rest=rest, seed=seed, progress=at)
    how = "simulated" if done.replaced else f"not {name}"
    for sentence in done.refused:
        say(f"{how}: {sentence}")
    for sentence in done.invalid:
        say(f"warning: {name} run past its error budget: {sentence}")
    return done


def _list(chosen: list[papers.Experiment], as_json: bool) -> None:
    if as_json:
        listed = [
            {"id": e.id, "title": e.title, "section": e.section, "claims": len(e.claims)} for e in chosen
        ]
        output.print_json({"experiments": listed})
        return
    table = Table("experiment", "section", "claims", "title")
    for e in chosen:
        table.add_row(e.id, e.section, str(len(e.claims)), e.title)
    output.show(table, as_json=False)


def _closeness(done: papers.Reproduction) -> Table:
    """How near each reading comes, and below it the claims that depend on it."""
    from ackclock.papers.closeness import CLOSENESS, by_reading, closeness, depending, in_words

    judged = by_reading(
        [judgement for result in done.results for judgement in result.judgements], done.readings
    )
    table = Table(*CLOSENESS)
    for one in closeness(judged):
        table.add_row(*one.row())
    for name, found in depending(judged).items():
        line = f"{name} depends on the reading: {'; '.join(in_words(*one) for one in found)}"
        say(line, highlight=False)
    return table


COLOUR = {"pass": "green", "miss": "bold red"}
"""The colours of the verdicts that count. The others are dim."""


def _table(done: papers.Reproduction, verbose: bool) -> Table:
    """A row for each claim: its sentence, or its id."""
    from ackclock.papers import page

    headings = page.headings(done)
    left_out = ("what the paper says", "unit") if verbose else ("claim", "unit")
    shown = [heading for heading in headings if heading not in left_out]
    table = Table(*(Column(heading, overflow="fold") for heading in shown))
    for result in done.results:
        for row, judgement in zip(page.rows(result, done), result.judgements, strict=True):
            cells = dict(zip(headings, row, strict=True))
            cells["what the paper says"] = f"{judgement.claim.text} ({judgement.claim.source})"
            verdict = cells["verdict"]
            measured = "simulated" if done.others else "measured"
            if cells["unit"] != "-":
                cells[measured] += f" {cells['unit']}"
            colour = COLOUR.get(verdict, "dim")
            texts = [Text(cells[heading], colour if heading == "verdict" else "") for heading in shown]
            table.add_row(*texts)
        table.add_section()
    return table
