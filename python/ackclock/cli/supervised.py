"""A command that runs code of a user's does so in a process of its own, within limits (``--limit``).

The process announces its end. One that ends without has been ended by that code, and the parent says so. With
a limit of the address space (``ulimit -v``) libraries end the process so, and a command has its own, too.
"""

from __future__ import annotations

import math
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ackclock import _engine
from ackclock.cli.interrupts import ENDING
from ackclock.cli.status import LIMIT as OPTION
from ackclock.cli.status import LIMITED as COMMANDS
from ackclock.errors import NO_MEMORY, InputError
from ackclock.quic_stacks import without_stack
from ackclock.workers import interpreter

GRACE_S = 10.0
"""A process past its limit has this long to keep its finished work."""
LONG_S = 3600.0
STATUS = 2
OF_LIBRARIES = tuple(one for one in signal.Signals if one.name in ("SIGABRT", "SIGSEGV", "SIGBUS"))
"""The signals that end a library for which an allocation failed, as far as the platform has them."""
_CODE = re.compile(r"(?:[^(]*=)?['\"]?(?P<file>[^='\"]*\.(?:py|rs|c|so))(?::\w+)?(?:\(.*\))?['\"]?")
_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG


@dataclass(frozen=True)
class Limit:
    """The limits of a process."""

    text: str
    """As they were typed."""
    seconds: float
    memory: int | None
    """Bytes of data."""


def read(text: str) -> Limit:
    """The limits that ``60s`` or ``60s,2GB`` spells. Raises InputError."""
    time_, comma, memory = text.partition(",")
    try:
        seconds = float(_engine.quantity(time_, "time"))
        size = int(_engine.quantity(memory, "size")) if comma else None
    except ValueError as error:
        raise InputError(f"{OPTION} {text}: must be TIME or TIME,MEMORY, as in 60s,2GB: {error}") from None
    if not seconds > 0 or (size is not None and size <= 0):
        raise InputError(f"{OPTION} {text}: must be above 0")
    return Limit(text, seconds, size)


def taken(arguments: Sequence[str]) -> tuple[Limit | None, list[str]]:
    """The limits among the arguments of a command that may have them, and the other arguments.

    Raises InputError.
    """
    limit, others, rest = None, [], list(arguments)
    while rest:
        one = rest.pop(0)
        name, equals, value = one.partition("=")
        if name != OPTION:
            others.append(one)
        elif not equals and not rest:
            raise InputError(f"{OPTION}: needs TIME[,MEMORY], as in 60s,2GB")
        else:
            limit = read(value if equals else rest.pop(0))
    if not others or others[0] not in COMMANDS:
        return None, list(arguments)
    return limit, others


def code(arguments: Sequence[str]) -> list[str]:
    """The files of code that the arguments name: controllers in Python, Rust and C, objects, crates."""
    found = [matched["file"] for one in arguments if (matched := _CODE.fullmatch(one))]
    # A crate with a controller of a QUIC stack: `noq:./mine:Mine`.
    paths = [without_stack(one) for one in arguments]
    folders = [one.partition(":")[0] for one in paths if one[:1] in "./"]
    return found + [folder for folder in folders if folder and Path(folder, "Cargo.toml").is_file()]


def concerns(arguments: Sequence[str], limit: Limit | None) -> bool:
    """True if a command is to run in a process of its own: it has limits, or runs code of a user's."""
    if not arguments or arguments[0] not in COMMANDS or not hasattr(signal, "sigtimedwait"):
        return False
    return limit is not None or "--trust" in arguments or bool(code(arguments)) or is_confined()


def is_confined() -> bool:
    """True if the address space of the process has a limit. Windows has none."""
    try:
        import resource
    except ImportError:
        return False
    return resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY


def elsewhere(arguments: Sequence[str], limit: Limit) -> int:
    """The status of a command within limits, for a caller that is a program: it has only the output of it."""
    command = interpreter("-m", "ackclock", *arguments, OPTION, limit.text)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    sys.stdout.write(done.stdout)
    sys.stderr.write(done.stderr)
    return done.returncode


def supervised(
    arguments: Sequence[str], limit: Limit | None, work: Callable[[], int], end: Callable[[int, str], int]
) -> int:
    """The status of ``work`` in a process of its own. In that process it returns as well.

    ``end`` prints a sentence and gives its status.
    """
    ended, announces = os.pipe()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {*ENDING, signal.SIGCHLD})
    child = os.fork()
    if child == 0:
        os.close(ended)
        _begin(limit)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        status = work()
        os.write(announces, bytes((status,)))
        return status
    os.close(announces)
    status, late = _wait(child, None if limit is None else limit.seconds)
    what = ", ".join(code(arguments)) or " ".join(arguments[:2])
    if late and limit is not None:
        return end(STATUS, f"{what}: was not over after {limit.text.partition(',')[0]} ({OPTION})")
    announced = _announced(ended)
    if os.WIFEXITED(status):
        own = os.WEXITSTATUS(status)
        if announced is not None:
            return own
        if is_confined() and not code(arguments):
            return end(STATUS, NO_MEMORY)
        return end(STATUS, f"{what}: its code ended the process with status {own}")
    number = signal.Signals(os.WTERMSIG(status))
    if announced is not None and number in (*ENDING, signal.SIGALRM):
        # Python no longer handles signals while it ends.
        return announced
    if number in OF_LIBRARIES and is_confined() and not code(arguments):
        # A process that has announced its end, and said why, may still fail at the end of a library.
        return end(STATUS, NO_MEMORY) if announced is None else announced
    return end(STATUS, f"{what}: its process was ended by {number.name}")


def _announced(ended: int) -> int | None:
    """The status that the process announced. One that it left behind may still have its end of the pipe."""
    os.set_blocking(ended, False)
    try:
        read = os.read(ended, 1)
    except BlockingIOError:
        return None
    return read[0] if read else None


def _begin(limit: Limit | None) -> None:
    """Prepares the process of the work: it ends with its parent, and has its memory."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
    if limit is not None and limit.memory is not None:
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (limit.memory, limit.memory))


def _wait(child: int, seconds: float | None) -> tuple[int, bool]:
    """Waits for a process, and passes signals on: how it ended, and whether it was past its time.

    A terminal sends Ctrl-C to both. Signals of a process come to this one alone.
    """
    due, late = math.inf if seconds is None else time.monotonic() + seconds, False
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status, late
        left = due - time.monotonic()
        if left <= 0:
            os.kill(child, signal.SIGKILL if late else signal.SIGTERM)
            due, late = (math.inf if late else time.monotonic() + GRACE_S), True
            continue
        info = signal.sigtimedwait({*ENDING, signal.SIGCHLD}, min(left, LONG_S))
        if info is not None and info.si_signo != signal.SIGCHLD and info.si_code <= 0:
            os.kill(child, info.si_signo)
