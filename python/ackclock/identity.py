"""The identity of a run: a digest of all that its result depends on.

It covers the version of ackclock, the scenario, the files that it names, and the modules that controllers in
Python import. Where these cannot be known from the text of a controller, the identity is new each time, so
its runs are never taken from a folder. They never are in C, whose preprocessor makes names, and where a
declaration suffices to call a library.
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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

from ackclock import _engine

C = ".c"
"""The end of the name of a controller in C."""
OBJECT = ".so"
"""The end of the name of a controller in a shared object."""
CONTROLLERS = (C, ".rs", "Cargo.toml", OBJECT)
"""The ends of the names of files of controllers that are compiled."""

_READ_BY_RUST = re.compile(
    rb"\b(include(?:_str|_bytes)?\b|env\b|option_env\b|mod\b(?!\s+\w+\s*\{)|extern\b|unsafe\b)"
)
"""Code of Rust that reads another file, the environment, or memory that its text does not show.

A macro counts by its name, as it may be renamed, and stand apart from its `!`.
"""

_MODULE_OF_RUST = re.compile(rb"\bmod\s+(\w+)\s*;")
_INCLUDED_BY_RUST = re.compile(rb'\binclude(?:_str|_bytes)?\s*!\s*\(\s*"([^"]+)"')
_PATH_OF_CRATE = re.compile(r'^[^#\n]*\bpath\s*=\s*"([^"]+)"', re.MULTILINE)

_STD = re.compile(rb"\bstd\b\s*(?:::\s*(?:(\w+)|\{([^}]*)\}))?")
"""A path of Rust's library, with the module that it names, or those of a group."""

_PURE_STD = (
    b"any", b"array", b"ascii", b"borrow", b"boxed", b"cell", b"char", b"clone", b"cmp", b"collections",
    b"convert", b"default", b"f32", b"f64", b"fmt", b"hash", b"hint", b"i128", b"i16", b"i32", b"i64", b"i8",
    b"isize", b"iter", b"marker", b"mem", b"num", b"ops", b"option", b"primitive", b"rc", b"result",
    b"slice", b"str", b"string", b"u128", b"u16", b"u32", b"u64", b"u8", b"usize", b"vec",
)  # fmt: skip
"""The modules of Rust's library that read neither files nor clocks."""

_CONTINUED = re.compile(rb"\\[ \t]*\r?\n")
"""The end of a line of C that goes on with the next, which the compiler joins first."""

_INCLUDE = re.compile(rb"(?:#|%:)[ \t]*(?:include|include_next|import|embed)\b[ \t]*([^\r\n]*)")
_NAMED = re.compile(rb'["<]([^">]+)[">]')

SEARCHED = ("CPATH", "C_INCLUDE_PATH")
"""Variables of the environment that name folders of headers."""

BY_NAME = (
    "__builtins__", "__dict__", "__getattribute__", "__globals__", "__import__", "__loader__",
    "__subclasses__", "attrgetter", "breakpoint", "compile", "eval", "exec", "get_type_hints", "getattr",
    "globals", "input", "methodcaller", "open", "vars",
)  # fmt: skip
"""Names of the language by which a controller in Python reads what its imports do not show."""

PURE = (
    "__future__", "abc", "array", "bisect", "cmath", "collections", "collections.abc", "contextlib", "copy",
    "dataclasses", "decimal", "enum", "fractions", "functools", "heapq", "itertools", "json", "math",
    "numbers", "operator", "random", "re", "statistics", "string", "struct", "typing", "typing_extensions",
)  # fmt: skip
"""The modules of Python that read no files. A list of those that do could not be whole."""

OURS = (
    "Ack", "Context", "Controller", "Loss", "Marks", "RateSample", "SegmentReport", "SentState",
    "Transmission", "controller",
)  # fmt: skip
"""The names of ackclock that controllers are made of."""


@dataclass(frozen=True)
class Code:
    """The code of a controller besides its own file."""

    digest: str
    unknown: str = ""
    """The reason why the digest is new each time, if it is."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """The files that were found, by their paths."""


def _code(files: Mapping[str, bytes], why: Sequence[str], of: Mapping[str, bytes] | None = None) -> Code:
    """Code by its files and ``of`` further inputs; it is unknown for the first reason, if there is one."""
    if why:
        return Code(uuid.uuid4().hex, why[0], files)
    return Code(_hashed({**files, **(of or {})}), files=files)


def _hashed(parts: Mapping[str, bytes]) -> str:
    digest = hashlib.sha256()
    for name, content in sorted(parts.items()):
        digest.update(f"{name}\0{len(content)}\0".encode(errors="surrogateescape"))
        digest.update(content)
    return digest.hexdigest()


def of_c(file: Path, content: bytes) -> Code:
    """The headers that a file in C includes. Those that are not beside it are the compiler's or ours."""
    why = [
        f"{file}: headers may come from the folders of {variable}"
        for variable in SEARCHED
        if os.environ.get(variable)
    ]
    found: dict[str, bytes] = {}
    waiting = [(file, content)]
    while waiting:
        at, text = waiting.pop()
        text = _CONTINUED.sub(b"", text)
        if b"incbin" in text:
            why.append(f"{at}: includes a file by `incbin`")
        for named in _INCLUDE.findall(text):
            spelled = _NAMED.match(named.strip())
            if spelled is None:
                why.append(f"{at}: includes a header by a macro")
                continue
            header = at.parent / os.fsdecode(spelled[1])
            name = os.path.normpath(header)
            if name not in found and header.is_file():
                found[name] = header.read_bytes()
                waiting.append((header, found[name]))
    return _code(found, why)


def of_rust(file: Path, content: bytes) -> Code:
    """A file of Rust besides its text, or a crate by its ``Cargo.toml``."""
    if file.name == "Cargo.toml":
        return _code(_of_crate(file), [f"{file.parent}: is a crate, whose files only Cargo knows"])
    why = []
    if read := _READ_BY_RUST.search(content):
        why.append(f"{file}: reads by `{read[1].decode()}` what its text does not show")
    if (module := next(_impure(content), None)) is not None:
        why.append(f"{file}: may read by `std::{module}` what its text does not show")
    return _code(_of_modules(file, content), why)


def _of_crate(manifest: Path) -> dict[str, bytes]:
    """The files in the folder of a crate, and of the crates that it depends on by a path."""
    found: dict[str, bytes] = {}
    waiting = [manifest.parent.resolve()]
    while waiting:
        folder = waiting.pop()
        for file in _sources(folder):
            found[str(file)] = file.read_bytes()
        with suppress(OSError, ValueError):
            named = _PATH_OF_CRATE.findall((folder / "Cargo.toml").read_text("utf-8"))
            others = [(folder / one).resolve() for one in named]
            waiting += [one for one in others if one.is_dir() and str(one / "Cargo.toml") not in found]
    return found


def _sources(folder: Path) -> Iterator[Path]:
    """The files below a folder without what Cargo builds and without hidden ones. Links are not followed."""
    for at, folders, files in os.walk(folder):
        folders[:] = sorted(one for one in folders if one != "target" and not one.startswith("."))
        yield from (Path(at, one) for one in sorted(files) if not one.startswith("."))


def _of_modules(file: Path, content: bytes) -> dict[str, bytes]:
    """The files that one of Rust names by ``mod NAME;`` or ``include!``, and those that these name."""
    found: dict[str, bytes] = {}
    waiting = [(file, content, True)]
    while waiting:
        at, text, is_root = waiting.pop()
        below = at.parent if is_root or at.name == "mod.rs" else at.with_suffix("")
        named = [at.parent / os.fsdecode(one) for one in _INCLUDED_BY_RUST.findall(text)]
        for module in map(os.fsdecode, _MODULE_OF_RUST.findall(text)):
            named += [below / f"{module}.rs", below / module / "mod.rs"]
        for one in named:
            name = os.path.normpath(one)
            if name not in found and one.is_file():
                found[name] = one.read_bytes()
                waiting.append((one, found[name], False))
    return found


def _impure(content: bytes) -> Iterator[str]:
    """The modules of Rust's library that may read; a group within a group counts as one."""
    for used in _STD.finditer(content):
        group = used[2] is not None
        for path in used[2].split(b",") if group else [used[1] or b""]:
            root = path.partition(b"::")[0].strip().partition(b" ")[0]
            # A comma at the end of a group leaves an empty name.
            if (root not in _PURE_STD and (root or not group)) or b"{" in path:
                yield root.decode(errors="replace")


def of_python(file: Path) -> Code:
    """A controller in Python with the modules of the user that it imports."""
    found: dict[str, bytes] = {}
    why: list[str] = []
    waiting = [file]
    while waiting:
        at = waiting.pop()
        if str(at) in found:
            continue
        found[str(at)] = at.read_bytes()
        tree = ast.parse(found[str(at)], str(at))
        if by_name := next(iter(_read_by_name(tree)), None):
            why.append(f"{at}: reads by `{by_name}` what its imports do not show")
        for module in imported(tree):
            place = _place(module)
            if place is not None:
                waiting.append(place)
            elif not _is_pure(module):
                why.append(f"{at}: imports `{module}`, which may read what no text shows")
        if (inner := next(_inner(tree), None)) is not None:
            why.append(f"{at}: gets at `{inner}`, which may read what no text shows")
        if (name := _of_ours(tree)) is not None:
            why.append(f"{at}: uses `ackclock.{name}`, which may read what no text shows")
    return _code(found, why, {"python": sys.version.encode()})


def _read_by_name(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        name = getattr(node, "id", None) or getattr(node, "attr", None)
        if name in BY_NAME:
            yield name


def imported(tree: ast.Module) -> Iterator[str]:
    """The modules that a module imports anywhere; ``from a import b`` may mean the user's ``a.b``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.level or node.module is None:
                yield "." * node.level + (node.module or "")
                continue
            yield node.module
            names = (f"{node.module}.{alias.name}" for alias in node.names)
            yield from (name for name in names if _place(name) is not None)


def _inner(tree: ast.Module) -> Iterator[str]:
    """The names of the tree by which it may get at a module that a pure one has imported."""
    pure = [importlib.import_module(one) for one in imported(tree) if one in PURE]
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr=name):
                names = [name]
            case ast.ImportFrom(names=aliases):
                names = [alias.name for alias in aliases]
            case _:
                continue
        for name in names:
            found = (getattr(one, name, None) for one in pure)
            if name == "*" or any(isinstance(one, ModuleType) and one.__name__ not in PURE for one in found):
                yield name


def _is_pure(module: str) -> bool:
    """True for a module that reads nothing; the names that ``ackclock`` gives are judged one by one."""
    return module in PURE or module in ("ackclock", "ackclock.controller")


def _of_ours(tree: ast.Module) -> str | None:
    """A name of ackclock that is no part of a controller; None if there is none."""
    aliases = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            of_ours = [alias for alias in node.names if alias.name.partition(".")[0] == "ackclock"]
            aliases |= {(alias.asname or "ackclock") for alias in of_ours}
        elif isinstance(node, ast.ImportFrom) and node.module == "ackclock":
            for alias in node.names:
                if alias.name not in OURS:
                    return alias.name
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=attribute) if name in aliases:
                if attribute not in OURS:
                    return str(attribute)
    return None


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


def _of_file(file: Path, content: bytes) -> Code:
    """A controller that is compiled."""
    if file.name.endswith(OBJECT):
        return _code({}, [f"{file}: is an object, which has no text"])
    if file.name.endswith(C):
        return _code({}, [f"{file}: is in C, where any declaration may be of a library"])
    return of_rust(file, content)


@dataclass
class Identities:
    """Digests of runs. The other files of each controller are read once."""

    code: dict[str, Code] = field(default_factory=dict)

    def of(self, plan: _engine.Plan, seed: int, context: str = "") -> str:
        """The identity of a run: 128 bits. ``context`` has what else it depends on."""
        parts = {os.fspath(file): content for file, content in plan.files.items()}
        for file in [name for name in parts if name.endswith(CONTROLLERS)]:
            parts[f"{file}\0others"] = self.code_of(file, parts[file]).digest.encode()
        named = f"{_engine.version()}\0{context}\0{seed}\0{plan.resolved}".encode()
        return _hashed(parts | {"": named})[:32]

    def code_of(self, file: str, content: bytes) -> Code:
        """The code of a controller that is compiled."""
        if file not in self.code:
            self.code[file] = _of_file(Path(file), content)
        return self.code[file]

    def unknown(self) -> list[str]:
        """The reasons why runs are made again each time, a sentence each."""
        return [
            f"{one.unknown}, so its runs are made again each time"
            for one in self.code.values()
            if one.unknown
        ]
