"""Fair allocations, against tables 4.1, 4.2 and 5.2 of the thesis and its example of section 5.5.2."""

import numpy as np
import pytest

from ackclock.errors import InputError
from ackclock.papers.data.edwan2010.models import allocation
from ackclock.papers.data.edwan2010.models.networks import Network, nine_links, two_links

# Section 5.5.2: capacities 2 and 1, the first source on both links.
EXAMPLE = two_links(2.0, 1.0)
CANDIDATE = [0.485, 1.515, 0.515]


@pytest.mark.parametrize(
    ("capacities", "alpha", "rates", "prices"),
    [
        ((10, 2), 1, (0.94495, 9.05505, 1.05505), (0.110436, 0.947822)),
        ((10, 2), 2, (0.996916, 9.003084, 1.003084), (0.0123372, 0.993860)),
        ((10, 2), 10, (1.0, 9.0, 1.0), (2.86797e-10, 1.0)),
        # The row printed for alpha = 1 in table 4.2 belongs to capacities of 20 and 10. See below.
        ((15, 5), 1, (2.257081, 12.742919, 2.742919), (0.078475, 0.364575)),
        ((15, 5), 2, (2.475104, 12.524896, 2.524896), (0.00637458, 0.156860)),
        ((15, 5), 10, (2.5, 12.5, 2.5), (1.07374e-11, 1.04858e-4)),
        ((20, 10), 1, (4.226497, 15.773503, 5.773503), (0.063397, 0.173205)),
    ],
)
def test_rates_and_prices_match_tables_4_1_and_4_2(capacities, alpha, rates, prices):
    found = allocation.alpha_fair(two_links(*capacities), alpha)
    assert found.rates == pytest.approx(rates, rel=8e-6)
    assert found.prices == pytest.approx(prices, rel=8e-6)


@pytest.mark.parametrize("alpha", [0.5, 1, 2, 5])
def test_prices_meet_the_conditions_of_the_optimum(alpha):
    network = nine_links()
    weights = np.linspace(0.5, 2.0, 48)
    rates, prices = allocation.alpha_fair(network, alpha, weights)
    spare = network.capacities - network.load(rates)
    assert np.all(spare > -1e-8)
    assert np.all(prices >= 0)
    assert prices * spare == pytest.approx(np.zeros(9), abs=1e-7)
    marginal = allocation.marginal_utility(rates, alpha, weights)
    assert network.route_prices(prices) == pytest.approx(marginal)


def test_a_large_alpha_tends_to_max_min():
    network = nine_links()
    fair = allocation.max_min(network).rates
    gaps = [np.abs(allocation.alpha_fair(network, a).rates / fair - 1).max() for a in (2, 10, 30)]
    assert gaps[0] > 10 * gaps[1] > 100 * gaps[2] / 10
    assert gaps[2] < 1e-3


def test_weights_are_the_number_of_equal_sources():
    # Three flows on one link of 12, the third with weight 2: proportional fairness shares by weight.
    one = Network.of({"a": 12.0}, {"x": ["a"], "y": ["a"], "z": ["a"]})
    assert allocation.alpha_fair(one, 1, [1, 1, 2]).rates == pytest.approx([3, 3, 6])


def test_progressive_filling_gives_table_5_2():
    network = nine_links()
    rates, links = allocation.max_min(network)
    table = {
        "C1": (0.686869, "4 9 10"),
        "C2": (4.0, "26"),
        "C3": (6.202020, "12"),
        # Printed as 25-27. Source 26 crosses only C2.
        "C4": (0.484848, "1 3 5 6 8 13 25 27 30 44 45"),
        "C5": (1.005051, "7 31"),
        "C6": (1.156566, "28"),
        "C7": (2.083333, "24 29"),
        "C8": (0.222222, "2 11 " + " ".join(map(str, [*range(14, 24), *range(32, 44), 46, 47, 48]))),
    }
    for index, link in enumerate(network.links[1:], start=1):
        share, names = table[link]
        stopped = np.flatnonzero(links == index)
        assert " ".join(network.sources[i] for i in stopped) == names
        assert rates[stopped] == pytest.approx(np.full(stopped.size, share), abs=1e-6)
    assert network.load(rates)[0] == pytest.approx(2.3434, abs=1e-4)


def test_every_source_has_one_bottleneck_at_max_min_fair_rates():
    network = nine_links()
    rates = allocation.max_min(network).rates
    assert allocation.bottlenecks(network, rates).sum(axis=0).tolist() == [1] * 48
    rates[25] -= 0.1
    assert allocation.bottlenecks(network, rates)[:, 25].sum() == 0


def test_proportional_fairness_is_tested_as_in_the_thesis():
    # 0.015/0.485 - 0.015/1.515 - 0.015/0.515 = 0.030928 - 0.009901 - 0.029126, printed as -0.02.
    assert allocation.proportional_change(CANDIDATE, [0.5, 1.5, 0.5]) == pytest.approx(-0.0081, abs=1e-5)
    # The candidate is not the optimum, though: another feasible point raises the sum.
    optimum = allocation.alpha_fair(EXAMPLE, 1).rates
    assert optimum == pytest.approx([0.42265, 1.57735, 0.57735], abs=5e-6)
    assert allocation.proportional_change(CANDIDATE, optimum) == pytest.approx(0.0337, abs=5e-5)


def test_no_feasible_rates_improve_on_the_proportionally_fair_ones():
    assert allocation.largest_change(EXAMPLE, allocation.alpha_fair(EXAMPLE, 1).rates) == pytest.approx(
        0, abs=1e-9
    )
    # All of link A to the second source and of B to the third: 2/1.515 + 1/0.515 - 3.
    assert allocation.largest_change(EXAMPLE, CANDIDATE) == pytest.approx(0.261880, abs=1e-6)


def test_potential_delay_is_least_at_alpha_two():
    optimum = allocation.alpha_fair(EXAMPLE, 2).rates
    assert optimum == pytest.approx([0.4864, 1.5136, 0.5136], abs=5e-5)
    assert allocation.potential_delay(optimum) == pytest.approx(4.66364, abs=5e-6)
    assert allocation.potential_delay([0.5, 1.5, 0.5]) == pytest.approx(4.66667, abs=5e-6)
    proportional = allocation.alpha_fair(EXAMPLE, 1).rates
    assert allocation.potential_delay(proportional) == pytest.approx(4.73205, abs=5e-6)


def test_demand_inverts_the_marginal_utility():
    # U'(2) = 3/2^2 = 0.75 and U(2) = -3/2 at a = 2, w = 3, and ln 2 at a = 1.
    assert allocation.marginal_utility(2.0, 2, 3.0) == pytest.approx(0.75)
    assert allocation.demand(0.75, 2, 3.0) == pytest.approx(2.0)
    assert allocation.utility(2.0, 2, 3.0) == pytest.approx(-1.5)
    assert allocation.utility(2.0, 1) == pytest.approx(0.693147, abs=1e-6)


def test_networks_and_weights_are_checked():
    with pytest.raises(InputError, match="the route of x has the unknown link b: there are a"):
        Network.of({"a": 1.0}, {"x": ["b"]})
    with pytest.raises(InputError, match="the route of x has no link"):
        Network.of({"a": 1.0}, {"x": []})
    with pytest.raises(InputError, match="capacities has 0: each must be above 0"):
        Network.of({"a": 0.0}, {"x": ["a"]})
    with pytest.raises(InputError, match=r"weights has the shape \(2,\): must be 3 numbers"):
        allocation.alpha_fair(EXAMPLE, 1, [1, 2])
    with pytest.raises(InputError, match="alpha = 0: must be above 0"):
        allocation.alpha_fair(EXAMPLE, 0)
