"""Benchmarks: packets per CPU second on fixed scenarios, and instructions a packet.

Each runs in a fresh process that loads only the engine, and the needs of a controller in Python, so that its
peak memory is its own. Run as a file, this module is that process.
"""

from __future__ import annotations

import importlib.util
import json
import re
import resource
import shutil
import subprocess
import sys
from dataclasses import dataclass, replace
from importlib.machinery import ExtensionFileLoader
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Benchmark:
    """A dumbbell of one bandwidth-delay product of drop-tail queue, to be timed."""

    name: str
    controller: str
    flows: int
    rate: str = "100mbit"
    duration: str = "60s"
    rtt: str = "40ms"
    queue: str = "1bdp"
    start_jitter: str = "40ms"
    receive_window: int | None = None
    """In segments. None for the profile's."""
    cores: int = 1
    """That the run may use."""
    large: bool = False
    """Takes gigabytes, and runs only when it is named, or all are."""
    of: str = ""
    """``python`` for a controller in Python, ``gym`` for the agent of an environment, or else empty."""

    @property
    def missing(self) -> str | None:
        """The module that it needs and that is not installed."""
        return "gymnasium" if self.of == "gym" and importlib.util.find_spec("gymnasium") is None else None

    def scenario(self) -> dict[str, Any]:
        """The scenario, tables at their default resolution."""
        flow: dict[str, Any] = {
            "cc": self.controller if not self.of else f"python:0:{self.controller}",
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
    Benchmark("newreno-1", "newreno", 1),
    Benchmark("newreno-10", "newreno", 10),
    Benchmark("newreno-100", "newreno", 100),
    Benchmark("cubic-10", "cubic", 10),
    Benchmark("cubic-1", "cubic", 1),
    Benchmark("bbr1-1", "bbr1", 1),
    Benchmark("bbr3-1", "bbr3", 1),
    Benchmark("newreno-10-1gbit", "newreno", 10, rate="1gbit"),
    Benchmark("newreno-10-1gbit-2-cores", "newreno", 10, rate="1gbit", cores=2),
    Benchmark("newreno-10000-10gbit", "newreno", 10_000, rate="10gbit", duration="10s"),
    Benchmark("newreno-1-python", "newreno", 1, of="python"),
    Benchmark("agent-1-gym", "agent", 1, of="gym"),
    # The windows of all fit between the ends, path and queue together: nothing is lost.
    Benchmark(
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


def chosen(
    names: list[str] | None, python: bool = True, cores: bool = True, large: bool = False
) -> list[Benchmark]:
    """The cases of these names. Without names all that can run, with Python, cores and ``large`` or not."""
    if names:
        return [case for case in CASES if case.name in names]
    fitting = [case for case in CASES if (python or not case.of) and (cores or case.cores == 1)]
    return [case for case in fitting if not case.missing and (large or not case.large)]


def measure(case: Benchmark, repeat: int = 1, name: str = "sim") -> dict[str, Any]:
    """Runs a case ``repeat`` times on the engine called ``name``, and gives the fastest.

    That is counts, CPU and wall-clock seconds, speed, peak memory, and instructions a packet where valgrind
    counts them.
    """
    command = _command(case, name)
    found = [
        json.loads(subprocess.run(command, check=True, capture_output=True).stdout) for _ in range(repeat)
    ]
    best = min(found, key=lambda run: run["wall_s"] if case.cores > 1 else run["cpu_s"])
    return {
        "name": case.name,
        "controller": case.controller,
        "flows": case.flows,
        "data_packets": best["data_packets"],
        "events": best["events"],
        "cpu_s": best["cpu_s"],
        "wall_s": best["wall_s"],
        "packets_per_cpu_s": best["data_packets"] / best["cpu_s"],
        "instructions_per_packet": _instructions(case, name),
        "peak_rss_bytes": best["peak_rss_bytes"],
    }


def _command(case: Benchmark, name: str) -> list[str]:
    """The process that runs a case on the engine called ``name``."""
    engine = importlib.util.find_spec("ackclock._engine")
    if engine is None or engine.origin is None:
        raise RuntimeError("the engine of ackclock is not built")
    how = (case.of, str(case.cores))
    return [sys.executable, "-I", __file__, engine.origin, json.dumps(case.scenario()), name, *how]


def _instructions(case: Benchmark, name: str) -> float | None:
    """Instructions a packet of a simulation on one core that is not large, if valgrind is installed.

    They are counted in the second twentieth of the run, so the start of the process does not count.
    """
    valgrind = shutil.which("valgrind")
    if valgrind is None or case.of or case.large or case.cores > 1 or name != "sim":
        return None
    counter = [valgrind, "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
    counts: list[int] = []
    packets: list[int] = []
    for share in (20, 10):
        short = replace(case, duration=f"{float(case.duration.removesuffix('s')) / share:g}s")
        run = subprocess.run([*counter, *_command(short, name)], check=True, capture_output=True, text=True)
        packets.append(json.loads(run.stdout)["data_packets"])
        counted = re.search(r"I\s+refs:\s+([\d,]+)", run.stderr)
        if counted is None:
            return None
        counts.append(int(counted[1].replace(",", "")))
    return (counts[1] - counts[0]) / (packets[1] - packets[0])


def _run_alone(path: str, scenario: str, name: str, of: str, cores: str) -> dict[str, Any]:
    """Runs one scenario on an engine in this process, where more than one core needs ``sim``."""
    if of == "gym":
        return _episode(json.loads(scenario))
    loader = ExtensionFileLoader("ackclock._engine", path)
    spec = importlib.util.spec_from_loader("ackclock._engine", loader)
    assert spec is not None
    engine: Any = importlib.util.module_from_spec(spec)
    loader.exec_module(engine)
    plan = engine.resolve_json(scenario, [])
    options: dict[str, Any] = {"controllers": [_newreno()]} if of == "python" else {}
    if int(cores) > 1:
        options["cores"] = int(cores)
    batch = engine.Batch([(plan, 1)], engine=name, threads=1, **options)
    run = None
    while not batch.done:
        run = batch.next(1.0) or run
    assert run is not None
    counts = {key: run[1].engine[key] for key in ("data_packets", "events", "cpu_s", "wall_s")}
    return counts | {"peak_rss_bytes": _peak_rss()}


def _newreno() -> type:
    """NewReno (RFC 5681) as the engine has it, in Python."""
    from ackclock.controller import Controller

    class NewReno(Controller):
        before = (0.0, 0.0)

        def on_ack(self, cx: Any, ack: Any) -> None:
            if not ack.window_limited:
                return
            window, threshold, credit = self.window, self.slow_start_threshold, ack.avoidance_credit()
            if window < threshold:
                credit = ack.slow_start_credit()
                if credit < threshold - window:
                    self.window = window + credit
                    return
                credit -= threshold - window
                window = threshold
            elif window == threshold and cx.slow_start_at_threshold:
                window, credit = window + ack.slow_start_credit(), 0.0
            self.window = window + (credit / window if credit < window else 1.0)

        def on_loss(self, _cx: Any, _loss: Any) -> None:
            self.before = self.window, self.slow_start_threshold
            self.slow_start_threshold = max(self.window / 2.0, 2.0)
            self.window = min(self.window, self.slow_start_threshold)

        def on_timeout(self, _cx: Any, loss: Any) -> None:
            if not loss.again:
                self.before = self.window, self.slow_start_threshold
                self.slow_start_threshold = max(self.window / 2.0, 2.0)
            self.window = 1.0

        def on_spurious(self, _cx: Any) -> None:
            self.window = max(self.window, self.before[0])
            self.slow_start_threshold = max(self.slow_start_threshold, self.before[1])

    return NewReno


def _episode(scenario: dict[str, Any]) -> dict[str, Any]:
    """An episode of an agent that fills the path, and half of its queue."""
    import math
    import time

    import numpy as np

    from ackclock.gym import CongestionEnv
    from ackclock.scenario import Scenario

    aim = 1.5 * 1e8 * 0.04 / 8.0 / 1500.0
    env = CongestionEnv(Scenario.from_document(scenario | {"flows": []}))
    begin, begin_wall = time.process_time(), time.perf_counter()
    _, numbers = env.reset(seed=1)
    over = False
    while not over:
        action = np.array([math.log2(aim / numbers["window_segments"])], np.float32)
        _, _, _, over, numbers = env.step(action)
    cpu_s, wall_s = time.process_time() - begin, time.perf_counter() - begin_wall
    assert env.run is not None
    counts = {key: env.run.engine[key] for key in ("data_packets", "events")}
    return counts | {"cpu_s": cpu_s, "wall_s": wall_s, "peak_rss_bytes": _peak_rss()}


def _peak_rss() -> int:
    """Peak resident memory of this process in bytes."""
    try:
        # getrusage would count the parent's memory at the fork.
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))
    except (OSError, StopIteration):
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


if __name__ == "__main__":
    sys.stdout.write(json.dumps(_run_alone(*sys.argv[1:])))
