"""Chapter 3 and appendix B of Edwan 2010: response functions and RTT unfairness."""

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

import ackclock
from ackclock.arguments import library
from ackclock.papers.data.edwan2010.models import responses
from ackclock.papers.data.edwan2010.models.bic import Bic

LOSSES = (1e-5, 1e-6, 1e-7)
DECADES = 10.0 ** -np.arange(3, 9)
CURVES: dict[str, Callable[[Any], Any]] = {
    "reno": responses.reno,
    "aimd": lambda p: responses.aimd(p, 32.0, 0.125),
    "highspeed": responses.highspeed,
    "scalable": responses.scalable,
    "bic": Bic().mean_window,
}


def response(algorithm: str, low: float = 1e-8, high: float = 1e-2) -> tuple[Any, Any]:
    """The mean window in packets over the loss probability (figure 3.2)."""
    loss = np.logspace(math.log10(low), math.log10(high), 121)
    return loss, CURVES[algorithm](loss)


def stepped_response(algorithm: str) -> tuple[Any, Any]:
    """The same from the rule itself, RTT by RTT, with a loss every 1/p packets."""
    losses = np.array([1e-4, *LOSSES])
    return losses, np.array([_stepped(algorithm, loss) for loss in losses])


def bic_of_both_regimes(regime: str) -> tuple[Any, Any]:
    """The mean window of BIC over the loss probability in one regime, "additive" or "binary"."""
    loss = np.logspace(-8, -3, 101) if regime == "additive" else np.logspace(-5, -2, 61)
    return loss, Bic().mean_window(loss, regime)


def bic_asymptote() -> tuple[Any, Any]:
    """The limit of the additive regime."""
    loss = np.logspace(-8, -3, 101)
    return loss, Bic().asymptote(loss)


def _one(_window: float) -> float:
    return 1.0


@cache
def _stepped(algorithm: str, loss: float) -> float:
    rules: dict[str, tuple[Callable[[float], float], Callable[[float], float]]] = {
        "reno": (_one, lambda _: 0.5),
        "aimd": (lambda _: 32.0, lambda _: 0.125),
        "highspeed": (
            lambda w: float(responses.highspeed_parameters(w)[0]),
            lambda w: float(responses.highspeed_parameters(w)[1]),
        ),
        "scalable": (lambda w: 0.01 * w, lambda _: 0.125),
    }
    increase, decrease = rules[algorithm]
    return responses.from_rule(increase, decrease, loss, epochs=100)


def _slope_of_rule(algorithm: str) -> float:
    windows = [_stepped(algorithm, loss) for loss in LOSSES]
    return -float(np.polyfit(np.log10(LOSSES), np.log10(windows), 1)[0])


def reno_slope() -> float:
    """The slope d of Reno, from the rule itself."""
    return _slope_of_rule("reno")


def aimd_slope() -> float:
    """The slope d of AIMD(32, 0.125), from the rule itself."""
    return _slope_of_rule("aimd")


def highspeed_slope() -> float:
    """The slope d of HighSpeed TCP, from the rule itself."""
    return _slope_of_rule("highspeed")


def scalable_slope() -> float:
    """The slope d of Scalable TCP, from the rule itself."""
    return _slope_of_rule("scalable")


def bic_slope(decade: Sequence[float]) -> float:
    """The slope of BIC from p = 10^-decade to a tenth of it."""
    p = 10.0 ** -decade[0]
    return math.log10(float(Bic().mean_window(p / 10)) / float(Bic().mean_window(p)))


def bic_slopes_out_of_order() -> float:
    """How many slopes of decades are not between the slopes of TCP and Scalable TCP, or do not fall."""
    slopes = np.diff(np.log10(Bic().mean_window(DECADES)))
    return float(np.sum((slopes <= 0.5) | (slopes >= 1)) + np.sum(np.diff(slopes) >= 0))


def window_exponent_off() -> float:
    """How far the exponent of RTT unfairness in windows is from ``d/(1 - d)`` for three slopes."""
    return max(abs(responses.window_exponent(d) - d / (1 - d)) for d in (0.5, 0.82, 0.9))


def window_exponent(d: Sequence[float]) -> float:
    """The exponent of RTT unfairness in windows."""
    return responses.window_exponent(d[0])


def highspeed_crossing() -> float:
    """The loss at which HighSpeed TCP, 0.15/p^0.82, crosses Reno."""
    return responses.crossing(lambda p: 0.15 / p**0.82)


def _as_printed(controller: str, printed: dict[str, float]) -> float:
    known = next(one for one in ackclock.controllers() if one["name"] == controller)["parameters"]
    defaults = {parameter["name"]: parameter["default"] for parameter in known}
    return float(sum(defaults[name] == f"{value:g}" for name, value in printed.items()))


def scalable_as_printed() -> float:
    """How many of the two printed parameters of Scalable TCP are the defaults: 0.01 an ACK, 1/8 removed."""
    return _as_printed("scalable", {"a": 0.01, "b": 0.125})


def compound_as_printed() -> float:
    """How many of the three printed parameters of Compound TCP are the defaults: 0.125, 0.5 and 0.75."""
    return _as_printed("compound", {"alpha": 0.125, "beta": 0.5, "k": 0.75})


def htcp_as_printed() -> float:
    """How many of the two printed parameters of H-TCP are in force here: Delta_B = 0.2, at most 0.8 kept."""
    return _as_printed("htcp", {"delta_b": 0.2, "beta_max": 0.8})


def veno_as_printed() -> float:
    """How many of the two shares that Veno keeps are as printed: 0.8 without congestion, 0.5 with it."""
    return float(sum(a == b for a, b in zip(responses.VENO_KEPT, (0.8, 0.5), strict=True)))


def bic_coefficients_off() -> float:
    """The largest relative error of a, b and c in the packets of an epoch, against the sum of its phases.

    At windows with a whole number of additive RTTs, W = 32 (k + 2)/0.125, the sum is exact.
    """
    bic = Bic()
    a, b, c = bic.coefficients
    windows = [32.0 * (k + 2) / 0.125 for k in (2, 5, 20, 100)]
    return max(abs((a * w**2 + b * w - c) / bic.packets(w) - 1) for w in windows)


def bic_full_over_asymptote(loss: Sequence[float]) -> float:
    """The additive form of BIC over its asymptote, which does not depend on the smallest increase."""
    return float(Bic().mean_window(loss[0], "additive") / Bic().asymptote(loss[0]))


def bic_asymptote_misses() -> float:
    """How many of five conditions on the asymptote fail.

    The difference shrinks with the loss. The smallest increment changes hardly anything at the lowest.
    """
    ratios = [bic_full_over_asymptote([p]) for p in (1e-6, 1e-7, 1e-8)]
    failed = sum(abs(r - 1) > most for r, most in zip(ratios, (0.1, 0.03, 0.01), strict=True))
    base = float(Bic().mean_window(1e-8, "additive"))
    others = [float(Bic(smallest=s).mean_window(1e-8, "additive")) for s in (0.001, 0.1)]
    return float(failed + sum(abs(other / base - 1) >= 0.01 for other in others))


def bic_binary_window_off() -> float:
    """The largest relative distance of Lambert's form from the root of the packets of an epoch."""
    bic, off = Bic(), []
    for p in (1e-3, 5e-4, 2e-4):

        def excess(w: float, p: float = p) -> float:
            rounds: float = math.log2(0.125 * w / 0.01) + 2
            return float(w * rounds - 2 * 0.125 * w + 0.01 - 1 / p)

        root = library("scipy.optimize").brentq(excess, 1.0, 1e6, xtol=1e-10)
        off.append(abs(float(bic.window(p, "binary")) / root - 1))
    return float(max(off))


def bic_long_epoch_ratio() -> float:
    """W1/W2 of two BIC flows, one of twice the RTT, in the additive regime over long epochs."""
    return float(Bic().window_ratio((0.05, 0.1), 1e6))


def bic_binary_ratio_off() -> float:
    """How far the binary ratio of windows of two RTTs is from ``exp((1/R1 - 1/R2) t ln 2)``."""
    return abs(Bic().window_ratio((0.05, 0.1), 0.5, "binary") / 2 ** (0.5 / 0.05 - 0.5 / 0.1) - 1)
