"""The goodputs of flows and the queue in the two halves of the measured interval, and what still moves.

A flow that gains on another all the time has no share yet: BBR beside CUBIC in a deep buffer takes minutes.
A queue that grows until the end has no delay yet: CUBIC takes half a minute to fill a buffer of one second.
"""

from __future__ import annotations

import statistics
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

from ackclock.sums import reacting

MOVES = 0.75
"""A share moves if that of one half is below this part of the other's."""

LEAST = 0.02
"""A share that is smaller in both halves is no more than a few packets, and says nothing."""

LEAST_DELAY_MS = 10.0
"""A queue that is shorter in both halves is one of packets, whose number a sample meets by chance."""

ENTERED = 0.1
"""Flows that start later in the measured interval than this part of it have other halves."""


MOST_FLOWS = 16
"""The samples of more flows take longer to read than most runs."""


class HasRun(Protocol):
    """A run as its halves are read."""

    @property
    def scenario(self) -> Mapping[str, Any]:
        """The resolved scenario."""
        ...

    def rows(self, name: str) -> list[dict[str, Any]]:
        """The rows of a table, each with its values by column."""
        ...

    @property
    def duration_s(self) -> float:
        """Its length in seconds."""
        ...

    @property
    def warmup_s(self) -> float:
        """The start of the measured interval, in seconds."""
        ...


class Halves(NamedTuple):
    """Two numbers: of the first and of the second half of the measured interval."""

    first: float
    second: float

    @property
    def moves(self) -> bool:
        """True if they are shares that differ by more than a quarter."""
        low, high = sorted(self)
        return high >= LEAST and low < MOVES * high

    @property
    def is_moving_queue(self) -> bool:
        """True if they are queueing delays in ms that differ by more than a quarter."""
        low, high = sorted(self)
        return high >= LEAST_DELAY_MS and low < MOVES * high

    @property
    def words(self) -> str:
        """Both shares in a sentence."""
        first, second = (f"{share * 100:.0f} %" for share in self)
        return f"a share of {first} in the first half and {second} in the second"


NOTHING = Halves(0.0, 0.0)


def goodputs(run: HasRun) -> list[Halves | None]:
    """The goodput of each flow in each half, in bit/s, from its samples.

    None for a flow without samples, one that completed, and one that was there in part of the interval.
    """
    edges = [run.warmup_s, (run.warmup_s + run.duration_s) / 2, run.duration_s]
    series: dict[int, tuple[list[float], list[float]]] = {}
    for row in run.rows("flow_series"):
        times, totals = series.setdefault(row["flow"], ([], []))
        times.append(row["time_s"])
        totals.append(row["delivered_bytes"])
    latest = _latest(run)
    found: list[Halves | None] = []
    for flow in run.rows("flows"):
        lasts = flow["completion_s"] is None and flow["start_s"] <= latest and flow["stop_s"] >= edges[2]
        if not lasts or flow["flow"] not in series:
            found.append(None)
            continue
        at = [_at(edge, *series[flow["flow"]]) for edge in edges]
        width = edges[1] - edges[0]
        found.append(Halves(*((after - before) * 8 / width for before, after in pairwise(at))))
    return found


SAMPLES = ("time_s", "link", "queue_bytes", "capacity_bytes")
"""The columns of ``link_series`` from which queueing delays are known."""


def queue_delays(
    samples: Mapping[str, Sequence[float | None]], warmup_s: float, duration_s: float
) -> dict[int, Halves]:
    """The mean queueing delay of each link direction in both halves, in ms, from ``SAMPLES``.

    It is what waits over the mean rate. A link needs a rate, and a sample in each half.
    """
    middle = (warmup_s + duration_s) / 2
    waiting: dict[float | None, tuple[list[float], list[float]]] = {}
    milliseconds: dict[float | None, float] = {}
    for time, link, queued, capacity in zip(*(samples[name] for name in SAMPLES), strict=True):
        if time is None or queued is None or time <= warmup_s:
            continue
        waiting.setdefault(link, ([], []))[time > middle].append(queued)
        milliseconds[link] = 1e3 * time / capacity if capacity else 0.0
    return {
        int(link): Halves(*(statistics.fmean(half) * milliseconds[link] for half in halves))
        for link, halves in waiting.items()
        if link is not None and all(halves) and milliseconds[link]
    }


def _latest(run: HasRun) -> float:
    """The last start of a flow that is there in the whole measured interval, in seconds."""
    return run.warmup_s + ENTERED * (run.duration_s - run.warmup_s)


def _at(time: float, times: Sequence[float], totals: Sequence[float]) -> float:
    """The bytes at a time, on the line between two samples: 0 before the first, the last after it."""
    after = bisect_right(times, time + 1e-9)
    if after == len(times):
        return totals[-1]
    if after == 0:
        return 0.0
    share = (time - times[after - 1]) / (times[after] - times[after - 1])
    return totals[after - 1] + max(share, 0.0) * (totals[after] - totals[after - 1])


def shares(goodputs: Sequence[Halves]) -> list[Halves | None]:
    """The share of each flow in each half. None for all if nothing was delivered in a half."""
    sums = [sum(half) for half in zip(*goodputs, strict=True)]
    if not sums or not all(sums):
        return [None] * len(goodputs)
    return [Halves(one.first / sums[0], one.second / sums[1]) for one in goodputs]


def median(of: Sequence[Halves]) -> Halves:
    """The median over repetitions."""
    return Halves(*(statistics.median(half) for half in zip(*of, strict=True)))


def moving(runs: Mapping[str, Sequence[HasRun]]) -> list[str]:
    """A sentence for each label with other shares, or another queue, in the second half than in the first.

    A controller alone has all: its goodput is compared, unless the path changes. Flows that do not last take
    a share for a while, so runs with one are left out.
    """
    sentences = []
    for label, repetitions in runs.items():
        found = [one for run in repetitions if (one := _of_controllers(run))]
        if len(found) < len(repetitions):
            continue
        names = found[0].keys()
        if len(names) > 1:
            parts = [shares([one[name] for name in names]) for one in found]
            of = {name: median([one[at] or NOTHING for one in parts]) for at, name in enumerate(names)}
            least = min(of, key=lambda name: sum(of[name]))
            sentences += [f"{least} in {label} has {of[least].words}"] if of[least].moves else []
        elif _is_steady(repetitions[0].scenario):
            alone = median([one[name] for one in found for name in names])
            low, high = sorted(alone)
            if low < MOVES * high:
                first, second = (f"{rate / 1e6:.3g}" for rate in alone)
                sentences.append(f"{label} has {first} Mbit/s in the first half and {second} in the second")
        waits = [halves for run in repetitions if (halves := _of_bottleneck(run))]
        if len(waits) == len(repetitions) and _is_steady(repetitions[0].scenario):
            delay = median(waits)
            if delay.is_moving_queue:
                first, second = (f"{one:.3g}" for one in delay)
                where = f"a mean of {first} ms in the first half and {second} in the second"
                sentences.append(f"the queue of {label} has {where}")
    return sentences


def is_expected(run: HasRun) -> bool:
    """True if the halves differ by description: the path changes over time, or a flow does not last."""
    steady = _is_steady(run.scenario)
    return not steady or any(
        flow["completion_s"] is not None or flow["start_s"] > _latest(run) or flow["stop_s"] < run.duration_s
        for flow in run.rows("flows")
    )


def _of_bottleneck(run: HasRun) -> Halves | None:
    """The mean queueing delay of the bottleneck in both halves. None if no link has a rate, or samples."""
    links: list[int] = [row["link"] for row in run.rows("links") if row["is_bottleneck"]]
    rows = [row for row in run.rows("link_series") if row["link"] in links]
    if not rows:
        return None
    samples = {name: [row[name] for row in rows] for name in SAMPLES}
    return queue_delays(samples, run.warmup_s, run.duration_s).get(links[0])


def _of_controllers(run: HasRun) -> dict[str, Halves]:
    """The goodput of each controller in both halves. Empty if a flow does not last, or flows are many."""
    flows = run.rows("flows")
    if len(flows) > MOST_FLOWS:
        return {}
    found: dict[str, Halves] = {}
    for flow, of, reacts in zip(flows, goodputs(run), reacting(run.scenario, len(flows)), strict=True):
        if not reacts:
            continue
        if of is None:
            return {}
        before = found.get(flow["cc"], NOTHING)
        found[flow["cc"]] = Halves(before.first + of.first, before.second + of.second)
    return found


def _is_steady(scenario: Mapping[str, Any]) -> bool:
    """True if neither rate, delay nor loss of the scenario is described over time, nor a flow changes."""
    links = [scenario.get("path") or {}, *(scenario.get("links") or ())]
    keys = ("rate", "rtt", "delay", "loss")
    parts = [
        part[key]
        for link in links
        for part in (link, link.get("reverse") or {})
        for key in keys
        if key in part
    ]
    described = any(isinstance(part, list) or (isinstance(part, dict) and "trace" in part) for part in parts)
    return not described and not any(flow.get("changes") for flow in scenario["flows"])
