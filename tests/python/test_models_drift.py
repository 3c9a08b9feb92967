"""The drift model and the stability of its loop, against section 4.4 of the thesis."""

import math

import numpy as np
import pytest

from ackclock.errors import InputError
from ackclock.papers.data.edwan2010.models import drift, stability
from ackclock.papers.data.edwan2010.models.drift import Drift, OverflowPrice, PowerPrice
from ackclock.papers.data.edwan2010.models.stability import Loop

PRICE = PowerPrice(1000.0)


def model(beta=0.5, link_errors=0.0):
    return Drift(0.1, PRICE, beta, link_errors, kappa=100.0)


def test_the_equilibrium_is_that_of_equation_4_22():
    # sqrt(0.99/(0.5 * 0.01))/0.1 = 140.712. At 1e-4 nearly sqrt(2/p)/T = 1414.2.
    assert drift.equilibrium_rate([0.01, 1e-4], 0.1) == pytest.approx([140.7125, 1414.143], rel=1e-6)
    assert Drift(0.1, link_errors=0.01).equilibrium() == pytest.approx(140.7125, rel=1e-6)


@pytest.mark.parametrize("start", [70.0, 280.0])
@pytest.mark.parametrize("feedback", ["delayed", "immediate"])
def test_the_course_ends_at_the_equilibrium(start, feedback):
    times, rates = Drift(0.1, link_errors=0.01).course(start, 8.0, feedback)
    assert times[-1] == pytest.approx(8.0)
    assert rates[0] == start
    assert rates[-1] == pytest.approx(140.7125, rel=1e-4)


def test_link_errors_move_the_equilibrium_to_lower_rates():
    with_errors = Drift(0.1, PRICE, link_errors=1e-3)
    assert with_errors.equilibrium() == pytest.approx(415.9, abs=0.05)
    assert with_errors.course(300.0, 15.0)[1][-1] == pytest.approx(415.9, abs=0.5)
    # An algorithm that does not react to them keeps 491.7.
    assert Drift(0.1, PRICE).equilibrium() == pytest.approx(491.7, abs=0.05)


def test_the_utility_has_the_slope_that_balances_loss():
    # U'(x) = 1/(1 + 0.5 * 0.01 * 10^4) = 1/51 at x = 100, T = 0.1.
    step = drift.utility(np.array([99.999, 100.001]), 0.1)
    assert (step[1] - step[0]) / 0.002 == pytest.approx(1 / 51, rel=1e-6)


@pytest.mark.parametrize(
    ("link_errors", "beta", "rate", "loss", "bound", "margin", "variable"),
    [
        (0.0, 0.5, 491.7, 8.26e-4, 0.772, 0.889, 0.826),
        (0.0, 0.25, 520.9, 1.47e-3, 0.818, 0.942, 0.875),
        (0.0, 0.125, 551.9, 2.62e-3, 0.867, 0.998, 0.927),
        (1e-3, 0.5, 415.9, 1.15e-3, 4.87, math.inf, 11.2),
        (1e-3, 0.25, 484.0, 1.70e-3, 1.84, 2.77, 2.19),
        (1e-3, 0.125, 532.1, 2.82e-3, 1.30, 1.63, 1.44),
    ],
)
def test_bounds_and_margins_are_those_of_the_specification(
    link_errors, beta, rate, loss, bound, margin, variable
):
    one = model(beta, link_errors)
    assert one.equilibrium() == pytest.approx(rate, abs=0.05)
    assert one.loss(one.equilibrium()) == pytest.approx(loss, rel=5e-3)
    loop = one.loop()
    # Three digits are printed, so half a unit of the last is 0.4 % at most.
    assert loop.bound == pytest.approx(bound, rel=4e-3)
    assert loop.margin == pytest.approx(margin, rel=4e-3)
    assert one.loop("variable").margin == pytest.approx(variable, rel=4e-3)


def test_a_smaller_decrease_relaxes_the_bound_at_a_fixed_point():
    bounds = [stability.bound_at(491.7, 1.68e-5, 100.0, beta) for beta in (0.5, 0.25, 0.125)]
    assert bounds[0] < bounds[1] < bounds[2]
    # pi/(200 * 1.68e-5 (1 + 0.005 * 491.7^2)) = 934.995/1209.84.
    assert bounds[0] == pytest.approx(0.77283, rel=1e-4)


def test_the_loop_is_the_derivative_of_the_drift():
    one = model(link_errors=1e-3)
    x, loop = one.equilibrium(), one.loop()

    def change(rate, late, p):
        return 100 * late * ((1 - p) / rate - 0.5 / 100 * rate * p)

    p, h = one.loss(x), 1e-4
    assert (change(x + h, x, p) - change(x - h, x, p)) / (2 * h) == pytest.approx(-loop.damping, rel=1e-6)
    slope = (one.loss(x + h) - one.loss(x - h)) / (2 * h)
    by_loss = (change(x, x, p + 1e-7) - change(x, x, p - 1e-7)) / 2e-7
    assert by_loss * slope == pytest.approx(-loop.gain, rel=1e-5)


@pytest.mark.parametrize(("factor", "grows"), [(0.95, False), (1.05, True)], ids=["below", "above"])
def test_the_loop_decays_below_its_margin_and_grows_above(factor, grows):
    loop = model().loop()
    delay = factor * loop.margin
    _, x = drift.delayed_course(
        lambda now, late: -loop.damping * now - loop.gain * late, 1.0, delay, 60 * delay
    )
    early, late = np.abs(x[200:300]).max(), np.abs(x[-100:]).max()
    assert (late > early) == grows


def test_the_loop_is_quiet_at_the_bound_of_the_thesis():
    loop = model().loop()
    delay = 0.95 * loop.bound
    _, x = drift.delayed_course(
        lambda now, late: -loop.damping * now - loop.gain * late, 1.0, delay, 60 * delay
    )
    assert np.abs(x[-100:]).max() < 0.01


def test_the_method_of_steps_solves_a_delayed_integral():
    # dx/dt = -x(t - 1), x = 1 before: 1 - t up to 1, then -(t - 1) + (t - 1)^2/2, so -0.5 at 2.
    times, x = drift.delayed_course(lambda _, late: -late, 1.0, 1.0, 2.0, samples=10)
    assert times[[5, 10, 20]] == pytest.approx([0.5, 1.0, 2.0])
    assert x[[5, 10, 20]] == pytest.approx([0.5, 0.0, -0.5], abs=1e-7)


@pytest.mark.parametrize(
    ("damping", "crossing"), [(0, -2 / math.pi), (1, -0.4421), (2, -0.3290), (5, -0.1767)]
)
def test_the_lemma_curve_crosses_right_of_minus_two_over_pi(damping, crossing):
    assert stability.lemma_crossing(damping) == pytest.approx(crossing, abs=5e-5)


def test_the_nyquist_curve_of_figure_4_5_passes_its_points():
    # A = 2: 0.5 at w = 0, and the crossing at w = 2.289.
    curve = stability.lemma_curve([0.0, 2.28893], 2.0)
    assert curve[0] == pytest.approx(0.5)
    assert curve[1].real == pytest.approx(-0.3290, abs=5e-5)
    assert curve[1].imag == pytest.approx(0.0, abs=1e-5)


def test_at_its_margin_a_loop_meets_minus_one():
    loop = Loop(gain=2.0, damping=1.0)
    # w = sqrt(3), T = (pi - pi/3)/sqrt(3) = 1.2092.
    assert loop.margin == pytest.approx(1.2092, abs=5e-5)
    assert complex(loop.response(math.sqrt(3), loop.margin)) == pytest.approx(-1.0)
    assert Loop(1.0, 1.0).margin == math.inf


def test_reno_has_a_bound_on_its_own_rtt():
    bound = stability.own_rtt_bound(491.7, 1.68e-5, 0.5)
    assert 2 * 1.68e-5 * (1 + 0.5 * 491.7**2 * bound**2) == pytest.approx(math.pi * bound)
    with pytest.raises(InputError, match="no RTT at which this loop is within the bound"):
        stability.own_rtt_bound(491.7, 0.1, 0.5)


def test_prices_have_their_slopes():
    # (0.5)^10 and 10 (0.5)^10/500, 1 - 1000/1250 and 1000/1250^2.
    assert (PRICE.at(500), PRICE.slope(500)) == pytest.approx((9.765625e-4, 1.953125e-5))
    overflow = OverflowPrice(1000.0)
    assert (overflow.at(1250), overflow.slope(1250)) == pytest.approx((0.2, 6.4e-4))
    assert (overflow.at(900), overflow.slope(900), PRICE.at(2000)) == (0.0, 0.0, 1.0)


def test_a_model_without_price_needs_link_errors():
    with pytest.raises(InputError, match="link_errors = 0: must be above 0 where there is no price"):
        Drift(0.1)
    with pytest.raises(InputError, match="a path without price has no loop"):
        Drift(0.1, link_errors=0.01).loop()


def test_delayed_feedback_is_that_of_an_rtt_ago():
    # In the first RTT x(t - T) is 1250, so p = 0.2 and (x^2)' = 2 (100 * 1250 * 0.8 - 0.5 * 1250 * 0.2 x^2):
    # at 0.01 s x^2 = 800 + (1250^2 - 800) exp(-2.5) = 128992.
    model = Drift(0.1, OverflowPrice(1000.0))
    _, delayed = model.course(1250.0, 0.1, samples=10)
    assert delayed[1] == pytest.approx(math.sqrt(128992), rel=1e-4)
    # The price of now is 0 as soon as the rate has come down to the capacity.
    _, immediate = model.course(1250.0, 0.1, "immediate", samples=10)
    assert immediate[1] > 990
