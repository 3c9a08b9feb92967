"""The output of `--json` has the structure that the documentation promises."""

import json
import re

import pytest

from ackclock import _engine
from calling import run

NUMBER = (int, float)
STATISTIC = re.compile(r"_(min|mean|max|p\d+)(_ms)?$")
RTT = dict.fromkeys(("min", "mean", "p50", "p90", "p95", "p99", "max"), NUMBER)


def columns(table):
    """The columns of a table but for statistics and the number of the row. A new one is in ``--json``."""
    names = [column["name"] for column in _engine.columns() if column["table"] == table]
    return {name: NUMBER for name in names[1:] if not STATISTIC.search(name)}


RUNS = {
    "version": str,
    "runs": [
        {
            "label": str,
            "seed": int,
            "duration_s": float,
            "scenario": dict,
            "flows": [
                columns("flows")
                | {
                    "name": str,
                    "cc": str,
                    "profile": str,
                    "start_s": float,
                    "stop_s": float,
                    "measured_s": float,
                    "base_rtt_ms": float,
                    "delivered_bytes": int,
                    "lost_packets": int,
                    "marked_packets": int,
                    "recoveries": int,
                    "spurious": int,
                    "completion_s": (float, type(None)),
                    "handshake_ms": (float, type(None)),
                    "first_byte_ms": (float, type(None)),
                    "syn_retransmissions": int,
                    "syn_ack_retransmissions": int,
                    "goodput_bps": float,
                    "throughput_bps": float,
                    "data_packets": int,
                    "retransmitted_packets": int,
                    "timeouts": int,
                    "loss_rate": float,
                    "rtt_ms": RTT,
                }
            ],
            "links": [
                columns("links")
                | {
                    "name": str,
                    "rate_bps": NUMBER,
                    "is_bottleneck": bool,
                    "utilization": float,
                    "busy_share": float,
                    "capacity_bytes": NUMBER,
                    "throughput_bps": float,
                    "arrived_packets": int,
                    "departed_packets": int,
                    "departed_bytes": int,
                    "queue_packets": dict.fromkeys(("mean", "p50", "p95", "max"), NUMBER),
                    "queue_delay_ms": dict.fromkeys(("mean", "p50", "p95", "p99", "max"), NUMBER),
                    "packet_queue_delay_ms": dict.fromkeys(("mean", "p50", "p95", "p99", "max"), NUMBER),
                    "dropped_packets": int,
                    "lost_packets": int,
                    "marked_packets": int,
                    "jain": float,
                }
            ],
            "controllers": [
                {
                    "cc": str,
                    "flows": int,
                    "goodput_bps": float,
                    "share": float,
                    "data_packets": int,
                    "retransmitted_packets": int,
                    "timeouts": int,
                    "loss_rate": float,
                }
            ],
            "fairness": {"jain": float},
            "engine": {"kind": str, "events": int, "data_packets": int, "cpu_s": float, "wall_s": float},
        }
    ],
}
CLAIMS = {
    "experiments": [
        {
            "id": str,
            "runs": int,
            "runs_done": int,
            "seconds": float,
            "claims": [
                {
                    "id": str,
                    "kind": str,
                    "reported": (*NUMBER, str),
                    "measured": (*NUMBER, type(None)),
                    "unit": str,
                    "low": (*NUMBER, type(None)),
                    "high": (*NUMBER, type(None)),
                    "verdict": str,
                    "trivial": bool,
                    "fragile": bool,
                    "judged_over": (str, type(None)),
                    "holds": (int, type(None)),
                    "of": (int, type(None)),
                    "why": (str, type(None)),
                }
            ],
        }
    ]
}
BENCH = {
    "bench": [
        {
            "name": str,
            "controller": str,
            "flows": int,
            "data_packets": (int, type(None)),
            "events": (int, type(None)),
            "cpu_s": float,
            "wall_s": float,
            "packets_per_cpu_s": (float, type(None)),
            "instructions_per_packet": (float, type(None)),
            "instructions": (float, type(None)),
            "peak_rss_bytes": int,
        }
    ]
}


def assert_shape(value, shape, where="$"):
    """``value`` has exactly the keys and types of ``shape``. The shape of a list is its items' shape."""
    if isinstance(shape, dict):
        assert set(value) == set(shape), where
        for key, inner in shape.items():
            assert_shape(value[key], inner, f"{where}.{key}")
    elif isinstance(shape, list):
        assert value, where
        for index, item in enumerate(value):
            assert_shape(item, shape[0], f"{where}.{index}")
    else:
        assert isinstance(value, shape), f"{where} = {value!r}"
        assert shape is bool or not isinstance(value, bool), where


def refuse_constant(name):
    raise AssertionError(f"{name} is not JSON")


@pytest.mark.parametrize(
    ("arguments", "shape"),
    [
        (["run", "--repeat", "2"], RUNS),
        (["compare", "newreno", "cdg", "--duration", "2s", "--flows", "2"], RUNS),
        (["reproduce", "cdg2011-fig7", "--quick"], CLAIMS),
        (["bench", "--only", "newreno-1"], BENCH),
    ],
)
def test_json_has_the_documented_structure(capsys, scenario, tmp_path, arguments, shape):
    if arguments[0] == "run":
        arguments = [*arguments, scenario]
    if arguments[0] == "reproduce":
        arguments = [*arguments, "--out", tmp_path / "out"]
    status, out, _ = run(capsys, *arguments, "--json")
    assert status in ((0, 1) if arguments[0] == "reproduce" else (0,))
    assert_shape(json.loads(out, parse_constant=refuse_constant), shape)


def test_numbers_that_there_are_not_are_null_in_json(capsys, scenario):
    status, out, _ = run(capsys, "run", scenario, "--set", "path.loss=100%", "--json")
    (only,) = json.loads(out, parse_constant=refuse_constant)["runs"]
    assert status == 0
    assert set(only["flows"][0]["rtt_ms"].values()) == {None}
    assert only["fairness"] == {"jain": None}


def test_a_call_is_no_rival_of_greedy_flows(capsys, scenario):
    text = scenario.read_text()
    call = '[[flows]]\ncc = "newreno"\nkind = "datagram"\nsource = { rate = "80kbit" }\n'
    (scenario.with_name("two.toml")).write_text(f'{text}\n[[flows]]\ncc = "cubic"\n\n{call}')
    status, out, _ = run(capsys, "run", scenario.with_name("two.toml"), "--json")
    assert status == 0
    (only,) = json.loads(out)["runs"]
    a, b, _ = (flow["goodput_bps"] for flow in only["flows"])
    assert only["fairness"]["jain"] == pytest.approx((a + b) ** 2 / (2 * (a * a + b * b)))
