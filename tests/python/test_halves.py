"""Goodputs in the two halves of a run, and shares that still move."""

import json

import pytest

from ackclock.halves import Halves, goodputs, moving, queue_delays
from calling import run

MEGABIT = 125_000.0
"""Its bytes."""


class Made:
    """A run of 20 s with a warm-up of 4 s, so the halves are from 4 to 12 s and from 12 to 20 s."""

    duration_s, warmup_s = 20.0, 4.0

    def __init__(self, *flows, scenario=None):
        """Each flow is its controller, its Mbit/s in both halves, and values of its row."""
        self.scenario = {"path": {"rate": "9mbit"}, "flows": [{"kind": "tcp"} for _ in flows]} | (
            scenario or {}
        )
        rows = [
            {"flow": n, "name": f"{cc}-{n}", "cc": cc, "start_s": 0.0, "stop_s": 20.0, "completion_s": None}
            | more
            for n, (cc, _, _, more) in enumerate(flows)
        ]
        series = []
        for time in (0, 4, 11, 13, 20):
            for n, (_, first, second, _) in enumerate(flows):
                total = MEGABIT * (first * min(time, 12) + second * max(time - 12, 0))
                series.append({"flow": n, "time_s": float(time), "delivered_bytes": total})
        self._tables = {"flows": rows, "flow_series": series, "links": [], "link_series": []}

    def queue(self, first, second):
        """The same with a queue of so many ms in each half, on a link of 8 Mbit/s."""
        self._tables["links"] = [{"link": 0, "is_bottleneck": True}]
        self._tables["link_series"] = [
            {
                "link": 0,
                "time_s": t,
                "queue_bytes": 1000 * (first if t <= 12 else second),
                "capacity_bytes": 1e6 * t,
            }
            for t in (4.0, 8.0, 12.0, 16.0, 20.0)
        ]
        return self

    def rows(self, name):
        return self._tables[name]


def test_a_half_ends_between_two_samples():
    # The samples at 11 and 13 s are a line to the middle: 1 Mbit/s to 12 s and 3 from there are 2 on average.
    first, second = goodputs(Made(("cubic", 1.0, 3.0, {})))[0]
    assert (first, second) == pytest.approx(((7 + 2) / 8 * 1e6, (2 + 21) / 8 * 1e6))


@pytest.mark.parametrize("row", [{"completion_s": 9.0}, {"start_s": 6.0}, {"stop_s": 15.0}])
def test_a_flow_that_does_not_last_has_no_halves(row):
    assert goodputs(Made(("cubic", 1.0, 3.0, row))) == [None]
    assert moving({"one": [Made(("cubic", 1.0, 3.0, row), ("bbr1", 1.0, 1.0, {}))]}) == []


def test_a_share_moves_if_it_differs_by_more_than_a_quarter():
    assert [Halves(0.30, share).moves for share in (0.41, 0.39, 0.23, 0.22)] == [True, False, False, True]
    assert not Halves(0.005, 0.015).moves, "that is a few packets"


def test_a_label_whose_shares_move_has_a_sentence_of_the_one_with_less():
    # The flows of a controller count together: 2 of 10 Mbit/s, then 4 of 10.
    moves = Made(("bbr1", 1.0, 2.0, {}), ("cubic", 8.0, 6.0, {}), ("bbr1", 1.0, 2.0, {}))
    stays = Made(("bbr1", 2.0, 2.0, {}), ("cubic", 8.0, 8.0, {}))
    # The line to the middle moves a sixteenth of the difference: 0.2125 and 0.3875.
    words = "bbr1 in deep has a share of 21 % in the first half and 39 % in the second"
    assert moving({"deep": [moves], "shallow": [stays]}) == [words]
    # The median of three repetitions does not move.
    assert moving({"deep": [moves, stays, stays]}) == []


def test_a_controller_alone_is_judged_by_its_goodput_on_a_path_that_stays():
    faster = ("cubic", 2.0, 4.0, {})
    assert moving({"cubic": [Made(faster)]}) == [
        "cubic has 2.12 Mbit/s in the first half and 3.88 in the second"
    ]
    for scenario in (
        {"path": {"rate": [["0s", "2mbit"], ["12s", "4mbit"]]}},
        {"path": {"loss": {"trace": "x"}}},
    ):
        assert moving({"cubic": [Made(faster, scenario=scenario)]}) == []


def test_datagrams_take_no_part():
    flows = [("newreno", 1.0, 3.0, {}), ("cubic", 8.0, 8.0, {})]
    call = {"flows": [{"kind": "datagram"}, {"kind": "tcp"}]}
    assert moving({"call": [Made(*flows, scenario=call)]}) == []
    assert len(moving({"two": [Made(*flows)]})) == 1


def test_matrix_and_compare_say_that_a_share_still_moves(capsys, tmp_path):
    deep = ("--rate", "4mbit", "--rtt", "20ms", "--queue", "33bdp", "--duration", "30s")
    status, out, err = run(capsys, "matrix", "cubic", "bbr1", *deep, "--json")
    rows = json.loads(out)["matrix"]["rows"]
    (share,) = [one for one in rows if (one["controller"], one["beside"]) == ("bbr1", "cubic")]
    both = share["first_half_share"], share["second_half_share"]
    assert status == 0
    assert sum(both) / 2 == pytest.approx(share["share"], abs=0.02)
    assert f"bbr1 beside cubic has {Halves(*both).words}" in err
    scenario = tmp_path / "beside.toml"
    path = 'path = { rate = "4mbit", rtt = "20ms", queue = "33bdp" }'
    scenario.write_text(
        f'{path}\nduration = "30s"\nwarmup = "10s"\nflows = [{{ cc = "cubic" }}, {{ cc = "bbr1" }}]\n'
    )
    assert "note: bbr1 in beside has a share of" in run(capsys, "run", scenario)[2]


def test_the_delay_of_a_queue_is_what_waits_over_the_rate():
    # Two links of 8 and 16 Mbit/s, the second unsampled in its first half, the third without a rate.
    samples = {
        "time_s": [5, 15, 15, 5, 15],
        "link": [0, 0, 1, 2, 2],
        "queue_bytes": [1e3, 3e3, 1e3, 1e3, 1e3],
        "capacity_bytes": [5e6, 15e6, 30e6, None, None],
    }
    assert queue_delays(samples, 0.0, 20.0) == {0: pytest.approx(Halves(1.0, 3.0))}
    assert queue_delays(dict.fromkeys(samples, ()), 0.0, 20.0) == {}


def test_a_queue_that_grows_has_a_sentence():
    flow = ("cubic", 8.0, 8.0, {})
    words = "the queue of deep has a mean of 30 ms in the first half and 90 in the second"
    assert moving({"deep": [Made(flow).queue(30, 90)]}) == [words]
    assert moving({"deep": [Made(flow).queue(80, 90)], "short": [Made(flow).queue(2, 9)]}) == []
    steps = {"path": {"rate": [["0s", "2mbit"], ["12s", "4mbit"]]}}
    assert moving({"steps": [Made(flow, scenario=steps).queue(30, 90)]}) == []
    assert moving({"ends": [Made(("cubic", 8.0, 8.0, {"stop_s": 15.0})).queue(30, 90)]}) == []


DEEP = ("--rate", "50mbit", "--rtt", "20ms", "--duration", "5s")


def test_compare_and_sweep_say_that_a_buffer_still_fills(capsys, tmp_path):
    # After 5 s CUBIC has 120 ms of a buffer of one second. After three minutes it has 740, in each half.
    err = run(capsys, "compare", "cubic", *DEEP, "--queue", "1s")[2]
    assert "note: the queue of cubic has a mean of" in err
    assert "the queue of" not in run(capsys, "compare", "cubic", *DEEP, "--queue", "fq_codel")[2]
    out = tmp_path / "swept"
    err = run(capsys, "sweep", "cubic", *DEEP, "--over", "queue=1s,fq_codel", "--out", out)[2]
    assert "note: in 1 of 2 runs of cubic the mean queueing delay of one half" in err
    assert "In 1 of 2 runs of cubic the mean" in (out / "index.html").read_text("utf-8")
    # The queue of a path that changes by description moves without a word.
    lines = tmp_path / "lines.csv"
    lines.write_text("rate_mbit,rtt_ms,queue_ms\n50,20,1000\n50,20,50\n")
    assert "in 1 of 2 runs" in run(capsys, "sweep", "cubic", "--lines", lines, "--duration", "5s")[2]
    steps = ("--set", 'path.rate=[["0s", "50mbit"], ["3s", "25mbit"]]')
    assert (
        "runs of" not in run(capsys, "sweep", "cubic", "--duration", "5s", "--over", "queue=1s,2s", *steps)[2]
    )
