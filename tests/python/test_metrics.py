"""Metrics over hand-made tables, and their registry."""

import dataclasses
import inspect
import math
import pkgutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import ackclock
from ackclock import metrics
from ackclock.groups import grouped
from ackclock.metrics import MetricError
from handmade import events, handmade

ROOT = Path(__file__).parents[2]
RUN = handmade()


def test_goodput_over_an_interval_counts_what_was_delivered_in_it():
    assert metrics.goodput(RUN, "a", 2.0, 6.0) == pytest.approx(4.0e6)
    # b: 2 s of 250 000 bytes and 2 s of 500 000 bytes, in 4 s.
    assert metrics.goodput(RUN, "b", 4.0, 8.0) == pytest.approx(3.0e6)
    assert metrics.goodput(RUN, None, 4.0, 8.0) == pytest.approx(7.0e6)


def test_goodput_is_interpolated_between_samples():
    assert metrics.goodput(RUN, "b", 5.5, 6.5) == pytest.approx((125_000 + 250_000) * 8)


def test_goodput_without_interval_is_that_of_the_table():
    assert metrics.goodput(RUN, "b") == 2.0e6
    assert metrics.goodput(RUN) == 6.0e6


def test_goodput_refuses_half_an_interval_and_an_empty_one():
    with pytest.raises(MetricError, match="both ends"):
        metrics.goodput(RUN, "a", 2.0)
    with pytest.raises(MetricError, match="from 3 s to 3 s is empty"):
        metrics.goodput(RUN, "a", 3.0, 3.0)


def test_bins_are_at_centres_and_missing_outside_the_flow():
    centres, values = metrics.goodput_bins(RUN, "b", 2.0)
    assert centres.tolist() == [1, 3, 5, 7, 9]
    assert np.isnan(values[:2]).all()
    assert values[2:].tolist() == [2e6, 4e6, 4e6]


def test_windows_that_do_not_fit_are_left_out():
    assert metrics.goodput_windows(RUN, "b", 2.0, 4.0, 9.0).tolist() == [2e6, 4e6]
    with pytest.raises(MetricError, match="no window of 4 s"):
        metrics.goodput_windows(RUN, "b", 4.0, 4.0, 7.0)


def test_the_table_of_links_says_which_is_the_bottleneck():
    assert metrics.link_rate(RUN) == 8.0e6
    assert metrics.utilization(RUN) == 0.75
    # 750 000 bytes a second are 6 of the 8 Mbit/s.
    assert metrics.utilization(RUN, "bottleneck", 2.0, 4.0) == pytest.approx(0.75)
    for start, stop in ((2.0, None), (None, 4.0), (4.0, 4.0)):
        with pytest.raises(MetricError, match="both ends"):
            metrics.utilization(RUN, "bottleneck", start, stop)
    assert metrics.busy_share(RUN) == 0.8
    assert metrics.queue_delay(RUN, "max") == 100.0
    assert metrics.packet_queue_delay(RUN, "p95") == 90.0
    assert metrics.queue_length(RUN) == 12.0


def test_utilization_over_an_interval_counts_what_could_have_left():
    capacity = np.array([0.0, 1e6, 2e6, 2e6, 2e6, 3e6, 4e6, 5e6, 6e6, 7e6, 8e6])
    series = RUN.link_series.set_column(4, "capacity_bytes", pa.array(capacity))
    stepped = dataclasses.replace(RUN, link_series=series)
    # From 1 to 5 s 3,000,000 bytes left and 2,000,000 could have, as on no link. From 2 to 4 s none could.
    assert metrics.utilization(stepped, "bottleneck", 1.0, 5.0) == 1.5
    assert metrics.utilization(stepped, "bottleneck", 2.0, 4.0) == 0.0
    earlier = dataclasses.replace(RUN, link_series=series.drop_columns("capacity_bytes"))
    with pytest.raises(MetricError, match="what its links could have sent"):
        metrics.utilization(earlier, "bottleneck", 2.0, 4.0)


def test_the_offered_load_adds_up_the_connections_of_a_name():
    flows = pa.table(
        {
            "name": ["web-0", "web-1", "website", "bulk"],
            "throughput_bps": [8.0e6, 4.0e6, 1.0e6, 1.0e6],
            "measured_s": [0.5, 2.0, 10.0, 10.0],
        }
    )
    links = RUN.links.append_column("departed_bytes", pa.array([0, 7_500_000]))
    links = links.append_column("throughput_bps", pa.array([0.0, 6.0e6]))
    run = dataclasses.replace(RUN, flows=flows, links=links)
    # 4 and 8 Mbit in the 10 s in which 60 Mbit left the link at 6 Mbit/s.
    assert metrics.offered_load(run, "web") == pytest.approx(1.2e6)
    assert metrics.offered_load(run, "bulk") == pytest.approx(1.0e6)
    with pytest.raises(MetricError, match="no flow `mail`"):
        metrics.offered_load(run, "mail")


def test_an_unknown_flow_is_named_with_the_known_ones():
    with pytest.raises(MetricError, match=r"no flow `c` in this run \(there are a, b\)"):
        metrics.goodput(RUN, "c")
    with pytest.raises(MetricError, match="no link `x`"):
        metrics.link_rate(RUN, "x")


def test_rtt_percentiles_come_from_the_samples_of_the_interval():
    assert metrics.rtt_percentile(RUN, 50, "a", 0.0, 10.0) == 90.0
    assert metrics.rtt_percentile(RUN, 100, "a", 0.0, 4.0) == 80.0
    assert metrics.rtt_percentile(RUN, 50, "b", above_base=True) == 10.0
    assert metrics.rtt_range(RUN, flow="a") == 50.0


def test_samples_of_several_flows_use_each_base_rtt():
    # a at 8, 9 and 10 s: 80, 90 and 100 ms over 40. b: 10 ms over 50, three times.
    above = metrics.rtt_samples(RUN, None, 8.0, 10.0, above_base=True)
    assert sorted(above.tolist()) == [10.0, 10.0, 10.0, 80.0, 90.0, 100.0]


def test_an_interval_without_a_sample_has_no_rtt():
    with pytest.raises(MetricError, match="no RTT sample"):
        metrics.rtt_percentile(RUN, 50, "b", 0.0, 3.0)


def test_the_loss_rate_of_all_flows_weighs_by_packets():
    assert metrics.loss_rate(RUN, "b") == 0.05
    assert metrics.loss_rate(RUN) == pytest.approx(80 / 4000)


def test_events_are_counted_by_kind_flow_and_interval():
    assert metrics.event_count(RUN, "drop") == 3
    assert metrics.event_count(RUN, "drop", "a", 3.0, 5.0) == 2
    assert metrics.event_count(RUN, ["drop", "deemed-lost"]) == 4
    assert metrics.event_value(RUN, "drop") == 83.5
    with pytest.raises(MetricError, match="no event `mark`"):
        metrics.event_value(RUN, "mark")


def test_event_share_uses_the_latest_value_of_the_signal():
    # The state is 1 from 3 s on: two of the drops at 2.5, 3.5 and 4.5 s.
    assert metrics.event_share(RUN, "drop", "queue_state", 1.0, "a") == pytest.approx(2 / 3)


def test_jains_index():
    assert metrics.jain([5.0, 5.0, 5.0]) == pytest.approx(1.0)
    assert metrics.jain([1.0, 0.0, 0.0, 0.0]) == pytest.approx(0.25)
    assert metrics.jain_index(RUN, 4.0, 8.0) == pytest.approx(49 / 50)
    assert math.isnan(metrics.jain([0.0, 0.0]))


def test_the_max_min_ratio_is_infinite_when_a_flow_starves():
    assert metrics.max_min_ratio(RUN, 4.0, 8.0) == pytest.approx(4 / 3)
    assert metrics.max_min_ratio(RUN, 0.0, 4.0) == math.inf


def test_where_nothing_is_delivered_nothing_converges():
    path = ackclock.Path("10mbit", "20ms", "20p", loss="100%")
    run = ackclock.simulate(path, ["newreno", "newreno"], duration="5s")
    a, _ = run.flows["name"].to_pylist()
    assert metrics.time_to_share(run, a, 0.9, 0.0, 5.0, 1.0) == 5.0
    with pytest.raises(MetricError, match="flow `newreno-0` delivers nothing from 1 s to 5 s"):
        metrics.settling_time(run, 0.0, 5.0, 1.0, 0.1, (1.0, 5.0))
    with pytest.raises(MetricError, match="nothing of flow `newreno-0` has arrived"):
        metrics.epsilon_time(run, a)


def test_time_to_share_ends_with_the_first_bin_that_stays():
    # Shares of b in bins of 2 s from 4 s: 1/3, 1/2, 1/2.
    assert metrics.time_to_share(RUN, "b", 0.45, 4.0, 10.0, 2.0) == 4.0
    assert metrics.time_to_share(RUN, "b", 0.3, 4.0, 10.0, 2.0) == 2.0
    assert metrics.time_to_share(RUN, "b", 0.6, 4.0, 10.0, 2.0) == 6.0


def test_settling_needs_every_flow_near_its_final_mean():
    assert metrics.settling_time(RUN, 4.0, 10.0, 2.0, 0.1, (6.0, 10.0)) == 4.0
    assert metrics.settling_time(RUN, 4.0, 10.0, 2.0, 0.1, (6.0, 10.0), ["a"]) == 2.0


def test_signals_are_columns_of_the_series_or_probes():
    assert metrics.signal_percentile(RUN, "a", "window", 0.0) == pytest.approx(8.4)
    assert metrics.signal_percentile(RUN, "a", "shadow_window", 100.0, 0.0, 4.0) == 13.0
    assert metrics.signal_at(RUN, "a", "shadow_window", 1.9) == 11.0
    with pytest.raises(MetricError, match="recorded no signal `alpha`"):
        metrics.samples(RUN, "a", "alpha")


def test_a_change_compares_a_step_with_the_sample_before():
    assert metrics.change_at(RUN, "a", "window", "window", "backoffs") == pytest.approx(0.7)
    grown = metrics.change_at(RUN, "a", "window", "window", "interval", "difference", "growth")
    assert grown == pytest.approx(1.0)
    # At the back-off the shadow window is 12, as the window was.
    largest = metrics.change_at(
        RUN, "a", "window", ["window", "shadow_window"], "interval", start=4.0, stop=4.0
    )
    assert largest == pytest.approx(9.4 / 12)


def test_a_counter_that_never_rises_gives_no_change():
    with pytest.raises(MetricError, match="never rises"):
        metrics.change_at(RUN, "a", "window", "window", "backoffs", start=4.0)


def test_a_lag_is_counted_in_steps_of_the_counter():
    assert metrics.lag(RUN, "a", "raw_max", "raw_min", "<=0", "interval", 0.0) == 2.0
    with pytest.raises(MetricError, match="`raw_min` of `a` never is <=0"):
        metrics.lag(RUN, "a", "raw_max", "raw_min", "<=0", "interval", 0.0, 4.0)


def test_the_mathis_model_sets_no_limit_without_loss():
    # Warnings are errors in tests.
    assert metrics.mathis(0.0, 0.04, 1448) == math.inf


def test_the_mathis_model_at_one_percent():
    # 1448 * 8 / 0.04 = 289 600 bit/s a segment and RTT, times 1.2247 / 0.1.
    assert metrics.mathis(0.01, 0.04, 1448) == pytest.approx(3.547e6, rel=1e-3)


def test_flows_of_one_name_and_controller_are_a_group():
    names = ["web-0", "web-1", "long", "web-2", "a-b", "7"]
    controllers = ["cubic", "cubic", "newreno", "newreno", "cubic", "cubic"]
    found = [(group.name, group.flows) for group in grouped(names, controllers)]
    assert found == [("2 x web", [0, 1]), ("long", [2]), ("web", [3]), ("a-b", [4]), ("7", [5])]


def test_the_peak_of_sending_is_over_the_mean_of_windows():
    # b sends 250 packets in each of two seconds, and 500 in each of two: 500 over 375.
    assert metrics.send_peak(RUN, "b", 1.0, 4.0, 8.0) == pytest.approx(4 / 3)
    assert metrics.send_peak(RUN, "a", 1.0, 4.0, 8.0) == 1.0
    with pytest.raises(MetricError, match=r"the samples of `a` are more than 0\.5 s apart"):
        metrics.send_peak(RUN, "a", 0.5, 4.0, 8.0)
    with pytest.raises(MetricError, match="`b` sends nothing in a window of 2 s"):
        metrics.send_peak(RUN, "b", 2.0, 0.0, 4.0)


def test_a_circuit_breaker_compares_with_tcp():
    # TCP at 90 ms and a loss of 0.01: 12 000 bit / (0.09 s sqrt(0.02 / 3)) = 1.633 Mbit/s, and a has 4.4.
    assert metrics.breaker_load(RUN, "a") == pytest.approx(2.694, abs=1e-3)
    assert metrics.breaker_load(RUN, "b", segment=1500) == pytest.approx(
        2.2e6 * 0.06 * math.sqrt(0.1 / 3) / 12_000
    )


def short_flows():
    """Two connections that end and one that goes on. The first began before the measured interval."""
    run = handmade()
    flows = {
        "flow": pa.array([0, 1, 2], pa.uint32()),
        "name": ["web-0", "web-1", "web-2"],
        "cc": ["cubic"] * 3,
        "start_s": [0.5, 1.5, 3.5],
        "stop_s": [2.5, 3.5, 5.0],
        "measured_s": [1.5, 2.0, 1.5],
        "delivered_bytes": [700, 1000, 400],
    }
    series = {
        "time_s": [1.0, 2.0, 2.0, 3.0, 4.0, 5.0],
        "flow": pa.array([0, 0, 1, 1, 2, 2], pa.uint32()),
        "delivered_bytes": [300, 800, 100, 600, 100, 400],
        "latest_rtt_ms": [10.0, 20.0, 40.0, 50.0, None, 60.0],
    }
    return dataclasses.replace(run, flows=pa.table(flows), flow_series=pa.table(series))


def test_goodput_of_a_group_includes_bytes_after_the_last_sample():
    (curve,) = metrics.goodput_by_group(short_flows(), 1.0)
    assert (curve.name, curve.cc) == ("3 x web", "cubic")
    assert curve.times.tolist() == [0.5, 1.5, 2.5, 3.5, 4.5]
    # From 3 s to 4 s: 400 that the second delivered by its end at 3.5 s, and 100 that are sampled at 4 s and
    # came before. Deliveries of the first after 2 s are unknown: its row is of the measured interval.
    assert (curve.values / 8).tolist() == [300, 600, 500, 500, 300]


def test_a_signal_of_a_group_is_the_mean_of_samples():
    (curve,) = metrics.signal_by_group(short_flows(), "rtt")
    assert curve.times.tolist() == [1.0, 2.0, 3.0, 5.0]
    assert curve.values.tolist() == [10.0, 30.0, 50.0, 60.0]


def test_curves_of_groups_follow_the_numbers_of_flows_in_a_part_of_the_table():
    run = short_flows()
    # The connection without its neighbours: number 2 is row 0.
    last = dataclasses.replace(run, flows=run.flows.slice(2))
    [rtt], [goodput] = metrics.signal_by_group(last, "rtt"), metrics.goodput_by_group(last, 1.0)
    assert (rtt.times.tolist(), rtt.values.tolist()) == ([5.0], [60.0])
    assert (goodput.values / 8).tolist() == [0, 0, 0, 100, 300]


def test_curves_leave_out_what_was_not_measured():
    a, b = metrics.signal_by_flow(RUN, "rtt")
    assert (a.cc, b.cc) == ("newreno", "cdg")
    assert b.times.tolist() == [5, 6, 7, 8, 9, 10]
    assert metrics.goodput_by_flow(RUN, 5.0)[0].values.tolist() == [4e6, 4e6]
    assert metrics.queue_curve(RUN).values[3] == 3.0


def with_events(*rows):
    """The hand-made run with other events of flow ``a``, given by time and kind."""
    return dataclasses.replace(RUN, events=events([(time, kind, 0, None) for time, kind in rows]))


def test_losses_close_to_each_other_are_one_congestion_event():
    # A pause above 1.5 * (40 + 100) ms = 0.21 s starts a new event: 1.3 to 4.0 s and 4.2 to 9.0 s.
    run = with_events(*((time, "drop") for time in (1.0, 1.1, 1.3, 4.0, 4.2)), (9.0, "lost"))
    assert metrics.loss_event_distance(run, "a") == pytest.approx((2.7 + 4.8) / 2)
    assert metrics.loss_event_distance(run, "a", gap=3.0) == pytest.approx(4.8)
    assert metrics.loss_event_distance(run, "a", start=2.0) == pytest.approx(4.8)
    with pytest.raises(MetricError, match="fewer than two congestion events"):
        metrics.loss_event_distance(run, "a", start=5.0)
    with pytest.raises(MetricError, match="fewer than two congestion events"):
        metrics.loss_event_distance(run, "b")


def test_an_epoch_has_its_shortest_queue_between_two_loss_events():
    run = with_events((0.0, "loss-event"), (2.0, "loss-event"), (5.0, "loss-event"), (9.0, "loss-event"))
    # The queue is as long as the second it is sampled in: 0, 2 and 5 packets.
    assert metrics.epoch_queue_minimum(run, "a") == 2.0
    assert metrics.epoch_queue_minimum(run, start=1.0, percentile=100.0) == 5.0
    assert metrics.empty_epochs(run, "a") == pytest.approx(1 / 3)
    with pytest.raises(MetricError, match="fewer than two loss events"):
        metrics.empty_epochs(run, "b")
    crowded = with_events((2.2, "loss-event"), (2.4, "loss-event"))
    with pytest.raises(MetricError, match="sampled less often"):
        metrics.epoch_queue_minimum(crowded, "a")


def test_growth_is_counted_from_a_recovery_to_the_next_loss():
    # From 8.4 segments at 3 s to 10.4 at 5 s, in four round trips of 500 ms.
    run = with_events((2.9, "recovered"), (5.5, "loss-event"), (6.0, "recovered"))
    assert metrics.growth_per_rtt(run, "a") == pytest.approx(0.5)
    with pytest.raises(MetricError, match="no epoch"):
        metrics.growth_per_rtt(run, "a", start=6.0)


def test_throughput_over_an_interval_counts_the_bytes_of_packets():
    # 3 Mbit/s in packets of 1000 bytes, which have half as many again in the table of bytes.
    assert metrics.throughput(RUN, "b", 4.0, 8.0) == pytest.approx(4.5e6)
    assert metrics.throughput(RUN, "b", 4.0, 8.0, packet=1000) == pytest.approx(3.0e6)
    assert metrics.throughput(RUN, None, 4.0, 8.0, packet=1500) == pytest.approx(7.0e6 * 1.5)
    assert metrics.throughput_among(RUN, "smallest") == 2.2e6
    assert metrics.throughput_among(RUN, "largest", flows=["a"]) == 4.4e6
    with pytest.raises(MetricError, match="must be one of smallest, largest, mean"):
        metrics.throughput_among(RUN, "fastest")
    with pytest.raises(MetricError, match="both ends"):
        metrics.throughput(RUN, "b", 8.0)


def test_a_rate_is_reached_at_the_end_of_its_window():
    # b: 2 Mbit/s from 4 to 6 s, 4 Mbit/s after. The window from 5.5 to 6.5 s has 3.
    found = [metrics.time_until_rate(RUN, "b", rate, 1.0, 0.5, packet=1000) for rate in (2e6, 3e6, 5e6)]
    assert found == pytest.approx([1.0, 2.5, 6.0])
    late = with_events((5.8, "loss-event"))
    since = metrics.time_until_rate(late, "a", 4e6, 1.0, 0.5, since="loss-event", packet=1000)
    assert since == pytest.approx(1.0)
    with pytest.raises(MetricError, match="no window of 9 s"):
        metrics.time_until_rate(RUN, "b", 1e6, 9.0, 0.5)


def test_the_variation_of_two_flows_is_difference_over_sum():
    assert metrics.variation(RUN, 2.0, 4.0, 8.0).tolist() == pytest.approx([2 / 6, 0.0])
    assert metrics.variation(RUN, 2.0, 4.0, 6.0, flows=["a"]).tolist() == [0.0]


def test_the_queue_size_is_what_a_dropped_packet_found():
    assert metrics.buffer(RUN) == 84.0
    with pytest.raises(MetricError, match="nothing was dropped"):
        metrics.buffer(with_events((1.0, "recovered")))


def test_a_queue_is_sampled_over_an_interval():
    assert metrics.queue_percentile(RUN, 0.0, start=5.0) == 5.0
    assert metrics.queue_percentile(RUN, 50.0, stop=4.0) == 2.0
    assert metrics.queue_curve(RUN, start=2.0, stop=3.0).values.tolist() == [2.0, 3.0]


def test_a_column_of_the_flows_is_a_metric():
    assert metrics.flow_value(RUN, "b", "data_packets") == 1000.0
    assert metrics.rtt_mean(RUN, "a") == 90.0
    with pytest.raises(MetricError, match="has no column `speed`"):
        metrics.flow_value(RUN, "b", "speed")


def test_signals_have_means_shares_and_increases():
    assert metrics.signal_mean(RUN, "a", "window", 0.0, 3.0) == pytest.approx((10 + 11 + 12 + 8.4) / 4)
    assert metrics.signal_share(RUN, "a", "queue_state", 3.0) == 0.5
    assert metrics.signal_increase(RUN, "a", "interval", 1.0, 4.0) == 3.0
    assert metrics.signal_increase(RUN, "a", "backoffs") == 1.0


def test_signals_are_counted_in_steps():
    # At 3 s the back-off is counted, with a shadow window of 12 in interval 3.
    assert metrics.signal_ratio(RUN, "a", "shadow_window", "interval", "backoffs") == 4.0
    # 13 at 4 s: three intervals after 1 s.
    assert metrics.steps_until(RUN, "a", "shadow_window", "interval", 13.0, 13.5, 1.0) == 3.0
    with pytest.raises(MetricError, match="never from 20 to 30"):
        metrics.steps_until(RUN, "a", "shadow_window", "interval", 20.0, 30.0, 1.0)
    # 11, 12, 12, 13, 14 at the five steps: within a tenth of 14 from the fourth on.
    assert metrics.steps_until_settled(RUN, "a", "shadow_window", "interval", 0.1) == 4.0
    assert metrics.steps_until_settled(RUN, "a", "shadow_window", "interval", 0.5) == 1.0


def test_linear_growth_takes_the_difference_of_windows_in_round_trips():
    # 1 to 2 Mbit/s with packets of 1250 bytes and 100 ms: from 10 to 20 packets, 2 a round trip.
    found = metrics.linear_growth(1e6, 2e6, rtt=0.1, packet=1250, per_rtt=2.0)
    assert found == pytest.approx(0.5)


def test_arrivals_are_counted_between_the_last_samples_before_the_ends():
    # b has 0, 250, 500 and 1000 packets at 4, 5, 6 and 7 s. a has 500 more each second.
    assert metrics.packets_arrived(RUN, "b", 4.0, 6.0) == 500.0
    assert metrics.packets_arrived(RUN, "b", 4.0, 6.0, offset=0.5) == 500.0
    assert metrics.packets_arrived(RUN, "b", 4.0, 6.0, offset=1.0) == 750.0
    assert metrics.packets_arrived(RUN, None, 4.0, 6.0) == 1500.0
    assert metrics.packets_arrived(RUN, "a") == 5000.0


def test_arrivals_need_a_series_that_reaches_to_the_end():
    with pytest.raises(MetricError, match=r"the series ends before 10\.1 s"):
        metrics.packets_arrived(RUN, "a", 8.0, 10.0, offset=0.1)
    with pytest.raises(MetricError, match="from 4 s to 4 s is empty"):
        metrics.packets_arrived(RUN, "a", 4.0, 4.0)


def test_rtt_has_a_mean_and_a_deviation_over_an_interval():
    # 60, 70, 80 ms: deviations of 10, 0 and 10 ms.
    assert metrics.rtt_mean(RUN, "a", 2.0, 4.0) == 70.0
    assert metrics.rtt_deviation(RUN, "a", 2.0, 4.0) == pytest.approx(math.sqrt(200 / 3))
    assert metrics.rtt_deviation(RUN, "b", 5.0, 9.0) == 0.0


def test_a_signal_is_read_when_another_first_has_a_value():
    # The queue state is 1 from 3 s on, when the shadow window is 12.
    assert metrics.signal_when(RUN, "a", "shadow_window", "queue_state", 1) == 12.0
    assert metrics.signal_when(RUN, "a", "shadow_window", "queue_state", 1, start=4.0) == 13.0
    with pytest.raises(MetricError, match="`queue_state` of `a` never is 2"):
        metrics.signal_when(RUN, "a", "shadow_window", "queue_state", 2)


def test_a_counter_rises_until_another_does():
    # Back-offs rise at 3 s. Intervals are counted from 0 to 5, one a second.
    assert metrics.rise_until(RUN, "a", "interval", "backoffs", 1.0) == 2.0
    # Before 3 s the count of back-offs itself is last 0 at 2 s, and the smallest slope never is.
    assert metrics.rise_until(RUN, "a", "interval", "backoffs", 1.0, row="backoffs") == 1.0
    assert metrics.rise_until(RUN, "a", "interval", "backoffs", 1.0, row="raw_min") == 3.0
    with pytest.raises(MetricError, match="`backoffs` of `a` never rises after 4 s"):
        metrics.rise_until(RUN, "a", "interval", "backoffs", 4.0)


def test_signals_of_two_flows_correlate_in_bins():
    # Both windows are the same by hand. The RTT of b is constant, which correlates with nothing.
    assert metrics.correlation(RUN, ["a", "b"], "window", 1.0, 0.0, 10.0) == pytest.approx(1.0)
    with pytest.raises(MetricError, match="does not vary"):
        metrics.correlation(RUN, ["a", "b"], "rtt", 1.0, 5.0, 10.0)
    with pytest.raises(MetricError, match="fewer than two bins"):
        metrics.correlation(RUN, ["a", "b"], "rtt", 1.0, 0.0, 5.0)
    with pytest.raises(MetricError, match="of two flows, not of 1"):
        metrics.correlation(RUN, ["a"], "window", 1.0, 0.0, 10.0)


def test_every_module_of_metrics_is_loaded():
    modules = {module.name for module in pkgutil.iter_modules(metrics.__path__, "ackclock.metrics.")}
    # Other tests load modules, so a new interpreter says what the package loads by itself.
    loads = [sys.executable, "-c", "import sys, ackclock.metrics; print(*sys.modules)"]
    assert modules - set(subprocess.check_output(loads, text=True).split()) == set()


def test_a_metric_takes_the_run_first_and_a_model_none():
    first = {name: next(iter(inspect.signature(f).parameters)) for name, f in metrics.METRICS.items()}
    assert {name for name, argument in first.items() if argument != "run"} == set()
    assert [name for name, f in metrics.MODELS.items() if "run" in inspect.signature(f).parameters] == []


def test_a_name_is_registered_once():
    with pytest.raises(ValueError, match="there are two functions `goodput`"):
        metrics.metric(metrics.goodput)


@pytest.mark.parametrize(
    ("measure", "sentence"),
    [
        (lambda run: metrics.goodput(run, "a", 50.0, 60.0), "from 50 s to 60 s goes beyond the run of 10 s"),
        (lambda run: metrics.goodput(run, None, 5.0, 10.1), "from 5 s to 10.1 s goes beyond the run of 10 s"),
        (lambda run: metrics.goodput_windows(run, "a", 1.0, 8.0, 12.0), "goes beyond the run of 10 s"),
        (lambda run: metrics.jain_index(run, 50.0, 60.0), "goes beyond the run of 10 s"),
        (lambda run: metrics.throughput(run, "a", 50.0, 60.0), "goes beyond the run of 10 s"),
        (lambda run: metrics.utilization(run, None, 50.0, 60.0), "goes beyond the run of 10 s"),
        (lambda run: metrics.rtt_percentile(run, 101.0), "percentile = 101: must be from 0 to 100"),
        (lambda run: metrics.rtt_range(run, -1.0, 75.0), "percentile = -1: must be from 0 to 100"),
        (lambda run: metrics.queue_delay(run, "zz"), 'of = "zz": must be one of max'),
        (lambda run: metrics.queue_length(run, "zz"), 'of = "zz": must be one of mean'),
    ],
)
def test_what_a_run_does_not_have_is_refused(measure, sentence):
    with pytest.raises(metrics.MetricError, match=sentence):
        measure(handmade())
