"""Features of trajectories, each part on rounds that are worked out by hand."""

import numpy as np
import pytest

from ackclock.identify import features
from ackclock.identify.trajectories import Trajectory


def trajectory(flight, delay=None, resent=(), repairing=(), delivered=None, rtt=0.1):
    """These segments in flight, round by round, and the rounds with a segment sent again or in a recovery."""
    flight = np.array(flight, dtype=float)
    again, repairs = np.zeros(flight.size), np.zeros(flight.size, dtype=bool)
    again[list(resent)] = 1.0
    repairs[list(repairing)] = True
    delays = np.ones(flight.size) if delay is None else np.array(delay)
    arrived = flight if delivered is None else np.array(delivered)
    return Trajectory("a", rtt, flight, delays, arrived, again, repairs)


def mask(count, *rounds):
    found = np.zeros(count, dtype=bool)
    found[list(rounds)] = True
    return found


def test_a_recovery_has_a_round_before_and_one_after():
    assert np.flatnonzero(features._spread(mask(10, 0, 4, 9))).tolist() == [0, 1, 3, 4, 5, 8, 9]
    # Rounds of a recovery without a copy are of it, too.
    found = features.features(trajectory([10] * 40, resent=[20], repairing=[21, 22]))
    assert found["losses a hundred rounds"] == 2.5


def test_values_behind_the_first_quarter_have_their_percentiles():
    # The queue behind the tenth round is 0, 1, … 30 times the RTT at hand.
    delay = [9.0] * 10 + [1.0 + k for k in range(31)]
    found = features.features(trajectory([100] * 10 + [10] * 31, delay=delay, delivered=[9] * 10 + [4] * 31))
    assert [found[f"delay p{percent}"] for percent in (5, 25, 50, 75, 95)] == [1.5, 7.5, 15.0, 22.5, 28.5]
    # 98 % of the rounds have 100 segments at most.
    assert found["flight p50"] == 0.1
    assert (found["segments a round"], found["flight over deliveries"]) == (pytest.approx(np.log(5)), 2.5)


def test_slow_start_is_its_growth_and_height_over_what_follows():
    # Doublings to 64, then 16: the median behind the first quarter.
    of = trajectory(
        [1, 2, 4, 8, 16, 32, 64, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 99, 16, 16]
    )
    found = dict(features._start(of, mask(24, 7, 8)))
    assert found == {
        "start growth": 1.0,
        "start growth p50": 0.5,
        "start rounds": 7.0,
        "start height": 4.0,
        "start height at 20": 4.0,
    }
    # Without a loss it goes on to the end, and 200 rounds at most.
    whole = dict(features._start(of, mask(24)))
    assert (whole["start rounds"], whole["start height"]) == (24.0, 99 / 16)
    long = dict(features._start(trajectory([4] * 300), mask(300, 250)))
    assert long["start rounds"] == 200.0
    # A loss in the very first round, and a flight that only falls.
    first = dict(features._start(trajectory([8, 4, 2, 2]), mask(4, 0)))
    assert (first["start rounds"], first["start growth"], first["start height"]) == (0.0, 0.0, 4.0)


def test_what_a_loss_leaves_is_the_least_flight_behind_it():
    flight = [20] * 5 + [20, 24, 22, 9, 12, 10, 10] + [10] * 4
    of = trajectory(flight, resent=[7])
    # The recovery is from 6 to 8, before it 20, 20 and 24, and behind it 12 and 10 in the rounds 9 and 10.
    found = dict(features._losses(of, mask(16, 6, 7, 8)))
    assert found == {
        "losses a hundred rounds": 6.25,
        "segments lost a round": 1 / 16,
        **dict.fromkeys(("kept p10", "kept p50", "kept p90"), 10 / 24),
    }


def test_the_first_of_three_losses_is_of_slow_start():
    flight = np.full(40, 10.0)
    flight[[4, 14, 24]] = 100.0, 20.0, 40.0
    found = dict(features._losses(trajectory(flight), mask(40, 5, 15, 25)))
    # The first leaves a tenth. The others leave 10 of 20 and of 40.
    assert [found[f"kept p{percent}"] for percent in (10, 50, 90)] == pytest.approx([0.275, 0.375, 0.475])
    two = dict(features._losses(trajectory(flight), mask(40, 5, 15)))
    assert two["kept p50"] == pytest.approx((0.1 + 0.5) / 2)
    # A recovery that lasts to the end leaves nothing.
    assert dict(features._losses(trajectory(flight), mask(40, 38, 39)))["kept p50"] == -1.0
    assert dict(features._losses(trajectory(flight), mask(40, 38)))["kept p50"] == -1.0
    assert dict(features._losses(trajectory(flight), mask(40, 37)))["kept p50"] == 1.0


@pytest.mark.parametrize(
    ("marked", "skipped", "between"),
    [
        ([], 0, [(0, 30)]),
        ([10], 0, [(0, 10), (11, 30)]),
        # Six rounds are the least. The first ones are left out.
        ([6], 0, [(0, 6), (7, 30)]),
        ([5], 0, [(6, 30)]),
        ([10], 4, [(4, 10), (11, 30)]),
        ([10], 5, [(11, 30)]),
        ([0, 29], 0, [(1, 29)]),
        ([12, 13, 14], 20, [(20, 30)]),
    ],
)
def test_growth_is_between_losses(marked, skipped, between):
    assert list(features._between(mask(30, *marked), skipped)) == between


def test_steps_are_counted_outside_of_recoveries():
    # Behind the 20th round: up by one, none, two, then down by four of ten, and a recovery.
    flight = [9] * 21 + [10, 10, 12, 8, 8, 8, 2, 8, 8]
    found = dict(features._growth(trajectory(flight), mask(30, 27)))
    # Steps from 20 to 29 but those into and out of round 27: 1, 0, 2, -4, 0, 0 and 0.
    assert found["steps of none"] == pytest.approx(4 / 7)
    assert found["steps of one"] == pytest.approx(1 / 7)
    assert found["steps down"] == pytest.approx(1 / 7)
    assert found["largest step down"] == pytest.approx(4 / 12)


@pytest.mark.parametrize(
    ("queues", "correlation"), [([1.0, 2.0], 1.0), ([2.0, 1.0], -1.0), ([1.0, 1.0], 0.0)]
)
def test_growth_is_compared_with_the_delay_of_the_round_before_a_step(queues, correlation):
    # From the 21st round on by 1, 2, 1, 2 …, with these queues before. Earlier ones are left out.
    flight = np.concatenate((np.full(20, 9.0), 10.0 + np.concatenate(([0.0], np.cumsum([1.0, 2.0] * 10)))))
    delay = np.concatenate((np.full(20, 7.0), 1.0 + np.array(queues * 10), [1.0]))
    found = dict(features._growth(trajectory(flight, delay=delay), mask(41)))
    assert found["growth against delay"] == pytest.approx(correlation)


def test_a_cycle_shows_after_its_length():
    wave = 10 + np.array([0, 1, 0, -1] * 20, dtype=float)
    found = dict(features._cycles(trajectory(wave), mask(80)))
    assert found["flight after 2"] == pytest.approx(-1.0, abs=0.02)
    assert found["flight after 4"] == pytest.approx(1.0, abs=0.02)
    assert found["flight after 6"] == pytest.approx(-1.0, abs=0.02)
    # 60 rounds are behind the first quarter: a lag of 32 needs more than 72.
    assert found["flight after 32"] == 0.0
    assert found["flight after 16"] == pytest.approx(1.0, abs=0.02)
    # The limit is at two lags and eight rounds.
    assert dict(features._cycles(trajectory(wave[:52]), mask(52)))["flight after 16"] == 0.0
    assert dict(features._cycles(trajectory(wave[:54]), mask(54)))["flight after 16"] != 0.0


def test_dips_without_a_loss_are_counted_in_ten_seconds():
    # 100 rounds of 100 ms. Two dips to 4 of 10, one to 6, which is none, and one with a loss.
    flight = np.full(100, 10.0)
    flight[[30, 31, 50, 60, 70]] = 4.0, 5.0, 4.0, 6.0, 2.0
    found = dict(features._dips(trajectory(flight), mask(100, 70)))
    assert found["dips in ten seconds"] == pytest.approx(2.0)
    assert found["share of dips"] == pytest.approx(3 / 80)
    assert found["least flight"] == pytest.approx(0.4)


def test_a_correlation_needs_four_values_that_vary():
    assert features._correlation(np.arange(4.0), np.arange(4.0) * 2) == pytest.approx(1.0)
    assert features._correlation(np.arange(3.0), np.arange(3.0)) == 0.0
    assert (
        features._correlation(np.ones(5), np.arange(5.0))
        == features._correlation(np.arange(5.0), np.ones(5))
        == 0.0
    )
