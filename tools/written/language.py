"""The dataclasses of the scenario language, from its JSON schema."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from written.docstrings import docstring, of_rust, wrapped

Schema = Mapping[str, Any]

HEAD = "# Below: written by tools/written from the schema, in the order that the fields had before.\n"
"""The line above the written part."""

CLASSES = ("Reverse", "Path", "Link", "Wlan", "Flow", "Record")
"""Objects of the schema with a class of that name."""

WHOLE = "Document"
"""The class of a whole scenario."""

POSITIONAL = {"Path", "Flow", WHOLE}
"""Classes whose fields may be given by position."""

ALIASES = {
    "ChangingQueue": "Queue",
    "Delay": "Delay | Mapping[str, Delay]",
    "DistributionOfBytes": "Distribution",
    "DistributionOfCount": "Distribution | int",
    "DistributionOfSpan": "Distribution",
    "Duplicate": "Duplicate",
    "Jitter": "Jitter",
    "LinkRate": "Rate",
    "Loss": "LossModel",
    "Propagation": "Delay",
    "Queue": "Queue",
}
"""Types of the schema that have an alias above the written part."""

NAMES = {"from": "from_"}
"""Keys that are words of Python."""

OWN = {
    ("Flow", "cc"): ("str | type[Controller]", None, " Or a class written in Python."),
    (WHOLE, "name"): ("str", '"scenario"', ""),
    (WHOLE, "duration"): ("str", '"60s"', ""),
}
"""Fields with a type or a default that a file does not have."""

PLAIN = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "object": "Mapping[str, Any]",
}


@dataclass(frozen=True)
class Field:
    """A field of a class."""

    name: str
    annotation: str
    default: str | None
    meaning: str

    def lines(self) -> Iterator[str]:
        """The field and its docstring."""
        yield f"    {self.name}: {self.annotation}" + (f" = {self.default}" if self.default else "")
        yield from wrapped(f'"""{of_rust(self.meaning)}"""', 4)


def written(module: str, schema: Schema) -> str:
    """The module with the classes of ``schema`` below the line :data:`HEAD`."""
    above, _, below = module.partition(HEAD)
    order = fields_of(below)
    classes = [one_class(schema, name, schema["$defs"][name], order.get(name, [])) for name in CLASSES]
    classes.append(one_class(schema, WHOLE, schema, order.get(WHOLE, [])))
    return above + HEAD + "\n\n" + "\n\n\n".join(classes) + "\n"


def fields_of(source: str) -> dict[str, list[str]]:
    """The names of the fields of each class."""
    return {
        found.name: [
            one.target.id
            for one in found.body
            if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)
        ]
        for found in ast.parse(source).body
        if isinstance(found, ast.ClassDef)
    }


def one_class(schema: Schema, name: str, described: Schema, order: Sequence[str]) -> str:
    """The class of an object: keys that must be given first, then in ``order``, and new ones last."""
    required = described.get("required", [])
    fields = [
        field(schema, name, key, value, key in required) for key, value in described["properties"].items()
    ]
    place = {one: number for number, one in enumerate(order)}
    fields.sort(key=lambda one: (one.default is not None, place.get(one.name, len(place)), one.name))
    decorator = "@dataclass" if name in POSITIONAL else "@dataclass(kw_only=True)"
    lines = [decorator, f"class {name}:", *docstring(of_rust(described["description"]), 4), ""]
    return "\n".join(lines + [line for one in fields for line in one.lines()])


def field(schema: Schema, owner: str, key: str, value: Schema, required: bool) -> Field:
    """The field of a key."""
    name, meaning = NAMES.get(key, key), value["description"]
    if name != key:
        meaning += f" (`{key}` in a file)"
    if (owner, key) in OWN:
        annotation, default, more = OWN[owner, key]
        return Field(name, annotation, default, meaning + more)
    annotation = " | ".join(alternatives(schema, value))
    if is_list_of_class(schema, value):
        return Field(name, annotation, "field(default_factory=list)", meaning)
    return (
        Field(name, annotation, None, meaning)
        if required
        else Field(name, f"{annotation} | None", "None", meaning)
    )


def is_list_of_class(schema: Schema, value: Schema) -> bool:
    """True for a list whose items have a class."""
    return value.get("type") == "array" and any(
        one in CLASSES for one in alternatives(schema, value["items"])
    )


def alternatives(schema: Schema, value: Schema) -> list[str]:
    """The types that a value may have, apart from none. An object that has a class has it alone."""
    if "$ref" in value:
        name = value["$ref"].rpartition("/")[2]
        known = name if name in CLASSES else ALIASES.get(name)
        return [known] if known else alternatives(schema, schema["$defs"][name])
    for several in ("anyOf", "oneOf"):
        if several in value:
            found = [kind for one in value[several] for kind in alternatives(schema, one)]
            return next(([kind] for kind in found if kind in CLASSES), list(dict.fromkeys(found)))
    if "const" in value or "enum" in value:
        return ["str"]
    kinds = value["type"] if isinstance(value["type"], list) else [value["type"]]
    return [_plain(schema, kind, value) for kind in kinds if kind != "null"]


def _plain(schema: Schema, kind: str, value: Schema) -> str:
    if kind != "array":
        return PLAIN[kind]
    return f"Sequence[{' | '.join(alternatives(schema, value['items'])) if 'items' in value else 'Any'}]"
