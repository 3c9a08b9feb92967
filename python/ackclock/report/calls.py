"""The quality of a call beside background flows: table, figure and numbers of ``compare --networks 802.11g``.

Both directions of the call are rated, each for itself. Delay and losses are the network's. R and MOS are
rated at the best fixed playout (metric ``call_best_rating``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from rich.table import Table
from rich.text import Text

from ackclock.figure import Axis, Panel, Series
from ackclock.metrics import Array
from ackclock.metrics.calls import arrivals, call_best_rating, call_loss, mean_opinion_score
from ackclock.overview import RunTables, total_goodput

DIRECTIONS = ("call-up", "call-down")
"""The flows of the call: from the phone, and to it."""

WAYS = {"call-up": "up", "call-down": "down"}
"""The directions as tables and JSON call them."""

ALONE = "nothing"
"""The label of the run in which nothing is beside the call."""

CAPTIONS = {
    f"call-{way}-distribution": f"One-way delay of the call {words}; what is missing to 1 was lost"
    for way, words in (("up", "up, from the phone"), ("down", "down, to the phone"))
}
"""The captions of the panels of ``panels``."""

CATEGORIES = ((90, "best"), (80, "high"), (70, "medium"), (60, "low"), (50, "poor"))
"""The categories of speech quality, from which R on (ITU-T G.109, table 1)."""

POINTS = 400
"""The number of points of a distribution."""


@dataclass(frozen=True)
class Quality:
    """The quality of one direction of a call. Delays are infinite if nothing arrives."""

    delay_p50_ms: float
    delay_p90_ms: float
    delay_p95_ms: float
    loss: float
    """The share of the datagrams that were lost."""
    rating: float
    """R of the E-model."""

    @property
    def mos(self) -> float:
        """The mean opinion score, 1 to 4.5."""
        return mean_opinion_score(self.rating)

    @property
    def category(self) -> str:
        """The category of speech quality. Connections below ``poor`` are not recommended."""
        return next((word for least, word in CATEGORIES if self.rating >= least), "not recommended")

    def as_json(self) -> dict[str, Any]:
        """The numbers with their units in the names. A delay is null if nothing arrives."""
        numbers = {field.name: _finite(getattr(self, field.name)) for field in fields(Quality)}
        return numbers | {"mos": self.mos, "category": self.category}


@dataclass(frozen=True)
class Call:
    """Both directions of the call of one run, and the goodput of the flows beside it."""

    goodput_mbps: float
    """What all background flows together delivered, over the measured interval."""
    up: Quality
    down: Quality

    def quality(self, way: str) -> Quality:
        """One direction: ``up`` or ``down``."""
        return self.up if way == "up" else self.down


def call(run: RunTables) -> Call:
    """The call of one run."""
    return Call(total_goodput(run, is_background) / 1e6, *(_quality(run, flow) for flow in DIRECTIONS))


def is_background(flow: str) -> bool:
    """True for the flows beside the call."""
    return flow not in DIRECTIONS


NOTHING_ARRIVES = Quality(math.inf, math.inf, math.inf, 1.0, 0.0)
"""The quality of a direction in which nothing arrives."""


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _quality(run: RunTables, flow: str) -> Quality:
    delays = arrivals(run, flow)[1]
    if not delays.size:
        return NOTHING_ARRIVES
    p50, p90, p95 = np.percentile(delays, [50, 90, 95]).tolist()
    return Quality(p50, p90, p95, call_loss(run, flow), call_best_rating(run, flow))


def repetitions_of(runs: Sequence[tuple[str, RunTables]]) -> dict[str, list[Call]]:
    """The call of each run, by label."""
    found: dict[str, list[Call]] = {}
    for label, run in runs:
        found.setdefault(label, []).append(call(run))
    return found


def _each(of: Sequence[Quality], statistic: Callable[[list[float]], Any]) -> Quality:
    """The statistic of every number."""
    names = [field.name for field in fields(Quality)]
    return Quality(**{name: float(statistic([getattr(one, name) for one in of])) for name in names})


def as_json(runs: Sequence[tuple[str, RunTables]]) -> dict[str, Any]:
    """Both directions of each label: medians over several repetitions, with the smallest and the largest."""
    found: dict[str, Any] = {}
    for label, of in repetitions_of(runs).items():
        goodputs = [one.goodput_mbps for one in of]
        found[label] = {"goodput_mbps": float(np.median(goodputs))}
        if len(of) > 1:
            found[label] |= {"repetitions": len(of), "goodput_range_mbps": [min(goodputs), max(goodputs)]}
        for way in WAYS.values():
            one_way = [one.quality(way) for one in of]
            found[label][way] = _each(one_way, np.median).as_json()
            if len(of) > 1:
                low, high = _each(one_way, min).as_json(), _each(one_way, max).as_json()
                found[label][way]["range"] = {
                    name: [low[name], high[name]] for name in low if name != "category"
                }
    return found


def sentence(runs: Sequence[tuple[str, RunTables]]) -> str:
    """The quality of both directions beside each controller. Lost packets have no delay."""
    parts = []
    for label, of in repetitions_of(runs).items():
        ways = [
            f"{one.category} {way} ({_heard(one)})"
            for way in WAYS.values()
            for one in [_each([repetition.quality(way) for repetition in of], np.median)]
        ]
        parts.append(f"beside {label} {' and '.join(ways)}")
    return f"The call is {'; '.join(parts)}."


def _heard(of: Quality) -> str:
    """What arrives in one direction, in words."""
    if of == NOTHING_ARRIVES:
        return "nothing arrives"
    lost = f"R {of.rating:.0f}; {100 * of.loss:.1f} % lost"
    return f"{lost}, 95 % of the rest within {of.delay_p95_ms:.0f} ms"


def table(runs: Sequence[tuple[str, RunTables]]) -> Table:
    """Two rows for each controller: a direction of the call each, and the goodput of the background.

    With several repetitions a cell has the median, and below it the smallest and the largest value.
    """
    found = repetitions_of(runs)
    most = max((len(of) for of in found.values()), default=1)
    several = f": medians and ranges of {most} repetitions" if most > 1 else ""
    made = Table(title=f"one-way delay and quality of the call{several}", title_justify="left")
    made.add_column("beside", overflow="fold")
    made.add_column("call")
    for head in ("p50\nms", "p90\nms", "lost\n%", "R", "MOS"):
        made.add_column(head, justify="right")
    made.add_column("quality")
    made.add_column("background\nMbit/s", justify="right")
    for label, of in found.items():
        goodputs = [one.goodput_mbps for one in of]
        goodput = _cell(float(np.median(goodputs)), goodputs, 2)
        for way in WAYS.values():
            made.add_row(Text(label), way, *_cells([one.quality(way) for one in of]), goodput)
    return made


def _cells(of: Sequence[Quality]) -> list[str]:
    """The numbers of one direction."""
    one = _each(of, np.median)

    def cell(number: Callable[[Quality], float], digits: int) -> str:
        return _cell(number(one), [number(each) for each in of], digits)

    return [
        cell(lambda each: each.delay_p50_ms, 1),
        cell(lambda each: each.delay_p90_ms, 1),
        cell(lambda each: 100 * each.loss, 2),
        cell(lambda each: each.rating, 0),
        cell(lambda each: each.mos, 2),
        one.category,
    ]


def _cell(median: float, values: Sequence[float], digits: int) -> str:
    """A median, with the range of several values below it, one digit shorter. A dash if it is infinite."""
    if len(values) == 1:
        return _number(median, digits)
    low, high = (_number(end, max(digits - 1, 0)) for end in (min(values), max(values)))
    return f"{_number(median, digits)}\n" + (low if math.isinf(min(values)) else f"{low}-{high}")


def _number(value: float, digits: int) -> str:
    return f"{value:.{digits}f}" if math.isfinite(value) else "-"


def panels(runs: Mapping[str, Sequence[RunTables]]) -> list[Panel]:
    """The distribution of the delays of each direction beside each controller, all repetitions together.

    There is no panel if nothing arrives in any run.
    """
    delays = {
        (label, flow): np.concatenate([arrivals(run, flow)[1] for run in of])
        for label, of in runs.items()
        for flow in DIRECTIONS
    }
    every = np.concatenate(list(delays.values()))
    if not every.size:
        return []
    grid = np.geomspace(every.min(), every.max(), POINTS)
    x, y = Axis("one-way delay (ms)", "log"), "share of the datagrams"
    return [
        Panel(
            f"call {way}",
            [
                Series(label, _controller(of[0]), grid, _shares(of, flow, delays[label, flow], grid))
                for label, of in runs.items()
            ],
            f"call-{way}-distribution",
            x,
            Axis(f"{y}, {way}", low=0.0),
        )
        for flow, way in WAYS.items()
    ]


def _shares(runs: Sequence[RunTables], flow: str, delays: Array, grid: Array) -> Array:
    """The shares of all datagrams sent that took no longer than the times of the grid."""
    sent = sum(_sent(run, flow) for run in runs)
    return np.asarray(np.searchsorted(np.sort(delays), grid, side="right") / sent)


def _sent(run: RunTables, flow: str) -> float:
    """The datagrams sent up to the last that arrived, or all of them if none did."""
    arrived = arrivals(run, flow)[1].size
    if arrived:
        return arrived / (1.0 - call_loss(run, flow))
    names = run.flows["name"].to_pylist()
    return float(run.flows["sent_packets"][names.index(flow)].as_py())


def _controller(run: RunTables) -> str:
    """The controller of the background, or the empty text if there is none."""
    named = zip(run.flows["name"].to_pylist(), run.flows["cc"].to_pylist(), strict=True)
    return next((str(cc) for name, cc in named if is_background(name)), "")
