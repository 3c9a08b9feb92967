"""Faults planted into copies of noq, quinn and quiche: `ackclock check` finds each, and none without it.

A fault needs a build of the stack, half a CPU minute each. The first one runs everywhere, all with PLANTED=1.
`UPDATE_DOCS=1 PLANTED=1 pytest tests/python/test_planted_faults.py` writes the table of the page.
"""

import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

import pages
from ackclock import _engine
from calling import run
from pages import measure

REGISTRY = Path.home() / ".cargo/registry/src"
FILE = "parity/quic-planted.csv"
COMMAND = "UPDATE_DOCS=1 PLANTED=1 pytest tests/python/test_planted_faults.py"
SOURCES = {"noq": "noq-proto-1.4.0", "quinn": "quinn-proto-0.11.19", "quiche": "quiche-0.30.0"}
RENO, CUBIC = "src/congestion/new_reno.rs", "src/congestion/cubic.rs"
BBR3, BBR = "src/congestion/bbr3/mod.rs", "src/congestion/bbr/mod.rs"
QUICHE_RENO = "src/recovery/congestion/reno.rs"

pytestmark = [
    pytest.mark.skipif("quic" not in _engine.engines(), reason="built without QUIC"),
    pytest.mark.skipif(shutil.which("cargo") is None, reason="there is no cargo"),
]


@dataclass(frozen=True)
class Fault:
    """A change of a controller that makes it wrong."""

    controller: str
    words: str
    file: str
    before: str
    after: str
    case: str
    """The case that finds it."""
    unit: str = ""


FAULTS = (
    Fault(
        "noq:newreno", "grows while the application is limited", RENO,
        "if app_limited || sent <=", "if sent <=", "application-limited", "packets",
    ),
    Fault(
        "noq:cubic", "ignores persistent congestion", CUBIC,
        "if is_persistent_congestion {", "if false && is_persistent_congestion {",
        "persistent-congestion", "packets",
    ),
    Fault(
        "noq:newreno", "halves the window for each loss of a flight", RENO,
        "            return;\n        }\n\n        self.recovery_start_time = now;",
        "        }\n\n        self.recovery_start_time = now;", "one-reduction",
    ),
    Fault(
        "quinn:newreno", "ignores marks", RENO,
        "        _lost_bytes: u64,\n    ) {",
        "        lost_bytes: u64,\n    ) {\n        if lost_bytes == 0 {\n            return;\n        }",
        "answers-marks", "packets in the queue",
    ),
    Fault(
        "quinn:cubic", "never notes the start of a recovery", CUBIC,
        "        self.recovery_start_time = Some(now);\n        let window", "        let window", "decrease",
    ),
    Fault(
        "quinn:newreno", "has half a datagram as its least window", RENO,
        "2 * self.current_mtu", "self.current_mtu / 2", "persistent-congestion", "packets",
    ),
    Fault(
        "quiche:cubic", "keeps its window at a loss", "src/recovery/congestion/cubic.rs",
        "        r.congestion_window = ssthresh;\n", "", "decrease",
    ),
    Fault(
        "quiche:reno", "halves the window for each loss of a flight", QUICHE_RENO,
        "if !r.in_congestion_recovery(time_sent) {\n", "if !r.in_congestion_recovery(time_sent) || true {\n",
        "decrease",
    ),
    Fault(
        "quiche:reno", "grows while the application is limited", QUICHE_RENO,
        "    if r.app_limited {\n        return;\n    }\n", "", "application-limited", "packets",
    ),
    Fault(
        "noq:bbr3", "takes no share of losses for high", BBR3,
        "const LOSS_THRESH: f64 = 0.02;", "const LOSS_THRESH: f64 = 1.0;", "answers-loss", "of packets lost",
    ),
    Fault(
        "noq:bbr3", "keeps its smallest RTT for ever", BBR3,
        "const MIN_RTT_FILTER_LEN: u64 = 10;", "const MIN_RTT_FILTER_LEN: u64 = 100_000;",
        "after-route-change", "of the link",
    ),
    Fault(
        "noq:bbr3", "stays in ProbeRTT for five seconds", BBR3,
        "const PROBE_RTT_DURATION_MS: u64 = 200;", "const PROBE_RTT_DURATION_MS: u64 = 5000;",
        "idle-path", "of the link",
    ),
    Fault(
        "quinn:bbr", "has half a bandwidth-delay product as its window", BBR,
        "const K_DERIVED_HIGH_CWNDGAIN: f32 = 2.0;", "const K_DERIVED_HIGH_CWNDGAIN: f32 = 0.5;",
        "idle-path", "of the link",
    ),
    Fault(
        "quinn:bbr", "sends no more than its least window in a recovery", BBR,
        "return self.cwnd.min(self.recovery_window);", "return self.min_cwnd;", "after-loss", "of the link",
    ),
)  # fmt: skip


ROWS = {}
"""The row of each fault that was measured."""


def judged(capsys, fault, *options):
    """The case that finds the fault, without and with variants, by its name."""
    command = ("check", fault.controller, *options, "--only", fault.case, "--json")
    status, out, err = run(capsys, *command)
    assert status in (0, 1), err
    return {one["id"]: one for one in json.loads(out)["check"]["cases"]}


def spelled(value):
    return f"{value:.0f}" if value >= 100 else f"{value:.2g}" if value < 1 else f"{value:.3g}"


def allowed(case, unit):
    low, high = (None if case[end] is None else f"{case[end]:g}" for end in ("low", "high"))
    band = f"at most {high}" if low is None else f"at least {low}" if high is None else f"{low} to {high}"
    return f"{band} {unit}".rstrip()


@pytest.mark.parametrize("fault", FAULTS, ids=lambda one: f"{one.controller} {one.words}")
def test_a_planted_fault_is_found_by_its_case(capsys, tmp_path, monkeypatch, fault):
    if fault != FAULTS[0] and os.environ.get("PLANTED", "0") in ("", "0"):
        pytest.skip("each fault takes half a CPU minute to build: PLANTED=1 runs all")
    monkeypatch.chdir(tmp_path)
    stack = fault.controller.partition(":")[0]
    innocent = judged(capsys, fault)
    assert {one["verdict"] for one in innocent.values()} == {"pass"}
    released = next(REGISTRY.glob(f"*/{SOURCES[stack]}"))
    shutil.copytree(released, stack)
    file = Path(stack, fault.file)
    text = file.read_text()
    assert text.count(fault.before) == 1
    file.write_text(text.replace(fault.before, fault.after))
    guilty = judged(capsys, fault, "--engine", f"quic:{stack}={stack}")
    found = [one for one in guilty.values() if one["verdict"] == "fail"]
    assert found
    ROWS[fault] = {
        "controller": f"`{fault.controller}`",
        "fault": fault.words,
        "found by": f"`{found[0]['id']}`",
        "allowed": allowed(found[0], fault.unit),
        "released": spelled(innocent[found[0]["id"]]["measured"]),
        "with the fault": spelled(found[0]["measured"]),
    }


def test_the_table_of_faults_is_of_these():
    if os.environ.get("UPDATE_DOCS") == "1" and len(ROWS) == len(FAULTS):
        measure.write_rows(FILE, COMMAND, [ROWS[fault] for fault in FAULTS])
    _, rows = pages.load_csv(FILE)
    found = [(row["controller"], row["fault"], row["found by"].strip("`").partition("/")[0]) for row in rows]
    assert found == [(f"`{one.controller}`", one.words, one.case) for one in FAULTS]
