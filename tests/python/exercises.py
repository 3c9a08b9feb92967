"""Solutions of the exercises of the playground, each with the points that it earns. The last earns all."""

MINE = """
class Mine extends Controller {
  on_ack(cx, ack) {
    if (!ack.window_limited) return;
    if (this.window < this.slow_start_threshold) this.window += ack.slow_start_credit();
    else this.window += ack.avoidance_credit() / this.window;
  }
  on_loss(cx, loss) { this.window = this.slow_start_threshold = Math.max(this.window / 2, 2); }
  on_timeout(cx, loss) { this.slow_start_threshold = 2; this.window = 1; }
}
"""

# Congestion avoidance of Vegas with 2 to 4 segments in the queue, and an early end of slow start.
READS_DELAYS = """
class Mine extends Controller {
  on_ack(cx, ack) {
    if (ack.rtt === null) return;
    const queued = this.window * (1 - ack.min_rtt / ack.rtt);
    if (queued > 4 && this.window < this.slow_start_threshold) this.slow_start_threshold = this.window;
    if (this.window < this.slow_start_threshold) this.window += ack.slow_start_credit() / 2;
    else if (queued < 2) this.window += ack.avoidance_credit() / this.window;
    else if (queued > 4) this.window = Math.max(this.window - ack.avoidance_credit() / this.window, 2);
  }
  on_loss(cx, loss) { this.window = this.slow_start_threshold = Math.max(this.window / 2, 2); }
  on_timeout(cx, loss) { this.slow_start_threshold = 2; this.window = 1; }
}
"""

# Grows without end and never comes down.
GREEDY = """
class Mine extends Controller {
  on_ack(cx, ack) { this.window = Math.min(this.window + 1, 500); }
  on_loss() {}
  on_timeout() {}
}
"""

TO_MINE = ('cc = "newreno"', 'cc = "Mine"')

SOLUTIONS = {
    "1-enough-queue": [
        (("5p", "5p"), "", 2),
        (("5p", "200p"), "", 2),
        (("5p", "35p"), "", 4),
    ],
    "2-short-delay": [(("1s", "1s"), "", 1), (('"1s"', '"codel"'), "", 4)],
    "3-first-controller": [(TO_MINE, GREEDY, 3), (TO_MINE, MINE, 4)],
    "4-fair-share": [(TO_MINE, MINE, 4)],
    "5-short-queue": [(TO_MINE, MINE, 2), (TO_MINE, READS_DELAYS, 5)],
}
