"""Lines of ``tc`` as paths: numbers worked out by tc's own rules."""

from __future__ import annotations

import pytest

import ackclock
from ackclock import tc
from ackclock.errors import InputError


def test_quantities_are_those_of_tc():
    assert (tc.rate("1Mbps"), tc.rate("500"), tc.rate("1.5Mbit")) == ("8mbit", "500bit", "1.5mbit")
    assert (tc.size("0.1MB"), tc.size("32kbit"), tc.size("1600")) == ("104857B", "4096B", "1600B")
    assert (tc.time("100ms"), tc.time("250"), tc.time("1s")) == ("100ms", "250us", "1s")


def test_a_bucket_has_a_queue_of_its_latency():
    path = tc.read("tc qdisc add dev eth0 root handle 1: tbf rate 8mbit burst 32kbit latency 50ms")
    # 1 byte a us for 50 ms, and the burst.
    assert path.keys == {"rate": {"rate": "8mbit", "burst": "4096B"}, "queue": "54096B"}
    assert path.left_out == []
    assert tc.read("tbf rate 1mbit burst 10k limit 30k peakrate 2mbit mtu 1540").keys == {
        "rate": {"rate": "1mbit", "burst": "10240B", "peakrate": "2mbit"},
        "queue": "30720B",
    }


def test_netem_is_delay_jitter_loss_and_limit():
    path = tc.read("netem delay 100ms 20ms distribution normal loss 1% duplicate 1% 25% rate 10mbit")
    assert path.delay == "100ms"
    assert path.keys == {
        "jitter": {"normal": "20ms", "reorder": True},
        "loss": "1%",
        "duplicate": {"share": "1%", "correlation": "25%"},
        "rate": "10mbit",
        "queue": {"limit": "1000p", "count_delayed": True},
    }
    path = tc.read("netem delay 10ms reorder 25% 50% gap 5 limit 50")
    early = {"share": "25%", "correlation": "50%", "gap": 5}
    assert path.keys == {"jitter": {"reorder": early}, "queue": {"limit": "50p", "count_delayed": True}}
    path = tc.read("netem delay 100ms 20ms reorder 25% gap 5")
    assert path.keys["jitter"] == {"around": "20ms", "reorder": {"share": "25%", "gap": 5}}
    path = tc.read("netem slot 800us 10ms packets 42 bytes 64k")
    slot = {"min": "800us", "max": "10ms", "packets": 42, "bytes": "65536B"}
    assert path.keys == {"jitter": {"slot": slot}}
    assert tc.read("netem gap 5 delay 10ms").keys["jitter"] == {"reorder": {"share": "100%", "gap": 5}}
    assert tc.read("netem delay 100ms 20ms").keys["jitter"] == {"around": "20ms", "reorder": True}


def test_losses_of_netem_have_four_numbers():
    # p, r, 1-h, 1-k: with 1, 30, 70 and 0.1 % the mean is 2.355 %.
    assert tc.read("netem loss gemodel 1% 30% 70% 0.1%").keys["loss"] == {
        "model": "gilbert-elliott",
        "good_to_bad": "1%",
        "bad_to_good": "30%",
        "loss_bad": "70%",
        "loss_good": "0.1%",
    }
    assert tc.read("netem loss gemodel 1%").keys["loss"]["bad_to_good"] == "99%"
    correlated = tc.read("netem loss 5% 25%")
    assert correlated.keys["loss"] == {"share": "5%", "correlation": "25%"}
    assert "netem's own formula loses fewer" in correlated.remarks[0]
    corrupt = tc.read("netem corrupt 0.2%")
    assert (corrupt.keys["loss"], len(corrupt.remarks)) == ("0.2%", 1)


@pytest.mark.parametrize(
    ("line", "queue"),
    [
        ("codel", "codel"),
        ("bfifo limit 0.1MB", "104857B"),
        ("fq_codel limit 1000 target 5ms noecn", {"discipline": "fq_codel", "limit": "1000p", "ecn": False}),
        (
            "fq_codel drop_batch 8 memory_limit 4Mb",
            {"discipline": "fq_codel", "drop_batch": 8, "memory_limit": "4194304B"},
        ),
        (
            "red limit 400kB min 15kB max 45kB burst 17 probability 0.1 ecn adaptive harddrop nodrop",
            {"discipline": "red", "limit": "409600B", "min": "15360B", "max": "46080B", "burst": 17}
            | {"bandwidth": "10mbit", "probability": "10%"}
            | dict.fromkeys(("ecn", "adaptive", "harddrop", "nodrop"), True),
        ),
        # Nothing is marked without `ecn`.
        (
            "red limit 400kB adaptive harddrop",
            {"discipline": "red", "limit": "409600B", "bandwidth": "10mbit", "adaptive": True},
        ),
        (
            "fq_pie memory_limit 1Mb quantum 300 ecn_prob 25 bytemode",
            {"discipline": "fq_pie", "memory_limit": "1048576B", "quantum": "300B", "ecn_prob": 25}
            | {"bytemode": True},
        ),
        (
            "dualpi2 step_thresh 2ms min_qlen_step 3p coupling_factor 4 classic_protection 20% overflow "
            "any_ect",
            {"discipline": "dualpi2", "step_thresh": "2ms", "min_qlen_step": 3, "coupling_factor": 4}
            | {"classic_protection": 20, "overflow": True, "any_ect": True},
        ),
        # Without a word about them tc has these.
        ("cake", {"discipline": "cake", "isolation": "triple-isolate", "diffserv": "diffserv3"}),
        (
            "cake flowblind besteffort docsis",
            {"discipline": "cake", "flowblind": True, "overhead": 18, "mpu": 64},
        ),
    ],
)
def test_queues_are_simulated_as_they_are_written(line, queue):
    path = tc.read(line)
    assert (path.keys, path.left_out) == ({"queue": queue}, [])
    spelled = ackclock.Path("10mbit", rtt="20ms", queue=queue)
    scenario = ackclock.Scenario(path=spelled, flows=[ackclock.Flow("newreno")], duration="1s")
    resolved = scenario.resolved()["path"]["queue"]
    assert isinstance(queue, str) or queue.items() <= resolved.items()


def test_cake_shapes_and_filters_the_acks_of_the_other_direction():
    path = tc.read("cake bandwidth 809kbit atm overhead 10 ack-filter dual-srchost diffserv4")
    apart = {"isolation": "dual-srchost", "diffserv": "diffserv4", "ack_filter": "ack-filter"}
    queue = {"discipline": "cake", "link_layer": "atm", "overhead": 10} | apart
    assert path.keys == {"rate": "809kbit", "queue": queue}
    [remark] = path.remarks
    assert "path.reverse.queue" in remark


@pytest.mark.parametrize(
    ("line", "framing"),
    [
        # tc counts the 14 bytes of Ethernet before it adds the overhead (tc-stab(8)).
        (
            "qdisc add dev eth0 root handle 1: stab linklayer adsl overhead 18 mtu 2048 mpu 64 tsize 512 "
            "tbf rate 8mbit burst 32kbit latency 50ms",
            {"overhead": 32, "mpu": 64, "link_layer": "atm"},
        ),
        ("tbf rate 8mbit burst 5k latency 50ms overhead 8", {"overhead": 22}),
        (
            "class add dev eth0 classid 1:1 htb rate 8mbit linklayer atm",
            {"overhead": 14, "link_layer": "atm"},
        ),
        # Over PPP there is no such header.
        (
            "class add dev ppp0 classid 1:1 htb rate 8mbit overhead 10 linklayer atm",
            {"overhead": 10, "link_layer": "atm"},
        ),
        ("qdisc add dev wg0 root netem rate 8mbit -4", {"overhead": -4}),
        ("netem rate 8mbit 26 48 5", {"overhead": 40, "link_layer": "atm"}),
        # What `tc -d` prints where nothing is set.
        ("class htb 1:1 root rate 8Mbit linklayer ethernet overhead 0 mpu 0 ceil 8Mbit", None),
    ],
)
def test_frames_are_read_from_every_shaper(line, framing):
    path = tc.read(line)
    assert path.keys.get("framing") == framing
    raw = framing is None or " ppp0 " in line or " wg0 " in line
    assert any("14 bytes more" in remark for remark in path.remarks) is not raw
    assert not [word for word in path.left_out if word.startswith(("overhead", "linklayer", "mpu"))]
    keys = {"rate": "8mbit", "queue": "84p"} | path.keys
    scenario = ackclock.Scenario(
        path=ackclock.Path(rtt="20ms", **keys), flows=[ackclock.Flow("newreno")], duration="1s"
    )
    assert scenario.resolved()["path"].get("framing") == framing


def test_lines_of_one_device_describe_one_direction():
    lines = """
        tc qdisc add dev eth0 root handle 1: htb default 10  # a comment
        tc class add dev eth0 parent 1: classid 1:10 htb rate 5mbit ceil 10mbit
        tc qdisc add dev eth0 parent 1:10 handle 10: netem delay 40ms \\
            loss 1%; tc qdisc add dev eth0 parent 10: pfifo limit 100
    """
    path = tc.read(lines)
    assert (path.keys, path.delay) == ({"rate": "10mbit", "loss": "1%", "queue": "100p"}, "40ms")
    assert (path.left_out, path.reverse) == (["default 10"], None)
    assert str(path) == "data over eth0: rate 10mbit, loss 1%, queue 100p, delay 40ms"
    twice = tc.read("pfifo limit 10; pfifo limit 20")
    assert (twice.keys["queue"], twice.remarks) == (
        "20p",
        ["two lines have the queue of the path; that of the last one counts"],
    )


@pytest.mark.parametrize(
    ("lines", "devices"),
    [
        ("tc qdisc add dev a root {}; tc qdisc add dev b root {}", ["a", "b"]),
        ("sudo tc qdisc add root dev eth0 {}\nsudo tc qdisc add dev ifb4eth0 root {}", ["eth0", "ifb4eth0"]),
        (
            "ip netns exec left tc qdisc add dev eth0 {}; ip netns exec right /sbin/tc qdisc add dev eth0 {}",
            ["left eth0", "right eth0"],
        ),
        ("tc -n l qdisc add dev v root {}; tc -n r qdisc add dev v root {}", ["l v", "r v"]),
        (
            "h1 tc qdisc add dev h1-eth0 root {}; h2 tc qdisc add dev h2-eth0 root {}",
            ["h1 h1-eth0", "h2 h2-eth0"],
        ),
    ],
)
def test_two_devices_are_the_two_directions(lines, devices):
    path = tc.read(lines.format("netem delay 20ms rate 10mbit", "netem delay 30ms loss 2%"))
    assert [path.device, path.reverse.device] == devices
    assert (path.delay, path.reverse.delay) == ("20ms", "30ms")
    assert path.keys["rate"] == "10mbit"
    assert path.reverse.keys == {"loss": "2%"}
    assert str(path).endswith(f"; ACKs over {devices[1]}: loss 2%, delay 30ms")


def test_filters_that_police_are_policers():
    policed = {"discipline": "police", "rate": "1mbit", "burst": "10240B", "limit": "1000p"}
    for line in (
        "tc filter add dev eth0 parent ffff: protocol ip prio 50 u32 match ip src 0.0.0.0/0 "
        "police rate 1mbit burst 10k drop flowid :1",
        "filter add dev eth0 parent ffff: matchall action police rate 1mbit burst 10k conform-exceed drop",
        "tc filter replace dev eth0 ingress pref 10 matchall action police rate 1mbit buffer 10k drop",
    ):
        path = tc.read(line)
        assert (path.keys, path.device) == ({"queue": policed}, "eth0 ingress")
    # Wondershaper: what a device sends is shaped, and what it receives is policed.
    path = tc.read("""
        tc qdisc add dev eth0 root handle 1: htb
        tc class add dev eth0 parent 1: classid 1:1 htb rate 5mbit
        tc filter add dev eth0 parent 1: protocol ip prio 18 u32 match ip dst 10.0.0.0/8 flowid 1:1
        tc qdisc add dev eth0 handle ffff: ingress
        tc filter add dev eth0 parent ffff: protocol ip prio 50 u32 match ip src 0.0.0.0/0 \\
            police rate 1mbit burst 10k drop flowid :1
    """)
    assert (path.keys, path.reverse.keys) == ({"rate": "5mbit"}, {"queue": policed})
    assert path.left_out == ["filter match ip dst 10.0.0.0/8 flowid 1:1", "police flowid :1"]
    assert str(path) == (
        "data over eth0: rate 5mbit; ACKs over eth0 ingress: queue police rate 1mbit burst 10240B limit 1000p"
    )


SHOWN = """
qdisc noqueue 0: dev lo root refcnt 2
qdisc htb 1: dev eth0 root refcnt 2 r2q 10 default 0x10 direct_packets_stat 0 direct_qlen 1000
 Sent 7520 bytes 64 pkt (dropped 0, overlimits 12 requeues 0)
 backlog 0b 0p requeues 0
qdisc fq_codel 10: dev eth0 parent 1:10 limit 10240p flows 512 quantum 1514 target 5ms interval 100ms \
memory_limit 16Mb ecn drop_batch 64
 Sent 7520 bytes 64 pkt (dropped 0, overlimits 0 requeues 0)
 backlog 0b 0p requeues 0
  maxpacket 0 drop_overlimit 0 new_flow_count 0 ecn_mark 0
  new_flows_len 0 old_flows_len 0
class htb 1:10 root leaf 10: prio 0 rate 1Mbit ceil 20Mbit burst 1600b cburst 1600b
qdisc ingress ffff: dev eth0 parent ffff:fff1 ----------------
qdisc tbf 8001: dev ifb0 root refcnt 2 rate 8Mbit burst 5Kb lat 50ms
 rate 0bit 0pps backlog 0b 0p requeues 0
qdisc netem 8002: dev ifb0 parent 8001:1 limit 1000 delay 40ms  5ms loss gemodel p 1% r 30% 1-h 70% 1-k 0.1%
"""


def test_what_tc_prints_is_read():
    path = tc.read(SHOWN)
    assert path.keys == {
        "queue": {"discipline": "fq_codel", "limit": "10240p", "flows": 512, "quantum": "1514B"}
        | {"memory_limit": "16777216B"},
        "rate": "20mbit",
    }
    # 1 byte a us for 50 ms, and the burst.
    assert path.reverse.keys["rate"] == {"rate": "8mbit", "burst": "5120B"}
    assert path.reverse.keys["queue"] == "55120B"
    assert path.reverse.keys["loss"]["loss_bad"] == "70%"
    assert path.reverse.delay == "40ms"
    assert path.left_out == ["r2q 10", "default 0x10", "prio 0", "burst 1600b", "cburst 1600b"]
    shown = "qdisc cake 8003: dev eth0 root refcnt 2 bandwidth 20Mbit besteffort flows nonat nowash "
    shown += "no-ack-filter split-gso rtt 50ms raw overhead 0"
    assert tc.read(shown).keys == {"rate": "20mbit", "queue": {"discipline": "cake", "rtt": "50ms"}}
    # The burst of a bucket goes with its cell's.
    assert (
        tc.read("qdisc tbf 1: dev a root refcnt 2 rate 1Mbit burst 5Kb/8 lat 1s").keys["rate"]["burst"]
        == "5120B"
    )


SQM = """\
qdisc noqueue 0: dev lo root refcnt 2
 Sent 0 bytes 0 pkt (dropped 0, overlimits 0 requeues 0)
qdisc cake 8005: dev eth1 root refcnt 2 bandwidth 38Mbit diffserv3 dual-srchost nat nowash ack-filter \
split-gso rtt 100ms noatm overhead 38 mpu 84 memlimit 32Mb
 Sent 2171498471 bytes 9273487 pkt (dropped 4112, overlimits 12837123 requeues 0)
 capacity estimate: 38Mbit

                   Bulk  Best Effort        Voice
  thresh       2375Kbit       38Mbit     9500Kbit
qdisc ingress ffff: dev eth1 parent ffff:fff1 ----------------
 Sent 9847123987 bytes 8217312 pkt (dropped 0, overlimits 0 requeues 0)
qdisc cake 8006: dev ifb4eth1 root refcnt 2 bandwidth 95Mbit diffserv3 dual-dsthost nat wash ingress \
no-ack-filter split-gso rtt 100ms noatm overhead 38 mpu 84 memlimit 32Mb
"""


def test_the_statistics_of_a_router_with_sqm_are_a_path():
    path = tc.read(SQM)
    assert (path.keys["rate"], path.reverse.keys["rate"]) == ("38mbit", "95mbit")
    assert path.reverse.keys["queue"]["isolation"] == "dual-dsthost"
    assert any("`ingress` would count dropped packets" in remark for remark in path.remarks)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("ip link set eth0 up", "describes no path; there are bfifo, cake"),
        ("tbf rate 1mbit", "tbf needs rate and burst"),
        ("tbf rate fast burst 1k", "fast: is no rate of tc"),
        ("netem delay", "`delay` needs a value"),
        ("netem loss 101%", "101%: is no percentage of tc"),
        ("netem delay 10ms 1ms distribution mine", "distribution mine: there are uniform"),
        ("netem loss state 1%", "loss state: has no counterpart"),
        ("filter add dev a matchall action police rate 1mbit drop", "police needs rate and burst"),
        ("filter add dev a u32 police rate 1mbit burst 1k pass", "packets that exceed go on"),
        ("filter add dev a u32 match ip dport 80 flowid 1:1", "and filters that police"),
        ("pfifo", "pfifo needs a limit"),
        ("red avpkt 1000", "red needs a limit"),
        ("fq_codel targte 5ms", "fq_codel: there is no `targte`; there are limit, flows"),
        ('[{"kind": "tbf", "dev": "eth0", "options": {"rate": 1250000}}]', "is JSON, as `tc -j` prints it"),
        ("pie dq_rate_estimator", "pie: `dq_rate_estimator`: the delay is measured by timestamps"),
        (
            "qdisc add dev a pfifo limit 1; qdisc add dev b pfifo limit 1; qdisc add dev c pfifo limit 1",
            "describes 3 devices (a, b, c), and a path has two directions",
        ),
        ("netem limit many", "many: is no whole number"),
        ("tbf rate 1mbit burst 5k linklayer dsl", "linklayer dsl: there are ethernet, atm, adsl"),
        ("tbf rate 1mbit burst 5k overhead few", "overhead few: is no whole number"),
        ("netem delay 'x", "No closing quotation"),
    ],
)
def test_lines_that_describe_no_path_are_one_sentence(line, words):
    with pytest.raises(InputError) as caught:
        tc.read(line)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
