"""Waits for descriptors: with many open, to a fraction of a millisecond, and until their end."""

import ctypes
import os
import select
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

from ackclock import descriptors
from ackclock.descriptors import is_ready

pytestmark = pytest.mark.skipif(
    sys.platform == "win32" or not hasattr(ctypes.CDLL(None), "ppoll"), reason="needs ppoll"
)

MANY = """
import os, resource, select
from ackclock import descriptors
from ackclock.descriptors import is_ready

_, most = resource.getrlimit(resource.RLIMIT_NOFILE)
if most < 1100:
    raise SystemExit(77)
resource.setrlimit(resource.RLIMIT_NOFILE, (1100, most))
opened = [os.dup(0) for _ in range(1050)]
out, into = os.pipe()
assert out > 1023
assert not is_ready(out, select.POLLIN)
assert is_ready(into, select.POLLOUT)
os.write(into, b"1")
assert is_ready(out, select.POLLIN)
"""


@pytest.fixture
def pipe():
    ends = os.pipe()
    yield ends
    for end in ends:
        try:
            os.close(end)
        except OSError:
            continue


def test_a_descriptor_above_1023_is_waited_for():
    ended = subprocess.run([sys.executable, "-c", MANY], stdin=subprocess.DEVNULL, check=False)
    if ended.returncode == 77:
        pytest.skip("this machine allows fewer descriptors")
    assert ended.returncode == 0


@pytest.mark.parametrize(
    ("wait", "limit"), [(0.0003, [0, 300_000]), (2.5, [2, 500_000_000]), (0.0, [0, 0]), (-1.0, [0, 0])]
)
def test_a_wait_is_not_rounded_to_milliseconds(monkeypatch, wait, limit):
    limits = []
    library = SimpleNamespace(ppoll=lambda *call: limits.append(call[2][:]) or 0)
    monkeypatch.setattr(descriptors, "_library", lambda: library)
    assert not is_ready(0, select.POLLIN, wait)
    assert limits == [limit]


def test_a_wait_is_as_long_as_asked_for(pipe):
    begin = time.monotonic()
    assert not is_ready(pipe[0], select.POLLIN, 0.0123)
    assert time.monotonic() - begin >= 0.0123


@pytest.mark.parametrize("wait", [0.0, -1.0])
def test_no_time_to_wait_asks_at_once(pipe, wait):
    assert not is_ready(pipe[0], select.POLLIN, wait)
    os.write(pipe[1], b"1")
    assert is_ready(pipe[0], select.POLLIN, wait)


def test_the_end_of_the_other_side_ends_a_wait(pipe):
    os.close(pipe[1])
    assert is_ready(pipe[0], select.POLLIN, 60.0)


def test_a_signal_ends_a_wait(pipe):
    seen = []
    before = signal.signal(signal.SIGALRM, lambda *_: seen.append(True))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
        assert not is_ready(pipe[0], select.POLLIN, 60.0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert seen
