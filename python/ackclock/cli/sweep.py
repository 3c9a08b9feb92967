"""``ackclock sweep``: controllers, or a scenario file, over values of any keys."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rich.table import Table
from rich.text import Text

from ackclock import _engine, repetitions, trust
from ackclock.cli import completing, fleet, output, titles
from ackclock.cli.command import Argument, Option, command, given
from ackclock.cli.engine import OF_WORKERS, Chosen, engine_options
from ackclock.cli.interrupts import Interrupts
from ackclock.cli.options import EXECUTOR, GROWING_OUT, PATH, REPEATS, TRUST, Repeats, common, report_options
from ackclock.cli.output import Report, say
from ackclock.cli.paths import PathGiven
from ackclock.cli.status import Interrupted
from ackclock.contenders import Contender, contenders, made_again
from ackclock.engines import NamedEngine
from ackclock.errors import InputError
from ackclock.report import Page, new_folder, notebook, page_of, resumable_folder
from ackclock.sweeps import INTERVAL, METRICS, Place, Sweep, executors, work
from ackclock.sweeps.axes import DRAWS, Design
from ackclock.sweeps.fleet import Fleet
from ackclock.sweeps.folder import SweepFolder
from ackclock.sweeps.lines import LINES, parse_over, unused
from ackclock.sweeps.metrics import Interval
from ackclock.sweeps.plan import Plan, Variant
from ackclock.sweeps.run import Outcome, execute, finish, first_seed, of_document, of_file

MOST_ROWS = 60
"""The terminal shows no longer tables: all rows are in the folder of ``--out``."""

HEADS = {
    "goodput": "goodput\nMbit/s",
    "utilization": "utilization",
    "queue_delay": "mean queueing\ndelay, ms",
    "queue_delay_p95": "p95 queueing\ndelay, ms",
    "loss": "loss\n%",
}
WITH_INTERVALS = ("goodput", "queue_delay", "loss")
"""The columns of the terminal when each has an interval: more would not fit into 80 columns."""

MOST_EARLY = 3
"""The most runs that are shown before the end."""

MOST_SAMPLES = 1_000_000
MOST_PROCESSES = 1024


@command(
    Argument(
        "what",
        nargs=-1,
        required=True,
        metavar="CC…|FILE",
        help="Controllers as in `compare`, each alone on the path; or one scenario.",
        completes=completing.controllers,
    ),
    Option(
        "--over",
        heading="Points",
        multiple=True,
        metavar="KEY=VALUES",
        help="A key of the scenario and its values: queue=0.1bdp,1bdp,5bdp, rate=1mbit..1gbit*10log, or "
        "rate:rtt=VALUES for keys that change together, such as 10mbit:40ms,1gbit:5ms; or "
        "lines=FILE.csv, a row a line. Repeatable: all combinations.",
        completes=completing.swept,
    ),
    Option(
        "--lines",
        heading="Points",
        hidden=True,
        metavar="FILE",
        help="Short for --over lines=FILE.",
    ),
    Option(
        "--samples",
        heading="Points",
        metavar="N[:DRAW]",
        help=f"Draw N points from lists and ranges, not a grid; DRAW is {', '.join(DRAWS)}.  "
        f"[default: N:{DRAWS[0]}]",
        completes=completing.draws,
    ),
    PATH,
    common(),
    REPEATS,
    TRUST,
    EXECUTOR,
    engine_options(without=OF_WORKERS),
    report_options(out=GROWING_OUT),
)
def sweep(
    what: Sequence[str],
    over: Sequence[str],
    lines: str | None,
    samples: str | None,
    path: PathGiven,
    common: Mapping[str, str],
    repeats: Repeats,
    trusted: bool,
    executor: str,
    engine: Chosen,
    report: Report,
) -> None:
    """Run controllers, or a scenario, over values of any keys.

    Example: `ackclock sweep newreno cubic cdg --over queue=0.1bdp,1bdp,5bdp --repeat 5 --out DIR`
    """
    output.check_current_folder()
    keys, seed = path.keys(), repeats.seed
    options = [*sorted(path.given), *(name for name in common if given(name))]
    count, draw = _samples(samples)
    axes = [*([] if lines is None else [f"{LINES}={lines}"]), *over]
    design = Design(tuple(map(parse_over, axes)), count, draw, repeats.first)
    if design.lines is not None and (names := ", ".join(f"`{name}`" for name in unused(design.lines))):
        say(f"note: no key of a scenario is {names}: the lines run without")
    set_keys = repeats.keys
    settings = [*set_keys.items(), *design.settings()]
    variants, compared = _variants(what, {"path": keys, **common}, options, engine.name, settings, trusted)
    if compared:
        output.check_arguments("sweep", [*set_keys, *design.keys])
    if seed is not None and "seed" in design.keys and count is None:
        raise InputError(f"--seed {seed}: the seed is swept")
    seeds = repetitions.seeds(
        first_seed(variants, design, set_keys) if seed is None else seed, repeats.repeat
    )
    factories = [one.factory for one in compared if one.factory is not None]
    code = "\0".join(one.context for one in compared)
    plan = Plan(variants, design, seeds, set_keys, factories, code)
    runner = engine.make(**engine.with_python(factories))
    plan = plan.on(runner)
    for sentence in [*plan.check(runner), *(f"warning: {one}" for one in made_again(compared))]:
        say(sentence)
    workers = workers_for(plan, runner, executor)
    out = report.out
    with growing_folder(report, "sweep", runner) as folder:
        outcome, swept = run_plan(plan, folder, workers, runner)
        if swept is None:
            outcome.leave(out)
            raise Interrupted
        title = _title(swept.controllers, design, keys if compared else {}, list(set_keys.items()))
        for sentence in outcome.of.invalid:
            say(f"warning: not valid: {sentence}")
        lines_of = Fleet.of(swept)
        finish = output.show_early(*_tables(swept, lines_of, len(seeds), title), as_json=report.as_json)
        if out is not None and not outcome.stopped:
            _page(swept, lines_of, folder, len(seeds), title, ())
            report.done(out)
        finish()
        for sentence in [*output.same_repetitions(swept.alike), *output.moving_queues(swept.moving_queues)]:
            say(f"note: {sentence}")
        if report.as_json:
            _print_json(swept, lines_of)
    outcome.leave(out)


def read_again(folder: Path, report: Report) -> None:
    """The tables of a sweep that ``--out`` wrote, and its page with figures in more formats."""
    report.check()
    swept = Sweep.load(folder)
    lines_of, repeat = Fleet.of(swept), max(len(of["goodput"]) for of in swept.values.values())
    title = _title(swept.controllers, swept.design, {}, [])
    finish = output.show_early(*_tables(swept, lines_of, repeat, title), as_json=report.as_json)
    if report.out is not None:
        with new_folder(report.out, report.force) as place, page_of(place, title):
            _page(swept, lines_of, place, repeat, title, report.formats)
        report.done(report.out)
    finish()
    if report.as_json:
        _print_json(swept, lines_of)


def _tables(swept: Sweep, lines: Fleet | None, repeat: int, title: str) -> list[Table | str]:
    """The tables of the terminal."""
    if lines is not None:
        return fleet.printed(lines, title)
    shares = [_shares(swept, repeat)] if swept.of_controllers else []
    return [_table(swept, repeat, title), *shares]


def _variants(
    what: Sequence[str],
    base: Mapping[str, Any],
    options: Sequence[str],
    engine: str,
    settings: Sequence[tuple[str, str]],
    trusted: bool,
) -> tuple[list[Variant], list[Contender]]:
    """The scenario of each controller, or of the one file, and the controllers."""
    if any(one.endswith((".toml", ".json")) for one in what):
        if len(what) > 1:
            raise InputError(f"{' '.join(what)}: name controllers, or one scenario file")
        if options:
            raise InputError(
                f"--{options[0]}: belongs to controllers; set a key of {what[0]} with --set or --over"
            )
        file = Path(what[0])
        files = trust.all_named() if trusted else trust.named(settings=settings, beside=file.parent)
        return [Variant(of_file(file, files))], []
    compared = contenders(what, engine)
    files = trust.named(compared, settings)
    documents = {one.name: {"name": one.name, **base, "flows": [one.flow(1)]} for one in compared}
    return [
        Variant(of_document(json.dumps(document), files), name) for name, document in documents.items()
    ], compared


SEVERAL_LINKS = (
    "Utilization and queueing delay are those of the bottleneck that the row names. "
    "Goodput and loss are of all flows, whatever their direction."
)


@dataclass
class Ended:
    """The end of the runs of a plan."""

    of: Outcome
    stopped: bool
    """True if they were interrupted."""

    def leave(self, out: Path | None) -> None:
        """Prints a sentence and ends the command if they were interrupted."""
        if self.stopped:
            count = f"interrupted after {self.of.done} of {self.of.total} runs"
            where = f"; the same command continues with those in {out}" if out is not None else ""
            output.leave_interrupted(f"{count}{where}")


def _samples(text: str | None) -> tuple[int | None, str]:
    """The number and the draw of ``--samples``. Raises InputError."""
    count, colon, draw = (text or "").partition(":")
    if text is None:
        return None, DRAWS[0]
    if not count.isdecimal() or not 1 <= int(count) <= MOST_SAMPLES or (colon and not draw):
        raise InputError(f"--samples {text}: must be N or N:DRAW, with N from 1 to {MOST_SAMPLES}")
    return int(count), draw or DRAWS[0]


def workers_for(plan: Plan, engine: NamedEngine, executor: str) -> executors.Workers:
    """The workers that ``--executor`` names, with at most one process for each run. Raises InputError."""
    given, (name, colon, count) = executor, executor.partition(":")
    processes: int | None = None
    if colon and not count.startswith("//"):
        if not count.isdecimal() or not 1 <= int(count) <= MOST_PROCESSES:
            raise InputError(
                f"--executor {executor}: processes must be a whole number from 1 to {MOST_PROCESSES}"
            )
        executor, processes = name, int(count)
    if engine.real_time and (executor != "local" or processes is not None):
        raise InputError(f"--executor {given}: {engine.words} runs on this machine, one at a time")
    if engine.real_time:
        return executors.one_thread()
    if processes is not None:
        processes = min(processes, len(plan))
        executors.check_processes(processes, _engine.available_memory())
    return executors.workers(executor, processes)


def run_plan(
    plan: Plan, folder: Path, workers: executors.Workers, engine: NamedEngine
) -> tuple[Ended, Sweep | None]:
    """Runs the sweep until it is done or interrupted. Returns the sweep in the folder, if it has one."""
    outcome = Outcome(0, len(plan), [])
    begun, early = time.monotonic(), 0
    with Interrupts() as interrupts:
        with interrupts.stoppable():
            interrupts.check()
            with (
                output.progress(f"{len(plan)} runs") as at,
                closing(execute(plan, folder, workers, engine, at)) as steps,
            ):
                for outcome in steps:
                    late = time.monotonic() - begun > output.SHOW_PROGRESS_AFTER_S
                    if late and early < MOST_EARLY and outcome.done < outcome.total and outcome.latest:
                        early += 1
                        say(_line(outcome.latest))
        ended = Ended(outcome, interrupts.asked)
        if not outcome.done and not (folder / "chunks").exists():
            return ended, None
        swept = finish(plan, folder)
        if ended.stopped:
            # Workers may have written more rows before they ended than have come back.
            present = SweepFolder(folder).digests()
            outcome.done = sum(item.digest in present for item in plan.items())
    return ended, swept if (folder / "runs.parquet").exists() else None


def _line(one: work.Example) -> str:
    """A run in words: ``cubic, path.queue=9p, seed 1: goodput of all flows 9.3 Mbit/s, …``."""
    numbers = (
        f"{METRICS[name].label} {one.values[name]:.{METRICS[name].digits}f} {METRICS[name].unit}".strip()
        for name in HEADS
    )
    return f"{one.name}: {', '.join(numbers)}"


@contextmanager
def growing_folder(report: Report, command: str, engine: NamedEngine) -> Iterator[Path]:
    """The folder of ``--out``, in which an interrupted command goes on, or one that goes with the command."""
    if report.out is None:
        with TemporaryDirectory(prefix=f"ackclock-{command}-") as folder:
            yield Path(folder)
    else:
        with resumable_folder(report.out, {"command": command, **engine.identity()}, report.force) as place:
            yield place


def _title(labels: Iterable[str], design: Design, path: Mapping[str, str], settings: titles.Settings) -> str:
    """The swept keys, the options of a path that are not swept, and other settings."""
    own = () if design.lines is None else design.lines.keys
    keys = [*([LINES] if own else []), *(key for key in design.keys if key not in own)]
    over = ", ".join(key.removeprefix("path.") for key in keys) or "nothing"
    shown = {f"path.{name}": f"{name} {{}}" for name in path if f"path.{name}" not in design.keys}
    values = titles.as_set({key: path[key.removeprefix("path.")] for key in shown}, settings)
    words = [word.format(value) for word, value in zip(shown.values(), values, strict=True)]
    title = "; ".join([f"{', '.join(labels)} over {over}", *([", ".join(words)] if words else [])])
    return titles.with_settings(title, settings, [*shown, *design.keys])


def _cells(swept: Sweep, place: Place, names: Iterable[str], repeat: int) -> list[str]:
    alone = repeat == 1 or swept.is_alike(place)
    found = ((swept.interval(place, name), METRICS[name].digits) for name in names)
    return ["-" if interval is None else _shown(interval, digits, alone) for interval, digits in found]


def _shown(interval: Interval, digits: int, alone: bool) -> str:
    """A median with its interval, or without where repetitions are one or the same."""
    ends = "" if alone else f" [{interval.low:.{digits}f}, {interval.high:.{digits}f}]"
    return f"{interval.median:.{digits}f}{ends}"


def _heads(swept: Sweep) -> list[str]:
    """The columns that name a row, including the link of the queue if there are several."""
    keys = [key.removeprefix("path.") for key in swept.design.keys]
    return [*keys, "controller", *(["bottleneck"] if swept.bottlenecks else [])]


def _named(swept: Sweep, place: Place) -> list[str]:
    """The cells below ``_heads``."""
    values = [*(value for _, value in place.point), place.controller]
    return [*values, swept.bottlenecks[place]] if swept.bottlenecks else values


def _table(swept: Sweep, repeat: int, title: str) -> Table:
    """A row for each controller at each point, grouped by point."""
    places = list(swept.values)
    of_all = f", {INTERVAL}" if repeat > 1 else ""
    cut = f", the first {MOST_ROWS} of {len(places)} rows" if len(places) > MOST_ROWS else ""
    table = Table(title=f"{title}{of_all}{cut}", title_justify="left")
    for head in _heads(swept):
        table.add_column(head)
    names = list(HEADS) if repeat == 1 else WITH_INTERVALS
    for name in names:
        table.add_column(HEADS[name], justify="right", no_wrap=True)
    for place in _by_point(places)[:MOST_ROWS]:
        table.add_row(*map(Text, [*_named(swept, place), *_cells(swept, place, names, repeat)]))
    return table


def _shares(swept: Sweep, repeat: int) -> Table:
    """A row for each controller of a run, with the goodput of its flows."""
    table = Table(title="controllers (sums over their flows)", title_justify="left")
    for head in (*_heads(swept), "flows of"):
        table.add_column(head)
    for head in ("goodput\nMbit/s", "share\n%"):
        table.add_column(head, justify="right", no_wrap=True)
    for place in _by_point(list(swept.of_controllers))[:MOST_ROWS]:
        of = swept.of_controllers[place]
        total = sum(interval.median for interval in of.values())
        for cc, interval in of.items():
            shown = _shown(interval, 2, repeat == 1 or swept.is_alike(place))
            share = f"{100 * interval.median / total:.1f}" if total else "-"
            table.add_row(*map(Text, [*_named(swept, place), cc, shown, share]))
    return table


def _by_point(places: Sequence[Place]) -> list[Place]:
    order = {point: number for number, point in enumerate(dict.fromkeys(place.point for place in places))}
    return sorted(places, key=lambda place: order[place.point])


def _page(
    swept: Sweep, lines: Fleet | None, folder: Path, repeat: int, title: str, formats: Sequence[str]
) -> None:
    """The report: the table, and a figure of each metric."""
    page = Page(title)
    if repeat > 1:
        page.paragraph(f"Numbers and bars: {INTERVAL}.")
    for sentence in [*output.same_repetitions(swept.alike), *output.moving_queues(swept.moving_queues)]:
        page.paragraph(f"{sentence[:1].upper()}{sentence[1:]}.", "note")
    if swept.bottlenecks:
        page.paragraph(SEVERAL_LINKS, "note")
    several_flows = any(value < 1.0 for of in swept.values.values() for value in of["jain"])
    metrics = [name for name in METRICS if name != "jain" or several_flows]
    if lines is not None:
        fleet.fill(page, lines, folder, formats)
    heads = [*_heads(swept), *(head.replace("\n", " ") for head in HEADS.values())]
    places = _by_point(list(swept.values))
    rows = [[*_named(swept, place), *_cells(swept, place, HEADS, repeat)] for place in places[:1000]]
    page.table(heads, rows)
    if swept.of_controllers:
        shares = _shares(swept, repeat)
        page.table(notebook.heads(shares), notebook.cells(shares))
    for name in metrics:
        file = folder / f"{name.replace('_', '-')}.png"
        page.draw(file, METRICS[name].axis, partial(swept.plot, name), formats)
    for sentence in page.undrawn:
        say(f"warning: {sentence}")
    page.details("what was swept", json.dumps(swept.described(), indent=2))
    page.write(folder / "index.html")


def _print_json(swept: Sweep, lines: Fleet | None) -> None:
    """Prints the one object on standard output, row by row: a sweep may have more rows than memory."""
    over: Mapping[str, Any] = swept.design.described()
    head = json.dumps({"version": _engine.version(), "sweep": {"over": over}}, allow_nan=False)
    sys.stdout.write(f'{head[:-2]}, "rows": [')
    for number, row in enumerate(swept.rows()):
        sys.stdout.write(",\n" if number else "\n")
        json.dump(row, sys.stdout, allow_nan=False)
    of_lines = "" if lines is None else f', "lines": {json.dumps(lines.described(), allow_nan=False)}'
    sys.stdout.write(f"\n]{of_lines}}}}}\n")
