"""The controllers of a command line: ``cdg``, ``'cdg(G=10ms)'``, ``./mine.bpf.c``, ``./mine.rs:Mine``."""

from __future__ import annotations

import importlib.util
import inspect
import json
import re
import tomllib
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from ackclock import _engine, quic_stacks
from ackclock.controller import Controller, check_controller
from ackclock.engines import registry
from ackclock.errors import InputError, did_you_mean, line_in, named
from ackclock.scenario import display_name

WITHOUT_WINDOW = ("tfrc",)
"""Controllers of ours that are no TCP: they set the rate of datagrams."""

_SPELLED = re.compile(r"(?P<cc>[^()]+)(?:\((?P<parameters>.*)\))?")
_CRATE = re.compile(rf"((?:(?:{'|'.join(quic_stacks.OWN)}):)?)([^:]*)((?::.*)?)", re.DOTALL)
_PYTHON = re.compile(r"(?P<file>.+\.py)(?::(?P<class>\w+))?")


@dataclass(frozen=True)
class Contender:
    """A controller with its parameters."""

    name: str
    """Its name in tables and figures: as it was typed, of a file without the folders."""
    cc: str
    """The key ``cc`` of its flows."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    factory: Callable[[], Any] | None = None
    """Makes it, if it is written in Python."""
    context: str = ""
    """A digest of its code in Python, which no scenario holds."""
    unknown: str = ""
    """The reason why that is new each time, if it is."""
    file: str = ""
    """Its file and the name in it as they were typed, if it is in one."""

    def flow(self, count: int) -> dict[str, Any]:
        """The table ``flows`` of a scenario, of ``count`` flows."""
        flow: dict[str, Any] = {"cc": self.cc, "count": count}
        given = self.parameters and self.factory is None
        return flow | ({"parameters": dict(self.parameters)} if given else {})

    @property
    def place(self) -> str:
        """``file`` from the root on, or the empty text without one."""
        return str(Path(self.file).resolve()) if self.file else ""

    def with_folders(self, folders: int) -> Contender:
        """The same, with so many folders of its file in its name."""
        label = "/".join(Path(self.place).parts[-folders - 1 :])
        _, bracket, shown = self.name.partition("(")
        python, number, _ = f"{self.cc}::".split(":", 2)
        cc = self.cc if self.factory is None else f"{python}:{number}:{label}"
        return replace(self, name=f"{label}{bracket}{shown}", cc=cc)


def contenders(texts: Sequence[str], engine: str = registry.DEFAULT, after: int = 0) -> list[Contender]:
    """The controllers of a command line, for an engine, ``after`` so many others in Python.

    Raises InputError for one that is named twice or cannot be read, or that the engine does not take.
    """
    refusal = registry.ENGINES[engine].no_python
    found: list[Contender] = []
    for text in texts:
        number = after + sum(one.factory is not None for one in found)
        one = _contender(text.strip(), number)
        if refusal is not None and one.factory is not None:
            raise InputError(f"{text}: {refusal}; leave {registry.spelled(engine)} out")
        found.append(one)
    return _told_apart(found, texts)


def _told_apart(found: Sequence[Contender], texts: Sequence[str]) -> list[Contender]:
    """The controllers. Names that several share get as many folders as are needed to differ."""
    names = [one.name for one in found]
    if len({(one.name, one.place) for one in found}) < len(found):
        raise InputError(f"{' '.join(texts)}: a controller is named twice")
    folders = 0
    told = list(found)
    while len({one.name for one in told}) < len(told):
        folders += 1
        told = [one.with_folders(folders) if one.file and names.count(one.name) > 1 else one for one in found]
    return told


def place_in(texts: Sequence[str], error: BaseException) -> str | None:
    """The line of a controller among ``texts`` at which an exception arose: ``mine.py, line 12``.

    A call with wrong arguments has no line there: then it is the method, ``mine.py:Mine.on_ack``.
    """
    named = [
        _PYTHON.fullmatch(spelled["cc"].strip()) for text in texts if (spelled := _SPELLED.fullmatch(text))
    ]
    try:
        files = {str(file.absolute()): file for one in named if one and (file := Path(one["file"]))}
    except FileNotFoundError:  # the current folder has been deleted
        return None
    # The traceback of a worker process comes as text.
    shown = "".join(traceback.format_exception(error))
    frames = re.findall(r'File "([^"]+)", line (\d+)', shown)
    places = [f"{files[file]}, line {line}" for file, line in frames if file in files]
    places = places or re.findall(r"^raised by (.+)$", shown, re.MULTILINE)
    return places[-1] if places else None


def values(settings: Sequence[str], example: str) -> dict[str, Any]:
    """``KEY=VALUE`` pairs as parameters: values as TOML writes them, or plain text. Raises InputError."""
    found: dict[str, Any] = {}
    for setting in settings:
        key, equals, value = (part.strip() for part in setting.partition("="))
        if not equals or not key:
            raise InputError(f"{setting}: must be KEY=VALUE, as in {example}")
        if key in found:
            raise InputError(f"{setting}: {key} is named twice")
        found[key] = _value(value)
    return found


def _value(text: str) -> Any:
    try:
        value = tomllib.loads(f"value = {text}")["value"]
        # No parameter is a date or NaN.
        json.dumps(value, allow_nan=False)
    except (ValueError, TypeError, RecursionError):
        return text
    return value


def _contender(text: str, number: int) -> Contender:
    spelled = _SPELLED.fullmatch(text)
    if spelled is None:
        shown = text or "an empty name"
        raise InputError(f"{shown}: must be a controller, with parameters as in 'cdg(G=10ms, beta_d=0.8)'")
    cc, given = spelled["cc"].strip(), spelled["parameters"]
    listed = [one for one in re.split(r",(?![^\[{]*[\]}])", given or "") if one.strip()]
    parameters = values(listed, "'cdg(G=10ms)'")
    shown = f"({', '.join(one.strip() for one in listed)})" if listed else ""
    if "," in cc and {one["name"] for one in _engine.controllers()}.issuperset(cc.split(",")):
        raise InputError(f"{cc}: must be one controller; several stand apart: {cc.replace(',', ' ')}")
    if cc.endswith((".toml", ".json")):
        raise InputError(f"{cc}: must be a controller; `ackclock run {cc}` runs a scenario")
    python = _PYTHON.fullmatch(cc)
    if python is None:
        file, cc = (cc, _crate(cc) or cc)
        is_file = _engine.controller_at(cc, "") is not None
        if "/" in cc and not is_file:
            # No controller has a slash in its name.
            raise InputError(
                f"{cc}: must be a file that ends in .py, .rs, .c or .so, or a folder with a Cargo.toml"
            )
        return Contender(display_name(cc) + shown, cc, parameters, file=file if is_file else "")
    file = Path(python["file"])
    kind = controller_in(file, python["class"])
    try:
        inspect.signature(kind).bind(**parameters)
    except TypeError as error:
        raise InputError(f"{text}: {error}") from None
    label = Path(cc).name
    factory = partial(kind, **parameters)
    from ackclock import identity

    code = identity.of_python(file)
    context = code.digest + shown
    return Contender(
        label + shown, f"python:{number}:{label}", parameters, factory, context, code.unknown, cc
    )


def _crate(cc: str) -> str | None:
    """The spelling of a crate in a scenario, where ``cc`` is its folder: ``./mine``, ``./mine:Mine``."""
    found = _CRATE.fullmatch(cc)
    if found is None:
        return None
    stack, folder, name = found.groups()
    manifest = Path(folder, "Cargo.toml")
    # A name without a folder is a controller's.
    is_path = "/" in folder or folder in (".", "..")
    return f"{stack}{manifest.absolute()}{name}" if is_path and manifest.is_file() else None


def made_again(compared: Sequence[Contender]) -> list[str]:
    """Sentences about controllers whose runs are never taken from a folder."""
    return [f"{one.unknown}, so its runs are made again each time" for one in compared if one.unknown]


def controller_in(file: Path, name: str | None) -> type[Controller]:
    """The controller ``name`` of a file in Python, or its only one.

    The module has no importable name, so its classes travel to other processes with their code. Those beside
    it have one: ``modules.reach`` makes them known.
    """
    spec = importlib.util.spec_from_file_location(file.stem, file)
    if spec is None or spec.loader is None or not file.is_file():
        raise InputError(f"{file}: there is no such file")
    from ackclock import modules

    modules.reach(file)
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise InputError(f"{file}{line_in(file, error)}: {named(error)}") from error
    own = {
        key: value
        for key, value in vars(module).items()
        if inspect.isclass(value) and issubclass(value, Controller) and value.__module__ == file.stem
    }
    if not own:
        raise InputError(f"{file}: has no class that derives from ackclock.Controller")
    if name is None and len(own) > 1:
        raise InputError(f"{file}: has several controllers; write {file}:{min(own)}")
    chosen = own.get(name or min(own))
    if chosen is None:
        raise InputError(f"{file}: has no controller `{name}`{did_you_mean(str(name), own)}")
    try:
        check_controller(chosen)
    except (TypeError, NotImplementedError) as error:
        raise InputError(f"{file}: {error}") from None
    return chosen
