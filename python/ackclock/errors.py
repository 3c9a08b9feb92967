"""The base class of errors that are the user's to mend."""

from __future__ import annotations


class InputError(ValueError):
    """Bad input. The message is one sentence; the command line prints it and ends with status 2."""
