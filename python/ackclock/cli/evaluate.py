"""``ackclock evaluate``: the evidence that RFC 9743 asks for of a new controller."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.table import Table
from rich.text import Text

from ackclock.cli import completing, output
from ackclock.cli.command import Argument, Option, command, flag
from ackclock.cli.engine import Chosen, engine_options
from ackclock.cli.interrupts import Interrupts
from ackclock.cli.options import JUNIT, SEED, report_options
from ackclock.cli.output import Report, notes
from ackclock.cli.status import INTERRUPTED
from ackclock.report import junit, new_folder, page_of
from ackclock.verdict import NOT_JUDGED, Verdict

if TYPE_CHECKING:
    from ackclock import evaluation
    from ackclock.checks import Target
    from ackclock.evaluation.beside import Comparison

WORSE = 1

IN_JUNIT: dict[str, Verdict] = {"worse": "miss", "like": "pass", "better": "pass", "text": NOT_JUDGED}
"""The verdicts of a criterion, or of a measure, as JUnit has them."""

STYLES = {"worse": "bold red", "better": "green"}


@command(
    Argument(
        "target",
        metavar="TARGET",
        help="`bbr1`, `'cdg(G=10ms)'`, `./mine.py:Mine`, `./mine.rs:Mine`, `./mine.bpf.c`, `noq:bbr3`.",
        completes=completing.controllers,
    ),
    Option("--only", metavar="SECTION,…", help="Only these criteria: 5.1.3, or 5.1 with all below it."),
    flag("--long", help="Three times as many seeds: narrower intervals."),
    Option(
        "--beside",
        "second",
        metavar="FILE",
        help="A second version of TARGET, spelled as it is. Show what it makes better and worse.",
        completes=completing.controllers,
    ),
    SEED,
    engine_options(without=("at_once", "retries", "gso_max_segs", "qlog")),
    report_options(),
    JUNIT,
)
def evaluate(
    target: str,
    only: str | None,
    long: bool,
    second: str | None,
    seed: int | None,
    engine: Chosen,
    report: Report,
    junit_file: Path | None,
) -> None:
    """Write the document that RFC 9743 asks for of a controller: each criterion beside NewReno and CUBIC.

    With `--beside` the exit status is 1 if the second version is worse than TARGET in a measure.
    Example: `ackclock evaluate ./mine.py:Mine --out evaluated`
    """
    from ackclock import checks, evaluation
    from ackclock.evaluation import beside

    output.check_current_folder()
    report.check()
    chosen = evaluation.choose([text.strip() for text in (only or "").split(",") if text.strip()])
    versions = [checks.target(text) for text in ([target] if second is None else [target, second])]
    found: list[evaluation.Evaluation] = []
    with Interrupts() as interrupts:
        with interrupts.stoppable():
            for version in versions:
                known = found[0].measures if found else None
                with output.progress(f"{len(chosen)} criteria for {version.name}") as at:
                    found.append(
                        evaluation.evaluate(
                            chosen,
                            version,
                            _engine(engine, version),
                            1 if seed is None else seed,
                            long=long,
                            known=known,
                            progress=at,
                        )
                    )
        if interrupts.asked:
            raise click.exceptions.Exit(INTERRUPTED)
    if second is not None:
        _show_both(beside.Comparison(*found), report, junit_file)
        return
    _show(found[0], report, junit_file)


def _engine(engine: Chosen, version: Target) -> Any:
    kind = engine.instead(version.engine)
    factory = version.contender.factory
    return kind.make(**kind.with_python([] if factory is None else [factory]))


def _show(done: evaluation.Evaluation, report: Report, junit_file: Path | None) -> None:
    """Prints the findings, and writes the document and the files for machines."""
    from ackclock.evaluation import document

    _write(report, document.title(done), lambda folder: document.write(done, folder))
    if junit_file is not None:
        entries = [
            junit.Entry(
                f"{done.target.name}.{one.criterion.section}", measure.id, IN_JUNIT[measure.verdict], why
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
    for sentence in undrawn:
        notes.print(f"warning: {sentence}", markup=False, soft_wrap=True)
    report.done(report.out)


def _table(headings: Any, rows: Any) -> Table:
    """A table whose last column has verdicts."""
    table = Table(*headings, title_justify="left")
    for *cells, verdict in rows:
        table.add_row(*map(Text, cells), Text(verdict, style=STYLES.get(verdict, "dim")))
    return table
