"""The time that controllers need to take a path again after an outage, as the page shows it.

The committed table is what the runs give. `UPDATE_DOCS=1 pytest tests/python/test_outages.py` writes it.
Look at the difference. `docs/outages.md` shows it.
"""

import os
import statistics

import pytest

import ackclock
from ackclock import metrics
from pages import measure
from pages.measurements import load_csv

UPDATE = os.environ.get("UPDATE_DOCS") == "1"
FILE = "evaluate/outages.csv"
COMMAND = "UPDATE_DOCS=1 pytest tests/python/test_outages.py"
CONTROLLERS = ("newreno", "cubic", "bbr1", "bbr3", "c4")
SOME = ("cubic", "bbr1")
"""The controllers whose rows every run of the tests compares."""

BEGIN = 7
LENGTHS = (0.5, 1, 2, 5, 10)
"""The lengths of the outages, s."""

RATE, NO_LOSS = "10mbit", "0%"
KINDS = {"the link waits": ("rate", RATE, "0bit"), "all packets are lost": ("loss", NO_LOSS, "100%")}
"""The key of the path that makes an outage, with its usual value and the one in the outage."""


def times(controller, kind, length):
    """The seconds after the outage until half a second has half of the rate, for three seeds."""
    end = BEGIN + length
    key, usual, out = KINDS[kind]
    outage = {key: [["0s", usual], [f"{BEGIN}s", out], [f"{end}s", usual]]}
    found = []
    for seed in (1, 2, 3):
        run = ackclock.simulate(
            {
                "duration": f"{end + 40}s",
                "seed": seed,
                "path": {
                    "rate": RATE,
                    "rtt": "40ms",
                    "queue": "34p",
                    "reverse": {"jitter": "1ms"},
                    **outage,
                },
                "flows": [{"name": "target", "cc": controller, "start_jitter": "1s"}],
            }
        )
        found.append(metrics.time_until_rate(run, "target", 5e6, 0.5, 0.1, start=end, stop=end + 40.0))
    return found


def rows(controllers):
    return [
        {"outage": kind, "controller": cc}
        | {f"{length} s": f"{statistics.median(times(cc, kind, length)):.1f} s" for length in LENGTHS}
        for kind in KINDS
        for cc in controllers
    ]


@pytest.mark.skipif(not UPDATE, reason="writes with UPDATE_DOCS=1")
def test_write_the_table():
    measure.write_rows(FILE, COMMAND, rows(CONTROLLERS))


def test_the_committed_times_are_those_of_the_runs():
    _, committed = load_csv(FILE)
    assert [row for row in committed if row["controller"] in SOME] == rows(SOME)
