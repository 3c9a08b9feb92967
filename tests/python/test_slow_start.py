"""`ackclock slow-start`: paths drawn, what is measured of a run worked out by hand, table and folder."""

import csv
import json
import math

import pytest

import ackclock
from ackclock import _engine, slow_start
from ackclock.engines import Job
from ackclock.engines.simulator import Simulator
from ackclock.slow_start import METHODS, Path, Range, Start, measure, paths, span, summaries
from calling import refused, run

SMALL = ("--paths", "3", "--rate", "5mbit..20mbit", "--rtt", "20ms..50ms", "--buffer", "0.5..4")


def test_paths_lie_in_their_ranges_and_hold_ten_packets():
    drawn = list(paths(200, Range(1e6, 1e9), Range(5e-3, 0.6), Range(0.1, 10.0), 1))
    assert len(drawn) == 200
    assert all(1e6 <= path.rate_bps <= 1e9 and 5e-3 <= path.rtt_s <= 0.6 for path in drawn)
    assert all(path.bdp >= 10.0 and 0.1 <= path.buffer_bdp <= 10.0 for path in drawn)
    # As many below the middle of the logarithmic range as above: 10 % of 200 is far beyond chance.
    below = sum(path.buffer_bdp < 1.0 for path in drawn)
    assert 80 <= below <= 120
    assert drawn == list(paths(200, Range(1e6, 1e9), Range(5e-3, 0.6), Range(0.1, 10.0), 1))


def test_ranges_that_hold_no_path_are_refused():
    with pytest.raises(ValueError, match="no path of these ranges holds 10 packets"):
        next(paths(1, Range(1e6, 1e6), Range(1e-3, 1e-3), Range(1.0, 1.0), 1))


def test_a_classic_start_ends_where_path_and_queue_are_full():
    # 12 Mbit/s and 100 ms hold 100 packets, and a queue of 100 follows: 200. Doubling makes 320 to 400 of it.
    path = Path(12e6, 0.1, 1.0)
    resolved = _engine.resolve_json(path.document("newreno", "classic"), [])
    ((_, result),) = list(Simulator().run([Job(resolved, 1)]))
    start = measure("classic", path, result)
    assert path.bdp == 100.0
    assert 2.0 <= start.exit_bdp <= 4.0
    # What is lost is what was sent beyond 200 packets.
    assert start.lost_bdp == pytest.approx(start.exit_bdp - 2.0, abs=0.35)
    # 10 kB are 7 segments: handshake and one round trip. 100 kB are 70, by 10 20 40: in the third.
    assert start.times_s[0] == pytest.approx(0.2, abs=0.06)
    assert start.times_s[1] == pytest.approx(0.4, abs=0.08)
    assert start.times_s[5] is None


def of(method, exit_bdp, lost_bdp, times):
    ended = None if exit_bdp is None else 1.0
    return Start(method, 1e7, 0.1, 1.0, 83.3, ended, exit_bdp, lost_bdp, times)


def test_a_summary_compares_times_with_those_of_the_first_method_where_both_have_them():
    none = (None,) * 4
    starts = [
        of("classic", 2.0, 1.0, (0.2, 1.0, *none)),
        of("search", 1.0, 0.0, (0.1, None, *none)),
        of("classic", 4.0, 0.0, (0.2, 1.0, *none)),
        of("search", None, 0.0, (0.4, 2.0, *none)),
    ]
    classic, search = summaries(starts, ["classic", "search"])
    assert classic.exit_bdp == pytest.approx((2.2, 3.0, 3.8))
    assert (classic.lossy, classic.lost_bdp, classic.times[0]) == (0.5, 0.5, pytest.approx(1.0))
    # sqrt(0.5 * 2), and of the second path alone 2.
    assert (search.ended, search.exit_bdp) == (1, pytest.approx((1.0, 1.0, 1.0)))
    assert search.times[:3] == (pytest.approx(1.0), pytest.approx(2.0), None)


def test_a_range_is_read_as_quantities():
    assert span("1mbit..1gbit", "rate", "--rate") == Range(1e6, 1e9)
    assert span("40ms", "time", "--rtt") == Range(0.04, 0.04)
    for text in ("0..10", "10..1", "x..2", "nan..nan"):
        with pytest.raises(ValueError, match="--buffer"):
            span(text, "number", "--buffer")


def test_the_command_shows_every_method_and_writes_every_path(capsys, tmp_path):
    status, out, _ = run(capsys, "slow-start", *SMALL, "--out", tmp_path / "starts", "--json")
    assert status == 0
    methods = json.loads(out)["slow_start"]["methods"]
    assert [one["method"] for one in methods] == list(METHODS)
    assert all(one["paths"] == 3 for one in methods)
    with (tmp_path / "starts" / "slow-start.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 3 * len(METHODS)
    assert {row["method"] for row in rows} == set(METHODS)
    # The methods of a path meet the same path.
    assert len({row["rate_bps"] for row in rows}) == 3
    assert all(not row["exit_bdp"] or math.isfinite(float(row["exit_bdp"])) for row in rows)


def test_what_cannot_be_is_said_in_a_sentence(capsys):
    assert refused(capsys, "slow-start", "serch").endswith("; did you mean `search`?")
    said = refused(capsys, "slow-start", "--rate", "fast")
    assert said.startswith("--rate fast: ")
    assert refused(capsys, "slow-start", "--buffer", "4..1").startswith(
        "--buffer 4..1: must be a range above 0"
    )
    said = refused(capsys, "slow-start", "classic", "--cc", "bbr1", "--paths", "1")
    assert "`bbr1` has a start of its own" in said


def test_the_methods_are_those_of_the_parameter():
    schema = json.loads(_engine.schema())["$defs"]["slow-start-slow_start"]
    assert set(schema["enum"]) == {"own", *METHODS}
    assert ackclock.controllers()
    assert len(slow_start.POWERS) == 6
