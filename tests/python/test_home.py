"""``ackclock compare --wlan``: a call in a home network beside background flows."""

from __future__ import annotations

import json

import pytest
from rich.console import Console

from ackclock.cli.home import Home
from ackclock.report import calls
from ackclock.report.calls import Quality
from calling import refused, run


def test_an_upload_of_newreno_alone_spoils_a_call(capsys, tmp_path):
    arguments = ("--wlan", "802.11g", "--stations", "2", "--up", "--duration", "8s", "--json")
    status, out, shown = run(capsys, "compare", "newreno", "cdg", *arguments, "--out", tmp_path / "out")
    found = json.loads(out)["calls"]
    assert status == 0
    assert list(found) == ["nothing", "newreno", "cdg"]
    # 20 ms of wire, below 100 ms nothing is taken off: R = 93.2, which is a MOS of 4.41.
    alone = found["nothing"]
    assert alone["goodput_mbps"] == 0.0
    assert alone["loss"] == 0.0
    assert alone["rating"] == pytest.approx(93.2)
    assert alone["mos"] == pytest.approx(4.41, abs=0.005)
    # The access point has the turns of one station in four, and ACKs fill its 200 frames: well above 100 ms.
    assert found["newreno"]["delay_p95_ms"] > 100
    assert found["newreno"]["rating"] < 80
    assert found["cdg"]["delay_p95_ms"] < 60
    assert found["cdg"]["rating"] > 90
    assert all(found[cc]["goodput_mbps"] > 15 for cc in ("newreno", "cdg"))
    assert {"call.png", "index.html", "summary.json"} <= {file.name for file in (tmp_path / "out").iterdir()}
    assert "cannot be drawn" not in shown
    assert "one-way delay and quality of the call" in shown
    page = (tmp_path / "out" / "index.html").read_text("utf-8")
    assert "The call is best beside nothing (R 93; 0.0 % lost, 95 % of the rest within 20 ms)" in page
    assert f"{found['newreno']['category']} beside newreno (R {found['newreno']['rating']:.0f}; " in page
    # Its frames go at 54 Mbit/s, which is not what the channel carries.
    assert "that the bottleneck carries" not in page


def test_several_repetitions_give_medians_and_what_lies_around_them(capsys):
    arguments = ("--wlan", "802.11g", "--stations", "1", "--duration", "4s", "--repeat", "3", "--json")
    status, out, _ = run(capsys, "compare", "newreno", *arguments)
    assert status == 0
    document = json.loads(out)
    beside = document["calls"]["newreno"]
    assert beside["repetitions"] == 3
    low, high = beside["range"]["goodput_mbps"]
    assert low < beside["goodput_mbps"] < high
    assert beside["delay_p50_ms"] <= beside["delay_p90_ms"] <= beside["delay_p95_ms"]
    sums = [
        sum(flow["goodput_bps"] for flow in one["flows"] if flow["name"].startswith("up-")) / 1e6
        for one in document["runs"]
        if one["label"] == "newreno"
    ]
    assert sorted(sums) == pytest.approx([low, beside["goodput_mbps"], high])


def test_the_table_has_the_range_below_the_median(monkeypatch):
    several = [Quality(20.0 + n, 30.0, 40.0 + n, 50.0, 0.01 * n, 80.0) for n in range(3)]
    monkeypatch.setattr(calls, "repetitions_of", lambda _: {"cdg": several, "nothing": several[:1]})
    printed = Console(width=100)
    with printed.capture() as shown:
        printed.print(calls.table([]))
    rows = [
        [cell.strip() for cell in line.split("│")[1:-1]] for line in shown.get().splitlines() if "│" in line
    ]
    assert "medians and ranges of 3 repetitions" in shown.get()
    assert rows[0] == ["cdg", "30.0", "41.0", "1.00", "80", "4.02", "high", "21.00"]
    assert rows[1] == ["", "30-30", "40-42", "0.0-2.0", "80-80", "4.0-4.0", "", "20.0-22.0"]
    assert rows[2] == ["nothing", "30.0", "40.0", "0.00", "80", "4.02", "high", "20.00"]


def test_stations_send_and_receive_as_they_are_told():
    home = Home("802.11g", 2, True, True, "100mbit", "40ms", "200p", "0%")
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
    assert home.document()["links"][0]["delay"] == "20000.000us"


def test_categories_are_those_of_g_109():
    rated = [
        Quality(1.0, 20.0, 25.0, 30.0, 0.0, r).category for r in (93.2, 90.0, 89.9, 75.0, 60.0, 55.0, 49.0)
    ]
    assert rated == ["best", "best", "high", "medium", "low", "poor", "useless"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--stations", "3"), "--stations: only home networks have stations, with --wlan 802.11g"),
        (("--down",), "--down: only home networks have stations, with --wlan 802.11g"),
        (("--wlan", "802.11g", "--live"), "--wlan: cannot be combined with --live"),
        (("--wlan", "802.11g", "--rtt", "40"), "--rtt: `40` has no unit"),
        (
            ("--wlan", "802.11g", "--queue", "1bdp"),
            "wlans.0.queue: `1bdp` needs a rate that is known in advance",
        ),
        (("--wlan", "802.11x"), "expected one of `802.11a`, `802.11b`, `802.11g`, `802.11n`"),
    ],
)
def test_a_home_that_cannot_be(capsys, arguments, sentence):
    assert sentence in refused(capsys, "compare", "cdg", *arguments)


def test_a_call_without_arrivals_is_refused(capsys):
    arguments = ("--wlan", "802.11g", "--stations", "1", "--up", "--duration", "1s", "--loss", "100%")
    said = refused(capsys, "compare", "newreno", *arguments)
    assert "no datagram of `call-up` arrived, or `record.datagrams = true` is missing" in said
