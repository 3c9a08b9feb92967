"""``ackclock slow-start``: ways to start, on many paths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from rich.table import Table

from ackclock import _engine, repetitions
from ackclock import slow_start as starts_of
from ackclock.cli import completing, output
from ackclock.cli.command import FILE, Argument, Number, Option, command
from ackclock.cli.engine import Chosen, engine_options
from ackclock.cli.options import SEED, SET, report_options
from ackclock.cli.output import Report
from ackclock.errors import InputError, did_you_mean
from ackclock.printable import write_csv
from ackclock.report.folders import new_folder
from ackclock.slow_start import METHODS, NETWORKS, POWERS, Conditions, Start, Summary

TABLE = "slow-start"
"""The name of the table of rows in a folder."""

READ = (
    "Left at: the largest window of slow start over what the path holds. Times: to so many bytes, over "
    "those of the first method."
)


@command(
    Argument(
        "methods",
        nargs=-1,
        metavar="[METHOD…]",
        help=f"Of {', '.join(METHODS)}; default: all.",
        completes=completing.slow_starts,
    ),
    Option("--cc", default="cubic", help="The controller that starts.", completes=completing.controllers),
    Option(
        "--paths", heading="Paths", type=Number(1, 100_000), default=100, help="How many paths are drawn."
    ),
    Option("--rate", heading="Paths", default="1mbit..1gbit", help="Rates, LOW..HIGH."),
    Option("--rtt", heading="Paths", default="5ms..600ms", help="Base RTTs."),
    Option("--buffer", heading="Paths", default="0.1..10", help="Queue limits, in bandwidth-delay products."),
    Option(
        "--network",
        heading="Paths",
        default="wired",
        help="What paths lead over: wired, wifi (802.11n with neighbours) or cellular.",
        completes=completing.networks,
    ),
    Option(
        "--trace",
        heading="Paths",
        type=FILE,
        multiple=True,
        metavar="FILE",
        help="A recorded link, as for mm-link; paths take them in turn.",
    ),
    Option(
        "--cross",
        heading="Paths",
        type=Number(0.0, 0.95, float),
        default=0.0,
        help="The share of the link that other traffic takes.",
    ),
    Option(
        "--application",
        heading="Paths",
        type=Number(0.0, 10.0, float),
        default=0.0,
        help="What the application sends, as a share of the rate; 0: no limit.",
    ),
    SET,
    SEED,
    engine_options(without=("at_once", "qlog")),
    report_options(),
)
def slow_start(
    methods: Sequence[str],
    cc: str,
    paths: int,
    rate: str,
    rtt: str,
    buffer: str,
    network: str,
    trace: Sequence[Path],
    cross: float,
    application: float,
    settings: Sequence[str],
    seed: int | None,
    engine: Chosen,
    report: Report,
) -> None:
    """Compare slow starts over drawn paths: their ends, their losses, and the arrival of data.

    Example: `ackclock slow-start classic hystart hystart++ search --cc newreno --paths 200`
    """
    output.check_current_folder()
    report.check()
    first = 1 if seed is None else seed
    chosen = _methods(methods)
    conditions = _conditions(network, cross, application, trace)
    drawn = _draw(conditions, paths, rate, rtt, buffer, first)
    overrides = output.overrides(settings)
    output.check_arguments("slow-start", dict(overrides), ("cc", "parameters", "parameters.slow_start"))
    files, runner = _engine.Files([cc]), engine.make()
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
    with output.progress("slow starts") as at:
        # Few at a time: the series of a fast path are long, and only measured numbers of them stay.
        for result in repetitions.results(points, runner, at, batch=8):
            index, method = result.key
            found[result.key] = starts_of.measure(method, drawn[index], result.run)
    starts = [found[index, method] for index in range(len(drawn)) for method in chosen]
    summaries = starts_of.summaries(starts, chosen)
    if report.out is not None:
        with new_folder(report.out, report.force) as folder:
            _write(starts, folder)
    title = f"{cc} on {len(drawn)} paths of {rate}, {rtt}, {buffer} BDP of queue{_words(conditions)}"
    output.show(_table(summaries, title), READ, as_json=report.as_json)
    if report.as_json:
        rows = [asdict(one) for one in summaries]
        output.print_json({"version": _engine.version(), "slow_start": {"cc": cc, "methods": rows}})


def _methods(names: Sequence[str]) -> list[str]:
    """Each named method once, or all of them. Raises InputError for an unknown one."""
    for name in names:
        if name not in METHODS:
            near = did_you_mean(name, list(METHODS))
            raise InputError(f"{name}: must be one of {', '.join(METHODS)}{near}")
    return list(dict.fromkeys(names or METHODS))


def _conditions(network: str, cross: float, application: float, traces: Sequence[Path]) -> Conditions:
    """The conditions of the paths. Raises InputError for unknown ones."""
    if network not in NETWORKS:
        near = did_you_mean(network, list(NETWORKS))
        raise InputError(f"--network {network}: must be one of {', '.join(NETWORKS)}{near}")
    if traces and network == "wifi":
        raise InputError("--trace: a recorded link is cellular or wired; leave --network wifi out")
    return Conditions(network, cross, application, tuple(str(file.resolve()) for file in traces))


def _draw(
    conditions: Conditions, count: int, rate: str, rtt: str, buffer: str, seed: int
) -> list[starts_of.DrawnPath]:
    """The paths, drawn from ranges in text. Raises InputError for other text."""
    try:
        ranges = (
            starts_of.span(rate, "rate", "--rate"),
            starts_of.span(rtt, "time", "--rtt"),
            starts_of.span(buffer, "number", "--buffer"),
        )
        return list(starts_of.paths(count, *ranges, seed, conditions))
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
