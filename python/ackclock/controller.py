"""Congestion controllers written in Python."""

from __future__ import annotations

import math
from collections.abc import Mapping

from ackclock._engine import Ack, Context, Loss, Marks


class Controller:
    """Base class of congestion controllers written in Python.

    The engine makes one object for each flow and calls a method for every event; afterwards it reads the
    attributes ``window``, ``slow_start_threshold`` and ``pacing_rate``. Every kind of event has its own
    method. After ``on_loss``, ``on_ecn`` and ``on_timeout`` the window is already what the algorithm aims at:
    bringing the data in flight down to it is the transport's business. An exception ends the run and is
    raised where the run was asked for.

    ``parameters`` of the flow are given to ``__init__`` by name. Half the window on a loss, one segment a
    round trip::

        class Halving(ackclock.Controller):
            def __init__(self, increase: float = 1.0) -> None:
                self.increase = increase

            def on_ack(self, cx, ack):
                if ack.window_limited:
                    self.window += self.increase * ack.avoidance_credit() / self.window

            def on_loss(self, cx, loss):
                self.window = self.slow_start_threshold = max(self.window / 2, 2.0)

            def on_timeout(self, cx, loss):
                self.window = 1.0

        run = ackclock.simulate(path, [ackclock.Flow(Halving, parameters={"increase": 2.0})])

    Python is called for every ACK: such a run is some thirty times slower than with one of the engine's own.
    """

    window: float = 1.0
    """The congestion window in segments; only whole segments are sent."""

    slow_start_threshold: float = math.inf
    """The slow-start threshold in segments; infinite before the first congestion event."""

    pacing_rate: float | None = None
    """The rate at which segments should leave, in bits per second; None relies on the ACK clock alone."""

    def on_start(self, cx: Context) -> None:
        """Before the first segment is sent. By default the window becomes the initial window."""
        self.window = cx.initial_window

    def on_ack(self, cx: Context, ack: Ack) -> None:
        """An ACK of new data outside fast recovery: the only event on which a window grows."""
        raise NotImplementedError(f"{type(self).__name__} has no on_ack(cx, ack)")

    def on_duplicate_ack(self, cx: Context, ack: Ack) -> None:
        """Any other ACK, as inside fast recovery: it brings signals, no leave to grow. By default nothing."""

    def on_loss(self, cx: Context, loss: Loss) -> None:
        """Loss was detected, once a window of data: set the window that recovery aims at."""
        raise NotImplementedError(f"{type(self).__name__} has no on_loss(cx, loss)")

    def on_ecn(self, cx: Context, marks: Marks) -> None:
        """The path marked segments, once a window of data. By default as a loss (RFC 3168, section 6.1.2)."""
        self.on_loss(cx, marks.as_loss())

    def on_recovered(self, cx: Context) -> None:
        """Everything that was outstanding when loss was detected is acknowledged. By default nothing."""

    def on_timeout(self, cx: Context, loss: Loss) -> None:
        """The retransmission timer expired; called again for every back-off, which ``loss.again`` tells."""
        raise NotImplementedError(f"{type(self).__name__} has no on_timeout(cx, loss)")

    def on_spurious(self, cx: Context) -> None:
        """The last loss event or timeout was spurious: put the remembered state back. By default nothing."""

    def on_idle_restart(self, cx: Context) -> None:
        """Sending again after idling (RFC 5681, section 4.1). By default at most the initial window."""
        self.window = min(self.window, cx.initial_window)

    def probe(self) -> Mapping[str, float]:
        """Named internals for the table ``probes``. By default none."""
        return {}
