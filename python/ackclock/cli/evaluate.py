"""``ackclock evaluate``: the evidence that RFC 9743 asks for of a new controller."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.table import Table
from rich.text import Text

from ackclock.cli import completing, output
from ackclock.cli.command import FILE, Argument, Number, Option, command, flag, given
from ackclock.cli.engine import Chosen, engine_options
from ackclock.cli.interrupts import Interrupts
from ackclock.cli.options import JUNIT, SEED, report_options
from ackclock.cli.output import Report, say
from ackclock.cli.status import Interrupted
from ackclock.engines import registry
from ackclock.errors import InputError
from ackclock.report import junit, new_folder, page_of
from ackclock.verdict import NOT_JUDGED, Verdict

if TYPE_CHECKING:
    from ackclock import evaluation
    from ackclock.checks import Target
    from ackclock.evaluation.beside import Comparison

WORSE = 1

IN_JUNIT: dict[str, Verdict] = {"worse": "miss", "like": "pass", "better": "pass", "text": NOT_JUDGED}
"""The verdicts of a criterion, or of a measure, as JUnit has them."""

OF_DOCUMENTS = ("only", "long", "own", "second", "junit_file")
OF_SCORES = ("count", "tables")
SPELLED = {
    **{name: name for name in ("only", "long")},
    "own": "case",
    "second": "beside",
    "junit_file": "junit",
    "count": "paths",
    "tables": "over",
}
"""The options by their names on the command line."""

STYLES = {"worse": "bold red", "better": "green"}


@command(
    Argument(
        "targets",
        nargs=-1,
        required=True,
        metavar="TARGET…",
        help="`bbr1`, `'cdg(G=10ms)'`, `./mine.py:Mine`, `./mine.rs:Mine`, `./mine.bpf.c`, `noq:bbr3`.",
        completes=completing.controllers,
    ),
    Option(
        "--only",
        metavar="SECTION,…",
        help="Only these criteria: 5.1.3, 5.1 with all below it, or own for --case alone.",
    ),
    flag("--long", help="Three times as many seeds: narrower intervals."),
    Option(
        "--case",
        "own",
        type=FILE,
        multiple=True,
        metavar="FILE",
        help="A case of your own or of `check --hunt --cases`, too. Repeatable.",
    ),
    Option(
        "--beside",
        "second",
        metavar="FILE",
        help="A second version of TARGET, spelled as it is. Show what it makes better and worse.",
        completes=completing.controllers,
    ),
    flag(
        "--front",
        "scores",
        heading="Scores over drawn paths",
        help="Score every TARGET on drawn paths: use, delay, harm to CUBIC, own share, the worst tenth.",
    ),
    Option(
        "--paths",
        "count",
        heading="Scores over drawn paths",
        type=Number(2, 100_000),
        default=300,
        help="How many paths are drawn.",
    ),
    Option(
        "--over",
        "tables",
        heading="Scores over drawn paths",
        type=FILE,
        metavar="FILE",
        help="Kinds of paths with quantile tables, in place of those of suites/bcp133/paths.toml.",
    ),
    SEED,
    engine_options(without=("at_once", "retries", "gso_max_segs", "qlog")),
    report_options(),
    JUNIT,
)
def evaluate(
    targets: Sequence[str],
    only: str | None,
    long: bool,
    own: Sequence[Path],
    second: str | None,
    scores: bool,
    count: int,
    tables: Path | None,
    seed: int | None,
    engine: Chosen,
    report: Report,
    junit_file: Path | None,
) -> None:
    """Write the document that RFC 9743 asks for of a controller: each criterion beside NewReno and CUBIC.

    With `--beside` the exit status is 1 if the second version is worse than TARGET in a measure.
    With `--front`, score controllers over drawn paths.
    Example: `ackclock evaluate ./mine.py:Mine --out evaluated`
    """
    from ackclock import checks, evaluation
    from ackclock.evaluation import beside

    output.check_current_folder()
    report.check()
    for option in OF_DOCUMENTS if scores else OF_SCORES:
        if given(option):
            raise InputError(f"--{SPELLED[option]}: is {'of a document' if scores else 'for --front'}")
    first = 1 if seed is None else seed
    if scores:
        _score(targets, count, tables, first, engine, report)
        return
    if len(targets) > 1:
        raise InputError(f"{' '.join(targets)}: a document is about one TARGET; --front scores several")
    (target,) = targets
    wanted = [text.strip() for text in (only or "").split(",") if text.strip()]
    chosen = [] if own and wanted == [evaluation.OWN] else evaluation.choose(wanted)
    added = evaluation.added(own)
    versions = [checks.target(text) for text in ([target] if second is None else [target, second])]
    found: list[evaluation.Evaluation] = []
    with Interrupts() as interrupts:
        with interrupts.stoppable():
            interrupts.check()
            for version in versions:
                known = found[0].measures if found else None
                with output.progress(f"{len(chosen)} criteria for {version.name}") as at:
                    done = evaluation.evaluate(
                        chosen,
                        version,
                        _engine(engine, version),
                        first,
                        long=long,
                        known=known,
                        added=added,
                        progress=at,
                    )
                    is_default = engine.name == registry.DEFAULT and not engine.given
                    found.append(replace(done, engine="" if is_default else engine.text))
        if interrupts.asked:
            raise Interrupted
    if second is not None:
        _show_both(beside.Comparison(*found), report, junit_file)
        return
    _show(found[0], report, junit_file)


def _engine(engine: Chosen, version: Target) -> Any:
    kind = engine.instead(version.engine)
    factory = version.contender.factory
    return kind.make(**kind.with_python([] if factory is None else [factory]))


def _score(
    targets: Sequence[str], count: int, tables: Path | None, seed: int, engine: Chosen, report: Report
) -> None:
    """Prints the scores of controllers over drawn paths, and writes the page."""
    from ackclock.contenders import contenders
    from ackclock.evaluation import front, paths

    compared = contenders(targets, engine.name)
    drawn = paths.draw(paths.kinds(tables or paths.PATHS), count, seed)
    runner = engine.make(**engine.with_python([one.factory for one in compared if one.factory is not None]))
    with Interrupts() as interrupts:
        with interrupts.stoppable(), output.progress(f"{len(compared)} on {count} paths") as at:
            interrupts.check()
            found = front.front(compared, drawn, runner, seed, at)
        if interrupts.asked:
            raise Interrupted
    _write(report, f"Scores over {count} paths", lambda folder: front.write(found, folder))
    table = Table(*front.headings(), title=f"{count} paths, seed {seed}", title_justify="left")
    for row in front.rows(found):
        table.add_row(*map(Text, row))
    output.show(table, front.READ, as_json=report.as_json)
    if report.as_json:
        output.print_json({"evaluate": {"front": found.as_json()}})


def _show(done: evaluation.Evaluation, report: Report, junit_file: Path | None) -> None:
    """Prints the findings, and writes the document and the files for machines."""
    from ackclock.evaluation import document

    _write(report, document.title(done), lambda folder: document.write(done, folder))
    if junit_file is not None:
        entries = [
            junit.Entry(
                f"{done.target.name}.{one.criterion.section}",
                measure.id,
                IN_JUNIT[measure.verdict],
                why,
                measure.seconds,
            )
            for one in done.findings
            for measure in one.measures
            for why in [measure.missing or document.beside_standards(measure)]
        ]
        junit.write(junit_file, "ackclock evaluate", entries)
    table = _table(
        ("section", "criterion", "finding", "verdict"), [document.line(one) for one in done.findings]
    )
    table.title = document.title(done)
    output.show(table, document.counted(done), as_json=report.as_json)
    if report.as_json:
        output.print_json({"evaluate": document.as_json(done)})


def _show_both(done: Comparison, report: Report, junit_file: Path | None) -> None:
    """Prints what changed; exit status 1 if the second version is worse."""
    from ackclock.evaluation import beside

    _write(report, done.sentence, lambda folder: beside.write(done, folder))
    if junit_file is not None:
        name = done.second.target.name
        entries = [
            junit.Entry(f"{name}.beside", row[0], IN_JUNIT[row[-1]], f"{row[2]}, before {row[1]}")
            for row in done.rows()
        ]
        junit.write(junit_file, "ackclock evaluate --beside", entries)
    changed = [row for row in done.rows() if row[-1] != "like"]
    shown = [_table(done.headings, changed)] if changed else []
    output.show(*shown, done.sentence, as_json=report.as_json)
    if report.as_json:
        output.print_json({"evaluate": done.as_json()})
    if done.having("worse"):
        raise click.exceptions.Exit(WORSE)


def _write(report: Report, title: str, write: Callable[[Path], Any]) -> None:
    if report.out is None:
        return
    with new_folder(report.out, report.force) as folder, page_of(folder, title):
        undrawn = write(folder)
        output.record(folder)
    for sentence in undrawn:
        say(f"warning: {sentence}")
    report.done(report.out)


def _table(headings: Any, rows: Any) -> Table:
    """A table whose last column has verdicts."""
    table = Table(*headings, title_justify="left")
    for *cells, verdict in rows:
        table.add_row(*map(Text, cells), Text(verdict, style=STYLES.get(verdict, "dim")))
    return table
