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
    """Grows by twelve segments a round trip, so flows that grow by one starve beside it."""

    def on_ack(self, cx, ack):
        if ack.window_limited and self.window >= self.slow_start_threshold:
            self.window += 12 * ack.avoidance_credit() / self.window
        else:
            super().on_ack(cx, ack)


class Bursting(Halving):
    """Doubles its window for one round trip in eight, and takes a loss in that for its own."""

    def __init__(self):
        self.rounds, self.before = 0, None

    def on_ack(self, cx, ack):
        if ack.round_start:
            self.rounds += 1
            if self.before is not None:
                self.window, self.before = self.before, None
            elif self.rounds % 8 == 0 and self.window >= self.slow_start_threshold:
                self.before, self.window = self.window, 2 * self.window
        if self.before is None:
            super().on_ack(cx, ack)

    def on_loss(self, cx, loss):
        if self.before is None:
            super().on_loss(cx, loss)
        else:
            self.window, self.before = self.before, None

    def on_timeout(self, cx, loss):
        self.before = None
        super().on_timeout(cx, loss)


class Forgetful(Halving):
    """Begins again with one segment and without slow start after a pause."""

    def on_idle_restart(self, cx):
        self.window, self.slow_start_threshold = 1.0, 2.0


class Unmarked(Halving):
    """Ignores marks."""

    def on_ecn(self, cx, marks):
        pass
