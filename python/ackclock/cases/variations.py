"""Variations: sets of runs over which a claim is judged, because one set-up could hold by luck.

An experiment file lists them under ``[[variations]]``: keys of the scenario and the values that they take
together, for all runs of the experiment or for those that ``runs`` names:

    [[variations]]
    name = "starts"
    set = { "flows.1.start" = ["0s", "0.1s", "0.2s"] }

Here the set has three members. Entries of one name belong to one set, and so have equally many values. A run
without an entry is the same in every member.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ackclock.cases.document import CaseError, TomlTable, settings

REPETITIONS = "repetitions"
"""The set that every experiment has: its repetitions, each for itself."""

Settings = tuple[tuple[str, str], ...]
"""Scenario keys and their values, spelled as after ``--set``."""


@dataclass(frozen=True)
class Variation:
    """A set of slightly different set-ups of one experiment."""

    name: str
    members: int
    """The number of its members."""
    runs: Mapping[str, Mapping[str, tuple[str, ...]]]
    """By run: scenario keys, and the values they take, one for each member."""

    def at(self, member: int, condition: tuple[str, Settings]) -> tuple[str, Settings]:
        """A run at a point with the keys that a member gives it. A run that does not vary is unchanged."""
        run, point = condition
        return run, point + tuple((key, values[member]) for key, values in self.runs.get(run, {}).items())

    def first(self, members: int) -> Variation:
        """The variation with its first members only, or with all of them if ``members`` is 0."""
        count = min(members or self.members, self.members)
        runs = {run: {key: values[:count] for key, values in keys.items()} for run, keys in self.runs.items()}
        return Variation(self.name, count, runs)


def variations(table: TomlTable, runs: Sequence[str]) -> dict[str, Variation]:
    """The variations that a file lists for its ``runs``, by name. Raises CaseError for a mistake."""
    found: dict[str, dict[str, dict[str, tuple[str, ...]]]] = {}
    for number, values in enumerate(table.tables("variations")):
        spec = TomlTable(values, f"{table.where}, variations.{number}")
        where, name = spec.where, spec.take("name", str)
        named, changed = spec.take("runs", list, list(runs)), spec.take("set", dict)
        spec.done()
        if name in ("", REPETITIONS):
            raise CaseError(f"{where}: name = {name!r} must be text other than `{REPETITIONS}`")
        if not named or not all(run in runs for run in named):
            raise CaseError(f"{where}: runs = {named!r} must be a list of runs ({', '.join(runs)})")
        if not changed:
            raise CaseError(f"{where}: set = {changed!r} must be a table of scenario keys")
        for run in named:
            if run in found.setdefault(name, {}):
                raise CaseError(f"{where}: the run `{run}` is already varied by `{name}`")
            found[name][run] = settings(changed, f"{where}: ")
    return {
        name: Variation(name, _members(by_run, f"{table.where}, variation `{name}`"), by_run)
        for name, by_run in found.items()
    }


def _members(by_run: Mapping[str, Mapping[str, tuple[str, ...]]], where: str) -> int:
    """The number of values of each key of a variation."""
    lengths = {len(values) for keys in by_run.values() for values in keys.values()}
    if len(lengths) > 1:
        raise CaseError(f"{where}: its lists have {min(lengths)} to {max(lengths)} values")
    return lengths.pop()
