"""Other interpreters: workers leave Ctrl-C to their parent, and none imports from the current folder.

The parent stops its workers and keeps the finished work. A folder may hold a ``queue.py`` of its reader's,
and nobody asked to run it.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

SAFE_PATH = "PYTHONSAFEPATH"
"""The variable that does what ``-P`` does."""


def interpreter(*arguments: str) -> list[str]:
    """The command of this interpreter with such arguments. It has no modules of the current folder."""
    return [sys.executable, "-P", *arguments]


@contextmanager
def safe_path() -> Iterator[None]:
    """Interpreters that a library starts here import nothing from the current folder either."""
    before = os.environ.get(SAFE_PATH)
    os.environ[SAFE_PATH] = "1"
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(SAFE_PATH, None)
        else:
            os.environ[SAFE_PATH] = before


def ignore_interrupts() -> None:
    """Ignores Ctrl-C in a worker. It is the first that the worker does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


@contextmanager
def without_interrupts() -> Iterator[None]:
    """Blocks Ctrl-C: a process that is made here blocks it during its imports, until it ignores it.

    Windows blocks no signals.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def unstoppable() -> Iterator[None]:
    """A short block that Ctrl-C does not cut short: the interpreter would wait at its end for what is left.

    Python takes signals in the main thread alone.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        # None is the handler of a program in C around this one.
        signal.signal(signal.SIGINT, signal.SIG_DFL if before is None else before)


@contextmanager
def starting() -> Iterator[None]:
    """A block in which a library starts workers."""
    with without_interrupts(), safe_path():
        yield
