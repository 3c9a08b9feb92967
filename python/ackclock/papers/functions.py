"""The functions of a paper's own, with which claims and figures measure: Python beside its data."""

from __future__ import annotations

import importlib.util
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ackclock.cases.document import CaseError
from ackclock.errors import line_in, named


def measures_of(folder: Path) -> dict[str, Callable[..., Any]]:
    """The functions of a paper by name, from its ``measures.py`` or the files in ``measures``.

    Two functions of one name are a ``CaseError``.
    """
    found: dict[str, Callable[..., Any]] = {}
    for path in measures_files(folder):
        own = read_measures(path)
        if twice := sorted(set(found) & set(own)):
            raise CaseError(f"{folder.name}/{path.name}: there are two functions `{twice[0]}`")
        found |= own
    return found


def measures_files(folder: Path) -> list[Path]:
    """The files of a paper's own functions."""
    single = [folder / "measures.py"] if (folder / "measures.py").exists() else []
    return [*single, *sorted((folder / "measures").glob("*.py"))]


def read_measures(path: Path) -> dict[str, Callable[..., Any]]:
    """The public functions that a file of measures defines, by name."""
    spec = importlib.util.spec_from_file_location(f"{path.parent.name}.{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        where = f"{path.parent.name}/{path.name}{line_in(path, error)}"
        raise CaseError(f"{where}: {named(error)}") from error
    return {
        name: value
        for name, value in vars(module).items()
        if inspect.isfunction(value) and value.__module__ == module.__name__ and not name.startswith("_")
    }
