"""``ackclock read DIR --to FORMAT``: runs that were written into a folder, in the formats of other tools."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from ackclock.cli import output
from ackclock.cli.archive import ARCHIVE
from ackclock.errors import InputError
from ackclock.result import Run, Runs


def export(folder: Path, to: str, out: Path, force: bool) -> None:
    """Writes the runs of a folder for another tool: Flent, qvis, Mahimahi, Wireshark, iperf3's readers."""
    from ackclock.exports import FORMATS

    if to not in FORMATS:
        raise InputError(f"--to {to}: must be one of {', '.join([*FORMATS, ARCHIVE])}")
    runs = Runs.load(folder)
    if to not in ("csv", "radiotap") and any(not run.flow_series.num_rows for run in runs):
        raise InputError(f"{folder}: a run has no series (record.flow_series was off)")
    suffix, write = FORMATS[to]
    names = output.file_names(dict.fromkeys(run.scenario["name"] for run in runs))
    places = [out / f"{names[run.scenario['name']]}-seed-{run.seed}{suffix}" for run in runs]
    for place in places:
        if places.count(place) > 1:
            raise InputError(f"{folder}: two runs have the name and seed of {place.name}")
        if place.exists() and not force:
            raise InputError(f"{place}: is there already; --force replaces it")
        if place.is_dir() and not _holds_tables_alone(place):
            raise InputError(
                f"{place}: holds something that is no table, and --force replaces only those: "
                "empty the folder or name another"
            )
    _write_all(write, runs, places)
    for place in places:
        output.say(str(place))


def _holds_tables_alone(folder: Path) -> bool:
    """True if a folder holds nothing else. A link may lead to anything."""
    return not folder.is_symlink() and all(one.is_file() and one.suffix == ".csv" for one in folder.iterdir())


def _write_all(write: Callable[[Run, Path], None], runs: Sequence[Run], places: Sequence[Path]) -> None:
    """Writes each run to its place, all or none: first to temporary names, as a table may be broken."""
    folder = places[0].absolute().parent
    beside = next(parent for parent in (folder, *folder.parents) if parent.exists())
    with TemporaryDirectory(prefix=".ackclock-", dir=beside) as work:
        written = [Path(work) / place.name for place in places]
        for run, place in zip(runs, written, strict=True):
            write(run, place)
        folder.mkdir(parents=True, exist_ok=True)
        for new, place in zip(written, places, strict=True):
            if place.is_dir():
                shutil.rmtree(place)
            new.replace(place)
