"""Intervals of many measures, a line each, beside the values that they are compared with."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.ticker import NullFormatter, StrMethodFormatter

from ackclock.figure import Interval
from ackclock.plots.draw import in_legend
from ackclock.plots.figure import Figure
from ackclock.plots.style import NEUTRAL, style

LOOKS = {"worse": ("#b2182b", "v"), "like": ("#4d4d4d", "o"), "better": ("#1b7837", "^")}
"""The colour and marker of each verdict."""

MOST = 8.0
"""Ratios beyond this, or below one over it, stand at the edge."""


def draw_intervals(shown: Sequence[Interval], name: str) -> Figure:
    """A line for each interval; open circles are the values beside it. The axis is logarithmic."""
    with style():
        figure = Figure(figsize=(6.4, 0.9 + 0.19 * len(shown)))
        figure.rows = True
        axes = figure.subplots()
        for place, one in enumerate(shown):
            colour, marker = LOOKS[one.verdict]
            value, low, high = np.clip([one.value, one.low, one.high], 1 / MOST, MOST)
            axes.plot([low, high], [place, place], color=colour, linewidth=1.4)
            axes.plot(
                np.clip(one.beside, 1 / MOST, MOST),
                [place] * len(one.beside),
                "o",
                mfc="none",
                color=NEUTRAL,
                ms=4,
            )
            axes.plot(value, place, marker, color=colour, ms=5, label=in_legend(one.label))
        axes.axvline(1.0, color=NEUTRAL, linewidth=0.6)
        axes.set_xscale("log")
        axes.set_xlim(0.9 / MOST, MOST * 1.1)
        axes.set_xticks([1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8])
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.set_xlabel("value over the mean of NewReno's and CUBIC's")
        axes.set_yticks(range(len(shown)), [one.label for one in shown], fontsize=7)
        axes.set_ylim(len(shown) - 0.4, -0.6)
        entries = [
            Line2D([], [], color=colour, marker=marker, label=word)
            for word, (colour, marker) in LOOKS.items()
        ]
        entries.append(Line2D([], [], color=NEUTRAL, marker="o", mfc="none", linestyle="", label="standards"))
        axes.legend(handles=entries, title=in_legend(name), loc="upper left", bbox_to_anchor=(1.01, 1.0))
    return figure
