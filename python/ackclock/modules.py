"""The modules beside a controller in Python: it imports them as a program would."""

from __future__ import annotations

import ast
import importlib.util
import sys
from contextlib import suppress
from pathlib import Path

from ackclock import identity
from ackclock.errors import InputError

_reached: list[Path] = []
"""The folders that joined the path."""


def reach(file: Path) -> None:
    """Puts the folder of a controller last on the path if it imports a module that is there alone.

    So no file takes the place of a module of Python, of a library or of ours, and none runs that nothing
    imports. Raises InputError for a name that a module beside another controller has.
    """
    folder = file.absolute().parent
    for name in _names(file):
        if not (folder / f"{name}.py").is_file() and not (folder / name).is_dir():
            continue
        place = _place(name)
        if place is None:
            _reached.append(folder)
            sys.path.append(str(folder))
        elif folder not in place and (other := next((one for one in _reached if one in place), None)):
            raise InputError(f"{file}: imports `{name}`, but {other} has that name too; rename one of them")


def _names(file: Path) -> list[str]:
    """The modules that a file imports, without those inside of packages."""
    # A file that cannot be read is told by its import.
    with suppress(OSError, SyntaxError, ValueError, RecursionError):
        names = (one.partition(".")[0] for one in identity.imported(ast.parse(file.read_bytes())))
        return [name for name in dict.fromkeys(names) if name]
    return []


def _place(name: str) -> list[Path] | None:
    """The folders above a module, none for one of Python's own. None if there is no such module."""
    try:
        spec = importlib.util.find_spec(name)
    except ValueError:
        return []
    if spec is None:
        return None
    named = [*filter(None, [spec.origin]), *(spec.submodule_search_locations or ())]
    return [above for one in named for above in Path(one).parents]
