"""What claims of Kühlewind 2016 measure that the language of claims has no word for."""

from collections.abc import Sequence

import numpy as np


def present(signs: Sequence[float]) -> float:
    """How many of the signs are above 0: each is a share of time or a count of one element (figure 2)."""
    return float(sum(sign > 0 for sign in signs))


def missed_goals(utilizations: Sequence[float], queues: Sequence[float]) -> float:
    """How many links are unused for a time (below 99.7 %) plus how many queues stand (above 0 packets)."""
    unused = sum(percent < 99.7 for percent in utilizations)
    return float(unused + sum(packets > 0 for packets in queues))


def median(ratios: Sequence[float]) -> float:
    """The median over schemes and buffers (figure 10)."""
    return float(np.median(ratios))


def slope_of_logarithms(windows: Sequence[float], event_rates: Sequence[float]) -> float:
    """Slope of log window (segments) over log p, in congestion events a packet (equation 20)."""
    return float(np.polyfit(np.log(event_rates), np.log(windows), 1)[0])


def equation_20(window: Sequence[float], event_rate: Sequence[float], num_rtt: Sequence[float]) -> float:
    """Mean window (segments) times p times Num_RTT + 2.5: 1 by equation 20 with its constant mended."""
    return window[0] * event_rate[0] * (num_rtt[0] + 2.5)
