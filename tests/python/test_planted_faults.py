"""Faults planted into copies of noq, quinn and quiche: `ackclock check` finds each, and none without it.

A fault needs a build of the stack, half a CPU minute each. The first one runs everywhere, all with PLANTED=1.
"""

import csv
import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from ackclock import _engine
from calling import run

REGISTRY = Path.home() / ".cargo/registry/src"
FOUND = Path(__file__).parents[2] / "measurements/parity/quic-planted.csv"
SOURCES = {"noq": "noq-proto-1.4.0", "quinn": "quinn-proto-0.11.19", "quiche": "quiche-0.30.0"}
RENO, CUBIC = "src/congestion/new_reno.rs", "src/congestion/cubic.rs"
BBR3 = "src/congestion/bbr3/mod.rs"
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


FAULTS = (
    Fault(
        "noq:newreno", "grows while the application is limited", RENO,
        "if app_limited || sent <=", "if sent <=", "application-limited",
    ),
    Fault(
        "noq:cubic", "ignores persistent congestion", CUBIC,
        "if is_persistent_congestion {", "if false && is_persistent_congestion {", "persistent-congestion",
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
        "answers-marks",
    ),
    Fault(
        "quinn:cubic", "never notes the start of a recovery", CUBIC,
        "        self.recovery_start_time = Some(now);\n        let window", "        let window", "decrease",
    ),
    Fault(
        "quinn:newreno", "has half a datagram as its least window", RENO,
        "2 * self.current_mtu", "self.current_mtu / 2", "persistent-congestion",
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
        "    if r.app_limited {\n        return;\n    }\n", "", "application-limited",
    ),
    Fault(
        "noq:bbr3", "takes no share of losses for high", BBR3,
        "const LOSS_THRESH: f64 = 0.02;", "const LOSS_THRESH: f64 = 1.0;", "answers-loss",
    ),
)  # fmt: skip


def verdicts(capsys, fault, *options):
    """The verdicts on the case that finds the fault, without and with variants."""
    command = ("check", fault.controller, *options, "--only", fault.case, "--json")
    status, out, err = run(capsys, *command)
    assert status in (0, 1), err
    return {one["verdict"] for one in json.loads(out)["check"]["cases"]}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda one: f"{one.controller} {one.words}")
def test_a_planted_fault_is_found_by_its_case(capsys, tmp_path, monkeypatch, fault):
    if fault != FAULTS[0] and os.environ.get("PLANTED", "0") in ("", "0"):
        pytest.skip("each fault takes half a CPU minute to build: PLANTED=1 runs all")
    monkeypatch.chdir(tmp_path)
    stack = fault.controller.partition(":")[0]
    assert verdicts(capsys, fault) == {"pass"}
    released = next(REGISTRY.glob(f"*/{SOURCES[stack]}"))
    shutil.copytree(released, stack)
    file = Path(stack, fault.file)
    text = file.read_text()
    assert text.count(fault.before) == 1
    file.write_text(text.replace(fault.before, fault.after))
    assert "fail" in verdicts(capsys, fault, "--engine", f"quic:{stack}={stack}")


def test_the_table_of_faults_is_of_these():
    rows = csv.DictReader(line for line in FOUND.read_text().splitlines() if not line.startswith("#"))
    found = [(row["controller"], row["fault"], row["found by"]) for row in rows]
    assert found == [(f"`{one.controller}`", one.words, f"`{one.case}`") for one in FAULTS]
