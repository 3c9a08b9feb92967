"""``ackclock read LOG…``: windows, RTTs and losses of qlogs, of other tools and of runs, in one figure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table
from rich.text import Text

from ackclock import measured, qlogs
from ackclock.cli import output
from ackclock.cli.captured import spread
from ackclock.cli.output import Report
from ackclock.errors import InputError
from ackclock.exports import qlog
from ackclock.figure import Axis, Panel, Series
from ackclock.metrics.tables import Array
from ackclock.qlogs import Log, Logs
from ackclock.result import Runs

BITS, MILLI, KILO, MEGA = 8, 1e3, 1e3, 1e6
SENT = "sent"
FIGURES = (
    ("throughput", "Data sent, with what was sent again", SENT, "Mbit/s", 1 / MEGA),
    ("window", "Congestion window", "congestion_window", "kB", 1 / KILO),
    ("in-flight", "Data in flight", "bytes_in_flight", "kB", 1 / KILO),
    (
        "rtt",
        "RTT: the latest sample, or what a tool has",
        "latest_rtt",
        "RTT (ms)",
        MILLI,
    ),
)
"""File, caption, metric, axis, and the factor from the metric to its unit."""
LEAST_LIMIT = 0.005
"""A smaller share of the time is none."""
BINS = 60
"""The bins of throughput in the longest log."""


def logs(files: Sequence[Path], report: Report) -> None:
    """The windows of several logs over each other, and a row for each."""
    report.check()
    if len(set(map(str, files))) < len(files):
        raise InputError(f"{' '.join(map(str, files))}: a file is named twice")
    found: dict[str, Log] = {}
    for file in files:
        for seen in _seen(file):
            output.remark(seen.remark)
            found |= {_label(one, seen.traces, files): one for one in seen.traces}
    rows = [summary(label, one) for label, one in found.items()]
    finish = output.show_early(_table(rows), as_json=report.as_json)
    if report.as_json:
        output.print_json({"logs": rows})
    if (out := report.out) is not None:
        from ackclock.report import new_folder, page_of

        title = " and ".join(str(one) for one in files)
        with new_folder(out, report.force) as folder, page_of(folder, title):
            _write(title, found, rows, folder, report)
        report.done(out)
    finish()


def _seen(file: Path) -> list[Logs]:
    """The logs of a file, or of each run in a folder that ``--out`` wrote."""
    if file.is_dir():
        return [qlogs.of_document(qlog.document(run), file) for run in Runs.load(file)]
    return [measured.read(file) if measured.is_measured(file) else qlogs.read(file)]


def _gap(one: Log) -> float:
    """The usual time between reports of sent data, in s. 0 without several."""
    gaps = np.diff(np.unique(one.sent))
    return float(np.median(gaps)) if gaps.size else 0.0


def _bin(logs: Iterable[Log]) -> float:
    """The width of the bins of throughput, the same for all logs: none reports less often."""
    every = list(logs)
    return max(max(_gap(one) for one in every), max(one.end for one in every) / BINS)


def _sent(one: Log, width: float) -> tuple[Array, Array]:
    """The bit/s that were sent in bins of about ``width``, and the times at which these end."""
    gap = _gap(one)
    width = gap * max(1, round(width / gap)) if gap else width
    if not one.sent.size or not width:
        return np.array([]), np.array([])
    edges: Array = np.arange(math.ceil(one.end / width - 1e-9), dtype=np.float64) * width
    # What is reported at the end of a bin was sent in it.
    bins = np.digitize(one.sent - 1e-9, edges)
    sums = np.bincount(np.clip(bins, 1, edges.size) - 1, one.sent_bytes, edges.size)
    return edges + width, sums * BITS / width


def _curve(one: Log, metric: str, width: float) -> tuple[Array, Array]:
    """The times and values of a figure."""
    return _sent(one, width) if metric == SENT else (one.times, one.metrics[metric])


def _label(one: Log, traces: Sequence[Log], files: Sequence[Path]) -> str:
    """The name of the file, with its folder or trace where that says which."""
    same = [file for file in files if file.name == one.file.name]
    name = one.file.name if len(same) == 1 else str(one.file)
    if len(traces) == 1:
        return name
    titles = [other.title for other in traces]
    number = next(place for place, other in enumerate(traces, 1) if other is one)
    return f"{name}: {one.title}" if titles.count(one.title) == 1 else f"{name}: {one.title} {number}"


def summary(label: str, one: Log) -> dict[str, Any]:
    """The numbers of a log, as in ``--json``."""

    def known(name: str, factor: float = 1.0) -> dict[str, float] | None:
        values = one.metrics[name]
        return spread(values[np.isfinite(values)] * factor)

    sent = float(one.sent_bytes.sum())
    return {
        "label": label,
        "file": str(one.file),
        "title": one.title,
        "duration_s": one.end,
        "sent_packets": int(one.sent.size),
        "sent_bytes": int(sent),
        "throughput_bps": sent * BITS / one.end if one.end and sent else None,
        "lost_packets": int(one.lost.size),
        "window_bytes": known("congestion_window"),
        "in_flight_bytes": known("bytes_in_flight"),
        "rtt_ms": known("latest_rtt", MILLI),
        "limited_by": dict(one.limits) or None,
    }


def _table(rows: Sequence[dict[str, Any]]) -> Table:
    from ackclock.report import number

    limited = any(row["limited_by"] for row in rows)
    table = Table(
        "log",
        "s",
        "Mbit/s",
        "window\nmedian kB",
        "window\nmost kB",
        "RTT ms\nleast",
        "RTT ms\nmedian",
        "lost",
        *(["limited by"] if limited else []),
    )
    for row in rows:
        nothing = {"min": None, "p50": None, "max": None}
        window, rtt = row["window_bytes"] or nothing, row["rtt_ms"] or nothing
        values = (
            row["duration_s"],
            row["throughput_bps"] and row["throughput_bps"] / MEGA,
            window["p50"] and window["p50"] / KILO,
            window["max"] and window["max"] / KILO,
            rtt["min"],
            rtt["p50"],
        )
        limits = [_limit(row["limited_by"])] if limited else []
        table.add_row(Text(row["label"]), *map(number, values), str(row["lost_packets"]), *limits)
    return table


def _limit(shares: Mapping[str, float] | None) -> str:
    """The largest limit besides the window: ``receiver 92 %``."""
    cause, share = max((shares or {"": 0.0}).items(), key=lambda one: one[1])
    return f"{cause} {100 * share:.0f} %" if share >= LEAST_LIMIT else "-"


def _write(
    title: str, found: dict[str, Log], rows: Sequence[dict[str, Any]], folder: Path, report: Report
) -> None:
    """The page: a table, and a figure of each metric with all logs."""
    from ackclock import plots
    from ackclock.plots.draw import page_looks
    from ackclock.report import Page, write_json
    from ackclock.report.charts import panels_as_json
    from ackclock.report.notebook import cells, heads

    page, table = Page(title), _table(rows)
    page.table(heads(table), cells(table))
    width = _bin(found.values())
    for name, caption, metric, label, factor in FIGURES:
        curves = [
            Series(log, log, times, values * factor)
            for log, one in found.items()
            for times, values in [_curve(one, metric, width)]
            if np.count_nonzero(np.isfinite(values)) > 1
        ]
        if not curves:
            page.paragraph(f"{caption}: none of the logs has two values.", "note")
            continue
        panel, x, y = Panel("", curves), Axis("time (s)"), Axis(label, low=0.0)
        file = folder / f"{name}.png"
        if page.save(file, partial(plots.draw, [panel], x, y), report.formats) is not None:
            files = [file.with_suffix(f".{ending}").name for ending in ("png", *report.formats)]
            page.panels(name, panels_as_json([panel], x, y, page_looks([panel])), caption, 1, files)
    write_json(folder / "logs.json", {"logs": list(rows)})
    page.write(folder / "index.html")
