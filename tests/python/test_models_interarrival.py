"""Loss differentiation from inter-arrival times, against chapter 8 of the thesis."""

import numpy as np
import pytest

from ackclock import interarrival
from ackclock.errors import InputError

T = 8000 / 3e6


def test_figure_8_6_has_four_terms_without_t():
    # T, 2T, 3T, 4T give T three times, 2T twice and 3T once. Four of the 15 differences of these, the pairs
    # of equal terms, hold no T: 3 of T and 1 of 2T.
    first = interarrival.differences([1, 2, 3, 4])
    assert first.tolist() == [1, 1, 1, 2, 2, 3]
    second = interarrival.differences(first)
    assert second.size == 15
    assert np.count_nonzero(second == 0) == 3 + 1


def test_noise_of_the_samples_stays_where_multiples_of_t_cancel():
    # 1, 2, 3 and 4 T with 0.1, 0.05, 0.02 and 0.01 of noise: T - 0.05, T - 0.03, T - 0.01, 2T - 0.08,
    # 2T - 0.04 and 3T - 0.09. Those below T have gone after the first iteration.
    gaps = [1.1, 2.05, 3.02, 4.01]
    found = interarrival.cancel(gaps, 1.0, 1)
    assert found.noise == pytest.approx([0.95, 0.97, 0.99])
    assert found.remaining == pytest.approx([1.92, 1.96, 2.91])
    # Then 0.04, 0.95 and 0.99, all below T.
    assert interarrival.cancel(gaps, 1.0, 2).noise == pytest.approx([0.95, 0.97, 0.99, 0.04, 0.95, 0.99])


def test_the_largest_term_shrinks_in_every_iteration():
    random = np.random.default_rng(8)
    for _ in range(1000):
        # Five gaps have 10, 45 and 990 differences: the canceller does not stop early.
        count = random.integers(4, 6)
        gaps = (random.integers(1, 7, count) + random.uniform(0, 0.01, count)) * T
        largest = [gaps.max()]
        for iterations in (1, 2, 3):
            left = interarrival.cancel(gaps, T, iterations).remaining
            if not left.size:
                break
            largest.append(left.max())
        assert np.all(np.diff(largest) < 0)


def test_exact_multiples_of_t_leave_no_noise_despite_rounding():
    gaps = np.arange(1, 8) * T + 0.1 - 0.1
    assert interarrival.residual_noise(gaps, T, 3) == 0.0


def test_the_three_definitions_of_rho():
    # Two of the six differences of 1, 1.25, 2 and 5 T are below T: 0.25 and 0.75. 1 T is not.
    gaps = np.array([1.0, 1.25, 2.0, 5.0]) * T
    assert interarrival.residual_noise(gaps, T) == 2.0
    assert interarrival.residual_noise(gaps, T, definition="B") == pytest.approx(1.0)
    assert interarrival.residual_noise(gaps, T, definition="C") == pytest.approx(2 / 6)


def test_the_noise_level_separates_small_counts():
    # tanh(rho/2).
    assert interarrival.noise_level([0, 1, 2, 3]) == pytest.approx([0, 0.46, 0.76, 0.91], abs=5e-3)
    assert interarrival.noise_level(1, 10.0) == pytest.approx(0.9999, abs=5e-5)
    assert interarrival.noise_level(1, 0.1) == pytest.approx(0.05, abs=5e-4)


def test_the_span_compares_the_extremes():
    assert interarrival.span([2.0, 2.0, 2.0]) == 0.0
    assert interarrival.span([1.0, 2.0, 5.0]) == pytest.approx(0.8)


@pytest.mark.parametrize("combine", ["sum", "product"])
def test_only_a_large_span_without_noise_makes_the_decrease_small(combine):
    # Table 8.1: low and low, low and high, high and low, high and high.
    factors = interarrival.decrease_factor([0.1, 0.1, 0.9, 0.9], [0.1, 0.9, 0.1, 0.9], combine)
    assert np.argmin(factors) == 2
    assert factors[2] < 0.21
    assert factors[[0, 1, 3]].min() > 0.9
    assert factors.max() <= 1.0


def test_a_wireless_loss_removes_less_than_congestion():
    # Gaps of 3T and T: a span of 2/3, no noise: mu = 1/3, beta' = 1/6. Equal gaps: the whole half.
    assert interarrival.decrease(np.array([3, 1, 1, 1]) * T, T) == pytest.approx(1 / 6)
    assert interarrival.decrease(np.full(4, T), T) == pytest.approx(0.5)
    assert interarrival.modified_window(30, np.array([3, 1, 1, 1]) * T, T) == pytest.approx(25.0)
    assert interarrival.modified_window(3, np.full(4, T), T) == 2.0


def test_runs_of_three_duplicates_are_taken_from_a_trace():
    acks = [1, 2, 3, 3, 3, 3, 7, 7, 7, 8, 9, 9, 9, 9, 9]
    times = np.arange(15) * 0.1
    runs = interarrival.duplicate_ack_times(times, acks)
    # ACK 3 at 0.2 s and its three duplicates. 7 has two, and 9 at 1.0 s has four.
    assert [run.tolist() for run in runs] == [
        pytest.approx([0.2, 0.3, 0.4, 0.5]),
        pytest.approx([1.0, 1.1, 1.2, 1.3, 1.4]),
    ]


def test_the_unit_is_the_least_gap_that_is_not_compressed():
    # Median 3, so gaps below 1.5 are compressed ACKs.
    assert interarrival.transmission_time([3.0, 0.2, 2.6, 9.0, 3.1]) == 2.6


def test_the_canceller_stops_at_large_sets():
    # 60 gaps have 1770 differences, whose differences would be 1.5 million.
    gaps = np.arange(1, 61) * T
    assert interarrival.cancel(gaps, T, 3).remaining.size == 1770


def test_what_cannot_be_estimated_is_refused():
    with pytest.raises(InputError, match="gaps: must have one above 0"):
        interarrival.span([0.0, 0.0])
    with pytest.raises(InputError, match="unit = 0: must be above 0"):
        interarrival.cancel([1.0, 2.0], 0.0)
    with pytest.raises(InputError, match="must be lists of one length"):
        interarrival.duplicate_ack_times([0.0], [1, 2])
    with pytest.raises(InputError, match="gaps is empty"):
        interarrival.transmission_time([])


def test_a_replayed_trace_meets_reno_at_a_timeout():
    # Reno: 20, 21, halved, 11.5, timeout, 2. With beta' = 0.1 the 21 become 18.9, then 19.9. 1 and 2 are as
    # Reno.
    reno = [20, 21, 10.5, 11.5, 1, 2]
    assert interarrival.replayed_windows(reno, {2: 0.1}, {4}) == pytest.approx([20, 21, 18.9, 19.9, 1, 2])
    assert interarrival.replayed_windows(reno, {2: 0.5}, {4}) == pytest.approx(reno)
    assert interarrival.replayed_windows([3, 1.5], {1: 0.5}).tolist() == [3, 2]


def test_a_replayed_window_stays_within_the_receiver_s_window():
    # Reno: 36, halved, one more each time. With beta' = 0.1 the 36 become 32.4, 33.4, 34.4 and stay at 35.
    reno = [36, 18, 19, 20, 21, 22, 11]
    replayed = interarrival.replayed_windows(reno, {1: 0.1, 6: 0.2}, receive_window=35)
    assert replayed == pytest.approx([36, 32.4, 33.4, 34.4, 35, 35, 28])
    # Slow start takes Reno itself past it: the same until a cut, then 42.4 stays. It has Reno's losses.
    reno = [30, 53, 26.5, 27.5, 20]
    replayed = interarrival.replayed_windows(reno, {2: 0.2}, receive_window=40)
    assert replayed == pytest.approx([30, 53, 42.4, 42.4, 34.9])
