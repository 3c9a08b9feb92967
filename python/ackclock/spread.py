"""The spread of a value over repetitions: median, quartiles, and a bootstrap interval of the median."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ackclock.metrics import Array

CONFIDENCE = 0.95
"""The confidence of the interval."""
RESAMPLES = 9999
LEAST = 3
"""With fewer repetitions the bootstrap has nothing to draw from."""
INTERVAL = "95 % bootstrap interval of the median"


@dataclass(frozen=True)
class Spread:
    """The values of some repetitions in numbers."""

    count: int
    low: float
    q1: float
    median: float
    q3: float
    high: float
    interval: tuple[float, float] | None
    """:data:`INTERVAL`; None with fewer than :data:`LEAST` repetitions, or without SciPy."""

    def as_json(self) -> dict[str, object]:
        """The numbers by name."""
        return {
            "repetitions": self.count,
            "min": self.low,
            "p25": self.q1,
            "median": self.median,
            "p75": self.q3,
            "max": self.high,
            "median_ci95": list(self.interval) if self.interval else None,
        }


def spread(values: Array) -> Spread | None:
    """The spread of the values that are numbers, or None if none is."""
    import numpy as np

    known = values[np.isfinite(values)]
    if not known.size:
        return None
    low, q1, median, q3, high = np.percentile(known, (0, 25, 50, 75, 100)).tolist()
    return Spread(known.size, low, q1, median, q3, high, _interval(tuple(known.tolist())))


@cache
def _interval(values: tuple[float, ...]) -> tuple[float, float] | None:
    """The bootstrap interval of the median, by percentiles. It is the same for the same values."""
    if len(values) < LEAST:
        return None
    if min(values) == max(values):
        return values[0], values[0]
    import numpy as np

    try:
        from scipy.stats import bootstrap
    except ImportError:
        return None
    found = bootstrap(
        (np.array(values),),
        np.median,
        confidence_level=CONFIDENCE,
        n_resamples=RESAMPLES,
        method="percentile",
        rng=np.random.default_rng(1),
    )
    ends = found.confidence_interval
    return float(ends.low), float(ends.high)


def has_intervals() -> bool:
    """True where SciPy is installed, which makes the intervals."""
    from importlib.util import find_spec

    return find_spec("scipy") is not None
