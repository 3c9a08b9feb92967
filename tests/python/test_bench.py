"""``ackclock bench``: its cases, and a build beside another."""

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from ackclock import bench
from ackclock.cli import bench as command
from calling import needs_live, refused, run

HERE = bench.Build(Path(bench.__file__).parent)


def test_bench_runs_a_large_case_only_when_it_is_named_or_all_are():
    million = "newreno-1000000-500gbit"
    assert million not in [case.name for case in bench.chosen(None)]
    assert million in [case.name for case in bench.chosen(None, large=True)]
    (case,) = bench.chosen([million])
    # Path and queue hold 2 * 500 Gbit/s * 80 ms / 1500 B = 6.7 million packets: a million windows of 6.
    assert case.scenario()["flows"][0]["transport"] == {"receive_window": 6}


@pytest.mark.parametrize("name", ["newreno-1-python", "agent-1-gym"])
def test_bench_measures_python(name):
    (case,) = bench.chosen([name])
    if case.missing:
        pytest.skip(f"needs {case.missing}")
    measured = bench.measure(replace(case, duration="2s"))
    alike = bench.measure(replace(case, name="newreno", controller="newreno", duration="2s", of=""))
    # The controller is the engine's, packet for packet. The agent fills the path as well.
    share = measured["data_packets"] / alike["data_packets"]
    assert share == 1.0 if case.of == "python" else 0.9 < share < 1.1
    assert measured["cpu_s"] > 0.0


def test_bench_counts_instructions_where_valgrind_is_there():
    (case,) = bench.chosen(["newreno-1"])
    measured = bench.measure(replace(case, duration="4s"))
    if shutil.which("valgrind") is None:
        assert measured["instructions_per_packet"] is None
    else:
        # A packet takes more than the time of its two links and wires alone.
        assert 500 < measured["instructions_per_packet"] < 5000


def test_bench_gives_one_run_two_cores():
    (case,) = bench.chosen(["newreno-10-1gbit-2-cores"])
    two, one = (bench.measure(replace(case, duration="2s", cores=cores)) for cores in (2, 1))
    assert two["data_packets"] == one["data_packets"] > 100_000


@needs_live
def test_bench_refuses_what_an_engine_does_not_have(capsys):
    refusal = refused(capsys, "bench", "--only", "newreno-10-1gbit-2-cores", "--live")
    assert "--only newreno-10-1gbit-2-cores: the kernel's TCP has no option `cores`" in refusal
    assert "--all runs every case" in refused(capsys, "bench", "--all", "--only", "newreno-1")


@needs_live
def test_bench_refuses_python_on_an_engine_without(capsys):
    status, _, err = run(capsys, "bench", "--only", "newreno-1-python", "--live")
    assert (status, err) == (
        2,
        "ackclock: --only newreno-1-python: the kernel runs no controllers in Python\n",
    )


def test_bench_measures_a_case_in_a_process_of_its_own(capsys):
    status, out, _ = run(capsys, "bench", "--only", "newreno-1", "--json")
    (result,) = json.loads(out)["bench"]
    assert status == 0
    assert set(result) == {
        "name",
        "controller",
        "flows",
        "data_packets",
        "events",
        "cpu_s",
        "wall_s",
        "packets_per_cpu_s",
        "instructions_per_packet",
        "instructions",
        "peak_rss_bytes",
    }
    # 100 Mbit/s for 60 s are 500 000 packets of 1500 bytes.
    assert 400_000 < result["data_packets"] < 510_000


def small(name, **changes):
    """The case called ``name``, on a path that is simulated in a moment."""
    (case,) = bench.chosen([name])
    return replace(case, **{"duration": "2s", **changes})


def test_bench_measures_a_command_and_one_repetition_of_a_run(monkeypatch):
    monkeypatch.setattr(bench.shutil, "which", lambda _: None)
    answer, one = (bench.measure(small(name)) for name in ("first-answer-run", "repetition"))
    for result in (answer, one):
        nothing = ("data_packets", "events", "packets_per_cpu_s", "instructions_per_packet", "instructions")
        assert [result[key] for key in nothing] == [None] * 5
        assert result["peak_rss_bytes"] > 1e7


def test_a_command_that_fails_says_why():
    with pytest.raises(RuntimeError, match="there is no controller `newrno`"):
        bench.measure(small("first-answer-run", command=("compare", "newrno")))


def test_instructions_of_a_repetition_are_those_beyond_the_first(monkeypatch):
    # 5 million of the start, and a million a repetition.
    def cost(command, *_):
        (repeat,) = (int(word.partition("=")[2]) for word in command if word.startswith("--repeat="))
        count = f"==1== I   refs:      {5_000_000 + 1_000_000 * repeat:,}"
        return {"cpu_s": 1.0 + 0.1 * repeat, "wall_s": 2.0 + 0.1 * repeat, "peak_rss_bytes": 1}, count

    monkeypatch.setattr(bench.shutil, "which", lambda _: "valgrind")
    monkeypatch.setattr(bench, "_cost", cost)
    results = [bench.measure(small(name)) for name in ("first-answer-run", "repetition")]
    assert [result["instructions"] for result in results] == [6e6, 1e6]
    assert [result["cpu_s"] for result in results] == [pytest.approx(1.1), pytest.approx(0.1)]


def test_instructions_of_a_packet_are_those_of_the_second_twentieth(monkeypatch):
    # 7 million of the start, 1000 packets a second, and 2500 instructions each.
    asked = []

    def counted(command, **_):
        seconds = float(json.loads(command[-4])["duration"].removesuffix("s"))
        asked.append(seconds)
        report = f"==1== I   refs:      {int(7e6 + 2.5e6 * seconds):,}"
        return subprocess.CompletedProcess(command, 0, json.dumps({"data_packets": 1000 * seconds}), report)

    monkeypatch.setattr(bench.shutil, "which", lambda _: "valgrind")
    monkeypatch.setattr(bench.subprocess, "run", counted)
    case = small("newreno-1", duration="60s")
    assert bench._instructions(case, HERE, "sim") == 2500.0
    assert asked == [3.0, 6.0]


@pytest.mark.parametrize("changes", [{"of": "python"}, {"large": True}, {"cores": 2}])
def test_instructions_are_counted_of_a_small_simulation_on_one_core(monkeypatch, changes):
    monkeypatch.setattr(bench.shutil, "which", lambda _: "valgrind")
    assert bench._instructions(small("newreno-1", **changes), HERE, "sim") is None
    assert bench._instructions(small("newreno-1"), HERE, "live") is None


def test_a_run_that_fails_under_valgrind_ends_the_measurement(monkeypatch):
    # Python has no such options.
    monkeypatch.setattr(bench.shutil, "which", lambda _: sys.executable)
    with pytest.raises(subprocess.CalledProcessError, match="exit status 2"):
        bench._instructions(small("newreno-1"), HERE, "sim")


def test_a_report_without_instructions_is_refused():
    assert bench._counted("==9== I refs: 1,234,567\n") == 1_234_567.0
    with pytest.raises(RuntimeError, match="valgrind counts no instructions: nothing"):
        bench._counted("nothing")


def test_bench_runs_two_builds_in_turns(monkeypatch):
    other, order = bench.Build(Path("other")), []
    times = iter([2.0, 3.0, 4.0, 2.0, 5.0, 5.0])

    def run_case(_, build, __):
        order.append("there" if build is other else "here")
        return {"data_packets": 7, "events": 9, "cpu_s": next(times), "wall_s": 1.0, "peak_rss_bytes": 1}

    monkeypatch.setattr(bench, "_run", run_case)
    monkeypatch.setattr(bench, "_instructions", lambda _, build, __: 90.0 if build is other else 100.0)
    result = bench.measure(small("newreno-1"), repeat=3, beside=other)
    assert order == ["here", "there", "there", "here", "here", "there"]
    # 3 / 2, 4 / 2 and 5 / 5.
    there = result["beside"]
    assert (there["speed"], there["quartiles"], there["instructions_ratio"]) == (1.5, [1.25, 1.75], 0.9)
    assert (result["cpu_s"], there["cpu_s"]) == (2.0, 3.0)


def test_bench_beside_the_same_build_simulates_the_same(capsys, monkeypatch):
    monkeypatch.setattr(bench, "CASES", (small("newreno-1"),))
    monkeypatch.setattr(bench.shutil, "which", lambda _: None)
    folder = Path(bench.__file__).parent
    status, out, err = run(capsys, "bench", "--repeat", "1", "--beside", folder, "--json")
    (result,) = json.loads(out)["bench"]
    assert status == 0
    assert result["beside"]["data_packets"] == result["data_packets"] > 0
    assert result["beside"]["instructions_ratio"] is None
    assert "yes" in err


def test_bench_refuses_a_folder_without_an_engine(capsys, tmp_path):
    sentence = f"--beside {tmp_path}: there is no engine of ackclock (_engine*.so) in this folder"
    assert sentence in refused(capsys, "bench", "--beside", tmp_path)


def test_costs_have_the_units_of_their_columns():
    found = {
        "name": "one",
        "controller": "cubic",
        "flows": 2,
        "data_packets": 3_000_000,
        "cpu_s": 1.5,
        "wall_s": 2.0,
    }
    found |= {"packets_per_cpu_s": 2e6, "instructions_per_packet": 1234.4, "instructions": 5.678e9}
    table = command._costs([found | {"peak_rss_bytes": 42_400_000}])
    assert [next(iter(column.cells)) for column in table.columns] == [
        *("one", "cubic", "2", "3000000", "1.50", "2.00", "2.00", "1234", "5.68e+03", "42"),
    ]
