//! The largest value of a sliding window, from three candidates: the windowed filter of Kathleen Nichols, with which
//! BBR keeps its largest delivery rate (draft-cardwell-iccrg-bbr-congestion-control-00, section 4.1.1.3).
//!
//! The candidates are the largest value, the largest since that, and the largest since the second one. When the first
//! becomes too old the second takes its place. So the memory is constant, and the answer is exact as long as new
//! candidates come often enough: one has to be younger than a quarter of the window, one than half of it.

use units::{Span, Time};

/// A value and when it was seen, in the unit of the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Candidate {
    at: u64,
    value: u64,
}

/// The filter. Empty it has the value 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WindowedMax {
    largest: Candidate,
    second: Candidate,
    third: Candidate,
}

impl WindowedMax {
    /// The largest value of the window.
    pub(crate) fn get(&self) -> u64 {
        self.largest.value
    }

    /// `value` is seen at `at`. Values older than `window` no longer count.
    pub(crate) fn update(&mut self, window: u64, at: u64, value: u64) {
        let new = Candidate { at, value };
        if value >= self.largest.value || at - self.third.at > window {
            (self.largest, self.second, self.third) = (new, new, new);
            return;
        }
        if value >= self.second.value {
            (self.second, self.third) = (new, new);
        } else if value >= self.third.value {
            self.third = new;
        }
        self.age(window, new);
    }

    /// Replaces candidates that are too old, and those that are still copies of an older one when a part of the
    /// window has passed.
    fn age(&mut self, window: u64, new: Candidate) {
        let age = new.at - self.largest.at;
        if age > window {
            (self.largest, self.second, self.third) = (self.second, self.third, new);
            if new.at - self.largest.at > window {
                (self.largest, self.second, self.third) = (self.second, self.third, new);
            }
        } else if self.second.at == self.largest.at && age > window / 4 {
            (self.second, self.third) = (new, new);
        } else if self.third.at == self.second.at && age > window / 2 {
            self.third = new;
        }
    }
}

/// The smallest time span of a sliding window, by the same filter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WindowedMin(WindowedMax);

impl WindowedMin {
    /// Whether nothing was seen yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.get() == 0
    }

    /// The smallest of the window.
    pub(crate) fn get(&self) -> Span {
        Span::from_nanos(u64::MAX - self.0.get())
    }

    /// `value` is seen at `now`. Values older than `window` no longer count.
    pub(crate) fn update(&mut self, window: Span, now: Time, value: Span) {
        let inverted = u64::MAX - value.as_nanos().min(u64::MAX - 1);
        self.0.update(window.as_nanos(), now.as_nanos(), inverted);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_counts_until_it_is_too_old() {
        let (ms, mut filter) = (Span::from_millis, WindowedMin::default());
        assert!(filter.is_empty());
        for (at, value, smallest) in [(0, 40, 40), (6, 50, 40), (10, 60, 40), (11, 60, 50), (12, 30, 30)] {
            filter.update(ms(10), Time::ZERO + ms(at), ms(value));
            assert_eq!(filter.get(), ms(smallest), "at {at} ms");
        }
    }

    /// The answers while `values` come, one a round, in a window of ten.
    fn answers(values: &[u64]) -> Vec<u64> {
        let mut filter = WindowedMax::default();
        let seen = values.iter().zip(0..).map(|(&value, at)| {
            filter.update(10, at, value);
            filter.get()
        });
        seen.collect()
    }

    #[test]
    fn the_largest_counts_for_the_length_of_the_window() {
        // 100 at round 0 counts to round 10. Then the largest since: 70 of round 3, to round 13.
        let mut values = vec![50; 15];
        (values[0], values[3]) = (100, 70);
        let mut expected = vec![100; 11];
        expected.extend([70, 70, 70, 50]);
        assert_eq!(answers(&values), expected);
    }

    #[test]
    fn a_larger_value_counts_at_once() {
        assert_eq!(answers(&[10, 30, 20, 40, 5]), [10, 30, 30, 40, 40]);
    }

    #[test]
    fn after_a_long_silence_only_the_new_value_counts() {
        let mut filter = WindowedMax::default();
        filter.update(10, 0, 100);
        filter.update(10, 11, 3);
        assert_eq!(filter.get(), 3);
    }
}
