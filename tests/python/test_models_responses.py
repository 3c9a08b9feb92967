"""Response functions against the numbers of the thesis and of RFCs, and against each other."""

import math

import numpy as np
import pytest

from ackclock.errors import InputError
from ackclock.papers.data.edwan2010.models import responses
from ackclock.papers.data.edwan2010.models.bic import Bic

LOSSES = np.array([1e-2, 1e-4, 1e-6])
BIC = Bic()


def test_the_three_forms_of_reno_agree():
    # sqrt(3/2) = 1.22474 over sqrt(p), from E3.20 to E3.22 with alpha = 1 and one half.
    expected = np.array([12.2474, 122.474, 1224.74])
    assert responses.reno(LOSSES) == pytest.approx(expected, rel=1e-5)
    assert responses.aimd(LOSSES, 1.0, 0.5) == pytest.approx(expected, rel=1e-5)
    assert responses.aimd_random(LOSSES, 1.0, 0.5) == pytest.approx(expected, rel=1e-5)


def test_delayed_acks_divide_the_window_by_sqrt_two():
    assert responses.reno(0.01, per_ack=2.0) == pytest.approx(8.66025, rel=1e-5)
    assert responses.aimd_random(0.01, 1.0, 0.5, per_ack=2.0) == pytest.approx(8.66025, rel=1e-5)


def test_the_integrals_of_a_power_increase_contain_aimd_and_scalable():
    assert responses.power_increase(LOSSES, 3.0, 0.2, 0.0) == pytest.approx(responses.aimd(LOSSES, 3.0, 0.2))
    # 0.01/ln(8/7) = 0.0748888 over p.
    assert responses.power_increase(1e-3, 0.01, 0.125, -1.0) == pytest.approx(74.8888, rel=1e-6)
    assert responses.power_increase(1e-3, 0.01, 0.125, -1.0 + 1e-7) == pytest.approx(74.8888, rel=1e-5)


def test_scalable_is_drawn_at_its_peak():
    assert responses.scalable(1e-3) == pytest.approx(80.0)


def test_aimd_has_one_constant_in_fluid_and_drift_models():
    # sqrt(1/(0.5 * 0.0002)) = 100, not the 1.2247/sqrt(p) of the saw-tooth.
    assert responses.binomial(0.0002, 1.0, 0.5, 0.0, 1.0) == pytest.approx(100.0)


def test_highspeed_leaves_reno_at_its_crossing():
    # 0.15/p^0.82 = 1.22474/p^0.5 where p^0.32 = 0.122474: p = 1.413e-3.
    meets = responses.crossing(lambda p: 0.15 / p**0.82)
    assert meets == pytest.approx(1.413e-3, rel=1e-3)
    assert responses.highspeed(1e-2) == responses.reno(1e-2)
    # 0.15 * 10^4.1 = 1888.4.
    assert responses.highspeed(1e-5) == pytest.approx(1888.4, rel=1e-4)


def test_highspeed_parameters_have_the_ends_of_rfc_3649():
    increase, decrease = responses.highspeed_parameters([10.0, 38.0, 83000.0, 1e6])
    assert increase[:2].tolist() == [1.0, 1.0]
    # 2 w^2 (0.078/w^1.2) 0.1/1.9 with w^0.8 = 8615.3.
    assert increase[2] == pytest.approx(70.735, rel=1e-4)
    assert decrease.tolist() == pytest.approx([0.5, 0.5, 0.1, 0.1])
    # Half-way in ln w, at sqrt(38 * 83000) = 1775.95: b = 0.3.
    assert responses.highspeed_parameters(1775.95)[1] == pytest.approx(0.3, abs=1e-6)


def test_cubic_has_the_constant_of_rfc_9438():
    # (0.4 * 3.7/1.2)^0.25 = 1.05383, times 0.1^0.75 * 10^4.5 = 5623.4.
    assert responses.cubic(1e-6, 0.1) == pytest.approx(5926, rel=1e-3)


def test_compound_grows_as_reno_below_sixteen_packets():
    # 0.125 w^0.75 = 1 at w = 16, which is 1.2247/sqrt(p) at p = 0.0059.
    assert responses.compound(0.02) == responses.reno(0.02)
    assert responses.slope(responses.compound, 1e-6) == pytest.approx(0.8)


def test_tfrc_tends_to_reno_for_rare_losses():
    assert responses.tfrc(1e-7, 0.1) == pytest.approx(responses.reno(1e-7), rel=1e-2)
    # At p = 0.01, b = 1, t = 4 R: sqrt(0.02/3) = 0.0816497. 3 sqrt(0.03/8) = 0.1837117. 4 of these * 0.01 *
    # 1.0032 = 0.0073720. 1/0.0890217.
    assert responses.tfrc(0.01, 0.1) == pytest.approx(11.2332, rel=1e-5)


@pytest.mark.parametrize(
    ("response", "d"),
    [
        (responses.reno, 0.5),
        (lambda p: responses.aimd(p, 32.0, 0.125), 0.5),
        (responses.highspeed, 0.82),
        (responses.scalable, 1.0),
    ],
    ids=["reno", "aimd", "highspeed", "scalable"],
)
def test_the_slopes_are_those_of_figure_3_2(response, d):
    assert responses.slope(response, np.array([1e-5, 1e-6, 1e-7])) == pytest.approx(np.full(3, d))


def test_rtt_unfairness_of_windows_and_rates_differs_by_one():
    assert responses.window_exponent(0.5) == 1.0
    assert responses.rate_exponent(0.5) == 2.0
    # Appendix B.2: 0.82/0.18 = 4.56.
    assert responses.window_exponent(0.82) == pytest.approx(4.56, abs=0.005)
    assert responses.rate_exponent(0.82) == pytest.approx(5.56, abs=0.005)
    assert responses.rate_exponent(1.0) == math.inf


def test_reno_needs_over_an_hour_to_fill_ten_gigabits_again():
    # Section 2.9.1: 10^10 * 0.1 / 12000 = 83333.3 packets, half of them RTTs of 0.1 s.
    assert responses.pipe(10e9, 0.1, 1500) == pytest.approx(83333.33)
    assert responses.recovery_time(10e9, 0.1, 1500) == pytest.approx(4166.67, abs=0.01)
    assert responses.recovery_time(10e9, 0.1, 1250) == pytest.approx(5000.0)


def test_the_closed_forms_of_bic_are_those_of_appendix_b():
    losses = [1e-3, 1e-4, 1e-5, 1e-6, 1e-7]
    windows = BIC.window(losses, "additive")
    assert windows == pytest.approx([77.7, 665.8, 3782.9, 14896, 50566], rel=7e-4)
    means = BIC.mean_window(losses, "additive")
    assert means == pytest.approx([77.2, 656.0, 3646.9, 14118, 47581], rel=7e-4)
    assert BIC.window(losses[:3], "binary") == pytest.approx([84.8, 675.9, 5603.5], rel=7e-4)
    assert BIC.mean_window(losses[:2], "binary") == pytest.approx([83.0, 664.7], rel=7e-4)
    assert BIC.asymptote(1e-7) == pytest.approx(48990, rel=1e-5)


def test_bic_searches_at_high_loss_and_adds_at_low():
    # beta W <= 2 S = 64 holds at 1e-3 (10.6), not at 1e-4 (84.5).
    assert BIC.mean_window([1e-3, 1e-4]) == pytest.approx([83.0, 656.0], rel=7e-4)


def test_the_slope_of_bic_falls_from_one_to_a_half():
    slopes = responses.slope(BIC.mean_window, [1e-3, 1e-4, 1e-5, 1e-6, 1e-7])
    assert slopes == pytest.approx([0.89, 0.85, 0.65, 0.55, 0.51], abs=0.005)


def test_the_polynomial_of_bic_is_the_sum_of_its_phases():
    # beta W/S = 10 exactly at W = 2560, so N1 = 8 without rounding up, and N2 = log2(32/0.01) + 3 = 14.644.
    assert BIC.phases(2560.0) == pytest.approx((8, 14.6439), abs=1e-3)
    a, b, c = BIC.coefficients
    assert BIC.packets(2560.0) == pytest.approx(a * 2560.0**2 + b * 2560.0 - c)
    # a = 0.125 * 1.875/64, b = 11.6439 + 0.9375, c = 31.99.
    assert (a, b, c) == pytest.approx((0.003662109, 12.581356, 31.99))


def test_the_binary_window_solves_the_epoch_of_one_loss():
    # Without additive phase Y = W (log2(beta W/s) + 2) - 2 beta W + s, and s = 0.01 is left out.
    window = float(BIC.window(1e-3, "binary"))
    assert BIC.phases(window)[0] == 0
    assert BIC.packets(window) - 0.01 == pytest.approx(1000.0)


def test_bic_under_two_rtts():
    # Long epochs: R2/R1 = 2. Search alone: exp((10 - 5) ln 2) = 32.
    assert BIC.window_ratio((0.05, 0.1), 1e6) == pytest.approx(2.0, rel=1e-4)
    assert BIC.window_ratio((0.1, 0.2), 1.0, "binary") == pytest.approx(32.0)
    with pytest.raises(InputError, match="epoch = 1: must be above"):
        BIC.window_ratio((0.1, 0.2), 1.0)


def test_input_is_refused_by_name():
    with pytest.raises(InputError, match="loss = 0: must be above 0 and at most 1"):
        responses.reno([0.1, 0.0])
    with pytest.raises(InputError, match="beta = 1: must be above 0 and below 1"):
        responses.aimd(0.1, 1.0, 1.0)
    with pytest.raises(InputError, match=r"do not cross between losses of 1e-09 and 0\.1"):
        responses.crossing(lambda p: 2 * responses.reno(p))
    with pytest.raises(InputError, match="d = 2: must be above 0 and at most 1"):
        responses.window_exponent(2.0)
    with pytest.raises(InputError, match=r"smallest = 64: must be below largest = 32"):
        Bic(smallest=64.0)


def test_yeah_changes_from_aimd_to_scalable_at_a_hundred_packets():
    # sqrt(1.875/(0.25 * 0.01)) = 27.386, and 0.0748888/1e-5.
    assert responses.yeah([1e-2, 1e-5]) == pytest.approx([27.386, 7488.88], rel=1e-5)
    meets = responses.crossing(
        lambda p: responses.aimd(p, 1, 0.125), lambda p: responses.power_increase(p, 0.01, 0.125, -1)
    )
    assert meets == pytest.approx(7.48e-4, rel=1e-3)
    assert responses.yeah(meets) == pytest.approx(100, rel=5e-3)


def test_htcp_is_reno_while_its_epochs_are_short():
    # Below 1 s H-TCP adds 2 (1 - 0.5) = 1 packet in each RTT.
    assert responses.htcp([1e-2, 1e-3], 0.01) == pytest.approx(responses.reno([1e-2, 1e-3]))


def test_htcp_solves_its_epoch():
    # t = 3 s, R = 0.1: a grows to 3 + 20 + 8/12 = 23.6667, so W = 473.333. Its integral is
    # 4.5 + 40/3 + 16/48 = 18.1667. Packets: (0.5 * 473.333 * 3 + 10 * 18.1667)/0.1 = 8916.67 in 30 RTTs.
    assert responses.htcp(1 / 8916.6667, 0.1) == pytest.approx(8916.6667 / 30, rel=1e-6)


@pytest.mark.parametrize(
    ("increase", "decrease", "response", "d"),
    [
        (lambda _: 1.0, lambda _: 0.5, responses.reno, 0.5),
        (lambda _: 32.0, lambda _: 0.125, lambda p: responses.aimd(p, 32.0, 0.125), 0.5),
        (
            lambda w: float(responses.highspeed_parameters(w)[0]),
            lambda w: float(responses.highspeed_parameters(w)[1]),
            responses.highspeed,
            0.82,
        ),
        (lambda w: 0.01 * w, lambda _: 0.125, lambda p: 0.0748888 / p, 1.0),
    ],
    ids=["reno", "aimd", "highspeed", "scalable"],
)
def test_the_rules_themselves_have_the_slopes_of_the_closed_forms(increase, decrease, response, d):
    losses = np.array([1e-4, 1e-5])
    windows = np.array([responses.from_rule(increase, decrease, p) for p in losses])
    assert math.log10(windows[1] / windows[0]) == pytest.approx(d, abs=0.02)
    # RFC 3649 fits HighSpeed TCP by a straight line. The others are exact but for the discreteness of rounds.
    assert windows == pytest.approx(response(losses), rel=0.25 if d == 0.82 else 0.02)
