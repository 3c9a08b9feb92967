//! The rate of arrivals over a window of time, by the arrival times of feedback.

use std::collections::VecDeque;

use units::{Span, Time};

/// The arrivals within the last window.
#[derive(Clone, Debug)]
pub(super) struct ReceivedRate {
    window: Span,
    /// The time of each arrival, and its bits.
    arrivals: VecDeque<(Time, f64)>,
    /// Their sum.
    pub(super) bits: f64,
    first: Option<Time>,
}

impl ReceivedRate {
    /// A meter over `window`.
    pub(super) fn new(window: Span) -> Self {
        Self { window, arrivals: VecDeque::new(), bits: 0.0, first: None }
    }

    /// `bits` arrive at `at`.
    pub(super) fn note(&mut self, at: Time, bits: f64) {
        self.first.get_or_insert(at);
        self.arrivals.push_back((at, bits));
        self.bits += bits;
        while let Some(&(oldest, bits)) = self.arrivals.front()
            && at.since(oldest) >= self.window
        {
            self.arrivals.pop_front();
            self.bits -= bits;
        }
    }

    /// Bits a second, once a whole window has passed.
    pub(super) fn rate(&self) -> Option<f64> {
        let last = self.arrivals.back()?.0;
        (last.since(self.first?) >= self.window).then(|| self.bits / self.window.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_known_after_a_window_and_forgets_what_is_older() {
        let mut received = ReceivedRate::new(Span::from_millis(500));
        let mut rates = Vec::new();
        for n in 0..16 {
            // 1000 bits each 50 ms, and none for a second before the last five.
            let at = 50 * n + if n > 10 { 1000 } else { 0 };
            received.note(Time::ZERO + Span::from_millis(at), 1000.0);
            rates.push(received.rate());
        }
        assert_eq!((rates[9], rates[10], rates[11], rates[15]), (None, Some(20e3), Some(2e3), Some(10e3)));
    }
}
