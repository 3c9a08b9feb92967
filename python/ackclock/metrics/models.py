"""Models to compare with measurements."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ackclock.metrics.registry import model
from ackclock.metrics.tables import Array


@model
def mathis(loss: float | Array, rtt: float, segment: float, constant: float = math.sqrt(1.5)) -> Any:
    """The Mathis model in bit/s: segment (bytes) / RTT (s) * C / sqrt(p).

    An upper estimate for a Reno flow that loss limits, infinite without loss. Mathis, Semke, Mahdavi, Ott,
    "The macroscopic behavior of the TCP congestion avoidance algorithm", CCR 1997.
    """
    with np.errstate(divide="ignore"):
        return segment * 8 / rtt * constant / np.sqrt(loss)


@model
def linear_growth(start: float, stop: float, rtt: float, packet: float, per_rtt: float = 1.0) -> float:
    """Time (s) in which a window that grows by ``per_rtt`` packets an RTT takes a flow to a higher rate.

    ``start`` and ``stop`` are the rates in bit/s, ``packet`` is in bytes: (W2 - W1) RTT / per_rtt, where W is
    rate * RTT / packet.
    """
    return (stop - start) * rtt / (packet * 8) * rtt / per_rtt
