"""Exit statuses of the command line, its handler of signals, and a sentence of more than one command."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import sys
import time

TYPE_CHECKING = False
"""As of ``typing``, which takes longer to import than all else here."""

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

BAD_INPUT = 2
INVALID = 3
"""Something was not judged: a live run past its error budget, or a packet script that is not modelled."""
INTERRUPTED = 130
"""Ctrl-C, SIGTERM or SIGHUP."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, or a signal like it.

    Python ends with SIGINT in place of a status if a KeyboardInterrupt itself, not a class below it, left a
    text that was executed, as dataclasses do, even if it was caught after that.
    """


AT_ONCE_S = 0.3
"""Signals so close are one: `timeout -s INT` sends it to the command, and to its process group."""
_last = float("-inf")
"""The time of the last signal to end."""


def interrupt(*_: object) -> None:
    """Handles a signal that is to end the command. Raises Interrupted."""
    global _last
    before, _last = _last, time.monotonic()
    if _last - before >= AT_ONCE_S:
        raise Interrupted


AGAIN_S = 0.01
"""The time from an interruption that a destructor dropped to the next."""


def handle_signals() -> None:
    """Lets SIGTERM and Ctrl-C raise Interrupted, once more where a destructor drops it.

    The module ``signal`` is not imported for that. It makes enums of its constants, which takes as long as
    all before.
    """
    _forget()
    _signal.signal(_signal.SIGTERM, interrupt)
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, interrupt)
    # Windows has no timers.
    if hasattr(_signal, "setitimer"):
        _signal.signal(_signal.SIGALRM, lambda *_: _signal.raise_signal(_signal.SIGTERM))
        sys.unraisablehook = _dropped


def _forget() -> None:
    """The next signal ends the command, however close the last one was."""
    global _last
    _last = float("-inf")


def _dropped(exception: UnraisableHookArgs) -> None:
    """Handles an exception that Python forgets: in a destructor, and in the callback that each import has."""
    if isinstance(exception.exc_value, Interrupted):
        _forget()
        _signal.setitimer(_signal.ITIMER_REAL, AGAIN_S)
    else:
        sys.__unraisablehook__(exception)


NO_CURRENT_FOLDER = "the current folder has been deleted: change into another"

LIMIT = "--limit"
"""The option with the limits of a command, see ``supervised.py``."""
LIMITED = ("run", "compare", "matrix", "sweep", "check", "evaluate")
"""The commands that run controllers of a user's, and may have limits."""
