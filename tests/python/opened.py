"""How often a file is opened, by any process, and a scenario that has a trace."""

import ctypes
import os
import struct
from contextlib import contextmanager

import pytest

IN_CLOSE_NOWRITE, IN_OPEN, IN_NONBLOCK = 0x10, 0x20, 0o4000
EVENT = struct.Struct("iIII")
TRACED = """
name = "traced"
duration = "1s"
path = { rate = { trace = "steady.down" }, rtt = "20ms", queue = "1bdp" }
flows = [{ cc = "newreno" }]
"""


@contextmanager
def opens(file):
    """A list with an entry for each time that a process opened ``file``, filled in at the end."""
    libc, found = ctypes.CDLL(None, use_errno=True), []
    descriptor = libc.inotify_init1(IN_NONBLOCK)
    # Equal events in a row may be one, so that closing is watched, too.
    watched = IN_OPEN | IN_CLOSE_NOWRITE
    if descriptor < 0 or libc.inotify_add_watch(descriptor, os.fsencode(file), watched) < 0:
        pytest.skip("the system does not tell of opened files")
    try:
        yield found
        while True:
            try:
                events = os.read(descriptor, 1 << 16)
            except BlockingIOError:
                return
            # Without names every event is as long.
            found += ["open" for _, mask, *_ in EVENT.iter_unpack(events) if mask & IN_OPEN]
    finally:
        os.close(descriptor)


def trace(file):
    """The trace of the scenario in ``file``."""
    return file.parent / "steady.down"
