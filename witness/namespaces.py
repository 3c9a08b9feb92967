"""Network namespaces, and processes in them."""

from __future__ import annotations

import ctypes
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

NEW_NETWORK = 0x40000000
"""CLONE_NEWNET of linux/sched.h."""


def call(command: str, *more: object) -> str:
    """Runs the words of ``command`` and ``more``. Returns the standard output. Raises CalledProcessError."""
    words = [*command.split(), *map(str, more)]
    try:
        return subprocess.run(words, check=True, capture_output=True, text=True).stdout
    except subprocess.CalledProcessError as error:
        error.add_note(error.stderr)
        raise


def remove(space: str) -> None:
    """Removes a network namespace, if there is one of that name."""
    subprocess.run(["ip", "netns", "del", space], check=False, capture_output=True)


def enter(space: str) -> None:
    """Puts this thread into a network namespace."""
    with Path("/run/netns", space).open() as handle:
        if ctypes.CDLL(None, use_errno=True).setns(handle.fileno(), NEW_NETWORK):
            raise OSError(ctypes.get_errno(), f"setns {space}")


def child(work: Callable[[], object]) -> int:
    """Forks a process that does ``work``. Returns its number."""
    pid = os.fork()
    if pid == 0:
        try:
            work()
        finally:
            os._exit(0)
    return pid
