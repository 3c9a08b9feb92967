"""Benchmarks: packets per CPU second on fixed scenarios, instructions a packet, and the cost of a command.

Each runs in a fresh process that loads only the engine, and the needs of a controller in Python, so that its
peak memory is its own. Run as a file, this module is that process. A case may run on another build, too,
in turns with this one: then it also has the ratio of their times.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field, replace
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
    keys: dict[str, Any] = field(default_factory=dict)
    """Other keys of the flow."""
    cores: int = 1
    """That the run may use."""
    large: bool = False
    """Takes gigabytes, and runs only when it is named, or all are."""
    of: str = ""
    """``python`` for a controller in Python, ``gym`` for the agent of an environment, or else empty."""
    command: tuple[str, ...] = ()
    """The command of the program that is timed in place of a run; ``FILE`` is the scenario."""
    repetitions: int = 1
    """Of that command. With several, one of them is measured without the start of the process."""

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
            **self.keys,
        }
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
    # A call of 2.5 Mbit/s.
    Benchmark(
        "gcc-1-media",
        "gcc",
        1,
        rate="10mbit",
        keys={"kind": "media", "media": {"min_rate": "2.5mbit", "max_rate": "2.5mbit"}},
    ),
    Benchmark("newreno-10-1gbit", "newreno", 10, rate="1gbit"),
    Benchmark("newreno-10-1gbit-2-cores", "newreno", 10, rate="1gbit", cores=2),
    Benchmark("newreno-10000-10gbit", "newreno", 10_000, rate="10gbit", duration="10s"),
    Benchmark("first-answer-run", "newreno", 1, rate="10mbit", duration="2s", command=("run", "FILE")),
    Benchmark("first-answer-compare", "newreno cubic", 1, command=("compare", "newreno", "cubic")),
    Benchmark(
        "repetition", "newreno", 1, rate="10mbit", duration="2s", command=("run", "FILE"), repetitions=201
    ),
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
        keys={"transport": {"receive_window": 6}},
        large=True,
    ),
)


def chosen(
    names: list[str] | None, python: bool = True, cores: bool = True, large: bool = False
) -> list[Benchmark]:
    """The cases of these names. Without names all that can run, with Python, cores and ``large`` or not."""
    if names:
        return [case for case in CASES if case.name in names]
    fitting = [
        case for case in CASES if (python or not (case.of or case.command)) and (cores or case.cores == 1)
    ]
    return [case for case in fitting if not case.missing and (large or not case.large)]


@dataclass(frozen=True)
class Build:
    """A build of the package, installed or not."""

    package: Path
    """Its folder ``ackclock``, with the engine."""

    @property
    def engine(self) -> Path:
        """The extension of its engine. ValueError if there is none."""
        found = sorted(self.package.glob("_engine*.so")) + sorted(self.package.glob("_engine*.pyd"))
        if not found:
            raise ValueError(f"{self.package}: there is no engine of ackclock (_engine*.so) in this folder")
        return found[0].resolve()

    @classmethod
    def of_this(cls) -> Build:
        """The build that this module belongs to."""
        return cls(Path(__file__).resolve().parent)


def measure(
    case: Benchmark, repeat: int = 1, name: str = "sim", beside: Build | None = None
) -> dict[str, Any]:
    """Runs a case ``repeat`` times on the engine called ``name``, and gives the fastest.

    That is counts, CPU and wall-clock seconds, speed, peak memory, and instructions a packet where valgrind
    counts them. A command has no packets: its times and ``instructions`` are those of one, or of one
    repetition of its run. ``beside`` is another build, which runs in turns with this one: ``beside`` of the
    result has what :func:`_compare` says.
    """
    builds = [Build.of_this(), *([beside] if beside else [])]
    runs: list[list[dict[str, Any]]] = [[] for _ in builds]
    for turn in range(repeat):
        # Each build is the first of a turn as often as the second.
        for index in sorted(range(len(builds)), reverse=turn % 2 == 1):
            runs[index].append(_run(case, builds[index], name))
    results = [
        _summed(case, found, _instructions(case, build, name))
        for build, found in zip(builds, runs, strict=True)
    ]
    return results[0] if beside is None else results[0] | {"beside": _compare(case, results, runs)}


def _clock(case: Benchmark) -> str:
    """The time that counts."""
    return "wall_s" if case.cores > 1 else "cpu_s"


def _summed(case: Benchmark, found: list[dict[str, Any]], instructions: float | None) -> dict[str, Any]:
    """The fastest of some runs, with the ``instructions`` of a packet, or of a command."""
    best = min(found, key=lambda run: run[_clock(case)])
    packets, is_command = best["data_packets"], bool(case.command)
    return {
        "name": case.name,
        "controller": case.controller,
        "flows": case.flows,
        "data_packets": packets,
        "events": best["events"],
        "cpu_s": best["cpu_s"],
        "wall_s": best["wall_s"],
        "packets_per_cpu_s": None if is_command else packets / best["cpu_s"],
        "instructions_per_packet": None if is_command else instructions,
        "instructions": instructions if is_command else None,
        "peak_rss_bytes": best["peak_rss_bytes"],
    }


def _compare(
    case: Benchmark, results: list[dict[str, Any]], runs: list[list[dict[str, Any]]]
) -> dict[str, Any]:
    """Another build beside this one.

    ``speed`` is its time over that of this build, the median of all turns, between its ``quartiles``:
    above 1 this build is faster. ``data_packets`` shows whether both simulated the same.
    """
    here, there = results
    ratios = [other[_clock(case)] / own[_clock(case)] for own, other in zip(*runs, strict=True)]
    quartiles = statistics.quantiles(ratios, n=4, method="inclusive") if len(ratios) > 1 else ratios * 3
    count = "instructions" if case.command else "instructions_per_packet"
    fewer = None if here[count] is None or there[count] is None else there[count] / here[count]
    left_out = ("name", "controller", "flows")
    numbers = {key: value for key, value in there.items() if key not in left_out}
    return numbers | {
        "speed": quartiles[1],
        "quartiles": [quartiles[0], quartiles[2]],
        "instructions_ratio": fewer,
    }


def _run(case: Benchmark, build: Build, name: str) -> dict[str, Any]:
    """Counts and times of one run of a case on a build."""
    if case.command:
        return _time_command(case, build, name)
    command = process(case, build, name)
    counts: dict[str, Any] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return counts


def process(case: Benchmark, build: Build, name: str) -> list[str]:
    """The process that runs a case on the engine called ``name`` of a build."""
    from ackclock.workers import interpreter

    how = (case.of, str(case.cores))
    return interpreter("-I", __file__, str(build.engine), json.dumps(case.scenario()), name, *how)


def _time_command(case: Benchmark, build: Build, name: str) -> dict[str, Any]:
    """Times of a command, or of one repetition of its run."""
    costs = [_cost(_command(case, name, times), case, build)[0] for times in sorted({1, case.repetitions})]
    last, first = costs[-1], costs[0]
    times = case.repetitions - 1
    if times:
        of_one = {key: (last[key] - first[key]) / times for key in ("cpu_s", "wall_s")}
        last = last | of_one
    return last | {"data_packets": None, "events": None}


def _command(case: Benchmark, name: str, times: int) -> list[str]:
    """The command of a case, with its run repeated ``times``."""
    from ackclock.workers import interpreter

    return interpreter("-m", "ackclock", *case.command, f"--repeat={times}", f"--engine={name}")


def _cost(command: list[str], case: Benchmark, build: Build) -> tuple[dict[str, Any], str]:
    """CPU and wall-clock time and peak memory of a whole command, and its error output."""
    from ackclock.scenario import as_toml

    environment = os.environ | {"PYTHONPATH": str(build.package.parent)}
    with tempfile.TemporaryDirectory() as folder:
        scenario, errors = Path(folder, "scenario.toml"), Path(folder, "errors")
        scenario.write_text("".join(f"{key} = {as_toml(value)}\n" for key, value in case.scenario().items()))
        command = [str(scenario) if word == "FILE" else word for word in command]
        with errors.open("w") as sink:
            begin = time.perf_counter()
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=sink, env=environment)
            _, status, usage = os.wait4(process.pid, 0)
            wall_s = time.perf_counter() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        said = errors.read_text()
    if process.returncode:
        raise RuntimeError(said)
    cost = {
        "cpu_s": usage.ru_utime + usage.ru_stime,
        "wall_s": wall_s,
        "peak_rss_bytes": usage.ru_maxrss * _RSS_UNIT,
    }
    return cost, said


def _instructions(case: Benchmark, build: Build, name: str) -> float | None:
    """Instructions that valgrind counts, if it is installed, or None.

    Of a simulation on one core that is not large, those of a packet in the second twentieth of the run: the
    start of the process does not count. Of a command those of one, or of one repetition of its run.
    """
    valgrind = shutil.which("valgrind")
    if valgrind is None or case.of or case.large or case.cores > 1 or name != "sim":
        return None
    counter = [valgrind, "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
    if case.command:
        few = min(case.repetitions, 21)
        of_commands = [
            _counted(_cost([*counter, *_command(case, name, times)], case, build)[1])
            for times in sorted({1, few})
        ]
        return of_commands[0] if few == 1 else (of_commands[1] - of_commands[0]) / (few - 1)
    counts: list[float] = []
    packets: list[int] = []
    for share in (20, 10):
        short = replace(case, duration=f"{float(case.duration.removesuffix('s')) / share:g}s")
        command = [*counter, *process(short, build, name)]
        run = subprocess.run(command, check=True, capture_output=True, text=True)
        packets.append(json.loads(run.stdout)["data_packets"])
        counts.append(_counted(run.stderr))
    return (counts[1] - counts[0]) / (packets[1] - packets[0])


def _counted(report: str) -> float:
    """The instructions in the report of cachegrind."""
    counted = re.search(r"I\s+refs:\s+([\d,]+)", report)
    if counted is None:
        raise RuntimeError(f"valgrind counts no instructions: {report}")
    return float(counted[1].replace(",", ""))


_RSS_UNIT = 1 if sys.platform == "darwin" else 1024
"""Bytes of a unit in which the system reports peak memory."""


def _run_alone(path: str, scenario: str, name: str, of: str, cores: str) -> dict[str, Any]:
    """Runs one scenario on an engine in this process, where more than one core needs ``sim``."""
    if of:
        # The package of this engine.
        sys.path.insert(0, str(Path(path).parent.parent))
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
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _RSS_UNIT


if __name__ == "__main__":
    sys.stdout.write(json.dumps(_run_alone(*sys.argv[1:])))
