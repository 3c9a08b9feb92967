"""``ackclock replay``: packet scripts against the simulated TCP."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from ackclock import replay as scripts
from ackclock.cli import output
from ackclock.replay.simulated import Simulated

FilesArgument = Annotated[list[Path], typer.Argument(metavar="FILE…", help="Packet scripts (.pkt).")]
ProfileOption = Annotated[str, typer.Option(help="The stack: its TCP options.")]
ControllerOption = Annotated[
    str | None, typer.Option("--cc", help="The controller. Default: what the script sets, else cubic.")
]


def replay(
    files: FilesArgument,
    profile: ProfileOption = "linux",
    cc: ControllerOption = None,
    settings: output.SetOption = None,
    as_json: output.JsonOption = False,
) -> int:
    """Run packet scripts (the language of packetdrill) against the simulated sender and receiver.

    Example: `ackclock replay tests/packetdrill/limited-transmit.pkt`
    """
    overrides = output.overrides(settings)
    verdicts = [scripts.replay(file, lambda: Simulated(profile, cc, overrides)) for file in files]
    if as_json:
        output.print_json({"scripts": [verdict.as_dict() for verdict in verdicts]})
    else:
        _show(verdicts)
    return 1 if any(verdict.verdict == "divergence" for verdict in verdicts) else 0


def _show(verdicts: list[scripts.Verdict]) -> None:
    table = Table("script", "verdict", "line", "why")
    for verdict in verdicts:
        table.add_row(verdict.file, verdict.verdict, str(verdict.line or ""), verdict.why)
    output.show(table, as_json=False)
