"""Exit statuses of the command line."""

INVALID = 3
"""A live run went past its error budget."""
INTERRUPTED = 130
"""Ctrl-C, SIGTERM or SIGHUP."""
