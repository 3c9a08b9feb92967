"""Exceptions of destructors, which Python prints and otherwise ignores.

The engine listens on the thread of a run whose controllers are written in Python, from its beginning to its
end. Such an exception ends the run as one of an event does. An interrupt of the engine's, which comes while a
destructor runs, is none: it comes again.
"""

from __future__ import annotations

import gc
import sys
import threading
import traceback
from collections.abc import Callable
from types import TracebackType
from typing import Any

Hook = Callable[[Any], Any]


class _Here(threading.local):
    """The state of a thread."""

    raised: BaseException | None = None
    """The first exception of a destructor since the thread listens."""
    listens = False
    """True from ``listen`` to ``heard``."""
    expects = False
    """True if a controller of the run has a destructor."""
    passes_on = False
    """True while the hook of others has an exception, which may have this one as the hook from before."""


_here = _Here()
_lock = threading.RLock()
_listening = 0
_before: Hook = sys.__unraisablehook__
"""The hook of others, while a thread listens."""


def listen() -> None:
    """Keeps what destructors raise on this thread from now on. To do so again changes nothing."""
    global _listening, _before
    with _lock:
        if sys.unraisablehook is not _hook:
            _before, sys.unraisablehook = sys.unraisablehook, _hook
        _listening += not _here.listens
        _here.raised, _here.listens, _here.expects = None, True, False


def expect(of: object) -> None:
    """Notes that a controller is made, which may have a destructor."""
    _here.expects = _here.expects or hasattr(of, "__del__")


def heard(failed: TracebackType | None, interrupted: bool) -> BaseException | None:
    """The first exception of a destructor since ``listen``. Called again, it goes on.

    The frames of a run that ``failed`` keep its controller, and cycles keep any. They end here. An interrupt
    may come before ``expect``.
    """
    global _listening
    if _here.expects or interrupted:
        traceback.clear_frames(failed)
    if _here.expects:
        gc.collect()
    if _here.raised is not None:
        # The frames of a destructor keep what its object holds.
        traceback.clear_frames(_here.raised.__traceback__)
    with _lock:
        _listening -= _here.listens
        _here.listens = False
        if not _listening and sys.unraisablehook is _hook:
            sys.unraisablehook = _before
    return _here.raised


def _hook(unraisable: sys.UnraisableHookArgs) -> None:
    if _here.listens:
        # A controller may make objects with such destructors at each event, so one is kept.
        if _here.raised is None and not issubclass(unraisable.exc_type, KeyboardInterrupt):
            _here.raised = unraisable.exc_value
    elif _here.passes_on:
        sys.__unraisablehook__(unraisable)
    else:
        _here.passes_on = True
        try:
            _before(unraisable)
        finally:
            _here.passes_on = False
