"""The home network of Armitage and Khademi 2013: what its claims measure, with numbers worked out by hand."""

from __future__ import annotations

import runpy
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from ackclock import papers
from ackclock.papers.catalogue import DATA
from ackclock.papers.functions import measures_of
from handmade import Handmade, handmade
from pages import load_csv

MEASURES = measures_of(DATA / "cdg2013")


@dataclass(frozen=True)
class Call:
    """A run of one call, a datagram every 20 ms each way."""

    flows: pa.Table
    datagrams: pa.Table

    def table(self, name: str) -> pa.Table:
        """The only table that calls need."""
        assert name == "datagrams"
        return self.datagrams


@pytest.fixture
def call() -> Call:
    # Up: sent at 0, 20 .. 80 ms, 10, 12, 13, 11 and 20 ms on the way. Down: sent at 5, 25, 45 (lost),
    # 65, 85 and 105 ms, 10 ms each but the last, 16 ms.
    up = [(0, 10), (20, 12), (40, 13), (60, 11), (80, 20)]
    down = [(5, 10), (25, 10), (65, 10), (85, 10), (105, 16)]
    numbers = [0, 1, 2, 3, 4, 0, 1, 3, 4, 5]
    return Call(
        flows=pa.table({"flow": pa.array([0, 1], pa.uint32()), "name": ["up-0", "down-0"]}),
        datagrams=pa.table(
            {
                "sent_s": [sent / 1e3 for sent, _ in up + down],
                "flow": pa.array([0] * 5 + [1] * 5, pa.uint32()),
                "sequence": pa.array(numbers, pa.uint64()),
                "arrived_s": [(sent + delay) / 1e3 for sent, delay in up + down],
            }
        ),
    )


def sixty_seconds() -> Handmade:
    """The handmade run as one of 60 s, in the last 50 s of which nothing is delivered."""
    run = handmade()
    flows = run.flows.set_column(run.flows.column_names.index("stop_s"), "stop_s", pa.array([60.0, 60.0]))
    return replace(run, flows=flows)


def test_a_call_has_no_rtt_for_a_half_lost_pair(call):
    # Up arrives at 10, 32, 53, 71 and 100 ms. The next down leave at 25, 45 (lost), 65, 85 and 105 ms.
    assert MEASURES["call_rtts_pooled"](call).values == pytest.approx([20, 23, 21, 36])
    assert MEASURES["without_rtt"](call) == pytest.approx(0.2)


def test_changes_are_those_between_neighbours_that_both_have_an_rtt(call):
    # From 40 to 60 ms 23 - 21, from 60 to 80 ms 36 - 21. From 0 to 40 ms one is between.
    assert MEASURES["call_changes"](call).values == pytest.approx([2, 15])


def test_padded_samples_have_the_90th_and_the_10th_percentile(call):
    # With four zeros below, the 95th percentile of eight is at 0.95 x 7 = 6.65: 23 + 0.65 x 13. With four
    # infinite ones above, the 5th is at 0.35: 20 + 0.35 x 1.
    high, low = (MEASURES["call_rtts_pooled"](call, p).values for p in (90.0, 10.0))
    assert np.percentile(high, 95) == pytest.approx(31.45)
    assert np.percentile(low, 5) == pytest.approx(20.35)


def test_a_fall_ends_below_two_thirds_of_a_maximum():
    # 90 to 60 is one. Then 60 is the start of the next rise, and 80 to 54 is above two thirds of 80.
    assert MEASURES["falls"]([50, 90, 61, 60, 80, 54]) == 1.0
    assert MEASURES["falls"]([90, 30, 60, 20]) == 2.0


def test_the_variation_comes_from_mean_and_mean_square():
    # 1 and 3 have mean 2, mean square 5, deviation 1.
    assert MEASURES["variation"]([2.0], [5.0]) == 0.5


def test_the_delay_of_cdg_does_not_depend_on_the_buffer():
    (fig9,) = papers.select(papers.catalogue(), ["cdg2013-fig9"])
    judged = papers.reproduce([fig9.reduced()]).results[0].judgements
    assert [j.claim.id for j in judged if j.verdict == "miss"] == []


def test_bars_stand_at_the_stations_of_a_controller():
    # Flow a is the first station: 500 000 bytes a second for 10 s of 60 s, 0.67 Mbit/s.
    x, y = MEASURES["station_goodputs"](sixty_seconds(), "newreno")
    assert x == pytest.approx([0.7, 0.7, 1.3, 1.3])
    assert y == pytest.approx([0, 2 / 3, 2 / 3, 0])


def test_the_conventions_of_the_medium_give_what_is_published():
    example = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "wlan-conventions.py"))
    _, published = load_csv("papers/cdg2013-conventions.csv")
    assert list(example["rows"]()) == [list(row.values()) for row in published]
