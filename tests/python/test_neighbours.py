"""Each controller beside the common ones and beside itself: the runs give the committed table.

`UPDATE_DOCS=1 pytest tests/python/test_neighbours.py` writes it. Look at the difference. The pages of the
controllers show it.
"""

import os

import ackclock
import pages
from ackclock import repetitions
from ackclock.contenders import contenders
from ackclock.matrix import Setting, matrix, plan
from ackclock.sweeps import executors
from ackclock.sweeps.run import execute, finish
from pages import measure
from pages.makers.neighbours import COMMON, FILE

UPDATE = os.environ.get("UPDATE_DOCS") == "1"

SETTING = Setting({"rate": "10mbit", "rtt": "40ms", "queue": "1bdp"}, "60s", "10s", "linux")
"""The defaults of `ackclock matrix`."""

SEEDS = repetitions.seeds(1, 3)


def neighbours(name):
    return [*COMMON, *([] if name in COMMON else [name])]


def run(folder, names):
    pairs = {(one,): None for one in names}
    for one in names:
        for beside in neighbours(one):
            pairs |= {} if (beside, one) in pairs else {(one, beside): None}
    planned, runs = plan(contenders(names), SETTING, SEEDS, {}, wanted=pairs)
    for _ in execute(planned, folder, executors.workers("local", None), None):
        pass
    return matrix(finish(planned, folder), runs, names)


def rows(found, names):
    return [
        {
            "controller": name,
            "beside": beside,
            "share_percent": found.shown("share", name, beside),
            "rtt_mean_ms": found.shown("rtt_mean_ms", name, beside),
            "harm_goodput": found.shown("harm_goodput", name, beside),
            "harm_rtt": found.shown("harm_rtt", name, beside),
            "harm_to_other": found.shown("harm_goodput", beside, name),
        }
        for name in names
        for beside in neighbours(name)
    ]


def test_the_committed_table_is_that_of_the_runs(tmp_path):
    names = sorted(one["name"] for one in ackclock.controllers())
    found = rows(run(tmp_path, names), names)
    if UPDATE and found != pages.load_csv(FILE)[1]:
        measure.write_rows(FILE, "UPDATE_DOCS=1 pytest tests/python/test_neighbours.py", found)
    assert found == pages.load_csv(FILE)[1]
