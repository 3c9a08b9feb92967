"""TCP-Gentle in closed form, against the worked examples of chapter 7 of the thesis."""

import numpy as np
import pytest

from ackclock.papers.data.edwan2010.models.gentle import (
    Damping,
    Thrust,
    rocket_increases,
    slow_start_increases,
)

# The example of the thesis, section 7.2.1: 300 Mbit/s, 100 ms, packets of 1000 bytes, Q_max 50, N = 4.
EXAMPLE = Damping(pipe=3750, rtt=0.1, queue=50, counter=4)


def test_damping_has_the_numbers_of_the_worked_example():
    assert EXAMPLE.increase == pytest.approx(2 / 16)
    # 0.1 * 50/(2 * 0.125) = 20 s, and 50 (3750 + 33.33)/0.25 packets.
    assert EXAMPLE.epoch == pytest.approx(20.0)
    assert EXAMPLE.probability == pytest.approx(1.3216e-6, rel=1e-4)
    assert EXAMPLE.mean_window == pytest.approx(3783.33, abs=0.01)
    # 37833.3 packets per second are 302.67 Mbit/s.
    assert EXAMPLE.rate * 8e-3 == pytest.approx(302.67, abs=0.01)


def test_the_rate_over_probability_closes_the_circle():
    # 7.9 is 7.5 with W expressed by p_b.
    assert EXAMPLE.response(EXAMPLE.probability) == pytest.approx(EXAMPLE.rate)
    # Many reductions leave the pipe just full: C_p/R.
    assert EXAMPLE.response(1.0) == pytest.approx(37500, rel=1e-5)


def test_the_mean_of_the_window_is_its_integral():
    times = (np.arange(10000) + 0.5) * EXAMPLE.epoch / 10000
    assert np.mean(EXAMPLE.window(times)) == pytest.approx(EXAMPLE.mean_window, rel=1e-5)
    assert EXAMPLE.window(EXAMPLE.epoch) == pytest.approx(3800)


@pytest.mark.parametrize(
    ("rate", "packet", "duration", "mean"),
    [(100e6, 1500, 4.667, 44.86), (300e6, 1000, 19.25, 146.14)],
    ids=["100 Mbit/s", "300 Mbit/s"],
)
def test_thrust_has_the_corrected_numbers(rate, packet, duration, mean):
    thrust = Thrust(pipe=rate * 0.1 / (8 * packet), rtt=0.1)
    assert thrust.time_to_largest == pytest.approx(1.0)
    assert thrust.duration == pytest.approx(duration, rel=1e-3)
    assert thrust.rate * packet * 8e-6 == pytest.approx(mean, abs=0.005)


@pytest.mark.parametrize("pipe", [50.0, 100.0, 833.33])
def test_the_mean_of_thrust_is_the_integral_of_its_window(pipe):
    thrust = Thrust(pipe=pipe, rtt=0.1)
    times = (np.arange(10000) + 0.5) * thrust.duration / 10000
    assert np.mean(thrust.window(times)) == pytest.approx(thrust.mean_window, rel=1e-5)
    assert thrust.window(thrust.duration) == pytest.approx(pipe)


def test_half_the_pipe_is_reached_at_twenty_megabits():
    # Chapter 7: thrust that ends at C_p/2 = 416.67 packets has a mean of 20.55 Mbit/s.
    thrust = Thrust(pipe=100e6 * 0.1 / 12000 / 2, rtt=0.1)
    assert thrust.rate * 12e-3 == pytest.approx(20.55, abs=0.005)


def test_the_rocket_rule_starts_above_slow_start_and_stays_bounded():
    assert rocket_increases(12).tolist() == [2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 20, 20]
    assert slow_start_increases(6).tolist() == [1, 2, 4, 8, 16, 32]
