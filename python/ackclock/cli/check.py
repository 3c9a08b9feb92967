"""``ackclock check``: the soundness of a controller, by cases or by a hunt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.table import Column, Table
from rich.text import Text

from ackclock.cli import completing, output
from ackclock.cli.command import FILE, Argument, Number, OneOf, Option, command, flag, given
from ackclock.cli.engine import Chosen, engine_options
from ackclock.cli.hunt import hunt
from ackclock.cli.interrupts import Interrupts
from ackclock.cli.options import SEED, report_options
from ackclock.cli.output import Report, say
from ackclock.cli.status import INVALID, Interrupted
from ackclock.engines import NamedEngine
from ackclock.errors import InputError
from ackclock.report import junit
from ackclock.verdict import NOT_JUDGED

if TYPE_CHECKING:
    from ackclock import checks
    from ackclock.checks import stack as stacks

FAILED = 1
CSV = ".csv"
"""The end of the name of a file that gets the verdicts as a table."""

AIM = Option(
    "--aim",
    type=OneOf("general", "fast", "delay", "scavenger", "marks"),
    metavar="AIM",
    help="What the target is for, by which it is judged: general, fast, delay, scavenger or marks. "
    "Default: as it declares.",
)
OF_CASES = (
    "algorithm",
    "only",
    "long",
    "own",
    "trusted",
    "listing",
    "server",
    "client",
    "download",
    "verdicts",
)
OF_HUNTS = ("budget", "tries", "cases")
OF_CONTROLLERS = (
    *("hunting", "aim", "only", "long", "own", "trusted", "listing", "server", "client", "download", "seed"),
    *("engine", "live"),
)
"""The options that have no effect on a recording, with those of hunts."""
MOST_TRIES = 1_000_000
"""Some hours, and a gigabyte of answers."""


@command(
    Argument(
        "targets",
        nargs=-1,
        metavar="[TARGET]…",
        help="`cdg`, `'cdg(G=10ms)'`, `./mine.py:Mine`, `./mine.rs:Mine`, `./mine.bpf.c`, `noq:bbr3`, or a "
        "recording: a qlog, or a capture taken at the sender.",
        completes=completing.controllers,
    ),
    AIM,
    Option(
        "--as",
        "algorithm",
        metavar="NAME,…",
        help="What the target implements: a controller, `hystart++`. It has these rules, and ours beside it.",
        completes=completing.controllers,
    ),
    Option("--only", heading="Cases", metavar="ID,…", help="Only these cases.", completes=completing.judged),
    flag("--long", heading="Cases", help="Cases that take minutes, too."),
    Option(
        "--case",
        "own",
        heading="Cases",
        type=FILE,
        multiple=True,
        metavar="FILE",
        help="A case of your own, too. Repeatable.",
    ),
    flag(
        "--trust",
        "trusted",
        heading="Cases",
        help="Run the code that a --case names: it can do all that you can.",
    ),
    flag("--list", "listing", heading="Cases", help="List the cases of the target and leave."),
    Option(
        "--server",
        heading="A stack from outside, in place of TARGET",
        metavar="COMMAND",
        help="Its server, as one word; it runs live over the emulator.",
    ),
    Option(
        "--client",
        heading="A stack from outside, in place of TARGET",
        metavar="COMMAND",
        help="Its client; {server} becomes the address of the server, {duration} the seconds of a case.",
    ),
    flag(
        "--download",
        heading="A stack from outside, in place of TARGET",
        help="The server sends the data; otherwise the client does.",
    ),
    flag(
        "--hunt",
        "hunting",
        heading="Hunt",
        help="Search for conditions in which TARGET is worse than the better of NewReno and CUBIC.",
    ),
    Option("--budget", heading="Hunt", default="60s", help="CPU time of its runs; the search ends after it."),
    Option(
        "--tries",
        heading="Hunt",
        type=Number(1, MOST_TRIES),
        help="Conditions to try, in place of --budget: the same findings on any machine.",
    ),
    Option(
        "--cases",
        heading="Hunt",
        type=FILE,
        metavar="DIR",
        help="Write each finding as a case for `ackclock check --case` and `evaluate --case`.",
    ),
    SEED,
    engine_options(without=("at_once", "retries", "gso_max_segs", "qlog")),
    report_options(
        out=Option(
            "--out",
            heading="Output",
            type=FILE,
            metavar="DIR",
            help="Write report, figures and tables here; a hunt goes on there.",
        )
    ),
    Option(
        "--junit",
        "--csv",
        "verdicts",
        heading="Output",
        type=FILE,
        metavar="FILE",
        help="Write the verdicts: a table with a row for each target as FILE.csv, or else JUnit XML.",
    ),
)
def check(
    targets: Sequence[str],
    aim: str | None,
    algorithm: str | None,
    only: str | None,
    long: bool,
    own: Sequence[Path],
    trusted: bool,
    listing: bool,
    server: str | None,
    client: str | None,
    download: bool,
    hunting: bool,
    budget: str,
    tries: int | None,
    cases: Path | None,
    seed: int | None,
    engine: Chosen,
    report: Report,
    verdicts: Path | None,
) -> None:
    """Test a controller: laws that hold for all, the rules of its algorithm, and ours beside it.

    Several TARGETs are tested one after the other, each in a process of its own and within `--limit`.

    With `--hunt`, search for conditions in which it does badly. The exit status is 1 if a case fails, 2 if
    TARGET does not compile or raises an exception, else 3 if a live run went past its error budget.
    Example: `ackclock check ./mine.py:Mine --junit check.xml`
    """
    from ackclock import checks
    from ackclock.checks import stack as stacks

    output.check_current_folder()
    if len(targets) > 1:
        _check_each(report, verdicts)
        return
    target = targets[0] if targets else None
    _refuse_others(hunting)
    if target is not None and _is_recording(target):
        report.check()
        _check_recording(target, algorithm, report, verdicts)
        return
    if hunting:
        if target is None:
            raise InputError("TARGET is missing: the controller that --hunt is about")
        hunt(target, budget, tries, aim, cases, seed, engine, report)
        return
    report.check()
    stack = _stack(target, server, client, download)
    chosen = checks.target(
        target or "newreno", aim=aim, algorithm=algorithm, rule_sets=checks.rule_sets() if target else ()
    )
    chosen = replace(chosen, trusted=trusted)
    if stack is not None:
        chosen = replace(chosen, contender=replace(chosen.contender, name=stack.name))
    judged = _cases(chosen, only, long, own, stack)
    if listing:
        _list(judged, report.as_json)
        return
    kind = engine.instead(chosen.engine)
    factory = chosen.contender.factory
    runner = kind.make(**kind.with_python([] if factory is None else [factory]))
    found: list[checks.Judgement] = []
    told: set[str] = set()
    with Interrupts() as interrupts:
        with interrupts.stoppable():
            interrupts.check()
            first = 1 if seed is None else seed
            if stack is None:
                found = _judged(judged, chosen, runner, first, told, whole=not only)
            else:
                with output.progress(f"{len(judged)} cases live") as at:
                    found = stacks.check(judged, stack, first, at)
        if interrupts.asked:
            raise Interrupted
    aim_text = checks.AIMS[chosen.aim]
    _write(found, chosen, f"Judged as a controller for {aim_text}.", report, verdicts)
    _finish({"": found}, chosen, f", for {aim_text}", report, told)


def _is_recording(target: str) -> bool:
    """True for the file of a log or a capture. Refuses the options that have no effect on one."""
    from ackclock.checks.recordings import is_recording

    if not is_recording(target):
        return False
    spelled = {"own": "case", "trusted": "trust", "listing": "list", "hunting": "hunt"}
    for option in (*OF_CONTROLLERS, *OF_HUNTS):
        if given(option):
            raise InputError(f"--{spelled.get(option, option)}: has no effect on a recording")
    return True


def _check_recording(target: str, algorithm: str | None, report: Report, verdicts: Path | None) -> None:
    """Judges each sender in a log or a capture."""
    from ackclock import checks
    from ackclock.checks import recordings
    from ackclock.checks.recording import GROUP

    chosen = checks.target("newreno", algorithm=algorithm, rule_sets=checks.rule_sets())
    chosen = replace(chosen, contender=replace(chosen.contender, name=target))
    seen, remark = recordings.read(Path(target))
    output.remark(remark)
    names = [one.strip() for one in (algorithm or "").split(",") if one.strip()]
    found: dict[str, list[checks.Judgement]] = {}
    for one in seen:
        sender = one.name if len(seen) > 1 else ""
        group = f"{GROUP} {sender}".strip()
        judged = recordings.check(one, names)
        found.setdefault(sender, []).extend(
            replace(of, claim=replace(of.claim, group=group)) for of in judged
        )
    every = [one for judged in found.values() for one in judged]
    _write(every, chosen, "Judged by the laws of recorded windows.", report, verdicts)
    _finish(found, chosen, "", report)


def _finish(
    found: Mapping[str, Sequence[checks.Judgement]],
    chosen: checks.Target,
    about: str,
    report: Report,
    told: Collection[str] = (),
) -> None:
    """Prints the verdicts on each sender, and ends with their exit status.

    The only sender has no name. ``about`` follows the name of the target in titles. The failures of ``told``
    were printed before.
    """
    every = [one for judged in found.values() for one in judged]
    tables = [
        _table(judged, f"{chosen.name}{about}{f': {sender}' if sender else ''}")
        for sender, judged in found.items()
    ]
    output.show(*tables, _tally(every), as_json=report.as_json)
    for sender, judged in found.items():
        for one in judged:
            if one.verdict != "pass" and one.claim.id not in told:
                _tell(one, sender)
    if report.as_json:
        output.print_json({"check": checks_document(every, chosen)})
    if raised := [one.reason for one in every if one.raised]:
        raise InputError(raised[0])
    if any(one.verdict == "miss" for one in every):
        raise click.exceptions.Exit(FAILED)
    if not all(one.valid for one in every):
        raise click.exceptions.Exit(INVALID)


def _tell(one: checks.Judgement, sender: str = "") -> None:
    """Says why a bound is not kept, or was not judged."""
    word = "fails" if one.verdict == "miss" else "has no verdict" if one.raised else "is skipped"
    of = f" of {sender}" if sender else ""
    line = f"{one.claim.id}{of} {word}: {one.sentence}"
    say(line, highlight=False)


def _check_each(report: Report, verdicts: Path | None) -> None:
    """Tests several targets, and prints and writes a row for each."""
    from ackclock.cli import marks

    if verdicts is not None and verdicts.suffix != CSV:
        raise InputError(f"{verdicts}: must be a CSV file, like marks.csv, for several targets")
    context = click.get_current_context()
    found = marks.judge(context.command, context.meta["arguments"][1:], context.meta["limit"])
    rows = [marks.mark(one) for one in found]
    if verdicts is not None:
        marks.write(rows, verdicts)
    output.show(marks.table(rows), as_json=report.as_json)
    if report.as_json:
        output.print_json({"check": [asdict(one) if isinstance(one, marks.Mark) else one for one in found]})
    if any(row.verdict != "pass" for row in rows):
        raise click.exceptions.Exit(FAILED)


def _refuse_others(hunting: bool) -> None:
    """Refuses options of a hunt without a hunt, and options of cases beside one."""
    spelled = {"algorithm": "as", "own": "case", "trusted": "trust", "listing": "list", "verdicts": "junit"}
    for option in OF_CASES if hunting else OF_HUNTS:
        if given(option):
            why = (
                "is of cases, and --hunt searches without them" if hunting else "is of a search, with --hunt"
            )
            raise InputError(f"--{spelled.get(option, option)}: {why}")


def _stack(target: str | None, server: str | None, client: str | None, download: bool) -> stacks.Stack | None:
    """The stack of two commands, or None for a TARGET. Raises InputError unless there is one of both."""
    from ackclock.checks.stack import Stack

    if target is not None:
        if given := [name for name, one in (("server", server), ("client", client)) if one is not None]:
            raise InputError(f"--{given[0]}: is a stack from outside, and TARGET names {target}")
        if download:
            raise InputError("--download: is for --server and --client")
        return None
    if server is None or client is None:
        raise InputError("TARGET is missing: a controller, or --server COMMAND and --client COMMAND")
    return Stack(server, client, download)


def _judged(
    cases: Sequence[checks.TargetCase],
    chosen: checks.Target,
    runner: NamedEngine,
    seed: int,
    told: set[str],
    *,
    whole: bool,
) -> list[checks.Judgement]:
    """The verdicts on the cases. A failure is printed as soon as it is known, and added to ``told``.

    A ``whole`` check adds the suites and the comparison with our own controllers.
    """
    from ackclock import checks
    from ackclock.checks import reference, suites

    def judged(of: Sequence[checks.Judgement]) -> None:
        for one in of:
            if one.verdict == "miss":
                told.add(one.claim.id)
                _tell(one)

    with output.progress(f"{len(cases)} cases") as at:
        found = checks.check(cases, chosen, runner, seed, at, judged)
    if not whole:
        return found
    if chosen.algorithm in chosen.rules:
        with output.progress(f"rules of {chosen.algorithm}") as at:
            found += suites.check(chosen, runner, seed, at)
    with output.progress("beside ours") as at:
        return found + reference.check(chosen, runner, seed, at)


def _cases(
    chosen: checks.Target, only: str | None, long: bool, own: Sequence[Path], stack: stacks.Stack | None
) -> list[checks.TargetCase]:
    """The cases that suit a target's aim. A stack gets only the cases that a link can judge."""
    from ackclock import checks
    from ackclock.checks import stack as stacks

    every = [*checks.laws(), *(case for name in chosen.rules for case in checks.rules(name))]
    for file in own:
        every += checks.read(file, checks.OWN)
    judged = [case for case in every if chosen.aim in case.aims]
    judged = judged if stack is None else stacks.cases_for(judged)
    if only:
        return checks.choose(judged, [name.strip() for name in only.split(",") if name.strip()])
    return [case for case in judged if long or not case.long]


def checks_document(found: Sequence[checks.Judgement], chosen: checks.Target) -> dict[str, object]:
    """The object of ``--json``."""
    from ackclock import checks

    return {"target": chosen.name, "aim": chosen.aim, "cases": [checks.as_json(one) for one in found]}


def _list(cases: Sequence[checks.TargetCase], as_json: bool) -> None:
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


def _table(found: Sequence[checks.Judgement], title: str) -> Table:
    from ackclock import checks
    from ackclock.checks import reference
    from ackclock.report import number

    table = Table(title=Text(title, style="table.title"), title_justify="left")
    for head in ("case", "measure", "measured", "allowed", "verdict"):
        table.add_column(head, justify="right" if head == "measured" else "left")
    group = ""
    for one in found:
        if one.claim.group == reference.GROUP and one.verdict == "pass":
            continue
        if group and one.claim.group != group:
            table.add_section()
        group = one.claim.group
        style = {"miss": "bold red", "pass": "green"}.get(one.verdict, "dim")
        verdict = Text(checks.WORDS[one.verdict], style=style)
        table.add_row(Text(one.claim.id), Text(one.claim.text), number(one.measured), one.allowed, verdict)
    return table


def _tally(found: Sequence[checks.Judgement]) -> str:
    groups = dict.fromkeys(one.claim.group for one in found)
    return "\n".join(_counted(group, [one for one in found if one.claim.group == group]) for group in groups)


def _counted(group: str, found: Sequence[checks.Judgement]) -> str:
    counts = Counter(one.verdict for one in found)
    skipped = f", {counts[NOT_JUDGED]} skipped" if counts[NOT_JUDGED] else ""
    return f"{group}: {counts['pass']} of {counts['pass'] + counts['miss']} bounds hold{skipped}"


def _write(
    found: Sequence[checks.Judgement],
    chosen: checks.Target,
    about: str,
    report: Report,
    verdicts: Path | None,
) -> None:
    """The page, and the table or JUnit file."""
    if report.out is not None:
        from ackclock.checks.page import write
        from ackclock.report import new_folder, page_of

        with new_folder(report.out, report.force) as folder, page_of(folder, f"Check of {chosen.name}"):
            write(found, chosen, about, folder)
            output.record(folder)
        report.done(report.out)
    if verdicts is not None and verdicts.suffix == CSV:
        from ackclock.cli import marks

        marks.write([marks.mark(checks_document(found, chosen))], verdicts)
    elif verdicts is not None:
        entries = [
            junit.Entry(
                f"{chosen.name}.{one.claim.group}",
                one.claim.id,
                one.verdict,
                one.sentence if one.raised else f"{one.sentence} ({one.claim.because})",
                one.seconds,
                raised=one.raised,
            )
            for one in found
        ]
        junit.write(verdicts, "ackclock check", entries)
