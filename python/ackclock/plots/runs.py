"""Figures of runs: curves over time, and the delay-throughput plane.

Each takes a run, several, or repetitions by label. Curves over time show the first repetition.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Ellipse

from ackclock import metrics
from ackclock.figure import Axis, Panel, Series
from ackclock.groups import only_controller
from ackclock.metrics import Array, Tables
from ackclock.metrics.delay import above_base
from ackclock.plots.draw import MARKERS, draw, in_legend
from ackclock.plots.figure import Figure
from ackclock.plots.style import colours, style
from ackclock.scenario import Scenario

MANY_FLOWS = 16
"""With more flows than this, flows of one name and controller are one curve over time."""

Runs = Tables | Sequence[Tables] | Mapping[str, Tables | Sequence[Tables]]
"""A run, several, or repetitions by label. Curves over time show the first repetition."""


def _by_label(runs: Runs) -> dict[str, Sequence[Tables]]:
    """The repetitions by label. Runs without one have the name of their scenario."""
    if isinstance(runs, Mapping):
        return {label: of if isinstance(of, Sequence) else [of] for label, of in runs.items()}
    found: dict[str, list[Tables]] = {}
    for run in runs if isinstance(runs, Sequence) else [runs]:
        found.setdefault(getattr(run, "scenario", {}).get("name", "run"), []).append(run)
    return dict(found)


def _over_time(
    runs: Runs, curves: Callable[[Tables], Sequence[metrics.Curve]], y: Axis, factor: float = 1.0
) -> Figure:
    labelled = _by_label(runs)
    panels = [
        Panel(
            "" if list(labelled) == [Scenario.name] else label,
            [Series(c.name, c.cc, c.times, c.values * factor, look="dashed") for c in curves(repetitions[0])],
        )
        for label, repetitions in labelled.items()
    ]
    return draw(panels, Axis("time (s)"), y, columns=1 if len(panels) == 1 else 2)


def goodput_over_time(runs: Runs, width: float = 1.0) -> Figure:
    """Goodput of every flow in bins of ``width`` seconds, a panel for each label.

    Many flows are drawn by name.
    """

    def curves(run: Tables) -> list[metrics.Curve]:
        return (metrics.goodput_by_group if _many(run) else metrics.goodput_by_flow)(run, width)

    return _over_time(runs, curves, Axis("goodput (Mbit/s)", low=0.0), 1e-6)


def rtt_over_time(runs: Runs) -> Figure:
    """RTT samples of every flow, a panel for each label. Many flows are shown as the mean by name."""
    return _over_time(runs, lambda run: _signal(run, "rtt"), Axis("RTT (ms)"))


def window_over_time(runs: Runs) -> Figure:
    """Congestion window of every flow, a panel for each label. Many flows are shown as the mean by name."""
    return _over_time(runs, lambda run: _signal(run, "window"), Axis("window (segments)", low=0.0))


def _signal(run: Tables, signal: str) -> list[metrics.Curve]:
    return (metrics.signal_by_group if _many(run) else metrics.signal_by_flow)(run, signal)


def _many(run: Tables) -> bool:
    return bool(run.flows.num_rows > MANY_FLOWS)


def queue_over_time(runs: Runs) -> Figure:
    """Waiting packets of the bottleneck, a panel for each label."""

    def curves(run: Tables) -> list[metrics.Curve]:
        return [metrics.queue_curve(run)._replace(cc=only_controller(run.flows))]

    return _over_time(runs, curves, Axis("queue (packets)", low=0.0))


def delay_throughput(runs: Runs) -> Figure:
    """The delay-throughput plane: median RTT above the base RTT against goodput.

    The RTT includes the transmission of packets and the wait for delayed ACKs beside the queueing delay. A
    point for each flow of each repetition. The ellipse covers one standard deviation around the mean of a
    label's points. Better is up and to the right: the delay axis runs backwards, as is usual for this plane.
    """
    labelled = _by_label(runs)
    with style():
        figure = Figure(figsize=(6.1, 3.6))
        axes = figure.subplots()
        common = [only_controller(repetitions[0].flows) for repetitions in labelled.values()]
        for number, (label, colour) in enumerate(zip(labelled, colours(common), strict=True)):
            points = np.array([p for run in labelled[label] for p in _delay_and_goodput(run)]).reshape(-1, 2)
            marker = MARKERS[number % len(MARKERS)]
            axes.scatter(
                points[:, 0],
                points[:, 1],
                s=16,
                color=colour,
                alpha=0.8,
                marker=marker,
                label=in_legend(label),
            )
            _ellipse(axes, points, colour)
        axes.invert_xaxis()
        axes.set_xlabel("median RTT above the base RTT (ms), less is to the right")
        axes.set_ylabel("goodput of a flow (Mbit/s)")
        axes.set_ylim(0.0, 1.04 * axes.get_ylim()[1])
        figure.legend(loc="outside right upper")
    return figure


def _delay_and_goodput(run: Tables) -> list[tuple[float, float]]:
    delay = above_base(run, 50.0)
    goodput = metrics.column(run.flows, "goodput_bps") / 1e6
    seen = np.isfinite(delay)
    return list(zip(delay[seen].tolist(), goodput[seen].tolist(), strict=True))


def _ellipse(axes: Axes, points: Array, colour: str) -> None:
    if len(points) < 3:
        return
    values, vectors = np.linalg.eigh(np.cov(points.T))
    wide, high = 2 * np.sqrt(np.maximum(values, 0.0))
    angle = math.degrees(math.atan2(vectors[1, 0], vectors[0, 0]))
    centre = (float(points[:, 0].mean()), float(points[:, 1].mean()))
    axes.add_patch(Ellipse(centre, wide, high, angle=angle, facecolor=colour, alpha=0.15, edgecolor=colour))
