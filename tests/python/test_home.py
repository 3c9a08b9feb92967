"""``ackclock compare --networks 802.11g``: a call in a home network beside background flows."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from rich.console import Console

import ackclock
from ackclock.cli.home import Home
from ackclock.report import calls
from ackclock.report.calls import Call, Quality
from calling import needs_live, refused, run


def test_an_upload_of_newreno_alone_spoils_a_call(capsys, tmp_path):
    arguments = ("--networks", "802.11g:stations=2,up", "--duration", "8s", "--json")
    status, out, shown = run(capsys, "compare", "newreno", "cdg", *arguments, "--out", tmp_path / "out")
    found = json.loads(out)["calls"]
    assert status == 0
    assert list(found) == ["nothing", "newreno", "cdg"]
    # 20 ms of wire, below 100 ms nothing is taken off: R = 93.2, which is a MOS of 4.41.
    alone = found["nothing"]
    assert alone["goodput_mbps"] == 0.0
    for way in ("up", "down"):
        assert alone[way]["loss"] == 0.0
        assert alone[way]["rating"] == pytest.approx(93.2)
        assert alone[way]["mos"] == pytest.approx(4.41, abs=0.005)
    # The access point has the turns of one station in four, and ACKs fill its 200 frames: well above 100 ms.
    assert found["newreno"]["down"]["delay_p95_ms"] > 100
    assert found["newreno"]["down"]["rating"] < 80
    # The phone has a queue of its own.
    assert found["newreno"]["up"]["delay_p95_ms"] < 40
    assert found["cdg"]["down"]["delay_p95_ms"] < 60
    assert found["cdg"]["down"]["rating"] > 90
    assert all(found[cc]["goodput_mbps"] > 15 for cc in ("newreno", "cdg"))
    assert {"call.png", "index.html", "summary.json"} <= {file.name for file in (tmp_path / "out").iterdir()}
    assert "cannot be drawn" not in shown
    assert "one-way delay and quality of the call" in shown
    page = (tmp_path / "out" / "index.html").read_text("utf-8")
    first, second = re.findall("<p[^>]*>(.*)</p>", page)[:2]
    # CDG keeps the queues of the stations almost empty.
    cdg = r"no link \(the radio was the busiest, for \d\d % of the time\) beside cdg"
    assert re.fullmatch(
        f"The bottleneck of what the stations sent was the radio beside newreno, {cdg}\\.", first
    )
    alone = "R 93; 0.0 % lost, 95 % of the rest within 20 ms"
    assert second.startswith(
        f"The call is beside nothing best up ({alone}) and best down ({alone}); beside newreno"
    )
    down = found["newreno"]["down"]
    assert f"{down['category']} down (R {down['rating']:.0f}; " in second
    title = "A call beside newreno, cdg: 802.11g, 2 stations that send, radio queue 200p; "
    assert f"<h1>{title}wire 1gbit, 40ms, router queue 1000p, loss 0%; 8s</h1>" in page
    # Its frames go at 54 Mbit/s, but the channel carries less.
    assert "that the bottleneck carries" not in page


def test_several_repetitions_give_medians_and_what_lies_around_them(capsys):
    arguments = ("--networks", "802.11g:stations=1", "--duration", "4s", "--repeat", "3", "--json")
    status, out, _ = run(capsys, "compare", "newreno", *arguments)
    assert status == 0
    document = json.loads(out)
    beside = document["calls"]["newreno"]
    assert beside["repetitions"] == 3
    low, high = beside["goodput_range_mbps"]
    assert low < beside["goodput_mbps"] < high
    for way in ("up", "down"):
        assert beside[way]["delay_p50_ms"] <= beside[way]["delay_p90_ms"] <= beside[way]["delay_p95_ms"]
    # What arrived in the four seconds of a run.
    sums = [
        sum(flow["delivered_bytes"] for flow in one["flows"] if flow["name"].startswith("up-")) * 8 / 4e6
        for one in document["runs"]
        if one["label"] == "newreno"
    ]
    assert sorted(sums) == pytest.approx([low, beside["goodput_mbps"], high])


def test_the_table_has_both_directions_with_the_range_below_the_median(monkeypatch):
    up = Quality(20.0, 30.0, 40.0, 0.0, 93.0)
    several = [Call(20.0 + n, up, Quality(30.0, 40.0 + n, 50.0, 0.01 * n, 80.0)) for n in range(3)]
    monkeypatch.setattr(calls, "repetitions_of", lambda _: {"cdg": several, "nothing": several[:1]})
    printed = Console(width=100)
    with printed.capture() as shown:
        printed.print(calls.table([]))
    rows = [
        [cell.strip() for cell in line.split("│")[1:-1]] for line in shown.get().splitlines() if "│" in line
    ]
    assert "medians and ranges of 3 repetitions" in shown.get()
    assert rows[0][:4] == ["cdg", "up", "20.0", "30.0"]
    assert rows[2] == ["cdg", "down", "30.0", "41.0", "1.00", "80", "4.02", "high", "21.00"]
    assert rows[3] == ["", "", "30-30", "40-42", "0.0-2.0", "80-80", "4.0-4.0", "", "20.0-22.0"]
    assert rows[5] == ["nothing", "down", "30.0", "40.0", "0.00", "80", "4.02", "high", "20.00"]


def test_each_direction_keeps_its_own_repetitions(monkeypatch):
    # Alone the worse direction of each seed would be 10, 50 and 60 ms: a median over mixed directions.
    bad, good = (Quality(delay, delay, delay, 0.0, rating) for delay, rating in ((60.0, 50.0), (10.0, 90.0)))
    middle = Quality(50.0, 50.0, 50.0, 0.0, 60.0)
    of = [Call(1.0, good, bad), Call(1.0, bad, good), Call(1.0, good, middle)]
    monkeypatch.setattr(calls, "repetitions_of", lambda _: {"cdg": of})
    found = calls.as_json([])["cdg"]
    assert (found["up"]["delay_p50_ms"], found["down"]["delay_p50_ms"]) == (10.0, 50.0)
    assert found["down"]["range"]["delay_p50_ms"] == [10.0, 60.0]


@pytest.mark.parametrize(
    ("option", "arguments", "place", "router"),
    [
        ("", (), "radio", "1000p"),
        ("", ("--rate", "20mbit"), "wire", "1000p"),
        (",router=fq_codel", ("--rate", "20mbit"), "wire", "fq_codel"),
        ("", ("--rate", "20mbit", "--set", "links.0.queue=cake"), "wire", "cake"),
        (",router=fifo:100ms", ("--rate", "20mbit"), "wire", "fifo:100ms"),
    ],
)
def test_the_bottleneck_and_the_queue_of_the_router_are_named(
    capsys, tmp_path, option, arguments, place, router
):
    home = ("--networks", f"802.11n:stations=2,down{option}")
    options = ("--duration", "10s", "--out", tmp_path / "out", *arguments)
    status, out, _ = run(capsys, "compare", "cubic", *home, *options)
    assert status == 0
    assert out.startswith(f"The bottleneck of what the stations received was the {place}.")
    page = (tmp_path / "out" / "index.html").read_text("utf-8")
    assert f"router queue {router}, loss" in page
    # The delay on the page belongs to the link that limits the background, not to the upload of the call.
    loaded = ackclock.Run.load(tmp_path / "out" / "cubic-seed-1")
    marked = [row["name"] for row in loaded.links.to_pylist() if row["is_bottleneck"]]
    assert marked == ["ap" if place == "radio" else "ap-server:reverse"]


def test_the_queue_of_the_router_decides_where_the_wire_is_the_bottleneck(capsys):
    options = ("--duration", "6s", "--rate", "20mbit", "--json", "--networks")
    delays = {}
    for router in ("fifo:300ms", "fq_codel"):
        _, out, _ = run(capsys, "compare", "cubic", *options, f"802.11n:stations=2,down,router={router}")
        delays[router] = json.loads(out)["calls"]["cubic"]["down"]["delay_p90_ms"]
    # 20 ms of wire, and a queue of up to 300 ms. FQ-CoDel gives a call the next turn.
    assert delays["fifo:300ms"] > 200
    assert delays["fq_codel"] < 30


def test_stations_send_and_receive_as_they_are_told():
    home = Home("802.11g", 2, True, True, "100mbit", "40ms", "200p", "fq_codel", "0%")
    flows = home.document({"cc": "cdg", "count": 3})["flows"]
    ends = [(flow["name"], flow["from"], flow["to"]) for flow in flows]
    assert ends == [
        ("up-0", "sta-0", "server"),
        ("up-1", "sta-1", "server"),
        ("down-0", "server", "sta-0"),
        ("down-1", "server", "sta-1"),
        ("call-up", "phone", "server"),
        ("call-down", "server", "phone"),
    ]
    assert [flow.get("count") for flow in flows] == [3, 3, 3, 3, None, None]
    wire = home.document()["links"][0]
    assert (wire["delay"], wire["queue"]) == ("20000.000us", "fq_codel")


def test_the_access_point_serves_stations_by_airtime_where_it_is_told():
    home = Home("802.11n", 2, False, True, "1gbit", "40ms", "fq_codel", "1000p", "0%")
    fair = replace(home, airtime_fairness=True)
    assert [one.document()["wlans"][0].get("airtime_fairness") for one in (home, fair)] == [None, True]
    assert "radio queue fq_codel, airtime fairness; wire 1gbit" in fair.words([])


def test_categories_are_those_of_g_109():
    rated = [Quality(20.0, 25.0, 30.0, 0.0, r).category for r in (93.2, 90.0, 89.9, 75.0, 60.0, 55.0, 49.0)]
    assert rated == ["best", "best", "high", "medium", "low", "poor", "not recommended"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((":stations=0",), ": stations must be a whole number from 1 to 1000"),
        (
            (":stations",),
            ": `stations` must be one of stations=VALUE, up, down, router=VALUE, airtime-fairness",
        ),
        ((":up=3",), ": `up=3` must be one of stations=VALUE, up"),
        ((":router=fq-codel",), "links.0.queue"),
        pytest.param(("", "--live"), "--networks 802.11g: cannot be combined with --live", marks=needs_live),
        (("", "--rtt", "40"), "--rtt: `40` has no unit"),
        (("", "--queue", "1bdp"), "wlans.0.queue: `1bdp` needs a rate that is known in advance"),
        (("x",), "expected one of `802.11a`, `802.11b`, `802.11g`, `802.11n`"),
    ],
)
def test_a_home_that_cannot_be(capsys, arguments, sentence):
    home, *others = arguments
    assert sentence in refused(capsys, "compare", "cdg", "--networks", f"802.11g{home}", *others)


def test_a_call_of_which_nothing_arrives_is_not_recommended(capsys, tmp_path):
    options = ("--networks", "802.11g:stations=1,up", "--duration", "1s", "--loss", "100%", "--repeat", "2")
    run(capsys, "compare", "newreno", *options, "--out", tmp_path / "out")
    found = json.loads((tmp_path / "out" / "summary.json").read_text())["calls"]["newreno"]["down"]
    assert (found["delay_p50_ms"], found["loss"], found["rating"]) == (None, 1, 0)
    page = (tmp_path / "out" / "index.html").read_text()
    assert (
        "beside newreno not recommended up (nothing arrives) and not recommended down (nothing arrives)"
        in page
    )
    assert "cannot be drawn" not in page


def test_the_median_delay_is_unknown_where_most_repetitions_deliver_nothing(monkeypatch):
    heard = Quality(20.0, 30.0, 40.0, 0.0, 93.0)
    of = [Call(1.0, heard, down) for down in (heard, calls.NOTHING_ARRIVES, calls.NOTHING_ARRIVES)]
    monkeypatch.setattr(calls, "repetitions_of", lambda _: {"cdg": of})
    found = calls.as_json([])["cdg"]["down"]
    assert (found["delay_p50_ms"], found["range"]["delay_p50_ms"]) == (None, [20.0, None])
    assert (found["loss"], found["range"]["loss"]) == (1.0, [0.0, 1.0])
