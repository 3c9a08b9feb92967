"""The command line, ``ackclock``: a module for each command.

Its modules import matplotlib, pyarrow and the experiments only where they use them: help and refusals appear
at once. This one imports nothing but what handles a signal, so that few milliseconds pass before it can.
"""

from __future__ import annotations

import sys

from ackclock.cli.status import INTERRUPTED, handle_signals

TYPE_CHECKING = False
"""As of ``typing``, which takes longer to import than all else here."""

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns the exit status."""
    try:
        if arguments is None:
            # The imports below take a moment, in which SIGTERM is to end the command as Ctrl-C does.
            handle_signals()
        from ackclock.cli import app

        return app.main(arguments)
    except KeyboardInterrupt:
        sys.stderr.write("ackclock: interrupted\n")
        return INTERRUPTED
