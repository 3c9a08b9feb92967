"""``ackclock bench``: packets per CPU second."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

from rich.table import Table

from ackclock import bench as benches
from ackclock.cli import completing, output
from ackclock.cli.command import Number, Option, command, flag
from ackclock.cli.engine import Chosen, engine_options
from ackclock.cli.options import JSON
from ackclock.engines import registry
from ackclock.errors import InputError


@command(
    Option(
        "--only",
        multiple=True,
        metavar="NAME",
        help="Only this case. Repeatable.",
        completes=completing.cases,
    ),
    flag("--all", "every", help="Also a million flows, which take gigabytes."),
    Option("--repeat", type=Number(1), default=3, help="Runs of each case; the fastest counts."),
    engine_options(without=registry.option_names()),
    JSON,
)
def bench(only: Sequence[str], every: bool, repeat: int, engine: Chosen, as_json: bool) -> None:
    """Measure packets per CPU second on fixed scenarios, each in its own process.

    Where valgrind is installed, it counts the instructions a packet, which do not depend on what else runs.

    Example: `ackclock bench --only newreno-10 --repeat 3`
    """
    names = [case.name for case in benches.CASES]
    if stray := set(only) - set(names):
        raise InputError(f"--only {min(stray)}: there is no such case (there are {', '.join(names)})")
    if only and every:
        raise InputError("--all runs every case: no --only beside it")
    cores = "cores" in {field.name for field in fields(engine.kind)}
    cases = benches.chosen(list(only), engine.kind.no_python is None, cores, every)
    for case in cases:
        if case.cores > 1 and not cores:
            raise InputError(f"--only {case.name}: {engine.kind.words} has no option `cores`")
        if case.of and engine.kind.no_python is not None:
            raise InputError(f"--only {case.name}: {engine.kind.no_python}")
        if case.missing:
            raise InputError(
                f"--only {case.name}: needs {case.missing} (python -m pip install {case.missing})"
            )
    results = []
    with output.progress("bench") as at:
        for number, case in enumerate(cases):
            at(number / len(cases))
            results.append(benches.measure(case, repeat, engine.name))
    table = Table(
        "case",
        "controller",
        "flows",
        "data packets",
        "CPU s",
        "wall s",
        "million packets/CPU s",
        "instructions/packet",
        "peak RSS MB",
    )
    for r in results:
        speed, memory = r["packets_per_cpu_s"] / 1e6, r["peak_rss_bytes"] / 1e6
        instructions = r["instructions_per_packet"]
        count = (
            str(r["flows"]),
            str(r["data_packets"]),
            f"{r['cpu_s']:.3f}",
            f"{r['wall_s']:.3f}",
            f"{speed:.2f}",
            "" if instructions is None else f"{instructions:.0f}",
            f"{memory:.0f}",
        )
        table.add_row(r["name"], r["controller"], *count)
    output.show(table, as_json=as_json)
    if as_json:
        output.print_json({"bench": results})
