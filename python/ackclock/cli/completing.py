"""Completions of the shell besides commands and options: controllers, experiments, profiles, keys.

``eval "$(ackclock --completion bash)"`` switches completion on. Each function takes the text typed so far and
returns the words that begin with it. The shell itself completes files.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import resources
from typing import Any

import click
from click.shell_completion import BashComplete, CompletionItem, add_completion_class, get_completion_class
from click.shell_completion import shell_complete as answer

from ackclock import _engine
from ackclock.errors import InputError

IN_KERNEL = (
    *("newreno", "cdg", "siad", "da", "yeah", "illinois", "tcp-q", "tcp-c", "tcp-fq", "tcp-fs"),
    *("gentle-1", "gentle-2", "jk", "pit"),
)
"""The controllers with a file in ``kernel/``."""

DEEPEST = 5
"""The number of names in a completed key."""

BREAKS = ("=", ":")
"""The characters besides blanks at which bash breaks words."""


def controllers(incomplete: str) -> list[str]:
    """Names of controllers, and the parameters of one behind ``(``."""
    name, bracket, given = incomplete.partition("(")
    if not bracket:
        return beginning(incomplete, _controllers())
    done, comma, typed = given.rpartition(",")
    keys = _controllers().get(name, [])
    return [f"{name}({done}{comma}{key}=" for key in beginning(typed.strip(), keys)]


def controller_list(incomplete: str) -> list[str]:
    """Names of controllers with commas between."""
    return listed(_controllers(), incomplete)


def engines(incomplete: str) -> list[str]:
    """Names of engines, and the options of one behind ``:``."""
    from ackclock.engines.options import declared, spelled
    from ackclock.engines.registry import ENGINES

    name, colon, given = incomplete.partition(":")
    if not colon or name not in ENGINES:
        return beginning(incomplete, ENGINES)
    options = {spelled(key): about.known for key, (_, about) in declared(ENGINES[name]).items()}
    words = [f"{key}={value}" for key, known in options.items() for value in (known() if known else [""])]
    return [f"{name}:{text}" for text in listed(words, given)]


def profiles(incomplete: str) -> list[str]:
    """Names of stacks."""
    return beginning(incomplete, [one["name"] for one in _engine.profiles()])


def experiments(incomplete: str) -> list[str]:
    """Papers, suites and their experiments."""
    from ackclock.papers.catalogue import DATA, SUITES

    # Reading every experiment whole would take a second.
    first = re.compile(r'^id = "([^"]+)"', re.MULTILINE)
    papers = [file.parent for folder in (DATA, SUITES) for file in sorted(folder.glob("*/paper.toml"))]
    files = [file for paper in papers for file in sorted(paper.glob("*.toml"))]
    found = (first.search(file.read_text("utf-8")) for file in files)
    return beginning(incomplete, [one[1] for one in found if one is not None])


def settings(incomplete: str) -> list[str]:
    """Keys of the scenario with ``=`` behind them, and the values of one behind that."""
    key, equals, typed = incomplete.partition("=")
    if not equals:
        return beginning(key, [f"{one}=" for one in keys()])
    return [f"{key}={value}" for value in beginning(typed, values(key))]


def swept(incomplete: str) -> list[str]:
    """Keys of the scenario as ``--over`` takes them, and values.

    Keys of the path also match without ``path.``.
    """
    from ackclock.sweeps.axes import SHORT_KEYS
    from ackclock.sweeps.lines import LINES

    key, equals, given = incomplete.partition("=")
    if not equals:
        return beginning(key, [f"{one}=" for one in (*SHORT_KEYS, LINES, *keys())])
    done, comma, typed = given.rpartition(",")
    before = f"{key}={done}{comma}"
    return [f"{before}{value}" for value in beginning(typed, values(SHORT_KEYS.get(key, key)))]


def queues(incomplete: str) -> list[str]:
    """Limits and disciplines of a queue."""
    return beginning(incomplete, values("path.queue"))


def named_networks(incomplete: str) -> list[str]:
    """The networks of the package with commas between, or a standard of wireless networks."""
    from ackclock.networks import NAMES, presets

    return listed((*NAMES, *presets.names()), incomplete) or beginning(incomplete, values("wlans.0.standard"))


def draws(incomplete: str) -> list[str]:
    """How the points of a sweep are drawn, behind their number."""
    from ackclock.sweeps.axes import DRAWS

    count, colon, typed = incomplete.partition(":")
    return [f"{count}:{draw}" for draw in beginning(typed, DRAWS)] if colon else []


def executors(incomplete: str) -> list[str]:
    """The executors of a sweep."""
    return beginning(incomplete, ["local", "dask", "dask://"])


def listed(words: Iterable[str], incomplete: str) -> list[str]:
    """Words with commas between."""
    done, comma, typed = incomplete.rpartition(",")
    return [f"{done}{comma}{word}" for word in beginning(typed, words)]


def networks(incomplete: str) -> list[str]:
    """The networks of ``slow-start``."""
    from ackclock.slow_start import NETWORKS

    return beginning(incomplete, NETWORKS)


def examples(incomplete: str) -> list[str]:
    """Names of examples."""
    folder = resources.files("ackclock.cli") / "scenarios"
    return beginning(
        incomplete, [one.name.removesuffix(".toml") for one in folder.iterdir() if ".toml" in one.name]
    )


def cases(incomplete: str) -> list[str]:
    """Cases of ``bench``."""
    from ackclock import bench

    return beginning(incomplete, [case.name for case in bench.CASES])


def judged(incomplete: str) -> list[str]:
    """Cases of ``check`` with commas between: files of laws and rules, which the names of files identify."""
    folder = resources.files("ackclock.checks")
    found = (folder / "laws", *(part for part in (folder / "rules").iterdir() if part.is_dir()))
    names = {
        one.name.removesuffix(".toml") for part in found for one in part.iterdir() if ".toml" in one.name
    }
    names |= {one.name.removesuffix(".toml") for one in (folder / "rules").iterdir() if ".toml" in one.name}
    return listed(sorted(names), incomplete)


def formats(incomplete: str) -> list[str]:
    """Formats of ``export``."""
    return beginning(incomplete, ["archive", "csv", "flent", "iperf3", "mm-link", "qlog", "radiotap"])


def in_kernel(incomplete: str) -> list[str]:
    """Controllers that can be loaded into the kernel."""
    return beginning(incomplete, IN_KERNEL)


def slow_starts(incomplete: str) -> list[str]:
    """Slow starts that can be compared."""
    from ackclock.slow_start import METHODS

    return beginning(incomplete, METHODS)


def situations(incomplete: str) -> list[str]:
    """Situations of ``parity`` with commas between."""
    from ackclock import parity

    return listed([parity.GREEDY, *parity.catalogue()], incomplete)


def keys() -> list[str]:
    """All dotted keys of a scenario. ``0`` is the first entry of a list, ``*`` every entry."""
    schema = _schema()
    return list(dict.fromkeys(_keys(schema, schema["$defs"], "", DEEPEST)))


def values(key: str) -> list[str]:
    """The values of a dotted key: its words, or examples of its quantities."""
    last = key.rpartition(".")[2]
    if last == "cc":
        return list(_controllers())
    if last == "profile":
        return profiles("")
    schema = _schema()
    parts = _parts(schema, schema["$defs"], key.split("."))
    return list(dict.fromkeys(word for part in parts for word in _words(part)))


@cache
def _schema() -> Any:
    return json.loads(_engine.schema())


def _parts(part: Any, kinds: Mapping[str, Any], names: list[str]) -> Iterator[Mapping[str, Any]]:
    """The parts of the schema that a dotted key leads to."""
    for one in _alternatives(part, kinds):
        if not names:
            yield one
        elif names[0] in one.get("properties", {}):
            yield from _parts(one["properties"][names[0]], kinds, names[1:])
        elif "items" in one and (names[0] == "*" or names[0].isdigit()):
            yield from _parts(one["items"], kinds, names[1:])


def _words(part: Mapping[str, Any]) -> Iterator[str]:
    """The values that a part of the schema names."""
    listed = [*part.get("enum", ()), *part.get("examples", ()), part.get("const")]
    if "boolean" in (part.get("type"), *_list(part.get("type"))):
        listed += [True, False]
    for value in listed:
        if isinstance(value, str):
            yield value
        elif isinstance(value, bool | int | float):
            yield json.dumps(value)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


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
    """The parameters of each controller, and those that one engine alone has, which have none."""
    from ackclock.engines.registry import ENGINES

    listed = {
        one["name"]: [parameter["name"] for parameter in one["parameters"]] for one in _engine.controllers()
    }
    here = [ENGINES[name] for name in _engine.engines()]
    return listed | {name: [] for kind in here for name in kind.own}


def beginning(typed: str, words: Iterable[str]) -> list[str]:
    """The words that begin with the typed prefix."""
    return [word for word in words if word.startswith(typed)]


class Bash(BashComplete):
    """Completes for bash, which breaks words at ``=`` and ``:`` and keeps the part before them itself."""

    kept = ""

    def get_completion_args(self) -> tuple[list[str], str]:
        """See ``ShellComplete.get_completion_args``."""
        words, last = super().get_completion_args()
        whole: list[str] = []
        for word in (*words, last):
            if whole and word and (word in BREAKS or whole[-1].endswith(BREAKS)):
                whole[-1] += word
            else:
                whole.append(word)
        self.kept = whole[-1][: 1 + max(whole[-1].rfind(one) for one in BREAKS)]
        return whole[:-1], whole[-1]

    def format_completion(self, item: CompletionItem) -> str:
        """See ``ShellComplete.format_completion``."""
        return f"{item.type},{str(item.value).removeprefix(self.kept)}"


add_completion_class(Bash)


def complete(application: click.Command, variable: str) -> int:
    """Prints the completions that a shell asks for, and gives the exit status."""
    return answer(application, {}, "ackclock", variable, os.environ[variable])


def script(shell: str, application: click.Command, variable: str) -> str:
    """The commands that switch completion on in a shell. Raises InputError for an unknown one."""
    if (found := get_completion_class(shell)) is None:
        raise InputError(f"--completion {shell}: must be bash, zsh or fish")
    return found(application, {}, "ackclock", variable).source()
