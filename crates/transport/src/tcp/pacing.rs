//! Pacing: when the next segment may leave.

use units::{Bytes, Rate, Time};

/// The pacer of a sender, which lets everything pass while there is no rate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pacer {
    rate: Option<Rate>,
    /// When the next burst may begin.
    next: Time,
    /// Segments that leave in one burst, and those of the running one that are left.
    quantum: u32,
    left: u32,
}

impl Default for Pacer {
    fn default() -> Self {
        Self { rate: None, next: Time::ZERO, quantum: 1, left: 0 }
    }
}

impl Pacer {
    /// Nothing leaves before `at`.
    pub(super) fn hold_until(&mut self, at: Time) {
        self.next = at;
    }

    /// From now on segments leave at `rate`.
    pub(super) fn set_rate(&mut self, rate: Option<Rate>) {
        self.rate = rate;
    }

    /// From the next burst on as many `segments` leave in one, but at least one.
    pub(super) fn set_quantum(&mut self, segments: u32) {
        self.quantum = segments.max(1);
    }

    /// Whether there is a rate.
    pub(super) fn is_on(&self) -> bool {
        self.rate.is_some()
    }

    /// Whether the next segment has to wait until [`next`](Self::next).
    pub(super) fn blocks(&self, now: Time) -> bool {
        self.next > now && self.left == 0
    }

    /// When the next burst may begin.
    pub(super) fn next(&self) -> Time {
        self.next
    }

    /// A segment with `size` of payload leaves now: rates do not count headers, as in Linux.
    #[inline(never)]
    pub(super) fn on_sent(&mut self, now: Time, size: Bytes) {
        let Some(rate) = self.rate else { return };
        if self.next <= now {
            // A burst that was not finished in its time is over.
            self.next = now;
            self.left = self.quantum;
        }
        self.left = self.left.saturating_sub(1);
        self.next += rate.time_for(size);
    }
}

#[cfg(test)]
mod tests {
    use units::Span;

    use super::*;

    /// A millisecond for each segment of 1000 bytes.
    fn pacer(quantum: u32) -> Pacer {
        let mut pacer = Pacer::default();
        pacer.set_rate(Some(Rate::from_bits_per_second(8_000_000)));
        pacer.set_quantum(quantum);
        pacer
    }

    /// How many of `wanted` segments may leave at `ms`.
    fn leave(pacer: &mut Pacer, ms: u64, wanted: u32) -> u32 {
        let now = Time::ZERO + Span::from_millis(ms);
        let mut left = 0;
        while left < wanted && !pacer.blocks(now) {
            pacer.on_sent(now, Bytes::new(1000));
            left += 1;
        }
        left
    }

    #[test]
    fn a_burst_leaves_at_once_and_waits_for_all_of_it() {
        let mut pacer = pacer(3);
        let sent: Vec<u32> = (0..7).map(|ms| leave(&mut pacer, ms, 10)).collect();
        assert_eq!(sent, [3, 0, 0, 3, 0, 0, 3]);
        assert_eq!(leave(&mut pacer, 6, 1), 0);
    }

    #[test]
    fn what_a_burst_left_over_is_lost_after_its_time() {
        let mut pacer = pacer(3);
        assert_eq!(leave(&mut pacer, 0, 1), 1);
        assert_eq!(leave(&mut pacer, 0, 1), 1, "the rest of the burst may follow");
        // The two took until 2 ms; at 5 ms a burst of three begins, not of four.
        assert_eq!(leave(&mut pacer, 5, 10), 3);
    }

    #[test]
    fn single_segments_leave_at_the_rate() {
        let mut pacer = pacer(0);
        let sent: Vec<u32> = (0..3).map(|ms| leave(&mut pacer, ms, 10)).collect();
        assert_eq!(sent, [1, 1, 1]);
    }
}
