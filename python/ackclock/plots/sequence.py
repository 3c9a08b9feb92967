"""The time-sequence graph of a recorded connection, as tcptrace draws it."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.lines import Line2D

from ackclock.capture_files import Numbers
from ackclock.captures import Table
from ackclock.metrics.tables import Array
from ackclock.plots.figure import Figure
from ackclock.plots.style import style
from ackclock.recorded import Recorded

DATA, AGAIN, ACK, WINDOW, SACK = "#222222", "#D55E00", "#009E73", "#0072B2", "#AA3377"
"""Colours of segments, of segments sent again, ACKs, the end of the receive window, and SACK blocks."""

MOST_DRAWN = 20_000
"""A panel with more segments shows every second, third or further one."""
NEAR = 10
"""RTTs of the panels with details."""
MEGABYTE = 1e6


def time_sequence(one: Recorded) -> Figure:
    """All of a connection, its beginning, and the time around the first later segment that was sent again.

    A segment is a vertical stroke from its first byte to its last. The green stairs are the highest ACK, the
    blue ones the end of the receive window, and purple strokes are SACK blocks.
    """
    near = NEAR * one.usual_rtt
    panels = [("all", one.first, one.last)]
    if one.last - one.first > 2 * near:
        panels.append((f"the first {NEAR} RTTs", one.first, one.first + near))
        again = one.data["time"][one.retransmissions.rows]
        later = again[again > one.first + near]
        if later.size:
            at = float(later[0])
            panels.append(("around a retransmission", at - near / 2, at + near / 2))
    with style():
        figure = Figure(figsize=(7.2, 0.6 + 2.9 * len(panels)))
        grid = figure.subplots(len(panels), 1, squeeze=False)[:, 0]
        for axes, (title, low, high) in zip(grid, panels, strict=True):
            _panel(axes, one, low, high)
            axes.set_title(title)
            axes.set_ylabel("sequence number (MB)")
        grid[-1].set_xlabel("time (s)")
        handles, names = grid[0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside upper left", ncols=5)
    return figure


def _panel(axes: Axes, one: Recorded, low: float, high: float) -> None:
    """The segments and ACKs of an interval."""
    times = one.data["time"]
    rows = np.flatnonzero((times >= low) & (times <= high))
    rows = rows[:: max(1, rows.size // MOST_DRAWN)]
    is_again = np.isin(rows, one.retransmissions.rows)
    _strokes(
        axes, times[rows[~is_again]], one.begin[rows[~is_again]], one.end[rows[~is_again]], DATA, "segments"
    )
    again = rows[is_again]
    axes.plot(
        times[again],
        one.end[again] / MEGABYTE,
        "x",
        color=AGAIN,
        markersize=4,
        label="sent again",
        linestyle="",
    )
    answers = one.flow.answers
    near = (answers["time"] >= low) & (answers["time"] <= high)
    axes.step(
        answers["time"][near],
        one.acknowledged[near] / MEGABYTE,
        where="post",
        color=ACK,
        linewidth=0.8,
        label="ACK",
    )
    if one.windows is not None and one.has_near_window:
        edge = np.maximum.accumulate(one.flow.acked + one.windows)[near] / MEGABYTE
        axes.step(
            answers["time"][near], edge, where="post", color=WINDOW, linewidth=0.8, label="receive window"
        )
    _blocks(axes, one.flow.blocks, answers, low, high)
    axes.set_xlim(low, high)
    if rows.size:
        bottom = float(one.begin[rows].min() / MEGABYTE)
        top = float(one.end[rows].max() / MEGABYTE)
        room = 0.05 * (top - bottom) or 1e-3
        axes.set_ylim(bottom - room, top + 4 * room)


def _blocks(axes: Axes, blocks: Table, answers: Table, low: float, high: float) -> None:
    times = answers["time"][np.searchsorted(answers["packet"], blocks["packet"])]
    near = np.flatnonzero((times >= low) & (times <= high))
    near = near[:: max(1, near.size // MOST_DRAWN)]
    _strokes(axes, times[near], blocks["low"][near], blocks["high"][near], SACK, "SACK")


def _strokes(axes: Axes, times: Array, low: Numbers, high: Numbers, colour: str, name: str) -> None:
    """Vertical strokes, and an entry of the legend with a stroke that is long enough to see."""
    if not times.size:
        return
    lines = np.stack(
        (np.stack((times, low / MEGABYTE), axis=1), np.stack((times, high / MEGABYTE), axis=1)), axis=1
    )
    axes.add_collection(LineCollection(list(lines), colors=colour, linewidths=0.9))
    axes.add_line(Line2D([], [], color=colour, linestyle="", marker="|", markersize=8, label=name))
