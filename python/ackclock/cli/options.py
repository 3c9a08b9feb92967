"""Options that several commands share, each declared once and in a group with the others of its kind.

A group gives a command one value: a ``PathGiven``, ``Repeats``, a ``Report``. ``engine.py`` has the group for
engines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import click

from ackclock import repetitions
from ackclock.cli import completing, output
from ackclock.cli.command import FILE, Argument, Number, Option, Together, flag
from ackclock.cli.output import Capture, Report
from ackclock.cli.paths import PathGiven
from ackclock.engines import LARGEST_SEED

CONTROLLERS = Argument(
    "controllers",
    nargs=-1,
    required=True,
    metavar="CC…",
    help="Controllers: `cdg`, `'cdg(G=10ms)'`, `./mine.bpf.c`, `./mine.py:Mine`, `./mine.rs:Mine`.",
    completes=completing.controllers,
)

_path, _runs, _output, _engine_of = (
    partial(Option, heading=heading) for heading in ("Path", "Runs", "Output", "Engine")
)

RATE = _path("--rate", default="10mbit", help="Rate of the bottleneck.")
RTT = _path("--rtt", default="40ms", help="Base RTT, without queueing.")
QUEUE = _path(
    "--queue",
    default="1bdp",
    help="Queue limit: 84p, 64kB, 100ms, 1bdp, infinite; or a discipline: codel, fq_codel…",
    completes=completing.queues,
)
LOSS = _path("--loss", default="0%", help="Random loss on the way of the data.")
TRACE = _path(
    "--trace",
    type=FILE,
    metavar="FILE[:COLUMNS]",
    help="A file over time in place of --rate: a trace of mm-link, or a table or JSON with columns like "
    "time_s, rate_mbit, rtt_ms, loss; COLUMNS chooses some.",
)
TC = _path(
    "--tc",
    metavar="LINES",
    help="Lines of tc, or their file: 'tbf rate 10mbit burst 32kbit latency 50ms', 'netem delay 40ms 5ms'.",
)


def path_options(*options: Option) -> Together:
    """The options of a path, which the command gets as ``path``."""
    return Together("path", PathGiven.of, options)


PATH = path_options(RATE, RTT, QUEUE, LOSS, TRACE, TC)

PROFILE = _runs(
    "--profile",
    default="linux",
    help="The stack of the endpoints: linux, freebsd-9…",
    completes=completing.profiles,
)


def common(warmup: str = "0s") -> Together:
    """Keys of a scenario that every run of a command has, by name."""
    return Together(
        "common",
        dict,
        (
            _runs("--duration", default="60s", help="Length of a run."),
            _runs("--warmup", default=warmup, help="Time at the start that the statistics leave out."),
            PROFILE,
        ),
    )


SET = _runs(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="Set a key of the scenario: path.queue=1bdp, or flows.*.start=1s for all flows. Repeatable.",
    completes=completing.settings,
)
SEED = _runs(
    "--seed",
    type=Number(0, LARGEST_SEED),
    help="Seed, by default the scenario's; repetition r runs with seed + r.",
)
REPEAT = _runs(
    "--repeat",
    type=Number(1, repetitions.MOST_REPETITIONS),
    default=1,
    help="Repetitions, each with its own seed.",
)


@dataclass(frozen=True)
class Repeats:
    """The settings of a scenario, and how often it runs."""

    settings: Sequence[tuple[str, str]]
    """Keys and their values."""
    seed: int | None
    repeat: int

    @classmethod
    def of(cls, settings: Sequence[str], seed: int | None, repeat: int) -> Repeats:
        """The values of the options. Raises InputError."""
        return cls(output.overrides(settings), seed, repeat)

    @property
    def first(self) -> int:
        """The seed of the first repetition where no scenario has one."""
        return 1 if self.seed is None else self.seed

    @property
    def keys(self) -> dict[str, str]:
        """The settings by key."""
        return dict(self.settings)


REPEATS = Together("repeats", Repeats.of, (SET, SEED, REPEAT))


class _Capture(click.ParamType[Capture]):
    """A file, or the point of the path and a file."""

    name = "file"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """See ``click.ParamType.convert``."""
        point, colon, file = str(value).partition(":")
        if colon and point in output.POINTS:
            return Capture(Path(file), point)
        return Capture(Path(value))


PCAP = _output(
    "--pcap",
    type=_Capture(),
    metavar="[POINT:]FILE",
    help=f"Write a packet capture (pcapng), taken at POINT: {', '.join(output.POINTS)}.  "
    f"[default: {output.POINTS[0]}]",
)

OUT = _output("--out", type=FILE, metavar="DIR", help="Write report, figures and tables into this folder.")
GROWING_OUT = _output(
    "--out", type=FILE, metavar="DIR", help="Write tables and figures here; the same command goes on there."
)
FORCE = flag("--force", heading="Output", help="Replace a folder that is not empty.")
JSON = flag("--json", "as_json", heading="Output", help="Print one JSON object on standard output.")
JUNIT = _output(
    "--junit",
    "junit_file",
    type=FILE,
    metavar="FILE",
    help="Write the verdicts as JUnit XML, for CI systems.",
)
WORDS = {"pdf": "figures as pdf", "svg": "figures as svg", "csv": "tables as csv", "open": "open the report"}
"""The words of ``--also``."""
EVERYTHING = tuple(WORDS)


def report_options(*also: str, out: Option = OUT, json: Option = JSON) -> Together:
    """The options of a report, which the command gets as ``report``. ``also`` are its words of ``--also``."""

    def make(out: Path | None, force: bool, as_json: bool, also_written: str | None = None) -> Report:
        return Report(out, force, as_json, output.also_of(also_written or "", also))

    more = _output(
        "--also",
        "also_written",
        metavar=",".join(also),
        help=f"With --out too: {', '.join(WORDS[one] for one in also)}.",
        completes=partial(completing.listed, also),
    )
    return Together("report", make, (out, *([more] if also else []), FORCE, json))


EXECUTOR = _engine_of(
    "--executor",
    default="local",
    metavar="NAME[:N]",
    help="Where runs go: local, dask, each with N processes (default: one a core), or dask://HOST:PORT of a "
    "scheduler.",
    completes=completing.executors,
)
TRUST = flag(
    "--trust", "trusted", heading="Runs", help="Run the code that the file names: it can do all that you can."
)
