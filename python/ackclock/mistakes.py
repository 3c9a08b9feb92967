"""What a mistake of the user is called, wherever it is found."""

from __future__ import annotations


class InputError(ValueError):
    """Bad input. The message is one sentence; the command line prints it and ends with status 2."""
