"""`ackclock slow-start`: drawn paths, measures of a run worked out by hand, table and folder."""

import csv
import itertools
import json
import math

import pytest

import ackclock
from ackclock import _engine, slow_start
from ackclock.engines import Job
from ackclock.engines.simulator import Simulator
from ackclock.slow_start import (
    METHODS,
    Conditions,
    DrawnPath,
    LogUniform,
    Start,
    measure,
    paths,
    span,
    summaries,
)
from calling import refused, run

SMALL = ("--paths", "3", "--rate", "5mbit..20mbit", "--rtt", "20ms..50ms", "--buffer", "0.5..4")


def test_paths_lie_in_their_ranges_and_hold_ten_packets():
    drawn = list(paths(200, LogUniform(1e6, 1e9), LogUniform(5e-3, 0.6), LogUniform(0.1, 10.0), 1))
    assert len(drawn) == 200
    assert all(1e6 <= path.rate_bps <= 1e9 and 5e-3 <= path.rtt_s <= 0.6 for path in drawn)
    assert all(path.bdp >= 10.0 and 0.1 <= path.buffer_bdp <= 10.0 for path in drawn)
    # As many below the middle of the logarithmic range as above: 10 % of 200 is far beyond chance.
    below = sum(path.buffer_bdp < 1.0 for path in drawn)
    assert 80 <= below <= 120
    assert drawn == list(paths(200, LogUniform(1e6, 1e9), LogUniform(5e-3, 0.6), LogUniform(0.1, 10.0), 1))


def test_ranges_that_hold_no_path_are_refused():
    with pytest.raises(ValueError, match="no path of these ranges holds 10 packets"):
        next(paths(1, LogUniform(1e6, 1e6), LogUniform(1e-3, 1e-3), LogUniform(1.0, 1.0), 1))


def test_a_classic_start_ends_where_path_and_queue_are_full():
    # 12 Mbit/s and 100 ms hold 100 packets, and a queue of 100 follows. With the one in service and the one
    # that its ACK lets go there are 202. Doubling makes 320 to 404 of it.
    path = DrawnPath(12e6, 0.1, 1.0)
    resolved = _engine.resolve_json(path.document("newreno", "classic"), [])
    ((_, result),) = list(Simulator().run([Job(resolved, 1)]))
    start = measure("classic", path, result)
    assert path.bdp == 100.0
    assert 2.0 <= start.exit_bdp <= 4.04
    # The packets beyond 200 are lost.
    assert start.lost_bdp == pytest.approx(start.exit_bdp - 2.0, abs=0.35)
    # 10 kB are 7 segments: handshake and one round trip. 100 kB are 70, by 10 20 40: in the third.
    assert start.times_s[0] == pytest.approx(0.2, abs=0.06)
    assert start.times_s[1] == pytest.approx(0.4, abs=0.08)
    assert start.times_s[5] is None


def documents(**kind):
    drawn = next(paths(1, *(LogUniform(one, one) for one in (12e6, 0.1, 1.0)), 1, Conditions(**kind)))
    return drawn, json.loads(drawn.document("newreno", "classic"))


def started(path):
    resolved = _engine.resolve_json(path.document("newreno", "classic"), [])
    ((_, result),) = list(Simulator().run([Job(resolved, 1)]))
    return measure("classic", path, result)


def test_what_others_take_is_not_there_for_the_flow():
    # A quarter of 100 packets: 75 are left. An application that has half of it sends 6 Mbit/s.
    path, document = documents(cross=0.25, application=0.5)
    assert (path.bdp, path.whole_bdp) == (pytest.approx(75.0), pytest.approx(100.0))
    flow, cross = document["flows"]
    assert (flow["source"]["rate"], cross["source"]["rate"]) == ("6000000bit", "3000000bit")
    assert document["path"]["queue"] == "100p"
    # 750 kB in a second beside others that need a quarter: a MB at 1.3 to 1.7 s, however fast the start.
    start = started(path)
    assert 1.3 <= start.times_s[2] <= 1.8


def test_cellular_rates_vary_around_a_median_alike_for_every_method():
    path, document = documents(network="cellular")
    steps = document["path"]["rate"]
    rates = [float(rate.removesuffix("bit")) for _, rate in steps]
    # 1 s and 30 round trips of 100 ms, in steps of 20 ms.
    assert [time for time, _ in steps[:3]] == ["0ms", "20ms", "40ms"]
    assert (len(steps), rates[0]) == (200, 12e6)
    assert all(3e6 - 1 <= rate <= 48e6 + 1 for rate in rates)
    # The logarithm moves by 0.5 a second: in 20 ms by 0.071 on average, squared.
    moves = [math.log(b / a) for a, b in itertools.pairwise(rates)]
    assert 0.06 <= math.sqrt(sum(move * move for move in moves) / len(moves)) <= 0.085
    assert json.loads(path.document("cubic", "hystart"))["path"] == document["path"]
    assert started(path).exit_bdp is not None


def test_a_wifi_path_has_a_wired_link_and_a_channel():
    path, document = documents(network="wifi")
    assert document["links"][0]["queue"] == "100p"
    assert [flow["to"] for flow in document["flows"]] == ["laptop", "ap", "ap"]
    start = started(path)
    assert 1.0 <= start.exit_bdp <= 4.5
    # No wired link is faster than the wireless one.
    fast = next(
        paths(1, LogUniform(1e9, 1e9), LogUniform(0.1, 0.1), LogUniform(1.0, 1.0), 1, Conditions("wifi"))
    )
    assert fast.rate_bps == 50e6


def test_recorded_links_are_taken_in_turn_with_their_mean_rate(tmp_path):
    # A packet every two milliseconds, and every millisecond: 6 and 12 Mbit/s.
    slow, fast = tmp_path / "slow.down", tmp_path / "fast.down"
    slow.write_text("".join(f"{n}\n" for n in range(2, 202, 2)))
    fast.write_text("# every ms\n" + "".join(f"{n}\n" for n in range(1, 101)))
    recorded = Conditions(traces=(str(slow), str(fast)))
    drawn = list(paths(4, LogUniform(1e6, 1e6), LogUniform(0.1, 0.1), LogUniform(1.0, 1.0), 1, recorded))
    assert [path.rate_bps for path in drawn] == [6e6, 12e6, 6e6, 12e6]
    assert [path.trace for path in drawn[:2]] == [str(slow), str(fast)]
    assert 2.0 <= started(drawn[1]).exit_bdp <= 4.5
    (tmp_path / "none.down").write_text("soon\n")
    with pytest.raises(ValueError, match=r"--trace .*none\.down: "):
        next(paths(1, *[LogUniform(1.0, 1.0)] * 3, 1, Conditions(traces=(str(tmp_path / "none.down"),))))


def of(method, exit_bdp, lost_bdp, times):
    ended = None if exit_bdp is None else 1.0
    return Start(method, 1e7, 0.1, 1.0, 83.3, ended, exit_bdp, lost_bdp, times)


def test_a_summary_compares_times_with_those_of_the_first_method():
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
    assert span("1mbit..1gbit", "rate", "--rate") == LogUniform(1e6, 1e9)
    assert span("40ms", "time", "--rtt") == LogUniform(0.04, 0.04)
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


def test_the_conditions_are_options_of_the_command(capsys, tmp_path):
    trace = tmp_path / "link.down"
    trace.write_text("".join(f"{n}\n" for n in range(1, 101)))
    options = ("--trace", trace, "--cross", "0.2", "--application", "0.5", "--paths", "1")
    status, out, _ = run(capsys, "slow-start", "classic", *options, "--rtt", "50ms", "--json")
    assert (status, json.loads(out)["slow_start"]["methods"][0]["paths"]) == (0, 1)
    said = refused(capsys, "slow-start", "--network", "wire")
    assert said.endswith("must be one of wired, wifi, cellular; did you mean `wired`?")
    said = refused(capsys, "slow-start", "--network", "wifi", "--trace", trace)
    assert said.startswith("--trace: a recorded link is cellular or wired")


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
