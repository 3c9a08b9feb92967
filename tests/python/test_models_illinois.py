"""Illinois of any order, against the values of chapter 6 of the thesis."""

import numpy as np
import pytest

from ackclock.errors import InputError
from ackclock.papers.data.edwan2010.models.illinois import ILLINOIS, TCP_C, TCP_FQ, TCP_FS, TCP_Q, Illinois

DELAYS = np.array([0.1, 0.3, 0.5, 0.7, 0.8, 1.0])


@pytest.mark.parametrize(
    ("model", "alphas", "betas"),
    [
        (ILLINOIS, [2.538, 0.955, 0.588, 0.425, 0.373, 0.3], [0.125, 0.232, 0.339, 0.446, 0.5, 0.5]),
        (TCP_Q, [7.575, 2.559, 1.101, 0.594, 0.461, 0.3], [0.125, 0.173, 0.268, 0.411, 0.5, 0.5]),
        (TCP_C, [9.687, 5.339, 1.983, 0.827, 0.570, 0.3], [0.125, 0.144, 0.216, 0.376, 0.5, 0.5]),
    ],
    ids=["illinois", "tcp-q", "tcp-c"],
)
def test_alpha_and_beta_have_the_values_of_the_specification(model, alphas, betas):
    assert model.alpha(DELAYS) == pytest.approx(alphas, abs=5e-4)
    assert model.beta(DELAYS) == pytest.approx(betas, abs=6e-4)


def test_alpha_and_beta_are_the_forms_of_equation_6_1():
    # k1/(k2 + d) with d_m = 1, d_1 = 0.01: k1 = 0.99 * 3/9.7 = 0.306186, k2 = 0.030619 - 0.01. k3 + k4 d with
    # k4 = 0.375/0.7 = 0.535714, k3 = (0.125 * 0.8 - 0.5 * 0.1)/0.7 = 0.0714286.
    assert ILLINOIS.alpha(0.4) == pytest.approx(0.306186 / 0.420619, rel=1e-5)
    assert ILLINOIS.beta(0.4) == pytest.approx(0.0714286 + 0.535714 * 0.4, rel=1e-5)


def test_smoothed_beta_meets_illinois_at_the_middle_of_its_range():
    # d4 = 0.275, d5 = 0.45, middle of beta 0.3125. Half-way between d4 and d5 a quarter of 0.375 over 0.125.
    assert TCP_FS.beta([0.275, 0.3625, 0.45]) == pytest.approx([0.125, 0.21875, 0.3125])
    high = np.arange(0.45, 0.8, 0.01)
    assert TCP_FS.beta(high) == pytest.approx(ILLINOIS.beta(high))
    low = np.arange(0.11, 0.45, 0.01)
    assert np.all(TCP_FS.beta(low) < ILLINOIS.beta(low))


def test_fs_and_fq_increase_as_illinois_does():
    assert TCP_FS.alpha(DELAYS).tolist() == ILLINOIS.alpha(DELAYS).tolist()
    assert TCP_FQ.alpha(DELAYS).tolist() == ILLINOIS.alpha(DELAYS).tolist()
    assert TCP_FQ.beta(DELAYS).tolist() == TCP_Q.beta(DELAYS).tolist()


def test_a_higher_order_is_more_aggressive_on_the_plane():
    alphas = [float(Illinois(n).alpha_at_beta(0.3)) for n in (1, 2, 3, 4)]
    assert alphas == pytest.approx([0.685, 0.924, 1.144, 1.392], abs=7e-4)
    betas = [float(Illinois(n).beta_at_alpha(1.0)) for n in (1, 2, 3)]
    assert betas == pytest.approx([0.224, 0.285, 0.329], abs=6e-4)


@pytest.mark.parametrize(
    ("beta", "first", "second"), [(0.2, 0.68, 0.45), (0.3, 0.239, 0.220)], ids=["0.2", "0.3"]
)
def test_the_gap_of_orders_falls_against_the_thesis_text(beta, first, second):
    one, two, three = (float(Illinois(n).alpha_at_beta(beta)) for n in (1, 2, 3))
    assert (two - one, three - two) == pytest.approx((first, second), abs=0.005)


def test_orders_without_limit_increase_by_alpha_max():
    assert Illinois(200).alpha(0.9) == pytest.approx(10.0, rel=1e-6)


@pytest.mark.parametrize(
    ("x", "first", "second"),
    [
        (20, 14.5, 10.8),
        (35, 29.3, 22.8),
        (46, 42.2, 33.7),
        (50, 47.4, 38.1),
        (60, 61.4, 50.3),
        (90, 112, 96),
        (190, 380, 345),
        (330, 1006, 945),
    ],
)
def test_epochs_of_the_second_order_are_shorter(x, first, second):
    # 300 Mbit/s, packets of 1000 bytes, 172 of them in the queue. The one-way delay is x ms.
    rtt = 2e-3 * x
    pipe = 300e6 * rtt / 8000
    assert ILLINOIS.epoch(pipe, 172, rtt) == pytest.approx(first, rel=5e-3)
    assert TCP_Q.epoch(pipe, 172, rtt) == pytest.approx(second, rel=5e-3)


def test_an_epoch_is_the_integral_of_the_increase():
    # From w0 = 1811 to the pipe of 3450 by 10 an RTT, then in steps of 0.01: the sum of dw/alpha.
    model = Illinois(eta=(0.0, 0.1, 0.8))
    middles = (np.arange(17200) + 0.5) / 17200
    rounds = (3450 - 1811) / 10 + np.sum(0.01 / model.alpha(middles))
    assert model.epoch(3450, 172, 0.092) == pytest.approx(0.092 * rounds, rel=1e-6)


def test_the_response_follows_reno_below_fifteen_packets():
    # At p = 0.01 and d = 0.8 AIMD(0.373, 0.5) has 7.5 packets, Reno 12.2.
    assert ILLINOIS.response(0.01, 0.8) == pytest.approx(12.2474, rel=1e-5)
    # At d = 0: sqrt(10 * 1.875/(0.25 p)) = 8660 at 1e-6.
    assert ILLINOIS.response(1e-6, 0.0) == pytest.approx(8660.25, rel=1e-5)
    assert TCP_Q.response(1e-6, 0.05) > ILLINOIS.response(1e-6, 0.05)


def test_values_outside_the_delays_and_the_plane_are_refused():
    with pytest.raises(InputError, match=r"delay = 1.5: must be from 0 to 1"):
        ILLINOIS.alpha(1.5)
    with pytest.raises(InputError, match=r"beta = 0.5: must be above 0.125 and below 0.5"):
        ILLINOIS.alpha_at_beta(0.5)
    with pytest.raises(InputError, match='variant = "fs": the alpha-beta plane is for the variant "power"'):
        TCP_FS.alpha_at_beta(0.3)
    with pytest.raises(InputError, match="queue = 4000: must leave the pipe not full"):
        ILLINOIS.epoch(3450, 4000, 0.092)
