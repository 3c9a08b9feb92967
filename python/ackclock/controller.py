"""Congestion controllers written in Python."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from inspect import isasyncgenfunction, iscoroutinefunction, isgeneratorfunction

from ackclock._engine import Ack, Context, Loss, Marks, SegmentReport, Transmission
from ackclock.errors import did_you_mean


class Controller:
    """Base class of congestion controllers written in Python.

    The engine makes one object for each flow and calls a method for every event. Afterwards it reads the
    attributes ``window``, ``slow_start_threshold`` and ``pacing_rate``. Every kind of event has its own
    method. After ``on_loss``, ``on_ecn`` and ``on_timeout`` the window is already the target:
    the transport brings the data in flight down to it. An exception ends the run and is
    raised by ``simulate``.

    ``parameters`` of the flow are given to ``__init__`` by name. Half the window on a loss, one segment a
    round trip:

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

    Python is called for every ACK: such a run is two to three times slower than with one of the engine's own.
    """

    window: float = 1.0
    """The congestion window in segments. Only whole segments are sent."""

    slow_start_threshold: float = math.inf
    """The slow-start threshold in segments, infinite before the first congestion event."""

    pacing_rate: float | None = None
    """The rate at which segments should leave, in bits per second. None relies on the ACK clock alone."""

    send_quantum: int = 1
    """Segments that leave in one burst where there is a pacing rate, which holds from burst to burst."""

    wants: Collection[str] = ()
    """Requests beyond the usual events, read when the flow is made.

    ``sent``, ``transmit_start``, ``segments`` and ``timer`` ask for the events of these names below.
    ``segments`` also fills ``ack.rate.sent``. ``pauses``: ACKs before ``pause_until`` are not shown.
    ``fractional_window``: a window below one segment is paced, otherwise it is one. ``governs_marks``: there
    is no ``on_ecn``, and marks come with ACKs alone. ``governs_recovery``: the window limits the data in
    flight in recovery as well, and ACKs that advance there are ``on_ack``. ``slow_starts_on_loss``: slow
    start from one segment on a loss, as in 4.3BSD-Tahoe, in recovery as well. ``exact_rtt``: RTT samples are
    exact where the clock of the stack is coarse.
    """

    aim: str = "general"
    """The purpose by which ``ackclock check`` judges it.

    One of ``general``, ``fast``, ``delay``, ``scavenger`` and ``marks``.
    """

    ecn_codepoint: str = "ect0"
    """The ECN codepoint of its segments where ECN is in use: ``ect0``, or ``ect1`` for L4S (RFC 9331)."""

    wake_up_at: float | None = None
    """When to call ``on_timer``, in seconds since the start of the run, if ``timer`` is wanted."""

    pause_until: float | None = None
    """No ACK before this time, in seconds since the start of the run, is shown, if ``pauses`` is wanted.

    The totals of the next one (``delivered``, ``lost``, ``marked``) count those between. A controller that
    decides once a round trip is faster by this.
    """

    def on_start(self, cx: Context) -> None:
        """Before the first segment is sent. By default the window becomes the initial window."""
        self.window = cx.initial_window

    def on_ack(self, cx: Context, ack: Ack) -> None:
        """An ACK of new data outside fast recovery: the only event on which a window grows."""
        raise NotImplementedError(f"{type(self).__name__} has no on_ack(cx, ack)")

    def on_duplicate_ack(self, cx: Context, ack: Ack) -> None:
        """Any other ACK, as in fast recovery: signals, but no growth of the window. By default nothing."""

    def on_loss(self, cx: Context, loss: Loss) -> None:
        """Loss was detected, once a window of data: set the window that recovery aims at."""
        raise NotImplementedError(f"{type(self).__name__} has no on_loss(cx, loss)")

    def on_ecn(self, cx: Context, marks: Marks) -> None:
        """The path marked segments, once a window of data. By default as a loss (RFC 3168, section 6.1.2)."""
        self.on_loss(cx, marks.as_loss())

    def on_recovered(self, cx: Context) -> None:
        """Everything that was outstanding when loss was detected is acknowledged. By default nothing."""

    def on_timeout(self, cx: Context, loss: Loss) -> None:
        """The retransmission timer expired. Called again for every back-off, then with ``loss.again``."""
        raise NotImplementedError(f"{type(self).__name__} has no on_timeout(cx, loss)")

    def on_spurious(self, cx: Context) -> None:
        """The last loss event or timeout was spurious: put the remembered state back. By default nothing."""

    def on_idle_restart(self, cx: Context) -> None:
        """Sending again after idling: by default the window and threshold that the TCP options ask for.

        The window becomes the initial window (RFC 5681, section 4.1), or Linux's restart window.
        """
        self.window = min(self.window, cx.restart_window)
        self.slow_start_threshold = max(self.slow_start_threshold, cx.restart_threshold)

    def on_sent(self, cx: Context, sent: Transmission) -> None:
        """A segment left, new or again. Only if ``sent`` is wanted."""

    def on_transmit_start(self, cx: Context, idle: float) -> None:
        """Sending begins or resumes with nothing outstanding, after ``idle`` seconds. Only if wanted."""

    def on_segment_delivered(self, cx: Context, segment: SegmentReport) -> None:
        """A segment was delivered. Comes before the ACK that shows it. Only if ``segments`` is wanted."""

    def on_segment_lost(self, cx: Context, segment: SegmentReport) -> None:
        """A segment is deemed lost. Comes before the event that counts it. Only if ``segments`` is wanted."""

    def on_timer(self, cx: Context) -> None:
        """The time ``wake_up_at`` has come: set a later one, or None. Only if ``timer`` is wanted."""
        raise NotImplementedError(f"{type(self).__name__} has no on_timer(cx)")

    def probe(self) -> Mapping[str, float]:
        """Named internals for the table ``probes``. By default none."""
        return {}


def check_controller(kind: type) -> None:
    """Refuses a class that the engine could not use, before a run.

    Raises TypeError for a class that is no ``Controller`` or has a method that nothing would call or run,
    NotImplementedError for one without a method that every controller needs.
    """
    if not issubclass(kind, Controller):
        raise TypeError(f"{kind.__name__} is no controller: its class must derive from ackclock.Controller")
    hooks = [name for name in dir(Controller) if name.startswith("on_")]
    for name in dir(kind):
        if name.startswith("on_") and name not in hooks:
            meant = did_you_mean(name, hooks) or f" (there are {', '.join(hooks)})"
            raise TypeError(f"{kind.__name__}.{name}: there is no such event{meant}")
    for name in ("__init__", *hooks, "probe"):
        method = getattr(kind, name)
        if iscoroutinefunction(method) or isgeneratorfunction(method) or isasyncgenfunction(method):
            raise TypeError(f"{kind.__name__}.{name} is async or has a yield, so a call would not run it")
    for name, arguments in (("on_ack", "cx, ack"), ("on_loss", "cx, loss"), ("on_timeout", "cx, loss")):
        if getattr(kind, name) is getattr(Controller, name):
            raise NotImplementedError(f"{kind.__name__} has no {name}({arguments})")
