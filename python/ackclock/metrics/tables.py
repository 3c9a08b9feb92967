"""The input of metrics: the tables of a run, their columns, flows, links, signals and events."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ackclock.errors import InputError

Array = npt.NDArray[np.float64]

SIGNALS = {
    "window": "window_segments",
    "threshold": "threshold_segments",
    "in_flight": "in_flight_segments",
    "rtt": "latest_rtt_ms",
    "smoothed_rtt": "smoothed_rtt_ms",
    "min_rtt": "min_rtt_ms",
    "base_rtt": "base_rtt_ms",
    "delivered_bytes": "delivered_bytes",
    "arrived_packets": "arrived_packets",
    "arrived_bytes": "arrived_bytes",
    "pacing_rate": "pacing_rate_bps",
}
"""Signals that every flow has, and their columns in ``flow_series``. Any other signal is a probe."""


class Tables(Protocol):
    """The tables of one run of any engine."""

    @property
    def flows(self) -> pa.Table:
        """A row per flow."""
        ...

    @property
    def links(self) -> pa.Table:
        """A row per link direction."""
        ...

    @property
    def flow_series(self) -> pa.Table:
        """Samples of every flow over time."""
        ...

    @property
    def link_series(self) -> pa.Table:
        """Samples of every link over time."""
        ...

    @property
    def probes(self) -> pa.Table:
        """Internals of the controllers over time."""
        ...

    @property
    def events(self) -> pa.Table:
        """Drops, losses, retransmissions, timeouts."""
        ...


class Recorded(Protocol):
    """A run with tables that only some runs have."""

    @property
    def flows(self) -> pa.Table:
        """A row per flow."""
        ...

    def table(self, name: str) -> pa.Table:
        """The table called ``name``."""
        ...


@dataclass(frozen=True)
class PerEvent:
    """A value for each of a number of events of a run: the events of all repetitions are pooled."""

    values: Array


class MetricError(InputError):
    """The run lacks the flow, link, signal or interval of a metric."""


def column(table: pa.Table, name: str) -> Array:
    """A numeric column as float64. Null becomes NaN."""
    values = table[name].combine_chunks()
    if values.null_count:
        values = values.cast(pa.float64())
    return np.asarray(values.to_numpy(zero_copy_only=False), dtype=np.float64)


def is_one_of(table: pa.Table, name: str, wanted: Sequence[str]) -> npt.NDArray[np.bool_]:
    """A mask of the rows in which a string column, dictionary-coded or not, holds one of ``wanted``."""
    values = table[name].combine_chunks()
    if not pa.types.is_dictionary(values.type):
        values = values.dictionary_encode()
    codes = [i for i, text in enumerate(values.dictionary.to_pylist()) if text in wanted]
    return np.isin(values.indices.to_numpy(zero_copy_only=False), codes)


def flow_names(run: Tables | Recorded) -> list[str]:
    """The names of the flows, in the order of the scenario."""
    return [str(name) for name in run.flows["name"].to_pylist()]


def _index(names: Sequence[str], wanted: str, what: str) -> int:
    try:
        return list(names).index(wanted)
    except ValueError:
        raise MetricError(
            f"there is no {what} `{wanted}` in this run (there are {', '.join(names)})"
        ) from None


def flow_row(run: Tables | Recorded, flow: str) -> int:
    """The row of a flow in ``flows``."""
    return _index(flow_names(run), flow, "flow")


def link_row(run: Tables, link: str | None) -> int:
    """The row of a link in ``links``, without a name the bottleneck's."""
    if link is not None:
        return _index([str(name) for name in run.links["name"].to_pylist()], link, "link")
    bottleneck: list[bool] = run.links["is_bottleneck"].to_pylist()
    if True not in bottleneck:
        raise MetricError("no link of this run that carries data has a rate, so a link must be named")
    return bottleneck.index(True)


def interval(run: Tables, start: float, stop: float) -> tuple[float, float]:
    """Both ends of an interval (s), which must not be empty nor go beyond the run. Raises MetricError."""
    if not stop > start:
        raise MetricError(f"an interval from {start:g} s to {stop:g} s is empty")
    ends = [column(run.flows, "stop_s"), column(run.flow_series, "time_s"), column(run.link_series, "time_s")]
    end = max((float(np.nanmax(times)) for times in ends if times.size), default=math.inf)
    if stop > end * (1 + 1e-9):
        raise MetricError(f"an interval from {start:g} s to {stop:g} s goes beyond the run of {end:g} s")
    return start, stop


def percentile_of(values: Array, percentile: float) -> float:
    """A percentile of some values. Raises MetricError unless ``percentile`` is from 0 to 100."""
    if not 0 <= percentile <= 100:
        raise MetricError(f"percentile = {percentile:g}: must be from 0 to 100")
    return float(np.percentile(values, percentile))


def statistic(table: pa.Table, name: str, of: str, row: int) -> float:
    """One row of a column of a table.

    ``{}`` in the column's name is replaced by ``of``. Raises MetricError.
    """
    before, after = name.split("{}")
    known = [c[len(before) : len(c) - len(after)] for c in table.column_names if c.startswith(before)]
    if name.format(of) not in table.column_names:
        raise MetricError(f'of = "{of}": must be one of {", ".join(known)}')
    return float(column(table, name.format(of))[row])


def within(times: Array, start: float | None, stop: float | None) -> npt.NDArray[np.bool_]:
    """A mask of the times in an interval, ends included."""
    low = -math.inf if start is None else start
    high = math.inf if stop is None else stop
    return (times >= low) & (times <= high)


def of_flow(run: Tables | Recorded, table: pa.Table, flow: str) -> npt.NDArray[np.bool_]:
    """A mask of the rows of a flow in a table."""
    number = column(run.flows, "flow")[flow_row(run, flow)]
    return np.asarray(column(table, "flow") == number)


def is_sampled(run: Tables, flow: str) -> bool:
    """True if a flow has a row in ``flow_series``: one that starts near the end may have none."""
    return bool(of_flow(run, run.flow_series, flow).any())


def samples(run: Tables, flow: str, signal: str) -> tuple[Array, Array]:
    """Times (s) and values of a signal of a flow: one of ``SIGNALS`` or a probe of its controller."""
    if signal in SIGNALS:
        table, column_name = run.flow_series, SIGNALS[signal]
        if column_name not in table.column_names:
            raise MetricError(f"the table `flow_series` of this run has no column `{column_name}`")
        chosen = of_flow(run, table, flow)
    else:
        table, column_name = run.probes, "value"
        chosen = of_flow(run, table, flow) & is_one_of(table, "name", [signal])
    times, values = column(table, "time_s")[chosen], column(table, column_name)[chosen]
    if not times.size:
        probes = sorted({str(p) for p in run.probes["name"].unique().to_pylist()})
        known = ", ".join([*SIGNALS, *probes])
        raise MetricError(f"flow `{flow}` recorded no signal `{signal}` (this run has {known})")
    return times, values


def event_times(
    run: Tables,
    kind: str | Sequence[str],
    flow: str | None = None,
    start: float | None = None,
    stop: float | None = None,
) -> Array:
    """Times (s) of the events of a kind ("drop", "timeout", "loss-event"…)."""
    return events_of(run, kind, flow, start, stop)[0]


def events_of(
    run: Tables, kind: str | Sequence[str], flow: str | None, start: float | None, stop: float | None
) -> tuple[Array, Array]:
    """Times (s) and values of the events of a kind."""
    table = run.events
    chosen = is_one_of(table, "kind", [kind] if isinstance(kind, str) else kind)
    times = column(table, "time_s")
    chosen &= within(times, start, stop)
    if flow is not None:
        chosen &= of_flow(run, table, flow)
    return times[chosen], column(table, "value")[chosen]
