"""The inputs of runs beside their results: controllers with all that they include, tables over time, engines.

A folder of results has them in ``inputs.json`` and below ``inputs/``, so that another machine can repeat its
runs. A file keeps its place among the others, as one may include another.
"""

from __future__ import annotations

import inspect
import itertools
import json
import platform
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path, PurePath
from typing import Any, Self

from ackclock import _engine, identity
from ackclock.engines import Engine, NamedEngine, options
from ackclock.engines.by_plan import ByPlan
from ackclock.report.files import write_json
from ackclock.result import ResultError

DESCRIPTION = "inputs.json"
FOLDER = "inputs"

CODE = (*identity.CONTROLLERS, ".py", ".so", ".dylib", ".dll")
"""The ends of the names of files that run as code."""

WITHOUT_EFFECT = ("threads", "cores", "kernels", "at_once", "retries", "qlog")
"""Options of engines on which no result depends."""

PACKAGES = ("numpy", "pyarrow")
"""The packages whose versions are kept: one writes the tables, and controllers may compute by the other."""


@dataclass(frozen=True)
class Inputs:
    """The inputs of the runs in a folder."""

    places: Mapping[str, str]
    """The place of each file below the folder, and the absolute path that scenarios have for it."""
    controllers: Sequence[Mapping[str, Any]] = ()
    """The controllers in Python by their numbers: ``file`` (its place), ``class``, ``parameters``."""
    engines: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """The ``options`` and the ``identity`` of each engine."""
    lacks: Sequence[str] = ()
    """Sentences about inputs that may be missing."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """The versions of ackclock, of Python and of packages."""
    command: Sequence[str] = ()
    """The command line of results without runs, in which ``@PLACE@`` stands for a file or a folder."""
    contents: Mapping[str, bytes] = field(default_factory=dict)
    """The content of each file by its place, before it is written."""

    @classmethod
    def of(cls, plans: Iterable[_engine.Plan], engine: Engine) -> Self:
        """The inputs of plans that an engine runs. Files that controllers include are read."""
        engines = [one for one in _engines(engine) if isinstance(one, NamedEngine)]
        files: dict[str, bytes] = {}
        for plan in plans:
            files.update(plan.files)
        lacks: list[str] = []
        for name, content in list(files.items()):
            if name.endswith(identity.CONTROLLERS):
                made_of = identity.of_c if name.endswith(identity.C) else identity.of_rust
                _add(files, lacks, made_of(Path(name), content))
        made = [_described(one, files, lacks) for one in _factories(engines)]
        of = places(files)
        return cls(
            {place: name for name, place in of.items()},
            [one | {"file": of[one["file"]]} for one in made if one],
            {one.name: {"options": _options(one, lacks), "identity": one.identity()} for one in engines},
            lacks,
            versions(),
            (),
            {place: files[name] for name, place in of.items()},
        )

    def write(self, folder: Path) -> None:
        """Writes them into a folder of results. Raises OSError."""
        for place, content in self.contents.items():
            (folder / place).parent.mkdir(parents=True, exist_ok=True)
            (folder / place).write_bytes(content)
        write_json(folder / DESCRIPTION, {one: getattr(self, one) for one in self._written()})

    @classmethod
    def _written(cls) -> list[str]:
        return [one for one in cls.__dataclass_fields__ if one != "contents"]

    @classmethod
    def load(cls, folder: Path) -> Self:
        """The inputs that ``write`` wrote into a folder. Raises ResultError."""
        file = folder / DESCRIPTION
        try:
            found = json.loads(file.read_text("utf-8"))
            # Results of earlier versions have no command.
            inputs = cls(**{one: found[one] for one in cls._written()[:-1]}, command=found.get("command", ()))
            inputs._check()
        except OSError as error:
            raise ResultError(
                f"{folder}: has no {DESCRIPTION} ({error.strerror}): "
                "commands that run something write it with --out"
            ) from None
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise ResultError(f"{file}: does not describe the inputs of runs ({error})") from None
        return inputs

    def _check(self) -> None:
        """Raises ValueError for values of other shapes, and for places that are not below the folder."""
        for place, path in self.places.items():
            parts = place.split("/")
            if parts[0] != FOLDER or not set(parts).isdisjoint(("", ".", "..")) or "\\" in place:
                raise ValueError(f"{place} is no place below {FOLDER}")
            if not isinstance(path, str):
                raise ValueError(f"the path of {place} is no text")
        for one in self.controllers:
            if one["file"] not in self.places:
                raise ValueError(f"{one['file']} is not among the files")
            if not isinstance(one["class"], str) or not isinstance(one["parameters"], dict):
                raise ValueError(f"{one['file']} has no class with parameters")
        for name, of in self.engines.items():
            if not isinstance(of["options"], dict) or not isinstance(of["identity"], dict):
                raise ValueError(f"the engine {name} has no options and no identity")
        if not all(isinstance(one, str) for one in [*self.lacks, *self.versions.values(), *self.command]):
            raise ValueError("lacks, versions and the words of a command must be texts")

    @property
    def code(self) -> list[str]:
        """The places of files that run as code."""
        return [place for place in self.places if place.endswith(CODE)]

    def moved(self, value: Any, folder: Path) -> Any:
        """A value of a scenario in which files have their place below ``folder``."""
        if isinstance(value, str):
            for place, path in self.places.items():
                # A controller may have a stack before its file and a name behind it.
                named = rf"(?:(?<=^)|(?<=:)){re.escape(path)}(?=$|:)"
                value = re.sub(named, lambda _, to=place: str(folder / to), value)  # type: ignore[misc]
        elif isinstance(value, Mapping):
            value = {key: self.moved(one, folder) for key, one in value.items()}
        elif isinstance(value, list):
            value = [self.moved(one, folder) for one in value]
        return value


def versions() -> dict[str, str]:
    """The versions of ackclock, of Python and of packages."""
    found = {
        "ackclock": _engine.version(),
        "python": platform.python_version(),
        "machine": platform.machine(),
    }
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _engines(engine: Engine) -> Sequence[Engine]:
    return list(engine.engines.values()) if isinstance(engine, ByPlan) else [engine]


def _factories(engines: Sequence[NamedEngine]) -> Sequence[Callable[[], Any]]:
    """The makers of controllers in Python: engines side by side have the same."""
    return next((found for one in engines if (found := getattr(one, "controllers", ()))), ())


def _add(files: dict[str, bytes], lacks: list[str], code: identity.Code) -> None:
    files.update(code.files)
    if code.unknown:
        lacks.append(code.unknown)


def _described(factory: Callable[[], Any], files: dict[str, bytes], lacks: list[str]) -> dict[str, Any]:
    """A controller in Python, whose files join ``files``; nothing for one without a file."""
    kind, parameters = (factory.func, factory.keywords) if isinstance(factory, partial) else (factory, {})
    functions = [one for one in vars(kind).values() if inspect.isfunction(one)]
    file = Path(functions[0].__code__.co_filename) if functions else Path()
    try:
        json.dumps(parameters, allow_nan=False)
        file = file.resolve(strict=True)
        if "." in kind.__qualname__:
            raise TypeError("no name of the file")
        code = identity.of_python(file)
    except (OSError, ValueError, TypeError, SyntaxError):
        lacks.append(f"{getattr(kind, '__qualname__', kind)}: is a controller of a program, and not kept")
        return {}
    _add(files, lacks, code)
    return {"file": str(file), "class": kind.__qualname__, "parameters": parameters}


def _options(engine: NamedEngine, lacks: list[str]) -> dict[str, Any]:
    """The given options of an engine on which results depend. Folders are not kept."""
    found = {}
    for name, (of, about) in options.declared(engine).items():
        value = getattr(engine, name)
        if value == of.default or name in WITHOUT_EFFECT:
            continue
        if about.kind is str and Path(value).is_dir():
            lacks.append(f"--engine {engine.name}:{options.spelled(name)}={value}: the folder is not kept")
        found[name] = value
    return found


def places(files: Iterable[str]) -> dict[str, str]:
    """The place of each file below a folder of results, without the folders that all have in common."""
    parts = {file: [one.replace(":", "") for one in _below_root(PurePath(file))] for file in files}
    levels = zip(*(one[:-1] for one in parts.values()), strict=False)
    common = len(list(itertools.takewhile(lambda names: len(set(names)) == 1, levels)))
    return {file: "/".join((FOLDER, *of[common:])) for file, of in parts.items()}


def _below_root(file: PurePath) -> list[str]:
    """The names of a path, with its drive where there are several."""
    return [*([file.drive] if file.drive else []), *file.parts[1 if file.anchor else 0 :]]
