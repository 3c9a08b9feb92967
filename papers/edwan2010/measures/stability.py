"""Chapter 4 of Edwan 2010: the drift model of TCP and how long a delay it bears."""

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from ackclock.papers.data.edwan2010.models import drift, stability
from ackclock.papers.data.edwan2010.models.drift import Drift, PowerPrice

LOSSES = (1e-4, 1e-3, 1e-2, 1e-1)
RTT = 0.1
KAPPA = 100.0
BETAS = (0.5, 0.25, 0.125)


def nyquist(damping: float) -> tuple[Any, Any]:
    """Real and imaginary part of exp(-jw)/(A + jw), w from -40 to 40 (figure 4.5)."""
    curve = stability.lemma_curve(np.linspace(-40.0, 40.0, 4001), damping)
    return np.real(curve), np.imag(curve)


def bound_of_lemma() -> tuple[Any, Any]:
    """The point -2/pi."""
    return np.array([-2 / math.pi]), np.array([0.0])


def crossing(damping: Sequence[float]) -> float:
    """The leftmost crossing of that curve with the real axis."""
    return stability.lemma_crossing(damping[0])


@cache
def _courses() -> tuple[Any, Any]:
    """Times and rates of ten cases, in Euler steps of a hundredth of T.

    Each q of the list begins at twice and at half its closed form. Then comes the coupled model without and
    with link errors. A constant loss acts without delay (4.21).
    """
    form = drift.equilibrium_rate(LOSSES, RTT)
    start = np.concatenate((2 * form, form / 2, [600.0, 600.0]))
    fixed = np.concatenate((LOSSES, LOSSES, [0.0, 1e-3]))
    coupled = np.array([0.0] * 8 + [1.0, 1.0])
    step = RTT / 100
    past = np.tile(start, (100, 1))
    rate, seen = start.copy(), []
    for _ in range(10_000):
        # Over one delay the delayed rates are known.
        loss = fixed + coupled * (past / 1000) ** 10
        gain = step * past * (1 - loss) / RTT**2
        fall = 1 - step * past * 0.5 * loss
        past = np.empty_like(past)
        for index in range(100):
            past[index] = rate
            rate = gain[index] / rate + fall[index] * rate
        seen.append(rate)
    return np.arange(1, 10_001) * RTT, np.array(seen)


def equilibrium_off() -> float:
    """The largest relative distance of the mean over the last 200 s from sqrt((1 - q)/(beta q))/T."""
    _, rates = _courses()
    form = np.tile(drift.equilibrium_rate(LOSSES, RTT), 2)
    return float(np.max(np.abs(rates[8000:, :8].mean(axis=0) / form - 1)))


def small_loss_form_off() -> float:
    """The largest relative distance of sqrt(1/(beta q))/T from the full form, q up to 0.01."""
    q = np.array(LOSSES[:3])
    return float(np.max(np.abs(np.sqrt(1 / (0.5 * q)) / RTT / drift.equilibrium_rate(q, RTT) - 1)))


def errors_over_none() -> float:
    """The rate with link errors of 0.001 over that without, each the mean of the last 200 s."""
    _, rates = _courses()
    return float(rates[8000:, 9].mean() / rates[8000:, 8].mean())


def rate_of_case(case: Sequence[float]) -> float:
    """The mean over the last 200 s of the coupled model without (0) and with (1) link errors, packets/s."""
    return float(_courses()[1][8000:, 8 + int(case[0])].mean())


def equilibrium_curve() -> tuple[Any, Any]:
    """The closed form over the loss probability, packets/s."""
    q = np.logspace(-4, -1, 61)
    return q, drift.equilibrium_rate(q, RTT)


def integrated_points() -> tuple[Any, Any]:
    """The end of the integration, from twice the closed form."""
    return np.array(LOSSES), _courses()[1][8000:, :4].mean(axis=0)


def _model(errors: float, beta: float) -> Drift:
    return Drift(RTT, PowerPrice(1000.0), beta, errors, KAPPA)


def bound(errors: Sequence[float], beta: Sequence[float]) -> float:
    """The bound (4.32), (4.35) on T in seconds in the coupled equilibrium."""
    return _model(errors[0], beta[0]).loop().bound


def margin(errors: Sequence[float], beta: Sequence[float]) -> float:
    """The exact delay margin of the loop with constant decrease, in seconds, infinite if it has none."""
    return _model(errors[0], beta[0]).loop().margin


def bound_at_fixed_rate(beta: Sequence[float]) -> float:
    """The bound at the rate and the price slope of the equilibrium of beta = 0.5 without link errors."""
    model = _model(0.0, 0.5)
    rate = model.equilibrium()
    return stability.bound_at(rate, PowerPrice(1000.0).slope(rate), KAPPA, beta[0])


def bounds_over_beta(errors: float) -> tuple[Any, Any]:
    """The bound over the decrease factor in the coupled equilibrium."""
    return np.array(BETAS), np.array([_model(errors, beta).loop().bound for beta in BETAS])


def margins_over_beta(errors: float) -> tuple[Any, Any]:
    """The exact margin over the decrease factor. Infinite ones are left out."""
    found = np.array([_model(errors, beta).loop().margin for beta in BETAS])
    there = np.isfinite(found)
    return np.array(BETAS)[there], found[there]


def recomputed_bound(beta: Sequence[float], recomputed: Sequence[float]) -> float:
    """The bound without link errors. Raises ValueError if it is off the recomputed one by 0.1 %."""
    found = bound([0.0], beta)
    if abs(found / recomputed[0] - 1) > 1e-3:
        raise ValueError(f"{found:g} s is not the recomputed {recomputed[0]:g} s")
    return found


def _last_over_start(loop: stability.Loop, delay: float) -> float:
    """The largest ``|x|`` at the end of ``dx/dt = -a x - K x(t - T)`` from 1, over many delays."""
    step, past = delay / 400, [1.0] * 400
    for index in range(60 * 400):
        now = past[-1]
        past.append(now - step * (loop.damping * now + loop.gain * past[index]))
    return max(abs(one) for one in past[-5 * 400 :])


def linear_course(errors: float, share_of: str, factor: float) -> tuple[Any, Any]:
    """The linear loop over 30 delays, from 1, at a multiple of its bound or margin ("bound", "margin")."""
    loop = _model(errors, 0.5).loop()
    delay = factor * (loop.bound if share_of == "bound" else loop.margin)
    step, past = delay / 400, [1.0] * 400
    for index in range(30 * 400):
        past.append(past[-1] - step * (loop.damping * past[-1] + loop.gain * past[index]))
    values = np.array(past[400::20])
    return np.arange(values.size) / 20.0, values


def bound_failures() -> float:
    """How many of five conditions on the bound fail.

    At 0.95 of the bound the loop decays to below 1 % in 60 delays, without and with link errors. The exact
    margin is not below the bound, in both. At 1.05 of the margin, without link errors, it grows.
    """
    failed = 0
    for errors in (0.0, 1e-3):
        loop = _model(errors, 0.5).loop()
        failed += not _last_over_start(loop, 0.95 * loop.bound) < 0.01
        failed += not loop.margin >= loop.bound
    without = _model(0.0, 0.5).loop()
    failed += not _last_over_start(without, 1.05 * without.margin) > 1.0
    return float(failed)
