"""The response function of BIC in closed form (thesis, appendix B.1, with its misprints corrected).

After a loss at the window W, BIC takes beta W off, returns by S packets in each RTT while it is far from W,
and then halves the distance in each RTT until it is below s. An epoch is one loss: its packets Y are 1/p. All
windows are in packets, and logarithms without a base are to the base 2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ackclock.arguments import library, one_of, positive, share
from ackclock.errors import InputError
from ackclock.metrics.tables import Array
from ackclock.papers.data.edwan2010.models.vectors import probabilities


@dataclass(frozen=True)
class Bic:
    """BIC with its three parameters. The default is the paper's values."""

    largest: float = 32.0
    """S: the largest increase in one RTT, in packets."""
    smallest: float = 0.01
    """s: the smallest increase in one RTT, in packets."""
    beta: float = 0.125
    """The share of the window that a loss removes."""

    def __post_init__(self) -> None:
        share("beta", self.beta)
        if positive("smallest", self.smallest) >= positive("largest", self.largest):
            raise InputError(f"smallest = {self.smallest:g}: must be below largest = {self.largest:g}")

    @property
    def coefficients(self) -> tuple[float, float, float]:
        """a, b and c of Y = a W^2 + b W - c, the packets of an epoch with an additive phase."""
        a = self.beta * (2 - self.beta) / (2 * self.largest)
        b = math.log2(self.largest / self.smallest) + (2 - self.beta) / 2
        return a, b, self.largest - self.smallest

    def phases(self, window: float) -> tuple[int, float]:
        """How many RTTs an epoch adds S in each, N1, and how many it searches, N2, with a loss at ``window``.

        N1 = max(ceil(beta W/S - 2), 0), N2 = log((beta W - N1 S)/s) + 2.
        """
        fall = self.beta * positive("window", window)
        additive = max(math.ceil(fall / self.largest - 2), 0)
        return additive, math.log2((fall - additive * self.largest) / self.smallest) + 2

    def packets(self, window: float) -> float:
        """The packets of an epoch with a loss at ``window``, Y1 + Y2, from the lengths of its phases.

        Y1 = N1 (N1 - 1) S/2 + (1 - beta) W N1 and Y2 = W N2 - 2 (beta W - N1 S) + s.
        """
        additive, search = self.phases(window)
        fall = self.beta * window
        first = additive * (additive - 1) * self.largest / 2 + (window - fall) * additive
        return first + window * search - 2 * (fall - additive * self.largest) + self.smallest

    def window(self, loss: npt.ArrayLike, regime: str = "auto") -> Array:
        """The window W at which losses come every 1/p packets.

        The ``regime`` "additive" is the root of a W^2 + b W = 1/p (c is left out, as in the thesis). The
        regime "binary" has no additive phase: W = ln 2/(p W0(4 ln 2 beta exp(-2 beta ln 2)/(p s))), where W0
        is the principal branch of Lambert's function. The regime "auto" is binary as long as its window
        has beta W <= 2 S.
        """
        p = probabilities("loss", loss)
        regime = one_of("regime", regime, ("auto", "additive", "binary"))
        if regime == "additive":
            return self._additive(p)
        binary = self._binary(p)
        return binary if regime == "binary" else np.where(self._searches(binary), binary, self._additive(p))

    def mean_window(self, loss: npt.ArrayLike, regime: str = "auto") -> Array:
        """The response function, the packets of an epoch over its RTTs. For ``regime`` see ``window``.

        Additive: ((2 - beta)/p)/(sqrt(b^2 + 4a/p) + (1 - beta) b + beta (2 - beta)/2).
        Binary: (1/p)/(log(beta W/s) + 2).
        """
        p = probabilities("loss", loss)
        regime = one_of("regime", regime, ("auto", "additive", "binary"))
        a, b, _ = self.coefficients
        rest = (1 - self.beta) * b + self.beta * (2 - self.beta) / 2
        additive = np.asarray((2 - self.beta) / p / (np.sqrt(b**2 + 4 * a / p) + rest))
        if regime == "additive":
            return additive
        window = self._binary(p)
        binary = np.asarray(1 / p / (np.log2(self.beta * window / self.smallest) + 2))
        return binary if regime == "binary" else np.where(self._searches(window), binary, additive)

    def asymptote(self, loss: npt.ArrayLike) -> Array:
        """The limit of the additive regime, sqrt(S (2 - beta)/(2 beta p)), which does not depend on s."""
        p = probabilities("loss", loss)
        return np.sqrt(self.largest * (2 - self.beta) / (2 * self.beta * p))

    def window_ratio(self, rtts: tuple[float, float], epoch: float, regime: str = "additive") -> float:
        """W1/W2 of two flows that lose packets together every ``epoch`` seconds, with RTTs in seconds.

        Additive: (1/R1 - n/t)/(1/R2 - n/t) with n = log(S/s) + 1, which tends to R2/R1 for long epochs t.
        Binary: exp((1/R1 - 1/R2) t ln 2).

        An epoch shorter than the n RTTs that the search alone takes is an ``InputError``.
        """
        one_of("regime", regime, ("additive", "binary"))
        rounds = [positive("epoch", epoch) / positive("rtt", rtt) for rtt in rtts]
        if regime == "binary":
            return math.exp((rounds[0] - rounds[1]) * math.log(2))
        search = math.log2(self.largest / self.smallest) + 1
        if min(rounds) <= search:
            raise InputError(f"epoch = {epoch:g}: must be above {search:.4g} of the longer RTT")
        return (rounds[0] - search) / (rounds[1] - search)

    def _additive(self, p: Array) -> Array:
        a, b, _ = self.coefficients
        return np.asarray((-b + np.sqrt(b**2 + 4 * a / p)) / (2 * a))

    def _binary(self, p: Array) -> Array:
        ln2 = math.log(2)
        argument = 4 * ln2 * self.beta * math.exp(-2 * self.beta * ln2) / (p * self.smallest)
        return np.asarray(ln2 / (p * np.real(library("scipy.special").lambertw(argument))))

    def _searches(self, window: Array) -> Array:
        return np.asarray(self.beta * window <= 2 * self.largest)
