"""The page of a ``shell`` session: its traffic on the link. The flows are the programs' own."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ackclock import summary
from ackclock.report import Page, host, notebook, write_json

if TYPE_CHECKING:
    from ackclock.plots.figure import Figure
    from ackclock.result import Run

BINS = 200
"""The most bins of the throughput over time."""


def write(run: Run, title: str, folder: Path, formats: Sequence[str]) -> list[str]:
    """Writes figure, page and ``summary.json``. Returns a sentence for each figure that failed."""
    page = Page(title)
    link = run.links.to_pylist()[0]
    lost = link["dropped_packets"] + link["lost_packets"]
    share = 100.0 * lost / max(link["arrived_packets"], 1)
    rate = "an unlimited rate" if link["rate_bps"] is None else f"{link['rate_bps'] / 1e6:g} Mbit/s"
    page.answers(
        [
            (
                "Throughput",
                f"{link['throughput_bps'] / 1e6:.3g} Mbit/s to the far end on average, of {rate}, "
                f"in {run.duration_s:.1f} s",
            ),
            ("Delay", _waited(link)),
            ("Loss", f"{share:.3g} % of the packets to the far end: {lost} of {link['arrived_packets']}"),
        ]
    )
    if (picture := page.save(folder / "link.png", lambda: _figure(run), formats)) is not None:
        page.figure(picture, "Throughput to the far end, and the packets that wait for the link")
    summaries = [run.summary("shell")]
    page.heading("Numbers")
    table = summary.links_table(summaries)
    page.table(notebook.heads(table), notebook.cells(table))
    page.heading("As run")
    page.details("how far it can be trusted", json.dumps(run.engine, indent=2))
    page.details("the path", json.dumps(run.scenario, indent=2))
    page.details("versions and host", json.dumps(host(), indent=2))
    page.write(folder / "index.html")
    write_json(folder / "summary.json", summary.document(summaries))
    return page.undrawn


def _waited(link: Mapping[str, Any]) -> str:
    mean, most = link["packet_queue_delay_mean_ms"], link["packet_queue_delay_p95_ms"]
    if mean is None:
        return "no packet crossed the queue"
    return f"packets waited {mean:.3g} ms on average, 95 % of them at most {most:.3g} ms"


def _figure(run: Run) -> Figure:
    """Throughput to the far end, and the packets that wait, over the same time."""
    from ackclock.plots.figure import Figure

    series = run.link_series
    of_link = series["link"].to_numpy() == 0
    times, sent, waiting = (
        series[name].to_numpy()[of_link] for name in ("time_s", "departed_bytes", "queue_packets")
    )
    drawn = Figure(figsize=(7.0, 4.5), layout="constrained")
    upper, lower = drawn.subplots(2, sharex=True)
    if times.size > 1:
        edges = np.linspace(0.0, times[-1], min(BINS, max(times.size // 2, 1)) + 1)
        counted = np.interp(edges, times, sent)
        upper.stairs(8e-6 * np.diff(counted) / np.diff(edges), edges)
    upper.set_ylabel("throughput (Mbit/s)")
    lower.step(times, waiting, where="post")
    lower.set(xlabel="time (s)", ylabel="waiting packets")
    return drawn
