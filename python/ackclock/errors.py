"""The base class of errors that are the user's to mend, suggestions for wrong names, and want of memory."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


class InputError(ValueError):
    """Bad input. The message is one sentence. The command line prints it and ends with status 2."""


NO_MEMORY = "the memory that the process may use is not enough"

_WANTING = (
    os.strerror(errno.ENOMEM),
    os.strerror(errno.EAGAIN),
    "bad_alloc",
    "failed to map segment",
    "start new thread",
)
"""What the system, C++, its loader and Python say where memory or a thread cannot be had."""

LIKE = 0.6
"""The similarity (difflib) from which on a name may have been meant."""


def words(error: BaseException) -> str:
    """The text of an exception, also of one of a user whose text cannot be made."""
    try:
        return str(error)
    except Exception:
        return "it cannot be shown"


def named(error: BaseException) -> str:
    """An exception as Python shows it: its type, and its text if it has one."""
    return f"{type(error).__name__}: {words(error)}".removesuffix(": ")


def line_in(file: Path, error: BaseException) -> str:
    """``", line 3"`` for an exception that arose in a file in Python, empty for one without a line there."""
    import traceback

    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == str(file.absolute())]
    return f", line {lines[-1]}" if lines else ""


def shown(value: object) -> str:
    """A value in a sentence, in a few characters, with its type unless it is a plain number or None."""
    import reprlib

    if type(value) is float and value != value:
        return "NaN"
    try:
        text = " ".join(reprlib.repr(value).split())
    except Exception:
        return f"of type {type(value).__name__}"
    return text if type(value) in (int, float, type(None)) else f"{text}, of type {type(value).__name__}"


def lacks_memory(error: BaseException | None) -> bool:
    """True if an exception, or one that led to it, was raised for want of memory for data or a thread."""
    while error is not None:
        if isinstance(error, MemoryError) or any(wanting in words(error) for wanting in _WANTING):
            return True
        error = error.__cause__ or error.__context__
    return False


def of_file(error: OSError) -> str:
    """What the system, or a library without a number for it, says of a file: want of memory, too."""
    if error.errno in (None, errno.ENOMEM) and lacks_memory(error):
        return NO_MEMORY
    return error.strerror or str(error)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """``"; did you mean `x`?"`` with the name among ``known`` that may have been meant, or empty."""
    import difflib

    nearest = difflib.get_close_matches(name, list(known), 1, LIKE)
    return f"; did you mean `{nearest[0]}`?" if nearest else ""
