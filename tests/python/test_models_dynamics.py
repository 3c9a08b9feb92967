"""Primal, exact primal, dual and primal-dual algorithms against the solver's allocation."""

import numpy as np
import pytest

from ackclock.errors import InputError
from ackclock.papers.data.edwan2010.models.allocation import alpha_fair
from ackclock.papers.data.edwan2010.models.dynamics import Dynamics
from ackclock.papers.data.edwan2010.models.networks import Network, nine_links, two_links

ONE_LINK = Network.of({"a": 4.0}, {"x": ["a"]})


@pytest.mark.parametrize("algorithm", ["exact-primal", "dual", "primal-dual"])
@pytest.mark.parametrize("alpha", [1, 2])
@pytest.mark.parametrize("network", [two_links(10, 2), two_links(15, 5)], ids=["10-2", "15-5"])
def test_three_algorithms_reach_the_optimum(algorithm, alpha, network):
    optimum = alpha_fair(network, alpha)
    course = Dynamics(network, algorithm, alpha).run(2000, steady=1e-6)
    assert course.times[-1] < 2000
    assert course.rates[-1] == pytest.approx(optimum.rates, rel=1e-4)
    assert course.prices[-1] == pytest.approx(optimum.prices, rel=1e-3)


@pytest.mark.parametrize("algorithm", ["exact-primal", "dual", "primal-dual"])
def test_the_network_of_48_sources_settles_at_its_optimum(algorithm):
    network = nine_links()
    course = Dynamics(network, algorithm).run(1000, steady=1e-6)
    assert course.rates[-1] == pytest.approx(alpha_fair(network, 1).rates, rel=1e-4)


def test_the_equilibrium_does_not_depend_on_the_start():
    random = np.random.default_rng(1)
    ends = []
    for _ in range(3):
        rates, prices = random.uniform(0.05, 5, 3), random.uniform(0.01, 1, 2)
        ends.append(Dynamics(two_links(10, 2)).run(1000, rates, prices, steady=1e-6).rates[-1])
    assert ends[1] == pytest.approx(ends[0], rel=1e-4)
    assert ends[2] == pytest.approx(ends[0], rel=1e-4)


def test_the_primal_algorithm_ends_with_price_equal_to_marginal_utility():
    # 1/x = (x/4)^10 at x = 4^(10/11) = 3.52637, not at the capacity of 4.
    course = Dynamics(ONE_LINK, "primal").run(500, steady=1e-8)
    assert course.rates[-1] == pytest.approx([3.52637], rel=1e-5)


def test_the_objective_of_the_primal_algorithm_only_grows():
    dynamics = Dynamics(two_links(10, 2), "primal")
    course = dynamics.run(60)
    values = [dynamics.objective(x) for x in course.rates]
    assert np.all(np.diff(values) > -1e-7)
    # At x = 4 on one link of 4: ln 4 - 4/11.
    assert Dynamics(ONE_LINK, "primal").objective([4.0]) == pytest.approx(1.386294 - 0.363636, abs=1e-6)


def test_a_single_rate_grows_at_first_as_its_gain_says():
    # Primal-dual at x = 1, p = 0.5: dx/dt = 0.5 * 1 * (1 - 0.5) = 0.25, dp/dt = 0.1 (1 - 4) = -0.3.
    course = Dynamics(ONE_LINK).run(1e-3, 1.0, 0.5, samples=2)
    assert (course.rates[1] - course.rates[0]) / 1e-3 == pytest.approx([0.25], rel=1e-2)
    assert (course.prices[1] - course.prices[0]) / 1e-3 == pytest.approx([-0.3], rel=1e-2)


def test_an_unknown_algorithm_is_refused():
    with pytest.raises(InputError, match='algorithm = "newton": must be one of primal, exact-primal'):
        Dynamics(ONE_LINK, "newton")
    with pytest.raises(InputError, match="rate_gain = -1: must be above 0"):
        Dynamics(ONE_LINK, rate_gain=-1)
