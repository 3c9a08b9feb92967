"""Both directions at once: the goodput of each, and the round-trip times of a ping beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ackclock.figure import StripRow
from ackclock.metrics import column
from ackclock.overview import RunTables, total_goodput
from ackclock.report import advice

WAYS = ("forward", "reverse")
"""The directions: of the path, and of its ``reverse``. Flows of each are called after it."""
PING = "ping"
"""The flow of the ping."""

RULE = (
    "Advised are, of the controllers with at least 90 % of the largest goodput in each direction, those with "
    "the least RTT of the ping (p95), within 5 ms or a tenth. Goodput is the sum over a direction's flows."
)


def _goodput(way: str) -> advice.Quantity:
    return lambda run: total_goodput(run, lambda name: name.rpartition("-")[0] == way) / 1e6


def _of_ping(key: str) -> advice.Quantity:
    return lambda run: float(column(run.flows, key)[run.flows["name"].to_pylist().index(PING)])


def _lost(run: RunTables) -> float:
    return 100 * _of_ping("loss_rate")(run)


MEASURES: Sequence[advice.Measure] = (
    *((f"{way}_mbps", f"{way}: sum of four", "Mbit/s", _goodput(way), 2) for way in WAYS),
    ("ping_p50_ms", "ping: RTT p50", "ms", _of_ping("rtt_p50_ms"), 1),
    ("ping_p95_ms", "ping: RTT p95", "ms", _of_ping("rtt_p95_ms"), 1),
    ("ping_lost_percent", "lost pings", "%", _lost, 1),
)
"""The quantities of a run."""


def rows(of_networks: Mapping[str, advice.NearRuns], of_flows: Mapping[str, str]) -> list[StripRow]:
    """A line for each network with its sentence."""
    return [
        StripRow(name, advice.cells(runs, of_flows, MEASURES), [sentence(runs)])
        for name, runs in of_networks.items()
    ]


def sentence(runs: advice.NearRuns) -> str:
    """The controllers to choose by :data:`RULE`, with their numbers."""
    medians = {
        label: [float(np.median([value(run) for run in of])) for _, _, _, value, _ in MEASURES]
        for label, of in runs.items()
    }
    most = [max(values[way] for values in medians.values()) for way in range(len(WAYS))]
    if min(most) <= 0.0:
        return "Nothing to choose from: a direction delivered nothing."

    def share(label: str) -> float:
        return min(medians[label][way] / most[way] for way in range(len(WAYS)))

    least_share = min(advice.NEARLY_ALL, max(map(share, medians)))
    enough = [label for label in medians if share(label) >= least_share]
    ping = {label: medians[label][3] for label in medians}
    chosen = advice.nearly_least({label: ping[label] for label in enough})

    def numbers(label: str) -> str:
        there, back, *_ = medians[label]
        return f"{label} ({there:.3g} and {back:.3g} Mbit/s, ping {ping[label]:.0f} ms)"

    of_chosen = ", ".join(map(numbers, chosen))
    of_others = ", ".join(numbers(label) for label in medians if label not in chosen)
    if len(medians) == 1:
        return f"Both directions at once: {of_chosen}."
    return (
        f"Choose {of_chosen} rather than {of_others}." if of_others else f"Any of them will do: {of_chosen}."
    )
