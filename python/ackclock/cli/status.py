"""Exit statuses of the command line, and a sentence of more than one command."""

INVALID = 3
"""A live run went past its error budget."""
INTERRUPTED = 130
"""Ctrl-C, SIGTERM or SIGHUP."""

NO_CURRENT_FOLDER = "the current folder has been deleted: change into another"
