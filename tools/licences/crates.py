"""The crates that the extension is linked from, their licences, and the texts of these."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PACKAGE = "ackclock-python"
FEATURES = "native,vendored"
"""A wheel with these contains most: libelf, libbpf and zlib are built from the sources in a crate."""

TEXT = re.compile(r"(un)?licen[cs]e|copying|notice|copyright", re.IGNORECASE)
"""How the name of a file with a licence begins."""


@dataclass(frozen=True, order=True)
class Crate:
    """A crate of a registry.

    Attributes:
        name: Its name.
        version: Its version.
        licence: An expression of SPDX, also in the older form with ``/`` for ``OR``.
        folder: Its sources.

    """

    name: str
    version: str
    licence: str
    folder: Path

    def texts(self) -> list[tuple[str, str]]:
        """The files with its licence, and with those of sources that it carries in folders: path and text."""
        places = [*self.folder.iterdir(), *self.folder.glob("*/*")]
        found = sorted(place for place in places if TEXT.match(place.name) and is_text(place))
        return [(str(place.relative_to(self.folder)), place.read_text(errors="replace")) for place in found]


SOURCE = {".rs", ".c", ".h", ".py", ".toml", ".json", ".in", ".sh"}


def is_text(place: Path) -> bool:
    """True if a file is no source of a program, such as `LICENSE-MIT` or `LICENSE.BSD-2-Clause`."""
    return place.is_file() and place.suffix.lower() not in SOURCE


def linked(root: Path) -> list[Crate]:
    """The crates of registries that the wheel's extension is linked from or built with, on any system.

    Args:
        root: The folder of the workspace.

    """
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--no-default-features"]
    command += ["--manifest-path", str(root / "crates/python/Cargo.toml"), "--features", FEATURES]
    data = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    packages = {package["id"]: package for package in data["packages"]}
    needed = _reached({node["id"]: node for node in data["resolve"]["nodes"]}, data["resolve"]["root"])
    return sorted(_crate(packages[each]) for each in needed if packages[each]["source"] is not None)


def _reached(nodes: dict[str, Any], start: str) -> set[str]:
    """Packages that ``start`` needs, except those that only tests need."""
    reached, waiting = {start}, [start]
    while waiting:
        for dependency in nodes[waiting.pop()]["deps"]:
            kinds = {kind["kind"] for kind in dependency["dep_kinds"]}
            if kinds != {"dev"} and dependency["pkg"] not in reached:
                reached.add(dependency["pkg"])
                waiting.append(dependency["pkg"])
    return reached


def _crate(package: dict[str, Any]) -> Crate:
    folder = Path(package["manifest_path"]).parent
    return Crate(package["name"], package["version"], package["license"] or "", folder)


def allowed(root: Path) -> list[str]:
    """The licences that ``deny.toml`` allows."""
    listed: list[str] = tomllib.loads((root / "deny.toml").read_text())["licenses"]["allow"]
    return listed


def is_allowed(expression: str, allowed: Collection[str]) -> bool:
    """True if some choice that an SPDX expression leaves asks for allowed licences only.

    Args:
        expression: Such as ``(MIT OR Apache-2.0) AND Unicode-3.0``.
        allowed: Licences, also with an exception: ``Apache-2.0 WITH LLVM-exception``.

    """
    parsed = _parsed(expression)
    return parsed is not None and _holds(parsed, allowed)


def _parsed(expression: str) -> Any:
    from license_expression import ExpressionError, get_spdx_licensing

    try:
        return get_spdx_licensing().parse(expression.replace("/", " OR "), validate=True)
    except ExpressionError:
        return None


def _holds(part: Any, allowed: Collection[str]) -> bool:
    match getattr(part, "operator", "").strip():
        case "OR":
            return any(_holds(choice, allowed) for choice in part.args)
        case "AND":
            return all(_holds(each, allowed) for each in part.args)
        case _:
            return part.render() in allowed


def document(crates: Iterable[Crate]) -> str:
    """A text with each crate, its licence and the texts of that. Equal texts appear once."""
    heads: list[str] = []
    owners: dict[str, list[str]] = {}
    for crate in crates:
        heads.append(f"{crate.name} {crate.version}: {crate.licence}")
        for path, text in crate.texts():
            owners.setdefault(text.strip(), []).append(f"{crate.name} {crate.version}, {path}")
    sections = ["\n".join(["=" * 78, *names, "-" * 78, text]) for text, names in owners.items()]
    lead = "The extension of ackclock contains these crates, under these licences. Their texts follow."
    return "\n".join([lead, "", *heads, "", *sections, ""])
