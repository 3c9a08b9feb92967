"""Parity without a kernel: a simulator stands in for it, a little off."""

import fcntl
import json
import os

import pyarrow as pa
import pytest

from ackclock import parity
from ackclock.parity.comparison import QUANTITIES, Simulated
from ackclock.result import Run
from calling import refused, run

GRID = (
    "--rates",
    "10mbit,20mbit",
    "--rtts",
    "20ms",
    "--queues",
    "1bdp",
    "--flows",
    "1,2",
    "--simulations",
    3,
)
TIMES = ("--controllers", "newreno,cubic", "--duration", "3s", "--warmup", "1s")
CELLS = 2 * 2 * 2


def test_an_interrupted_grid_goes_on_where_it_stopped(capsys, tmp_path, kernel):
    command = ("parity", *GRID, *TIMES, "--json", "--out", tmp_path / "out")
    kernel.left = 3
    status, out, err = run(capsys, *command)
    assert status == 130
    assert "interrupted; the same command continues" in err
    assert len(json.loads(out)["cells"]) == 3
    page = (tmp_path / "out" / "index.html").read_text()
    assert "Not finished: 3 of 8 live runs" in page
    assert "<img" not in page

    # As a process that was killed while it wrote a run leaves it.
    (tmp_path / "out" / "live" / ".008-half").mkdir()
    kernel.left = CELLS
    status, out, err = run(capsys, *command)
    assert status == 0, err
    assert "3 live runs are taken from" in err
    assert kernel.started == CELLS
    assert len(json.loads(out)["cells"]) == CELLS
    assert {p.name for p in (tmp_path / "out").iterdir()} == {
        "index.html",
        "live",
        "parity.json",
        "parity.md",
        "settings.json",
        "window-0.png",
        "window-1.png",
    }
    kept = sorted((tmp_path / "out" / "live").iterdir())
    assert len(kept) == CELLS
    assert kept[1].name.startswith("10mbit-20ms-1bdp-1-x-newreno-seed-1-")
    assert Run.load(kept[1]).scenario["name"] == "10mbit, 20ms, 1bdp, 1 x newreno"

    again = json.loads(run(capsys, *command)[1])
    assert kernel.started == CELLS
    assert again == json.loads(out)


def test_a_folder_of_other_settings_is_replaced_only_with_force(capsys, tmp_path, kernel):
    folder = tmp_path / "out"
    small = ("--quick", "--controllers", "newreno", "--simulations", 2, "--out", folder)
    assert run(capsys, "parity", *small)[0] == 0
    said = refused(capsys, "parity", *small, "--seed", 2)
    assert "was started with seed 1, and now it is 2" in said
    assert "controllers newreno, and now it is newreno,cubic" in refused(
        capsys, "parity", *small, "--controllers", "newreno,cubic"
    )
    (folder / "settings.json").write_text("[")
    assert "settings.json does not hold" in refused(capsys, "parity", *small)
    assert kernel.started == 1
    assert run(capsys, "parity", *small, "--seed", 2, "--force")[0] == 0
    assert [p.name[-15:-9] for p in (folder / "live").iterdir()] == ["seed-2"]
    assert [p.name for p in tmp_path.iterdir()] == ["out"]

    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "thesis.txt").write_text("")
    assert "not empty" in refused(capsys, "parity", "--out", foreign)
    assert "no report of ackclock" in refused(capsys, "parity", "--force", "--out", foreign)


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("force", [[], ["--force"]])
def test_two_at_once_in_one_folder_are_refused(capsys, tmp_path, force):
    small = ("--quick", "--controllers", "newreno", "--simulations", 2, "--out", tmp_path / "out")
    assert run(capsys, "parity", *small)[0] == 0
    descriptor = os.open(tmp_path / "out", os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        assert "another ackclock is at work in it" in refused(capsys, "parity", *small, *force)
    finally:
        os.close(descriptor)
    assert (tmp_path / "out" / "parity.md").exists()


@pytest.mark.usefixtures("kernel")
def test_lists_that_say_nothing_are_refused(capsys):
    assert "--flows x: must be whole numbers" in refused(capsys, "parity", "--flows", "x")
    assert "--rates ,: must be values" in refused(capsys, "parity", "--rates", ",")


def of(utilization=0.9, queue=10.0, drops=0, valid=True):
    """A run with these quantities."""
    tables = {
        "links": pa.table(
            {
                "utilization": [utilization],
                "is_bottleneck": [True],
                "queue_packets_mean": [queue],
                "queue_packets_p95": [20],
                "dropped_packets": [drops],
            }
        ),
        "flows": pa.table({"rtt_mean_ms": [50.0, None]}),
    }
    engine = {"kind": "live", "kernel": "6.0", "valid": valid, "reasons": [] if valid else ["late"]}
    return Run(tables.__getitem__, {}, 1, engine)


def comparison(simulated, live, rate="10mbit", cc="cdg"):
    quantities = [parity.comparison.measured(one) for one in simulated]
    cell = parity.Cell(rate, "40ms", "1bdp", 1, cc)
    return parity.Comparison(cell, Simulated(simulated[0], quantities), live)


def test_a_difference_counts_when_it_exceeds_three_standard_errors():
    # Mean 10, standard deviation 1. Of three runs and one alike the standard error is sqrt(1/3 + 1) = 1.155.
    simulated = [of(queue=9.0), of(queue=10.0), of(queue=11.0)]
    assert not comparison(simulated, [of(queue=13.4)]).differs("queue_mean_packets")
    assert comparison(simulated, [of(queue=13.5)]).differs("queue_mean_packets")
    # Two equal live runs spread by nothing: sqrt(1/3) = 0.577.
    assert not comparison(simulated, [of(queue=11.7)] * 2).differs("queue_mean_packets")
    assert comparison(simulated, [of(queue=11.8)] * 2).differs("queue_mean_packets")


def test_a_difference_that_is_not_shown_does_not_count():
    simulated = [of(utilization=1.0)] * 3
    assert not comparison(simulated, [of(utilization=0.99996)]).differs("utilization")
    assert comparison(simulated, [of(utilization=0.9999)]).differs("utilization")


def test_runs_past_their_budget_are_left_out_beside_valid_ones():
    simulated = [of()] * 2
    mixed = comparison(simulated, [of(queue=99.0, valid=False), of(queue=11.0)])
    assert (mixed.valid, mixed.difference("queue_mean_packets")) == (True, 1.0)
    alone = comparison(simulated, [of(queue=99.0, valid=False)])
    assert (alone.valid, alone.difference("queue_mean_packets")) == (False, 89.0)
    assert [parity.rows([one])[0][-1] for one in (mixed, alone)] == ["1 of 2 invalid", "invalid"]


def test_the_summary_counts_valid_cells_and_names_the_worst():
    simulated = [of(queue=9.9), of(queue=10.1)]
    done = [
        comparison(simulated, [of(queue=10.1)]),
        comparison(simulated, [of(queue=8.0, utilization=0.92)], rate="50mbit"),
        comparison(simulated, [of(queue=30.0, valid=False)], rate="90mbit"),
        comparison(simulated, [of(valid=False)], cc="siad"),
    ]
    assert parity.summary(done) == [
        [
            "1 x cdg",
            "2 of 3",
            "1 of 2",
            "1 of 2",
            "+2.00 points at 50mbit, 40ms, 1bdp",
            "-20.0 % at 50mbit, 40ms, 1bdp",
        ],
        ["1 x siad", "0 of 1", "0 of 0", "0 of 0", "-", "-"],
    ]
    assert parity.rows(done[1:2])[0] == [
        "1 x cdg",
        "0.9 / 0.92 *",
        "10 (9.9 to 10.1) / 8 *",
        "20 / 20",
        "50 / 50",
        "0 / 0",
        "",
    ]
    cell = done[1].as_json()
    assert (cell["differs"], cell["near"], cell["valid"]) == (
        ["utilization", "queue_mean_packets"],
        False,
        True,
    )
    assert cell["simulated"]["queue_mean_packets"] == {
        "mean": 10.0,
        "low": 9.9,
        "high": 10.1,
        "deviation": pytest.approx(0.1414, abs=1e-4),
    }
    assert cell["live"]["queue_mean_packets"]["deviation"] is None
    assert set(cell["difference"]) == set(QUANTITIES)


def test_a_grid_has_each_cell_once_ordered_by_path():
    grid = parity.Grid(["1mbit"], ["40ms"], ["1bdp", "2bdp"], [1], ["cdg", "da", "cdg"], "3s", "1s", 4, 2)
    assert [(cell.queue, cell.name) for cell in grid.cells()] == [
        ("1bdp", "1 x cdg"),
        ("1bdp", "1 x da"),
        ("2bdp", "1 x cdg"),
        ("2bdp", "1 x da"),
    ]
    assert [(point.key, list(point.seeds)) for point in grid.points()] == [(n, [4, 5]) for n in range(4)]
    assert [list(point.seeds) for point in grid.points(simulations=3)] == [[4, 5, 6]] * 4


@pytest.mark.parametrize(
    ("option", "value", "sentence"),
    [
        ("--rates", "x", "path.rate: `x`"),
        ("--rates", ",", "--rates ,: must be values separated by commas"),
        ("--flows", "0", "--flows 0: must be whole numbers from 1 to 1000"),
        ("--flows", "-1", "--flows -1: must be whole numbers from 1 to 1000"),
        ("--flows", "99999", "--flows 99999: must be whole numbers from 1 to 1000"),
        ("--duration", "0s", "duration"),
        ("--queues", "0p", "path.queue"),
    ],
)
def test_quick_reads_what_is_given_beside_it(capsys, kernel, option, value, sentence):
    assert sentence in refused(capsys, "parity", "--quick", option, value)
    assert kernel.started == 0


def test_quick_gives_way_to_options_given(capsys, kernel):
    options = ("--controllers", "newreno", "--simulations", 2, "--rates", "5mbit", "--duration", "3s")
    status, out, _ = run(capsys, "parity", "--quick", *options, "--json")
    (cell,) = json.loads(out)["cells"]
    assert status == 0
    # The rate is the one given, RTT and queue are those of --quick.
    assert (cell["rate"], cell["rtt"], cell["queue"], cell["flows"]) == ("5mbit", "40ms", "1bdp", 1)
    assert kernel.started == 1
