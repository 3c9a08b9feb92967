"""``ackclock parity``: both engines on the same scenarios."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from ackclock.cli import INTERRUPTED, output
from ackclock.cli.output import notes
from ackclock.jobs import Simulator
from ackclock.live import Live, check_built_in
from ackclock.mistakes import InputError
from ackclock.report import check_folder, new_folder

if TYPE_CHECKING:
    from ackclock.parity import Pair

QUICK = {"rates": "10mbit", "rtts": "40ms", "queues": "1bdp", "flows": "1", "duration": "10s", "warmup": "2s"}
"""What ``--quick`` leaves of the grid."""


def parity(
    rates: Annotated[str, typer.Option(help="Rates of the bottleneck.")] = "10mbit,50mbit",
    rtts: Annotated[str, typer.Option(help="Base RTTs.")] = "40ms,100ms",
    queues: Annotated[str, typer.Option(help="Queue limits.")] = "0.5bdp,1bdp,2bdp",
    flows: Annotated[str, typer.Option(help="Numbers of flows.")] = "1,2",
    controllers: Annotated[str, typer.Option(help="Controllers.")] = "newreno,cubic,cdg,siad",
    duration: Annotated[str, typer.Option(help="Length of a run.")] = "30s",
    warmup: Annotated[str, typer.Option(help="Left out of the statistics at the start.")] = "5s",
    quick: Annotated[bool, typer.Option("--quick", help="One path, one flow, runs of 10 s.")] = False,
    seed: output.SeedOption = None,
    threads: output.ThreadsOption = None,
    retries: output.RetriesOption = 1,
    gso_max_segs: output.GsoOption = None,
    out: output.OutOption = None,
    force: output.ForceOption = False,
    as_json: output.JsonOption = False,
) -> None:
    """Run a grid of scenarios simulated and live, and compare.

    Lists are separated by commas. Example: `ackclock parity --quick --controllers newreno,cdg --out results`
    """
    check_built_in()
    if out is not None:
        check_folder(out, force)
    if quick:
        rates, rtts, queues, flows = (QUICK[key] for key in ("rates", "rtts", "queues", "flows"))
        duration, warmup = QUICK["duration"], QUICK["warmup"]
    from ackclock import parity as both

    cells = both.grid(_list(rates), _list(rtts), _list(queues), _numbers(flows), _list(controllers))
    scenarios = [
        (cell.resolved(duration, warmup, simulated=True), cell.resolved(duration, warmup)) for cell in cells
    ]
    live = Live(retries, gso_max_segs)
    output.look_over([one for _, one in scenarios], 1, live)
    first = 1 if seed is None else seed
    done: list[Pair] = []
    interrupted = False
    with output.progress(f"{len(cells)} cells") as at:
        try:
            for pair in both.pairs(cells, scenarios, first, Simulator(threads), live, at):
                done.append(pair)  # noqa: PERF402
        except KeyboardInterrupt:
            interrupted = True
    if done and out is not None:
        with new_folder(out, force) as folder:
            both.write(done, folder, interrupted)
        notes.print(f"report: {out / 'index.html'}", markup=False, soft_wrap=True)
    if interrupted:
        notes.print("interrupted")
        raise typer.Exit(INTERRUPTED)
    output.show(_table(done), as_json=as_json)
    if as_json:
        output.print_json(both.document(done))


def _list(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _numbers(text: str) -> list[int]:
    try:
        return [int(part) for part in _list(text)]
    except ValueError:
        raise InputError(f"--flows {text}: must be whole numbers separated by commas, like 1,2") from None


def _table(done: list[Pair]) -> Table:
    from ackclock import parity as both

    table = Table(title="simulated / live", title_justify="left")
    for heading in ("path", "flows", *both.QUANTITIES.values(), ""):
        table.add_column(heading)
    for pair in done:
        path, flows, *values, mark = both.row(pair)
        shown = [f"{simulated} / {live}" for simulated, live in zip(values[::2], values[1::2], strict=True)]
        table.add_row(path, flows, *shown, mark)
    return table
