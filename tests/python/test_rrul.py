"""``compare --networks NAME:rrul``: both directions of a network at once."""

from __future__ import annotations

import json

import pytest

from ackclock import networks
from ackclock.errors import InputError
from ackclock.networks import rrul as loaded
from ackclock.report import rrul
from calling import refused, run


class Measured:
    """A run whose quantities are given: forward, reverse, ping p50 and p95, lost pings."""

    def __init__(self, *values):
        self.values = values


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        # 90 % of the largest in each direction are enough, and 5 ms are no difference.
        (
            {"a": (100, 9, 20, 85, 0), "b": (90, 10, 20, 80, 0), "c": (100, 10, 20, 90.1, 0)},
            "Choose a (100 and 9 Mbit/s, ping 85 ms), b (90 and 10 Mbit/s, ping 80 ms) "
            "rather than c (100 and 10 Mbit/s, ping 90 ms).",
        ),
        # Less than 90 % of one direction is not made good by a short ping.
        (
            {"a": (100, 8.9, 20, 20, 0), "b": (100, 10, 20, 500, 0)},
            "Choose b (100 and 10 Mbit/s, ping 500 ms) rather than a (100 and 8.9 Mbit/s, ping 20 ms).",
        ),
        # None is good in both: the one whose worse direction is best.
        (
            {"a": (100, 5, 20, 20, 0), "b": (60, 10, 20, 90, 0)},
            "Choose b (60 and 10 Mbit/s, ping 90 ms) rather than a (100 and 5 Mbit/s, ping 20 ms).",
        ),
        (
            {"a": (100, 10, 20, 20, 0), "b": (100, 10, 20, 20, 0)},
            "Any of them will do: a (100 and 10 Mbit/s, ping 20 ms), b (100 and 10 Mbit/s, ping 20 ms).",
        ),
        ({"a": (100, 10, 20, 20, 0)}, "Both directions at once: a (100 and 10 Mbit/s, ping 20 ms)."),
        ({"a": (100, 0, 20, 20, 0)}, "Nothing to choose from: a direction delivered nothing."),
    ],
)
def test_the_advice_needs_both_directions(monkeypatch, values, sentence):
    measures = [
        (key, title, unit, lambda run, number=number: float(run.values[number]), digits)
        for number, (key, title, unit, _, digits) in enumerate(rrul.MEASURES)
    ]
    monkeypatch.setattr(rrul, "MEASURES", measures)
    assert rrul.sentence({label: [Measured(*of)] for label, of in values.items()}) == sentence


def test_the_greedy_flow_is_there_four_times_each_way():
    path = {"rate": "25mbit", "rtt": "30ms", "queue": "1s", "framing": "docsis", "reverse": {"loss": "1%"}}
    web = {"cc": "newreno", "source": {"rate": "1mbit"}}
    network = loaded.rrul(
        networks.Network("mine", {"path": path, "flows": [web, {"cc": "cubic", "rtt": "9ms"}]})
    )
    # The way back has no rate, so it is as the path, with its own losses.
    back = {"rate": "25mbit", "queue": "1s", "framing": "docsis", "loss": "1%"}
    assert network.document["path"] == {**path, "reverse": back}
    forward, reverse, ping, *others = network.document["flows"]
    assert forward == {"cc": "cubic", "rtt": "9ms", "name": "forward", "count": 4, "start_jitter": "200ms"}
    assert reverse == {**forward, "name": "reverse", "reverse": True}
    assert (ping["name"], ping["kind"], others) == ("ping", "datagram", [web])
    own = {**path, "reverse": {"rate": "3mbit", "queue": "9p"}}
    network = loaded.rrul(networks.Network("mine", {"path": own, "flows": [{}]}))
    assert network.document["path"] == own


def test_networks_without_two_directions_are_refused(capsys, tmp_path):
    with pytest.raises(InputError, match="either all networks have `:rrul`, or none"):
        loaded.is_rrul("home:rrul,cable")
    assert [loaded.is_rrul(one) for one in ("rrul", "home:rrul,cable:rrul", "home,cable")] == [
        True,
        True,
        False,
    ]
    (tmp_path / "links.toml").write_text(
        'links = [{ from = "a", to = "b", rate = "9mbit", delay = "1ms", queue = "9p" }]\n'
        'flows = [{ cc = "cubic", from = "a", to = "b" }]\n'
    )
    name = f"{tmp_path}/links.toml:rrul"
    assert "links: has no [path], whose two directions rrul loads" in refused(
        capsys, "compare", "cubic", "--networks", name
    )


def test_sums_of_both_directions_come_first(capsys):
    arguments = ("--rate", "10mbit", "--queue", "200ms", "--set", "path.reverse.rate=2mbit")
    command = ("compare", "cubic", "bbr1", "--networks", "rrul", *arguments, "--duration", "10s")
    status, printed, shown = run(capsys, *command, "--json")
    assert status == 0
    document = json.loads(printed)
    assert shown.index("rrul: ") < shown.index("both directions at once")
    assert document["rrul"]["rrul"]["advice"] in " ".join(shown.split())
    for label in ("cubic", "bbr1"):
        [one] = [one for one in document["runs"] if one["label"] == f"rrul, {label}"]
        found = document["rrul"]["rrul"]["controllers"][label]
        for way, most in (("forward", 10e6), ("reverse", 2e6)):
            flows = [flow for flow in one["flows"] if flow["name"].startswith(way)]
            assert [flow["cc"] for flow in flows] == [label] * 4
            # A flow counts from its own start, up to 200 ms into the 10 s.
            total = sum(flow["goodput_bps"] * (flow["stop_s"] - flow["start_s"]) / 10 for flow in flows)
            assert found[f"{way}_mbps"]["values"] == [pytest.approx(total / 1e6)]
            # 1448 of 1500 bytes are data, and ACKs of the other way share the link.
            assert 0.5 * most < total < most * 1448 / 1500
        [ping] = [flow for flow in one["flows"] if flow["name"] == "ping"]
        assert found["ping_p95_ms"]["values"] == [pytest.approx(ping["rtt_ms"]["p95"])]
        # Of 40 ms and the queues of both ways.
        assert 40.0 < ping["rtt_ms"]["p95"] < 40.0 + 2 * 220.0
