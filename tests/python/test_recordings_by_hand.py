"""Measures of the laws of recordings, on a few rows that are worked out by hand."""

from dataclasses import replace

import numpy as np
import pytest

from ackclock import qlogs
from ackclock.checks import recordings
from ackclock.checks.recording import Recording
from ackclock.checks.recordings import check

SEGMENT, RTT = 1000.0, 1.0


def recording(windows, lost=(), step=0.5, **changes):
    """These windows in segments every half RTT, all in flight, and a datagram each quarter of one."""
    times, values = step * np.arange(len(windows)), SEGMENT * np.array(windows, dtype=float)
    sent = np.arange(0.0, times[-1] + 0.1, 0.25)
    whole = Recording(
        "made", times, values, values.copy(), np.full(times.size, RTT), np.array(lost, dtype=float), SEGMENT,
        True, sent, np.full(sent.size, SEGMENT),
    )  # fmt: skip
    return replace(whole, **changes)


def measured(of, law, names=()):
    """The value of a law, or why there is none."""
    [one] = [one for one in check(of, names) if one.claim.id == f"recorded-{law}"]
    return one.reason if one.measured is None else one.measured


def test_a_reduction_is_the_least_window_of_one_and_a_half_rtts_over_that_before():
    # Lost at 1 s: windows at 1 to 2.5 s are 20, 14, 12 and 10, that before is 18.
    windows = [16, 18, 20, 14, 12, 10, 8]
    assert measured(recording(windows, lost=[1.0]), "reduction") == pytest.approx(10 / 18)
    # In two rounds, the median of both: at 4 s from 40 to 28.
    windows += [40, 40, 28, 30, 32, 34]
    assert measured(recording(windows, lost=[1.0, 4.0]), "reduction") == pytest.approx(
        (10 / 18 + 28 / 40) / 2
    )
    # A second loss within an RTT is of the same round.
    assert measured(recording(windows, lost=[1.0, 2.0]), "reduction") == pytest.approx(10 / 18)
    # Behind the last row there is nothing.
    assert measured(recording(windows, lost=[9.0]), "reduction") == "the recording has no loss"


def test_a_capture_is_judged_by_the_most_outstanding_around_a_recovery():
    # Lost at 2 s: the most from 1 s on is 30, and from 3.5 s to 4.5 s it is 18.
    windows = [50, 50, 50, 30, 25, 40, 40, 40, 16, 18, 99]
    of = recording(windows, lost=[2.0], has_window=False)
    assert measured(of, "reduction") == pytest.approx(18 / 30)
    for law in ("one-reduction", "growth", "application-limit", "least-window"):
        assert measured(of, law) == "a capture has no window"
    assert measured(of, "pacing") == "TCP may send without pacing"


def test_reductions_within_an_rtt_are_counted():
    # From 20 to 19 is 0.95 of it, which is none, as from 19 to 18.1. The last step is more than an RTT later.
    assert measured(recording([20, 20, 19, 18.1, 10, 5], lost=[1.0]), "one-reduction") == 1
    assert measured(recording([20, 20, 18.9, 18.1, 10, 5], lost=[1.0]), "one-reduction") == 2
    assert measured(recording([20, 20, 18, 10, 5, 5], lost=[1.0]), "one-reduction") == 3


def test_growth_is_over_the_window_an_rtt_before():
    # 4 to 9 within 1 s are 2.25, and 3 to 8 within half of one count as 8/4 at most.
    assert measured(recording([4, 3, 8, 9, 9]), "growth") == pytest.approx(3.0)
    assert measured(recording([4, 5, 8, 9, 9]), "growth") == pytest.approx(2.0)
    assert measured(recording([4, 9]), "growth") == "the recording is shorter than an RTT"
    assert measured(recording([4, 5, 9]), "growth") == pytest.approx(2.25)


def test_growth_of_an_unused_window_is_a_share_of_all():
    # 2 of 8 segments come while less than half of the window is in flight, before and behind the step.
    windows = [10, 12, 14, 18]
    flight = SEGMENT * np.array([4.0, 4.9, 9.0, 9.0])
    assert measured(recording(windows, flight=flight), "application-limit") == pytest.approx(2 / 8)
    # Half of the window is used.
    flight = SEGMENT * np.array([4.0, 5.0, 9.0, 9.0])
    assert measured(recording(windows, flight=flight), "application-limit").startswith(
        "the application never"
    )
    # A window that only falls has no growth.
    flight = SEGMENT * np.array([1.0, 1.0, 1.0])
    assert measured(recording([10, 8, 8], flight=flight), "application-limit") == 0.0
    unknown = np.full(4, np.nan)
    assert (
        measured(recording(windows, flight=unknown), "application-limit")
        == "the recording has no bytes_in_flight"
    )


def test_the_least_window_is_in_datagrams():
    assert measured(recording([10, 1.5, 10]), "least-window") == 1.5
    assert "after a timeout" in measured(recording([10, 1.5, 10], is_tcp=True), "least-window")


def test_a_burst_is_what_leaves_in_a_twentieth_of_an_rtt():
    # 10 segments and a tenth of a window of 20 are allowed: 12. Six leave at once, and one 50 ms later.
    times = np.array([*[1.0] * 6, 1.05, 1.051])
    of = recording([20, 20, 20, 20, 20], sent=times, sent_bytes=np.full(8, SEGMENT))
    assert measured(of, "pacing") == pytest.approx(7 / 12)
    assert measured(replace(of, sent_bytes=np.full(8, 2000.0)), "pacing") == pytest.approx(14 / 12)
    assert measured(replace(of, sent_bytes=np.full(8, 2001.0)), "pacing").startswith(
        "a packet_sent in it stands"
    )
    assert (
        measured(replace(of, sent=np.zeros(0), sent_bytes=np.zeros(0)), "pacing")
        == "the recording has no packet_sent"
    )


@pytest.mark.parametrize(
    ("kept", "name", "verdict"),
    [
        (0.5, "newreno", "pass"), (0.56, "newreno", "pass"), (0.58, "newreno", "miss"),
        (0.44, "newreno", "pass"), (0.42, "newreno", "miss"), (0.7, "cubic", "pass"), (0.62, "cubic", "miss"),
        (0.64, "cubic-rfc", "pass"), (0.21, "", "pass"), (0.19, "", "miss"), (0.89, "", "pass"),
        (0.91, "", "miss"),
    ],
)  # fmt: skip
def test_the_share_kept_is_within_seven_points_of_the_algorithm_s(kept, name, verdict):
    of = recording([100, 100, 100 * kept, 100 * kept, 100 * kept, 100 * kept], lost=[0.75])
    [one] = [one for one in check(of, [name]) if one.claim.id == "recorded-reduction"]
    assert one.verdict == verdict


def test_a_log_is_read_where_window_and_rtt_are_known():
    columns = {
        "congestion_window": [np.nan, 10.0, 0.5, 20.0, 30.0],
        "smoothed_rtt": [1.0, np.nan, 1.0, 0.0, 2.0],
        "latest_rtt": [1.0, 3.0, 1.0, 1.0, 1.0],
        "bytes_in_flight": [0.0, 1.0, 2.0, 3.0, 4.0],
        "pacing_rate": [0.0, 10.0, 20.0, 30.0, 40.0],
    }
    metrics = {name: np.array(values) for name, values in columns.items()}
    given = dict.fromkeys(qlogs.Log.__dataclass_fields__) | {
        "title": "one", "times": np.arange(5.0), "metrics": metrics, "sent": np.arange(3.0),
        "lost": np.zeros(0), "sent_bytes": np.array([40.0, 1300.0, 1250.0]), "states": (), "is_tcp": False,
    }  # fmt: skip
    found = recordings._of_log(qlogs.Log(**given))
    # The latest RTT stands for a smoothed one that is not known. A window below a byte is none.
    assert (found.times.tolist(), found.rtt.tolist()) == ([1.0, 4.0], [3.0, 2.0])
    assert (found.flight.tolist(), found.pacing.tolist()) == ([1.0, 4.0], [10.0, 40.0])
    # Datagrams of 1200 bytes and more are full ones.
    assert found.segment == 1250.0
    given["sent_bytes"] = np.array([40.0, 1199.0, 1.0])
    assert recordings._of_log(qlogs.Log(**given)).segment == 1200.0
    metrics["congestion_window"][:] = np.nan
    assert recordings._of_log(qlogs.Log(**given)) is None
