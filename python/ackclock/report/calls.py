"""The quality of a call beside background flows: table, figure and numbers of ``compare --wlan``.

The worse direction of a call counts. Delay and losses are those of the network; R and MOS are rated at the
best fixed playout (metric ``call_best_rating``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.table import Table
from rich.text import Text

from ackclock.figure import Axis, Panel, Series
from ackclock.metrics import Array, Recorded, column
from ackclock.metrics.calls import call_best_rating, call_loss, mean_opinion_score, one_way_delays

if TYPE_CHECKING:
    from ackclock.plots.figure import Figure

DIRECTIONS = ("call-up", "call-down")
"""The flows of the call: from the phone, and to it."""

ALONE = "nothing"
"""The label of the run in which nothing is beside the call."""

CAPTION = "One-way delay of the call, the worse direction; what is missing to 100 % was lost"

CATEGORIES = ((90, "best"), (80, "high"), (70, "medium"), (60, "low"), (50, "poor"))
"""The categories of speech quality, from which R on (ITU-T G.109, table 1)."""


@dataclass(frozen=True)
class Quality:
    """The quality of a call, and the goodput of the flows beside it."""

    goodput_mbps: float
    """The goodput of all background flows together."""
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
        """The category of speech quality; below ``poor`` connections are not recommended."""
        return next((word for least, word in CATEGORIES if self.rating >= least), "useless")

    def as_json(self) -> dict[str, Any]:
        """The numbers with their units in the names."""
        return {
            "goodput_mbps": self.goodput_mbps,
            "delay_p50_ms": self.delay_p50_ms,
            "delay_p90_ms": self.delay_p90_ms,
            "delay_p95_ms": self.delay_p95_ms,
            "loss": self.loss,
            "rating": self.rating,
            "mos": self.mos,
            "category": self.category,
        }


def quality(run: Recorded) -> Quality:
    """The call of one run."""
    worse = worse_direction(run)
    delays = one_way_delays(run, worse)[1]
    names = run.flows["name"].to_pylist()
    background = np.array([name not in DIRECTIONS for name in names])
    p50, p90, p95 = np.percentile(delays, [50, 90, 95])
    return Quality(
        goodput_mbps=float(column(run.flows, "goodput_bps")[background].sum()) / 1e6,
        delay_p50_ms=float(p50),
        delay_p90_ms=float(p90),
        delay_p95_ms=float(p95),
        loss=call_loss(run, worse),
        rating=call_best_rating(run, worse),
    )


def worse_direction(run: Recorded) -> str:
    """The direction of the call with the lower R."""
    return min(DIRECTIONS, key=lambda flow: call_best_rating(run, flow))


def repetitions_of(runs: Sequence[tuple[str, Recorded]]) -> dict[str, list[Quality]]:
    """The call of each run, by label."""
    found: dict[str, list[Quality]] = {}
    for label, run in runs:
        found.setdefault(label, []).append(quality(run))
    return found


def qualities(runs: Sequence[tuple[str, Recorded]]) -> dict[str, Quality]:
    """Medians over the repetitions of each label."""
    return {label: _each(of, np.median) for label, of in repetitions_of(runs).items()}


def _each(of: Sequence[Quality], statistic: Callable[[list[float]], Any]) -> Quality:
    """The statistic of every number."""
    names = [field.name for field in fields(Quality)]
    return Quality(**{name: float(statistic([getattr(one, name) for one in of])) for name in names})


def as_json(runs: Sequence[tuple[str, Recorded]]) -> dict[str, Any]:
    """The numbers of each label; medians over several repetitions, with the smallest and the largest."""
    found = {}
    for label, of in repetitions_of(runs).items():
        found[label] = _each(of, np.median).as_json()
        if len(of) > 1:
            low, high = _each(of, min).as_json(), _each(of, max).as_json()
            ranges = {name: [low[name], high[name]] for name in low if name != "category"}
            found[label] |= {"repetitions": len(of), "range": ranges}
    return found


def sentence(runs: Sequence[tuple[str, Recorded]]) -> str:
    """The quality of the call beside each controller in words; delays are those of packets that arrive."""
    parts = [
        f"{one.category} beside {label} (R {one.rating:.0f}; {100 * one.loss:.1f} % lost, "
        f"95 % of the rest within {one.delay_p95_ms:.0f} ms)"
        for label, one in qualities(runs).items()
    ]
    return f"The call is {', '.join(parts)}."


def table(runs: Sequence[tuple[str, Recorded]]) -> Table:
    """A row for each controller: the quality of the call, and the goodput of the background.

    With several repetitions a cell has the median, and below it the smallest and the largest value.
    """
    found = repetitions_of(runs)
    most = max((len(of) for of in found.values()), default=1)
    several = f": medians and ranges of {most} repetitions" if most > 1 else ""
    made = Table(title=f"one-way delay and quality of the call{several}", title_justify="left")
    made.add_column("beside", overflow="fold")
    for head in ("p50\nms", "p90\nms", "lost\n%", "R", "MOS"):
        made.add_column(head, justify="right")
    made.add_column("quality")
    made.add_column("background\nMbit/s", justify="right")
    for label, of in found.items():
        made.add_row(Text(label), *_cells(of))
    return made


def _cells(of: Sequence[Quality]) -> list[str]:
    """The numbers of one row."""
    one = _each(of, np.median)

    def cell(number: Callable[[Quality], float], digits: int) -> str:
        median = f"{number(one):.{digits}f}"
        if len(of) == 1:
            return median
        # The range has one digit fewer.
        low, high = (
            f"{of_all([number(each) for each in of]):.{max(digits - 1, 0)}f}" for of_all in (min, max)
        )
        return f"{median}\n{low}-{high}"

    return [
        cell(lambda each: each.delay_p50_ms, 1),
        cell(lambda each: each.delay_p90_ms, 1),
        cell(lambda each: 100 * each.loss, 2),
        cell(lambda each: each.rating, 0),
        cell(lambda each: each.mos, 2),
        one.category,
        cell(lambda each: each.goodput_mbps, 2),
    ]


def figure(runs: Mapping[str, Sequence[Recorded]]) -> Figure:
    """The distribution of the delays of the call beside each controller, all repetitions together."""
    from ackclock.plots import draw

    series = [Series(label, _controller(of[0]), *_distribution(of)) for label, of in runs.items()]
    return draw([Panel("", series)], Axis("one-way delay of the call (ms)", "log"), Axis("datagrams (%)"))


def _controller(run: Recorded) -> str:
    """The controller of the background; empty where there is none."""
    named = zip(run.flows["name"].to_pylist(), run.flows["cc"].to_pylist(), strict=True)
    return next((str(cc) for name, cc in named if name not in DIRECTIONS), "")


def _distribution(runs: Sequence[Recorded]) -> tuple[Array, Array]:
    """Delays (ms), and the percentage of all datagrams that took no longer."""
    delays, sent = [], 0.0
    for run in runs:
        own = one_way_delays(run, worse_direction(run))[1]
        delays.append(own)
        sent += own.size / (1.0 - call_loss(run, worse_direction(run)))
    all_delays = np.sort(np.concatenate(delays))
    shown = np.unique(np.linspace(0, all_delays.size - 1, 400).astype(np.int64))
    return all_delays[shown], 100 * (shown + 1) / sent
