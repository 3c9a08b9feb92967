"""Curves of groups of flows. Flows of one name and controller are a group."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ackclock.groups import Group, grouped
from ackclock.metrics.curves import Curve
from ackclock.metrics.tables import SIGNALS, Array, Tables, column, flow_names


def _groups(run: Tables) -> Iterator[tuple[Group, Array]]:
    """Each group with the numbers of its flows. These are no rows if the table lacks a flow of the run."""
    numbers = column(run.flows, "flow")
    for group in grouped(flow_names(run), [str(cc) for cc in run.flows["cc"].to_pylist()]):
        yield group, numbers[group.flows]


def goodput_by_group(run: Tables, width: float) -> list[Curve]:
    """Binned goodput (bit/s at the bin's centre) of all flows of a group together.

    Data delivered between the last sample of a flow and its end count at the end, if the flow began after the
    warm-up.
    """
    table, rows = run.flow_series, run.flows
    order = np.argsort(column(table, "flow"), kind="stable")
    flow = column(table, "flow")[order].astype(np.int64)
    times, total = column(table, "time_s")[order], column(table, "delivered_bytes")[order]
    is_same = np.diff(flow, prepend=-1) == 0
    delivered = total - np.where(is_same, np.roll(total, 1), 0.0)
    last = dict(zip(flow.tolist(), total.tolist(), strict=True))
    numbers, ends = column(rows, "flow").astype(np.int64), column(rows, "stop_s")
    whole = np.isclose(column(rows, "measured_s"), ends - column(rows, "start_s"))
    rest = column(rows, "delivered_bytes") - np.array([last.get(number, 0.0) for number in numbers.tolist()])
    flow = np.concatenate((flow, numbers[whole]))
    times = np.concatenate((times, ends[whole]))
    delivered = np.concatenate((delivered, np.maximum(rest[whole], 0.0)))
    bins = max(1, round(float(np.max(ends)) / width))
    centres = (np.arange(bins, dtype=np.float64) + 0.5) * width
    # A sample counts what came since the one before, so on the edge of two bins it belongs to the first.
    at = np.clip(np.ceil(times / width - 1e-6).astype(np.int64) - 1, 0, bins - 1)
    curves = []
    for group, own_flows in _groups(run):
        own = np.isin(flow, own_flows)
        rate = np.bincount(at[own], weights=delivered[own], minlength=bins) * 8 / width
        curves.append(Curve(group.name, group.cc, centres, rate))
    return curves


def signal_by_group(run: Tables, signal: str) -> list[Curve]:
    """One of ``SIGNALS``, the mean over the flows of a group that are sampled at an instant."""
    flow, times = column(run.flow_series, "flow"), column(run.flow_series, "time_s")
    values = column(run.flow_series, SIGNALS[signal])
    curves = []
    for group, own_flows in _groups(run):
        own = np.isin(flow, own_flows) & np.isfinite(values)
        instants, which = np.unique(times[own], return_inverse=True)
        mean = np.bincount(which, weights=values[own]) / np.bincount(which) if instants.size else instants
        curves.append(Curve(group.name, group.cc, instants, mean))
    return curves
