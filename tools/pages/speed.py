"""Measures the tables of speed: ``PYTHONPATH=tools python -m pages.speed [TABLE…]``, then ``make tables``.

It needs an idle machine, valgrind and a release build (``make build``), with symbols for the parts of memory.
Half an hour of two cores goes to the last table, and a quarter to the others.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from ackclock import _engine, bench
from ackclock.papers.published import machine
from pages.measure import write_rows

REPEAT = 5
COMMAND = "PYTHONPATH=tools python -m pages.speed"
CASES = [
    case for case in bench.chosen(None) if not (case.of or case.command or case.keys) and case.cores == 1
]
LARGEST = max(CASES, key=lambda case: case.flows)
STARTING = bench.Benchmark(
    "starting",
    "newreno",
    20_000,
    rate="10gbit",
    duration="0.2s",
    rtt="80ms",
    start_jitter="80ms",
    keys={"transport": {"receive_window": 6}},
)
"""Many flows send their first segments."""
MANY = [
    replace(LARGEST, duration="3s"),
    replace(STARTING, flows=100_000, rate="50gbit"),
    replace(STARTING, flows=1_000_000, rate="500gbit"),
]
PARTS = {
    "sending end with its meter": r"Metered<|row::Rows\b",
    "receiver": r"CacheAligned<transport::tcp::receiver::Receiver>",
    "ring of segments": r"scoreboard::Sent\b",
    "ACKs under way": r"sim::acks::",
    "offers, which take 6 MB with any number of flows": r"network::Offer\b",
    "rows of events": r"EventRow",
    "packets on wires and in the queue": r"packet::Packet\b.*alloc::Global",
    "handshakes": r"(receiving|sending)::Opening\b|OpeningRecord",
    "limits, trains and controller": r"Limits|FullTrain|registry::build",
    "flow as drawn": r"DrawnFlow|Plan>::draw\b",
    "flow of the plan": r"plan_flows",
    "halves and tables of timers": r"SenderHalf|ReceiverHalf|event_queue|delayed_ack_timers|agenda::",
}
"""The parts of the memory of a flow, and the frames that allocate it. The innermost match counts."""
FIGURES = {
    "figure 6.5": ["fig6.5"],
    "figures 6.7 and 6.8": ["fig6.7", "fig6.8"],
    "figure 6.9": ["fig6.9"],
    "figure 6.10, what 6.7 does not have": ["fig6.10"],
    "figure 6.12": ["fig6.12"],
    "figures 6.6 and 6.13, section 6.3.2": ["fig6.6", "fig6.13", "sec6.3.2"],
    "figure 7.6b": ["fig7.6b"],
    "figures 7.5, 7.6a, 7.7 and 7.8": ["fig7.5", "fig7.6a", "fig7.7", "fig7.8"],
    "figure 7.13": ["fig7.13"],
}
"""The experiments of the thesis that take most of its time."""
OURS = r"\b(control|engine|network|record|scenario|sim|transport|units)::"

Row = dict[str, str]


def _named(case: bench.Benchmark) -> Row:
    """The flows and the link of a case."""
    (title,) = (one["title"] for one in _engine.controllers() if one["name"] == case.controller)
    rate = re.sub(r"(\d+)(.)bit", lambda found: f"{found[1]} {found[2].upper()}bit/s", case.rate)
    return {"flows": f"{case.flows:,} {title.replace(' version', '')}", "link": rate}


def _memory(measured: dict[str, Any]) -> str:
    return f"{measured['peak_rss_bytes'] / 1e6:,.0f} MB"


def speeds() -> list[Row]:
    """Packets per second of processor time."""
    rows = []
    for case in CASES:
        measured = bench.measure(case, REPEAT)
        speed = f"{measured['packets_per_cpu_s'] / 1e6:.1f}"
        rows.append(_named(case) | {"million packets/CPU s": speed, "memory": _memory(measured)})
    return rows


def instructions() -> list[Row]:
    """Instructions of a packet, which do not depend on what else runs."""
    counted = [(case, bench.measure(case)["instructions_per_packet"]) for case in CASES]
    return [_named(case) | {"instructions a packet": f"{count:,.0f}"} for case, count in counted]


def memory() -> list[Row]:
    """Peak memory of many flows."""
    return [
        _named(case)
        | {"over": case.duration, "peak memory": _memory(bench.measure(replace(case, large=True)))}
        for case in MANY
    ]


def cores() -> list[Row]:
    """The speed on two cores over one, by wall-clock time."""
    rows = []
    for case in CASES:
        one, two = (bench.measure(replace(case, cores=cores), REPEAT)["wall_s"] for cores in (1, 2))
        rows.append(_named(case) | {"two cores over one": f"{one / two:.2f}"})
    return rows


def parts() -> list[Row]:
    """The memory of a flow at the peak, by its parts."""
    process = bench.process(STARTING, bench.Build.of_this(), "sim")
    with tempfile.TemporaryDirectory() as folder:
        profile = Path(folder, "dhat.json")
        command = ["valgrind", "--tool=dhat", "--num-callers=40", f"--dhat-out-file={profile}", *process]
        subprocess.run(command, check=True, capture_output=True)
        found: dict[str, Any] = json.loads(profile.read_text("utf-8"))
    frames, sizes = found["ftbl"], Counter[str]()
    for point in found["pps"]:
        stack = [frames[frame] for frame in point["fs"]]
        if any(re.search(OURS, frame) for frame in stack):
            fitting = (part for frame in stack for part, of in PARTS.items() if re.search(of, frame))
            sizes[next(fitting, "the rest")] += point["gb"]
    if not sizes:
        sys.exit("the build has no symbols: set `strip = false` in pyproject.toml, then `make build`")
    return [
        {"part": part, "bytes a flow": f"{size / STARTING.flows:.0f}"} for part, size in sizes.most_common()
    ]


def thesis() -> list[Row]:
    """The time of the runs of each figure of the thesis."""
    command = [sys.executable, "-m", "ackclock", "reproduce", "edwan2010", "--json"]
    # The status is 1 where a claim misses.
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    runs, seconds = Counter[str](), Counter[str]()
    for experiment in json.loads(done.stdout)["experiments"]:
        own = experiment["id"].removeprefix("edwan2010-")
        group = next((group for group, members in FIGURES.items() if own in members), "all others")
        runs[group] += experiment["runs_done"]
        seconds[group] += experiment["seconds"]
    return [
        {
            "experiments": group,
            "runs": str(runs[group]),
            "processor time of a run (s)": f"{seconds[group] / runs[group]:.1f}",
            "of all runs (s)": f"{seconds[group]:.0f}",
        }
        for group in (*FIGURES, "all others")
        if runs[group]
    ]


TABLES: dict[str, Callable[[], list[Row]]] = {
    "performance/bench": speeds,
    "performance/instructions": instructions,
    "performance/memory": memory,
    "performance/turns": cores,
    "performance/memory-parts": parts,
    "papers/edwan2010-cost": thesis,
}


def main() -> None:
    """Writes the tables that are named, or all."""
    load = f"{machine()}, at a load of {os.getloadavg()[0]:.1f}"
    for name in sys.argv[1:] or TABLES:
        write_rows(f"{name}.csv", f"{COMMAND} {name}", TABLES[name](), load)


if __name__ == "__main__":
    main()
