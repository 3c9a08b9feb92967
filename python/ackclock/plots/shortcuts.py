"""Plots by name: what ``run.plot`` and ``runs.plot`` offer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ackclock.plots.figure import Figure
    from ackclock.report.overview import Overview
    from ackclock.result import Run


class Plots:
    """The figures of some runs: ``run.plot()`` for all at a glance, ``run.plot.window()`` for one of them."""

    def __init__(self, runs: Mapping[str, Sequence[Run]]) -> None:
        """The figures of repetitions by label."""
        self._runs = runs

    def __call__(self) -> Figure:
        """Goodput, RTT, queue and window over the same time, one above the other."""
        from ackclock.plots import overview

        return overview.stack(self._overview())

    def distributions(self) -> Figure:
        """Distribution functions of the RTT, and of completion times by size."""
        from ackclock.plots import overview

        return overview.distributions(self._overview())

    def goodput(self, width: float = 1.0) -> Figure:
        """Goodput of every flow in bins of ``width`` seconds; of several repetitions the first."""
        from ackclock import plots

        return plots.goodput_over_time(self._runs, width)

    def rtt(self) -> Figure:
        """RTT samples of every flow; of several repetitions the first."""
        from ackclock import plots

        return plots.rtt_over_time(self._runs)

    def window(self) -> Figure:
        """Congestion window of every flow; of several repetitions the first."""
        from ackclock import plots

        return plots.window_over_time(self._runs)

    def queue(self) -> Figure:
        """Waiting packets of the bottleneck; of several repetitions the first."""
        from ackclock import plots

        return plots.queue_over_time(self._runs)

    def delay_throughput(self) -> Figure:
        """Delay against throughput, a point for each flow of each repetition."""
        from ackclock import plots

        return plots.delay_throughput(self._runs)

    def _overview(self) -> Overview:
        from ackclock.report.overview import overview

        return overview(self._runs)
