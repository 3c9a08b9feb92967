"""Parity without a kernel: a simulator replaces it, a little off."""

import fcntl
import json
import os

import pyarrow as pa
import pytest

from ackclock import parity, repetitions
from ackclock.cases.document import CaseError
from ackclock.engines.simulator import Simulator
from ackclock.parity import situations
from ackclock.parity.comparison import QUANTITIES, SimulatedCell
from ackclock.parity.readings import measured, readings
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
    command = ("kernel", "parity", *GRID, *TIMES, "--json", "--out", tmp_path / "out")
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
    assert run(capsys, "kernel", "parity", *small)[0] == 0
    said = refused(capsys, "kernel", "parity", *small, "--seed", 2)
    assert "was started with seed 1, and now it is 2" in said
    assert "controllers newreno, and now it is newreno,cubic" in refused(
        capsys, "kernel", "parity", *small, "--controllers", "newreno,cubic"
    )
    (folder / "settings.json").write_text("[")
    assert "settings.json does not hold" in refused(capsys, "kernel", "parity", *small)
    assert kernel.started == 1
    assert run(capsys, "kernel", "parity", *small, "--seed", 2, "--force")[0] == 0
    assert [p.name[-39:-33] for p in (folder / "live").iterdir()] == ["seed-2"]
    assert [p.name for p in tmp_path.iterdir()] == ["out"]

    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "thesis.txt").write_text("")
    assert "not empty" in refused(capsys, "kernel", "parity", "--out", foreign)
    assert "no report of ackclock" in refused(capsys, "kernel", "parity", "--force", "--out", foreign)


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("force", [[], ["--force"]])
def test_two_at_once_in_one_folder_are_refused(capsys, tmp_path, force):
    small = ("--quick", "--controllers", "newreno", "--simulations", 2, "--out", tmp_path / "out")
    assert run(capsys, "kernel", "parity", *small)[0] == 0
    descriptor = os.open(tmp_path / "out", os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        assert "another ackclock is at work in it" in refused(capsys, "kernel", "parity", *small, *force)
    finally:
        os.close(descriptor)
    assert (tmp_path / "out" / "index.html").exists()


@pytest.mark.usefixtures("kernel")
def test_lists_that_say_nothing_are_refused(capsys):
    assert "--flows x: must be whole numbers" in refused(capsys, "kernel", "parity", "--flows", "x")
    assert "--rates ,: must be values" in refused(capsys, "kernel", "parity", "--rates", ",")


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
    quantities = [measured(one) for one in simulated]
    cell = parity.Cell(parity.greedy(parity.GridPath(rate, "40ms", "1bdp", "30s", "5s"), 1), cc)
    return parity.Comparison(cell, SimulatedCell(simulated[0], quantities), live)


def test_headings_name_the_engine_that_ran():
    done = comparison([of(), of()], [of()])
    done.live[0].engine["kind"] = "uml"
    assert parity.legend([done]).startswith("Simulated / uml. ")
    assert parity.far_headings([done.as_json()])[-2:] == ["simulated", "uml"]


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
    cells = [mixed.as_json(), alone.as_json()]
    assert [parity.row(cell)[-1] for cell in cells] == ["1 of 2 invalid", "invalid"]
    assert parity.tally(cells) == "1 of 1 cells are near; 1 cell is invalid."


def test_the_summary_has_a_row_a_situation_with_far_values():
    simulated = [of(queue=9.9), of(queue=10.1)]
    done = [
        comparison(simulated, [of(queue=10.1)]),
        comparison(simulated, [of(queue=8.0, utilization=0.92)], rate="50mbit"),
        comparison(simulated, [of(queue=30.0, valid=False)], rate="90mbit"),
        comparison(simulated, [of(valid=False)], cc="siad"),
    ]
    cells = [one.as_json() for one in done]
    assert parity.summary_headings(cells) == ["situation", "cdg", "siad"]
    assert parity.summary(cells) == [["greedy, 1 flow", "1 of 2", "invalid"]]
    assert parity.summary(cells[1:2]) == [["greedy, 1 flow", "far: utilization, mean queue"]]
    assert parity.tally(cells) == "1 of 2 cells are near; 2 cells are invalid."
    assert parity.far_rows(cells) == [
        ["50mbit, 40ms, 1bdp", "1 x cdg", "utilization", "0.9", "0.92"],
        ["50mbit, 40ms, 1bdp", "1 x cdg", "mean queue", "10", "8"],
    ]
    assert parity.row(cells[1]) == [
        "1 x cdg",
        "0.9 / 0.92 *",
        "10 (9.9 to 10.1) / 8 *",
        "20 / 20",
        "50 / 50",
        "0 / 0",
        "",
        "far: utilization, mean queue",
        "",
    ]
    cell = cells[1]
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


def test_what_other_seeds_explain_is_counted_apart():
    # Three standard errors are 3 * sqrt(1/3 + 1) = 3.46 packets, and a tenth of the mean is one.
    simulated = [of(queue=9.0), of(queue=10.0), of(queue=11.0)]
    done = [comparison(simulated, [of(queue=queue)]) for queue in (10.5, 13.4, 13.5)]
    cells = [one.as_json() for one in done]
    assert [parity.verdict(cell) for cell in cells] == [
        "near",
        "within spread: mean queue",
        "far: mean queue",
    ]
    assert parity.summary(cells) == [["greedy, 1 flow", "1 of 3, 1 within spread"]]
    assert parity.tally(cells) == "1 of 3 cells are near, 1 more within the spread of the seeds."


def test_a_grid_has_each_cell_once_ordered_by_situation():
    paths = [
        parity.greedy(parity.GridPath("1mbit", "40ms", queue, "3s", "1s"), 1) for queue in ("1bdp", "2bdp")
    ]
    grid = parity.Grid(paths, ["cdg", "da", "cdg"], 4, 2)
    assert [(cell.path, cell.name) for cell in grid.cells()] == [
        ("1mbit, 40ms, 1bdp", "1 x cdg"),
        ("1mbit, 40ms, 1bdp", "1 x da"),
        ("1mbit, 40ms, 2bdp", "1 x cdg"),
        ("1mbit, 40ms, 2bdp", "1 x da"),
    ]
    assert [(point.key, list(point.seeds)) for point in grid.points()] == [(n, [4, 5]) for n in range(4)]
    assert [list(point.seeds) for point in grid.points(simulations=3)] == [[4, 5, 6]] * 4


def test_newreno_is_simulated_in_the_whole_segments_of_the_kernel():
    cell = parity.Cell(parity.catalogue()["marks"], "newreno")
    simulated, live = (json.loads(cell.plan(which).resolved)["flows"][0] for which in (True, False))
    assert simulated["parameters"]["stack"] == "linux"
    assert "parameters" not in live


SERIES = {
    "time_s": [0.0, 1.0, 2.0, 3.0],
    "flow": [0, 0, 0, 0],
    "window_segments": [10.0, 40.0, 20.0, 22.0],
    "in_flight_segments": [10, 40, 31, 22],
    "state": ["open", "open", "recovery", "open"],
}


def transfer(windows=SERIES, completion=1.0):
    """A run of one flow that ends."""
    flow = {"name": ["a"], "rtt_mean_ms": [50.0], "completion_s": pa.array([completion], pa.float64())}
    tables = {"flow_series": pa.table(windows), "flows": pa.table(flow), "links": of().links}
    return Run(tables.__getitem__, {}, 1, {"kind": "live", "kernel": "6.0", "valid": True, "reasons": []})


def situation(**given):
    """A situation that compares the given quantities."""
    return parity.Situation("x", "x", "x", '{"path": {}, "flows": [{}]}', **given)


def test_a_window_that_comes_down_is_what_is_in_flight():
    # In recovery the simulator's window is 20 already, and the kernel's falls with the 31 in flight.
    watched = situation(compare=("windows",), windows_at_s=(1.5, 2.0, 3.0))
    assert readings(transfer(), parity.Cell(watched, "cubic")) == {
        "window at 1.5 s": 40,
        "window at 2 s": 31,
        "window at 3 s": 22,
    }


def test_no_windows_are_compared_of_a_controller_that_draws():
    watched = situation(compare=("utilization", "windows"), windows_at_s=(1.0,))
    assert parity.Cell(watched, "cdg").compare == ("utilization",)
    assert readings(transfer(), parity.Cell(watched, "cdg")) == {}


@pytest.mark.parametrize(
    ("live", "near"),
    [({"completion": 1.09}, True), ({"completion": 1.11}, False), ({"completion": None}, False)],
)
def test_a_completion_time_is_near_within_a_tenth(live, near):
    timed = situation(compare=("completion",))
    one = against(timed, transfer(), transfer(**live))
    assert one.near == near
    assert one.as_json()["checks"][0]["live"] == live["completion"]


@pytest.mark.parametrize(("windows", "near"), [((22, 44), True), ((23, 44), True), ((22, 45), False)])
def test_a_window_is_near_within_a_tenth_or_a_segment(windows, near):
    # A tenth is 4 of 40 segments and 2.2 of 22. With 5 a whole segment is more.
    watched = situation(compare=("windows",), windows_at_s=(1.0, 3.0))
    live = SERIES | {"window_segments": [10.0, float(windows[1]), 20.0, float(windows[0])]}
    assert against(watched, transfer(), transfer(live)).near == near
    small, smaller = (SERIES | {"window_segments": [one] * 4} for one in (5.0, 4.0))
    assert against(watched, transfer(small), transfer(smaller)).near


def against(situation, simulated, live):
    """The comparison of two runs."""
    cell = parity.Cell(situation, "cubic")
    found = measured(simulated) | readings(simulated, cell)
    return parity.Comparison(cell, SimulatedCell(simulated, [found]), [live])


def test_losses_are_compared_within_one_seed():
    # Seeds 1 and 2. The live run has seed 1. The mean of both, 0.8, is far from 0.9, but seed 1 alone is not.
    quantities = [measured(of(0.9)), measured(of(0.7))]
    for paired in (False, True):
        cell = parity.Cell(situation(compare=("utilization",), paired=paired), "cubic")
        assert parity.Comparison(cell, SimulatedCell(of(0.9), quantities), [of(0.9)]).near == paired


@pytest.mark.parametrize("name", parity.catalogue())
def test_every_situation_runs_and_reads_what_it_compares(name):
    one = parity.catalogue()[name]
    assert set(one.compare) <= {"utilization", "queue", "windows", "completion"}
    assert ("windows" in one.compare) == bool(one.windows_at_s)
    assert max(one.windows_at_s, default=0.0) < float(one.document()["duration"][:-1])
    grid = parity.Grid([one], ["newreno"], 1, 1)
    (simulated,) = parity.simulate(grid, 2, Simulator())
    (point,) = grid.points()
    ((_, _, live),) = repetitions.results([point], Simulator())
    done = parity.Comparison(grid.cells()[0], simulated, [live])
    numbers = [number for check in done.checks for number in check.numbers.values()]
    assert None not in numbers
    assert len(done.checks) >= len(one.compare)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('title = "t"', "mine.toml: `scenario` is missing"),
        (
            'title = "t"\ncompare = ["use"]\n[scenario]',
            "mine.toml: compare = ['use'] must be a list of utilization",
        ),
        ('title = "t"\ncompare = ["windows"]\n[scenario]', "mine.toml: `windows_at_s` is for compare"),
        ('title = 1\ncompare = ["queue"]\n[scenario]', "mine.toml: title = 1 must be of type str"),
        (
            'titel = "t"\ntitle = "t"\ncompare = ["queue"]\n[scenario]',
            "unknown key `titel`; did you mean `title`?",
        ),
        ("title", "mine.toml: "),
    ],
)
def test_a_mistake_in_a_situation_gets_a_sentence(tmp_path, text, sentence):
    file = tmp_path / "mine.toml"
    file.write_text(text)
    with pytest.raises(CaseError) as error:
        situations._read(file)
    assert sentence in str(error.value)


def test_a_share_is_near_within_ten_points():
    def shared(first, second):
        tables = {
            "flows": pa.table({"name": ["a", "b"], "goodput_bps": [first, second], "rtt_mean_ms": [5.0, 5.0]})
        }
        tables |= {"links": of().links}
        return Run(tables.__getitem__, {}, 1, {"kind": "live", "kernel": "6", "valid": True, "reasons": []})

    pair = parity.beside(parity.GridPath("10mbit", "40ms", "1bdp", "30s", "5s"), "cubic")
    assert (pair.document()["flows"][1]["cc"], pair.flows) == ("cubic", 2)
    # 3 of 4 Mbit/s beside 2.7 and 2.5 of 4: 75 % beside 67.5 % and 62.5 %.
    assert against(pair, shared(3e6, 1e6), shared(2.7e6, 1.3e6)).near
    assert not against(pair, shared(3e6, 1e6), shared(2.5e6, 1.5e6)).near
    assert not against(pair, shared(3e6, 1e6), shared(0.0, 0.0)).near


def test_acks_of_a_grid_are_late_in_both_engines():
    times = ("30s", "5s")
    late = parity.greedy(parity.GridPath("10mbit", "40ms", "1bdp", *times, jitter="0.1ms"), 1)
    assert late.title == "10mbit, 40ms, 1bdp, jitter 0.1ms"
    resolved = [
        json.loads(parity.Cell(late, "newreno").plan(simulated).resolved) for simulated in (False, True)
    ]
    assert [one["path"]["reverse"]["jitter"] for one in resolved] == ["100us", "100us"]
    exact = parity.greedy(parity.GridPath("10mbit", "40ms", "1bdp", *times), 1)
    assert "reverse" not in exact.document()["path"]


def test_a_grid_has_losses_and_flows_beside_others(capsys, kernel):
    options = ("--controllers", "newreno,vegas", "--simulations", 2, "--rates", "5mbit", "--rtts", "20ms")
    times = ("--queues", "1bdp", "--duration", "3s", "--warmup", "1s", "--json")
    status, out, err = run(
        capsys, "kernel", "parity", *options, *times, "--losses", "0%,1%", "--beside", "cubic"
    )
    assert status == 0, err
    cells = json.loads(out)["cells"]
    assert [(one["cc"], one["beside"], one["loss"]) for one in cells] == [
        ("newreno", "cubic", "0%"),
        ("vegas", "cubic", "0%"),
        ("newreno", "cubic", "1%"),
        ("vegas", "cubic", "1%"),
    ]
    assert [check["what"] for check in cells[0]["checks"]] == ["share"]
    assert "beside cubic" in err
    status, out, _ = run(
        capsys, "kernel", "parity", *options, *times, "--losses", "1%", "--beside", "cubic", "--flows", "1"
    )
    assert [one["beside"] for one in json.loads(out)["cells"]] == [None, None, "cubic", "cubic"]
    assert kernel.started == 8


def test_options_of_the_grid_ask_for_greedy_flows_alone(capsys, kernel):
    options = ("--flows", "1", "--controllers", "newreno", "--simulations", 2, "--rates", "5mbit")
    status, out, err = run(
        capsys, "kernel", "parity", *options, "--rtts", "20ms", "--queues", "1bdp", "--json"
    )
    assert status == 0, err
    (cell,) = json.loads(out)["cells"]
    assert cell["rate"] == "5mbit"
    assert kernel.started == 1


@pytest.mark.usefixtures("kernel")
def test_only_names_situations(capsys, tmp_path):
    only = (
        "kernel",
        "parity",
        "--only",
        "first-loss,last-loss",
        "--controllers",
        "cubic",
        "--simulations",
        2,
    )
    status, out, err = run(capsys, *only, "--json", "--out", tmp_path / "out")
    document = json.loads(out)
    assert status == 0, err
    assert [cell["situation"] for cell in document["cells"]] == ["first-loss", "last-loss"]
    # One simulator replaces both engines, so nothing differs.
    assert (document["near"], document["valid"]) == (2, 2)
    assert "2 of 2 cells are near." in (tmp_path / "out" / "index.html").read_text()
    assert "--only bursting: there is no such situation; there are greedy, behind-1.5-1s, be" in refused(
        capsys, "kernel", "parity", "--only", "bursting"
    )


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
        ("--losses", "1", "as in --losses 1%"),
        ("--losses", "few", "--losses few: "),
        ("--jitter", "1", "--jitter 1: "),
        ("--beside", "nosuch", "nosuch"),
    ],
)
def test_quick_reads_what_is_given_beside_it(capsys, kernel, option, value, sentence):
    assert sentence in refused(capsys, "kernel", "parity", "--quick", option, value)
    assert kernel.started == 0


def test_quick_gives_way_to_options_given(capsys, kernel):
    options = ("--controllers", "newreno", "--simulations", 2, "--rates", "5mbit", "--duration", "3s")
    status, out, _ = run(capsys, "kernel", "parity", "--quick", *options, "--json")
    (cell,) = json.loads(out)["cells"]
    assert status == 0
    # The rate is the one given, RTT and queue come from --quick.
    assert (cell["rate"], cell["rtt"], cell["queue"], cell["flows"]) == ("5mbit", "40ms", "1bdp", 1)
    assert kernel.started == 1


@pytest.mark.parametrize(
    ("times", "right"), [("[0]", True), ("[0, 1.5]", True), ("[-1]", False), ('["1s"]', False)]
)
def test_windows_are_read_at_times_from_the_start_on(tmp_path, times, right):
    file = tmp_path / "mine.toml"
    file.write_text(f'title = "t"\ncompare = ["windows"]\nwindows_at_s = {times}\n[scenario]\n')
    if right:
        assert situations._read(file).windows_at_s == tuple(json.loads(times))
    else:
        with pytest.raises(CaseError, match="must be a list of seconds"):
            situations._read(file)
