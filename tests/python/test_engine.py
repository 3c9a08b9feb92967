"""The extension module: catalogue, resolving, batches."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest

from ackclock import _engine
from calling import PATIENCE

DUMBBELL = """
name = "demo"
duration = "5s"
path = { rate = "10mbit", rtt = "40ms", queue = "84p" }
flows = [{ cc = "newreno" }]
"""


QUIET = [
    ("record.flow_series", "off"),
    ("record.link_series", "off"),
    ("record.probes", "off"),
    ("record.events", "false"),
]
ENDLESS = [("duration", "1000000s"), *QUIET]


def resolved(*overrides: tuple[str, str], text: str = DUMBBELL) -> _engine.Plan:
    return _engine.resolve(text, "demo.toml", list(overrides))


def delivered(batch: _engine.Batch, limit_s: float = PATIENCE) -> dict[int, _engine.Run]:
    runs: dict[int, _engine.Run] = {}
    end = time.monotonic() + limit_s
    while not batch.done:
        assert time.monotonic() < end, "the batch does not end"
        found = batch.next(0.05)
        if found is not None:
            runs[found[0]] = found[1]
    return runs


def test_the_catalogue_lists_controllers_with_parameters_and_profiles_with_options() -> None:
    controllers = {entry["name"]: entry for entry in _engine.controllers()}
    assert "newreno" in controllers
    assert {p["name"] for p in controllers["cdg"]["parameters"]} >= {"G"}
    assert set(controllers["cdg"]["parameters"][0]) == {
        "name",
        "default",
        "unit",
        "range",
        "meaning",
        "source",
        "schema",
    }
    profiles = {profile["name"]: profile for profile in _engine.profiles()}
    assert profiles["linux"]["options"]["initial_window"] == 10
    assert json.loads(_engine.schema())["properties"]["duration"]


def test_resolving_fills_in_defaults_and_sets_overrides() -> None:
    document = json.loads(resolved(("path.queue", "1bdp"), ("seed", "7")).resolved)
    assert (document["path"]["queue"], document["seed"], document["profile"]) == ("1bdp", 7, "linux")
    assert document["flows"][0]["name"] == "newreno-0"
    again = json.loads(_engine.resolve_json(json.dumps(document), []).resolved)
    assert again == document


def test_a_bad_key_is_named_with_file_and_line() -> None:
    with pytest.raises(_engine.ScenarioError, match="rate") as caught:
        resolved(text=DUMBBELL.replace("10mbit", "10"))
    error = caught.value
    assert (error.file, error.line, error.key) == ("demo.toml", 4, "path.rate")
    assert str(error).startswith("demo.toml, line 4: path.rate: ")
    assert "\n" not in str(error)
    assert isinstance(error, ValueError)


def test_a_trace_is_found_beside_its_file_and_stays_found(tmp_path: Path) -> None:
    # One 1500-byte packet a millisecond is 12 Mbit/s.
    (tmp_path / "steady.down").write_text("".join(f"{ms}\n" for ms in range(1, 1001)))
    text = DUMBBELL.replace('rate = "10mbit"', 'rate = { trace = "steady.down" }')
    plan = _engine.resolve(text, str(tmp_path / "demo.toml"), [])
    assert json.loads(plan.resolved)["path"]["rate"]["trace"] == str(tmp_path / "steady.down")
    (runs,) = delivered(_engine.Batch([(plan, 1)])).values()
    assert pa.table(runs.table("links"))["rate_bps"].to_pylist() == [12e6]


def test_inspecting_tells_what_a_run_would_be() -> None:
    seen = resolved(("warmup", "1s")).inspect()
    assert (seen["bottleneck"], seen["duration_s"], seen["warmup_s"]) == ("bottleneck", 5.0, 1.0)
    assert seen["flows"] == [
        {
            "name": "newreno-0",
            "cc": "newreno",
            "base_rtt_ms": 40.0,
            "start_s": 0.0,
            "stop_s": 5.0,
            "connections": 1,
            "profile": "linux",
            # What the largest send buffer of Linux, 4 MiB, holds of data.
            "usual_flight_bytes": 2_760_948,
        }
    ]
    assert seen["links"][0]["rate_bps"] == 10_000_000
    assert seen["warnings"] == []
    assert 0 < seen["estimated_memory_bytes"] < 100e6


def test_a_batch_gives_every_run_the_tables_of_its_seed() -> None:
    text = resolved(("path.loss", "1%"))
    batch = _engine.Batch([(text, seed) for seed in (1, 2, 1)], threads=2)
    runs = delivered(batch)
    assert sorted(runs) == [0, 1, 2]
    assert batch.progress() == 1.0
    assert batch.next(0.0) is None
    for name in ("flows", "links", "flow_series", "link_series", "probes", "events"):
        tables = [pa.table(runs[i].table(name)) for i in range(3)]
        assert tables[0].equals(tables[2]), name
    assert not pa.table(runs[0].table("events")).equals(pa.table(runs[1].table("events")))
    engine = runs[0].engine
    assert engine["kind"] == "sim"
    assert engine["data_packets"] > 1000
    assert engine["events"] > engine["data_packets"]


def test_a_run_gives_the_same_tables_on_any_number_of_cores() -> None:
    # Turns of 50 ms at this rate are worth another core.
    text = resolved(("path.rate", "1gbit"), ("path.rtt", "100ms"), ("duration", "2s"))
    runs = [delivered(_engine.Batch([(text, 1)], cores=cores))[0] for cores in (1, 2, 3)]
    for name in ("flows", "links", "flow_series", "link_series", "probes", "events"):
        tables = [pa.table(run.table(name)) for run in runs]
        assert tables[0].equals(tables[1]), name
        assert tables[0].equals(tables[2]), name


def test_a_cancelled_batch_ends_and_keeps_what_was_done() -> None:
    short = resolved(("duration", "1s"))
    long = resolved(*ENDLESS)
    batch = _engine.Batch([(short, 1), (long, 1), (long, 2)], threads=1)
    first = batch.next(PATIENCE)
    assert first is not None
    assert first[0] == 0
    assert not batch.done
    assert 1 / 3 <= batch.progress() < 1
    batch.cancel()
    # Without an end they would run for longer than anyone waits.
    assert delivered(batch) == {}


def test_quantities_are_read_as_scenarios_read_them() -> None:
    spellings = {
        ("40ms", "time"): 0.04,
        ("1.5min", "time"): 90.0,
        ("10mbit", "rate"): 1e7,
        ("64kB", "size"): 64_000.0,
        ("5%", "fraction"): 0.05,
        ("0.25", "fraction"): 0.25,
    }
    for (text, kind), value in spellings.items():
        assert _engine.quantity(text, kind) == value
        assert _engine.quantity(text) == value


def test_quantities_with_a_wrong_unit_are_refused_in_one_sentence() -> None:
    with pytest.raises(ValueError, match=r"^`10mbit`: unknown unit `mbit` of time"):
        _engine.quantity("10mbit", "time")
    with pytest.raises(ValueError, match=r"^`40` is no quantity with its unit: write it like `40ms`"):
        _engine.quantity("40")
    with pytest.raises(ValueError, match=r"^there is no kind of quantity `length`; there are `time`, `rate`"):
        _engine.quantity("40ms", "length")


def test_repetitions_share_the_trace_that_the_first_has_read(tmp_path: Path) -> None:
    # A packet every 12 ms is 1 Mbit/s. Every ms it would be 12.
    trace = tmp_path / "cell.trace"
    trace.write_text("12\n")
    path = f'path = {{ rate = {{ trace = "{trace}" }}, rtt = "40ms", queue = "84p" }}'
    text = f'name = "demo"\nduration = "60s"\n{path}\nflows = [{{ cc = "newreno" }}]'
    batch = _engine.Batch([(resolved(text=text), 1)] * 20, threads=1)
    first = None
    while first is None:
        first = batch.next(1.0)
    trace.write_text("1\n")
    runs = [first[1], *delivered(batch).values()]
    assert len(runs) == 20
    goodputs = {pa.table(run.table("flows"))["goodput_bps"][0].as_py() for run in runs}
    assert len(goodputs) == 1
    assert goodputs.pop() < 1e6


def test_dropping_a_batch_stops_its_threads() -> None:
    def threads_become(wanted: int) -> bool:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            names = [task.read_text() for task in Path("/proc/self/task").glob("*/comm")]
            if sum(name.startswith("ackclock-") for name in names) == wanted:
                return True
            time.sleep(0.01)
        return False

    assert threads_become(0)
    batch = _engine.Batch([(resolved(*ENDLESS), 1)])
    assert threads_become(1)
    del batch
    assert threads_become(0)


def test_other_python_threads_run_while_the_engine_does() -> None:
    ticks = 0
    over = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not over.wait(0.001):
            ticks += 1

    clock = threading.Thread(target=tick)
    clock.start()
    batch = _engine.Batch([(resolved(("duration", "2000s"), *QUIET), 1)])
    assert batch.next(60.0) is not None
    over.set()
    clock.join()
    assert ticks > 10


def test_jobs_that_cannot_be_are_refused() -> None:
    with pytest.raises(ValueError, match="threads is 0"):
        _engine.Batch([], threads=0)
    with pytest.raises(ValueError, match="1 entries for 0 jobs"):
        _engine.Batch([], pcap=[None])
    assert _engine.Batch([]).done
    with pytest.raises(_engine.ScenarioError, match="not JSON"):
        _engine.Batch([(_engine.Plan("{"), 1)]).next(10.0)
    (run,) = delivered(_engine.Batch([(resolved(), 1)])).values()
    with pytest.raises(KeyError, match="there is no table `flow`"):
        run.table("flow")


def test_a_run_that_would_exhaust_the_machine_is_refused() -> None:
    greedy = resolved(("duration", "1000000s"), ("record.link_series", "1us"))
    with pytest.raises(_engine.ScenarioError, match="memory"):
        _engine.Batch([(greedy, 1)]).next(10.0)


def test_a_capture_is_written_or_the_reason_told(tmp_path: Path) -> None:
    file = tmp_path / "run.pcapng"
    delivered(_engine.Batch([(resolved(("duration", "1s")), 1)], pcap=[str(file)]))
    assert file.read_bytes()[:4] == b"\x0a\x0d\x0d\x0a"
    missing = str(tmp_path / "missing" / "run.pcapng")
    with pytest.raises(FileNotFoundError, match=r"missing/run\.pcapng"):
        _engine.Batch([(resolved(), 1)], pcap=[missing]).next(10.0)


def put(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def test_available_memory_is_the_least_limit_of_machine_and_groups(tmp_path: Path) -> None:
    left = partial(_engine.available_memory, str(tmp_path))
    assert left() is None
    put(tmp_path, {"proc/meminfo": "MemTotal: 9000000 kB\nMemAvailable:    8000000 kB\n"})
    assert left() == 8_000_000 * 1024
    # Version 2: of 3 GB the inner group uses 1.2, 0.2 of it given back if needed. The outer has no limit.
    put(
        tmp_path,
        {
            "proc/self/cgroup": "0::/user/box\n",
            "sys/fs/cgroup/cgroup.controllers": "memory\n",
            "sys/fs/cgroup/user/memory.max": "max\n",
            "sys/fs/cgroup/user/memory.current": "5000000000\n",
            "sys/fs/cgroup/user/box/memory.max": "3000000000\n",
            "sys/fs/cgroup/user/box/memory.current": "1200000000\n",
            "sys/fs/cgroup/user/box/memory.stat": "anon 1000000000\ninactive_file 200000000\n",
        },
    )
    assert left() == 2_000_000_000
    put(tmp_path, {"sys/fs/cgroup/user/memory.max": "5500000000\n"})
    assert left() == 500_000_000, "the outer group counts as well"
    # Version 1, in a container that sees its own group as the root.
    memory = "sys/fs/cgroup/memory/memory"
    put(
        tmp_path,
        {
            "proc/self/cgroup": "4:cpu,memory:/docker/1f\n0::/\n",
            f"{memory}.limit_in_bytes": "400000000\n",
            f"{memory}.usage_in_bytes": "100000000\n",
            f"{memory}.stat": "inactive_file 1\ntotal_inactive_file 50000000\n",
        },
    )
    assert left() == 350_000_000
    # ulimit -v: 300 MB, of which 100,000 KiB are in use.
    put(
        tmp_path,
        {
            "proc/self/limits": "Limit Soft Hard Units\nMax address space  300000000  unlimited  bytes\n",
            "proc/self/status": "VmPeak:  200000 kB\nVmSize:  100000 kB\n",
        },
    )
    assert left() == 300_000_000 - 100_000 * 1024


def test_a_limit_of_the_address_space_leaves_less_memory() -> None:
    code = (
        "import resource; from ackclock import _engine;"
        "resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30)); print(_engine.available_memory('/'))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 0 < int(ran.stdout) < 3 << 30
