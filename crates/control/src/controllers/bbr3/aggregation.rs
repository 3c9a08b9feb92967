//! BBR.extra_acked (section 5.5.9): how far trains of ACKs run ahead of the bandwidth.

use units::Time;

use crate::parts::windowed_max::WindowedMax;

/// Trains of ACKs count for so many round trips, for one until the pipe was full (BBR.ExtraAckedFilterLen).
const FILTER_LEN: u64 = 10;

/// The segments acknowledged beyond those that the bandwidth explains.
#[derive(Clone, Copy, Debug)]
pub(super) struct Aggregation {
    start: Time,
    delivered: f64,
    largest: WindowedMax,
}

impl Aggregation {
    pub(super) fn new() -> Self {
        Self { start: Time::ZERO, delivered: 0.0, largest: WindowedMax::default() }
    }

    /// The connection begins to send, or does so again.
    pub(super) fn restart(&mut self, now: Time) {
        self.start = now;
    }

    /// BBR.extra_acked, segments.
    pub(super) fn extra_acked(&self) -> f64 {
        self.largest.get() as f64
    }

    /// UpdateACKAggregation(): an ACK in round trip `round` for `newly_acked` segments, at the bandwidth `bw`. The
    /// value is at most `cwnd`.
    pub(super) fn update(&mut self, now: Time, newly_acked: f64, bw: f64, cwnd: f64, (round, is_full): (u64, bool)) {
        let mut expected = bw * now.since(self.start).as_secs_f64();
        if self.delivered <= expected {
            (self.delivered, self.start, expected) = (0.0, now, 0.0);
        }
        self.delivered += newly_acked;
        let extra = (self.delivered - expected).clamp(0.0, cwnd);
        self.largest.update(if is_full { FILTER_LEN } else { 1 }, round, extra as u64);
    }
}
