"""GCC in other WebRTCs beside ours: ``PYTHONPATH=tools python -m witness.webrtc [aiortc] [str0m]``.

aiortc's estimator by delay (``pip install aiortc``) sets the rate of our call. str0m makes the whole call but
for the frames, which are our encoder's: Cargo compiles ``witness/str0m``, once. All run over our links in
virtual time. Each witness has a file in ``measurements/controllers``.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module, metadata
from pathlib import Path
from statistics import median
from typing import Any

import ackclock
from ackclock import metrics

ROOT = Path(__file__).parents[1]
CRATE = ROOT / "witness" / "str0m"
"""The calls of str0m: a program in Rust."""
TARGET = ROOT / "target" / "witness"

START_BPS = 300_000.0
"""The rate before the first estimate, as of our ``gcc``."""
LARGEST_WINDOW = 1e7
"""A window that limits nothing."""
SSRC = 1
TICKS = 1 << 18
"""Units of the absolute send time in a second, which wraps after 64 s."""

STEPS = [["0s", "1mbit"], ["40s", "2.5mbit"], ["60s", "600kbit"], ["80s", "1mbit"]]
"""The capacities of RFC 8867, section 5.1."""

CASES: dict[str, dict[str, Any]] = {
    "1 Mbit/s": {"rate": "1mbit", "rtt": "100ms", "queue": "300ms"},
    "1, 2.5, 0.6, 1 Mbit/s": {"rate": STEPS, "rtt": "100ms", "queue": "300ms"},
    "with 5 ms of jitter": {"rate": STEPS, "rtt": "100ms", "queue": "300ms", "jitter": {"normal": "5ms"}},
}
EVEN: dict[str, Any] = {"frame_rate": 120.0, "size_variation": 0.0, "interval_variation": 0.0, "lag": "0s"}
"""An encoder without bursts."""
INTERVALS = ((20.0, 40.0), (50.0, 60.0), (65.0, 80.0), (85.0, 100.0))
"""Steady parts of each case, in seconds."""

DURATION = 100
RUNS = 5
Keys = dict[str, Any]
Cells = Callable[[Keys], list[str]]
"""Makes the cells of a row from the keys of a path."""
Rows = Iterator[tuple[str, str, list[str]]]
"""Cases, estimators and their cells."""


class Estimator(ackclock.Controller):
    """aiortc's estimator of the rate, by the feedback on each packet."""

    wants = ("segments",)

    def __init__(self) -> None:
        self.pacing_rate = START_BPS
        self.window = LARGEST_WINDOW
        self.estimator = import_module("aiortc.rate").RemoteBitrateEstimator()

    def on_start(self, cx: ackclock.Context) -> None:
        """The window limits nothing."""

    def on_segment_delivered(self, _cx: ackclock.Context, segment: ackclock.SegmentReport) -> None:
        """A packet arrived: the estimator may have a new rate."""
        assert segment.one_way_delay is not None
        left = segment.sent.at
        arrived_ms = int((left + segment.one_way_delay) * 1e3)
        found = self.estimator.add(arrived_ms, int(left * TICKS) % (1 << 24), segment.payload or 0, SSRC)
        if found is not None:
            self.pacing_rate = float(found[0])

    def on_ack(self, cx: ackclock.Context, ack: ackclock.Ack) -> None:
        """Nothing: the estimator goes by packets."""

    def on_loss(self, cx: ackclock.Context, loss: ackclock.Loss) -> None:
        """Nothing: the estimate has no part by losses."""

    def on_timeout(self, cx: ackclock.Context, loss: ackclock.Loss) -> None:
        """Nothing: the rate holds."""


def row(path: dict[str, Any], flow: ackclock.Flow) -> list[str]:
    """The goodput in each interval (Mbit/s), and the 95th percentile of the queueing delay (ms)."""
    run = ackclock.simulate(
        ackclock.Scenario(duration=f"{DURATION}s", path=ackclock.Path(**path), flows=[flow])
    )
    assert isinstance(run, ackclock.Run)
    rates = [metrics.goodput(run, "call", start=start, stop=stop) for start, stop in INTERVALS]
    return cells(rates, metrics.packet_queue_delay(run, "p95"))


def cells(rates: Sequence[float], queue_ms: float) -> list[str]:
    """Rates (bit/s) and a delay as a row has them."""
    return [*(f"{rate / 1e6:.2f}" for rate in rates), f"{queue_ms:.0f}"]


def program() -> Path:
    """The calls of str0m, compiled unless they are."""
    if (cargo := shutil.which("cargo")) is None:
        raise SystemExit("there is no `cargo` on the PATH; install Rust, by rustup")
    build = [cargo, "build", "--release", "--locked", f"--manifest-path={CRATE / 'Cargo.toml'}"]
    subprocess.run([*build, f"--target-dir={TARGET}"], check=True)
    return TARGET / "release" / "str0m-witness"


def called(path: Keys, binary: Path, media: Keys, *how: str) -> list[str]:
    """The cells of calls of str0m, medians: each frame counts when the receiver hands it out.

    Its random numbers are not ours, so each run differs.
    """
    call = {"cc": "gcc", "kind": "media", "media": media}
    runs = []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "call.json"
        file.write_text(json.dumps({"duration": f"{DURATION}s", "path": path, "flows": [call]}))
        for _ in range(RUNS):
            done = subprocess.run([binary, file, *how], stdout=subprocess.PIPE, text=True, check=True)
            found = json.loads(done.stdout)
            (arrivals,) = found["calls"]
            bits = [8 * sum(size for at, size in arrivals if start <= at < stop) for start, stop in INTERVALS]
            rates = [sent / (stop - start) for sent, (start, stop) in zip(bits, INTERVALS, strict=True)]
            runs.append([*rates, found["queue_p95_ms"]])
    *medians, queue = (median(column) for column in zip(*runs, strict=True))
    return cells(medians, queue)


def ours(media: Keys | None = None, **parameters: str) -> Cells:
    """A call with ``gcc``."""

    def made(path: Keys) -> list[str]:
        return row(path, ackclock.Flow("gcc", name="call", kind="media", media=media, parameters=parameters))

    return made


def aiortc() -> Rows:
    """The estimator of aiortc, and ours with both filters."""
    theirs = f"aiortc {metadata.version('aiortc')}"
    for case, path in CASES.items():
        yield case, "gcc", ours()(path)
        yield case, theirs, row(path, ackclock.Flow(Estimator, name="call", kind="media"))
        yield case, "gcc(filter=kalman)", ours(filter="kalman")(path)


def str0m() -> Rows:
    """Calls of str0m and ours, also of an encoder without bursts."""
    binary = program()
    manifest = tomllib.loads((CRATE / "Cargo.toml").read_text("utf-8"))
    version = manifest["dependencies"]["str0m"]["version"].removeprefix("=")
    even = ("1 Mbit/s, 120 even frames a second", CASES["1 Mbit/s"], EVEN)
    for case, path, media in [*((case, path, {}) for case, path in CASES.items()), even]:
        yield case, "gcc", ours(media)(path)
        yield case, f"str0m {version}", called(path, binary, media)
        yield case, f"str0m {version}, each estimate", called(path, binary, media, "raw")


WITNESSES: dict[str, tuple[Callable[[], Rows], str]] = {
    "aiortc": (aiortc, "simulated, the same on every machine"),
    "str0m": (str0m, f"simulated, medians of {RUNS}"),
}
"""Each with the words for its machine."""


def rows(found: Rows) -> list[dict[str, str]]:
    """The rows of a table."""
    heads = [f"{start:.0f}-{stop:.0f} s" for start, stop in INTERVALS]
    columns = ["capacity", "estimator", *heads, "queue p95"]
    return [dict(zip(columns, [case, name, *values], strict=True)) for case, name, values in found]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measures and writes the rows of the named witnesses, or of all."""
    from pages.measure import write_rows

    parser = argparse.ArgumentParser("python -m witness.webrtc", description=__doc__)
    parser.add_argument("witnesses", nargs="*", default=[*WITNESSES], help="aiortc or str0m; default: both")
    for name in parser.parse_args(arguments).witnesses:
        if name not in WITNESSES:
            parser.error(f"`{name}` is no witness; there are {' and '.join(WITNESSES)}")
        command = f"PYTHONPATH=tools python -m witness.webrtc {name}"
        found, machine = WITNESSES[name]
        write_rows(f"controllers/{name}.csv", command, rows(found()), machine)


if __name__ == "__main__":
    main()
