"""The scenarios of a sweep in its folder, so that its runs can be repeated elsewhere."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock import _engine
from ackclock.errors import InputError
from ackclock.inputs import Inputs
from ackclock.result import ResultError
from ackclock.stored import table_in
from ackclock.sweeps import work
from ackclock.sweeps.folder import RUNS, SLICE
from ackclock.sweeps.plan import Plan

if TYPE_CHECKING:
    import pyarrow as pa

SCENARIOS = "scenarios.parquet"
"""The file with a row for each place of a sweep, in its order: controller, point, seeds, scenario."""


def keep(plan: Plan, folder: Path) -> None:
    """Writes the scenarios of a sweep and the files that they name. Raises OSError."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    texts = [(name, pa.string()) for name in ("controller", "point", "scenario")]
    schema = pa.schema([*texts, ("seeds", pa.list_(pa.uint64()))])
    seen: dict[frozenset[str], _engine.Plan] = {}

    def rows() -> Iterator[dict[str, Any]]:
        for _, of_place in itertools.groupby(plan.items(), lambda item: id(item.plan)):
            first, *others = of_place
            seen.setdefault(frozenset(first.plan.files), first.plan)
            yield {
                "controller": first.controller,
                "point": json.dumps(dict(first.point)),
                "scenario": first.plan.resolved,
                "seeds": [first.seed, *(item.seed for item in others)],
            }

    waiting = rows()
    with pq.ParquetWriter(folder / SCENARIOS, schema, compression="zstd") as writer:
        while part := list(itertools.islice(waiting, SLICE)):
            writer.write_table(pa.Table.from_pylist(part, schema))
    if plan.engine is not None:
        Inputs.of(seen.values(), plan.engine).write(folder)


@dataclass(frozen=True)
class KeptPlan(Plan):
    """The runs of a sweep whose scenarios were kept."""

    rows: Sequence[Mapping[str, Any]] = ()
    resolve: Callable[[str], _engine.Plan] = _engine.Plan
    """The plan of a scenario as it was kept."""

    def __len__(self) -> int:
        return sum(len(row["seeds"]) for row in self.rows)

    def items(self) -> Iterator[work.Item]:
        """See ``Plan.items``."""
        for number, row in enumerate(self.rows):
            plan = self.resolve(row["scenario"])
            for seed in row["seeds"]:
                yield work.Item(f"{number}-{seed}", row["controller"], json.loads(row["point"]), plan, seed)


def rows(folder: Path) -> list[dict[str, Any]]:
    """The rows of ``SCENARIOS``. Raises ResultError, or InputError for a sweep that has not ended."""
    found: list[dict[str, Any]] = _table(folder / SCENARIOS).to_pylist()
    try:
        count = sum(len(row["seeds"]) for row in found)
        for row in found:
            if not all(isinstance(row[name], str) for name in ("controller", "point", "scenario")):
                raise ValueError("a text is missing")
            if not isinstance(json.loads(row["point"]), dict):
                raise ValueError("a point is no object")
        made = _table(folder / f"{RUNS}.parquet", ["flow"])["flow"].to_pylist().count(0)
    except (KeyError, TypeError, ValueError) as error:
        raise ResultError(f"{folder}: has no scenarios of a sweep ({error})") from None
    if made < count:
        raise InputError(
            f"{folder}: has {made} of {count} runs: the same command of the sweep makes the rest"
        )
    return found


def _table(file: Path, columns: list[str] | None = None) -> pa.Table:
    import pyarrow as pa

    try:
        return table_in(file, columns)
    except (OSError, pa.ArrowException) as error:
        raise ResultError(f"{file}: cannot be read: {' '.join(str(error).split())}") from error
