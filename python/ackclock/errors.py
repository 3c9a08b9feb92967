"""The base class of errors that are the user's to mend, and suggestions for wrong names."""

from __future__ import annotations

from collections.abc import Iterable


class InputError(ValueError):
    """Bad input. The message is one sentence. The command line prints it and ends with status 2."""


LIKE = 0.6
"""The similarity (difflib) from which on a name may have been meant."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """``"; did you mean `x`?"`` with the name among ``known`` that may have been meant, or empty."""
    import difflib

    nearest = difflib.get_close_matches(name, list(known), 1, LIKE)
    return f"; did you mean `{nearest[0]}`?" if nearest else ""
