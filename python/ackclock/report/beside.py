"""A call that adapts beside each controller: ``compare --call``.

Rate, delays, frames and losses of the video, the quality of the voice, and the goodput of the controller.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ackclock.arrived import arrivals
from ackclock.figure import StripRow, Strips
from ackclock.metrics import column
from ackclock.metrics.calls import call_best_rating, mean_opinion_score
from ackclock.metrics.tables import MetricError
from ackclock.metrics.video import frames_late
from ackclock.overview import RunTables, total_goodput
from ackclock.report import advice
from ackclock.report.calls import ALONE

VIDEO, VOICE = "call", "voice"
"""The flows of the call."""

DEADLINE_S = 0.4
"""A frame that is not shown this long after its capture is late (ITU-T G.114: the limit of delays)."""

LEAST_RATE = 0.5
"""The share of its rate beside nothing that a call needs."""
MOST_LATE = 5.0
"""The late frames that it may have more, in percent."""
RULE = (
    "A controller hurts the call if that keeps less than half of its rate beside nothing, or if 5 % more of "
    "its frames are late, not shown within 400 ms of their capture. The rate is the goodput over the "
    "measured interval. MOS is of the voice, G.711, for its best fixed playout."
)


def _rate(run: RunTables) -> float:
    return total_goodput(run, lambda name: name == VIDEO) / 1e6


def _arrival(run: RunTables, key: str, part: str) -> float:
    found = arrivals(run, VIDEO).get(key)
    return float("nan") if found is None else float(found[part])


def _late(run: RunTables) -> float:
    try:
        return 100 * frames_late(run, VIDEO, DEADLINE_S)
    except MetricError:
        return float("nan")


def _lost(run: RunTables) -> float:
    names = run.flows["name"].to_pylist()
    return float(100 * column(run.flows, "loss_rate")[names.index(VIDEO)])


def _mos(run: RunTables) -> float:
    try:
        return mean_opinion_score(call_best_rating(run, VOICE))
    except MetricError:
        # Nothing arrives.
        return 1.0


MEASURES: Sequence[advice.Measure] = (
    ("rate_mbps", "rate of the call", "Mbit/s", _rate, 2),
    (
        "packet_delay_p95_ms",
        "packets: delay p95",
        "ms",
        lambda run: _arrival(run, "one_way_delay_ms", "p95"),
        0,
    ),
    ("frame_delay_p95_ms", "frames: delay p95", "ms", lambda run: _arrival(run, "frame_delay_ms", "p95"), 0),
    ("late_percent", "late frames", "%", _late, 2),
    ("frozen_s", "frozen", "s", lambda run: float(arrivals(run, VIDEO).get("frozen_s", float("nan"))), 1),
    ("loss_percent", "lost packets", "%", _lost, 2),
    ("mos", "voice", "MOS", _mos, 2),
    ("goodput_mbps", "download", "Mbit/s", advice.goodput_mbps, 2),
)
"""The quantities: the call's, and at last the controller's goodput."""

DRAWN = ("rate_mbps", "frame_delay_p95_ms", "late_percent", "mos", "goodput_mbps")
"""The quantities of the figure."""

_BY_KEY = {key: value for key, _, _, value, _ in MEASURES}


def rows(of_networks: Mapping[str, advice.NearRuns], of_flows: Mapping[str, str]) -> list[StripRow]:
    """A line for each network with its sentence."""
    return [
        StripRow(name, advice.cells(runs, of_flows, MEASURES), [sentence(runs)])
        for name, runs in of_networks.items()
    ]


def drawn(cells: Sequence[Strips]) -> list[Strips]:
    """The cells of a row that are drawn."""
    return [cell for cell, measure in zip(cells, MEASURES, strict=True) if measure[0] in DRAWN]


def sentence(runs: advice.NearRuns) -> str:
    """The controllers that hurt the call by :data:`RULE`, and the others."""

    def median(label: str, key: str) -> float:
        return float(np.median([_BY_KEY[key](run) for run in runs[label]]))

    def words(label: str) -> str:
        rate, late = median(label, "rate_mbps"), median(label, "late_percent")
        return f"{label} ({rate:.2f} Mbit/s, {late:.3g} % late)"

    if ALONE not in runs or len(runs) == 1:
        return "Nothing to compare with: no run ended."
    rate, late = median(ALONE, "rate_mbps"), median(ALONE, "late_percent")
    beside = [label for label in runs if label != ALONE]
    # A comparison with NaN is false: a call without frames is hurt.
    spared = [
        label
        for label in beside
        if median(label, "rate_mbps") >= LEAST_RATE * rate
        and median(label, "late_percent") <= late + MOST_LATE
    ]
    hurting = [label for label in beside if label not in spared]
    parts = [
        f"{verb} by {', '.join(map(words, of))}" for verb, of in (("hurt", hurting), ("spared", spared)) if of
    ]
    return f"The call is {', and '.join(parts)}. Alone it has {rate:.2f} Mbit/s, {late:.3g} % late."
