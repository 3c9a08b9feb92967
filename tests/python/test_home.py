"""``ackclock compare --wlan``: a call in a home network beside background flows."""

from __future__ import annotations

import json

import pytest

from ackclock.cli.home import Home
from ackclock.report.calls import Quality
from calling import refused, run


def test_an_upload_of_newreno_spoils_a_call_and_none_does_not(capsys, tmp_path):
    arguments = ("--wlan", "802.11g", "--stations", "2", "--up", "--duration", "8s", "--json")
    status, out, shown = run(capsys, "compare", "newreno", "cdg", *arguments, "--out", tmp_path / "out")
    calls = json.loads(out)["calls"]
    assert status == 0
    assert list(calls) == ["nothing", "newreno", "cdg"]
    # 20 ms of wire, below 100 ms nothing is taken off: R = 93.2, which is a MOS of 4.41.
    alone = calls["nothing"]
    assert alone["goodput_mbps"] == 0.0
    assert alone["loss"] == 0.0
    assert alone["rating"] == pytest.approx(93.2)
    assert alone["mos"] == pytest.approx(4.41, abs=0.005)
    # The access point has the turns of one station in four, and ACKs fill its 200 frames: well above 100 ms.
    assert calls["newreno"]["delay_p95_ms"] > 100
    assert calls["newreno"]["rating"] < 80
    assert calls["cdg"]["delay_p95_ms"] < 60
    assert calls["cdg"]["rating"] > 90
    assert all(calls[cc]["goodput_mbps"] > 15 for cc in ("newreno", "cdg"))
    assert {"call.png", "index.html", "summary.json"} <= {file.name for file in (tmp_path / "out").iterdir()}
    assert "cannot be drawn" not in shown
    assert "one-way delay and quality of the call" in shown
    page = (tmp_path / "out" / "index.html").read_text("utf-8")
    assert "The call is best beside nothing (R 93; 0.0 % lost, 95 % of the rest within 20 ms)" in page
    assert f"{calls['newreno']['category']} beside newreno (R {calls['newreno']['rating']:.0f}; " in page


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
    rated = [Quality(1.0, 20.0, 30.0, 0.0, r).category for r in (93.2, 90.0, 89.9, 75.0, 60.0, 55.0, 49.0)]
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
