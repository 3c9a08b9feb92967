"""Scenarios built in Python: the same document as a scenario file, as dataclasses.

Values are spelled as in a file: ``"10mbit"``, ``"40ms"``, ``"84p"``, ``"1%"``. A field that is None has its
default.
"""

from __future__ import annotations

import json
import math
import numbers
import os
import pathlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, NoReturn, Self, TypeAlias, TypeVar

from ackclock import _engine, reading
from ackclock.controller import Controller, check_controller
from ackclock.language import Document, Flow, Link, Path, Record, Reverse, Wlan
from ackclock.trust import all_named

Factory: TypeAlias = Callable[[], Any]
"""Makes one controller written in Python."""

_KEYS = {"from_": "from"}

_PARTS = {"links": Link, "wlans": Wlan, "flows": Flow}
"""The fields that are lists, and what is in them."""

_DEEPEST = 120
"""Tables and lists in one another that the engine's parser of JSON takes (127), with room for its own."""

_MOST_BITS = 1023
"""Bits of a whole number that a double surely has room for."""

Part = TypeVar("Part", "Path", "Link")


@dataclass
class Scenario(Document):
    """A network and the flows on it. The network is one bottleneck (``path``) or any number of ``links``."""

    @classmethod
    def load(
        cls,
        file: str | os.PathLike[str],
        overrides: Mapping[str, Any] | None = None,
        *,
        files: _engine.Files | None = None,
    ) -> Self:
        """Reads a scenario file, with the values at the dotted keys of ``overrides`` in place of its own.

        ``files`` remembers the files that the scenario names. Raises ScenarioError, or OSError if the file
        cannot be read.
        """
        text = read(pathlib.Path(file))
        plan = _engine.resolve(text, os.fspath(file), override_list(overrides), files or all_named())
        return cls.from_document(json.loads(plan.resolved))

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Self:
        """The scenario of a document of the shape of a scenario file, such as ``Run.scenario``.

        Raises ScenarioError, with the key, for one that is no scenario.
        """
        try:
            given = _arguments(document)
            if "path" in given:
                given["path"] = _with_reverse(Path, given["path"])
            given["links"] = [_with_reverse(Link, link) for link in given.get("links", ())]
            given["wlans"] = [Wlan(**wlan) for wlan in given.get("wlans", ())]
            given["flows"] = [Flow(**_arguments(flow)) for flow in given.get("flows", ())]
            if "record" in given:
                given["record"] = Record(**given["record"])
            return cls(**given)
        except (TypeError, AttributeError, ValueError) as error:
            _refuse(document, error)

    def resolved(self, overrides: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The complete document, all defaults filled in and everything checked. Raises ScenarioError."""
        plan, _ = self.compiled(overrides)
        resolved: dict[str, Any] = json.loads(plan.resolved)
        return resolved

    def compiled(
        self, overrides: Mapping[str, Any] | None = None, files: _engine.Files | None = None
    ) -> tuple[_engine.Plan, list[Factory]]:
        """What engines take: the plan, and makers of its controllers in Python.

        ``files``: see ``load``. Raises ScenarioError.
        """
        text, factories = self.as_json()
        return _engine.resolve_json(text, override_list(overrides), files or all_named()), factories

    def as_json(self) -> tuple[str, list[Factory]]:
        """The document as JSON, not yet resolved, and makers of its controllers in Python.

        Raises ScenarioError.
        """
        document = _document(self)
        factories: list[Factory] = []
        for flow, described in zip(self.flows or (), document.get("flows", ()), strict=True):
            if not isinstance(flow.cc, str):
                if not isinstance(flow.cc, type):
                    raise TypeError(
                        f"flows.{_index_of(self.flows, flow)}.cc is {flow.cc!r}: it must be the name of a "
                        "controller, or a class written in Python"
                    )
                check_controller(flow.cc)
                described["cc"] = f"python:{len(factories)}:{flow.cc.__name__}"
                if flow.name is None and flow.count is None:
                    described["name"] = f"{flow.cc.__name__}-{_index_of(self.flows, flow)}"
                factories.append(_factory(flow.cc, dict(flow.parameters or {})))
        return as_json(document), factories


def _refuse(document: object, error: Exception) -> NoReturn:
    """Raises ScenarioError for a document of another shape, in the engine's words."""
    if not isinstance(document, Mapping):
        raise _error(f"scenario: is {type(document).__name__} and no table of keys", "") from None
    _engine.resolve_json(as_json(document, of_class="newreno"), [], all_named())
    raise _error(f"scenario: {error}", "") from error


def display_name(cc: str) -> str:
    """The name of a controller in tables and plots: of a file in C without its folder."""
    return _engine.controller_label(cc)


def in_file(cc: str) -> str:
    """``cc`` in a resolved scenario: a file by its absolute path."""
    return _engine.controller_at(cc, str(pathlib.Path.cwd())) or cc


def override_list(overrides: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    """Overrides as the engine takes them: dotted keys, and values in TOML (text stays as it is)."""
    return [
        (key, value if isinstance(value, str) else as_toml(value)) for key, value in (overrides or {}).items()
    ]


def read(file: pathlib.Path) -> str:
    """The text of a scenario file. Raises ScenarioError where it is not UTF-8, or OSError."""
    try:
        return reading.text(file)
    except UnicodeDecodeError as error:
        raise _error(
            f"{file}: is not UTF-8 text (byte {error.start} is the first that is not)", str(file)
        ) from None


def _error(message: str, file: str, key: str = "") -> _engine.ScenarioError:
    error = _engine.ScenarioError(message)
    error.file, error.line, error.key = file, None, key
    return error


def _parts(name: str, given: object) -> Sequence[Any]:
    """The links, wlans or flows of a scenario. Raises ScenarioError for anything else."""
    kind = _PARTS[name]

    def refuse(key: str, found: object, allowed: str) -> NoReturn:
        shown = type(found).__name__
        raise _error(f"scenario: {key}: it is of type {shown}: allowed is {allowed}", "", key)

    if isinstance(given, str) or not isinstance(given, Sequence):
        refuse(name, given, f"a list of {kind.__name__}")
    for number, one in enumerate(given):
        if not isinstance(one, kind):
            refuse(f"{name}.{number}", one, kind.__name__)
    return given


def _document(part: Any) -> dict[str, Any]:
    """A dataclass as a table of the document, without fields that are None.

    Raises ScenarioError for parts of another type.
    """
    table: dict[str, Any] = {}
    for attribute in fields(part):
        value = getattr(part, attribute.name)
        if value is None:
            continue
        if isinstance(value, Path | Reverse | Record):
            value = _document(value)
        elif attribute.name in _PARTS:
            value = [_document(item) for item in _parts(attribute.name, value)]
        table[_KEYS.get(attribute.name, attribute.name)] = value
    for name in ("links", "wlans"):
        if table.get(name) == []:
            del table[name]
    return table


def as_json(document: Mapping[str, Any], *, of_class: str | None = None) -> str:
    """A document as JSON for the engine, its classes written as ``of_class``.

    Raises ScenarioError with the key of a value that JSON cannot hold.
    """
    return json.dumps(_plain(document, of_class=of_class))


def _plain(value: Any, key: str = "", depth: int = 0, *, of_class: str | None = None) -> Any:
    """A value for JSON: NumPy's numbers become Python's, a path its text, and a class ``of_class``.

    ``key`` is its place in the document. Raises ScenarioError for other types, numbers and texts that are
    none, and nesting without end.
    """

    def refuse(why: str) -> NoReturn:
        raise _error(f"scenario: {key}: {why}", "", key)

    if depth > _DEEPEST:
        key = key[:80]
        refuse(f"more than {_DEEPEST} tables and lists are in one another")
    match value:
        case str():
            if any("\ud800" <= character <= "\udfff" for character in value):
                refuse(f"{value!a} is no text")
        case Mapping():
            inner = ((str(k), v) for k, v in value.items())
            return {k: _plain(v, f"{key}.{k}".lstrip("."), depth + 1, of_class=of_class) for k, v in inner}
        case list() | tuple():
            items = enumerate(value)
            return [_plain(one, f"{key}.{number}", depth + 1, of_class=of_class) for number, one in items]
        case None | bool():
            pass
        case numbers.Integral():
            if int(value).bit_length() > _MOST_BITS:
                refuse(f"a number of {int(value).bit_length()} bits is too large")
            return int(value)
        case numbers.Real():
            if not math.isfinite(value):
                refuse(f"{value} is no number")
            return float(value)
        case os.PathLike():
            return str(value)
        case type() if of_class:
            return of_class
        case _:
            allowed = "texts, numbers, booleans, lists and tables"
            refuse(f"it is of type {type(value).__name__}: allowed are {allowed}")
    return value


def _arguments(table: Mapping[str, Any]) -> dict[str, Any]:
    return {"from_" if key == "from" else key: value for key, value in table.items()}


def _with_reverse(kind: type[Part], table: Mapping[str, Any]) -> Part:
    given = _arguments(table)
    if "reverse" in given:
        given["reverse"] = Reverse(**given["reverse"])
    return kind(**given)


def _index_of(flows: Sequence[Flow], wanted: Flow) -> int:
    """The number of flows before ``wanted``, copies counted."""
    index = 0
    for flow in flows:
        if flow is wanted:
            break
        index += flow.count or 1
    return index


def _factory(kind: type[Controller], parameters: dict[str, Any]) -> Factory:
    return partial(kind, **parameters)


def as_toml(value: Any) -> str:
    """A value of a scenario in TOML, in one line. TypeError if TOML has no such value."""
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case str():
            return json.dumps(value)
        case Mapping():
            return (
                "{" + ", ".join(f"{json.dumps(key)} = {as_toml(item)}" for key, item in value.items()) + "}"
            )
        case Sequence():
            return "[" + ", ".join(map(as_toml, value)) + "]"
    raise TypeError(f"{value!r}: an override is text, a number, true or false, or a list or table of these")
