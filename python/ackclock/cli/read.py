"""``ackclock read``: results that were written into folders, captures, and logs of QUIC."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ackclock.cli import archive, completing
from ackclock.cli.command import FILE, Argument, Number, Option, command, flag, given
from ackclock.cli.export import export
from ackclock.cli.identify import identify
from ackclock.cli.losses import losses as causes
from ackclock.cli.options import report_options
from ackclock.cli.output import Report
from ackclock.cli.plot import plot
from ackclock.errors import InputError
from ackclock.reading import unreadable

MOST_ITERATIONS = 3
HEAD = 4096
TEXT = frozenset({*range(0x20, 0x7F), *range(0x80, 0x100), *b"\t\r\n\f"})
"""The bytes of text. Captures begin with others."""
OF_IPERF3 = re.compile(rb"\[ *ID\] Interval")
OF_CAPTURES = (".pcap", ".pcapng", ".cap")
OF_QUIC = (".qlog", ".sqlog")
OF_QLOG = re.compile(rb'"(?:qlog_version|traces?|qlog_format)"')
KINDS = "qlog, iperf3 --json, flent.gz, ss -tin, ping"
OF_LOSSES = ("rate", "definition", "sensitivity", "iterations")
OF_REPORTS = ("out", "also_written")

WITHOUT: Mapping[str, Sequence[str]] = {
    "--to": ("controllers", "losses", "together", "interface", *OF_LOSSES, "also_written", "as_json"),
    "--controllers": ("losses", *OF_LOSSES, *OF_REPORTS, "force"),
    "--losses": ("together", *OF_REPORTS, "force"),
    "the results of a folder": ("together", "interface", *OF_LOSSES),
    "a capture without --losses": ("together", *OF_LOSSES),
    "a log": ("together", "interface", *OF_LOSSES),
}
"""The options that have no effect on each answer."""


@command(
    Argument(
        "files",
        nargs=-1,
        required=True,
        type=FILE,
        metavar="DIR…|CAPTURE|LOG…",
        help="Folders that --out wrote, a capture (pcapng, pcap) taken at the sender, or logs: qlog, "
        "iperf3 --json, flent.gz, ss -ti, ping. Folders beside logs share their figures.",
    ),
    Option(
        "--to",
        metavar="FORMAT",
        help="Write the runs of a folder for another tool: csv, flent, iperf3, mm-link, qlog, radiotap; or "
        "archive: a zip file with all that repeats them.",
        completes=completing.formats,
    ),
    flag("--controllers", help="Name the controllers that flows look like, by simulations of all of them."),
    flag("--losses", help="Tell errors from congestion, by duplicate ACKs (Edwan, Biaz, Spike, ZigZag)."),
    flag("--together", help="All flows have the same controller: one answer from all (with --controllers)."),
    Option(
        "--interface",
        heading="Captures",
        type=Number(0),
        default=0,
        help="The interface of a capture; of a simulated one, 0 is the sender.",
    ),
    Option(
        "--rate",
        heading="Captures",
        help="Rate of the slowest link, which gives T; default: T from the gaps between ACKs.",
    ),
    Option(
        "--definition",
        heading="Captures",
        default="A",
        help="What rho counts: A (differences below T), B (their sum), C (their share).",
    ),
    Option(
        "--sensitivity",
        heading="Captures",
        type=Number(kind=float),
        default=1.0,
        help="The sensitivity to noise, a.",
    ),
    Option(
        "--iterations",
        heading="Captures",
        type=Number(1, MOST_ITERATIONS),
        default=1,
        help="Iterations of the difference canceller.",
    ),
    report_options("pdf", "svg", "open"),
)
def read(
    files: Sequence[Path],
    to: str | None,
    controllers: bool,
    losses: bool,
    together: bool,
    interface: int,
    report: Report,
    **of_losses: Any,
) -> None:
    """Read results, a capture or qlogs: tables and figures, controllers, causes of losses.

    Several results share one figure, with box plots and intervals over their repetitions. Each connection of
    a capture has its rate, RTTs, retransmissions by cause, windows and limits. Logs of QUIC, iperf3, Flent,
    ss or ping share one figure, also with results: `ackclock read iperf3.json simulated --out both`.
    Examples: `ackclock read fifo codel --out both`, `ackclock read results --to flent`,
    `ackclock read results --to archive`,
    `ackclock read capture.pcapng --out page`, `ackclock read capture.pcapng --controllers`
    """
    from ackclock.measured import is_measured
    from ackclock.qlogs import is_log

    if to is not None:
        _refuse("--to")
        if to == archive.ARCHIVE:
            archive.write(_one(files, "--to archive"), report.out or Path(), report.force)
            return
        export(_one(files, "--to"), to, report.out or Path(), report.force)
    elif controllers:
        _refuse("--controllers")
        identify(files, together, interface, report.as_json)
    elif losses:
        _refuse("--losses")
        causes(_one(files, "a capture"), interface=interface, as_json=report.as_json, **of_losses)
    elif all(one.is_dir() for one in files):
        _refuse("the results of a folder")
        plot(files, report)
    elif any(not one.is_dir() and (is_log(one) or is_measured(one)) for one in files):
        _refuse("a log")
        for one in files:
            if not one.is_dir() and not is_measured(one):
                _refuse_other(one)
        from ackclock.cli.logs import logs

        logs(files, report)
    else:
        for one in files:
            _refuse_other(one)
        _refuse("a capture without --losses")
        from ackclock.cli.captured import captured

        captured(_one(files, "a capture"), interface, report)


def _one(files: Sequence[Path], what: str) -> Path:
    """The only file. Raises InputError for several."""
    if len(files) > 1:
        raise InputError(f"{' '.join(map(str, files))}: {what} is read alone")
    return files[0]


def _refuse_other(file: Path) -> None:
    """Raises InputError for a file that begins as text or JSON of another kind."""
    try:
        with file.open("rb") as opened:
            head = opened.read(HEAD)
    except OSError as error:
        raise unreadable(file, error) from error
    if head.startswith(b"{"):
        if file.suffix not in OF_QUIC and not OF_QLOG.search(head):
            raise InputError(f"{file}: is JSON, and no log of a kind that is read: {KINDS}")
    elif file.suffix not in OF_CAPTURES and head.strip() and TEXT.issuperset(head):
        advice = "; `iperf3 --json` writes one" if OF_IPERF3.search(head) else ""
        if file.suffix == ".toml":
            advice = f"; `ackclock run {file}` runs a scenario"
        raise InputError(f"{file}: is text, and no log of a kind that is read: {KINDS}{advice}")


def _refuse(answer: str) -> None:
    """Refuses options that have no effect on an answer."""
    for option in WITHOUT[answer]:
        if given(option):
            name = {"also_written": "also", "as_json": "json"}.get(option, option)
            raise InputError(f"--{name}: has no effect on {answer}")
