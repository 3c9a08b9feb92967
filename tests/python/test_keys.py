"""Every key of the scenario language has a user or a source: a scenario sets it, or its description cites."""

from __future__ import annotations

import ast
import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from ackclock import _engine

ROOT = Path(__file__).parents[2]
FOLDERS = ("papers", "suites", "examples", "python/ackclock")
SOURCE = re.compile(
    r"\bRFC \d{4}\b|\b(?:19|20)\d\d\b|\b802\.11|\bdot11[A-Z]\w+"
    r"|\b(?:Linux|FreeBSD|4\.3BSD|ns-2|libwebrtc|of `?tc)\b"
)
"""A document, a year, a name in a standard, or the system that has the key."""


def described(node: object, owner: str = "") -> Iterator[tuple[str, str]]:
    """Each key below a part of the schema, with its description and its object's description."""
    if isinstance(node, list):
        for part in node:
            yield from described(part, owner)
    if not isinstance(node, dict):
        return
    own = node.get("description", owner)
    for key, value in node.get("properties", {}).items():
        yield key, f"{value.get('description', '')} {own}"
        yield from described(value)
    for name, part in node.items():
        if name != "properties":
            yield from described(part, own if name in ("anyOf", "oneOf", "allOf") else "")


def language() -> dict[str, list[str]]:
    """The descriptions of each key, without the parameters of controllers, which a test in Rust looks at."""
    schema = json.loads(_engine.schema())
    parts = {
        name: part
        for name, part in schema["$defs"].items()
        if not name.startswith(("parameters-", "slow-start-"))
    }
    found: dict[str, list[str]] = {}
    for key, text in described([{**schema, "$defs": {}}, *parts.values()]):
        found.setdefault(key, []).append(text)
    return found


def in_table(value: object) -> Iterator[str]:
    """The keys of a TOML document, including the keys of dotted paths."""
    if isinstance(value, dict):
        for key, below in value.items():
            yield from key.split(".")
            yield from in_table(below)
    elif isinstance(value, list):
        for below in value:
            yield from in_table(below)


def in_program(text: str) -> Iterator[str]:
    """The keywords of calls and the keys of dictionaries of a Python program."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.keyword) and node.arg:
            yield node.arg
        elif isinstance(node, ast.Dict):
            yield from (one.value for one in node.keys if isinstance(one, ast.Constant))


def used() -> set[str]:
    """Keys that scenarios, experiments, examples, the package and the blocks of pages set."""
    keys: set[str] = set()
    for folder in FOLDERS:
        for file in (ROOT / folder).rglob("*.toml"):
            keys.update(in_table(tomllib.loads(file.read_text("utf-8"))))
        for file in (ROOT / folder).rglob("*.py"):
            if file.name != "scenario.py":
                keys.update(in_program(file.read_text("utf-8")))
    for page in (ROOT / "docs").rglob("*.md"):
        for kind, block in re.findall(r"```(\w*)\n(.*?)```", page.read_text("utf-8"), re.DOTALL):
            if kind == "toml":
                keys.update(in_table(tomllib.loads(block)))
            for path in re.findall(r"--(?:set|over) \W?([\w.*]+)=", block):
                keys.update(path.split("."))
    return keys


def test_every_key_is_set_somewhere_or_has_a_source():
    users = used()
    idle = [
        key
        for key, texts in language().items()
        if key not in users and not all(SOURCE.search(text) for text in texts)
    ]
    assert idle == [], "nothing sets these keys and their descriptions cite nothing: constants?"


def test_a_description_without_a_source_is_told_apart():
    cited = ("Tail loss probes (TLP, RFC 8985).", "How often (dot11LongRetryLimit).", "As Linux does.")
    assert all(SOURCE.search(text) for text in cited)
    assert not any(SOURCE.search(text) for text in ("How often.", "At most 1000B.", "As the paper says."))


def test_programs_and_dotted_paths_count_as_users():
    assert set(in_program('Flow("cdg", via=["b"]); {"snoop": {}}')) == {"via", "snoop"}
    assert set(in_table({"sweep": {"path.queue": ["1bdp"]}})) == {"sweep", "path", "queue"}
