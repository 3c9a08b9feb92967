"""``framing``: the bytes that packets take on a line, by hand."""

from __future__ import annotations

import pytest

import ackclock
from ackclock.cli.beside import with_call
from ackclock.contenders import contenders
from ackclock.networks import Network


def _link(rate, queue="100p", **keys):
    path = ackclock.Path(rate, rtt="20ms", queue=queue, **keys)
    run = ackclock.simulate(path, ["cubic"], duration="12s", warmup="2s")
    return {row["name"]: row for row in run.links.to_pylist()}


@pytest.mark.parametrize(
    ("framing", "on_line"),
    [
        # ceil((1500 + 32) / 48) = 32 cells of 53 bytes.
        ("pppoe-vcmux", 32 * 53),
        ({"overhead": 32, "link_layer": "atm"}, 32 * 53),
        ("ethernet", 1538),
        ("docsis", 1518),
        # 1500 + 30 + 4, and a byte for each 64: 23.97.
        ("pppoe-ptm ether-vlan", 1534 + 24),
        ("wireguard", 1560),
    ],
)
@pytest.mark.parametrize("rate", ["10mbit", [["0s", "5mbit"], ["1s", "10mbit"]]])
def test_a_full_line_carries_less_of_ip(framing, on_line, rate):
    link = _link(rate, framing=framing)["bottleneck"]
    assert link["throughput_bps"] == pytest.approx(10e6 * 1500 / on_line, rel=0.001)
    # It is full all the same.
    assert link["utilization"] == pytest.approx(1.0, abs=0.001)


def test_acks_take_whole_cells_too():
    reverse = {"rate": "64kbit", "queue": "1000p", "framing": "pppoe-vcmux"}
    link = _link("10mbit", reverse=reverse)["bottleneck:reverse"]
    # 52 + 32 bytes are two cells: 75.5 ACKs a second.
    assert link["departed_packets"] == pytest.approx(10 * 64_000 / (8 * 2 * 53), abs=2)


def test_a_queue_in_time_holds_what_leaves_within_it():
    # 24 packets of 1696 bytes take 32.6 ms, and one more would exceed 33 ms. By bytes of IP 27 would fit.
    link = _link("10mbit", queue="33ms", framing="pppoe-vcmux")["bottleneck"]
    assert link["queue_packets_max"] == 25


def test_a_shaper_of_tc_and_cake_agree_on_the_line():
    def throughput(lines):
        from ackclock import tc

        keys = {"queue": "100p"} | tc.read(lines).keys
        return _link(**keys)["bottleneck"]["throughput_bps"]

    cake = throughput("cake bandwidth 10mbit besteffort flowblind pppoe-vcmux")
    htb = throughput("class add dev eth0 classid 1:1 htb rate 10mbit overhead 18 linklayer atm")
    ppp = throughput("class add dev ppp0 classid 1:1 htb rate 10mbit overhead 32 linklayer atm")
    assert htb == ppp
    assert cake == pytest.approx(htb, rel=0.02)


def test_data_in_reverse_take_the_way_of_the_acks():
    path = ackclock.Path(
        "10mbit", rtt="20ms", queue="100p", reverse={"rate": "1mbit", "queue": "20p", "framing": "docsis"}
    )
    flows = [ackclock.Flow("cubic"), ackclock.Flow("cubic", reverse=True)]
    run = ackclock.simulate(ackclock.Scenario(path=path, flows=flows, duration="12s", warmup="2s"))
    download, upload = (row["goodput_bps"] for row in run.flows.to_pylist())
    # 1448 of 1518 bytes at 1 Mbit/s, less the ACKs of the download.
    assert 0.4e6 < upload < 1e6 * 1448 / 1518
    assert 1e6 < download < 10e6


def test_a_call_follows_a_flow_in_reverse():
    network = Network("mine", {"path": {}, "flows": [{"cc": "cubic", "reverse": True}]})
    video, voice, _ = with_call(network, contenders(["gcc"])[0]).document["flows"]
    assert (video["reverse"], voice["reverse"]) == (True, True)
