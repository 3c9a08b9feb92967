"""The table of samples, `measurements/tests/mutants.csv`: a row for each crate and seed."""

from __future__ import annotations

from collections.abc import Mapping

from pages.measure import write_rows
from pages.measurements import MEASUREMENTS, load_csv

FILE = "tests/mutants.csv"
COMMAND = "python -m mutants CRATE --seed SEED --size SAMPLE"
ENDS = ("killed", "timeouts")
"""The ends of a mutant that the tests notice."""


def rows_with(
    known: list[dict[str, str]], crate: str, seed: int, kinds: Mapping[str, int], survived: int
) -> list[dict[str, str]]:
    """The rows with this one, in the place of an earlier one of its crate and seed, by crate and seed."""
    numbers = {
        "seed": seed,
        "sample": sum(kinds.values()) + survived,
        "do not compile": kinds["do not compile"],
        "noticed": sum(kinds[end] for end in ENDS),
        "equivalent": kinds["equivalent"],
        "survived": survived,
    }
    row = {"crate": crate} | {name: str(number) for name, number in numbers.items()}
    others = [one for one in known if (one["crate"], one["seed"]) != (crate, str(seed))]
    return sorted([*others, row], key=lambda one: (one["crate"], int(one["seed"])))


def record(crate: str, seed: int, kinds: Mapping[str, int], survived: int, machine: str) -> None:
    """Writes the row of a sample that was tried on `machine`."""
    known = load_csv(FILE)[1] if (MEASUREMENTS / FILE).exists() else []
    write_rows(FILE, COMMAND, rows_with(known, crate, seed, kinds, survived), machine)
