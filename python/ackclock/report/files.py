"""Files of a report, written whole or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def write_json(path: Path, document: Mapping[str, Any]) -> None:
    """Writes a JSON file that people can read."""
    write_whole(path, json.dumps(document, indent=2, allow_nan=False) + "\n")


def write_whole(path: Path, text: str) -> None:
    """Writes or replaces a file. It never holds half of the text, even if the power fails.

    Raises OSError with the name of the file.
    """
    unfinished = path.with_name(f".{path.name}.part")
    with unfinished.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    try:
        unfinished.rename(path)
    except OSError as error:
        unfinished.unlink()
        raise OSError(error.errno, error.strerror, str(path)) from error


def sync(path: Path) -> None:
    """Waits until a file, or the names in a folder, are on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
