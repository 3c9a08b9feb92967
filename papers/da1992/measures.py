"""What claims of Dabbous 1992 measure that the language of claims has no word for."""

from collections.abc import Sequence


def smallest_full_window(rates: Sequence[float]) -> float:
    """The first window, of 21 packets and more, that gives 100 packets/s: 21 and as many more as do not."""
    return 21.0 + sum(rate < 99.9 for rate in rates)
