"""Readings: choices that a paper leaves open, made in another way for the whole paper.

The files of a paper have one reading, its default. ``paper.toml`` lists others under ``[[readings]]``, each
with one change:

    [[readings]]
    name = "exact clock"
    sets = "RTTs in nanoseconds, not in whole milliseconds"
    passage = "section V: nothing is said about timestamps"
    flows = [{ cc = ["siad"], transport = { timestamp_tick = "0s" } }]

Each table of ``flows`` is laid over the TCP flows with one of the controllers ``cc`` and one of the names
``named`` (all without them), ``wlans`` over every wireless network, ``path`` over the path. ``arguments``
replaces arguments of measures: ``{ fair_time = { width = [0.2, 0.01] } }`` puts 0.01 in the place of a width
of 0.2. With ``experiments`` the reading is about these alone.

``ackclock reproduce PAPER --readings`` judges the claims under each reading. The default is to be the reading
with the smallest mean error over the printed numbers. Orders and shapes do not choose.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ackclock.cases.document import CaseError, TomlTable, merged

DEFAULT = "default"
"""The name of the reading that the files have."""


@dataclass(frozen=True)
class Reading:
    """One choice made otherwise."""

    name: str
    sets: str
    """The change in words."""
    passage: str
    """The passage that leaves it open."""
    flows: Sequence[Mapping[str, Any]]
    wlans: Mapping[str, Any]
    path: Mapping[str, Any]
    arguments: Mapping[str, Mapping[str, Sequence[Any]]]
    experiments: Sequence[str]

    def concerns(self, experiment: str) -> bool:
        """Whether it is about this experiment, by its id without the paper's."""
        return not self.experiments or experiment in self.experiments

    def scenario(self, scenario: Mapping[str, Any]) -> dict[str, Any]:
        """A scenario under this reading."""
        found = dict(scenario)
        if "wlans" in found:
            found["wlans"] = [merged(one, self.wlans) for one in found["wlans"]]
        if "path" in found:
            found["path"] = merged(found["path"], self.path)
        for change in self.flows:
            laid = {key: value for key, value in change.items() if key not in _CHOOSE}
            found["flows"] = [
                merged(flow, laid) if _is_chosen(flow, change) else flow for flow in found.get("flows", [])
            ]
        return found

    def measure(self, tree: Any) -> Any:
        """An expression of a claim under this reading."""
        if isinstance(tree, list):
            return [self.measure(one) for one in tree]
        if not isinstance(tree, Mapping):
            return tree
        changes = self.arguments.get(tree.get("metric", ""), {})
        return {
            key: changes[key][1] if key in changes and value == changes[key][0] else self.measure(value)
            for key, value in tree.items()
        }


_CHOOSE = {"cc": "cc", "named": "name"}
"""The keys of a change that choose flows, and the key of a flow that each is about."""


def _is_chosen(flow: Mapping[str, Any], change: Mapping[str, Any]) -> bool:
    wanted = all(flow.get(of) in change[key] for key, of in _CHOOSE.items() if key in change)
    return bool(wanted and flow.get("kind", "tcp") == "tcp")


def readings(table: TomlTable) -> tuple[Reading, ...]:
    """The readings that a paper lists. Raises CaseError for a mistake."""
    found: list[Reading] = []
    for number, values in enumerate(table.tables("readings")):
        one = TomlTable(values, f"{table.where}, readings.{number}")
        name = one.take("name", str)
        if name in ("", DEFAULT, *(reading.name for reading in found)):
            raise CaseError(f"{one.where}: name = {name!r} must be text of its own, not `{DEFAULT}`")
        found.append(
            Reading(
                name,
                one.take("sets", str),
                one.take("passage", str),
                _flows(one),
                one.take("wlans", dict, {}),
                one.take("path", dict, {}),
                _arguments(one),
                one.take("experiments", list, []),
            )
        )
        one.done()
        changes = (found[-1].flows, found[-1].wlans, found[-1].path, found[-1].arguments)
        if not any(changes):
            raise CaseError(f"{one.where}: sets nothing (`flows`, `wlans`, `path` or `arguments`)")
    return tuple(found)


def _flows(table: TomlTable) -> list[Mapping[str, Any]]:
    listed = table.tables("flows")
    for change in listed:
        for key in _CHOOSE:
            chosen = change.get(key, [])
            if not isinstance(chosen, list) or not all(isinstance(one, str) for one in chosen):
                raise CaseError(f"{table.where}: flows: {key} = {chosen!r} must be a list of names")
    return listed


def _arguments(table: TomlTable) -> Mapping[str, Mapping[str, Sequence[Any]]]:
    found: dict[str, Mapping[str, Sequence[Any]]] = table.take("arguments", dict, {})
    for metric, changes in found.items():
        if not isinstance(changes, Mapping) or not all(
            isinstance(pair, list) and len(pair) == 2 for pair in changes.values()
        ):
            raise CaseError(
                f"{table.where}: arguments.{metric} must give each argument its old and its new value"
            )
    return found
