"""Estimates of the rate that a flow can have, as the page shows them.

The committed table is what the runs give. `UPDATE_DOCS=1 pytest tests/python/test_estimates.py` writes it.
Look at the difference. `docs/estimates.md` shows it.
"""

import functools
import os

import pytest

import ackclock
from ackclock import metrics
from ackclock.metrics import MetricError
from handmade import handmade
from pages import measure
from pages.measurements import load_csv

UPDATE = os.environ.get("UPDATE_DOCS") == "1"
FILE = "evaluate/estimates.csv"
CONTROLLERS = ("newreno", "cubic", "bbr1", "bbr3", "copa", "c4")
SOME = ("cubic", "bbr3")
"""The controllers whose rows every run of the tests compares."""

SITUATIONS = {
    "alone, greedy": (10e6, False, False),
    "alone, 2 Mbit/s": (10e6, True, False),
    "beside CUBIC, greedy": (5e6, False, True),
    "beside CUBIC, 2 Mbit/s": (5e6, True, True),
}
"""The share that a flow can have, whether its application limits it, and whether it has a neighbour."""


def result(controller, limited, beside):
    flow = {"name": "target", "cc": controller, "start_jitter": "1s"}
    return ackclock.simulate(
        {
            "duration": "40s",
            "warmup": "10s",
            "path": {"rate": "10mbit", "rtt": "40ms", "queue": "2bdp", "reverse": {"jitter": "1ms"}},
            "flows": [
                flow | ({"source": {"rate": "2mbit"}} if limited else {}),
                *([{"name": "other", "cc": "cubic", "start_jitter": "1s"}] if beside else []),
            ],
        },
    )


def cells(run, share):
    found = {}
    for estimate, heading in (("window", "window / RTT"), ("delivery", "delivery"), ("pacing", "pacing")):
        try:
            low, middle, high = (
                metrics.rate_estimate(run, "target", estimate, share, 10.0, 40.0, percentile=percentile)
                for percentile in (10, 50, 90)
            )
        except MetricError:
            found[heading] = "none"
        else:
            found[heading] = f"{middle:.2f} ({low:.2f} to {high:.2f})"
    return found


def rows(controllers):
    return [
        {"controller": controller, "flow": name, **cells(result(controller, limited, beside), share)}
        for controller in controllers
        for name, (share, limited, beside) in SITUATIONS.items()
    ]


@pytest.mark.skipif(not UPDATE, reason="writes with UPDATE_DOCS=1")
def test_write_the_table():
    measure.write_rows(FILE, "UPDATE_DOCS=1 pytest tests/python/test_estimates.py", rows(CONTROLLERS))


def test_the_committed_estimates_are_those_of_the_runs():
    _, committed = load_csv(FILE)
    assert [row for row in committed if row["controller"] in SOME] == rows(SOME)


def test_an_estimate_is_over_the_share_that_a_flow_can_have():
    # The smoothed RTT is 0.5 s. b has 10.4 segments from 7 s on: 10.4 * 8000 bit / 0.5 s = 166.4 kbit/s.
    estimate = functools.partial(metrics.rate_estimate, handmade(), "b", segment=1000.0)
    assert estimate("window", 166.4e3, 7.0, 10.0) == pytest.approx(1.0)
    # 250 packets of 8000 bit arrive in 0.5 s: 4 Mbit/s, and half of that from 4 to 6 s.
    assert estimate("delivery", 4.0e6, 7.0, 10.0) == pytest.approx(1.0)
    assert estimate("delivery", 4.0e6, 4.5, 6.0) == pytest.approx(0.5)
    assert estimate("delivery", 4.0e6, 4.5, 8.0, percentile=0) == pytest.approx(0.5)
    with pytest.raises(MetricError, match="must be one of window, delivery, pacing"):
        estimate("guess", 1.0)
    with pytest.raises(MetricError, match="share = 0: must be above 0"):
        estimate("window", 0.0)
    with pytest.raises(MetricError, match="`b` has no estimate `window` in the interval"):
        estimate("window", 1.0, 20.0, 30.0)
