"""Reading text that a user names: a device or a pipe may go on for ever."""

from __future__ import annotations

import errno
from pathlib import Path

from ackclock.errors import InputError, of_file

MOST_OF_DOCUMENT = 16 << 20
"""The longest scenario, case or packet script, in bytes."""

MOST_OF_TABLE = 256 << 20
"""The longest recording of a path, in bytes."""


def text(file: Path, most: int = MOST_OF_DOCUMENT) -> str:
    """The text of a file, which is UTF-8.

    Raises OSError, also for a text of more than ``most`` bytes, or UnicodeDecodeError.
    """
    with file.open("rb") as opened:
        found = opened.read(most + 1)
    if len(found) > most:
        raise OSError(errno.EFBIG, too_long(most), str(file))
    return found.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")


def unreadable(file: Path, error: OSError) -> InputError:
    """The sentence about a file that cannot be opened or read."""
    return InputError(f"{file}: cannot be read: {of_file(error)}")


def refuse_pipe(file: Path) -> None:
    """Raises InputError for a pipe, which can be read once: captures and logs are opened again."""
    if file.is_fifo():
        raise InputError(f"{file}: is a pipe, and must be a file")


def too_long(most: int) -> str:
    """Why a longer text is not read."""
    return f"it has more than the {most >> 10} KiB that are allowed"


def trace_file(trace: str) -> tuple[str, str | None]:
    """The file of a trace and the columns that are chosen behind it: ``lte.csv:DL_bitrate=rate_kbit``."""
    file, colon, columns = trace.rpartition(":")
    if colon and not Path(trace).exists() and Path(file).is_file():
        return file, columns
    return trace, None
