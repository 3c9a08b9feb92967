"""Reading TOML files: their tables key by key, and a sentence with file and place for each mistake."""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ackclock import reading
from ackclock.errors import InputError, did_you_mean
from ackclock.printable import is_printable

DEEPEST = 50
"""The deepest nesting of tables and lists in a file."""


class CaseError(InputError):
    """A mistake in the file of a case, or an unknown case."""


@contextmanager
def as_mistakes(where: str) -> Iterator[None]:
    """Raises CaseError for the errors of reading a part of a file: a missing key, a wrong type."""
    try:
        yield
    except CaseError:
        raise
    except KeyError as error:
        raise CaseError(f"{where}: the key {error} is missing or unknown") from error
    except (TypeError, ValueError, AttributeError, LookupError, ArithmeticError) as error:
        raise CaseError(f"{where}: is not as the format has it ({error})") from error


class TomlTable:
    """A TOML table, read key by key: a missing or an unknown key gives a sentence with file and place."""

    def __init__(self, values: Mapping[str, Any], where: str) -> None:
        self.values, self.where, self.read = values, where, set[str]()

    def take(self, key: str, kind: type | tuple[type, ...], default: Any = ...) -> Any:
        """The value of a key, which has to be of a kind. Raises CaseError for another, or for none."""
        self.read.add(key)
        if key not in self.values:
            if default is ...:
                raise CaseError(f"{self.where}: `{key}` is missing")
            return default
        value = self.values[key]
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            wanted = " or ".join(k.__name__ for k in (kind if isinstance(kind, tuple) else (kind,)))
            raise CaseError(f"{self.where}: {key} = {value!r} must be of type {wanted}")
        return value

    def tables(self, key: str) -> list[Mapping[str, Any]]:
        """A list of tables, empty if the key is absent."""
        listed = self.take(key, list, [])
        for number, one in enumerate(listed):
            if not isinstance(one, Mapping):
                raise CaseError(f"{self.where}, {key}.{number}: {one!r} must be a table")
        return list(listed)

    def done(self) -> None:
        """Raises CaseError for a key that has not been taken."""
        refuse_unknown(self.values, self.read, self.where)


def refuse_unknown(keys: Iterable[str], known: Iterable[str], where: str) -> None:
    """Raises CaseError for a key that is not known."""
    named = sorted(known)
    if stray := [key for key in keys if key not in named]:
        meant = did_you_mean(stray[0], named)
        raise CaseError(f"{where}: unknown key `{stray[0]}`{meant} (known: {', '.join(named)})")


def settings(values: Mapping[str, Any], where: str) -> dict[str, tuple[str, ...]]:
    """Scenario keys, each with a list of values. Raises CaseError for anything else."""
    for key, listed in values.items():
        if not isinstance(listed, list) or not listed or not all(isinstance(one, str) for one in listed):
            raise CaseError(f"{where}{key} must be a list of texts, as they would be written after --set")
    return {key: tuple(listed) for key, listed in values.items()}


def read_toml(path: Path) -> dict[str, Any]:
    """The document of a file. Raises CaseError for one that cannot be read."""
    try:
        document = tomllib.loads(reading.text(path))
    except OSError as error:
        raise CaseError(f"{path}: cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise CaseError(f"{path.name}: {error}") from error
    except RecursionError:
        document = None
    if document is None or _deeper_than(document, DEEPEST):
        raise CaseError(f"{path.name}: tables and lists are nested more than {DEEPEST} deep")
    steering = next((one for one in _texts(document) if not is_printable(one)), None)
    if steering is not None:
        raise CaseError(f"{path.name}: {steering!a}: must be text that can be printed")
    return document


def _texts(tree: Any) -> Iterator[str]:
    """All texts of a document, its keys included. It is not deep."""
    if isinstance(tree, str):
        yield tree
    elif isinstance(tree, Mapping | list):
        for one in [*tree, *tree.values()] if isinstance(tree, Mapping) else tree:
            yield from _texts(one)


def _deeper_than(tree: Any, levels: int) -> bool:
    """True if tables and lists are nested more than ``levels`` deep."""
    inside = [tree]
    for _ in range(levels + 1):
        # Those one level further in.
        inside = [
            one
            for outer in inside
            for one in (outer.values() if isinstance(outer, Mapping) else outer)
            if isinstance(one, Mapping | list)
        ]
    return bool(inside)


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """``base`` with ``over`` laid over it: tables are merged, anything else is replaced."""
    result = copy.deepcopy(dict(base))
    for key, value in over.items():
        if isinstance(value, Mapping) and isinstance(result.get(key), Mapping):
            result[key] = merged(result[key], value)
        else:
            result[key] = copy.deepcopy(value)
    return result
