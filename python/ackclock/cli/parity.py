"""``ackclock kernel parity``: both engines on the same scenarios."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table

from ackclock import _engine, repetitions
from ackclock.cli import completing, output
from ackclock.cli.command import Number, Option, command, flag, given
from ackclock.cli.engine import LIVE, Chosen, engine_beside_simulator
from ackclock.cli.interrupts import Interrupts
from ackclock.cli.options import GROWING_OUT, JUNIT, SEED, report_options
from ackclock.cli.output import Report
from ackclock.engines import Engine
from ackclock.errors import InputError
from ackclock.report import junit
from ackclock.result import Run
from ackclock.verdict import NOT_JUDGED

if TYPE_CHECKING:
    from ackclock.parity import Comparison, Grid, Situation

QUICK = {"rates": "10mbit", "rtts": "40ms", "queues": "1bdp", "flows": "1", "duration": "10s", "warmup": "2s"}
"""The grid of ``--quick``."""

MOST_FLOWS = 1000
"""The largest number of flows in a cell."""

REPORT_S = 1.0
"""The report is written at most this often, in seconds."""


@command(
    Option("--rates", heading="Grid", default="10mbit,50mbit", help="Rates of the bottleneck."),
    Option("--rtts", heading="Grid", default="40ms,100ms", help="Base RTTs."),
    Option("--queues", heading="Grid", default="0.5bdp,1bdp,2bdp", help="Queue limits."),
    Option("--losses", heading="Grid", default="0%", help="Shares of the data that are lost at random."),
    Option("--jitter", heading="Grid", default="0s", help="By how much ACKs are late at random, at most."),
    Option("--flows", heading="Grid", default="1,2", help="Numbers of flows."),
    Option(
        "--beside",
        heading="Grid",
        help="Controllers of a flow beside one of each controller, on every path: compares the shares.",
        completes=completing.controller_list,
    ),
    Option(
        "--controllers",
        heading="Grid",
        default="newreno,cubic,cdg,siad",
        help="Controllers.",
        completes=completing.controller_list,
    ),
    Option("--duration", heading="Grid", default="30s", help="Length of a run of greedy flows."),
    Option("--warmup", heading="Grid", default="5s", help="Time at its start that the statistics leave out."),
    Option("--only", help="Situations to run: greedy, marks…", completes=completing.situations),
    flag("--quick", help="One path, one greedy flow, runs of 10 s, but for options given."),
    SEED,
    Option(
        "--repeat",
        heading="Runs",
        type=Number(1, repetitions.MOST_REPETITIONS),
        default=1,
        help="Live runs of each cell.",
    ),
    Option(
        "--simulations",
        heading="Runs",
        type=Number(2, repetitions.MOST_REPETITIONS),
        default=10,
        help="Simulated runs of each, for the spread.",
    ),
    engine_beside_simulator(LIVE, without=("gso_max_segs", "qlog"), defaults={"retries": 1}),
    report_options(out=GROWING_OUT),
    JUNIT,
)
def parity(
    controllers: str,
    only: str | None,
    quick: bool,
    seed: int | None,
    repeat: int,
    simulations: int,
    engines: tuple[Chosen, Chosen],
    report: Report,
    junit_file: Path | None,
    **grid: Any,
) -> None:
    """Run many situations simulated and live, and compare: greedy flows over a grid of paths, pauses, losses…

    Lists are separated by commas. The options from rates to warm-up set the greedy flows. If one of them is
    given, the greedy flows run alone. Other situations have their own. Finished runs are saved in the folder
    of `--out`. After an interruption, the same command continues from there.
    Example: `ackclock kernel parity --quick --controllers newreno,cdg --out results`
    """
    if quick:
        grid |= {key: value for key, value in QUICK.items() if not given(key)}
    from ackclock import parity as both

    first = 1 if seed is None else seed
    repetitions.seeds(first, max(repeat, simulations))
    others = _list("beside", grid["beside"]) if grid["beside"] else []
    alone = not others or given("flows")
    greedy, controller_list = _greedy(grid, others, alone), _list("controllers", controllers)
    grid_alone = quick or any(given(option) for option in grid)
    every = [both.GREEDY] if grid_alone else [both.GREEDY, *both.catalogue()]
    names = both.select(_list("only", only)) if only else every
    situations = [
        one for name in names for one in (greedy if name == both.GREEDY else [both.catalogue()[name]])
    ]
    cells = both.Grid(situations, controller_list, first, repeat)
    settings: dict[str, Any] = {
        **grid,
        "controllers": controller_list,
        "only": names,
        "seed": first,
        "repeat": repeat,
    }
    runner, simulated = (one.make() for one in engines)
    out = report.out
    output.preflight([cell.plan() for cell in cells.cells()], 1, runner)
    if out is None:
        done, interrupted = _run(cells, simulations, simulated, runner, runner.name)
    else:
        with output.cached(runner, out, settings, report.force) as (cached, folder):
            done, interrupted = _run(cells, simulations, simulated, cached, runner.name, folder)
        report.done(out)
    if done:
        output.show(*_tables(done), as_json=report.as_json)
    if report.as_json:
        output.print_json(both.document(done))
    if junit_file is not None:
        junit.write(junit_file, "ackclock kernel parity", [_case(one) for one in done])
    if interrupted:
        continued = "" if out is None else f"; the same command continues with the runs in {out}"
        output.leave_interrupted(f"interrupted{continued}")


def _case(one: Comparison) -> junit.Entry:
    """The case of a cell: a pass if it is near or other seeds explain it, and skipped without a valid run."""
    group, name = one.cell.situation.group, f"{one.cell.path} {one.cell.name}".strip()
    if not one.valid:
        return junit.Entry(group, name, NOT_JUDGED, "every live run went past its error budget")
    far = "; ".join(check.sentence for check in one.far)
    return junit.Entry(group, name, "pass" if one.near or one.within_spread else "miss", far)


def _run(
    grid: Grid, simulations: int, simulator: Engine, live: Engine, name: str, folder: Path | None = None
) -> tuple[list[Comparison], bool]:
    """Runs the grid and reports finished cells. Returns the cells, and True if it was interrupted."""
    from ackclock import parity as both

    cells, planned = grid.cells(), grid.points()
    found: dict[int, list[Run]] = {}
    done: list[Comparison] = []
    reported = -math.inf

    def report(finished: bool = False) -> None:
        nonlocal reported
        if folder is not None:
            both.write(done, repetitions.count(planned), name, folder, finished)
        reported = time.monotonic()

    with Interrupts() as interrupts:
        with interrupts.stoppable():
            interrupts.check()
            if folder is not None and not (folder / "index.html").exists():
                report()
            with output.progress("simulated") as at:
                simulated = both.simulate(grid, simulations, simulator, at)
            with output.progress(f"{len(cells)} cells: {name}") as at:
                for cell, _, run in repetitions.results(planned, live, at):
                    found.setdefault(cell, []).append(run)
                    done = both.compared(cells, simulated, found)
                    if time.monotonic() > reported + REPORT_S:
                        report()
                    # A library that is loaded meanwhile may have swallowed the exception of a signal.
                    interrupts.check()
            report(finished=True)
        if interrupts.asked and done:
            report()
    return done, interrupts.asked


def _greedy(grid: Mapping[str, str], others: Sequence[str], alone: bool) -> list[Situation]:
    """Every combination of paths with numbers of greedy flows, if ``alone``, and with ``others``."""
    from ackclock import parity as both

    for loss in (losses := _list("losses", grid["losses"])):
        output.check_share("--losses", loss)
        try:
            _engine.quantity(loss, "fraction")
        except ValueError as error:
            raise InputError(f"--losses {loss}: {error}") from None
    try:
        _engine.quantity(grid["jitter"], "time")
    except ValueError as error:
        raise InputError(f"--jitter {grid['jitter']}: {error}") from None
    lists = (_list(option, grid[option]) for option in ("rates", "rtts", "queues"))
    times = (grid["duration"], grid["warmup"])
    paths = [
        both.GridPath(rate, rtt, queue, *times, loss, grid["jitter"])
        for rate, rtt, queue, loss in product(*lists, losses)
    ]
    numbers = _numbers(grid["flows"]) if alone else []
    return [
        situation
        for path in paths
        for situation in (
            *(both.greedy(path, number) for number in numbers),
            *(both.beside(path, other) for other in others),
        )
    ]


def _list(option: str, text: str) -> list[str]:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts:
        raise InputError(f"--{option} {text}: must be values separated by commas")
    return parts


def _numbers(text: str) -> list[int]:
    try:
        numbers = [int(part) for part in _list("flows", text)]
    except ValueError:
        numbers = []
    if not all(1 <= number <= MOST_FLOWS for number in numbers) or not numbers:
        raise InputError(f"--flows {text}: must be whole numbers from 1 to {MOST_FLOWS} separated by commas")
    return numbers


def _tables(done: list[Comparison]) -> tuple[Table | str, ...]:
    from ackclock import parity as both

    table = Table(
        "situation", *both.HEADINGS, title=f"simulated / {both.engine_of(done)}", title_justify="left"
    )
    for path, of_path in both.by_path(done):
        for index, one in enumerate(of_path):
            table.add_row("" if index else path, *both.row(one.as_json(), ranges=False))
        table.add_section()
    cells = [one.as_json() for one in done]
    summary = Table(*both.summary_headings(cells))
    for row in both.summary(cells):
        summary.add_row(*row)
    return table, summary, both.tally(cells), both.legend(done)
