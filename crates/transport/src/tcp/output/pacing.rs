//! Pacing: when the next segment may leave.

use units::{Bytes, Rate, Span, Time};

use crate::Pacing;

/// The pacer of a sender, which lets everything pass while there is no rate.
///
/// Segments leave in trains (bursts): all of one at once, and the next one when it would have left at the rate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pacer {
    /// Zero while there is none.
    rate: Rate,
    /// When the next train may begin.
    next: Time,
    /// How much of its lateness the running train may still make up for.
    credit: Span,
    /// Segments of a train, and segments left in the running one.
    quantum: u16,
    left: u16,
    kind: Pacing,
}

impl Pacer {
    /// One that paces as `kind` says.
    pub(super) fn new(kind: Pacing) -> Self {
        Self { rate: Rate::default(), next: Time::ZERO, credit: Span::ZERO, quantum: 1, left: 0, kind }
    }

    /// The first train may begin at `now`: until then it was not late.
    pub(super) fn begin(&mut self, now: Time) {
        self.next = now;
    }

    /// The next train may begin at `now` already.
    pub(super) fn begin_anew(&mut self, now: Time) {
        self.next = self.next.min(now);
    }

    /// From now on segments leave at `rate`.
    pub(super) fn set_rate(&mut self, rate: Option<Rate>) {
        self.rate = rate.map_or(Rate::default(), |rate| rate.max(Rate::from_bits_per_second(1)));
    }

    /// From the next train on as many `segments` leave in one, but at least one.
    pub(super) fn set_quantum(&mut self, segments: u32) {
        self.quantum = segments.clamp(1, u16::MAX.into()) as u16;
    }

    /// True if there is a rate.
    pub(super) fn is_on(&self) -> bool {
        !self.rate.is_zero()
    }

    /// True if the next segment has to wait until [`next`](Self::next).
    pub(super) fn blocks(&self, now: Time) -> bool {
        self.next > now && self.left == 0
    }

    /// When the next train may begin.
    pub(super) fn next(&self) -> Time {
        self.next
    }

    /// How many segments of the train have yet to leave.
    pub(super) fn left(&self) -> u32 {
        self.left.into()
    }

    /// How many segments a train that begins now waits for at most, if it may wait.
    pub(super) fn awaited(&self) -> Option<u32> {
        (self.kind == Pacing::Linux && self.left == 0).then_some(self.quantum.into())
    }

    /// Nothing more leaves now, or what leaves next is no new segment: in Linux the train is over.
    pub(super) fn end_train(&mut self) {
        if self.kind == Pacing::Linux {
            self.left = 0;
        }
    }

    /// A segment with `size` of payload leaves now: rates do not count headers, as in Linux.
    #[inline(never)]
    pub(super) fn on_sent(&mut self, now: Time, size: Bytes) {
        if self.next <= now {
            // A train that was not finished in its time is over.
            self.credit = if self.kind == Pacing::Linux { now.since(self.next) } else { Span::ZERO };
            self.next = now;
            self.left = self.quantum;
        }
        self.left = self.left.saturating_sub(1);
        let takes = self.rate.time_for(size);
        let made_up = self.credit.min(takes / 2);
        self.credit = self.credit - made_up;
        self.next += takes - made_up;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A millisecond for each segment of 1000 bytes.
    fn pacer(quantum: u32) -> Pacer {
        pacer_of(Pacing::Exact, quantum)
    }

    fn pacer_of(kind: Pacing, quantum: u32) -> Pacer {
        let mut pacer = Pacer::new(kind);
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
        // The two took until 2 ms. At 5 ms a burst of three begins, not of four.
        assert_eq!(leave(&mut pacer, 5, 10), 3);
    }

    #[test]
    fn single_segments_leave_at_the_rate() {
        let mut pacer = pacer(0);
        let sent: Vec<u32> = (0..3).map(|ms| leave(&mut pacer, ms, 10)).collect();
        assert_eq!(sent, [1, 1, 1]);
    }

    // As tcp_update_skb_after_send in Linux.
    #[test]
    fn in_linux_a_train_makes_up_for_its_lateness_by_half_its_time_at_most() {
        let at = |micros: u64| Time::from_nanos(micros * 1000);
        let mut pacer = pacer_of(Pacing::Linux, 2);
        let mut train_at = |micros: u64| {
            assert!(!pacer.blocks(at(micros)));
            pacer.on_sent(at(micros), Bytes::new(1000));
            pacer.on_sent(at(micros), Bytes::new(1000));
            assert!(pacer.blocks(at(micros)));
            pacer.next()
        };
        // Two milliseconds a train. The second is 3 ms late, and makes up for one. The third is on time, and the fourth
        // makes up for all of its 0.4 ms.
        assert_eq!([0, 5000, 6000, 8400].map(&mut train_at), [2000, 6000, 8000, 10_000].map(at));
    }

    #[test]
    fn in_linux_a_train_that_is_cut_short_is_over() {
        for (kind, at_once, later) in [(Pacing::Exact, 2, 0), (Pacing::Linux, 0, 3)] {
            let mut pacer = pacer_of(kind, 3);
            assert_eq!(leave(&mut pacer, 0, 1), 1);
            pacer.end_train();
            assert_eq!((leave(&mut pacer, 0, 10), leave(&mut pacer, 1, 10)), (at_once, later), "{kind:?}");
        }
    }
}
