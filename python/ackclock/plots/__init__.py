"""Plots: functions that take runs and return a matplotlib figure, in one style.

Every controller has a fixed colour. Flows of one controller differ in shade and marker. Axes carry units, and
legends are beside the data.
"""

from ackclock.figure import Axis, Panel, Series
from ackclock.plots.draw import LEGEND_LIMIT, draw
from ackclock.plots.runs import (
    delay_throughput,
    goodput_over_time,
    queue_over_time,
    rtt_over_time,
    window_over_time,
)
from ackclock.plots.strips import strips
from ackclock.plots.style import colours, controller_colours, style

__all__ = [
    "LEGEND_LIMIT",
    "Axis",
    "Panel",
    "Series",
    "colours",
    "controller_colours",
    "delay_throughput",
    "draw",
    "goodput_over_time",
    "queue_over_time",
    "rtt_over_time",
    "strips",
    "style",
    "window_over_time",
]
