"""``ackclock slow-start``: ways to start, on many paths."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from ackclock import _engine, repetitions, slow_start
from ackclock.cli import completing, output
from ackclock.cli.choosing import Chosen, on_engine
from ackclock.errors import InputError, did_you_mean
from ackclock.printable import write_csv
from ackclock.report.folders import check_folder, new_folder
from ackclock.slow_start import METHODS, NETWORKS, POWERS, Conditions, Start, Summary

TABLE = "slow-start"
"""The name of the table of rows in a folder."""

READ = (
    "Left at: the largest window of slow start over what the path holds. Times: to so many bytes, over "
    "those of the first method."
)


@on_engine(without=("at_once", "qlog"))
def slow_starts(
    methods: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="METHOD…",
            help=f"Of {', '.join(METHODS)}; default: all.",
            autocompletion=completing.slow_starts,
        ),
    ] = None,
    cc: Annotated[
        str, typer.Option(help="The controller that starts.", autocompletion=completing.controllers)
    ] = "cubic",
    paths: Annotated[int, typer.Option(min=1, max=100_000, help="How many paths are drawn.")] = 100,
    rate: Annotated[str, typer.Option(help="Rates, LOW..HIGH.")] = "1mbit..1gbit",
    rtt: Annotated[str, typer.Option(help="Base RTTs.")] = "5ms..600ms",
    buffer: Annotated[str, typer.Option(help="Queue limits, in bandwidth-delay products.")] = "0.1..10",
    network: Annotated[
        str,
        typer.Option(
            help="What paths lead over: wired, wifi (802.11n with neighbours) or cellular.",
            autocompletion=completing.networks,
        ),
    ] = "wired",
    trace: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="A recorded link, as for mm-link; paths take them in turn."),
    ] = None,
    cross: Annotated[
        float, typer.Option(min=0.0, max=0.95, help="The share of the link that other traffic takes.")
    ] = 0.0,
    application: Annotated[
        float,
        typer.Option(
            min=0.0, max=10.0, help="What the application sends, as a share of the rate; 0: no limit."
        ),
    ] = 0.0,
    settings: output.SetOption = None,
    seed: output.SeedOption = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write a row for each method and path here.")
    ] = None,
    force: output.ForceOption = False,
    as_json: output.JsonOption = False,
    *,
    engine: Chosen,
) -> None:
    """Compare slow starts over drawn paths: where each ends, what it loses, how soon data arrives.

    Example: `ackclock slow-start classic hystart hystart++ search --cc newreno --paths 200`
    """
    output.check_current_folder()
    if out is not None:
        check_folder(out, force)
    first = 1 if seed is None else seed
    chosen = _methods(methods)
    conditions = _conditions(network, cross, application, trace or [])
    drawn = _draw(conditions, paths, rate, rtt, buffer, first)
    overrides = output.overrides(settings)
    output.check_arguments("slow-start", dict(overrides), ("cc", "parameters", "parameters.slow_start"))
    files, runner = _engine.Files(), engine.make()
    points = [
        repetitions.Point(
            (index, method),
            _engine.resolve_json(path.document(cc, method), overrides, files),
            repetitions.seeds(first, 1),
        )
        for index, path in enumerate(drawn)
        for method in chosen
    ]
    for point in points:
        runner.check(point.plan)
    found: dict[tuple[int, str], Start] = {}
    with output.progress("slow starts") as report:
        # Few at a time: the series of a fast path are long, and only measured numbers of them stay.
        for result in repetitions.results(points, runner, report, batch=8):
            index, method = result.key
            found[result.key] = slow_start.measure(method, drawn[index], result.run)
    starts = [found[index, method] for index in range(len(drawn)) for method in chosen]
    summaries = slow_start.summaries(starts, chosen)
    if out is not None:
        with new_folder(out, force) as folder:
            _write(starts, folder)
    title = f"{cc} on {len(drawn)} paths of {rate}, {rtt}, {buffer} BDP of queue{_words(conditions)}"
    output.show(_table(summaries, title), READ, as_json=as_json)
    if as_json:
        rows = [asdict(one) for one in summaries]
        output.print_json({"version": _engine.version(), "slow_start": {"cc": cc, "methods": rows}})


def _methods(names: list[str] | None) -> list[str]:
    """Each named method once, or all of them. Raises InputError for an unknown one."""
    for name in names or []:
        if name not in METHODS:
            near = did_you_mean(name, list(METHODS))
            raise InputError(f"{name}: must be one of {', '.join(METHODS)}{near}")
    return list(dict.fromkeys(names or METHODS))


def _conditions(network: str, cross: float, application: float, traces: list[Path]) -> Conditions:
    """The conditions of the paths. Raises InputError for unknown ones."""
    if network not in NETWORKS:
        near = did_you_mean(network, list(NETWORKS))
        raise InputError(f"--network {network}: must be one of {', '.join(NETWORKS)}{near}")
    if traces and network == "wifi":
        raise InputError("--trace: a recorded link is cellular or wired; leave --network wifi out")
    return Conditions(network, cross, application, tuple(str(file.resolve()) for file in traces))


def _draw(
    conditions: Conditions, count: int, rate: str, rtt: str, buffer: str, seed: int
) -> list[slow_start.Path]:
    """The paths, drawn from ranges in text. Raises InputError for other text."""
    try:
        ranges = (
            slow_start.span(rate, "rate", "--rate"),
            slow_start.span(rtt, "time", "--rtt"),
            slow_start.span(buffer, "number", "--buffer"),
        )
        return list(slow_start.paths(count, *ranges, seed, conditions))
    except ValueError as error:
        raise InputError(str(error)) from None


def _words(of: Conditions) -> str:
    """The words of a title for paths that are not clean."""
    said = [] if of.network == "wired" else [of.network]
    said += [f"{len(of.traces)} recorded"] if of.traces else []
    said += [f"{100 * of.cross:.0f} % taken by others"] if of.cross else []
    said += [f"an application at {100 * of.application:.0f} % of the rate"] if of.application else []
    return "".join(f", {one}" for one in said)


def _write(starts: list[Start], folder: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.Table.from_pylist([start.row() for start in starts])
    pq.write_table(table, folder / f"{TABLE}.parquet", compression="zstd")
    write_csv(table, folder / f"{TABLE}.csv")


def _table(summaries: list[Summary], title: str) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column("method")
    for head in ("left at\n10 %", "\n50 %", "\n90 %", "paths with\nlosses", "mean loss\nBDP"):
        table.add_column(head, justify="right")
    for power in POWERS:
        table.add_column(f"10^{power}", justify="right")
    for one in summaries:
        left = ["-"] * 3 if one.exit_bdp is None else [f"{value:.2f}" for value in one.exit_bdp]
        times = ["-" if ratio is None else f"{ratio:.2f}" for ratio in one.times]
        table.add_row(one.method, *left, f"{100 * one.lossy:.0f} %", f"{one.lost_bdp:.2f}", *times)
    return table
