"""``ackclock shell``: any program across an emulated path."""

from __future__ import annotations

import json
import os
import shlex
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from ackclock import _engine, summary
from ackclock.cli import output
from ackclock.cli.command import FILE, Argument, Number, Option, command, flag
from ackclock.cli.engine import LIVE
from ackclock.cli.options import (
    EVERYTHING,
    LOSS,
    PCAP,
    QUEUE,
    RATE,
    SEED,
    SET,
    TC,
    TRACE,
    path_options,
    report_options,
)
from ackclock.cli.output import Capture, Report, say
from ackclock.cli.paths import PathGiven
from ackclock.cli.status import BAD_INPUT, INVALID
from ackclock.engines import registry
from ackclock.errors import InputError
from ackclock.result import Run

SETTINGS = Path("/proc/sys/net/ipv4")
"""The settings of TCP of this machine."""


@command(
    Argument(
        "command_line",
        nargs=-1,
        metavar="[-- COMMAND…]",
        help="What to run at 10.0.0.1, the near end; default: $SHELL.",
    ),
    path_options(
        RATE,
        Option("--rtt", heading="Path", help="Base RTT, without queueing. Default: 40ms."),
        Option("--delay", heading="Path", help="One-way delay, in place of --rtt."),
        QUEUE,
        LOSS,
        TRACE,
        TC,
    ),
    SET,
    SEED,
    Option("--far", metavar="COMMAND", help="What to run at the far end, 10.0.0.2, as one word."),
    Option(
        "--gso-max-segs",
        type=Number(1, 65_535),
        help="The most segments that TCP sends at once. Default: the kernel's choice.",
    ),
    flag("--meter", heading="Output", help="Print rates and queue once a second."),
    Option(
        "--log",
        heading="Output",
        type=FILE,
        metavar="FILE",
        help="Log each packet at the queue from near to far, as mm-link does.",
    ),
    PCAP,
    report_options(
        *EVERYTHING,
        json=flag(
            "--json",
            "as_json",
            heading="Output",
            help="Print one JSON object; the output of COMMAND goes to standard error.",
        ),
    ),
    # Options behind the program's name belong to the program.
    context_settings={"allow_interspersed_args": False},
)
def shell(
    command_line: Sequence[str],
    path: PathGiven,
    settings: Sequence[str],
    seed: int | None,
    far: str | None,
    gso_max_segs: int | None,
    meter: bool,
    log: Path | None,
    pcap: Capture | None,
    report: Report,
) -> None:
    """Run programs across an emulated path.

    The near end is 10.0.0.1, or `near`, the far end 10.0.0.2, `far`, or `server`. The exit status is the
    command's. If it is 0, a run past its error budget exits with 3. `--out` writes the tables of the link.
    Example: `ackclock shell --rate 10mbit --queue 50p --far "iperf3 -s" -- iperf3 -c server`
    """
    output.check_current_folder()
    registry.find(LIVE)
    report.check()
    if path.given >= {"rtt", "delay"}:
        raise InputError("--rtt and --delay: only one of them can be given")
    unused = "rtt" if "delay" in path.given else "delay"
    values = {key: value for key, value in path.values.items() if key != unused}
    values |= {"rtt": values["rtt"] or "40ms"} if "rtt" in values else {}
    plan = _plan(replace(path, values=values).keys(), settings)
    output.print_notes([plan])
    if os.geteuid() != 0:
        _engine.become_root()
    (capture,) = output.captures(pcap, ["session"])
    near = [*command_line] or [os.environ.get("SHELL") or "/bin/sh"]
    first = plan.seed if seed is None else seed
    with _lent_terminal(), _standard_output_for_json(report.as_json):
        told = _Meter() if meter else None
        status, ran, failed = _engine.shell(
            plan, first, near, _words(far or ""), log, told, gso_max_segs, capture, output.point_of(pcap)
        )
    run = _session(Run.from_engine(ran, plan, first))
    whole = run.summary("shell")
    if report.out is not None:
        _write(run, f"shell: {' '.join(near)}", report.out, report)
    if report.as_json:
        output.print_json(summary.document([whole]))
    if meter or report.out is not None:
        output.show(summary.links_table([whole]), as_json=True)
    if others := _unlike_the_host(ran.engine["sysctls"]):
        say(f"ackclock: both ends had {others}, unlike this host")
    reasons = summary.invalid_reasons([whole])
    for sentence in reasons:
        say(f"warning: {sentence}")
    if status != 0 and not far and ran.engine["turned_away"]:
        say('ackclock: nobody answered at the far end; --far "COMMAND" runs a server there')
    for option, file, why in zip(("--log", "--pcap"), (log, pcap and pcap.file), failed, strict=True):
        if why is not None:
            say(f"ackclock: {option} {file}: it is not whole: {why}")
            status = status or BAD_INPUT
    if reasons:
        status = status or INVALID
    raise click.exceptions.Exit(status)


def _plan(path: Mapping[str, Any], settings: Sequence[str]) -> _engine.Plan:
    """The scenario of the path. Its flow, which the language requires, never runs."""
    # The language requires a duration, but the run ends with the command. Files over time repeat for so long.
    document = {"name": "shell", "duration": "60min", "path": path, "flows": [{"cc": "newreno"}]}
    return _engine.resolve_json(json.dumps(document), output.overrides(settings))


def _unlike_the_host(sysctls: Mapping[str, str]) -> str:
    """The settings of TCP at both ends that differ from this machine's, such as ``tcp_sack=0``."""
    files = {name: SETTINGS / name for name in sysctls if (SETTINGS / name).is_file()}
    host = {name: file.read_text(encoding="ascii").split() for name, file in files.items()}
    return ", ".join(f"{name}={value}" for name, value in sysctls.items() if host.get(name) != value.split())


def _session(run: Run) -> Run:
    """The run of a session: as long as it lasted, without the flow that the scenario requires."""
    times = run.link_series["time_s"].to_pylist()
    run.scenario |= {"duration": f"{max([0.001, *times]):.3f}s", "flows": []}
    return run


def _write(run: Run, title: str, out: Path, report: Report) -> None:
    """Writes the session into the folder of ``--out``."""
    from ackclock.cli import session
    from ackclock.report import new_folder, page_of

    with new_folder(out, report.force) as folder:
        run.save(folder)
        if "csv" in report.also:
            run.to_csv(folder / "csv")
        with page_of(folder, title):
            for sentence in session.write(run, title, folder, report.formats):
                say(f"warning: {sentence}")
    report.done(out)


@contextmanager
def _standard_output_for_json(wanted: bool) -> Iterator[None]:
    """Standard output holds the JSON object alone: the command writes to standard error."""
    if not wanted:
        yield
        return
    sys.stdout.flush()
    own = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        os.dup2(own, 1)
        os.close(own)


@contextmanager
def _lent_terminal() -> Iterator[None]:
    """Ctrl-C is for the command. An interactive one makes the terminal its own, so it is taken back."""
    interrupt = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        owner = os.tcgetpgrp(0)
    except OSError:
        # Standard input is no terminal of ours.
        owner = None
    try:
        yield
    finally:
        if owner is not None:
            output_stop = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
            with suppress(OSError):
                os.tcsetpgrp(0, owner)
            signal.signal(signal.SIGTTOU, output_stop)
        signal.signal(signal.SIGINT, interrupt)


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError as error:
        raise InputError(f"--far {command}: {error}") from None


class _Meter:
    """Prints the rates of the last second and the queue."""

    def __init__(self) -> None:
        self._before = (0.0, 0, 0)

    def __call__(self, elapsed_s: float, to_far: int, to_near: int, queue: int) -> None:
        past, far, near = self._before
        self._before = (elapsed_s, to_far, to_near)
        span = max(elapsed_s - past, 1e-9)
        rates = [8e-6 * (now - then) / span for now, then in ((to_far, far), (to_near, near))]
        sys.stderr.write(
            f"{elapsed_s:8.1f} s  to far {rates[0]:9.3f} Mbit/s  to near {rates[1]:9.3f} Mbit/s  "
            f"queue {queue} packets\n"
        )
