"""Curves of flows, links and groups, over tables of a few rows."""

import dataclasses

import pyarrow as pa
import pytest

from ackclock import metrics
from ackclock.groups import grouped, only_controller
from handmade import handmade

RUN = handmade()


def of_flows(flows, samples):
    """A run of flows, by name, begin, end, measured time and bytes, and samples by time, flow and bytes."""
    names, starts, stops, measured, totals = zip(*flows, strict=True)
    table = {
        "flow": pa.array(range(len(flows)), pa.uint32()),
        "name": names,
        "cc": ["cubic"] * len(flows),
        "start_s": starts,
        "stop_s": stops,
        "measured_s": measured,
        "delivered_bytes": totals,
    }
    times, numbers, delivered = zip(*samples, strict=True) if samples else ((), (), ())
    series = {
        "time_s": pa.array(times, pa.float64()),
        "flow": pa.array(numbers, pa.uint32()),
        "delivered_bytes": pa.array(delivered, pa.uint64()),
    }
    return dataclasses.replace(RUN, flows=pa.table(table), flow_series=pa.table(series))


def delivered(run, width=1.0):
    """The bytes in each bin of the only group."""
    (curve,) = metrics.goodput_by_group(run, width)
    return (curve.values * width / 8).tolist()


def test_flows_without_samples_deliver_all_at_their_end():
    run = of_flows([("web-0", 0.5, 1.5, 1.0, 700), ("web-1", 1.0, 3.0, 2.0, 50)], [])
    assert delivered(run) == [0, 700, 50]
    # A flow that began before the measured interval has bytes of that interval alone.
    early = of_flows([("web-0", 0.5, 1.5, 0.5, 700), ("web-1", 1.0, 3.0, 2.0, 50)], [])
    assert delivered(early) == [0, 0, 50]


def test_samples_of_flows_in_turns_are_differences_of_each_flow():
    samples = [(1.0, 1, 10), (1.0, 0, 100), (2.0, 0, 300), (2.0, 1, 40), (3.0, 1, 40)]
    flows = [("web-0", 0.0, 3.0, 3.0, 350), ("web-1", 0.0, 3.0, 3.0, 40)]
    assert delivered(of_flows(flows, samples)) == [110, 230, 50]
    # In bins of 1.5 s: 1 s is in the first, 2 and 3 s in the second.
    assert delivered(of_flows(flows, samples), 1.5) == [110, 280]


def test_a_row_with_less_than_its_samples_has_no_rest():
    flows = [("web-0", 0.0, 3.0, 3.0, 200)]
    assert delivered(of_flows(flows, [(1.0, 0, 100), (2.0, 0, 300)])) == [100, 200, 0]


def test_a_sample_at_the_edge_of_two_bins_is_of_the_first():
    # Bins of 100 ms, whose edges are no binary fractions, and a sample at 0 s.
    samples = [(0.0, 0, 1), *((k / 10, 0, 1 + 10 * k) for k in range(1, 4))]
    assert delivered(of_flows([("web-0", 0.0, 0.3, 0.3, 31)], samples), 0.1) == pytest.approx([11, 10, 10])


def test_a_run_shorter_than_half_a_bin_has_one():
    (curve,) = metrics.goodput_by_group(of_flows([("web-0", 0.0, 0.4, 0.4, 100)], []), 1.0)
    assert (curve.times.tolist(), curve.values.tolist()) == ([0.5], [800.0])


def test_signals_of_a_group_leave_out_what_is_not_known():
    series = pa.table(
        {
            "time_s": [2.0, 1.0, 1.0, 3.0],
            "flow": pa.array([0, 0, 1, 1], pa.uint32()),
            "latest_rtt_ms": pa.array([30.0, 10.0, 40.0, None], pa.float64()),
        }
    )
    flows = [("web-0", 0.0, 3.0, 3.0, 1), ("web-1", 0.0, 3.0, 3.0, 1)]
    (curve,) = metrics.signal_by_group(dataclasses.replace(of_flows(flows, []), flow_series=series), "rtt")
    assert (curve.times.tolist(), curve.values.tolist()) == ([1.0, 2.0], [25.0, 30.0])
    none = dataclasses.replace(of_flows(flows, []), flow_series=series.slice(3))
    (curve,) = metrics.signal_by_group(none, "rtt")
    assert (curve.times.size, curve.values.size) == (0, 0)


def test_curves_of_some_flows_are_over_an_interval():
    (only,) = metrics.signal_by_flow(RUN, "rtt", flows=["b"])
    assert (only.name, only.times.tolist()) == ("b", [5, 6, 7, 8, 9, 10])
    a, b = metrics.signal_by_flow(RUN, "rtt", start=4.0, stop=6.0)
    assert (a.times.tolist(), a.values.tolist()) == ([4, 5, 6], [80, 90, 100])
    assert (b.times.tolist(), b.values.tolist()) == ([5, 6], [60, 60])


def test_a_flow_without_samples_has_an_empty_curve():
    run = dataclasses.replace(RUN, flow_series=RUN.flow_series.slice(0, 11))
    for curves in (metrics.goodput_by_flow(run, 5.0), metrics.signal_by_flow(run, "rtt")):
        assert [(one.name, one.times.size > 0, one.values.size > 0) for one in curves] == [
            ("a", True, True),
            ("b", False, False),
        ]


def test_a_queue_is_that_of_the_chosen_link():
    assert metrics.queue_curve(RUN, "bottleneck").values.tolist() == list(range(11))
    reverse = metrics.queue_curve(RUN, "bottleneck:reverse")
    assert (reverse.name, reverse.values.size) == ("bottleneck:reverse", 0)


def test_names_without_a_stem_or_a_number_are_groups_of_their_own():
    names = ["-1", "-2", "web-", "web-x", "web-1", "web-22"]
    found = [(one.name, one.flows) for one in grouped(names, ["cubic"] * 6)]
    assert found == [("-1", [0]), ("-2", [1]), ("web-", [2]), ("web-x", [3]), ("2 x web", [4, 5])]


def test_the_only_controller_is_that_of_all_flows():
    assert only_controller(pa.table({"cc": ["cubic", "cubic"]})) == "cubic"
    assert only_controller(pa.table({"cc": ["cubic", "cdg"]})) == ""
