"""The numbers of a run that tables and figures of sweeps show, and their intervals over repetitions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ackclock import spread

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    Array = np.ndarray[Any, Any]

INTERVAL = f"median of the repetitions [{spread.INTERVAL}]"
"""A number with an interval in words."""


class Metric(NamedTuple):
    """One number of a run, for tables and figures."""

    label: str
    unit: str
    of: Callable[[Mapping[str, Array], Array], Array]
    """Its value for each run, from columns of flows and the rows at which the runs begin."""
    columns: tuple[str, ...]
    digits: int = 2

    @property
    def axis(self) -> str:
        """The label of an axis."""
        return f"{self.label} ({self.unit})" if self.unit else self.label


DELIVERED = ("goodput_bps", "measured_s", "interval_s")
"""The columns from which the rate of a flow over the measured interval is known."""


def rates_of(columns: Mapping[str, Array]) -> Array:
    """The Mbit/s of flows over the measured interval of their runs.

    The goodput of a flow is over its own life: summed over short flows it would exceed the rate of the link.
    Tables of earlier versions lack the interval, and have that sum.
    """
    import numpy as np

    goodputs, lives, intervals = (columns[name] for name in DELIVERED)
    return np.asarray(goodputs * np.where(np.isnan(intervals), 1.0, lives / intervals) * 1e-6)


def _goodput(columns: Mapping[str, Array], starts: Array) -> Array:
    import numpy as np

    return np.asarray(np.add.reduceat(rates_of(columns), starts))


def _first(column: str) -> Callable[[Mapping[str, Array], Array], Array]:
    return lambda columns, starts: columns[column][starts]


def _loss(columns: Mapping[str, Array], starts: Array) -> Array:
    import numpy as np

    lost = np.add.reduceat(columns["lost_packets"], starts)
    sent = np.add.reduceat(columns["data_packets"], starts)
    return np.asarray(100.0 * np.divide(lost, sent, out=np.full(len(starts), np.nan), where=sent > 0))


METRICS: Mapping[str, Metric] = {
    "goodput": Metric("goodput of all flows", "Mbit/s", _goodput, DELIVERED),
    "utilization": Metric("utilization", "", _first("link_utilization"), ("link_utilization",), 3),
    "queue_delay": Metric(
        "mean queueing delay", "ms", _first("link_queue_delay_mean_ms"), ("link_queue_delay_mean_ms",)
    ),
    "queue_delay_p95": Metric(
        "p95 queueing delay", "ms", _first("link_queue_delay_p95_ms"), ("link_queue_delay_p95_ms",)
    ),
    "loss": Metric("lost packets", "%", _loss, ("lost_packets", "data_packets"), 3),
    "jain": Metric("Jain's index of the goodputs", "", _first("jain"), ("jain",), 3),
}
"""The numbers of a run that tables and figures of sweeps show, by name."""


COLUMNS = sorted({column for metric in METRICS.values() for column in metric.columns})
"""The columns of rows that metrics read."""


def of_runs(rows: pa.Table) -> tuple[Array, dict[str, Array]]:
    """The rows at which the runs of ``runs.parquet`` begin, and each metric of each run; NaN if not known."""
    import numpy as np

    # Flows count from 0 in each run.
    starts = np.flatnonzero(rows["flow"].to_numpy() == 0)
    columns = numbers(rows, COLUMNS)
    return starts, {name: metric.of(columns, starts) for name, metric in METRICS.items()}


def numbers(rows: pa.Table, names: Iterable[str]) -> dict[str, Array]:
    """Columns of ``runs.parquet``. All is NaN in one that an earlier version did not write."""
    import numpy as np

    unknown = np.full(rows.num_rows, np.nan)
    return {
        name: rows[name].to_numpy().astype(float) if name in rows.column_names else unknown for name in names
    }


class Place(NamedTuple):
    """A controller at a point, whose repetitions belong together."""

    controller: str
    point: tuple[tuple[str, str], ...]


class Interval(NamedTuple):
    """A metric over the repetitions of a place."""

    low: float
    median: float
    high: float
