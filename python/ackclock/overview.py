"""The first page of a report as numbers: a sentence per question, curves, and distributions.

The interactive charts of the page and the figures for papers are drawn from the same values. With several
labels a curve is a label (a controller of ``compare``): all flows of a run together, the median over the
repetitions, and the band between their 20th and 80th percentiles. With a single label a curve is a flow, or a
group of flows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from ackclock import _engine, metrics
from ackclock.figure import Axis, Panel, Plane, Points, Series, Ticks
from ackclock.groups import only_controller
from ackclock.metrics import Array, Curve, Tables, column

LOW, HIGH = 20.0, 80.0
"""The percentiles of the band around a median."""
POINTS = 400
"""The number of points of a curve over time."""
BINS = 60
"""The approximate number of bins of goodput in a run."""
MANY_FLOWS = 16
"""With more flows than this, those of one name and controller are one curve."""
MOST_CURVES = 40
"""With more curves than this the page would be unreadable: the first ones are shown."""
MOST_TICKS = 500
TENFOLD = 10.0
"""Curves whose values differ by more than this factor have a logarithmic axis."""
DEEPEST = 1000.0
"""A logarithmic axis ends this factor below the largest value; smaller values lie on its edge."""
SIZES = ((0.0, "below 10 kB"), (1e4, "10 to 100 kB"), (1e5, "100 kB to 1 MB"), (1e6, "1 MB and more"))
"""Size classes of transfers for completion times: the least number of bytes, and the name."""


class Run(Tables, Protocol):
    """A run as an overview reads it."""

    @property
    def scenario(self) -> Mapping[str, Any]:
        """The resolved scenario."""
        ...

    @property
    def stations(self) -> pa.Table:
        """A row per station of a wireless network."""
        ...

    def table(self, name: str) -> pa.Table:
        """The table called ``name``."""
        ...

    @property
    def duration_s(self) -> float:
        """Its length in simulated seconds."""
        ...

    @property
    def warmup_s(self) -> float:
        """The start of the measured interval, in seconds."""
        ...

    @property
    def fairness(self) -> float:
        """Jain's index of the goodputs of the flows that compete."""
        ...


Labelled = Mapping[str, Sequence[Run]]
"""Runs to compare: repetitions by label."""


@dataclass(frozen=True)
class Overview:
    """The first page of a report."""

    sentences: Sequence[tuple[str, str]]
    """The question and its answer."""
    stack: Sequence[Panel]
    plane: Plane
    distributions: Sequence[Panel] = field(default_factory=list)


def overview(runs: Labelled) -> Overview:
    """The first page of a report on ``runs``."""
    stack = []
    if all(of[0].flow_series.num_rows and of[0].link_series.num_rows for of in runs.values()):
        stack = _stack(runs)
    return Overview(_sentences(runs), stack, _plane(runs), list(_distributions(runs)))


# The sentences.


def _sentences(runs: Labelled) -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = [
        ("Throughput", _said(runs, lambda run: total_goodput(run) / 1e6, "Mbit/s") + _of_rate(runs)),
    ]
    if all(_bottleneck(of[0]) is not None for of in runs.values()):
        mean = _said(runs, lambda run: _of_bottleneck(run, "queue_delay_mean_ms"), "ms")
        most = _said(runs, lambda run: _of_bottleneck(run, "queue_delay_p95_ms"), "ms")
        rows.append(("Delay", f"{mean} of queueing on average{_at(runs)}; 95 % of the time at most {most}"))
    if silent := [label for label, of in runs.items() if not any(map(total_goodput, of))]:
        beside = f" with {', '.join(silent)}" if len(runs) > 1 else ""
        rows.insert(0, ("Delivery", f"no data was delivered in the measured time{beside}"))
    rows.append(("Loss", _said(runs, loss_percent, "% of the data packets, on the way")))
    rows.append(("Fairness", _fairness(runs)))
    return rows


def _at(runs: Labelled) -> str:
    """The bottleneck, where a network has several links and all runs the same."""
    names = {str(of[0].links["name"][_bottleneck(of[0]) or 0]) for of in runs.values()}
    several = any(of[0].scenario.get("path") is None for of in runs.values())
    return f" at the bottleneck, {names.pop()}" if several and len(names) == 1 else ""


def _said(runs: Labelled, value: Callable[[Run], float], unit: str) -> str:
    """The median over the repetitions of each label: ``cubic 48.2, cdg 43.9 Mbit/s``."""
    found = [(label, float(np.median([value(run) for run in of]))) for label, of in runs.items()]
    if len(found) == 1:
        return f"{_digits(found[0][1])} {unit}"
    return ", ".join(f"{label} {_digits(number)}" for label, number in found) + f" {unit}"


def _digits(number: float) -> str:
    if not math.isfinite(number):
        return "unknown"
    return f"{number:.0f}" if abs(number) >= 100 else f"{number:.3g}"


def _of_rate(runs: Labelled) -> str:
    """``of the 50 of the bottleneck`` where all runs have the same.

    The rate of a station is that of its frames: its channel, which it shares, carries much less.
    """
    if any(_shares_a_channel(of[0]) for of in runs.values()):
        return ""
    rates = {_of_bottleneck(of[0], "rate_bps") for of in runs.values()}
    if len(rates) == 1 and math.isfinite(rate := rates.pop()):
        return f", of the {_digits(rate / 1e6)} that the bottleneck carries"
    return ""


def _shares_a_channel(run: Run) -> bool:
    """True if the bottleneck is the queue of a station."""
    return bool(run.scenario.get("wlans")) and _bottleneck(run) in run.stations["link"].to_pylist()


def loss_percent(run: Run) -> float:
    """The data packets of all flows that were dropped or lost on the way, in percent of those sent."""
    sent, share = column(run.flows, "data_packets"), column(run.flows, "loss_rate")
    return float(100.0 * np.nansum(sent * share) / sent.sum()) if sent.sum() else math.nan


def _fairness(runs: Labelled) -> str:
    if all(of[0].flows.num_rows == 1 for of in runs.values()):
        return "a flow has the path for itself"
    several = {label: of for label, of in runs.items() if math.isfinite(of[0].fairness)}
    if not several:
        return "less than two flows that send all they can last, and only these are compared"
    return "Jain's index of the lasting flows: " + _said(several, lambda run: run.fairness, "(1 is equal)")


def total_goodput(run: Run, chosen: Callable[[str], bool] = lambda _: True) -> float:
    """What the flows with ``chosen`` names delivered in the measured interval, in bit/s of it.

    The goodput of a flow is that of its life: of short flows the sum would exceed the rate of the link.
    """
    mask = [chosen(name) for name in run.flows["name"].to_pylist()]
    delivered = column(run.flows, "delivered_bytes")[np.array(mask, bool)]
    return float(delivered.sum()) * 8.0 / (run.duration_s - run.warmup_s)


def _bottleneck(run: Run) -> int | None:
    marked = run.links["is_bottleneck"].to_pylist()
    return marked.index(True) if True in marked else None


def _of_bottleneck(run: Run, name: str) -> float:
    row = _bottleneck(run)
    return math.nan if row is None else float(column(run.links, name)[row])


# The curves over time.


def _stack(runs: Labelled) -> list[Panel]:
    duration = max(of[0].duration_s for of in runs.values())
    grid: Array = np.linspace(0.0, duration, POINTS + 1)
    width = _width(next(iter(runs.values()))[0], duration)
    flows = len(runs) == 1
    goodput = _bands(runs, lambda r: _goodput(r, width, grid, flows))
    rtt = _bands(runs, lambda r: _signal(r, "rtt", grid, flows))
    queue = _bands(runs, lambda r: [_queue(r, grid)])
    window = _bands(runs, lambda r: _signal(r, "window", grid, flows))
    first = next(iter(runs.values()))[0]
    rates, base, limit = _rate(first, grid), _base_rtt(first, grid), _limit(first, grid)
    return [
        over_time("goodput", "goodput (Mbit/s)", goodput, rates),
        over_time("rtt", "RTT (ms)", rtt, base),
        over_time("queue", "queue (ms)", queue, limit, tuple(_drops(runs))),
        over_time("window", "window (segments)", window),
    ]


def _width(run: Run, duration: float) -> float:
    """The bins of the goodput in seconds: a whole number of the intervals between samples."""
    times = np.unique(column(run.flow_series, "time_s"))
    step = float(np.median(np.diff(times))) if times.size > 1 else duration
    return max(1, round(duration / BINS / step)) * step


def over_time(
    name: str,
    label: str,
    curves: Sequence[Series],
    levels: Sequence[Series] = (),
    ticks: Sequence[Ticks] = (),
) -> Panel:
    """A panel over time; its axis is logarithmic where its curves lie apart by more than tenfold.

    A linear axis begins at 0, except that of an RTT with a base.
    """
    medians = [float(np.nanmedian(one.y)) for one in curves if np.isfinite(one.y).any()]
    positive = [one for one in medians if one > 0.0]
    every = [*curves, *levels]
    if len(positive) > 1 and max(positive) > TENFOLD * min(positive):
        y = Axis(label, "log", log_floor(every))
    elif name == "rtt" and any(np.any(level.y[:1] > 0) for level in levels):
        y = Axis(label)
    else:
        y = Axis(label, low=0.0)
    return Panel("", every, name, Axis("time (s)"), y, ticks)


def log_floor(series: Sequence[Series]) -> float:
    """The lower end of a logarithmic axis, on which everything below it lies.

    Without it a queue that empties would go down without end.
    """
    values = np.concatenate([one.y for one in series])
    values = values[np.isfinite(values) & (values > 0.0)]
    return float(max(values.min(), values.max() / DEEPEST))


def _bands(runs: Labelled, curves: Callable[[Run], list[Curve]]) -> list[Series]:
    """The curves of each label, the repetitions of one together."""
    bands: list[Series] = []
    for label, repetitions in runs.items():
        of_runs = [curves(run) for run in repetitions]
        for number, first in enumerate(of_runs[0]):
            same = [one[number].values for one in of_runs if _has(one, number, first.name)]
            bands.append(_band(label if len(of_runs[0]) == 1 else first.name, first, same))
    return bands[:MOST_CURVES]


def _has(curves: Sequence[Curve], number: int, name: str) -> bool:
    """True if a repetition has a curve of that name at the same index."""
    return number < len(curves) and curves[number].name == name


def _band(label: str, curve: Curve, repetitions: Sequence[Array]) -> Series:
    """Medians over the repetitions of a curve, with the ends of the band; a single one as it is."""
    if len(repetitions) == 1:
        return Series(label, curve.cc, curve.times, repetitions[0])
    values = np.array(repetitions)
    known = np.isfinite(values).any(axis=0)
    low, median, high = np.full((3, values.shape[1]), np.nan)
    if known.any():
        low[known], median[known], high[known] = np.nanpercentile(values[:, known], (LOW, 50.0, HIGH), axis=0)
    return Series(label, curve.cc, curve.times, median, low, high)


def _goodput(run: Run, width: float, grid: Array, by_flow: bool) -> list[Curve]:
    groups = metrics.goodput_by_group(run, width)
    if by_flow and run.flows.num_rows <= MANY_FLOWS:
        groups = metrics.goodput_by_flow(run, width)
    curves = [c._replace(values=_held(c, grid, width) / 1e6, times=grid) for c in groups]
    if by_flow or len(curves) == 1:
        return curves
    total = np.nansum([c.values for c in curves], axis=0)
    return [Curve("", only_controller(run.flows), grid, total)]


def _held(curve: Curve, grid: Array, longest: float) -> Array:
    """The latest value of a curve at the times of the grid; none where the last is older than ``longest``."""
    if not curve.times.size:
        return np.full(grid.shape, np.nan)
    at = np.searchsorted(curve.times, grid, side="right") - 1
    age = grid - curve.times[np.maximum(at, 0)]
    return np.where((at >= 0) & (age <= longest + 1e-9), curve.values[np.maximum(at, 0)], np.nan)


def _signal(run: Run, signal: str, grid: Array, by_flow: bool) -> list[Curve]:
    """A signal of each flow, or the mean over the flows of the run."""
    many = run.flows.num_rows > MANY_FLOWS
    found = (metrics.signal_by_group if many else metrics.signal_by_flow)(run, signal)
    longest = max(run.duration_s / 20.0, 1.0)
    curves = [c._replace(values=_held(c, grid, longest), times=grid) for c in found]
    if by_flow or len(curves) == 1:
        return curves
    values = np.array([c.values for c in curves])
    known = np.isfinite(values).any(axis=0)
    mean = np.full(grid.shape, np.nan)
    mean[known] = np.nanmean(values[:, known], axis=0)
    return [Curve("", only_controller(run.flows), grid, mean)]


def _link_samples(run: Run) -> tuple[Array, Mapping[str, Array]]:
    """Times and columns of the samples of the bottleneck."""
    table, row = run.link_series, _bottleneck(run)
    chosen = column(table, "link") == column(run.links, "link")[row or 0]
    names = ("queue_bytes", "queue_packets", "departed_bytes", "capacity_bytes")
    return column(table, "time_s")[chosen], {
        name: column(table, name)[chosen] for name in names if name in table.column_names
    }


def _queue(run: Run, grid: Array) -> Curve:
    """The waiting time of a packet that arrives now: until the link has carried the queue."""
    times, columns = _link_samples(run)
    waits = _waits(run, times, columns, columns["queue_bytes"])
    curve = Curve("", only_controller(run.flows), times, waits * 1e3)
    return curve._replace(values=_held(curve, grid, run.duration_s), times=grid)


def _waits(run: Run, times: Array, columns: Mapping[str, Array], waiting: Array) -> Array:
    """How long (s) the bottleneck takes from each of ``times`` on for so many bytes."""
    capacity = columns.get("capacity_bytes")
    if capacity is None or not np.isfinite(capacity).all() or not capacity.size or capacity[-1] <= 0.0:
        return np.asarray(waiting * 8.0 / _of_bottleneck(run, "rate_bps"))
    until = np.interp(capacity + waiting, capacity, times)
    # Behind the last sample the link goes on at its mean rate.
    behind = np.maximum(capacity + waiting - capacity[-1], 0.0) * times[-1] / capacity[-1]
    return np.asarray(until + behind - times)


def _level(label: str, grid: Array, values: Array) -> list[Series]:
    return [Series(label, "", grid, values, look="level")]


def _rate(run: Run, grid: Array) -> list[Series]:
    """The rate of the bottleneck over time."""
    times, columns = _link_samples(run)
    capacity = columns.get("capacity_bytes")
    if capacity is None or capacity.size < 2 or not np.isfinite(capacity).all():
        return []
    rates = np.diff(capacity) * 8e-6 / np.diff(times)
    at = np.clip(np.searchsorted(times, grid, side="left") - 1, 0, rates.size - 1)
    return _level("rate of the link", grid, rates[at])


def _base_rtt(run: Run, grid: Array) -> list[Series]:
    base = {one for one in column(run.flows, "base_rtt_ms").tolist() if math.isfinite(one)}
    return _level("base RTT", grid, np.full(grid.shape, base.pop())) if len(base) == 1 else []


def _limit(run: Run, grid: Array) -> list[Series]:
    """The longest wait in the buffer of a path: until the link has carried a full one."""
    path = run.scenario.get("path", {})
    queue, rate = path.get("queue"), _of_bottleneck(run, "rate_bps")
    limit = queue.get("limit") if isinstance(queue, Mapping) else queue
    if not isinstance(limit, str) or not math.isfinite(rate) or not isinstance(path.get("rtt"), str):
        return []
    try:
        waits = _limit_s(limit, rate, _engine.quantity(path["rtt"], "time"))
    except ValueError:
        return []
    if waits is None:
        return []
    times, columns = _link_samples(run)
    full = np.full(times.shape, waits * rate / 8.0)
    curve = Curve("", "", times, _waits(run, times, columns, full) * 1e3)
    return _level("buffer", grid, _held(curve, grid, run.duration_s))


def _limit_s(limit: str, rate: float, rtt: float) -> float | None:
    """A queue limit in seconds at a rate; None for an infinite one."""
    for unit, factor in (("bdp", rtt), ("p", 1500.0 * 8.0 / rate)):
        if limit.endswith(unit) and limit[: -len(unit)].replace(".", "", 1).isdigit():
            return float(limit[: -len(unit)]) * factor
    if limit == "infinite":
        return None
    try:
        return _engine.quantity(limit, "time")
    except ValueError:
        return _engine.quantity(limit, "size") * 8.0 / rate


def _drops(runs: Labelled) -> Iterable[Ticks]:
    """The drops in the first repetition of each label."""
    for label, repetitions in runs.items():
        run = repetitions[0]
        kinds = run.events["kind"].to_pylist()
        times = column(run.events, "time_s")[np.array([kind == "drop" for kind in kinds], bool)]
        if times.size > MOST_TICKS:
            # More ticks would merge into a block on a screen.
            places = np.unique(np.round(times / run.duration_s * MOST_TICKS)) / MOST_TICKS
            times = places * run.duration_s
        yield Ticks(label, only_controller(run.flows), times)


# Delay against throughput, and distributions.


def _coloured(runs: Labelled) -> Iterator[tuple[str, str, list[tuple[Run, Array]]]]:
    """The labels, or the flows of a single label: name, controller, rows of ``flows``."""
    for label, repetitions in runs.items():
        first = repetitions[0].flows
        if len(runs) > 1 or not 1 < first.num_rows <= MANY_FLOWS:
            every = [(run, np.arange(run.flows.num_rows)) for run in repetitions]
            yield label, only_controller(repetitions[0].flows), every
            continue
        for row, (name, cc) in enumerate(
            zip(*(first[key].to_pylist() for key in ("name", "cc")), strict=True)
        ):
            yield name, cc, [(run, np.array([row])) for run in repetitions if row < run.flows.num_rows]


def _plane(runs: Labelled) -> Plane:
    points = []
    for name, cc, rows in _coloured(runs):
        delay = np.concatenate([_delays(run)[of] for run, of in rows])
        rate = np.concatenate([column(run.flows, "goodput_bps")[of] / 1e6 for run, of in rows])
        known = np.isfinite(delay) & np.isfinite(rate)
        points.append(Points(name, cc, delay[known], rate[known]))
    return Plane(Axis("median RTT above the base RTT (ms)"), Axis("goodput of a flow (Mbit/s)"), points)


def _rtt_samples(run: Run, rows: Array) -> Array:
    of_flows = np.isin(column(run.flow_series, "flow"), column(run.flows, "flow")[rows])
    return np.asarray(column(run.flow_series, "latest_rtt_ms")[of_flows])


def _delays(run: Run) -> Array:
    return np.asarray(column(run.flows, "rtt_p50_ms") - column(run.flows, "base_rtt_ms"))


def _distributions(runs: Labelled) -> Iterable[Panel]:
    """Distribution functions: of the RTT samples, and of completion times by size."""
    samples = {}
    for name, cc, rows in _coloured(runs):
        values = np.concatenate([_rtt_samples(run, of) for run, of in rows])
        samples[name, cc] = values[np.isfinite(values)]
    if any(values.size for values in samples.values()):
        yield _distribution("rtt-distribution", "share of the time", "RTT (ms)", samples)
    for number, (least, name) in enumerate(SIZES):
        most = SIZES[number + 1][0] if number + 1 < len(SIZES) else math.inf
        times = {}
        for label, repetitions in runs.items():
            found = [_completions(run, least, most) for run in repetitions]
            times[label, only_controller(repetitions[0].flows)] = np.concatenate(found) * 1e3
        if any(values.size > 1 for values in times.values()):
            title = f"share of the transfers of {name}"
            yield _distribution(f"completion-{number}", title, "completion time (ms)", times)


def _completions(run: Run, least: float, most: float) -> Array:
    times, sizes = column(run.flows, "completion_s"), column(run.flows, "delivered_bytes")
    return np.asarray(times[np.isfinite(times) & (sizes >= least) & (sizes < most)])


def _distribution(name: str, title: str, x_label: str, samples: Mapping[tuple[str, str], Array]) -> Panel:
    every = np.concatenate(list(samples.values()))
    low, high = float(every.min()), float(every.max())
    log = low > 0.0 and high > TENFOLD * low
    grid = np.geomspace(low, high, POINTS) if log else np.linspace(low, high, POINTS)
    curves = [
        Series(label, cc, grid, np.searchsorted(np.sort(values), grid, side="right") / max(values.size, 1))
        for (label, cc), values in samples.items()
        if values.size
    ]
    return Panel("", curves, name, Axis(x_label, "log" if log else "linear"), Axis(title, low=0.0))
