"""Sweeps: the fairness of their runs, and runs that are shown before the end."""

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pyarrow.parquet as pq

import ackclock
from ackclock.cli import output
from calling import run

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
