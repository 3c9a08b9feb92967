"""Common parts of commands: standard output and error, progress, runs that Ctrl-C can stop."""

from __future__ import annotations

import json
import os
import re
import sys
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click
from rich.cells import cell_len
from rich.table import Table

from ackclock import _engine, repetitions
from ackclock.cli.console import Console
from ackclock.cli.interrupts import Interrupts
from ackclock.cli.status import INTERRUPTED, NO_CURRENT_FOLDER
from ackclock.engines import Engine, NamedEngine
from ackclock.errors import InputError

if TYPE_CHECKING:
    from rich.progress import Progress

    from ackclock.engines.cached import CachedEngine
    from ackclock.result import Run

# Most commands end without a report or a bar of progress, whose modules take longer to load than a run takes.

SHOW_PROGRESS_AFTER_S = 0.5
LINE_EVERY_S = 60.0
FORESEEN_S = 7 * 86400.0
"""The longest time left that a line of progress says."""

LEAST = (
    "time-\nouts",
    "marked",
    "lost",
    "packets",
    "queue mean\npackets",
    "RTT p95\nms",
    "Jain\nindex",
    "loss\n%",
)
"""The columns that a narrow terminal leaves out, in this order. ``--json`` and reports have all."""

NAMES = ("run", "flow", "link", "controller", "experiment", "parameter", "probe", "variant", "name", "case")
"""The heads of columns whose cells are for copying."""

LONGEST_NAME = 60
"""The most letters of a label in a file name."""

MOST_NAME = 36
"""The longest name that is not wrapped, in letters."""

notes = Console(stderr=True)
"""The console for messages and progress: standard error."""


def say(sentence: str, *, highlight: bool = True) -> None:
    """Prints a sentence on standard error, in one line however wide the terminal is.

    Brackets in it, such as those of names, are no markup. ``highlight`` colours numbers and paths.
    """
    notes.print(sentence, markup=False, highlight=highlight, soft_wrap=True)


POINTS = ("sender", "receiver", "bottleneck", "all")
"""The points of a path at which packets are captured, the default first."""


@dataclass(frozen=True)
class Capture:
    """A packet capture: its file, and the point of the path."""

    file: Path
    point: str = POINTS[0]


def overrides(settings: Sequence[str] | None) -> list[tuple[str, str]]:
    """``--set`` options as keys and values."""
    pairs = []
    for setting in settings or []:
        key, equals, value = setting.partition("=")
        if not equals or not key.strip():
            raise InputError(f"--set {setting}: must be KEY=VALUE, as in --set path.queue=1bdp")
        if key.strip().rpartition(".")[2] == "loss":
            check_share(f"--set {key.strip()}", value.strip(), "=")
        pairs.append((key.strip(), value.strip()))
    return pairs


def check_arguments(command: str, keys: Iterable[str], taken: Sequence[str] = ("cc",)) -> None:
    """Refuses keys of flows that a command takes as its arguments: tables would call the runs otherwise."""
    for key in keys:
        flow = re.fullmatch(r"flows(?:\.(?:\d+|\*))?(?:\.(.+))?", key)
        if flow is not None and (flow[1] is None or flow[1] in taken):
            raise InputError(f"{key}: `{command}` takes the controllers as arguments")


def check_share(option: str, value: str, between: str = " ") -> None:
    """Refuses a bare number above 0 for a share of 1, because 1 may mean all or one percent."""
    try:
        number = float(value)
    except ValueError:
        return
    if number > 0:
        raise InputError(
            f"{option}{between}{value}: a bare number may mean a percentage or a share; write it with %, "
            f"as in {option}{between}{number:g}%"
        )


def also_of(text: str, words: Sequence[str]) -> frozenset[str]:
    """The words of ``--also``, of those that a command has. Raises InputError for another."""
    named = [name.strip().lower() for name in text.split(",") if name.strip()]
    for name in named or [text] * bool(text):
        if name not in words:
            raise InputError(f"--also {text}: {name} is none of {', '.join(words)}")
    return frozenset(named)


@dataclass(frozen=True)
class Report:
    """The files of a command besides its tables on the terminal."""

    out: Path | None
    force: bool
    as_json: bool
    also: frozenset[str] = frozenset()
    """What ``--also`` names: formats of figures, ``csv`` for the tables, ``open``."""

    @property
    def formats(self) -> list[str]:
        """The formats of figures besides PNG."""
        from ackclock.report import FORMATS

        return [name for name in FORMATS if name in self.also]

    def check(self) -> None:
        """Refuses words of ``--also`` without a folder, and a folder that cannot be used."""
        if self.also and self.out is None:
            raise InputError("--also: needs --out DIR, the folder that is written into")
        if self.out is not None:
            from ackclock.report import check_folder

            check_folder(self.out, self.force)

    def done(self, out: Path) -> None:
        """Says where the report is, and opens it in the browser if asked."""
        say(f"report: {out / 'index.html'}")
        if "open" in self.also:
            click.launch(str((out / "index.html").absolute()))


def record(folder: Path) -> None:
    """Writes the command line and the files that it names into a folder of results, for archives."""
    from ackclock import commands

    commands.record(folder, click.get_current_context().meta["arguments"])


def same_repetitions(labels: Sequence[str]) -> list[str]:
    """A sentence about labels whose repetitions came out the same, if there are any."""
    if not labels:
        return []
    return [
        f"the repetitions of {', '.join(labels)} came out the same, as little or nothing in them is random; "
        "--set 'flows.*.start_jitter=1s' spreads the starts"
    ]


MOST_MOVING = 5
"""So many shares are named in a note, and the others counted."""


def moving_shares(moving: Sequence[str]) -> list[str]:
    """A sentence about halves of the measured interval that differ, if there are any."""
    if not moving:
        return []
    more = f", and {len(moving) - MOST_MOVING} more" if len(moving) > MOST_MOVING else ""
    named = "; ".join(moving[:MOST_MOVING])
    return [f"{named}{more}: --warmup leaves a start out, and a longer --duration shows the end"]


def moving_queues(counts: Mapping[str, tuple[int, int]]) -> list[str]:
    """A sentence about runs of a sweep whose queue still moves, by controller, if there are any."""
    if not counts:
        return []
    named = ", ".join(f"{count} of {of} runs of {controller}" for controller, (count, of) in counts.items())
    return [
        f"in {named} the mean queueing delay of one half is more than a quarter below the other's: --warmup "
        "leaves a start out, and a longer --duration shows the end"
    ]


def file_name(label: str) -> str:
    """A label as part of a file name: without separators of folders and spaces, and cut if it is long."""
    name = re.sub(r"[^\w.+-]", "_", re.sub(r",?\s+", "_", label.strip())).strip(".") or "run"
    return (
        name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 9]}-{zlib.crc32(label.encode()):08x}"
    )


def file_names(labels: Iterable[str]) -> dict[str, str]:
    """Each label as part of a file name. Labels that would share a name get a checksum."""
    names = {label: file_name(label) for label in labels}
    taken = Counter(name.casefold() for name in names.values())
    return {
        label: name if taken[name.casefold()] == 1 else f"{name}-{zlib.crc32(label.encode()):08x}"
        for label, name in names.items()
    }


def check_current_folder() -> None:
    """Refuses a current folder that does not exist any more: files of scenarios are looked for in it."""
    try:
        Path.cwd()
    except FileNotFoundError:
        raise InputError(NO_CURRENT_FOLDER) from None


def print_json(document: Mapping[str, Any]) -> None:
    """Prints the one object on standard output."""
    json.dump(document, sys.stdout, indent=2, allow_nan=False)
    sys.stdout.write("\n")


def show(*things: Any, as_json: bool) -> None:
    """Prints text for people: on standard output, or on standard error when that belongs to JSON."""
    console = notes if as_json else Console()
    if not console.is_terminal:
        console = Console(file=console.file, width=120)
    for thing in things:
        left_out = fit(thing, console) if isinstance(thing, Table) else []
        console.print(thing)
        if left_out:
            columns = ", ".join(left_out)
            say(f"left out in {console.width} columns: {columns}")


def show_early(*things: Any, as_json: bool) -> Callable[[], None]:
    """Prints text as ``show`` does, before the figures of a report, which take longer than all else.

    If the reader of standard output has closed it, the report is written all the same. Then the caller calls
    the function that it gets, which raises the error.
    """
    closed: BaseException | None = None
    try:
        show(*things, as_json=as_json)
        sys.stdout.flush()
    except (OSError, SystemExit) as error:
        # Rich turns a broken pipe into SystemExit.
        closed = error

    def finish() -> None:
        if closed is not None:
            raise closed

    return finish


def fit(table: Table, console: Console) -> list[str]:
    """Leaves columns out until the table fits, in the order of ``LEAST``.

    Returns their heads. Cuts no name.
    """
    free = console.options.update(max_width=10 * MOST_NAME)
    left_out = []
    for head in LEAST:
        if console.measure(table, options=free).maximum <= console.width:
            break
        for column in [one for one in table.columns if one.header == head]:
            table.columns.remove(column)
            left_out.append(head.replace("-\n", "").replace("\n", " "))
    for column in table.columns:
        column.overflow = "fold"
        if column.header in NAMES:
            column.no_wrap = max((cell_len(str(cell)) for cell in column.cells), default=0) <= MOST_NAME
    return left_out


@contextmanager
def progress(what: str) -> Iterator[Callable[[float], None]]:
    """Shows a bar on standard error if the work takes long. Yields a function of the fraction done.

    Where standard error is no terminal, or one that moves no cursor, a line is written each minute.
    """
    bar: Progress | None = None
    is_terminal = notes.is_terminal and not notes.is_dumb_terminal
    begun = said = time.monotonic()

    def at(fraction: float) -> None:
        nonlocal bar, said
        now = time.monotonic()
        if not is_terminal:
            if now - said >= LINE_EVERY_S:
                said = now
                say(progress_line(what, fraction, now - begun))
        elif bar is not None:
            bar.update(bar.task_ids[0], completed=fraction)
        elif now - begun > SHOW_PROGRESS_AFTER_S:
            bar = _bar(what, fraction)

    try:
        yield at
    finally:
        if bar is not None:
            bar.stop()


def _bar(what: str, fraction: float) -> Progress:
    """A bar of progress, on the terminal."""
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=notes, transient=True)
    bar.update(bar.add_task(what, total=1.0), completed=fraction)
    bar.start()
    return bar


def progress_line(what: str, fraction: float, elapsed_s: float) -> str:
    """The progress after ``elapsed_s`` seconds, the time left, and the hour of its end at this pace.

    An end after more than ``FORESEEN_S`` seconds is left out.
    """
    if fraction <= 0.0 or (left_s := elapsed_s * (1.0 - fraction) / fraction) > FORESEEN_S:
        return f"{what}: 0 % done after {elapsed_s / 60:.0f} min"
    end = datetime.now() + timedelta(seconds=left_s)
    return f"{what}: {100 * fraction:.0f} % done, {left_s / 60:.0f} min left, ends at {end:%H:%M}"


def points(
    plans: Mapping[str, _engine.Plan], seed: int | None, repeat: int, pcap: Capture | None
) -> list[repetitions.Point[str]]:
    """Labels and plans as the points of a sweep. All have the seeds of the first."""
    first = next(iter(plans.values())).seed if seed is None else seed
    seeds = repetitions.seeds(first, repeat)
    of = file_names(plans)
    names = [
        f"{of[label]}-seed-{one}" if len(plans) > 1 else f"seed-{one}" for label in plans for one in seeds
    ]
    files = captures(pcap, names)
    return [
        repetitions.Point(label, plan, seeds, files[number * repeat : (number + 1) * repeat])
        for number, (label, plan) in enumerate(plans.items())
    ]


def run_all(
    points: Sequence[repetitions.Point[str]],
    engine: Engine,
    save: Callable[[str, Run], None],
    interrupts: Interrupts,
) -> list[tuple[str, Run]]:
    """Runs the points until an interruption. Returns the finished runs with their labels, in order.

    ``save`` gets each run with its label as it finishes, so that an interruption leaves little to write.
    """
    runs: dict[tuple[str, int], Run] = {}
    count = repetitions.count(points)
    with interrupts.stoppable():
        interrupts.check()
        with progress(f"{count} runs" if count > 1 else "run") as at:
            for label, repetition, run in repetitions.results(points, engine, at):
                with interrupts.saving():
                    save(label, run)
                    runs[label, repetition] = run
    order = [(point.key, repetition) for point in points for repetition in range(len(point.seeds))]
    return [(label, runs[label, number]) for label, number in order if (label, number) in runs]


@contextmanager
def cached(
    engine: NamedEngine, out: Path, settings: Mapping[str, Any], force: bool
) -> Iterator[tuple[CachedEngine, Path]]:
    """``engine`` with a cache of its runs in the folder of the report, and that folder."""
    from ackclock.engines.cached import CachedEngine
    from ackclock.report import resumable_folder

    with resumable_folder(out, {**settings, **engine.identity()}, force) as folder:
        made = CachedEngine(engine, folder / engine.name)
        if count := made.count():
            say(f"{count} {engine.name} runs are taken from {out}")
        yield made, folder


def leave_interrupted(sentence: str) -> NoReturn:
    """Says how far an interrupted command came, and ends it with its status.

    A command with nothing more to say than that raises Interrupted.
    """
    say(sentence)
    raise click.exceptions.Exit(INTERRUPTED)


def remark(sentence: str) -> None:
    """Prints a sentence about a file that was read, unless it is empty."""
    if sentence:
        say(f"note: {sentence}")


def point_of(capture: Capture | None) -> str:
    """The point at which packets are captured."""
    return POINTS[0] if capture is None else capture.point


def captures(capture: Capture | None, names: Sequence[str]) -> list[str | None]:
    """The file of each packet capture: ``capture``'s for one run, otherwise one for each name."""
    if capture is None:
        return [None] * len(names)
    pcap = capture.file
    parent = pcap.absolute().parent
    if not parent.is_dir() or not os.access(parent, os.W_OK) or pcap.is_dir():
        raise InputError(f"--pcap {pcap}: cannot be written")
    if len(names) == 1:
        return [str(pcap)]
    return [str(pcap.with_name(f"{pcap.stem}-{name}{pcap.suffix}")) for name in names]


def preflight(plans: Sequence[_engine.Plan], repeat: int, engine: Engine) -> None:
    """Prints the warnings about plans. Refuses plans that the engine cannot run or memory cannot hold."""
    for plan in plans:
        engine.check(plan)
    for warning in dict.fromkeys(w for plan in plans for w in plan.inspect()["warnings"]):
        say(f"warning: {warning}")
    print_notes(plans)
    repetitions.check_memory(plans, repeat)


def print_notes(plans: Iterable[_engine.Plan]) -> None:
    """Prints period and mean of files over time."""
    for note in dict.fromkeys(note for plan in plans for note in plan.inspect()["notes"]):
        say(f"note: {note}")
