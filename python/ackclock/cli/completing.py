"""What the shell completes besides commands and options: controllers, experiments, profiles, keys.

``ackclock --install-completion`` switches completion on. Each function takes what is typed so far and returns
the words that begin with it; the shell itself completes files.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from importlib import resources
from typing import Any

from ackclock import _engine

DEEPEST = 5
"""How many names a completed key has."""


def controllers(incomplete: str) -> list[str]:
    """Names of controllers, and the parameters of one behind ``(``."""
    name, bracket, given = incomplete.partition("(")
    if not bracket:
        return _beginning(incomplete, _controllers())
    done, comma, typed = given.rpartition(",")
    keys = _controllers().get(name, [])
    return [f"{name}({done}{comma}{key}=" for key in _beginning(typed.strip(), keys)]


def controller_list(incomplete: str) -> list[str]:
    """Names of controllers with commas between."""
    done, comma, typed = incomplete.rpartition(",")
    return [f"{done}{comma}{name}" for name in _beginning(typed, _controllers())]


def profiles(incomplete: str) -> list[str]:
    """Names of stacks."""
    return _beginning(incomplete, [one["name"] for one in _engine.profiles()])


def experiments(incomplete: str) -> list[str]:
    """Papers, suites and their experiments."""
    from ackclock.papers.catalogue import DATA, SUITES

    # Reading every experiment whole would take a second.
    first = re.compile(r'^id = "([^"]+)"', re.MULTILINE)
    files = [file for folder in (DATA, SUITES) for file in sorted(folder.glob("*/*.toml"))]
    found = (first.search(file.read_text("utf-8")) for file in files)
    return _beginning(incomplete, [one[1] for one in found if one is not None])


def settings(incomplete: str) -> list[str]:
    """Keys of the scenario with ``=`` behind them."""
    return _beginning(incomplete, [f"{key}=" for key in keys()])


def swept(incomplete: str) -> list[str]:
    """Keys of the scenario as ``--over`` takes them: those of the path without ``path.`` too."""
    from ackclock.sweeps.axes import SHORT_KEYS

    return _beginning(incomplete, [f"{key}=" for key in (*SHORT_KEYS, *keys())])


def examples(incomplete: str) -> list[str]:
    """Names of examples."""
    folder = resources.files("ackclock.cli") / "scenarios"
    return _beginning(
        incomplete, [one.name.removesuffix(".toml") for one in folder.iterdir() if ".toml" in one.name]
    )


def cases(incomplete: str) -> list[str]:
    """Cases of ``bench``."""
    from ackclock import bench

    return _beginning(incomplete, [case.name for case in bench.CASES])


def formats(incomplete: str) -> list[str]:
    """Formats of ``export``."""
    return _beginning(incomplete, ["csv", "flent", "iperf3", "mm-link", "qlog", "radiotap"])


def keys() -> list[str]:
    """All dotted keys of a scenario; ``0`` and ``*`` stand for the first and for every entry of a list."""
    schema = json.loads(_engine.schema())
    return list(dict.fromkeys(_keys(schema, schema["$defs"], "", DEEPEST)))


def _keys(part: Mapping[str, Any], kinds: Mapping[str, Any], before: str, depth: int) -> Iterator[str]:
    """The keys below a part of the schema that hold a value."""
    if depth == 0:
        return
    for one in _alternatives(part, kinds):
        for name, inner in one.get("properties", {}).items():
            key = f"{before}{name}"
            yield key
            yield from _keys(inner, kinds, f"{key}.", depth - 1)
        if "items" in one:
            for index in ("0", "*"):
                yield from _keys(one["items"], kinds, f"{before}{index}.", depth - 1)


def _alternatives(part: Any, kinds: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """A part of the schema, with those that it may be instead."""
    if not isinstance(part, dict):
        return
    yield part
    if "$ref" in part:
        yield from _alternatives(kinds[part["$ref"].rpartition("/")[2]], kinds)
    for several in ("anyOf", "oneOf"):
        for one in part.get(several, ()):
            yield from _alternatives(one, kinds)


def _controllers() -> dict[str, list[str]]:
    """The parameters of each controller."""
    return {
        one["name"]: [parameter["name"] for parameter in one["parameters"]] for one in _engine.controllers()
    }


def _beginning(typed: str, words: Iterable[str]) -> list[str]:
    return [word for word in words if word.startswith(typed)]
