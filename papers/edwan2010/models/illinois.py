"""Illinois of any order: increase and decrease as functions of the delay (thesis, chapter 6).

The delay is d = (mean RTT - least RTT) in units of d_m = (largest RTT - least RTT), so 0 <= d <= 1. With d_i
= eta_i (i = 1, 2, 3) and order n:

    alpha = alpha_max up to d_1, else alpha_max/(1 + u (alpha_max/alpha_min - 1)),
            u = (d^n - d_1^n)/(1 - d_1^n)
    beta  = beta_min up to d_2, beta_max from d_3, between them beta_min + (beta_max - beta_min) v,
            v = (d^n - d_2^n)/(d_3^n - d_2^n)

Order 1 is TCP-Illinois (Liu, Basar, Srikant 2006), order 2 TCP-Q, order 3 TCP-C. alpha is in packets per RTT,
beta is the share of the window that a loss removes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ackclock.arguments import one_of, positive
from ackclock.errors import InputError
from ackclock.metrics.tables import Array
from ackclock.papers.data.edwan2010.models import responses
from ackclock.papers.data.edwan2010.models.vectors import probabilities

VARIANTS = ("power", "fs", "fq")


@dataclass(frozen=True)
class Illinois:
    """The functions of one variant. The default parameters are Linux's."""

    order: float = 1.0
    variant: str = "power"
    """"power": order n in both functions. "fq", TCP-Fq: order 2 in beta, 1 in alpha. "fs", TCP-Fs: order 1,
    with a beta that rises later and more steeply at first."""
    alpha_min: float = 0.3
    alpha_max: float = 10.0
    beta_min: float = 0.125
    beta_max: float = 0.5
    eta: tuple[float, float, float] = (0.01, 0.1, 0.8)
    window_threshold: float = 15.0
    """Below this window, in packets, the rule is Reno's: alpha = 1, beta = 0.5."""

    def __post_init__(self) -> None:
        one_of("variant", self.variant, VARIANTS)
        positive("order", self.order)
        if not 0 < self.alpha_min <= self.alpha_max:
            raise InputError(f"alpha_min = {self.alpha_min:g}: must be above 0 and at most alpha_max")
        if not 0 < self.beta_min <= self.beta_max < 1:
            raise InputError(f"beta_min = {self.beta_min:g}: must be above 0 and at most beta_max, below 1")
        if not 0 <= self.eta[0] <= self.eta[1] < self.eta[2] <= 1:
            raise InputError(f"eta = {self.eta}: must be three numbers from 0 to 1 in increasing order")

    def alpha(self, delay: npt.ArrayLike) -> Array:
        """The increase at a delay, in packets per RTT."""
        n = self._alpha_order
        u = np.maximum((_delays(delay) ** n - self.eta[0] ** n) / (1 - self.eta[0] ** n), 0.0)
        return np.asarray(self.alpha_max / (1 + u * (self.alpha_max / self.alpha_min - 1)))

    def beta(self, delay: npt.ArrayLike) -> Array:
        """The share of the window that a loss removes at a delay."""
        d = _delays(delay)
        if self.variant == "fs":
            return self._beta_smoothed(d)
        n = self._beta_order
        _, low, high = self.eta
        v = np.clip((d**n - low**n) / (high**n - low**n), 0.0, 1.0)
        return np.asarray(self.beta_min + (self.beta_max - self.beta_min) * v)

    def _beta_smoothed(self, d: Array) -> Array:
        """TCP-Fs: beta_min up to d_4, linear to the middle of the range at d_5, then as order 1."""
        _, low, high = self.eta
        middle = (low + high) / 2
        later = (low + middle) / 2
        halfway = (self.beta_min + self.beta_max) / 2
        points = [later, middle, high]
        return np.asarray(np.interp(d, points, [self.beta_min, halfway, self.beta_max]))

    def alpha_at_beta(self, beta: npt.ArrayLike) -> Array:
        """The increase where the decrease is ``beta``: the alpha-beta plane (figure 6.1).

        ``beta`` must be strictly between beta_min and beta_max, where one delay belongs to it.
        """
        b = np.asarray(beta, dtype=np.float64)
        self._inside("beta", b, self.beta_min, self.beta_max)
        v = (b - self.beta_min) / (self.beta_max - self.beta_min)
        n = self._plane_order
        _, low, high = self.eta
        return self.alpha((low**n + v * (high**n - low**n)) ** (1 / n))

    def beta_at_alpha(self, alpha: npt.ArrayLike) -> Array:
        """The decrease where the increase is ``alpha``, strictly between alpha_min and alpha_max."""
        a = np.asarray(alpha, dtype=np.float64)
        self._inside("alpha", a, self.alpha_min, self.alpha_max)
        n = self._plane_order
        u = (self.alpha_max / a - 1) / (self.alpha_max / self.alpha_min - 1)
        return self.beta((self.eta[0] ** n + u * (1 - self.eta[0] ** n)) ** (1 / n))

    @property
    def _alpha_order(self) -> float:
        return self.order if self.variant == "power" else 1.0

    @property
    def _beta_order(self) -> float:
        return 2.0 if self.variant == "fq" else self.order

    @property
    def _plane_order(self) -> float:
        if self.variant != "power":
            raise InputError(f'variant = "{self.variant}": the alpha-beta plane is for the variant "power"')
        return self.order

    @staticmethod
    def _inside(name: str, values: Array, low: float, high: float) -> None:
        wrong = values[~((values > low) & (values < high))]
        if wrong.size:
            raise InputError(f"{name} = {wrong.flat[0]:g}: must be above {low:g} and below {high:g}")

    def response(self, loss: npt.ArrayLike, delay: float) -> Array:
        """The mean window, in packets, of AIMD with alpha and beta of a delay. Reno below the threshold.

        The thesis prints no formula for its figure 6.11. This is its AIMD response function (section 3.3).
        """
        p = probabilities("loss", loss)
        steep = responses.aimd(p, float(self.alpha(delay)), float(self.beta(delay)))
        return np.where(steep >= self.window_threshold, steep, responses.reno(p))

    def epoch(self, pipe: float, queue: float, rtt: float) -> float:
        """The seconds from one loss to the next of a lone flow that fills a drop-tail queue.

        ``pipe`` and ``queue`` are in packets. The window falls by beta_max from pipe + queue, grows by
        alpha_max up to the pipe, and then by alpha(d), d = (w - pipe)/queue, at a constant RTT of ``rtt``
        seconds and with d_1 = 0: R ((pipe - w0)/alpha_max + queue/alpha_max (1 + (alpha_max/alpha_min -
        1)/(n + 1))), w0 = (1 - beta_max)(pipe + queue).

        A queue so long that the reduced window still fills the pipe is an ``InputError``.
        """
        low = (1 - self.beta_max) * (positive("pipe", pipe) + positive("queue", queue))
        if low > pipe:
            raise InputError(
                f"queue = {queue:g}: must leave the pipe not full after a loss at {pipe + queue:g}"
            )
        n = self._alpha_order
        filling = queue / self.alpha_max * (1 + (self.alpha_max / self.alpha_min - 1) / (n + 1))
        return positive("rtt", rtt) * ((pipe - low) / self.alpha_max + filling)


ILLINOIS = Illinois()
TCP_Q = Illinois(order=2.0)
TCP_C = Illinois(order=3.0)
TCP_FQ = Illinois(variant="fq")
TCP_FS = Illinois(variant="fs")


def _delays(delay: npt.ArrayLike) -> Array:
    d = np.asarray(delay, dtype=np.float64)
    wrong = d[~((d >= 0) & (d <= 1))]
    if wrong.size:
        raise InputError(f"delay = {wrong.flat[0]:g}: must be from 0 to 1")
    return d
