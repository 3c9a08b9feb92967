"""Exceptions of destructors, which Python prints and otherwise ignores.

The engine listens on the thread of a run whose controllers are written in Python, from its beginning to its
end. Such an exception ends the run as one of an event does.
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

    raised: list[BaseException] | None = None
    """The exceptions of destructors, while the thread listens."""
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
    """Keeps what destructors raise on this thread from now on."""
    global _listening, _before
    with _lock:
        if sys.unraisablehook is not _hook:
            _before, sys.unraisablehook = sys.unraisablehook, _hook
        _listening += 1
    _here.raised, _here.expects = [], False


def expect(of: object) -> None:
    """Notes that a controller is made, which may have a destructor."""
    _here.expects = _here.expects or hasattr(of, "__del__")


def heard(failed: TracebackType | None) -> BaseException | None:
    """The first exception of a destructor since ``listen``.

    The frames of a run that ``failed`` keep its controller, and cycles keep any. They end here.
    """
    global _listening
    if _here.expects:
        traceback.clear_frames(failed)
        gc.collect()
    # The frames of a destructor keep what its object holds, whose destructors may add to the list.
    for one in _here.raised or ():
        traceback.clear_frames(one.__traceback__)
    raised, _here.raised = _here.raised, None
    with _lock:
        _listening -= 1
        if not _listening and sys.unraisablehook is _hook:
            sys.unraisablehook = _before
    return raised[0] if raised else None


def _hook(unraisable: sys.UnraisableHookArgs) -> None:
    if _here.raised is not None and unraisable.exc_value is not None:
        _here.raised.append(unraisable.exc_value)
    elif _here.passes_on:
        sys.__unraisablehook__(unraisable)
    else:
        _here.passes_on = True
        try:
            _before(unraisable)
        finally:
            _here.passes_on = False
