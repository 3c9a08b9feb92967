"""Ericsson's simulator of SCReAM beside ours: ``PYTHONPATH=tools python -m witness.scream FOLDER``.

FOLDER is a checkout of EricssonResearch/scream from GitHub. A C++ compiler builds a copy of the simulator, in
which a null pointer is mended. Ours has its capacities, RTT and recorded frames. Writes
``measurements/controllers/scream.csv``.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import ackclock
from ackclock import metrics

SOURCES = (
    *("ScreamTx", "ScreamV2Tx", "ScreamV2TxStream", "ScreamRx", "RtpQueue"),
    *("NetQueue", "OooQueue", "VideoEnc", "scream_simulator"),
)
"""The files of its target ``scream_sim``."""
EDITS = (
    # A null pointer stands for the place of the packet.
    ("void** rtpPacket = 0;", "void* packet = 0; void** rtpPacket = &packet;"),
    ("const bool printLog = false;", "const bool printLog = true;"),
    # A tick is 1/65536 s of its time.
    ("sleep(0);", ""),
)
WITHOUT_L4S = ("const bool isL4s = true && ecnCapable;", "const bool isL4s = false;")
FRAMES = Path("traces") / "trace_no_key.txt"
"""Sizes in bytes, 50 a second."""

DURATION = 20
STEPS = [["0s", "10mbit"], ["3s", "5mbit"], ["6s", "10mbit"]]
INTERVALS = ((1.0, 3.0), (4.0, 6.0), (8.0, 20.0))
"""The steady part at each capacity, in seconds."""
MEDIA = {"min_rate": "100kbit", "max_rate": "20mbit", "frame_rate": 50, "pacing": 1.5, "feedback": "10ms"}
# Its queue marks between 8 and 12 ms.
QUEUES: dict[bool, Any] = {True: {"discipline": "dualpi2", "step_thresh": "10ms"}, False: "300ms"}


def built(checkout: Path, folder: Path, l4s: bool) -> Path:
    """The program, from an edited copy of its sources in ``folder``."""
    if (compiler := shutil.which("c++")) is None:
        raise SystemExit("there is no `c++` on the PATH (Debian: apt install g++)")
    code = folder / "code"
    try:
        shutil.copytree(checkout / "code", code)
        shutil.copytree(checkout / FRAMES.parent, folder / FRAMES.parent)
        text = (code / "scream_simulator.cpp").read_text("utf-8")
    except OSError as error:
        raise SystemExit(f"{checkout}: is no checkout of EricssonResearch/scream: {error}") from None
    for old, new in (*EDITS, *(() if l4s else [WITHOUT_L4S])):
        if old not in text:
            raise SystemExit(f"{checkout}/code/scream_simulator.cpp: has no `{old}`; c8f84c3d has")
        text = text.replace(old, new)
    (code / "scream_simulator.cpp").write_text(text, "utf-8")
    program = folder / "scream_sim"
    files = [f"{name}.cpp" for name in SOURCES]
    subprocess.run([compiler, "-O1", "-w", "-DIGNORE_PACKET", "-o", program, *files], cwd=code, check=True)
    return program


def read(log: str) -> list[tuple[float, float, float]]:
    """Time (s), queueing delay (ms) and rate (Mbit/s) of each line of its log."""
    words = (line.replace(",", " ").split() for line in log.splitlines())
    return [(float(one[0]), 1e3 * float(one[1]), float(one[5]) / 1e3) for one in words if len(one) > 6]


def theirs(checkout: Path, l4s: bool) -> list[str]:
    """The rate in each interval (Mbit/s), and the mean queueing delay from 1 s on (ms)."""
    with tempfile.TemporaryDirectory() as folder:
        program = built(checkout, Path(folder), l4s)
        done = subprocess.run([program], cwd=folder, stdout=subprocess.PIPE, text=True, check=True)
    lines = read(done.stdout)
    rates = [mean(rate for at, _, rate in lines if start <= at < stop) for start, stop in INTERVALS]
    return cells(rates, mean(queue for at, queue, _ in lines if at >= INTERVALS[0][0]))


def ours(checkout: Path, l4s: bool) -> list[str]:
    """The same of our ``scream``, with the same frames."""
    sizes = [float(line) for line in (checkout / FRAMES).read_text("utf-8").split()]
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as trace:
        trace.writelines(f"{20 * index} {round(size)}\n" for index, size in enumerate(sizes))
        trace.flush()
        flow = {
            "name": "call",
            "cc": "scream",
            "kind": "media",
            "media": MEDIA,
            "source": {"trace": trace.name},
        }
        if l4s:
            flow |= {"parameters": {"l4s": True}, "transport": {"ecn": True}}
        document = {
            "duration": f"{DURATION}s",
            "warmup": f"{INTERVALS[0][0]}s",
            "path": {"rate": STEPS, "rtt": "25ms", "queue": QUEUES[l4s]},
            "flows": [flow],
        }
        run = ackclock.simulate(document)
    assert isinstance(run, ackclock.Run)
    rates = [metrics.goodput(run, "call", start=start, stop=stop) / 1e6 for start, stop in INTERVALS]
    return cells(rates, metrics.packet_queue_delay(run))


def cells(rates: Sequence[float], queue_ms: float) -> list[str]:
    """Rates (Mbit/s) and a delay as a row has them."""
    return [*(f"{rate:.1f}" for rate in rates), f"{queue_ms:.1f}"]


def rows(checkout: Path) -> Iterator[dict[str, str]]:
    """A row for each, with L4S and without."""
    heads = [f"{start:.0f}-{stop:.0f} s" for start, stop in INTERVALS]
    for l4s, marks in ((True, "L4S"), (False, "none")):
        for name, measured in (("scream", ours), ("Ericsson's simulator", theirs)):
            values = [marks, name, *measured(checkout, l4s)]
            yield dict(zip(["marks", "by", *heads, "queue mean"], values, strict=True))


def main(arguments: Sequence[str] | None = None) -> None:
    """Measures and writes the rows."""
    from pages.measure import write_rows

    parser = argparse.ArgumentParser("python -m witness.scream", description=__doc__)
    parser.add_argument("checkout", type=Path, metavar="FOLDER")
    checkout = parser.parse_args(arguments).checkout
    write_rows(
        "controllers/scream.csv", "PYTHONPATH=tools python -m witness.scream FOLDER", [*rows(checkout)]
    )


if __name__ == "__main__":
    main()
