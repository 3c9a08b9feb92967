"""Benchmarks: packets per CPU second on fixed scenarios.

Each runs in a fresh process that loads only the engine, so that its peak memory is its own. Run as a file,
this module is that process.
"""

from __future__ import annotations

import importlib.util
import json
import resource
import subprocess
import sys
from dataclasses import dataclass
from importlib.machinery import ExtensionFileLoader
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Case:
    """A dumbbell of one bandwidth-delay product of drop-tail queue."""

    name: str
    controller: str
    flows: int
    rate: str = "100mbit"
    duration: str = "60s"
    rtt: str = "40ms"
    queue: str = "1bdp"
    start_jitter: str = "40ms"
    receive_window: int | None = None
    """In segments; None for that of the profile."""
    large: bool = False
    """Takes gigabytes, and runs only when it is named."""

    def scenario(self) -> dict[str, Any]:
        """The scenario, tables at their default resolution."""
        flow: dict[str, Any] = {
            "cc": self.controller,
            "count": self.flows,
            "start_jitter": self.start_jitter,
        }
        if self.receive_window is not None:
            flow["transport"] = {"receive_window": self.receive_window}
        return {
            "name": self.name,
            "duration": self.duration,
            "path": {"rate": self.rate, "rtt": self.rtt, "queue": self.queue},
            "flows": [flow],
        }


CASES = (
    Case("newreno-1", "newreno", 1),
    Case("newreno-10", "newreno", 10),
    Case("newreno-100", "newreno", 100),
    Case("cubic-10", "cubic", 10),
    Case("cubic-1", "cubic", 1),
    Case("bbr1-1", "bbr1", 1),
    Case("bbr3-1", "bbr3", 1),
    Case("newreno-10-1gbit", "newreno", 10, rate="1gbit"),
    Case("newreno-10000-10gbit", "newreno", 10_000, rate="10gbit", duration="10s"),
    # The windows of all fit between the ends, path and queue together: nothing is lost.
    Case(
        "newreno-1000000-500gbit",
        "newreno",
        1_000_000,
        rate="500gbit",
        duration="1s",
        rtt="80ms",
        start_jitter="80ms",
        receive_window=6,
        large=True,
    ),
)


def chosen(names: list[str] | None) -> list[Case]:
    """The cases of these names; without any, all that are not large."""
    return [case for case in CASES if (case.name in names if names else not case.large)]


def measure(case: Case, repeat: int = 1, name: str = "sim") -> dict[str, Any]:
    """Runs a case ``repeat`` times on the engine called ``name``, and gives the fastest.

    That is counts, CPU seconds, speed and peak memory.
    """
    engine = importlib.util.find_spec("ackclock._engine")
    if engine is None or engine.origin is None:
        raise RuntimeError("the engine of ackclock is not built")
    command = [sys.executable, "-I", __file__, engine.origin, json.dumps(case.scenario()), name]
    found = [
        json.loads(subprocess.run(command, check=True, capture_output=True).stdout) for _ in range(repeat)
    ]
    best = min(found, key=lambda run: run["cpu_s"])
    return {
        "name": case.name,
        "controller": case.controller,
        "flows": case.flows,
        "data_packets": best["data_packets"],
        "events": best["events"],
        "cpu_s": best["cpu_s"],
        "packets_per_cpu_s": best["data_packets"] / best["cpu_s"],
        "peak_rss_bytes": best["peak_rss_bytes"],
    }


def _run_alone(path: str, scenario: str, name: str) -> dict[str, Any]:
    """Runs one scenario on one thread of an engine in this process."""
    loader = ExtensionFileLoader("ackclock._engine", path)
    spec = importlib.util.spec_from_loader("ackclock._engine", loader)
    assert spec is not None
    engine: Any = importlib.util.module_from_spec(spec)
    loader.exec_module(engine)
    batch = engine.Batch([(engine.resolve_json(scenario, []), 1)], engine=name, threads=1)
    run = None
    while not batch.done:
        run = batch.next(1.0) or run
    assert run is not None
    counts = {key: run[1].engine[key] for key in ("data_packets", "events", "cpu_s")}
    return counts | {"peak_rss_bytes": _peak_rss()}


def _peak_rss() -> int:
    """Peak resident memory of this process in bytes."""
    try:
        # getrusage would count what the parent held when it forked.
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))
    except (OSError, StopIteration):
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


if __name__ == "__main__":
    sys.stdout.write(json.dumps(_run_alone(*sys.argv[1:])))
