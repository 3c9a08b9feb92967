"""Archives of results: ``ackclock read DIR --to archive``, and ``ackclock reproduce FILE.zip``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryDirectory
from typing import TYPE_CHECKING

import click
from rich.table import Column, Table
from rich.text import Text

from ackclock.cli import output
from ackclock.cli.command import given
from ackclock.cli.interrupts import Interrupts
from ackclock.cli.output import Report, say
from ackclock.errors import InputError
from ackclock.verdict import NOT_JUDGED

if TYPE_CHECKING:
    from ackclock.archives import Repeated

ARCHIVE = "archive"
"""The format of `ackclock read DIR --to`."""

DIFFERS = 1
"""The exit status where a run came out otherwise."""

WITHOUT_EFFECT = ("listing", "quick", "seed", "shake", "readings", "engine", "live", "rest", "measurements")
"""The options of ``reproduce`` that belong to experiments."""

NAMES = {"listing": "list", "rest": "simulate-refused"}

COLOUR = {"pass": "green", "miss": "bold red"}
WORDS = {"pass": "same", "miss": "differs"}
"""The verdicts in words."""


def is_archive(place: Path) -> bool:
    """True for an archive, or for the folder of results that it would have."""
    from ackclock.archives import SUFFIX
    from ackclock.inputs import DESCRIPTION

    return place.suffix == SUFFIX or (place / DESCRIPTION).is_file()


def write(folder: Path, out: Path, force: bool) -> None:
    """Writes a folder of results as ``out``/NAME.zip."""
    from ackclock.archives import SUFFIX, pack

    name = f"{folder.resolve().name or 'results'}{SUFFIX}"
    place = out / name
    if place.exists() and not (force and place.is_file()):
        raise InputError(f"{place}: is there already; --force replaces a file")
    out.mkdir(parents=True, exist_ok=True)
    with NamedTemporaryFile(prefix=".ackclock-", dir=out, delete=False) as work:
        unfinished = Path(work.name)
        try:
            found = pack(folder, work, name)
            work.flush()
            unfinished.chmod(0o644)
            unfinished.replace(place)
        except BaseException:
            unfinished.unlink(missing_ok=True)
            raise
    for sentence in found.lacks:
        say(f"note: the archive may lack an input: {sentence}")
    say(f"{place}: `ackclock reproduce {place}` repeats it")


def repeat(file: Path, trusted: bool, report: Report, junit_file: Path | None) -> None:
    """Repeats the runs of an archive, and compares each with the archive's."""
    from ackclock import _engine
    from ackclock.archives import opened
    from ackclock.archives import repeat as repeated
    from ackclock.inputs import Inputs

    for option in WITHOUT_EFFECT:
        if given(option):
            raise InputError(
                f"--{NAMES.get(option, option)}: has no effect on {file}, which says what was run"
            )
    report.check()
    done: list[Repeated] = []
    with Interrupts() as interrupts, opened(file) as folder, _work(report) as work:
        made_by = Inputs.load(folder).versions.get("ackclock", "")
        if made_by != _engine.version():
            sentence = f"{file} is of ackclock {made_by}, and this is {_engine.version()}"
            say(f"warning: {sentence}: results may differ")
        with interrupts.stoppable():
            interrupts.check()
            with output.progress(str(file)) as at:
                done.extend(repeated(folder, work, trusted, at))
        done.sort(key=lambda one: one.name)
        if report.out is not None:
            _page(done, work, file)
    if interrupts.asked:
        output.leave_interrupted(f"interrupted after {len(done)} runs")
    if report.out is not None:
        report.done(report.out)
    output.show(_table(done), _sentence(done), as_json=report.as_json)
    if report.as_json:
        document = [vars(one) | {"verdict": WORDS.get(one.verdict, one.verdict)} for one in done]
        output.print_json({"archive": {"file": str(file), "made_by": made_by, "results": document}})
    if junit_file is not None:
        from ackclock.report import junit

        cases = [junit.Entry(file.name, one.name, one.verdict, one.why) for one in done]
        junit.write(junit_file, "ackclock reproduce", cases)
    if any(one.verdict == "miss" for one in done):
        raise click.exceptions.Exit(DIFFERS)


@contextmanager
def _work(report: Report) -> Iterator[Path]:
    """The folder for the repeated runs: of ``--out``, or one that goes with the command."""
    from ackclock.report import new_folder

    if report.out is None:
        with TemporaryDirectory(prefix="ackclock-repeated-") as folder:
            yield Path(folder)
    else:
        with new_folder(report.out, report.force) as place:
            yield place


def _table(done: list[Repeated]) -> Table:
    table = Table(Column("run", overflow="fold"), Column("seed", justify="right"), "verdict", Column("why"))
    for one in done:
        verdict = Text(WORDS.get(one.verdict, one.verdict), COLOUR.get(one.verdict, "dim"))
        table.add_row(Text(one.name), "-" if one.seed is None else str(one.seed), verdict, Text(one.why))
    return table


def _sentence(done: list[Repeated]) -> Text:
    counts = Counter(one.verdict for one in done)
    parts = [f"{counts['pass']} of {len(done)} came out the same"]
    parts += [f"{counts['miss']} differ"] * bool(counts["miss"])
    parts += [f"{counts[NOT_JUDGED]} cannot be repeated"] * bool(counts[NOT_JUDGED])
    return Text(", ".join(parts))


def _page(done: list[Repeated], folder: Path, file: Path) -> None:
    """The page of the repeated runs."""
    from ackclock.report import Page, notebook

    page = Page(f"{file.name} repeated")
    page.paragraph(f"{_sentence(done)}.")
    table = _table(done)
    page.table(notebook.heads(table), notebook.cells(table))
    page.write(folder / "index.html")
