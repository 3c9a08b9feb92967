"""Waits for a descriptor to the microsecond, however many are open.

``select.select`` takes no descriptor above 1,023. ``poll`` and ``epoll`` of Python wait for whole
milliseconds, rounded up. So this calls ``ppoll`` of the C library.
"""

from __future__ import annotations

import ctypes
import errno
import os
from functools import cache

NANOS = 1_000_000_000


class _Polled(ctypes.Structure):
    """``struct pollfd`` of poll.h."""

    _fields_ = (("descriptor", ctypes.c_int), ("events", ctypes.c_short), ("came", ctypes.c_short))


@cache
def _library() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def is_ready(descriptor: int, events: int, wait_s: float = 0.0) -> bool:
    """Waits for ``events`` of a descriptor (``select.POLLIN``), an error or its end. False after ``wait_s``.

    A signal ends the wait, too. Raises OSError.
    """
    polled = _Polled(descriptor, events)
    limit = (ctypes.c_long * 2)(*divmod(max(round(wait_s * NANOS), 0), NANOS))
    if _library().ppoll(ctypes.byref(polled), 1, limit, None) < 0:
        number = ctypes.get_errno()
        if number == errno.EINTR:
            return False
        raise OSError(number, os.strerror(number))
    return bool(polled.came)
