"""Worker processes leave Ctrl-C to their parent, which stops them and keeps the finished work."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager


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
