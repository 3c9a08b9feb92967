"""Measures of Dabbous 1992 for which the language of claims has no word."""

from collections.abc import Sequence


def smallest_full_window(rates: Sequence[float]) -> float:
    """The smallest window that fills the pipe. ``rates`` belong to windows of 21 packets and more."""
    return 21.0 + sum(rate < 99.9 for rate in rates)
