"""Curves over time, for plots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ackclock.metrics.rates import goodput_bins
from ackclock.metrics.registry import metric
from ackclock.metrics.tables import Array, Tables, column, flow_names, is_sampled, link_row, samples, within


class Curve(NamedTuple):
    """One curve of one run: the name of its flow or link, the controller, times (s) and values."""

    name: str
    cc: str
    times: Array
    values: Array


@metric
def goodput_by_flow(run: Tables, width: float) -> list[Curve]:
    """Binned goodput (bit/s at the bin's centre) of every flow that has samples."""
    return [
        Curve(name, cc, *_present(*goodput_bins(run, name, width)))
        if is_sampled(run, name)
        else _empty(name, cc)
        for name, cc in zip(flow_names(run), run.flows["cc"].to_pylist(), strict=True)
    ]


@metric
def signal_by_flow(
    run: Tables,
    signal: str,
    flows: Sequence[str] | None = None,
    start: float | None = None,
    stop: float | None = None,
) -> list[Curve]:
    """A signal of every flow, or of some. Flows without samples are left out."""
    curves = []
    for name, cc in zip(flow_names(run), run.flows["cc"].to_pylist(), strict=True):
        if flows is not None and name not in flows:
            continue
        if not is_sampled(run, name):
            curves.append(_empty(name, cc))
        else:
            times, values = samples(run, name, signal)
            inside = within(times, start, stop)
            curves.append(Curve(name, cc, *_present(times[inside], values[inside])))
    return curves


@metric
def queue_curve(
    run: Tables, link: str | None = None, start: float | None = None, stop: float | None = None
) -> Curve:
    """Waiting packets of a link over time."""
    row = link_row(run, link)
    table = run.link_series
    chosen = column(table, "link") == column(run.links, "link")[row]
    chosen &= within(column(table, "time_s"), start, stop)
    name = str(run.links["name"][row].as_py())
    return Curve(name, "", column(table, "time_s")[chosen], column(table, "queue_packets")[chosen])


def _empty(name: str, cc: str) -> Curve:
    return Curve(name, cc, np.zeros(0), np.zeros(0))


def _present(times: Array, values: Array) -> tuple[Array, Array]:
    present = np.isfinite(values)
    return times[present], values[present]
