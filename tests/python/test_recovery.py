"""Metrics of recoveries, on rows written by hand: ten ACKs, 10 ms apart, with an RTT of 100 ms."""

from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from ackclock import metrics
from ackclock.metrics.tables import MetricError


def recovery(sent, states=None, flight=10.0):
    states = states or ["open", *["recovery"] * 10, "open"]
    count = len(states)
    series = {
        "flow": np.zeros(count, np.uint32),
        "time_s": 1.0 + 0.01 * np.arange(count),
        "sent_packets": np.cumsum(sent),
        "in_flight_segments": np.full(count, flight),
        "threshold_segments": np.full(count, 8.0),
        "smoothed_rtt_ms": np.full(count, 100.0),
        "state": states,
    }
    flows = pa.table({"flow": pa.array([0], pa.uint32()), "name": ["a"]})
    return SimpleNamespace(flows=flows, flow_series=pa.table(series))


def test_a_pause_lasts_from_a_departure_to_the_next_or_to_the_end():
    # Packets leave at the first ACK of the recovery, the fourth and the eighth. It ends with the tenth.
    run = recovery([20, 1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 5])
    assert metrics.recovery_pause(run, "a") == pytest.approx(0.4)
    silent = recovery([20, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5])
    assert metrics.recovery_pause(silent, "a") == pytest.approx(0.9)


def test_a_burst_is_what_leaves_at_one_ack_after_the_first():
    assert metrics.recovery_burst(recovery([20, 9, 0, 3, 1, 0, 0, 0, 1, 0, 0, 5]), "a") == 3


def test_the_target_is_the_flight_at_the_end_over_the_threshold():
    assert metrics.recovery_target(recovery([1] * 12), "a") == pytest.approx(1.25)


@pytest.mark.parametrize(
    "states",
    [["open"] * 12, ["open", *["recovery"] * 4, *["open"] * 7], ["open", *["recovery"] * 11]],
    ids=["none", "short", "cut off"],
)
def test_a_run_without_a_whole_recovery_says_so(states):
    with pytest.raises(MetricError, match="flow `a` has no recovery with 8 ACKs"):
        metrics.recovery_pause(recovery([1] * 12, states), "a")
    with pytest.raises(MetricError):
        metrics.recovery_pause(recovery([1] * 12), "a", 1.05, 2.0)
