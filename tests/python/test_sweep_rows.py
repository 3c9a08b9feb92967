"""Sweeps: the rows of their runs, their fairness and intervals, and runs that are shown before the end."""

import math
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ackclock
from ackclock import _engine
from ackclock.cli import output
from ackclock.sweeps import Place
from ackclock.sweeps.result import _intervals
from ackclock.sweeps.run import _counted_from
from ackclock.sweeps.work import _Rows
from calling import needs_live, refused, run

PATH = ackclock.Path("10mbit", rtt="20ms", queue="1bdp")


def test_the_fairness_of_a_sweep_is_that_of_its_runs(tmp_path):
    call = ackclock.Flow("cubic", source={"rate": "100kbit"})
    flows = [ackclock.Flow("cubic", count=2), call, ackclock.Flow("cubic", bytes="10kB")]
    scenario = ackclock.Scenario(path=PATH, flows=flows, duration="2s")
    swept = ackclock.sweep(
        scenario, over={"queue": ["5p", "9p"]}, executor=ThreadPoolExecutor(), out=tmp_path
    )
    alone = [ackclock.simulate(replace(scenario, path=replace(PATH, queue=one))) for one in ("5p", "9p")]
    expected = [run.fairness for run in alone]
    assert [of["jain"] for of in swept.values.values()] == [[one] for one in expected]
    # A table of an earlier version has no such column.
    file = tmp_path / "runs.parquet"
    pq.write_table(pq.read_table(file).drop_columns(["jain"]), file)
    earlier = ackclock.Sweep.load(tmp_path)
    place = next(iter(earlier.values))
    assert earlier.interval(place, "jain") is None
    assert earlier.interval(place, "goodput") == swept.interval(place, "goodput")


def test_a_long_sweep_shows_its_first_runs(capsys, monkeypatch):
    monkeypatch.setattr(output, "SHOW_PROGRESS_AFTER_S", 0.0)
    swept = ("sweep", "newreno", "--over", "rate=1mbit..12mbit*12", "--duration", "200ms")
    status, _, notes = run(capsys, *swept, "--executor", "local:1")
    assert status == 0, notes
    lines = [line for line in notes.splitlines() if line.startswith("newreno, ")]
    assert 1 <= len(lines) <= 3
    words = r"newreno, path\.rate=1mbit, seed 1: goodput of all flows [\d.]+ Mbit/s, utilization 0\.\d+, .*%"
    assert re.fullmatch(words, lines[0])


def test_an_interval_is_of_the_values_that_are_known():
    def point(name):
        return Place("newreno", (("path.rate", name),))

    values = {point("a"): [3.0, math.nan, 1.0, 2.0, 5.0, 4.0], point("b"): [math.nan], point("c"): [7.0]}
    # Three or more of five draws are 1 with a probability of 0.058: the ends are the least and the largest.
    found = _intervals(values)
    assert found == {point("a"): (1.0, 3.0, 5.0), point("c"): (7.0, 7.0, 7.0)}
    assert list(found) == [point("a"), point("c")]


def test_rows_of_many_runs_are_those_of_each(tmp_path):
    # More runs than are put together at a time.
    seeds = _Rows.TOGETHER + 3
    scenario = ackclock.Scenario(
        path=PATH, flows=[ackclock.Flow("cubic"), ackclock.Flow("newreno")], duration="100ms"
    )
    swept = ackclock.sweep(scenario, over={"rate": ["1mbit", "2mbit"]}, repeat=seeds, out=tmp_path)
    for number, rate in ((0, "1mbit"), (2 * seeds - 1, "2mbit")):
        alone = ackclock.simulate(replace(scenario, path=replace(PATH, rate=rate)), seed=number % seeds + 1)
        for table, rows in ((alone.flows, swept.runs), (alone.links, swept.links)):
            per_run = table.num_rows
            own = rows.slice(number * per_run, per_run)
            assert own.num_rows == per_run
            assert own.select(table.column_names).equals(table.replace_schema_metadata(None))
    # The bottleneck is the first link of each run.
    assert set(swept.runs["link_name"].to_pylist()) == {"bottleneck"}


def test_tables_are_joined_with_their_nulls():
    short = ackclock.Scenario(path=PATH, flows=[ackclock.Flow("cubic", bytes="3kB")], duration="1s")
    endless = replace(short, flows=[ackclock.Flow("cubic")])
    tables = [ackclock.simulate(one).streamed("flows") for one in (short, endless, short)]
    joined = pa.table(_engine.joined(tables))
    assert joined.equals(pa.concat_tables(map(pa.table, tables)).combine_chunks())
    assert [time is None for time in joined["completion_s"].to_pylist()] == [False, True, False]
    with pytest.raises(RuntimeError, match="no table to join"):
        _engine.joined([])
    with pytest.raises(RuntimeError, match="Dictionary"):
        _engine.joined([ackclock.simulate(short).streamed("events")])


@needs_live
@pytest.mark.parametrize("executor", ["local:2", "dask"])
def test_the_kernel_runs_one_at_a_time_on_this_machine(capsys, executor):
    arguments = ("sweep", "cubic", "--over", "queue=1bdp", "--engine", "live", "--executor", executor)
    said = f"--executor {executor}: the kernel's TCP runs on this machine, one at a time"
    assert refused(capsys, *arguments) == said


def test_controllers_in_python_are_counted_on_from_those_of_earlier_scenarios():
    text = (
        '{"flows": [{"cc": "python:0:Mine"}, {"cc": "cubic"}, {"cc": "python:12:Other"}], "name": "python:1"}'
    )
    assert _counted_from(3, text) == text.replace("python:0:", "python:3:").replace(
        "python:12:", "python:15:"
    )
    assert _counted_from(0, text) == text
