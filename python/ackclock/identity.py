"""The identity of a run: a digest of all that its result depends on.

It covers the version of ackclock, the scenario, the files that it names, the headers that controllers in C
include, and the modules that controllers in Python import. Where these cannot be known from the text of a
controller, the identity is new each time, so its runs are never taken from a folder.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import os
import re
import sys
import sysconfig
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ackclock import _engine

C = ".c"
"""The end of the name of a controller in C."""
CONTROLLERS = (C, ".rs", "Cargo.toml")
"""The ends of the names of files of controllers that are compiled."""

_READ_BY_RUST = re.compile(rb"\b(include(?:_str|_bytes)?!|env!|option_env!|mod \w+;)")
"""Code of Rust that reads another file, or the environment."""

_INCLUDE = re.compile(rb"(?:#|%:)[ \t]*(?:include|include_next|import|embed)\b[ \t]*([^\r\n]*)")
_NAMED = re.compile(rb'["<]([^">]+)[">]')

SEARCHED = ("CPATH", "C_INCLUDE_PATH")
"""Variables of the environment that name folders of headers."""

BY_NAME = ("__import__", "importlib", "exec", "eval", "open", "runpy", "ctypes", "environ", "getenv")
"""Names by which a controller in Python reads what its imports do not show."""


@dataclass(frozen=True)
class Code:
    """The code of a controller besides its own file."""

    digest: str
    unknown: str = ""
    """The reason why the digest is new each time, if it is."""


def _new(why: str) -> Code:
    return Code(uuid.uuid4().hex, why)


def _hashed(parts: Mapping[str, bytes]) -> str:
    digest = hashlib.sha256()
    for name, content in sorted(parts.items()):
        digest.update(f"{name}\0{len(content)}\0".encode(errors="surrogateescape"))
        digest.update(content)
    return digest.hexdigest()


def of_c(file: Path, content: bytes) -> Code:
    """The headers that a file in C includes. Those that are not beside it are the compiler's or ours."""
    for variable in SEARCHED:
        if os.environ.get(variable):
            return _new(f"{file}: headers may come from the folders of {variable}")
    found: dict[str, bytes] = {}
    waiting = [(file, content)]
    while waiting:
        at, text = waiting.pop()
        if b"incbin" in text:
            return _new(f"{at}: includes a file by `incbin`")
        for named in _INCLUDE.findall(text):
            spelled = _NAMED.match(named.strip())
            if spelled is None:
                return _new(f"{at}: includes a header by a macro")
            header = at.parent / os.fsdecode(spelled[1])
            name = os.path.normpath(header)
            if name not in found and header.is_file():
                found[name] = header.read_bytes()
                waiting.append((header, found[name]))
    return Code(_hashed(found))


def of_rust(file: Path, content: bytes) -> Code:
    """A file of Rust besides its text, or a crate by its ``Cargo.toml``."""
    if file.name == "Cargo.toml":
        return _new(f"{file.parent}: is a crate, whose files only Cargo knows")
    if read := _READ_BY_RUST.search(content):
        return _new(f"{file}: reads by `{read[1].decode()}` what its text does not show")
    return Code("")


def of_python(file: Path) -> Code:
    """A controller in Python with the modules that it imports: their text, or the version of a library."""
    found: dict[str, bytes] = {"python": sys.version.encode()}
    waiting = [file]
    while waiting:
        at = waiting.pop()
        if str(at) in found:
            continue
        found[str(at)] = at.read_bytes()
        tree = ast.parse(found[str(at)], str(at))
        if by_name := next(iter(_read_by_name(tree)), None):
            return _new(f"{at}: reads by `{by_name}` what its imports do not show")
        for module in _imported(tree):
            place = _place(module)
            if place is None:
                version = getattr(sys.modules.get(module.partition(".")[0]), "__version__", "")
                found[f"{module} {version}"] = b""
            else:
                waiting.append(place)
    return Code(_hashed(found))


def _read_by_name(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        name = getattr(node, "id", None) or getattr(node, "attr", None) or getattr(node, "module", None)
        names = (
            [name] if name else [alias.name for alias in getattr(node, "names", ()) if hasattr(alias, "name")]
        )
        yield from (one for one in names if one in BY_NAME)


def _imported(tree: ast.Module) -> Iterator[str]:
    """The modules that a module imports anywhere, with those that ``from`` may mean."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None and node.level == 0:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _place(module: str) -> Path | None:
    """The file of a module of the user, or None for one of Python, of a library or of ours."""
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError, AttributeError):
        return None
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        return None
    place = Path(spec.origin).resolve()
    kept = [Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "purelib", "platlib")]
    kept.append(Path(__file__).resolve().parent)
    return None if any(folder in place.parents for folder in kept) else place


@dataclass
class Identities:
    """Digests of runs. The other files of each controller are read once."""

    code: dict[str, Code] = field(default_factory=dict)

    def of(self, plan: _engine.Plan, seed: int, context: str = "") -> str:
        """The identity of a run: 128 bits. ``context`` has what else it depends on."""
        parts = {os.fspath(file): content for file, content in plan.files.items()}
        for file in [name for name in parts if name.endswith(CONTROLLERS)]:
            if file not in self.code:
                made_of = of_c if file.endswith(C) else of_rust
                self.code[file] = made_of(Path(file), parts[file])
            parts[f"{file}\0others"] = self.code[file].digest.encode()
        named = f"{_engine.version()}\0{context}\0{seed}\0{plan.resolved}".encode()
        return _hashed(parts | {"": named})[:32]

    def unknown(self) -> list[str]:
        """The reasons why runs are made again each time, a sentence each."""
        return [
            f"{one.unknown}, so its runs are made again each time"
            for one in self.code.values()
            if one.unknown
        ]
