"""``ackclock replay``: packet scripts against the simulated TCP, or the kernel's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table

from ackclock.cli import completing, output
from ackclock.cli.command import FILE, Argument, Option, command
from ackclock.cli.engine import LIVE, VIRTUAL, Chosen, engine_options
from ackclock.cli.options import JSON, JUNIT, SET
from ackclock.cli.status import BAD_INPUT, INVALID
from ackclock.engines import registry
from ackclock.errors import InputError
from ackclock.report import junit
from ackclock.verdict import NOT_JUDGED, Verdict

if TYPE_CHECKING:
    from ackclock import replay as scripts

DEFAULT_RETRIES = 3


@command(
    Argument(
        "files",
        nargs=-1,
        required=True,
        type=FILE,
        metavar="FILE…",
        help="Packet scripts (.pkt), or folders of them.",
    ),
    Option("--profile", default="linux", help="The stack: its TCP options.", completes=completing.profiles),
    Option(
        "--cc",
        help="The controller. Default: what the script sets, else cubic.",
        completes=completing.controllers,
    ),
    SET,
    engine_options(
        without=("threads", "cores", "at_once", "gso_max_segs", "kernels", "disciplines", "qlog"),
        defaults={"retries": DEFAULT_RETRIES},
    ),
    JUNIT,
    JSON,
)
def replay(
    files: Sequence[Path],
    profile: str,
    cc: str | None,
    settings: Sequence[str],
    engine: Chosen,
    junit_file: Path | None,
    as_json: bool,
) -> int:
    """Run packet scripts (the language of packetdrill) against the simulated sender and receiver.

    Example: `ackclock replay tests/packetdrill/limited-transmit.pkt`
    """
    from ackclock import replay as scripts
    from ackclock.replay import tally
    from ackclock.replay.simulated import Simulated

    files = tally.scripts_in(files)
    overrides = output.overrides(settings)
    if engine.name not in (registry.DEFAULT, LIVE, VIRTUAL):
        raise InputError(f"{engine.spelled}: packet scripts run simulated, live and in virtual time only")
    if engine.name != registry.DEFAULT and (profile != "linux" or overrides):
        raise InputError(f"{engine.spelled}: takes neither --profile nor --set: these are the simulator's")
    if engine.name == VIRTUAL:
        from ackclock.replay.virtual import replay_virtual

        verdicts = replay_virtual(files, cc, engine.option("linux"))
    elif engine.name == LIVE:
        retries = engine.option("retries")
        verdicts = scripts.each(files, lambda file: scripts.replay_live(file, cc, retries))
    else:
        verdicts = scripts.each(
            files, lambda file: scripts.replay(file, lambda: Simulated(profile, cc, overrides))
        )
    if as_json:
        rows = [verdict.as_dict() for verdict in verdicts]
        output.print_json({"scripts": rows, "counts": tally.counts(verdicts)})
    else:
        _show(verdicts)
    if junit_file is not None:
        junit.write(junit_file, "ackclock replay", [_case(verdict) for verdict in verdicts])
    if any(verdict.verdict == "no script" for verdict in verdicts):
        return BAD_INPUT
    if any(verdict.verdict == "divergence" and verdict.is_valid for verdict in verdicts):
        return 1
    judged = all(verdict.is_valid and verdict.verdict != "unsupported" for verdict in verdicts)
    return 0 if judged else INVALID


def _case(verdict: scripts.Verdict) -> junit.Entry:
    """The case of a script: one that is unsupported, or met a machine that was too late, was skipped."""
    row, file = verdict.as_dict(), Path(verdict.file)
    why = f"line {row['line']}: {row['why']}" if row["line"] else row["why"]
    verdicts: dict[str, Verdict] = {"match": "pass", "divergence": "miss"}
    found = verdicts.get(verdict.verdict, NOT_JUDGED) if verdict.is_valid else NOT_JUDGED
    return junit.Entry(str(file.parent), file.stem, found, why, raised=verdict.verdict == "no script")


def _show(verdicts: list[scripts.Verdict]) -> None:
    from ackclock.replay import tally

    folder = tally.folder([verdict.file for verdict in verdicts])
    table = Table("script", "verdict", "line", "why", title=f"in {folder}" if folder else None)
    for verdict in verdicts:
        row = verdict.as_dict()
        name = str(Path(row["file"]).relative_to(folder)) if folder else row["file"]
        table.add_row(name, row["verdict"], str(row["line"] or ""), row["why"])
    output.show(table, as_json=False)
    if len(verdicts) == 1:
        return
    if lacking := tally.lacking(verdicts):
        table = Table("not modelled", "scripts")
        for why, number in lacking:
            table.add_row(why, str(number))
        output.show(table, as_json=False)
    output.show(tally.sentence(verdicts), as_json=False)
