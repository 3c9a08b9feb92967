"""The limit of flows that lasts longest: the first line of a command and of its report."""

from __future__ import annotations

import json

import pytest

import ackclock
from ackclock import summary
from ackclock.overview import overview
from calling import run

PATH = ("--rate", "100mbit", "--rtt", "100ms", "--duration", "5s")


def first_line(capsys, *arguments: str) -> str:
    """The first line of ``compare newreno`` over 100 Mbit/s and 100 ms."""
    status, out, err = run(capsys, "compare", "newreno", *PATH, *arguments)
    assert status == 0, err
    return out.splitlines()[0]


@pytest.mark.parametrize(
    ("setting", "limit"),
    [
        ("flows.0.transport.receive_buffer=64kB", "receive buffer"),
        ("flows.0.transport.send_buffer=64kB", "send buffer"),
        ('flows.0.source={rate="5mbit"}', "application"),
    ],
)
def test_the_limit_of_a_flow_comes_first(capsys, setting, limit):
    assert first_line(capsys, "--set", setting).startswith(f"newreno was limited by its {limit} ")


def test_a_flow_that_its_window_limits_needs_no_word(capsys):
    assert first_line(capsys, "--loss", "1%").startswith("flows")


def test_the_report_begins_with_the_same_sentence():
    document = {
        "duration": "5s",
        "path": {"rate": "100mbit", "rtt": "100ms", "queue": "1bdp"},
        "flows": [{"cc": "newreno", "transport": {"receive_buffer": "64kB"}}],
    }
    done = ackclock.simulate(document)
    (sentence,) = summary.limits([done.summary("here")])
    assert list(overview({"here": [done]}).sentences[0]) == ["Limit", sentence]


def one(label: str, **times: float) -> dict[str, object]:
    """The summary of a flow of 10 s, with seconds of its limits."""
    flow = dict.fromkeys(summary.TIMES, 0) | {f"{name}_us": round(of * 1e6) for name, of in times.items()}
    return {"label": label, "flows": [{"measured_s": 10.0, "completion_s": None, **flow}]}


def test_repetitions_have_the_limit_of_most_of_them():
    limited = [one("a", busy=10, rwnd_limited=seconds) for seconds in (9, 6, 8)]
    assert summary.limits(limited) == ["a was limited by its receive buffer 80 % of the time"]
    free = one("a", busy=10)
    assert summary.limits([*limited[:2], free]) == ["a was limited by its receive buffer 90 % of the time"]
    assert summary.limits([limited[0], free, free]) == []


def test_times_add_up_and_leave_out_the_handshake_and_the_warmup():
    document = {
        "duration": "4s",
        "warmup": "1s",
        "phase_noise": False,
        "path": {"rate": "10mbit", "rtt": "100ms", "queue": "1bdp"},
        "flows": [{"cc": "newreno"}, {"cc": "newreno", "start": "2s", "stop": "3s"}],
    }
    first, second = ackclock.simulate(json.loads(json.dumps(document))).rows("flows")
    assert first["busy_us"] == 3_000_000
    # The SYN takes a round trip, and then data are outstanding until the flow is stopped.
    assert second["busy_us"] == pytest.approx(1_000_000 - 1000 * second["handshake_ms"], abs=1)
    assert [row["app_limited_us"] for row in (first, second)] == [0, 0]


FAST = ("--rate", "1gbit", "--rtt", "70ms", "--duration", "3s")
USUAL = "--set buffers=profile"


def test_a_flow_with_more_in_flight_than_usual_buffers_carry_is_remarked_once(capsys):
    status, _, err = run(capsys, "compare", "cubic", "bbr1", *FAST, "--repeat", "2")
    assert status == 0
    (line,) = (line for line in err.splitlines() if USUAL in line)
    assert line.startswith("note: cubic, bbr1 had up to ")
    assert "the usual buffers of profile linux carry 2.76 MB" in line


@pytest.mark.parametrize(
    "arguments",
    [
        ("--set", "buffers=profile"),
        ("--set", "flows.0.transport.receive_buffer=16MB", "--set", "flows.0.transport.send_buffer=16MB"),
        ("--profile", "real-1992"),
        ("--rate", "10mbit"),
        ("--loss", "1%"),
    ],
)
def test_a_flow_that_usual_buffers_leave_alone_needs_no_remark(capsys, arguments):
    status, _, err = run(capsys, "compare", "cubic", *FAST, *arguments)
    assert status == 0
    assert USUAL not in err


def test_the_remark_is_of_the_mean_flight_of_the_largest_flow():
    def flow(name: str, mbit: float) -> dict[str, object]:
        return {"name": name, "profile": "linux", "goodput_bps": mbit * 1e6, "rtt_ms": {"mean": 80.0}}

    usual = {
        "flows": [
            {"name": name, "profile": "linux", "usual_flight_bytes": 2_000_000} for name in ("a-0", "a-1")
        ]
    }
    # 200 Mbit/s are 25 MB/s: in 80 ms exactly 2 MB. 400 Mbit/s are 4 MB.
    assert summary.beyond_buffers([{"label": "a", "flows": [flow("a-0", 200)]}], {"a": usual}) == []
    (sentence,) = summary.beyond_buffers(
        [{"label": "a", "flows": [flow("a-0", 250), flow("a-1", 400), flow("a-2", 900)]}], {"a": usual}
    )
    assert sentence.startswith(
        "a had up to 4 MB in flight on average, and the usual buffers of profile linux carry 2 MB"
    )
