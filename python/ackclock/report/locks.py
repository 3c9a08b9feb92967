"""Locks of folders, which end with their process. A system without ``fcntl`` (Windows) has none."""

from __future__ import annotations

import os
from pathlib import Path

try:
    import fcntl
except ImportError:
    LOCKS = False
else:
    LOCKS = True
"""True if folders can be locked."""


def lock(folder: Path) -> int | None:
    """Locks a folder, and gives its descriptor for :func:`unlock`. None if there are no locks.

    Raises BlockingIOError if it is locked, OSError if it is no folder.
    """
    if not LOCKS:
        return None
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def unlock(descriptor: int | None) -> None:
    """Unlocks a folder."""
    if descriptor is not None:
        os.close(descriptor)


def is_locked(folder: Path) -> bool:
    """True if a process has locked the folder."""
    try:
        unlock(lock(folder))
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False
