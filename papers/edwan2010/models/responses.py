"""Response functions: the mean window of an algorithm against the probability of loss, X * R = c / p^d.

All answers are in packets (per RTT). Divided by the RTT they are rates in packets per second. ``loss`` is the
probability that a packet brings a reduction, a number or an array. ``beta`` is always the share of the window
that a reduction removes, 0.5 for Reno. Sources: thesis, section 3.3 and appendix B.2, RFC 3649 (HighSpeed
TCP), RFC 5348 (TFRC), RFC 9438 (CUBIC).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ackclock.arguments import library, positive, share
from ackclock.errors import InputError
from ackclock.metrics.tables import Array
from ackclock.papers.data.edwan2010.models.vectors import probabilities

Response = Callable[[Array], Any]
"""A response function of the loss alone, such as ``reno``."""

LOW_WINDOW = 38.0
HIGH_WINDOW = 83000.0
"""The two ends of HighSpeed TCP, in packets. Below the first it is Reno (RFC 3649, section 5)."""


def reno(loss: npt.ArrayLike, per_ack: float = 1.0) -> Array:
    """Reno, sqrt(3/(2 b p)), where b = ``per_ack`` is the number of packets that an ACK covers."""
    return np.sqrt(1.5 / (positive("per_ack", per_ack) * probabilities("loss", loss)))


def aimd(loss: npt.ArrayLike, alpha: float, beta: float) -> Array:
    """AIMD with a loss every 1/p packets: sqrt(alpha (2 - beta)/(2 beta p))."""
    positive("alpha", alpha)
    share("beta", beta)
    return np.sqrt(alpha * (2 - beta) / (2 * beta * probabilities("loss", loss)))


def aimd_random(loss: npt.ArrayLike, alpha: float, remaining: float, per_ack: float = 1.0) -> Array:
    """AIMD under random loss: sqrt(alpha (1 + f)/(2 b (1 - f) p)).

    f = ``remaining`` is the share of the window that a reduction leaves, b = ``per_ack`` the packets that an
    ACK covers.
    """
    positive("alpha", alpha)
    share("remaining", remaining)
    p = probabilities("loss", loss) * positive("per_ack", per_ack)
    return np.sqrt(alpha * (1 + remaining) / (2 * (1 - remaining) * p))


def power_increase(loss: npt.ArrayLike, alpha: float, beta: float, k: float) -> Array:
    """A window that grows by alpha / w^k in each RTT and loses the share ``beta`` every 1/p packets.

    k = 0 is AIMD, k = -1 is Scalable TCP, k = -0.75 the delay window of Compound TCP. Let W be the peak and
    f = 1 - beta. The integral of w dw over the growth gives the packets of an epoch,
    1/p = (1 - f^(2+k)) W^(2+k) / (alpha (2+k)). The integral of dw gives its RTTs,
    (1 - f^(1+k)) W^(1+k) / (alpha (1+k)).
    """
    positive("alpha", alpha)
    remaining = 1 - share("beta", beta)
    p = probabilities("loss", loss)
    if k <= -2:
        raise InputError(f"k = {k:g}: must be above -2")
    peak = (alpha * (2 + k) / (p * (1 - remaining ** (2 + k)))) ** (1 / (2 + k))
    if k == -1:
        return np.asarray(alpha / (p * -math.log(remaining)))
    rounds = (1 - remaining ** (1 + k)) * peak ** (1 + k) / (alpha * (1 + k))
    return np.asarray(1 / (p * rounds))


def binomial(loss: npt.ArrayLike, alpha: float, beta: float, k: float, ell: float) -> Array:
    """The fluid model of a binomial rule, (alpha/(beta p))^(1/(k + l + 1)), l = ``ell``."""
    positive("alpha", alpha)
    positive("beta", beta)
    if k + ell <= -1:
        raise InputError(f"k + l = {k + ell:g}: must be above -1")
    return np.asarray((alpha / (beta * probabilities("loss", loss))) ** (1 / (k + ell + 1)))


def highspeed(loss: npt.ArrayLike, constant: float = 0.15, exponent: float = 0.82) -> Array:
    """HighSpeed TCP, 0.15/p^0.82 as in the thesis (RFC 3649 prints 0.12/p^0.835), or Reno where that is less.

    The two meet at p = 1.41e-3.
    """
    p = probabilities("loss", loss)
    steep = constant / p**exponent
    return np.where(steep > reno(p), steep, reno(p))


def highspeed_parameters(window: npt.ArrayLike) -> tuple[Array, Array]:
    """The increase a(w), in packets per RTT, and the share b(w) that a loss removes (RFC 3649, section 5).

    a = 1 and b = 0.5 up to a window of 38 packets. Beyond the upper end, 83000 packets, b stays at 0.1.
    """
    w = np.clip(np.asarray(window, dtype=np.float64), LOW_WINDOW, HIGH_WINDOW)
    b = 0.5 + (0.1 - 0.5) * np.log(w / LOW_WINDOW) / math.log(HIGH_WINDOW / LOW_WINDOW)
    a = 2 * w**2 * (0.078 / w**1.2) * b / (2 - b)
    low = np.asarray(window) <= LOW_WINDOW
    return np.where(low, 1.0, a), np.where(low, 0.5, b)


def scalable(loss: npt.ArrayLike, a: float = 0.01, beta: float = 0.125) -> Array:
    """Scalable TCP at its peak, a/(beta p) = 0.08/p, as the thesis draws it. See ``power_increase``."""
    return np.asarray(positive("a", a) / (share("beta", beta) * probabilities("loss", loss)))


def cubic(loss: npt.ArrayLike, rtt: float, c: float = 0.4, remaining: float = 0.7) -> Array:
    """CUBIC, (C (3 + f)/(4 (1 - f)))^(1/4) (R/p)^(3/4) at an RTT of R seconds, or Reno where that is less.

    RFC 9438, section 5.1, figure 5, where f is called beta_cubic.
    """
    p = probabilities("loss", loss)
    share("remaining", remaining)
    steep = (positive("c", c) * (3 + remaining) / (4 * (1 - remaining))) ** 0.25
    return np.asarray(np.maximum(steep * (positive("rtt", rtt) / p) ** 0.75, reno(p)))


def compound(loss: npt.ArrayLike, alpha: float = 0.125, beta: float = 0.5, k: float = 0.75) -> Array:
    """Compound TCP without queueing delay: growth by alpha w^k in each RTT, or Reno where that is less."""
    p = probabilities("loss", loss)
    return np.maximum(power_increase(p, alpha, beta, -k), reno(p))


def tfrc(loss: npt.ArrayLike, rtt: float, timeout: float | None = None, per_ack: float = 1.0) -> Array:
    """The equation of TFRC in packets per RTT (RFC 5348, section 3.1).

    R / (R sqrt(2 b p/3) + t min(1, 3 sqrt(3 b p/8)) p (1 + 32 p^2)), with R = ``rtt`` in seconds, t =
    ``timeout`` in seconds, by default 4 R, and b = ``per_ack``.
    """
    p = probabilities("loss", loss)
    t = 4 * positive("rtt", rtt) if timeout is None else positive("timeout", timeout)
    bp = positive("per_ack", per_ack) * p
    late = t * np.minimum(1.0, 3 * np.sqrt(3 * bp / 8)) * p * (1 + 32 * p**2)
    return np.asarray(rtt / (rtt * np.sqrt(2 * bp / 3) + late))


VENO_KEPT = (0.8, 0.5)
"""The shares of the window that Veno keeps on a loss without congestion, and with it (Fu and Liew 2003)."""


def veno(loss: npt.ArrayLike, congested: bool = False) -> Array:
    """Veno: AIMD(1, 1/5) while its queue estimate is below beta, AIMD(1/2, 1/2) when all losses are above it.

    Above the threshold the window grows in every second RTT only. Random losses on a path with little queue
    are of the first kind: sqrt(9/(2p)) packets, 1.73 times Reno.
    """
    alpha, remaining = (0.5, VENO_KEPT[1]) if congested else (1.0, VENO_KEPT[0])
    return aimd(loss, alpha, 1 - remaining)


def westwood(loss: npt.ArrayLike, rtt: float, queueing: float) -> Array:
    """Westwood+ at an RTT of ``rtt`` seconds, of which ``queueing`` is queueing delay on average.

    A loss sets the window to the measured rate times the base RTT, so that the share queueing/rtt is removed:
    sqrt(rtt/queueing (1 - p)/p), after equation 7 of Grieco and Mascolo 2004, "Performance evaluation and
    comparison of Westwood+, New Reno, and Vegas TCP congestion control".
    """
    p = probabilities("loss", loss)
    if not 0 < positive("queueing", queueing) < positive("rtt", rtt):
        raise InputError(f"queueing = {queueing:g}: must be above 0 and below rtt = {rtt:g}")
    return np.sqrt(rtt / queueing * (1 - p) / p)


def delay_based(queueing: npt.ArrayLike, base_rtt: float, target: float) -> Array:
    """Vegas and FAST, which respond to queueing delay and not to loss: the window at a queueing delay.

    Either keeps ``target`` packets in the queue of its path, so that w = target (R_base + q)/q with q =
    ``queueing`` in seconds: alpha to beta packets for Vegas, alpha for FAST (Low, Peterson, Wang 2002, and
    Wei, Jin, Low, Hegde 2006, equation 5).
    """
    delays = np.asarray(queueing, dtype=np.float64)
    wrong = delays[~(delays > 0)]
    if wrong.size:
        raise InputError(f"queueing = {wrong.flat[0]:g}: must be above 0")
    return np.asarray(positive("target", target) * (positive("base_rtt", base_rtt) + delays) / delays)


def slope(response: Response, loss: npt.ArrayLike, decades: float = 0.01) -> Array:
    """The exponent d = -d log X / d log p of a response function around ``loss``.

    It is the difference quotient over ``decades`` decades, half of them on either side.
    """
    p = probabilities("loss", loss)
    step = 10 ** (positive("decades", decades) / 2)
    return np.asarray(np.log10(response(p / step) / response(p * step)) / decades)


def crossing(first: Response, second: Response = reno, low: float = 1e-9, high: float = 0.1) -> float:
    """The loss at which two response functions are equal. The smaller, the friendlier is the first to Reno.

    It is an ``InputError`` if they do not cross between ``low`` and ``high``.
    """

    def gap(exponent: float) -> float:
        p = np.asarray(10**exponent)
        return float(np.log(first(p) / second(p)))

    ends = math.log10(share("low", low)), math.log10(share("high", high))
    if gap(ends[0]) * gap(ends[1]) > 0:
        raise InputError(f"the response functions do not cross between losses of {low:g} and {high:g}")
    return float(10 ** library("scipy.optimize").brentq(gap, *ends, xtol=1e-14))


def window_exponent(d: float) -> float:
    """The exponent e of RTT unfairness in windows, w1/w2 = (R2/R1)^e: d/(1 - d), infinite at d = 1.

    It holds for a response function c/p^d when both flows lose packets at the same times.
    """
    return math.inf if _exponent(d) == 1 else d / (1 - d)


def rate_exponent(d: float) -> float:
    """The exponent of RTT unfairness in throughput, X1/X2 = (R2/R1)^e: 1/(1 - d), infinite at d = 1."""
    return math.inf if _exponent(d) == 1 else 1 / (1 - d)


def _exponent(d: float) -> float:
    if not 0 < d <= 1:
        raise InputError(f"d = {d:g}: must be above 0 and at most 1")
    return d


def pipe(rate: float, rtt: float, packet: float) -> float:
    """The bandwidth-delay product in packets: ``rate`` in bit/s, ``rtt`` in seconds, ``packet`` in bytes."""
    return positive("rate", rate) * positive("rtt", rtt) / (8 * positive("packet", packet))


def recovery_time(rate: float, rtt: float, packet: float) -> float:
    """How long Reno takes to fill the pipe again after halving its window, in s: half a pipe of RTTs."""
    return pipe(rate, rtt, packet) / 2 * rtt


def rounds_to_halve(beta: float) -> int:
    """How many reductions by the share ``beta`` bring a window to half: ln(0.5)/ln(1 - beta), rounded up."""
    return math.ceil(math.log(0.5) / math.log(1 - share("beta", beta)) - 1e-9)


def loss_in_window(loss: npt.ArrayLike, window: npt.ArrayLike) -> Array:
    """The probability that a window loses at least one of its packets, 1 - (1 - p)^w."""
    return np.asarray(1 - (1 - probabilities("loss", loss)) ** np.asarray(window, dtype=np.float64))


def yeah(loss: npt.ArrayLike) -> Array:
    """YeAH while its queue estimate is 0: a loss removes an eighth, and an ACK adds 1/min(w, 100).

    AIMD(1, 1/8) up to about 100 packets, Scalable TCP with a mean of 0.0749/p above. They meet at p = 7.5e-4.
    """
    p = probabilities("loss", loss)
    return np.maximum(aimd(p, 1.0, 0.125), power_increase(p, 0.01, 0.125, -1.0))


def htcp(loss: npt.ArrayLike, rtt: float, remaining: float = 0.5) -> Array:
    """H-TCP with a loss every 1/p packets at an RTT of R seconds, without its scaling by the RTT.

    The window grows by 2 (1 - f) a(D) in each RTT, D seconds after a loss, a = 1 up to 1 s and then
    1 + 10 (D - 1) + ((D - 1)/2)^2. The share f = ``remaining`` is left after a loss. An epoch of t seconds
    ends at W = 2/R times the integral of a, and its 1/p packets are the integral of w/R. SciPy finds t.
    """
    p = probabilities("loss", loss)
    share("remaining", remaining)
    positive("rtt", rtt)
    solve = library("scipy.optimize").brentq

    def packets(t: float) -> float:
        peak = 2 / rtt * _htcp_grown(t)[0]
        return (remaining * peak * t + 2 * (1 - remaining) / rtt * _htcp_grown(t)[1]) / rtt

    def epoch(wanted: float) -> float:
        found = solve(lambda log: math.log(packets(math.exp(log)) / wanted), -20.0, 20.0, xtol=1e-13)
        return math.exp(found)

    return np.array([rtt / (one * epoch(1 / one)) for one in p.ravel()]).reshape(p.shape)


def _htcp_grown(t: float) -> tuple[float, float]:
    """The integral of a from 0 to t, and the integral of that."""
    late = max(t - 1, 0.0)
    return t + 5 * late**2 + late**3 / 12, t**2 / 2 + 5 * late**3 / 3 + late**4 / 48


def from_rule(
    increase: Callable[[float], float], decrease: Callable[[float], float], loss: float, epochs: int = 100
) -> float:
    """The mean window of a rule itself, with a loss after every 1/p packets: no closed form.

    ``increase`` gives the packets that a window gains in an RTT, ``decrease`` the share that a loss removes.
    The mean is over the second half of the epochs. Scalable TCP needs some 50 before it.
    """
    every = 1 / float(probabilities("loss", loss))
    window, packets, rounds = 1.0, 0.0, 0.0
    for epoch in range(epochs):
        if epoch == epochs // 2:
            packets = rounds = 0.0
        left = every
        while left > window:
            left -= window
            packets += window
            rounds += 1
            window += increase(window)
        # The loss comes within a round.
        part = left / window
        packets += left
        rounds += part
        window = (window + part * increase(window)) * (1 - decrease(window))
    return packets / rounds
