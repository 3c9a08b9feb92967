"""Trajectories of flows, from results and captures: data in flight, RTT, deliveries, retransmissions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from ackclock.captures import Passage, passages
from ackclock.errors import InputError
from ackclock.metrics.tables import Array, flow_names, is_one_of, of_flow
from ackclock.result import Run, Runs

Mask: TypeAlias = npt.NDArray[np.bool_]

LEAST_ROUNDS = 100
"""Round trips that a trajectory must have: fewer show too little of a controller."""

SEGMENT = 1448
"""Payload bytes of a segment on Ethernet with timestamps."""

LARGEST_SEGMENT = 8960
"""Payload bytes of a segment with jumbo frames; more are several, which the card of the sender cuts."""

COARSEST = 0.6
"""The longest time between two samples of a result, as a share of the RTT."""

COLUMNS = ("time_s", "in_flight_segments", "latest_rtt_ms", "delivered_bytes", "retransmitted_packets")

REPAIRING = ("recovery", "loss")
"""States in which the flight is on its way from the window before a loss to the one after it."""


@dataclass(frozen=True)
class Trajectory:
    """One flow, with a value for each round: a time of one base RTT."""

    name: str
    rtt: float
    """The least RTT in s."""
    flight: Array
    """The most segments in flight in the round, outside recoveries."""
    delay: Array
    """The least RTT of the round over ``rtt``."""
    delivered: Array
    """The segments delivered in the round."""
    resent: Array
    """The segments sent again in the round."""
    repairing: Mask
    """A recovery goes on in the round."""

    def __len__(self) -> int:
        return len(self.flight)


def read(file: Path, interface: int = 0) -> Iterator[Trajectory]:
    """The trajectories in a capture, or in the results of a folder. Raises InputError without any."""
    if file.is_dir():
        found = [one for run in Runs.load(file) for one in of_run(run)]
    else:
        found = list(of_capture(file, interface))
    if not found:
        raise InputError(f"{file}: no TCP flow in it has {LEAST_ROUNDS} round trips")
    yield from found


def of_run(run: Run) -> Iterator[Trajectory]:
    """The flows of a result. Raises InputError where its samples are too far apart."""
    series = run.flow_series
    columns = [np.asarray(series[one].to_numpy(zero_copy_only=False), dtype=float) for one in COLUMNS]
    states = is_one_of(series, "state", REPAIRING)
    for name in flow_names(run):
        own = of_flow(run, series, name)
        times, flight, rtt, delivered, resent = (column[own] for column in columns)
        found = _rounds(name, _Steps(times, flight, rtt / 1e3, delivered / SEGMENT, resent, states[own]))
        if found is None:
            continue
        step = float(np.median(np.diff(times)))
        if step > COARSEST * found.rtt:
            raise InputError(
                f"{run.scenario['name']}, flow {name}: samples are {step * 1e3:.3g} ms apart, and the RTT is "
                f'{found.rtt * 1e3:.3g} ms: record.flow_series = "5ms" shows its rounds'
            )
        yield found


def of_capture(file: Path, interface: int = 0) -> Iterator[Trajectory]:
    """The directions of the connections of a capture taken at the sender. Raises InputError."""
    for passage in passages(file, interface):
        size = passage.segment if passage.segment <= LARGEST_SEGMENT else SEGMENT
        found = _rounds(passage.sender, _steps(passage, size))
        if found is not None:
            yield found


@dataclass(frozen=True)
class _Steps:
    """The state of a flow, row by row."""

    times: Array
    flight: Array
    rtt: Array
    delivered: Array
    resent: Array
    repairing: Mask


def _steps(passage: Passage, size: int) -> _Steps:
    """The state after each packet, in segments of ``size`` bytes."""
    rows = []
    flying: list[tuple[int, float, bool]] = []
    first, sent_to, acknowledged, resent, repaired, rtt = 0, 0, 0, 0, 0, np.nan
    for time, kind, number in passage.events:
        if kind == "data":
            if number > sent_to:
                flying.append((number, time, False))
                sent_to = number
            else:
                resent += 1
                # A recovery lasts until all that was sent before it is acknowledged.
                repaired = sent_to if acknowledged >= repaired else repaired
                # An ACK of this segment may be for either copy (Karn's rule).
                flying = [(end, at, again or end >= number) for end, at, again in flying[first:]]
                first = 0
        elif number > acknowledged:
            acknowledged = number
            while first < len(flying) and flying[first][0] <= number:
                _, at, again = flying[first]
                first += 1
                if not again:
                    rtt = time - at
        rows.append((time, sent_to - acknowledged, rtt, acknowledged, resent, acknowledged < repaired))
    table = np.asarray(rows, dtype=float).reshape(-1, 6).T
    return _Steps(table[0], table[1] / size, table[2], table[3] / size, table[4], table[5] > 0)


def _rounds(name: str, of: _Steps) -> Trajectory | None:
    """Values of each base RTT; None for a flow that is too short."""
    times, rtt = of.times, of.rtt
    valid = np.isfinite(rtt) & (rtt > 0)
    if valid.sum() < LEAST_ROUNDS:
        return None
    base = float(np.min(rtt[valid]))
    begin, end = float(times[valid][0]), float(times[-1])
    count = int((end - begin) / base)
    if count < LEAST_ROUNDS:
        return None
    edges = begin + base * np.arange(count + 1)
    places = np.searchsorted(times, edges)
    largest, least = np.full(count, np.nan), np.full(count, np.nan)
    repairing = np.zeros(count, dtype=bool)
    for at, (low, high) in enumerate(pairwise(places)):
        if high > low:
            calm = of.flight[low:high][~of.repairing[low:high]]
            largest[at] = np.max(calm) if calm.size else np.nan
            repairing[at] = calm.size < high - low
            delays = rtt[low:high][valid[low:high]]
            least[at] = np.min(delays) / base if delays.size else np.nan
    return Trajectory(
        name,
        base,
        _filled(largest),
        _filled(least),
        np.diff(_before(of.delivered, places)),
        np.diff(_before(of.resent, places)),
        repairing,
    )


def _before(values: Array, places: npt.NDArray[np.intp]) -> Array:
    """A growing count before each place."""
    return np.asarray(np.concatenate(([0.0], values))[places])


def _filled(values: Array) -> Array:
    """Rounds in which nothing was seen are as the one before."""
    known = np.flatnonzero(np.isfinite(values))
    before = np.clip(np.searchsorted(known, np.arange(values.size), side="right") - 1, 0, None)
    return values[known[before]]
