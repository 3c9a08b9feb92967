"""NewReno with one deliberate fault each, for the tests of ``ackclock evaluate``."""

import ackclock


class Halving(ackclock.Controller):
    """One segment a round trip, half the window on a loss: without a fault."""

    def on_ack(self, cx, ack):
        if not ack.window_limited:
            return
        if self.window < self.slow_start_threshold:
            self.window += ack.slow_start_credit()
        else:
            self.window += ack.avoidance_credit() / self.window

    def on_loss(self, cx, loss):
        self.window = self.slow_start_threshold = max(self.window / 2, 2.0)

    def on_timeout(self, cx, loss):
        if not loss.again:
            self.slow_start_threshold = max(self.window / 2, 2.0)
        self.window = 1.0


class Blind(Halving):
    """Does not react to a loss."""

    def on_loss(self, cx, loss):
        self.slow_start_threshold = self.window


class Stubborn(Halving):
    """Keeps its window when the retransmission timer expires."""

    def on_timeout(self, cx, loss):
        pass


class Greedy(Halving):
    """Keeps at least 60 segments in flight, whatever is lost, so others starve."""

    def on_loss(self, cx, loss):
        super().on_loss(cx, loss)
        self.window = self.slow_start_threshold = max(self.window, 60.0)


class Bursting(Halving):
    """Triples its window for one round trip in eight."""

    def __init__(self):
        self.rounds, self.burst = 0, False

    def on_ack(self, cx, ack):
        if ack.round_start:
            self.rounds += 1
            if self.burst:
                self.window, self.burst = self.window / 3, False
            elif self.rounds % 8 == 0:
                self.window, self.burst = self.window * 3, True
        if not self.burst:
            super().on_ack(cx, ack)

    def on_loss(self, cx, loss):
        self.burst = False
        super().on_loss(cx, loss)


class Forgetful(Halving):
    """Begins again with one segment and without slow start after a pause."""

    def on_idle_restart(self, cx):
        self.window, self.slow_start_threshold = 1.0, 2.0


class Unmarked(Halving):
    """Ignores marks."""

    def on_ecn(self, cx, marks):
        pass
