"""``ackclock export``: runs that were written into a folder, in the formats of other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ackclock.cli import completing, output
from ackclock.errors import InputError
from ackclock.result import Runs


def export(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder that --out wrote.")],
    to: Annotated[
        str,
        typer.Option(
            metavar="FORMAT",
            help="csv, flent, iperf3, mm-link, qlog or radiotap.",
            autocompletion=completing.formats,
        ),
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder to write into.")] = Path(),
    force: Annotated[bool, typer.Option("--force", help="Replace files of those names.")] = False,
) -> None:
    """Write the runs of a folder for another tool: Flent, qvis, Mahimahi, Wireshark, iperf3's readers.

    Example: `ackclock export results --to flent --out flent`
    """
    from ackclock.exports import FORMATS

    if to not in FORMATS:
        raise InputError(f"--to {to}: must be one of {', '.join(FORMATS)}")
    runs = Runs.load(folder)
    if to not in ("csv", "radiotap") and any(not run.flow_series.num_rows for run in runs):
        raise InputError(f"{folder}: a run has no series (record.flow_series was off)")
    suffix, write = FORMATS[to]
    places = [out / f"{output.file_name(run.scenario['name'])}-seed-{run.seed}{suffix}" for run in runs]
    for place in places:
        if place.exists() and not force:
            raise InputError(f"{place}: is there already; --force replaces it")
    out.mkdir(parents=True, exist_ok=True)
    for run, place in zip(runs, places, strict=True):
        write(run, place)
        output.notes.print(str(place), markup=False, soft_wrap=True)
