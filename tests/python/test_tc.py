"""Lines of ``tc`` as paths: numbers worked out by tc's own rules."""

from __future__ import annotations

import pytest

from ackclock import tc
from ackclock.errors import InputError


@pytest.mark.parametrize(
    ("text", "bits"),
    [
        ("1Mbps", 8e6),
        ("1mbit", 1e6),
        ("500", 500.0),
        ("1.5Mbit", 1.5e6),
        ("10kbit", 1e4),
        ("1mibit", 1048576.0),
        ("2kbps", 16e3),
    ],
)
def test_rates_are_those_of_tc(text, bits):
    assert tc.rate(text) == f"{bits:.0f}bit"


@pytest.mark.parametrize(
    ("text", "size"),
    [("0.1MB", 104857), ("32kbit", 4096), ("1600", 1600), ("15k", 15360), ("1Mb", 1048576), ("64kb", 65536)],
)
def test_sizes_are_those_of_tc(text, size):
    assert tc.size(text) == size


def test_a_bare_time_counts_microseconds():
    assert (tc.time("100ms"), tc.time("250"), tc.time("1s")) == ("100000.000us", "250.000us", "1000000.000us")


def test_a_bucket_has_a_queue_of_its_latency():
    path = tc.read("tc qdisc add dev eth0 root handle 1: tbf rate 8mbit burst 32kbit latency 50ms")
    # 1 byte a us for 50 ms, and the burst.
    assert path.keys == {"rate": {"rate": "8000000bit", "burst": "4096B"}, "queue": "54096B"}
    assert path.left_out == []
    assert tc.read("tbf rate 1mbit burst 10k limit 30k peakrate 2mbit mtu 1540").keys == {
        "rate": {"rate": "1000000bit", "burst": "10240B", "peakrate": "2000000bit"},
        "queue": "30720B",
    }


def test_netem_is_delay_jitter_loss_and_limit():
    path = tc.read("netem delay 100ms 20ms distribution normal loss 1% duplicate 1% 25% rate 10mbit")
    assert path.delay == "100000.000us"
    assert path.keys == {
        "jitter": {"normal": "20000.000us", "reorder": True},
        "loss": "1%",
        "duplicate": {"share": "1%", "correlation": "25%"},
        "rate": "10000000bit",
        "queue": {"limit": "1000p", "count_delayed": True},
    }
    path = tc.read("netem delay 10ms reorder 25% 50% gap 5 limit 50")
    early = {"share": "25%", "correlation": "50%", "gap": 5}
    assert path.keys == {"jitter": {"reorder": early}, "queue": {"limit": "50p", "count_delayed": True}}
    path = tc.read("netem slot 800us 10ms packets 42 bytes 64k")
    slot = {"min": "800.000us", "max": "10000.000us", "packets": 42, "bytes": "65536B"}
    assert path.keys == {"jitter": {"slot": slot}}
    assert tc.read("netem gap 5 delay 10ms").keys["jitter"] == {"reorder": {"share": "100%", "gap": 5}}
    assert tc.read("netem delay 100ms 20ms").keys["jitter"] == {"around": "20000.000us", "reorder": True}


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


def test_disciplines_keep_their_settings_and_the_rest_is_named():
    path = tc.read(
        "tc qdisc add dev eth0 root fq_codel limit 1000 target 5ms interval 100ms noecn drop_batch 64"
    )
    assert path.keys["queue"] == {
        "discipline": "fq_codel",
        "limit": "1000p",
        "target": "5000.000us",
        "interval": "100000.000us",
        "ecn": False,
    }
    assert path.left_out == ["drop_batch 64"]
    cake = tc.read("cake bandwidth 809kbit atm overhead 10 ack-filter dual-srchost diffserv4")
    assert cake.keys["rate"] == "809000bit"
    apart = {"isolation": "dual-srchost", "diffserv": "diffserv4", "ack_filter": "ack-filter"}
    assert cake.keys["queue"] == {"discipline": "cake", "link_layer": "atm", "overhead": 10} | apart
    assert cake.left_out == []
    [remark] = cake.remarks
    assert "path.reverse.queue" in remark
    # Without a word about them tc has these.
    usual = {"isolation": "triple-isolate", "diffserv": "diffserv3"}
    assert tc.read("cake bandwidth 1mbit").keys["queue"] == {"discipline": "cake"} | usual
    blind = tc.read("cake bandwidth 1mbit flowblind besteffort").keys["queue"]
    assert blind == {"discipline": "cake", "flowblind": True, "diffserv": "besteffort"}
    assert tc.read("codel").keys == {"queue": "codel"}
    assert tc.read("bfifo limit 0.1MB").keys == {"queue": "104857B"}


def test_several_lines_describe_one_path():
    lines = """
        tc qdisc add dev eth0 root handle 1: htb default 10  # a comment
        tc class add dev eth0 parent 1: classid 1:10 htb rate 5mbit ceil 10mbit
        tc qdisc add dev eth0 parent 1:10 handle 10: netem delay 40ms \\
            loss 1%; tc qdisc add dev ifb0 root pfifo limit 100
    """
    path = tc.read(lines)
    assert (path.keys, path.delay) == ({"rate": "10000000bit", "loss": "1%", "queue": "100p"}, "40000.000us")
    twice = tc.read("pfifo limit 10; pfifo limit 20")
    assert (twice.keys["queue"], twice.remarks) == (
        "20p",
        ["two lines have the queue of the path; that of the last one counts"],
    )


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
        ("pfifo", "pfifo needs a limit"),
        ("netem limit many", "many: is no whole number"),
        ("netem delay 'x", "No closing quotation"),
    ],
)
def test_lines_that_describe_no_path_are_one_sentence(line, words):
    with pytest.raises(InputError) as caught:
        tc.read(line)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
