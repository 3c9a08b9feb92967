"""Plots by name, for ``run.plot`` and ``runs.plot``."""

from __future__ import annotations

from ackclock.overview import Labelled, overview
from ackclock.plots import runs
from ackclock.plots.figure import Figure
from ackclock.plots.overview import distributions, stack


class Plots:
    """The figures of runs: ``run.plot()`` for all at a glance, ``run.plot.window()`` for one of them."""

    def __init__(self, labelled: Labelled) -> None:
        """The figures of repetitions by label."""
        self._runs = labelled

    def __call__(self) -> Figure:
        """Goodput, RTT, queue and window over the same time, one above the other."""
        return stack(overview(self._runs))

    def distributions(self) -> Figure:
        """Distribution functions of the RTT, and of completion times by size."""
        return distributions(overview(self._runs))

    def goodput(self, width: float = 1.0) -> Figure:
        """Goodput of every flow in bins of ``width`` seconds, from the first repetition."""
        return runs.goodput_over_time(self._runs, width)

    def rtt(self) -> Figure:
        """RTT samples of every flow, from the first repetition."""
        return runs.rtt_over_time(self._runs)

    def window(self) -> Figure:
        """Congestion window of every flow, from the first repetition."""
        return runs.window_over_time(self._runs)

    def queue(self) -> Figure:
        """Waiting packets of the bottleneck, from the first repetition."""
        return runs.queue_over_time(self._runs)

    def delay_throughput(self) -> Figure:
        """Delay against throughput, a point for each flow of each repetition."""
        return runs.delay_throughput(self._runs)
