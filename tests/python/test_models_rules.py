"""Vector diagrams: what two sources do to their difference and to their ratio."""

import numpy as np
import pytest

from ackclock.errors import InputError
from ackclock.papers.data.edwan2010.models.rules import RULES, Rule, vector_diagram


def diagram(name, **options):
    return vector_diagram(RULES[name], **options)


def test_a_step_of_aimd_adds_alpha_or_removes_its_share():
    # 0.5 + 0.5 fills a capacity of 0.9: both lose half, and then both add 0.01.
    path = vector_diagram(RULES["aimd"], (0.5, 0.5), capacity=0.9, steps=2)
    assert path == pytest.approx(np.array([[0.5, 0.5], [0.25, 0.25], [0.26, 0.26]]))


def test_each_decrease_of_aimd_halves_the_difference():
    path = diagram("aimd")
    decreases = int(np.sum(np.diff(path[:, 0]) < 0))
    # 0.2 of 0.02 a step are free at the start. Each decrease then frees half of about 1: 25 steps or so.
    assert decreases > 20
    assert path[-1, 1] - path[-1, 0] == pytest.approx(0.6 * 0.5**decreases, rel=1e-6)


def test_aiad_leaves_the_difference_as_it_is():
    path = diagram("aiad")
    assert path[:, 1] - path[:, 0] == pytest.approx(np.full(601, 0.6))


def test_mimd_leaves_the_ratio_as_it_is():
    path = diagram("mimd")
    assert path[:, 0] / path[:, 1] == pytest.approx(np.full(601, 1 / 7))


def test_miad_gives_one_source_everything():
    path = diagram("miad")
    assert path[-1, 0] == 0.0
    assert path[-1, 1] > 0.97


def test_mimd_is_fair_on_average_where_losses_are_proportional():
    paths = [diagram("mimd", steps=10_000, feedback="proportional", seed=s).mean(axis=0) for s in range(10)]
    # 7 without random losses. The specification measured 1.07.
    assert np.mean([rates.max() / rates.min() for rates in paths]) < 1.15


@pytest.mark.parametrize("name", ["aimd", "iiad", "sqrt"])
def test_binomial_rules_converge_to_equal_rates(name):
    rates = diagram(name, steps=2000)[-1]
    assert rates.min() / rates.max() > 0.999


def test_rules_with_k_plus_l_one_are_tcp_friendly():
    friendly = {name for name, rule in RULES.items() if rule.is_tcp_friendly}
    assert friendly == {"aimd", "iiad", "sqrt"}
    assert all(RULES[name].loss_exponent == 0.5 for name in friendly)


def test_rates_do_not_fall_below_zero_or_the_guard():
    assert vector_diagram(RULES["aiad"], (0.001, 2.0), steps=3)[1].tolist() == [0.0, 1.98]
    assert vector_diagram(RULES["iiad"], (0.001, 2.0), steps=3)[1].tolist() == [1e-6, 1.95]


def test_a_rule_is_refused_by_what_is_wrong_with_it():
    with pytest.raises(InputError, match="alpha = 0: must be above 0"):
        Rule(0.0, 0.5, 0.0, 1.0)
    with pytest.raises(InputError, match='feedback = "late": must be one of synchronous, proportional'):
        diagram("aimd", feedback="late")
    with pytest.raises(InputError, match="start has -1: each must be above 0"):
        diagram("aimd", start=(0.1, -1.0))
    with pytest.raises(InputError, match="k \\+ l = -1: must be above -1"):
        _ = RULES["miad"].loss_exponent
