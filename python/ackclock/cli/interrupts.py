"""Ctrl-C and its like, which stop the work at hand but never the saving of finished runs."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Self

from ackclock.cli.status import Interrupted

ENDING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""The signals that end a command. Windows has no SIGHUP."""


class Interrupts:
    """Handles the signals to end: they end a ``stoppable`` block, and are only noted elsewhere.

    Code elsewhere must therefore be short. A signal that is ignored, or that ends the process at once,
    stays as it is.
    """

    def __init__(self) -> None:
        self.asked = False
        """True after such a signal."""
        self._stoppable = False
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        # Python takes signals in the main thread alone.
        for number in ENDING if threading.current_thread() is threading.main_thread() else ():
            if callable(before := signal.getsignal(number)):
                self._before[number] = before
                signal.signal(number, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.asked = True
        try:
            # The old handler runs as well: a terminal that hung up takes no more output.
            self._before[signal.Signals(number)](number, frame)
        except KeyboardInterrupt:
            if self._stoppable:
                raise

    @contextmanager
    def stoppable(self) -> Iterator[None]:
        """A block that a signal ends without an error. ``asked`` records the signal.

        It begins with ``check``, for a signal before it.
        """
        self._stoppable = True
        try:
            yield
        except KeyboardInterrupt as error:
            self._stoppable = False
            # A controller of the user can raise one without a signal.
            if not self.asked and not isinstance(error, Interrupted):
                raise
            self.asked = True
        finally:
            self._stoppable = False

    @contextmanager
    def saving(self) -> Iterator[None]:
        """A part of a ``stoppable`` block that a signal does not cut short."""
        self._stoppable = False
        try:
            yield
        finally:
            self._stoppable = True
        self.check()

    def check(self) -> None:
        """Ends the ``stoppable`` block if there was a signal. Raises KeyboardInterrupt."""
        if self.asked:
            raise KeyboardInterrupt
