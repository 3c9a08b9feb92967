"""The figures of the models: their curves, not their looks."""

import numpy as np
import pytest

from ackclock.papers.data.edwan2010.models import figures
from ackclock.papers.data.edwan2010.models.drift import Drift
from ackclock.papers.data.edwan2010.models.gentle import Damping, Thrust
from ackclock.papers.data.edwan2010.models.networks import two_links


def curves(figure, panel=0):
    return {line.get_label(): line.get_xydata() for line in figure.axes[panel].get_lines()}


def test_vector_diagrams_have_a_panel_for_each_rule():
    figure = figures.vector_diagrams(figures.BINOMIAL, steps=10)
    assert [axes.get_title(loc="left") for axes in figure.axes[:3]] == ["AIMD", "IIAD", "SQRT"]
    # From (0.1, 0.7) AIMD adds 0.01 to both.
    assert curves(figure)["rates"][1] == pytest.approx([0.11, 0.71])


def test_response_functions_take_measured_points_beside_them():
    measured = {"newreno": (np.array([0.01]), np.array([12.0]))}
    lines = curves(figures.response_functions(measured=measured))
    assert lines["newreno, simulated"].tolist() == [[0.01, 12.0]]
    # 1.22474/sqrt(1e-8).
    assert lines["Reno"][0] == pytest.approx([1e-8, 12247.449])


def test_the_plane_of_illinois_holds_the_point_of_reno():
    assert curves(figures.alpha_beta_plane())["Reno"].tolist() == [[0.5, 1.0]]


def test_functions_of_delay_start_at_their_bounds():
    assert curves(figures.alpha_over_delay())["order 5"][0].tolist() == [0.0, 10.0]
    assert curves(figures.beta_over_delay())["TCP-Fs"][-1].tolist() == [1.0, 0.5]
    assert len(curves(figures.illinois_responses())) == 6


def test_rates_over_alpha_end_near_the_max_min_fair_ones():
    lines = curves(figures.rates_over_alpha(two_links(10, 2), (1, 10)))
    assert lines["x2"][-1] == pytest.approx([10, 9.0])
    assert lines["x2, max-min"][0] == pytest.approx([1, 9.0])


def test_a_nyquist_curve_begins_at_one_over_the_damping():
    curve = curves(figures.nyquist((2,)))["A = 2"]
    assert np.max(curve[:, 0]) == pytest.approx(0.5, abs=1e-3)


def test_courses_of_drift_have_their_equilibrium():
    lines = curves(figures.courses_of_drift({"one": Drift(0.1, link_errors=0.01)}, 100.0, 1.0))
    assert lines["one, equilibrium"][:, 1] == pytest.approx([140.7125, 140.7125], rel=1e-6)


def test_the_rounds_of_thrust_follow_the_closed_form_late():
    figure = figures.gentle_windows(Damping(833.3, 0.1, 50, counter=4), Thrust(833.3, 0.1))
    lines = curves(figure, 1)
    assert lines["closed form"][-1] == pytest.approx([4.667, 833.3], rel=1e-3)
    # Growth acknowledged by ACKs lags one round or two: 5.0 s instead of 4.67 s to fill the pipe.
    time, window = lines["rounds"][-1]
    assert window == pytest.approx(833.3 - 20 * (5.0 - time) / 0.1, rel=0.03)


def test_the_decrease_over_noise_rises_to_its_limit():
    lines = curves(figures.decrease_over_noise((0.75,)))
    assert lines["span 0.75"][0] == pytest.approx([0, 0.125])
    assert lines["span 0.75"][-1] == pytest.approx([6, 0.5])


def test_slow_start_overtakes_the_rocket_rule():
    lines = curves(figures.thrust_and_slow_start((2,), 10))
    assert lines["rocket, 2"][1].tolist() == [1, 3]
    assert lines["slow start"][-1].tolist() == [10, 1024]
