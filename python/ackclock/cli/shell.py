"""``ackclock shell``: any program across an emulated path."""

from __future__ import annotations

import json
import os
import shlex
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from ackclock import _engine, summary
from ackclock.cli import output
from ackclock.cli.choosing import LIVE, Chosen, on_engine
from ackclock.cli.output import notes
from ackclock.cli.paths import TcOption, TraceOption, path_of
from ackclock.cli.status import INVALID
from ackclock.errors import InputError
from ackclock.result import Run

CONTEXT = {"allow_interspersed_args": False}
"""Options after the command's name belong to the command."""


@on_engine(default=LIVE, without=("threads", "cores", "at_once", "retries", "qlog"), fixed=True)
def shell(
    context: typer.Context,
    command: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[-- COMMAND…]", help="What to run at 10.0.0.1, the near end; default: $SHELL."
        ),
    ] = None,
    rate: Annotated[str, typer.Option(help="Rate from near to far.")] = "10mbit",
    rtt: Annotated[str | None, typer.Option(help="Base RTT, without queueing. Default: 40ms.")] = None,
    delay: Annotated[str | None, typer.Option(help="One-way delay, in place of --rtt.")] = None,
    queue: output.QueueOption = "1bdp",
    loss: Annotated[str, typer.Option(help="Random loss on the way from near to far.")] = "0%",
    trace: TraceOption = None,
    lines: TcOption = None,
    far: Annotated[
        str, typer.Option(metavar="COMMAND", help="What to run at the far end, 10.0.0.2, as one word.")
    ] = "",
    settings: output.SetOption = None,
    seed: output.SeedOption = None,
    log: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Log each packet at the queue from near to far, as mm-link does."),
    ] = None,
    pcap: output.PcapOption = None,
    pcap_at: output.PcapAtOption = None,
    meter: Annotated[bool, typer.Option("--meter", help="Print rates and queue once a second.")] = False,
    out: output.OutOption = None,
    figures: output.FiguresOption = "",
    open_report: output.OpenOption = False,
    force: output.ForceOption = False,
    csv: output.CsvOption = False,
    as_json: Annotated[
        bool,
        typer.Option("--json", help="Print one JSON object; the output of COMMAND goes to standard error."),
    ] = False,
    *,
    engine: Chosen,
) -> None:
    """Run programs across an emulated path.

    The near end is 10.0.0.1, or `near`, the far end 10.0.0.2, `far`, or `server`. The exit status is that
    of the command; if that is 0, 3 for a run past its error budget. `--out` writes what the link did.
    Example: `ackclock shell --rate 10mbit --queue 50p --far "iperf3 -s" -- iperf3 -c server`
    """
    output.check_current_folder()
    output.check_share("--loss", loss)
    report = output.Report(out, force, csv, as_json, figures, open_report)
    report.check()
    if rtt is not None and delay is not None:
        raise InputError("--rtt and --delay: only one of them can be given")
    path = {"rate": rate, "queue": queue, "loss": loss}
    path |= {"delay": delay} if delay is not None else {"rtt": rtt or "40ms"}
    given = output.named(context, ("rate", "rtt", "delay", "queue", "loss"))
    plan = _plan(path_of(path, given, trace, lines), settings)
    output.print_notes([plan])
    if os.geteuid() != 0:
        _engine.become_root()
    (capture,) = output.captures(pcap, ["session"])
    where = output.place(pcap, pcap_at)
    near = command or [os.environ.get("SHELL") or "/bin/sh"]
    first = plan.seed if seed is None else seed
    with _lent_terminal(), _standard_output_for_json(as_json):
        told = _Meter() if meter else None
        status, ran, failed = _engine.shell(
            plan, first, near, _words(far), log, told, engine.given["gso_max_segs"], capture, where
        )
    run = _session(Run.from_engine(ran, plan, first))
    whole = run.summary("shell")
    if out is not None:
        _write(run, f"shell: {' '.join(near)}", out, report)
    if as_json:
        output.print_json(summary.document([whole]))
    if meter or out is not None:
        output.show(summary.links_table([whole]), as_json=True)
    reasons = summary.invalid_reasons([whole])
    for sentence in reasons:
        notes.print(f"warning: {sentence}", markup=False, soft_wrap=True)
    if reasons:
        status = status or INVALID
    if status != 0 and not far and ran.engine["turned_away"]:
        notes.print('ackclock: nobody answered at the far end; --far "COMMAND" runs a server there')
    for option, file, why in zip(("--log", "--pcap"), (log, pcap), failed, strict=True):
        if why is not None:
            notes.print(f"ackclock: {option} {file}: it is not whole: {why}", markup=False, soft_wrap=True)
            status = status or 2
    raise typer.Exit(status)


def _plan(path: Mapping[str, Any], settings: list[str] | None) -> _engine.Plan:
    """The scenario of the path. Its one flow does not run; the language requires one."""
    # The language requires a duration, but the run ends with the command. Files over time repeat for so long.
    document = {"name": "shell", "duration": "60min", "path": path, "flows": [{"cc": "newreno"}]}
    return _engine.resolve_json(json.dumps(document), output.overrides(settings))


def _session(run: Run) -> Run:
    """The run of a session: as long as it lasted, without the flow that the scenario requires."""
    times = run.link_series["time_s"].to_pylist()
    run.scenario |= {"duration": f"{max([0.001, *times]):.3f}s", "flows": []}
    return run


def _write(run: Run, title: str, out: Path, report: output.Report) -> None:
    """Writes the session into the folder of ``--out``."""
    from ackclock.cli import session
    from ackclock.report import new_folder, page_of

    with new_folder(out, report.force) as folder:
        run.save(folder)
        if report.csv:
            run.to_csv(folder / "csv")
        with page_of(folder, title):
            for sentence in session.write(run, title, folder, report.formats):
                notes.print(f"warning: {sentence}", markup=False, soft_wrap=True)
    notes.print(f"report: {out / 'index.html'}", markup=False, soft_wrap=True)
    if report.open:
        typer.launch(str((out / "index.html").absolute()))


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
