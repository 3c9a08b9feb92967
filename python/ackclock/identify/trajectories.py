"""Trajectories of flows, from results and captures: data in flight, RTT, deliveries, retransmissions."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from ackclock.captures import Event, connections
from ackclock.errors import InputError
from ackclock.metrics.tables import Array, flow_names, is_one_of, of_flow
from ackclock.recorded import LARGEST_SEGMENT, SEGMENT
from ackclock.result import Run, Runs

Mask: TypeAlias = npt.NDArray[np.bool_]

LEAST_ROUNDS = 100
"""Round trips that a trajectory must have: fewer show too little of a controller."""

MOST_ROUNDS = 1_000_000
"""The rounds of a trajectory from its beginning: a damaged time in a capture makes any number."""

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


def read(
    file: Path, interface: int = 0, remark: Callable[[str], object] = lambda _: None
) -> Iterator[Trajectory]:
    """The trajectories in a capture, or in the results of a folder. Raises InputError without any.

    ``remark`` gets a sentence about a capture that ends within a packet.
    """
    if file.is_dir():
        found = [one for run in Runs.load(file) for one in of_run(run)]
    else:
        found = list(of_capture(file, interface, remark))
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
        steps = _Steps(times, flight, rtt / 1e3, delivered / SEGMENT, resent, states[own])
        base = _base(steps)
        if base is None or times[-1] - times[0] < LEAST_ROUNDS * base:
            continue
        step = float(np.median(np.diff(times)))
        if step > COARSEST * base:
            raise InputError(
                f"{run.scenario['name']}, flow {name}: samples are {step * 1e3:.3g} ms apart, and the RTT is "
                f'{base * 1e3:.3g} ms: record.flow_series = "5ms" shows its rounds'
            )
        found = _rounds(name, steps)
        if found is not None:
            yield found


def of_capture(
    file: Path, interface: int = 0, remark: Callable[[str], object] = lambda _: None
) -> Iterator[Trajectory]:
    """The directions of the connections of a capture taken at the sender. Raises InputError."""
    capture = connections(file, interface)
    remark(capture.remark)
    for flow in capture.flows:
        largest = int(flow.data["payload"].max())
        size = largest if largest <= LARGEST_SEGMENT else SEGMENT
        found = _rounds(flow.sender, _steps(flow.events(), size))
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


def _steps(events: Sequence[Event], size: int) -> _Steps:
    """The state after each packet, in segments of ``size`` bytes."""
    rows = []
    flying: list[tuple[int, float]] = []
    copies: deque[tuple[int, int]] = deque()
    # How many segments were sent before each copy, and its end: of several copies the ones that reach lowest.
    first, sent_to, acknowledged, resent, repaired, rtt = 0, 0, 0, 0, 0, np.nan
    for time, kind, number in events:
        if kind == "data":
            if number > sent_to:
                flying.append((number, time))
                sent_to = number
            else:
                resent += 1
                # A recovery lasts until all that was sent before it is acknowledged.
                repaired = sent_to if acknowledged >= repaired else repaired
                while copies and copies[-1][1] >= number:
                    copies.pop()
                copies.append((len(flying), number))
        elif number > acknowledged:
            acknowledged = number
            while first < len(flying) and flying[first][0] <= number:
                end, at = flying[first]
                while copies and copies[0][0] <= first:
                    copies.popleft()
                # An ACK of this segment may be for either copy (Karn's rule).
                if not (copies and copies[0][1] <= end):
                    rtt = time - at
                first += 1
        rows.append((time, sent_to - acknowledged, rtt, acknowledged, resent, acknowledged < repaired))
    table = np.asarray(rows, dtype=float).reshape(-1, 6).T
    return _Steps(table[0], table[1] / size, table[2], table[3] / size, table[4], table[5] > 0)


def _valid(of: _Steps) -> Mask:
    return np.asarray(np.isfinite(of.rtt) & (of.rtt > 0))


def _base(of: _Steps) -> float | None:
    """The least RTT, or None without any."""
    valid = _valid(of)
    return float(np.min(of.rtt[valid])) if valid.any() else None


def _rounds(name: str, of: _Steps) -> Trajectory | None:
    """Values of each base RTT, or None for a flow that is too short."""
    times, rtt, valid, base = of.times, of.rtt, _valid(of), _base(of)
    if base is None or valid.sum() < LEAST_ROUNDS:
        return None
    begin, end = float(times[valid][0]), float(times[-1])
    count = min(int((end - begin) / base), MOST_ROUNDS)
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
