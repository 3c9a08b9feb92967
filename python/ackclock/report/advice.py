"""Controllers over several networks: goodput, delay and loss, and a sentence of advice for each network."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from rich.table import Table
from rich.text import Text

from ackclock import spread
from ackclock.figure import Strip, StripRow, Strips
from ackclock.metrics.delay import above_base
from ackclock.overview import RunTables, loss_percent, total_goodput
from ackclock.report import strips

NearRuns = Mapping[str, Sequence[RunTables]]
"""The repetitions of each controller on one network."""

NEARLY_ALL = 0.9
"""The share of the largest goodput that a controller needs to be advised."""
SAME_MS = 5.0
SAME_SHARE = 0.1
"""Delays are the same within 5 ms or a tenth."""
SAME_LOSS = 5.0
"""Losses are the same within 5 % of the packets."""
RULE = (
    "Advised are, of the controllers with at least 90 % of the largest goodput and losses within 5 % of the "
    "packets of the least, those with the least delay, within 5 ms or a tenth."
)


def goodput_mbps(run: RunTables) -> float:
    """The total goodput of the TCP flows."""
    others = [str(flow.get("name")) for flow in run.scenario["flows"] if flow["kind"] != "tcp"]
    return total_goodput(run, lambda name: not any(f"{name}-".startswith(f"{one}-") for one in others)) / 1e6


def delay_ms(run: RunTables) -> float:
    """The RTT above the base RTT that 95 % of the samples do not exceed (by ACK): the mean over the flows."""
    above = above_base(run, 95.0)
    return float(np.nanmean(above)) if np.isfinite(above).any() else float("nan")


DELAY = "delay: RTT p95 by ACK above the base"

Quantity = Callable[[RunTables], float]
"""A number of a run."""

Measure = tuple[str, str, str, Quantity, int]
"""A quantity: key in JSON, title, unit, function of a run, digits."""

MEASURES: Sequence[Measure] = (
    ("goodput_mbps", "goodput", "Mbit/s", goodput_mbps, 2),
    ("rtt_p95_above_base_ms", DELAY, "ms", delay_ms, 1),
    ("loss_percent", "loss on the way", "% of packets", loss_percent, 3),
)
"""The quantities by which controllers are advised."""


def cells(
    runs: NearRuns, of_flows: Mapping[str, str], measures: Sequence[Measure] | None = None
) -> list[Strips]:
    """The cells of a network. ``of_flows`` are the controllers of the labels, for the colours."""
    return [
        Strips(
            title,
            unit,
            [
                Strip(label, of_flows[label], np.array([value(run) for run in of]))
                for label, of in runs.items()
            ],
            digits,
        )
        for _, title, unit, value, digits in measures or MEASURES
    ]


def as_json(runs: NearRuns, measures: Sequence[Measure] | None = None) -> dict[str, Any]:
    """The quantities of each controller, a value for each repetition, with their spread."""
    found: dict[str, Any] = {}
    for label, of in runs.items():
        found[label] = {}
        for key, _, _, value, _ in measures or MEASURES:
            values = np.array([value(run) for run in of])
            numbers = [number if np.isfinite(number) else None for number in values.tolist()]
            known = spread.spread(values)
            found[label][key] = {"values": numbers} | (known.as_json() if known else {})
    return found


def advice(runs: NearRuns) -> str:
    """The controllers to choose by :data:`RULE`."""
    goodput, delay, loss = (
        {label: float(np.median([value(run) for run in of])) for label, of in runs.items()}
        for _, _, _, value, _ in MEASURES
    )
    most = max(goodput.values())
    if most <= 0.0:
        return "Nothing to choose from: no flow got through."
    if len(runs) == 1:
        return "Nothing to choose from: one controller ran."
    enough = [label for label in runs if goodput[label] >= NEARLY_ALL * most]
    careful = [label for label in enough if loss[label] <= min(loss[one] for one in enough) + SAME_LOSS]
    chosen = nearly_least({label: delay[label] for label in careful})

    def numbers(label: str) -> str:
        lost = f" and {loss[label]:.0f} % loss" if loss[label] >= SAME_LOSS else ""
        return f"{label} ({goodput[label]:.3g} Mbit/s, {delay[label]:.0f} ms{lost})"

    of_chosen = ", ".join(map(numbers, chosen))
    if len(chosen) == len(runs):
        return f"Any of them will do: {of_chosen}."
    of_others = ", ".join(numbers(label) for label in runs if label not in chosen)
    return f"Choose {of_chosen} rather than {of_others}."


def nearly_least(delay_ms: Mapping[str, float]) -> list[str]:
    """The labels whose delays are the same as the least."""
    least = min(delay_ms.values())
    return [label for label, one in delay_ms.items() if one <= max(least + SAME_MS, least * (1 + SAME_SHARE))]


def limits(runs: NearRuns, left_out: str) -> str:
    """A sentence on the limits of the figure of a network."""
    count = min(len(of) for of in runs.values())
    same = _overlapping(runs)
    chance = "how much is chance (one run each)" if count < 2 else ""
    if same:
        chance = f"which of {' and '.join(same)} has more goodput (their ranges overlap)"
    parts = [one for one in (left_out, "flows that share the link", chance) if one]
    return f"Not shown: {'; '.join(parts)}."


def _overlapping(runs: NearRuns) -> list[str]:
    """The two controllers with the largest median goodputs, if their ranges over several runs overlap."""
    ranges = {label: [goodput_mbps(run) for run in of] for label, of in runs.items()}
    best = sorted(ranges, key=lambda label: -float(np.median(ranges[label])))[:2]
    if len(best) < 2 or min(len(of) for of in ranges.values()) < 2:
        return []
    first, second = (ranges[label] for label in best)
    return best if min(first) <= max(second) and first != second else []


def table(rows: Sequence[StripRow], heads: Sequence[str], title: str) -> Table:
    """A line for each strip: ``heads`` of its row and label, and medians with their intervals."""
    counts = [one.values.size for row in rows for one in row.cells[0].strips]
    if max(counts) >= spread.LEAST:
        title = f"{title}; medians of {max(counts)} runs, [{spread.INTERVAL}]"
    elif max(counts) > 1:
        title = f"{title}; medians of {max(counts)} runs"
    made = Table(title=title, title_justify="left")
    for head in heads:
        made.add_column(head, overflow="fold")
    for cell in rows[0].cells:
        made.add_column(
            f"{cell.title.partition(' ')[0].rstrip(':')}\n{cell.unit.partition(' ')[0]}", justify="right"
        )
    for row in rows:
        for same in zip(*(cell.strips for cell in row.cells), strict=True):
            names = [row.name, same[0].label][-len(heads) :]
            numbers = [
                strips.text(spread.spread(one.values), cell.digits)
                for one, cell in zip(same, row.cells, strict=True)
            ]
            made.add_row(*map(Text, names), *numbers)
    return made


def rows(
    of_networks: Mapping[str, NearRuns], of_flows: Mapping[str, str], left_out: Mapping[str, str]
) -> list[StripRow]:
    """A line for each network, with its two sentences."""
    return [
        StripRow(name, cells(runs, of_flows), [advice(runs), limits(runs, left_out[name])])
        for name, runs in of_networks.items()
    ]
