"""Template: adds a segment a round trip, and removes a share of the window on a loss or a growing delay.

Try it: ``ackclock compare newreno ./template.py:Template --rate 10mbit --rtt 40ms``. Parameters:
``'./template.py:Template(limit=1.5)'``.
"""

import ackclock


class Template(ackclock.Controller):
    """Reduces the window when the RTT is ``limit`` times its minimum. Windows are in segments."""

    def __init__(self, limit: float = 1.25, beta: float = 0.8) -> None:
        self.limit = limit
        self.beta = beta

    def on_ack(self, cx: ackclock.Context, ack: ackclock.Ack) -> None:
        """Checks the RTT once a round trip. On other ACKs the window grows if it is fully used."""
        if ack.round_start and ack.rtt and ack.min_rtt and ack.rtt > self.limit * ack.min_rtt:
            self.window = max(self.beta * self.window, 2.0)
            self.slow_start_threshold = self.window
        elif ack.window_limited:
            if self.window < self.slow_start_threshold:
                self.window += ack.newly_acknowledged
            else:
                self.window += ack.avoidance_credit() / self.window

    def on_loss(self, cx: ackclock.Context, loss: ackclock.Loss) -> None:
        """Once a window of data."""
        self.window = self.slow_start_threshold = max(0.5 * self.window, 2.0)

    def on_timeout(self, cx: ackclock.Context, loss: ackclock.Loss) -> None:
        """All that was in flight counts as lost."""
        if not loss.again:
            self.slow_start_threshold = max(0.5 * self.window, 2.0)
        self.window = 1.0
