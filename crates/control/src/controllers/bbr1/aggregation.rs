//! How far ACKs run ahead of the estimated rate (`bbr_update_ack_aggregation`): where they come in trains, as over
//! Wi-Fi, the window has to cover the silence between two trains.

use units::Time;

use super::{BANDWIDTH_UNIT, micros_between};

/// Segments in an epoch after which a new one begins whatever happens.
const LONGEST_EPOCH: u64 = 1 << 20;

/// The degree of aggregation, its largest value over five to ten round trips.
#[derive(Clone, Copy, Debug)]
pub(super) struct Aggregation {
    /// An epoch: the time since ACKs last came no faster than the estimated rate, and the segments of it.
    epoch_start: Time,
    epoch_acked: u64,
    /// The largest excess in this span of round trips and in the one before.
    extra: [u64; 2],
    current: usize,
    rounds: u32,
}

impl Aggregation {
    pub(super) const fn new() -> Self {
        Self { epoch_start: Time::ZERO, epoch_acked: 0, extra: [0; 2], current: 0, rounds: 0 }
    }

    /// Sending begins or resumes: so does an epoch.
    pub(super) fn restart(&mut self, now: Time) {
        self.epoch_start = now;
        self.epoch_acked = 0;
    }

    /// The largest excess, in segments.
    pub(super) fn extra(&self) -> u64 {
        self.extra[0].max(self.extra[1])
    }

    /// A round trip ends. A span has `length` of them.
    pub(super) fn end_round(&mut self, length: u32) {
        self.rounds += 1;
        if self.rounds >= length {
            self.rounds = 0;
            self.current = 1 - self.current;
            self.extra[self.current] = 0;
        }
    }

    /// `acked` segments were delivered at `now`, where `bandwidth` was expected. The window is `window`.
    pub(super) fn observe(&mut self, now: Time, bandwidth: u64, acked: u32, window: u32) {
        let acked = u64::from(acked);
        let epoch = micros_between(self.epoch_start, now);
        let mut expected = bandwidth.saturating_mul(epoch) / BANDWIDTH_UNIT;
        if self.epoch_acked <= expected || self.epoch_acked + acked >= LONGEST_EPOCH {
            self.restart(now);
            expected = 0;
        }
        self.epoch_acked += acked;
        let extra = self.epoch_acked.saturating_sub(expected).min(u64::from(window));
        self.extra[self.current] = self.extra[self.current].max(extra);
    }
}

#[cfg(test)]
mod tests {
    use units::Span;

    use super::*;

    /// A segment a millisecond.
    const RATE: u64 = BANDWIDTH_UNIT / 1000 + 1;

    fn ms(n: u64) -> Time {
        Time::ZERO + Span::from_millis(n)
    }

    #[test]
    fn a_train_counts_what_it_is_ahead_of_the_rate() {
        let mut aggregation = Aggregation::new();
        // At 10 ms ten are expected and none came: an epoch begins with these 12. A millisecond later 4 more: 16, less
        // one expected.
        aggregation.observe(ms(10), RATE, 12, 100);
        assert_eq!(aggregation.extra(), 12);
        aggregation.observe(ms(11), RATE, 4, 100);
        assert_eq!(aggregation.extra(), 15);
        // 20 ms later 21 are expected, and 16 came: a new epoch.
        aggregation.observe(ms(31), RATE, 2, 100);
        assert_eq!((aggregation.extra(), aggregation.epoch_acked), (15, 2));
    }

    #[test]
    fn the_window_bounds_what_one_epoch_may_add() {
        let mut aggregation = Aggregation::new();
        aggregation.observe(ms(0), RATE, 50, 20);
        assert_eq!(aggregation.extra(), 20);
    }

    #[test]
    fn the_largest_is_forgotten_after_two_spans() {
        let mut aggregation = Aggregation::new();
        aggregation.observe(ms(10), RATE, 12, 100);
        (0..9).for_each(|_| aggregation.end_round(5));
        assert_eq!(aggregation.extra(), 12);
        aggregation.end_round(5);
        assert_eq!(aggregation.extra(), 0);
    }
}
