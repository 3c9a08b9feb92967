//! SEARCH (draft-chung-ccwg-search-09): slow start ends where delivery no longer keeps up with the segments sent a
//! round trip before. Both are counted in bins over a window of 3.5 initial RTTs, which evens out what links do.
//!
//! The window is of ten bins. At the end of each, the segments delivered in the window are compared with those sent in
//! the window of one RTT ago: more than 26 % less ends slow start. An RTT that is no whole number of bins is
//! interpolated between the two windows next to it.
//!
//! As in the draft's implementations, bins that were skipped for a whole window begin anew. Differences: the draft's
//! optional reduction to the capacity of the path without a queue is left out, and segments are counted in whole
//! numbers, without the draft's shifts.

use units::{Span, Time};

use super::Step;
use crate::Ack;

/// W, bins of a window.
const WINDOW: usize = 10;
/// Bins by which the RTT may look further back.
const EXTRA: usize = 15;
const SENT: usize = WINDOW + 1 + EXTRA;
const ACKED: usize = WINDOW + 1;

/// The search of one slow start.
#[derive(Clone, Copy, Debug)]
pub(super) struct Search {
    /// WINDOW_SIZE_FACTOR and THRESH.
    factor: f64,
    threshold: f64,
    /// Segments sent and delivered by the end of each bin, as rings.
    sent: [u64; SENT],
    acked: [u64; ACKED],
    bin: Span,
    /// The end of the present bin, `None` before the first ACK.
    end: Option<Time>,
    index: usize,
}

impl Search {
    pub(super) const fn new(factor: f64, threshold: f64) -> Self {
        let (sent, acked) = ([0; SENT], [0; ACKED]);
        Self { factor, threshold, sent, acked, bin: Span::ZERO, end: None, index: 0 }
    }

    /// An ACK in slow start.
    pub(super) fn observe(&mut self, now: Time, ack: &Ack) -> Step {
        let Some(rtt) = ack.rtt else { return Step::grow(1.0) };
        let Some(end) = self.end else {
            self.begin(now, ack, rtt.value);
            return Step::grow(1.0);
        };
        if now <= end {
            return Step::grow(1.0);
        }
        let passed = (now.since(end).as_nanos() / self.bin.as_nanos() + 1) as usize;
        if passed > WINDOW {
            self.begin(now, ack, rtt.value);
            return Step::grow(1.0);
        }
        self.fill(passed, ack);
        self.end = Some(end + self.bin * passed as u64);
        Step { growth: 1.0, ends: self.shortfall(rtt.value).is_some_and(|share| share >= self.threshold) }
    }

    fn begin(&mut self, now: Time, ack: &Ack, rtt: Span) {
        let nanos = rtt.as_nanos() as f64 * self.factor / WINDOW as f64;
        self.bin = Span::from_nanos((nanos as u64).max(1));
        self.end = Some(now + self.bin);
        self.index = 0;
        (self.sent[0], self.acked[0]) = (ack.sent_to, ack.delivered);
    }

    /// Bins without an ACK have the counts of the one before.
    fn fill(&mut self, passed: usize, ack: &Ack) {
        let (sent, acked) = (self.sent[self.index % SENT], self.acked[self.index % ACKED]);
        for index in self.index + 1..self.index + passed {
            (self.sent[index % SENT], self.acked[index % ACKED]) = (sent, acked);
        }
        self.index += passed;
        (self.sent[self.index % SENT], self.acked[self.index % ACKED]) = (ack.sent_to, ack.delivered);
    }

    /// The share of the segments sent in the window of one `rtt` ago that were not delivered in the present one. `None`
    /// if the bins do not reach that far.
    fn shortfall(&self, rtt: Span) -> Option<f64> {
        let back = (rtt.as_nanos() / self.bin.as_nanos()) as usize;
        let fraction = (rtt.as_nanos() % self.bin.as_nanos()) as f64 / self.bin.as_nanos() as f64;
        let previous = self.index.checked_sub(back).filter(|&index| index > WINDOW)?;
        if back >= EXTRA {
            return None;
        }
        let delivered = self.acked[self.index % ACKED] - self.acked[(self.index - WINDOW) % ACKED];
        let in_window_to = |index: usize| (self.sent[index % SENT] - self.sent[(index - WINDOW) % SENT]) as f64;
        let sent = in_window_to(previous - 1) * fraction + in_window_to(previous) * (1.0 - fraction);
        (sent > 0.0).then(|| ((sent - delivered as f64) / sent).max(0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, rtt};

    /// An RTT of 100 ms makes bins of 35 ms. An ACK just after the end of each, when `sent` and `delivered` segments
    /// were: the bin in which slow start ended.
    fn play(sent: impl Fn(u64) -> u64, delivered: impl Fn(u64) -> u64, millis: u64) -> Option<u64> {
        let mut search = Search::new(3.5, 0.26);
        (0..60).find(|&bin| {
            let now = Time::ZERO + Span::from_millis(1000 + 35 * bin) + Span::from_micros(bin);
            let rtt = rtt(if bin == 0 { 100 } else { millis });
            search.observe(now, &Ack { rtt, sent_to: sent(bin), delivered: delivered(bin), ..ack() }).ends
        })
    }

    #[test]
    fn while_all_that_is_sent_arrives_a_round_trip_later_it_goes_on() {
        // 100 ms are 2.86 bins.
        let sent = |bin: u64| (1000.0 * libm::exp2(bin as f64 / 2.857)) as u64;
        let delivered = |bin: u64| (1000.0 * libm::exp2((bin as f64 - 2.857) / 2.857)) as u64;
        assert_eq!(play(sent, delivered, 100), None);
    }

    #[test]
    fn where_a_quarter_of_it_is_not_delivered_it_ends() {
        // 100 segments a bin are sent and 75 or 73 delivered: short by 25 % and 27 %. A window of 10 bins and 2 to look
        // back have ended by the 13th bin, for which the earlier of both windows begins in the first.
        assert_eq!(play(|bin| 100 * bin, |bin| 75 * bin, 100), None);
        assert_eq!(play(|bin| 100 * bin, |bin| 73 * bin, 100), Some(13));
    }

    #[test]
    fn a_fraction_of_a_bin_is_interpolated() {
        // 100 ms are 2 bins and 30 / 35 of one. At bin 13 the windows end at 11 and 10. With n^2 sent by bin n these
        // are 11^2 - 1 = 120 and 10^2 = 100: 102.857. 76 delivered fall short by 26.1 %, 77 by 25.1 %.
        for (delivered, expected) in [(76, Some(13)), (77, None)] {
            let mut search = Search::new(3.5, 0.26);
            let ended = (0..=13_u64).find(|&bin| {
                let now = Time::ZERO + Span::from_millis(35 * bin) + Span::from_micros(bin);
                let delivered = if bin < 13 { 0 } else { delivered };
                search.observe(now, &Ack { rtt: rtt(100), sent_to: bin * bin, delivered, ..ack() }).ends
            });
            assert_eq!(ended, expected);
        }
    }

    #[test]
    fn an_rtt_beyond_the_bins_shows_nothing_and_a_silence_begins_anew() {
        // 15 bins are 525 ms.
        assert_eq!(play(|bin| 100 * bin, |bin| 50 * bin, 525), None);
        let mut search = Search::new(3.5, 0.26);
        let at = |bin: u64| Time::ZERO + Span::from_millis(35 * bin) + Span::from_micros(bin);
        for bin in (0..12).chain(23..36) {
            let ack = Ack { rtt: rtt(100), sent_to: 100 * bin, delivered: 50 * bin, ..ack() };
            assert!(!search.observe(at(bin), &ack).ends, "{bin}");
        }
        let ack = Ack { rtt: rtt(100), sent_to: 3600, delivered: 1800, ..ack() };
        assert!(search.observe(at(36), &ack).ends);
    }
}
