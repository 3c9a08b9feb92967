"""aiortc's GCC as a witness: ``PYTHONPATH=tools python -m witness.webrtc``. Needs ``pip install aiortc``.

aiortc's estimator by delay sets the rate of a call over our links in virtual time, beside our ``gcc``. Writes
``measurements/controllers/aiortc.csv``.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module, metadata
from typing import Any

import ackclock
from ackclock import metrics

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
INTERVALS = ((20.0, 40.0), (50.0, 60.0), (65.0, 80.0), (85.0, 100.0))
"""Steady parts of each case, in seconds."""

FILE = "controllers/aiortc.csv"


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
    run = ackclock.simulate(ackclock.Scenario(duration="100s", path=ackclock.Path(**path), flows=[flow]))
    assert isinstance(run, ackclock.Run)
    rates = [metrics.goodput(run, "call", start=start, stop=stop) / 1e6 for start, stop in INTERVALS]
    return [*(f"{rate:.2f}" for rate in rates), f"{metrics.packet_queue_delay(run, 'p95'):.0f}"]


def rows() -> list[dict[str, str]]:
    """A row for each case and each estimator."""
    kalman = {"filter": "kalman"}
    flows: dict[str, Callable[[], ackclock.Flow]] = {
        "gcc": lambda: ackclock.Flow("gcc", name="call", kind="media"),
        f"aiortc {metadata.version('aiortc')}": lambda: ackclock.Flow(Estimator, name="call", kind="media"),
        "gcc(filter=kalman)": lambda: ackclock.Flow("gcc", name="call", kind="media", parameters=kalman),
    }
    heads = [f"{start:.0f}-{stop:.0f} s" for start, stop in INTERVALS]
    columns = ["capacity", "estimator", *heads, "queue p95"]
    return [
        dict(zip(columns, [case, name, *row(path, make())], strict=True))
        for case, path in CASES.items()
        for name, make in flows.items()
    ]


def main() -> None:
    """Measures and writes the rows."""
    from pages.measure import write_rows

    write_rows(FILE, "PYTHONPATH=tools python -m witness.webrtc", rows())


if __name__ == "__main__":
    main()
