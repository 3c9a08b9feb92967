"""Models that measurements are laid beside."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ackclock.metrics.tables import Array


def mathis(loss: float | Array, rtt: float, segment: float, constant: float = math.sqrt(1.5)) -> Any:
    """The Mathis model in bit/s: segment (bytes) / RTT (s) * C / sqrt(p).

    An upper estimate for a Reno flow that loss limits. Mathis, Semke, Mahdavi, Ott, "The macroscopic behavior
    of the TCP congestion avoidance algorithm", CCR 1997.
    """
    return segment * 8 / rtt * constant / np.sqrt(loss)
