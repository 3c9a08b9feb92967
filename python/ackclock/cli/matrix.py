"""``ackclock matrix``: every controller beside every other on one path."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import click
from rich.table import Table
from rich.text import Text

from ackclock import _engine, repetitions
from ackclock.cli import output, titles
from ackclock.cli.command import command
from ackclock.cli.console import Console
from ackclock.cli.engine import OF_WORKERS, Chosen, engine_options
from ackclock.cli.options import (
    CONTROLLERS,
    EXECUTOR,
    GROWING_OUT,
    PATH,
    REPEATS,
    Repeats,
    common,
    report_options,
)
from ackclock.cli.output import Report, moving_shares, notes, say
from ackclock.cli.paths import PathGiven
from ackclock.cli.status import INVALID, Interrupted
from ackclock.cli.sweep import growing_folder, run_plan, workers_for
from ackclock.contenders import contenders, made_again
from ackclock.matrix import QUANTITIES, Matrix, Setting, plan
from ackclock.matrix import matrix as of_runs
from ackclock.report import Page

MOST_ROWS = 60
"""The terminal shows no longer tables: all rows are in the folder of ``--out``."""

READ = (
    "A row is what a flow of its controller has beside one of the controller of the column. Harm is 0 where "
    "it has what it has alone, 1 where nothing is left (Ware et al. 2019)."
)


@command(
    CONTROLLERS,
    PATH,
    common(warmup="10s"),
    REPEATS,
    EXECUTOR,
    engine_options(without=OF_WORKERS),
    report_options(out=GROWING_OUT),
)
def matrix(
    controllers: Sequence[str],
    path: PathGiven,
    common: Mapping[str, str],
    repeats: Repeats,
    executor: str,
    engine: Chosen,
    report: Report,
) -> None:
    """Run every controller alone, beside itself and beside every other: shares, delays and harm.

    Example: `ackclock matrix newreno cubic bbr1 cdg --rate 50mbit --rtt 40ms --repeat 5 --out results`
    """
    output.check_current_folder()
    keys, set_keys = path.keys(), repeats.keys
    setting = Setting(keys, **common)
    compared = contenders(controllers, engine.name)
    output.check_arguments("matrix", set_keys)
    seeds = repetitions.seeds(repeats.first, repeats.repeat)
    planned, runs = plan(compared, setting, seeds, set_keys)
    runner = engine.make(**engine.with_python(planned.controllers))
    planned = planned.on(runner)
    for sentence in [*planned.check(runner), *(f"warning: {one}" for one in made_again(compared))]:
        say(sentence)
    workers = workers_for(planned, runner, executor)
    out = report.out
    with growing_folder(report, "matrix", runner) as folder:
        ended, swept = run_plan(planned, folder, workers, runner)
        if swept is None:
            ended.leave(out)
            raise Interrupted
        found = of_runs(swept, runs, [one.name for one in compared])
        words, shown = titles.of_path(keys, list(set_keys.items()))
        title = titles.with_settings(words, list(set_keys.items()), shown)
        for sentence in ended.of.invalid:
            say(f"warning: not valid: {sentence}")
        moving = moving_shares(found.moving)
        for sentence in moving:
            say(f"note: {sentence}")
        finish = output.show_early(*_tables(found, title, report.as_json), as_json=report.as_json)
        if out is not None and not ended.stopped:
            _page(found, folder, title, moving)
            report.done(out)
        finish()
        if report.as_json:
            output.print_json(document(found, _path(planned.places())))
    ended.leave(out)
    if ended.of.invalid:
        raise click.exceptions.Exit(INVALID)


def document(found: Matrix, path: Any) -> dict[str, Any]:
    """The object of ``--json``."""
    rows = [asdict(row) for row in found.rows]
    return {"version": _engine.version(), "matrix": {"path": path, "rows": rows}}


def _path(places: Iterator[tuple[str, Any, _engine.Plan]]) -> Any:
    """The path of the runs, with the keys that were set."""
    _, _, plan = next(places)
    document = json.loads(plan.resolved)
    return {key: document.get(key) for key in ("links", "path") if document.get(key)}


def _tables(found: Matrix, title: str, as_json: bool) -> list[Table | str]:
    """A square for each quantity, or where these do not fit a line for each pair."""
    squares = [_square(found, name) for name in QUANTITIES]
    squares[0].title = f"{title}: {squares[0].title}"
    console = notes if as_json else Console()
    width = console.width if console.is_terminal else 120
    free = console.options.update(max_width=10_000)
    if max(console.measure(one, options=free).maximum for one in squares) <= width:
        return [*squares, READ]
    return [_list(found, title), READ]


def _square(found: Matrix, name: str) -> Table:
    table = Table(title=QUANTITIES[name].words, title_justify="left")
    table.add_column("")
    for beside in found.names:
        table.add_column(Text(beside), justify="right", no_wrap=True)
    for controller in found.names:
        cells = [found.shown(name, controller, beside) for beside in found.names]
        table.add_row(Text(controller), *cells)
    return table


def _list(found: Matrix, title: str) -> Table:
    """A line for each pair, the most harmed flow first."""
    pairs = [(one, other) for one in found.names for other in found.names]
    pairs.sort(key=lambda pair: -(found.median("harm_goodput", *pair) or 0.0))
    cut = f", the {MOST_ROWS} most harmed of {len(pairs)}" if len(pairs) > MOST_ROWS else ""
    table = Table(title=f"{title}{cut}", title_justify="left")
    for head in ("controller", "beside"):
        table.add_column(head)
    for quantity in QUANTITIES.values():
        table.add_column(quantity.words, justify="right")
    for pair in pairs[:MOST_ROWS]:
        table.add_row(*map(Text, pair), *(found.shown(name, *pair) for name in QUANTITIES))
    return table


def _page(found: Matrix, folder: Path, title: str, moving: Sequence[str]) -> None:
    """The tables and the report."""
    from ackclock.plots.matrix import draw_matrix

    found.write(folder)
    page = Page(f"Beside each other: {title}")
    page.paragraph(f"{READ} Numbers are medians of the repetitions.")
    for sentence in moving:
        page.paragraph(f"{sentence}.")
    page.draw(folder / "matrix.png", "Shares, RTTs and harm", partial(draw_matrix, found.heat_maps()))
    for name, quantity in QUANTITIES.items():
        page.heading(quantity.words)
        rows = [[one, *(found.shown(name, one, other) for other in found.names)] for one in found.names]
        page.table(["", *found.names], rows)
    for sentence in page.undrawn:
        say(f"warning: {sentence}")
    page.write(folder / "index.html")
