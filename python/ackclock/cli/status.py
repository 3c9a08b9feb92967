"""Exit statuses of the command line, its handler of signals, and a sentence of more than one command."""

INVALID = 3
"""Something was not judged: a live run past its error budget, or a packet script that is not modelled."""
INTERRUPTED = 130
"""Ctrl-C, SIGTERM or SIGHUP."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, or a signal like it.

    Python ends with SIGINT in place of a status if a KeyboardInterrupt itself, not a class below it, left a
    text that was executed, as dataclasses do, even if it was caught after that.
    """


def interrupt(*_: object) -> None:
    """Handles a signal that is to end the command. Raises Interrupted."""
    raise Interrupted


NO_CURRENT_FOLDER = "the current folder has been deleted: change into another"

LIMIT = "--limit"
"""The option with the limits of a command, see ``supervised.py``."""
LIMITED = ("run", "compare", "matrix", "sweep", "check", "evaluate")
"""The commands that run controllers of a user's, and may have limits."""
