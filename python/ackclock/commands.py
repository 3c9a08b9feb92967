"""The commands of results: a folder of ``check``, ``evaluate`` or ``reproduce`` knows its command line.

The files that it names are inputs, and a word names one by its place: ``@inputs/mine.py@:Mine``. An archive
comes from others, so of its commands only these three run. None writes elsewhere, or runs code without trust.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ackclock import identity
from ackclock.engines import registry
from ackclock.errors import InputError
from ackclock.inputs import CODE, Inputs, places, versions
from ackclock.workers import interpreter

REPEATABLE = ("check", "evaluate", "reproduce")
"""The commands whose folders have no runs, but verdicts."""

OUTPUT = ("--out", "--also", "--junit", "--csv", "--cases", "--measurements", "--limit")
"""Options with a value on which no result depends: where results go, and how long a command may take."""
FLAGS = ("--force", "--json", "-v", "--verbose")
"""The same without a value."""

COMPARED = (".json", ".csv", ".md", ".parquet")
"""The ends of the names of files with results. Pages and pictures show them."""

OF_THE_MACHINE = ("host", "seconds")
"""Keys of results in JSON that say where and when they were made."""

MOST_FILES = 1000
"""A folder of more files is no input."""

PLAIN = re.compile(r"[\w.,:=()+*%-]*")
"""A word that names no file."""


def record(folder: Path, arguments: Sequence[str]) -> None:
    """Writes the command and the files that it names into a folder of results. Raises OSError."""
    contents: dict[str, bytes] = {}
    lacks: list[str] = []
    words, named = [], []
    for word in _without_output(arguments):
        spelled = next((one for one in _candidates(word) if Path(one).exists()), None)
        words.append((word, spelled))
        if spelled is not None:
            named.append(Path(spelled).resolve())
            contents.update(_files(named[-1], lacks))
    of = places([*contents, *(str(one) for one in named)])
    command = [
        word if one is None else word.replace(one, f"@{of[str(Path(one).resolve())]}@") for word, one in words
    ]
    kept = {of[name]: content for name, content in contents.items()}
    Inputs({of[name]: name for name in contents}, (), {}, lacks, versions(), command, kept).write(folder)


def _without_output(arguments: Sequence[str]) -> Iterator[str]:
    rest = iter(arguments)
    for word in rest:
        if word in OUTPUT:
            next(rest, None)
        elif word not in FLAGS and not word.startswith(tuple(f"{one}=" for one in OUTPUT)):
            yield word


def _candidates(word: str) -> Iterator[str]:
    """The parts of a word that may be a file: itself, a value of an option, a file before a name in it."""
    for one in (word, word.partition("=")[2] if word.startswith("-") else ""):
        # A name alone is a controller, a case or an experiment.
        if "/" not in one and not one.endswith((".toml", *CODE)) and ":" not in one:
            continue
        parts = one.split(":")
        for first, last in ((0, len(parts)), (0, 1), (1, 2)):
            if part := ":".join(parts[first:last]).partition("(")[0]:
                yield part


def _files(named: Path, lacks: list[str]) -> dict[str, bytes]:
    """A file with all that it includes or names, or the files of a folder."""
    if named.is_dir():
        every = sorted(one for one in named.rglob("*") if one.is_file() and not _is_hidden(one, named))
        if len(every) > MOST_FILES:
            lacks.append(f"{named}: has {len(every)} files")
            return {}
        return {str(one): one.read_bytes() for one in every}
    content = named.read_bytes()
    found = {str(named): content}
    code = None
    if named.suffix == ".py":
        code = identity.of_python(named)
    elif named.name.endswith(identity.CONTROLLERS):
        code = (identity.of_c if named.name.endswith(identity.C) else identity.of_rust)(named, content)
    elif named.suffix == ".toml":
        for text in _texts(tomllib.loads(content.decode("utf-8"))):
            beside = (
                (named.parent / text).resolve() if text and len(text) < 256 and "\n" not in text else named
            )
            if beside != named and beside.is_file() and str(beside) not in found:
                found |= _files(beside, lacks)
    if code is not None:
        found |= code.files
        if code.unknown:
            lacks.append(code.unknown)
    return found


def _is_hidden(one: Path, below: Path) -> bool:
    return any(part.startswith(".") or part == "__pycache__" for part in one.relative_to(below).parts)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        for one in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(one)


def check(folder: Path, found: Inputs, trusted: bool) -> None:
    """Refuses a command that is none of ours, that writes elsewhere, or, without trust, that may run code.

    Raises InputError.
    """
    name, *rest = found.command
    if name not in REPEATABLE:
        raise InputError(
            f"{folder}: {name} is no command that can be repeated; there are {', '.join(REPEATABLE)}"
        )
    for word in rest:
        option = word.partition("=")[0]
        if option in (*OUTPUT, *FLAGS):
            raise InputError(f"{folder}: its command has {option}, which says where results go")
    if trusted:
        return
    foreign = [word for word in rest if not PLAIN.fullmatch(_without_places(word, found))]
    if named := [*found.code, *foreign, *(one for one in ("--trust", "--server", "--client") if one in rest)]:
        raise InputError(
            f"{folder}: names {named[0]}, which is or may be code and can do all that you can; "
            "look at it, and give --trust to run it"
        )


def _without_places(word: str, found: Inputs) -> str:
    for place in _named(found):
        word = word.replace(f"@{place}@", "")
    return word


def _named(found: Inputs) -> list[str]:
    """The places of files and of their folders."""
    folders = {str(above) for place in found.places for above in Path(place).parents if str(above) != "."}
    return [*found.places, *sorted(folders)]


def in_real_time(found: Inputs) -> bool:
    """True for a command on an engine that measures anew each time."""
    names = [word.partition(":")[0].removeprefix("--engine=") for word in found.command]
    live = any(name in registry.ENGINES and registry.ENGINES[name].real_time for name in names)
    return "--live" in found.command or "--server" in found.command or live


def module_folders(folder: Path, found: Inputs) -> list[str]:
    """The folders from which controllers in Python import the modules beside them."""
    modules = {folder / place for place in found.places if place.endswith(".py")}
    tops = []
    for one in sorted(modules):
        at = one.parent
        while at / "__init__.py" in modules:
            at = at.parent
        tops.append(str(at))
    return list(dict.fromkeys(tops))


def repeat(folder: Path, work: Path, found: Inputs) -> Path:
    """Runs the command again, and returns its folder below ``work``. Raises InputError.

    It runs in a folder without files, so a name in it is no file of the reader's.
    """
    words = list(found.command)
    for place in _named(found):
        words = [word.replace(f"@{place}@", str((folder / place).resolve())) for word in words]
    new, empty = work.resolve() / "again", work.resolve() / "empty"
    empty.mkdir()
    modules = [*module_folders(folder.resolve(), found), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        interpreter("-m", "ackclock", *words, "--out", str(new)),
        check=False,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        cwd=empty,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, modules))},
    )
    if not new.is_dir():
        raise InputError(
            f"{folder}: `ackclock {' '.join(words)}` fails: {done.stderr.strip() or done.returncode}"
        )
    return new


def results(folder: Path) -> list[str]:
    """The names of the files of results of a command."""
    return sorted(
        one.name for one in folder.iterdir() if one.suffix in COMPARED and one.name != "inputs.json"
    )


def difference(then: Path, now: Path) -> str | None:
    """The first difference between two files that are no tables, or None."""
    if then.suffix == ".json":
        old, new = (_of_any_machine(json.loads(one.read_text("utf-8"))) for one in (then, now))
        return _first_difference(old, new)
    old_lines, new_lines = (one.read_text("utf-8").splitlines() for one in (then, now))
    for number, (before, after) in enumerate(zip(old_lines, new_lines, strict=False), 1):
        if before != after:
            return f"line {number} was {before!r}, and is {after!r}"
    if len(old_lines) != len(new_lines):
        return f"{len(old_lines)} lines, and now {len(new_lines)}"
    return None


def _of_any_machine(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _of_any_machine(one) for key, one in value.items() if key not in OF_THE_MACHINE}
    return [_of_any_machine(one) for one in value] if isinstance(value, list) else value


def _first_difference(old: Any, new: Any, at: str = "") -> str | None:
    if isinstance(old, dict) and isinstance(new, dict) and old.keys() == new.keys():
        pairs = [(f"{at}.{key}" if at else key, old[key], new[key]) for key in old]
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        pairs = [(f"{at}.{place}", one, new[place]) for place, one in enumerate(old)]
    else:
        return None if repr(old) == repr(new) else f"{at or 'it'} was {old!r}, and is {new!r}"
    return next(
        (why for where, before, after in pairs if (why := _first_difference(before, after, where))), None
    )
