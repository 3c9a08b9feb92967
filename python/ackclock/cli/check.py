"""``ackclock check``: is a controller sound?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.table import Column, Table
from rich.text import Text

from ackclock.cli import completing, output
from ackclock.cli.choosing import Chosen, on_engine
from ackclock.cli.interrupts import Interrupts
from ackclock.cli.output import notes
from ackclock.cli.status import INTERRUPTED
from ackclock.engines import registry
from ackclock.report import junit

if TYPE_CHECKING:
    from ackclock import checks

FAILED = 1

TargetArgument = Annotated[
    str,
    typer.Argument(
        metavar="TARGET",
        help="`cdg`, `'cdg(G=10ms)'`, `./mine.bpf.c`, `./mine.so`, `./mine.py:Class`, `noq:bbr3`.",
        autocompletion=completing.controllers,
    ),
]
AimOption = Annotated[
    Literal["general", "fast", "delay", "scavenger", "marks"] | None,
    typer.Option("--aim", help="What the target is for, by which it is judged. Default: as it declares."),
]
AsOption = Annotated[
    str | None,
    typer.Option(
        "--as",
        metavar="NAME",
        help="The controller that the target implements: it has the rules of that, and ours beside it.",
        autocompletion=completing.controllers,
    ),
]


@on_engine(without=("at_once", "retries", "gso_max_segs"))
def check(
    target: TargetArgument,
    only: Annotated[str, typer.Option(metavar="ID,…", help="Only these cases.", show_default=False)] = "",
    long: Annotated[bool, typer.Option("--long", help="Cases that take minutes, too.")] = False,
    aim: AimOption = None,
    algorithm: AsOption = None,
    own: Annotated[
        list[Path] | None,
        typer.Option("--case", metavar="FILE", help="A case of your own, too. Repeatable."),
    ] = None,
    listing: Annotated[bool, typer.Option("--list", help="List the cases of the target and leave.")] = False,
    seed: output.SeedOption = None,
    out: output.OutOption = None,
    junit_file: output.JunitOption = None,
    force: output.ForceOption = False,
    as_json: output.JsonOption = False,
    *,
    engine: Chosen,
) -> None:
    """Test a controller: laws that hold for all, the rules of its algorithm, and ours beside it.

    The exit status is 1 if a case fails. The same seed gives the same output.
    Example: `ackclock check ./mine.py:Mine --junit check.xml`
    """
    from ackclock import checks

    output.check_current_folder()
    report = output.Report(out, force, False, as_json)
    report.check()
    chosen = checks.target(target, aim=aim, algorithm=algorithm)
    cases = _cases(chosen, only, long, own or [])
    if listing:
        _list(cases, as_json)
        return
    kind = engine if engine.name != registry.DEFAULT else Chosen(registry.find(chosen.engine), engine.given)
    factory = chosen.contender.factory
    runner = kind.make(**kind.with_python([] if factory is None else [factory]))
    found: list[checks.Judgement] = []
    with Interrupts() as interrupts:
        with interrupts.stoppable(), output.progress(f"{len(cases)} cases") as at:
            found = checks.check(cases, chosen, runner, 1 if seed is None else seed, at)
        if interrupts.asked:
            raise typer.Exit(INTERRUPTED)
    _write(found, chosen, report, junit_file)
    output.show(_table(found, chosen), _tally(found), as_json=as_json)
    for one in found:
        if one.verdict != "pass":
            line = f"{one.id} {'fails' if one.verdict == 'fail' else 'is skipped'}: {one.sentence}"
            notes.print(line, markup=False, highlight=False, soft_wrap=True)
    if as_json:
        output.print_json({"check": checks_document(found, chosen)})
    if any(one.verdict == "fail" for one in found):
        raise typer.Exit(FAILED)


def _cases(chosen: checks.Target, only: str, long: bool, own: Sequence[Path]) -> list[checks.Case]:
    """The cases for a target, by its aim."""
    from ackclock import checks

    every = [*checks.laws(), *(checks.rules(chosen.algorithm) if chosen.algorithm else ())]
    for file in own:
        every += checks.read(file, "own")
    judged = [case for case in every if chosen.aim in case.aims]
    if only:
        return checks.choose(judged, [name.strip() for name in only.split(",") if name.strip()])
    return [case for case in judged if long or not case.long]


def checks_document(found: Sequence[checks.Judgement], chosen: checks.Target) -> dict[str, object]:
    """The object of ``--json``."""
    return {"target": chosen.name, "aim": chosen.aim, "cases": [one.as_json() for one in found]}


def _list(cases: Sequence[checks.Case], as_json: bool) -> None:
    if as_json:
        listed = [
            {"id": c.id, "group": c.group, "title": c.title, "why": c.why, "source": c.source} for c in cases
        ]
        output.print_json({"cases": listed})
        return
    table = Table(Column("case", no_wrap=True), "title", "why", "source")
    for case in cases:
        table.add_row(*map(Text, (case.id, case.title, case.why, case.source)))
    output.show(table, as_json=False)


def _table(found: Sequence[checks.Judgement], chosen: checks.Target) -> Table:
    from ackclock.report import number

    table = Table(title=f"{chosen.name}, for {_aim(chosen)}", title_justify="left")
    for head in ("case", "measure", "measured", "allowed", "verdict"):
        table.add_column(head, justify="right" if head == "measured" else "left")
    group = ""
    for one in found:
        if group and one.group != group:
            table.add_section()
        group = one.group
        verdict = Text(one.verdict, style={"fail": "bold red", "pass": "green"}.get(one.verdict, "dim"))
        table.add_row(Text(one.id), Text(one.words), number(one.measured), one.allowed, verdict)
    return table


def _aim(chosen: checks.Target) -> str:
    from ackclock import checks

    return checks.AIMS[chosen.aim]


def _tally(found: Sequence[checks.Judgement]) -> str:
    counts = Counter(one.verdict for one in found)
    skipped = f"; {counts['skipped']} are skipped" if counts["skipped"] else ""
    return f"{counts['pass']} of {counts['pass'] + counts['fail']} bounds hold{skipped}."


def _write(
    found: Sequence[checks.Judgement], chosen: checks.Target, report: output.Report, junit_file: Path | None
) -> None:
    """The page and the JUnit file."""
    if report.out is not None:
        from ackclock.checks.page import write
        from ackclock.report import new_folder, page_of

        with new_folder(report.out, report.force) as folder, page_of(folder, f"Check of {chosen.name}"):
            write(found, chosen, folder)
        notes.print(f"report: {report.out / 'index.html'}", markup=False, soft_wrap=True)
    if junit_file is not None:
        verdicts: dict[str, junit.Verdict] = {"pass": "pass", "fail": "miss"}
        cases = [
            junit.Case(
                f"{chosen.name}.{one.group}",
                one.id,
                verdicts.get(one.verdict, "skipped"),
                f"{one.sentence} ({one.why})",
            )
            for one in found
        ]
        junit.write(junit_file, "ackclock check", cases)
