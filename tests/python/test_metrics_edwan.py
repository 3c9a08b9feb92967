"""Metrics of chapter 5 of Edwan 2010 on runs written by hand, with the identities of its specification."""

import dataclasses
import math

import numpy as np
import pyarrow as pa
import pytest

import ackclock
from ackclock import metrics
from ackclock.metrics import MetricError
from ackclock.papers.data.edwan2010.models import responses
from handmade import events, handmade

RUN = handmade()


def series(windows, rtt=0.1, step=0.02, start=0.0):
    """A run in which flow `a` has these windows every ``step`` seconds, at an RTT of ``rtt`` seconds."""
    count = len(windows)
    table = {
        "time_s": start + step * np.arange(count),
        "flow": pa.array([0] * count, pa.uint32()),
        "window_segments": np.array(windows, dtype=float),
        "smoothed_rtt_ms": np.full(count, 1e3 * rtt),
    }
    return dataclasses.replace(RUN, flow_series=pa.table(table))


def saw_tooth(alpha, beta, peak=40.0, rtt=0.1, step=0.02, count=2000):
    """AIMD: alpha packets in each RTT up to a peak, where beta of the window goes."""
    window, windows = peak / 2, []
    for _ in range(count):
        window = window + alpha * step / rtt
        window = window * (1 - beta) if window > peak else window
        windows.append(window)
    return series(windows, rtt, step)


def arrivals(first, second, joins, until=400.0):
    """A run of two flows that bring so many packets per second. The second begins at ``joins``."""
    times = np.arange(0.0, until + 0.1, 0.1)
    counts = [first * times, second * np.maximum(times - joins, 0.0)]
    flows = RUN.flows.set_column(3, "start_s", pa.array([0.0, joins])).set_column(
        4, "stop_s", pa.array([until, until])
    )
    table = pa.table(
        {
            "time_s": np.concatenate([times, times]),
            "flow": pa.array([0] * times.size + [1] * times.size, pa.uint32()),
            "arrived_packets": np.concatenate(counts),
            "arrived_bytes": 1000.0 * np.concatenate(counts),
        }
    )
    return dataclasses.replace(RUN, flows=flows, flow_series=table)


@pytest.mark.parametrize(("alpha", "beta"), [(1.0, 0.5), (2.0, 0.125)])
def test_the_smoothness_of_aimd_is_its_beta(alpha, beta):
    # Up to an ACK's growth, alpha/5 of 40 packets, which falls into the same sample.
    assert metrics.smoothness(saw_tooth(alpha, beta), "a") == pytest.approx(beta, abs=alpha / 5 / 40)


@pytest.mark.parametrize("alpha", [1.0, 3.0])
def test_the_aggressiveness_of_aimd_is_alpha_over_the_rtt(alpha):
    assert metrics.aggressiveness(saw_tooth(alpha, 0.5), "a") == pytest.approx(alpha / 0.1)


def test_smoothness_looks_one_rtt_back_and_not_further():
    # 20, 16 and 12 a tenth of a second apart: a quarter within 0.1 s, 40 % within 0.2 s.
    run = series([20, 16, 12], rtt=0.1, step=0.1)
    assert metrics.smoothness(run, "a") == pytest.approx(0.25)
    assert metrics.smoothness(run, "a", rtt=0.2) == pytest.approx(0.4)
    assert metrics.aggressiveness(run, "a") == 0.0


@pytest.mark.parametrize(("beta", "rounds"), [(0.5, 1), (0.3, 2), (0.125, 6), (0.2, 4)])
def test_responsiveness_is_the_logarithm_of_a_half(beta, rounds):
    # ln 0.5/ln 0.875 = 5.19, ln 0.5/ln 0.8 = 3.11, ln 0.5/ln 0.7 = 1.94.
    run = series([100 * (1 - beta) ** k for k in range(10)], rtt=0.1, step=0.1)
    assert metrics.responsiveness(run, "a", 0.0) == pytest.approx(rounds)
    assert responses.rounds_to_halve(beta) == rounds


def test_a_window_that_is_sampled_too_rarely_has_no_smoothness():
    # Every 0.1 s at an RTT of 0.05 s: what happens within an RTT cannot be seen.
    run = series([20, 10, 20], rtt=0.05, step=0.1)
    for metric in (metrics.smoothness, metrics.aggressiveness):
        with pytest.raises(MetricError, match='sampled less than once an RTT: record flow_series = "1ack"'):
            metric(run, "a")


def test_a_simulated_reno_flow_has_the_metrics_of_aimd():
    path = ackclock.Path("10mbit", rtt="40ms", queue="40p")
    scenario = ackclock.Scenario(
        path=path,
        flows=[ackclock.Flow("newreno")],
        duration="40s",
        warmup="10s",
        record=ackclock.Record(flow_series="1ack"),
    )
    run = ackclock.simulate(scenario)
    assert metrics.smoothness(run, "newreno-0", 10, 40) == pytest.approx(0.5, abs=0.03)
    # A packet in each RTT, of 40 ms at the shortest and about 87 ms before a loss.
    assert 1 / 0.09 < metrics.aggressiveness(run, "newreno-0", 10, 40) < 1.1 / 0.04
    assert metrics.goodput_ratio(run, "newreno-0") == pytest.approx(1 - metrics.loss_rate(run), abs=1e-3)


def test_a_window_that_never_halves_has_no_responsiveness():
    assert math.isnan(metrics.responsiveness(series([10, 9, 8]), "a", 0.0))


def test_the_moving_average_begins_at_zero():
    # 500 packets of 1000 bytes a second are 4 Mbit/s: 0.5, then 0.75 of it with s = 0.5.
    times, rates = metrics.smoothed_throughput(arrivals(500, 0, 0.0), "a", 1.0, 0.5, 1000.0)
    assert times[:3].tolist() == [1.0, 2.0, 3.0]
    assert rates[:3] == pytest.approx([2e6, 3e6, 3.5e6])


def test_the_filter_alone_takes_64_seconds_to_see_fair_shares():
    # The second flow has half of 8 Mbit/s from its start: 1 - 0.995^k >= 0.8 at k = 322 periods of 0.2 s.
    run = arrivals(500, 500, 100.0)
    assert metrics.delta_fair_time(run, "a", "b") == pytest.approx(64.4)


def test_shares_may_be_those_of_the_sum():
    # The first flow has run 500 periods: 1 - x >= 2/3 (1 - 0.0816 x) for x = 0.995^k, so k = 209.
    run = arrivals(500, 500, 100.0)
    assert metrics.delta_fair_time(run, "a", "b", of="sum") == pytest.approx(41.8)


def test_flows_that_never_share_have_no_convergence_time():
    assert math.isnan(metrics.delta_fair_time(arrivals(800, 200, 100.0), "a", "b"))


def test_fair_shares_may_have_to_last():
    # The average reaches 0.8 once and stays, so holding adds nothing.
    run = arrivals(500, 500, 100.0)
    assert metrics.delta_fair_time(run, "a", "b", hold=10.0) == pytest.approx(64.4)
    # From there to the last sample, and a sample longer.
    times, _ = metrics.smoothed_throughput(run, "b")
    left = float(times[-1]) - 100.0 - 64.4
    assert metrics.delta_fair_time(run, "a", "b", hold=left) == pytest.approx(64.4)
    assert math.isnan(metrics.delta_fair_time(run, "a", "b", hold=left + 0.2))


def test_epsilon_convergence_is_counted_from_the_start_of_the_flow():
    # 1 - 0.9^k >= 0.8 at k = 16 (0.9^15 = 0.206, 0.9^16 = 0.185), periods of 0.2 s.
    run = arrivals(500, 500, 100.0)
    assert metrics.epsilon_time(run, "b", 0.8, factor=0.1) == pytest.approx(3.2)
    # 0.9^22 = 0.098: 90 % after 4.4 s.
    assert metrics.epsilon_time(run, "b", 0.9, factor=0.1) == pytest.approx(4.4)
    # The first flow is near its average when the second begins: one period.
    assert metrics.epsilon_time(run, "a", 0.8, since=100.0, factor=0.1) == pytest.approx(0.2)


def test_asymmetry_runs_from_one_to_minus_one():
    assert [metrics.asymmetry(x, 4 - x) for x in (4.0, 3.0, 2.0, 0.0)] == [1.0, 0.5, 0.0, -1.0]
    assert math.isnan(metrics.asymmetry(0.0, 0.0))
    # 4 and 2 Mbit/s in the table.
    assert metrics.asymmetry_index(RUN, "a", "b") == pytest.approx(1 / 3)


def test_network_power_is_largest_for_equal_rates():
    assert metrics.log_product([2.0, 2.0, 2.0]) == pytest.approx(math.log(8.0))
    assert metrics.log_product([1.0, 2.0, 3.0]) == pytest.approx(math.log(6.0))
    assert metrics.log_product([6.0, 0.0, 0.0]) == -math.inf
    assert metrics.network_power(RUN) == pytest.approx(math.log(8e12))


def test_jain_of_equal_users_among_idle_ones_is_their_share():
    assert metrics.jain([5.0, 5.0, 5.0, 0.0]) == pytest.approx(3 / 4)


def test_epsilon_fairness_is_one_less_the_worst_ratio():
    assert metrics.epsilon_fairness(RUN) == pytest.approx(0.5)


def test_friendliness_compares_mean_goodputs():
    assert metrics.friendliness(RUN, ["a"]) == pytest.approx(0.5)
    assert metrics.friendliness(RUN, ["b"], ["a"]) == pytest.approx(2.0)
    with pytest.raises(MetricError, match="needs Reno flows and others"):
        metrics.friendliness(RUN, ["a", "b"])


def test_the_congestion_that_flows_cause_has_four_numbers():
    # The losses of `a` at 2.5, 3.5 and 4.5 s are 1 s apart. The queue is 0 to 10: variance 10, mean 5.
    links = RUN.links.append_column("queue_delay_mean_ms", pa.array([0.0, 40.0]))
    found = metrics.congestion_caused(dataclasses.replace(RUN, links=links), "a")
    assert found.queue_delay_ms == 40.0
    assert found.queue_variation == pytest.approx(math.sqrt(10) / 5)
    assert found.event_rate == pytest.approx(1.0)
    # 30 of 3000 and 50 of 1000 packets.
    assert found.loss_rate == pytest.approx(80 / 4000)


def test_rtt_unfairness_is_an_exponent():
    # Rates as 2 to 1, base RTTs as 40 to 50 ms: ln 2/ln 1.25.
    assert metrics.rtt_unfairness(RUN, "a", "b") == pytest.approx(math.log(2) / math.log(1.25))
    assert metrics.rtt_unfairness(RUN, "b", "a") == pytest.approx(3.10628, rel=1e-5)


def test_a_measured_response_function_is_sorted_by_loss():
    other = dataclasses.replace(RUN, flows=RUN.flows.set_column(9, "loss_rate", pa.array([0.001, 0.0])))
    losses, rates = metrics.response_function([RUN, other], "a")
    assert losses.tolist() == [0.001, 0.01]
    assert rates.tolist() == [4e6, 4e6]


def test_oscillation_is_zero_for_a_steady_flow():
    assert metrics.oscillation(RUN, "a", 1.0, 0.0, 10.0) == 0.0
    # 2, 2, 4, 4 Mbit/s: deviation 1, mean 3.
    assert metrics.oscillation(RUN, "b", 1.0, 4.0, 8.0) == pytest.approx(1 / 3)


def test_losses_of_two_flows_in_one_rtt_are_synchronised():
    # Base RTTs are 40 and 50 ms. Events: both flows at 1 s, `a` at 2 s, and `b` 60 ms after it.
    rows = [(1.0, "drop", 0, None), (1.04, "drop", 1, None), (2.0, "lost", 0, None), (2.06, "drop", 1, None)]
    run = dataclasses.replace(RUN, events=events(rows))
    assert metrics.synchronized_losses(run) == pytest.approx(1 / 3)
    assert metrics.synchronized_losses(run, span=0.1) == 1.0
    assert metrics.synchronized_losses(run, ["a"]) == 0.0


def test_the_goodput_ratio_is_what_loss_leaves():
    # 3000 packets of 1000 bytes sent, 1 % of them lost: 2 970 000 bytes are delivered.
    flows = RUN.flows.append_column("delivered_bytes", pa.array([2_970_000, 950_000]))
    run = dataclasses.replace(RUN, flows=flows)
    assert metrics.goodput_ratio(run, "a", 1000.0) == pytest.approx(1 - metrics.loss_rate(run, "a"))
    assert metrics.cost(run, "b", 1000.0) == pytest.approx(1 / 0.95)


def test_a_large_window_hardly_gets_through_unharmed():
    # 1 - 0.99^2 = 0.0199. A window of one loses a packet with p itself.
    assert responses.loss_in_window(0.01, [1, 2]) == pytest.approx([0.01, 0.0199])


def test_bad_arguments_are_refused_by_name():
    run = arrivals(500, 500, 100.0)
    with pytest.raises(MetricError, match="factor = 0: must be above 0 and at most 1"):
        metrics.smoothed_throughput(run, "a", factor=0.0)
    with pytest.raises(MetricError, match='of = "both": must be "link" or "sum"'):
        metrics.delta_fair_time(run, "a", "b", of="both")
    with pytest.raises(MetricError, match="epsilon = 1: must be above 0 and below 1"):
        metrics.epsilon_time(run, "b", 1.0)
    with pytest.raises(MetricError, match="flows `a` and `a` have the same base RTT"):
        metrics.rtt_unfairness(RUN, "a", "a")
    with pytest.raises(MetricError, match="there is no loss in the interval"):
        metrics.synchronized_losses(RUN, start=6.0)


def test_a_signal_at_the_tolerance_has_settled():
    # 11, 12, 12, 13, 14 at the five steps: 12 is a seventh of 14 below it.
    assert metrics.steps_until_settled(RUN, "a", "shadow_window", "interval", 1 / 7) == 2.0


def test_arrivals_without_a_series_end_at_once():
    empty = dataclasses.replace(RUN, flow_series=RUN.flow_series.slice(0, 0))
    with pytest.raises(MetricError, match="the series ends before 0 s"):
        metrics.packets_arrived(empty)
