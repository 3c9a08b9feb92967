"""Tables of the scenario language, from its JSON schema."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import ackclock
from pages.tables import PageError, Table, maker

Schema = dict[str, Any]

TYPES = {
    "Bytes": "size",
    "Count": "number",
    "Delay": "[delay](paths.md#delays)",
    "DistributionOfBytes": "[size](#distributions)",
    "DistributionOfCount": "[number](#distributions)",
    "DistributionOfSpan": "[time](#distributions)",
    "Fraction": "fraction",
    "Jitter": "[jitter](paths.md#delays)",
    "LinkRate": "[rate](paths.md#rates)",
    "Loss": "[loss](paths.md#losses)",
    "Propagation": "[delay](paths.md#delays)",
    "Queue": "[queue](paths.md#queues)",
    "Rate": "rate",
    "Sampling": "sampling",
    "Source": "[source](#sources)",
    "Span": "time",
    "Time": "time",
}
"""The words for a type that has a name in the schema."""

PLAIN = {"string": "text", "integer": "integer", "number": "number", "boolean": "boolean", "object": "table"}

PLURAL = re.compile("^(list|table|integer|number|rate|text)\\b")
"""The words for a type, at the beginning, that have a plural in a list."""

MOST_KEYS = 7
"""The keys of a table that are listed as its type."""


@maker("keys")
def keys(definition: str) -> Table:
    """A row for each key of an object of the language, those that must be given first."""
    found = _definition(definition)
    required = found.get("required", [])
    ordered = sorted(found["properties"].items(), key=lambda item: item[0] not in required)
    rows = [
        [f"`{name}`", _type(value), *_default_and_meaning(value, name in required)] for name, value in ordered
    ]
    return Table(("key", "type", "default", "meaning"), rows)


@maker("quantities")
def quantities() -> Table:
    """A row for each quantity, which has bounds wherever it stands."""
    rows = []
    for name in ("Span", "Rate", "Bytes", "Fraction"):
        found = _definition(name)
        examples = ", ".join(f"`{json.dumps(one)}`" for one in found["examples"])
        spelling = found["description"].partition(": ")[2]
        most = found.get("formatMaximum") or found["anyOf"][0]["maximum"]
        rows.append([TYPES[name], spelling, examples, f"`{most}`"])
    return Table(("quantity", "units", "examples", "at most"), rows)


@maker("disciplines")
def disciplines() -> Table:
    """A row for each queue discipline."""
    rows = [[f'`"{_name(one)}"`', one["description"]] for one in _disciplines()]
    return Table(("`discipline`", "meaning"), rows)


@maker("settings")
def settings() -> Table:
    """A row for each setting of each discipline."""
    rows = [
        [f"`{_name(one)}`", f"`{key}`", *_default_and_meaning(value, key in one["required"])]
        for one in _disciplines()
        for key, value in one["properties"].items()
        if key != "discipline"
    ]
    return Table(("discipline", "setting", "default", "meaning"), rows)


@maker("slow-start-parameters")
def slow_start_parameters() -> Table:
    """A row for each parameter of slow start, which most controllers have."""
    prefix = "slow-start-"
    rows = [
        [f"`{name.removeprefix(prefix)}`", _default(value, required=False), value["description"]]
        for name, value in _schema()["$defs"].items()
        if name.startswith(prefix)
    ]
    return Table(("parameter", "default", "meaning"), rows)


@cache
def _schema() -> Schema:
    loaded: Schema = json.loads(ackclock.schema())
    return loaded


def _definition(name: str) -> Schema:
    """An object of the schema. ``run`` is the whole document."""
    if name == "run":
        return _schema()
    if name not in _schema()["$defs"]:
        raise PageError(f"the schema has no `{name}`")
    found: Schema = _schema()["$defs"][name]
    return found


def _disciplines() -> Iterator[Schema]:
    """The alternatives of a queue that have a discipline."""
    for form in _definition("Queue")["anyOf"]:
        yield from form.get("oneOf", [])


def _name(discipline: Schema) -> str:
    name: str = discipline["properties"]["discipline"]["const"]
    return name


def _default(value: Schema, required: bool) -> str:
    default = value.get("default")
    if required:
        return "**required**"
    return (
        ""
        if default is None or default in ("", []) or isinstance(default, dict)
        else f"`{json.dumps(default)}`"
    )


def _default_and_meaning(value: Schema, required: bool) -> tuple[str, str]:
    """Both once: descriptions also name the default, spelled as a user would. Then come the bounds."""
    default, meaning = _default(value, required), value.get("description", "")
    if default and (said := re.search(r"[;,.] [Bb]y default ([^;]+)\.$", meaning)):
        meaning = meaning[: said.start()] + "."
        default = f'`"{said[1]}"`' if 'B"`' in default else default
    return default, meaning + bounds(value)


def bounds(value: Schema) -> str:
    """The least and the largest value of a key in words, if the key itself declares them."""
    for least, most in (("formatMinimum", "formatMaximum"), ("minimum", "maximum")):
        if least in value and most in value:
            return f" From `{_plain(value[least])}` to `{_plain(value[most])}`."
    return ""


def _plain(end: object) -> object:
    """Whole numbers without decimals."""
    return int(end) if isinstance(end, float) and end.is_integer() else end


def _type(value: Schema) -> str:
    """The type of a key in words."""
    if "$ref" in value:
        name = value["$ref"].rpartition("/")[2]
        return TYPES.get(name) or _type(_definition(name))
    if "const" in value:
        return f"`{json.dumps(value['const'])}`"
    if "enum" in value:
        return ", ".join(f"`{json.dumps(one)}`" for one in value["enum"])
    for several in ("anyOf", "oneOf", "allOf"):
        if several in value:
            return _either([one for one in value[several] if one.get("type") != "null"])
    if isinstance(value.get("type"), list):
        return _type(value | {"type": next(one for one in value["type"] if one != "null")})
    if len(value.get("properties", {})) > MOST_KEYS:
        return PLAIN["object"]
    if "properties" in value:
        return f"`{{ {', '.join(value['properties'])} }}`"
    if value.get("type") == "array":
        items = _type(value.get("items", {})) or "table"
        return "list of " + PLURAL.sub(r"\1s", items)
    return PLAIN.get(value.get("type", ""), "")


def _either(alternatives: Sequence[Schema]) -> str:
    return ", ".join(dict.fromkeys(filter(None, map(_type, alternatives))))
