//! The round-trip times of SIAD: the base RTT at present, and the RTT at a loss.

use units::Span;

/// RTTs closer than this are the same: below the tick of any clock, above the rounding of an exact one.
const TOLERANCE: Span = Span::from_nanos(999);

/// The RTT estimates of section III.B. Spans that are not known yet are [`Span::MAX`].
#[derive(Clone, Copy, Debug)]
pub(super) struct BaseRtt {
    /// RTT_min: the RTT of the path while its queue is empty. No minimum over the connection: it also rises.
    pub(super) minimum: Span,
    /// RTT_epoch: the smallest sample since the last regular decrease.
    pub(super) of_epoch: Span,
    /// RTT_curr: the smaller one of the last two samples (after (7)).
    pub(super) current: Span,
    previous: Span,
    guard: Guard,
}

impl BaseRtt {
    pub(super) const UNKNOWN: Self = Self {
        minimum: Span::MAX,
        of_epoch: Span::MAX,
        current: Span::MAX,
        previous: Span::MAX,
        guard: Guard { risen: [Span::ZERO; 3], count: 0 },
    };

    /// Takes a sample. `grown` says that the window has grown for about one RTT since it was reduced. Returns whether
    /// the sample shows that the queue has been empty.
    pub(super) fn observe(&mut self, sample: Span, grown: bool) -> bool {
        self.current = sample.min(self.previous);
        self.previous = sample;
        if at_most(sample, self.minimum) {
            self.minimum = sample.min(self.minimum);
            self.of_epoch = self.minimum;
            return true;
        }
        // Seen again after a round trip of growth, the smallest RTT of the epoch shows an empty queue: it may be a
        // larger one.
        if at_most(sample, self.of_epoch) {
            self.of_epoch = sample.min(self.of_epoch);
            if grown {
                self.minimum = self.of_epoch;
                return true;
            }
        }
        false
    }

    /// The part of `window` that the path itself holds: (7), window * RTT_min/RTT_curr, not rounded. `None` without a
    /// sample.
    pub(super) fn without_backlog(&self, window: f64) -> Option<f64> {
        // In this order whole segments stay whole.
        let left = window * self.minimum.as_nanos() as f64 / self.current.as_nanos() as f64;
        (self.current != Span::MAX).then_some(left.min(window))
    }

    /// The mean of RTT_min and RTT_curr: the coming epoch leads from one to the other.
    pub(super) fn expected_mean(&self) -> Option<Span> {
        (self.current != Span::MAX).then(|| (self.minimum + self.current) / 2)
    }

    /// A congestion event: a base RTT that rose over four events in a row goes back to where it rose from.
    pub(super) fn guard_against_creeping(&mut self) {
        self.minimum = self.guard.check(self.minimum);
    }

    /// The last congestion event, until which all was as `before`, was spurious: only samples since then stay.
    pub(super) fn take_event_back(&mut self, before: &Self) {
        if self.guard.last() == Some(self.minimum) {
            self.minimum = before.minimum;
        }
        self.guard = before.guard;
        self.of_epoch = before.of_epoch;
    }
}

/// True if `a <= b` on the clock.
fn at_most(a: Span, b: Span) -> bool {
    a.saturating_sub(TOLERANCE) <= b
}

/// The base RTTs of successive congestion events, as long as they rise.
#[derive(Clone, Copy, Debug)]
struct Guard {
    risen: [Span; 3],
    count: usize,
}

impl Guard {
    /// The base RTT that the last event was given.
    fn last(&self) -> Option<Span> {
        self.count.checked_sub(1).map(|n| self.risen[n])
    }

    /// The base RTT to use from an event on, of which `minimum` is the estimate.
    fn check(&mut self, minimum: Span) -> Span {
        let last = self.last();
        match last {
            Some(last) if minimum == last => minimum,
            Some(last) if minimum > last && self.count == self.risen.len() => {
                self.count = 1;
                self.risen[0]
            }
            _ => {
                if last.is_some_and(|last| minimum < last) {
                    self.count = 0;
                }
                self.risen[self.count] = minimum;
                self.count += 1;
                minimum
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Span {
        Span::from_millis(millis)
    }

    fn known(minimum: u64, of_epoch: u64) -> BaseRtt {
        BaseRtt { minimum: ms(minimum), of_epoch: ms(of_epoch), ..BaseRtt::UNKNOWN }
    }

    #[test]
    fn the_current_rtt_is_the_smaller_one_of_two_samples() {
        let mut rtt = known(100, 100);
        let mut current = [0; 5].map(|_| Span::ZERO);
        for (seen, sample) in current.iter_mut().zip([130, 170, 140, 150, 160]) {
            rtt.observe(ms(sample), false);
            *seen = rtt.current;
        }
        assert_eq!(current, [130, 130, 140, 140, 150].map(ms));
    }

    #[test]
    fn a_sample_as_small_as_the_base_rtt_shows_an_empty_queue() {
        let mut rtt = known(100, 120);
        assert!(!rtt.observe(ms(101), false));
        assert!(rtt.observe(ms(100), false));
        assert!(rtt.observe(ms(98), false));
        assert_eq!((rtt.minimum, rtt.of_epoch), (ms(98), ms(98)));
    }

    #[test]
    fn the_base_rtt_rises_when_the_smallest_sample_of_the_epoch_is_seen_again_a_round_trip_later() {
        let mut rtt = BaseRtt { minimum: ms(100), ..BaseRtt::UNKNOWN };
        assert!(!rtt.observe(ms(140), false), "the first of the epoch");
        assert!(!rtt.observe(ms(141), true), "not the smallest");
        assert!(!rtt.observe(ms(140), false), "too early");
        assert_eq!(rtt.minimum, ms(100));
        assert!(rtt.observe(ms(140), true));
        assert_eq!(rtt.minimum, ms(140));
    }

    #[test]
    fn samples_of_an_exact_clock_agree_within_a_microsecond_and_do_not_drift() {
        let mut rtt = known(100, 100);
        for _ in 0..10 {
            assert!(rtt.observe(ms(100) + Span::from_nanos(999), false));
        }
        assert_eq!(rtt.minimum, ms(100));
        assert!(!rtt.observe(ms(100) + Span::from_nanos(1000), false));
    }

    #[test]
    fn the_backlog_is_the_share_of_the_window_by_which_the_rtt_exceeds_the_base_rtt() {
        let mut rtt = known(100, 100);
        assert_eq!((rtt.without_backlog(126.0), rtt.expected_mean()), (None, None));
        rtt.observe(ms(150), false);
        rtt.observe(ms(190), false);
        assert_eq!((rtt.without_backlog(126.0), rtt.expected_mean()), (Some(84.0), Some(ms(125))));
    }

    #[test]
    fn the_guard_returns_to_the_first_of_three_rising_base_rtts_at_the_fourth() {
        let mut guard = Guard { risen: [Span::ZERO; 3], count: 0 };
        let given = [40, 42, 42, 44, 46, 41, 43, 39, 40, 41, 42];
        // 46 is the fourth in a row and gives 40; from there 41 and 43 rise; 39 falls and begins anew, 42 is its
        // fourth.
        let used = [40, 42, 42, 44, 40, 41, 43, 39, 40, 41, 39];
        assert_eq!(given.map(|minimum| guard.check(ms(minimum))), used.map(ms));
    }
}
