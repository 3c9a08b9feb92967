"""Checks of arguments, and libraries that are imported at their first use.

A value that is not allowed is an ``InputError``: one sentence with its name, the value, and the allowed
values.
"""

from __future__ import annotations

import importlib
import math
from typing import Any

from ackclock.errors import InputError


def positive(name: str, value: float) -> float:
    """``value``, which must be a finite number above 0."""
    if not (math.isfinite(value) and value > 0):
        raise InputError(f"{name} = {value:g}: must be above 0")
    return value


def share(name: str, value: float) -> float:
    """``value``, which must be strictly between 0 and 1."""
    if not 0 < value < 1:
        raise InputError(f"{name} = {value:g}: must be above 0 and below 1")
    return value


def one_of(name: str, value: str, allowed: tuple[str, ...]) -> str:
    """``value``, which must be one of ``allowed``."""
    if value not in allowed:
        raise InputError(f'{name} = "{value}": must be one of {", ".join(allowed)}')
    return value


def library(name: str, user: str = "this model", package: str | None = None) -> Any:
    """A module of an optional library, imported when its ``user`` needs it.

    A program that only simulates does not import it. ``package`` is its name for pip, if it is another than
    the first word of ``name``.
    """
    try:
        return importlib.import_module(name)
    except ImportError:
        package = package or name.partition(".")[0]
        raise InputError(f"{user} needs {package}: python -m pip install {package}") from None
