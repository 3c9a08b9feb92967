"""The command line, ``ackclock``: a module for each command.

Its modules import matplotlib, pyarrow and the experiments only where they use them: help and refusals appear
at once.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence

from ackclock.cli.status import INTERRUPTED, interrupt


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns the exit status."""
    try:
        if arguments is None:
            # The imports below take a moment, in which SIGTERM is to end the command as Ctrl-C does.
            signal.signal(signal.SIGTERM, interrupt)
            if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
                signal.signal(signal.SIGINT, interrupt)
        from ackclock.cli import app

        return app.main(arguments)
    except KeyboardInterrupt:
        sys.stderr.write("ackclock: interrupted\n")
        return INTERRUPTED
