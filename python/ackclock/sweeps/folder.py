"""The folder of a sweep: the rows that workers wrote, which runs are there, and the tables made of them.

Workers write a file of rows for each chunk, named by its content, so that nothing is lost when the sweep is
interrupted, and a run that is there is not repeated. At the end the rows of this sweep are put in order into
``runs.parquet`` (a row for each flow, with the columns of its bottleneck) and ``links.parquet``. Rows are
read in slices: memory does not grow with the number of runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ackclock.errors import lacks_memory
from ackclock.result import ResultError
from ackclock.stored import table_in
from ackclock.sweeps.work import CHUNKS, FLOWS, LINKS

if TYPE_CHECKING:
    import pyarrow as pa

SLICE = 5000
"""The number of runs that are put in order at a time."""

MOST_LETTERS = 200
"""The most letters of the reason why a file cannot be read."""

RUNS = "runs"
"""The name of the table of flows for users."""


class SweepFolder:
    """The rows of a sweep in ``folder``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.chunks = folder / CHUNKS
        self.chunks.mkdir(exist_ok=True)
        for unfinished in self.chunks.glob(".*.part"):
            unfinished.unlink(missing_ok=True)

    def digests(self) -> set[str]:
        """The digests of the runs whose rows are there, of flows and of links."""
        found = set()
        for file in self._files(FLOWS):
            links = file.with_name(file.name.replace(f".{FLOWS}.", f".{LINKS}."))
            if links.exists():
                _check(links)
                found.update(_runs_of(file))
        return found

    def slices(self, kind: str, order: Sequence[str]) -> Iterator[pa.Table]:
        """The rows of the runs in ``order``, a slice of the runs at a time, without the column ``run``."""
        import numpy as np
        import pyarrow as pa

        place = {digest: number for number, digest in enumerate(order)}
        # The files with rows of each slice. Most files have rows of one or two slices.
        of_slice: dict[int, list[Path]] = {}
        for file in self._files(kind):
            for number in sorted({place[one] // SLICE for one in _runs_of(file) if one in place}):
                of_slice.setdefault(number, []).append(file)
        for number in sorted(of_slice):
            parts: list[pa.Table] = []
            seen: set[str] = set()
            for file in of_slice[number]:
                table = _read(file)
                names = table["run"].to_pylist()
                places = [place.get(one, -1) for one in names]
                # A run that two chunks have counts once.
                fresh = (
                    at // SLICE == number and one not in seen for one, at in zip(names, places, strict=True)
                )
                wanted = np.flatnonzero(np.fromiter(fresh, bool, len(names)))
                parts.append(table.take(wanted).append_column("at", pa.array(np.array(places)[wanted])))
                seen.update(names[row] for row in wanted)
            rows = pa.concat_tables(parts, promote_options="default")
            within = np.argsort(rows["at"].to_numpy(), kind="stable")
            yield rows.take(pa.array(within)).drop_columns(["at", "run"])

    def write(self, order: Sequence[str]) -> None:
        """Writes ``runs.parquet`` and ``links.parquet`` with the rows of the runs in ``order``."""
        import pyarrow.parquet as pq

        for kind, name in ((FLOWS, RUNS), (LINKS, LINKS)):
            unfinished = self.folder / f".{name}.parquet.part"
            writer = None
            try:
                for rows in self.slices(kind, order):
                    if writer is None:
                        writer = pq.ParquetWriter(unfinished, rows.schema, compression="zstd")
                    writer.write_table(rows.cast(writer.schema), max(rows.num_rows, 1))
            finally:
                if writer is not None:
                    writer.close()
            if writer is not None:
                unfinished.rename(self.folder / f"{name}.parquet")

    def _files(self, kind: str) -> list[Path]:
        return sorted(self.chunks.glob(f"*.{kind}.parquet"))


@contextmanager
def _reading(file: Path) -> Iterator[None]:
    """Raises ResultError, with the remedy, for a file that is no table of a sweep."""
    import pyarrow as pa

    try:
        yield
    except (OSError, pa.ArrowException) as error:
        if lacks_memory(error):
            raise MemoryError from error
        why = " ".join(str(error).split())[:MOST_LETTERS]
        raise ResultError(
            f"{file}: is not a table of a sweep; without it the same command makes its runs again ({why})"
        ) from error


def _check(file: Path) -> None:
    import pyarrow.parquet as pq

    with _reading(file):
        pq.read_metadata(file)


def _runs_of(file: Path) -> list[str]:
    """The digests in a file, each once, in its order."""
    with _reading(file):
        return list(dict.fromkeys(table_in(file, ["run"])["run"].to_pylist()))


def _read(file: Path) -> pa.Table:
    with _reading(file):
        return table_in(file)
