"""``ackclock bench``: packets per CPU second."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from rich.table import Table

from ackclock import bench as benches
from ackclock.cli import completing, output
from ackclock.cli.command import FILE, Number, Option, command, flag
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
    Option(
        "--beside",
        type=FILE,
        metavar="DIR",
        help="Another build: the folder `ackclock` of its package. It runs in turns with this one.",
    ),
    engine_options(without=registry.option_names()),
    JSON,
)
def bench(
    only: Sequence[str], every: bool, repeat: int, beside: Path | None, engine: Chosen, as_json: bool
) -> None:
    """Measure packets per CPU second on fixed scenarios, each in its own process, and the cost of commands.

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
        if (case.of or case.command) and engine.kind.no_python is not None:
            raise InputError(f"--only {case.name}: {engine.kind.no_python}")
        if case.missing:
            raise InputError(
                f"--only {case.name}: needs {case.missing} (python -m pip install {case.missing})"
            )
    other = None
    if beside is not None:
        other = benches.Build(beside)
        try:
            _ = other.engine
        except ValueError as error:
            raise InputError(f"--beside {error}") from error
    results = []
    with output.progress("bench") as at:
        for number, case in enumerate(cases):
            at(number / len(cases))
            results.append(benches.measure(case, repeat, engine.name, other))
    tables = [_costs(results)] if other is None else [_costs(results), _speeds(results)]
    output.show(*tables, as_json=as_json)
    if as_json:
        output.print_json({"bench": results})


def _costs(results: Sequence[dict[str, Any]]) -> Table:
    """The cost of each case. Commands count no packets: they have times and instructions of their own."""
    table = Table(
        "case",
        "controller",
        "flows",
        "data packets",
        "CPU s",
        "wall s",
        "million packets/CPU s",
        "instructions/packet",
        "million instructions",
        "peak RSS MB",
    )
    for r in results:
        table.add_row(
            r["name"],
            r["controller"],
            str(r["flows"]),
            "" if r["data_packets"] is None else str(r["data_packets"]),
            f"{r['cpu_s']:#.3g}",
            f"{r['wall_s']:#.3g}",
            _number(r["packets_per_cpu_s"], "{:.2f}", 1e-6),
            _number(r["instructions_per_packet"], "{:.0f}"),
            _number(r["instructions"], "{:#.3g}", 1e-6),
            f"{r['peak_rss_bytes'] / 1e6:.0f}",
        )
    return table


def _speeds(results: Sequence[dict[str, Any]]) -> Table:
    """Each case beside another build: its time and its instructions over those of this one."""
    table = Table("case", "time there/here", "quartiles", "instructions there/here", "simulates the same")
    for r in results:
        there = r["beside"]
        packets = [r["data_packets"], there["data_packets"]]
        alike = "" if packets[0] is None else "yes" if packets[0] == packets[1] else "no"
        low, high = there["quartiles"]
        table.add_row(
            r["name"],
            f"{there['speed']:.3f}",
            f"{low:.3f} to {high:.3f}",
            _number(there["instructions_ratio"], "{:.3f}"),
            alike,
        )
    return table


def _number(value: float | None, form: str, unit: float = 1.0) -> str:
    """A number in words, or nothing."""
    return "" if value is None else form.format(value * unit)
