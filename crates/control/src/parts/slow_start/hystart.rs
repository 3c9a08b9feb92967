//! HyStart: leaving slow start before the queue overflows (Ha and Rhee, "Taming the elephants: new TCP slow start",
//! Computer Networks 55(9), 2011), with the constants of current Linux.
//!
//! Two signs, looked for once the window has [`LOW_WINDOW`] segments, end slow start: a train of closely spaced
//! ACKs that lasts half the minimum RTT, as then the window fills the pipe, or a smallest RTT of the round that is
//! clearly above the minimum RTT, as then a queue builds.
//!
//! Linux takes the smallest of all RTTs of a round since 5.8. Before, the smallest of the first eight stayed, which
//! leaves slow start on a queue that has drained meanwhile: `first_samples`.
//!
//! A stack whose segments leave in trains allows for them in the length of an ACK train (in Linux since 5.6).

use units::{Span, Time};

use crate::Ack;

/// Below this window slow start goes on, segments.
const LOW_WINDOW: f64 = 16.0;
/// ACKs at most this far apart belong to one train.
const TRAIN_SPACING: Span = Span::from_millis(2);
/// RTT samples of a round before its smallest is trusted.
const SAMPLES: u32 = 8;
/// How far above the minimum the smallest RTT of a round may be: a part of it, within these bounds.
const LEAST_RISE: Span = Span::from_millis(4);
const GREATEST_RISE: Span = Span::from_millis(16);

/// The sign that ended slow start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Found {
    Nothing = 0,
    AckTrain = 1,
    Delay = 2,
}

/// The search of one slow start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HyStart {
    ack_train: bool,
    delay: bool,
    divisor: u64,
    /// Only the first [`SAMPLES`] RTTs of a round count.
    first_samples: bool,
    round_start: Time,
    last_of_train: Time,
    round_rtt: Span,
    samples: u32,
    found: Found,
}

impl HyStart {
    /// Looks for either sign, or one of them. `divisor`: how small a part of the minimum RTT is a rise (8 in current
    /// Linux). `first_samples`: whether only the first eight RTTs of a round count for its smallest.
    pub(crate) fn new(ack_train: bool, delay: bool, divisor: u32, first_samples: bool) -> Self {
        Self {
            ack_train,
            delay,
            divisor: u64::from(divisor),
            first_samples,
            round_start: Time::ZERO,
            last_of_train: Time::ZERO,
            round_rtt: Span::MAX,
            samples: 0,
            found: Found::Nothing,
        }
    }

    /// A slow start begins.
    pub(crate) fn restart(&mut self, now: Time) {
        self.found = Found::Nothing;
        self.begin_round(now);
    }

    /// What ended slow start.
    pub(crate) fn found(&self) -> Found {
        self.found
    }

    /// An ACK in slow start: whether slow start should end now. `allowance` is for trains of the stack.
    pub(crate) fn observe(&mut self, now: Time, ack: &Ack, window: f64, allowance: Span) -> bool {
        if self.found != Found::Nothing {
            return false;
        }
        if ack.round_start {
            self.begin_round(now);
        }
        let Some(rtt) = ack.rtt else { return false };
        if window < LOW_WINDOW {
            return false;
        }
        if self.ack_train && now.since(self.last_of_train) <= TRAIN_SPACING {
            self.last_of_train = now;
            if now.since(self.round_start) > (ack.min_rtt + allowance) / 2 {
                self.found = Found::AckTrain;
            }
        }
        if self.delay {
            if self.samples < SAMPLES || !self.first_samples {
                self.round_rtt = self.round_rtt.min(rtt.value);
            }
            if self.samples < SAMPLES {
                self.samples += 1;
            } else if self.round_rtt > ack.min_rtt + (ack.min_rtt / self.divisor).clamp(LEAST_RISE, GREATEST_RISE) {
                self.found = Found::Delay;
            }
        }
        self.found != Found::Nothing
    }

    fn begin_round(&mut self, now: Time) {
        self.round_start = now;
        self.last_of_train = now;
        self.round_rtt = Span::MAX;
        self.samples = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, rtt};

    /// ACKs of one round, `spacing` ms apart, with RTT `millis` on a path of `base`: after how many the search
    /// ends, and why.
    fn round(spacing: u64, millis: u64, base: u64, window: f64) -> Option<(usize, Found)> {
        let mut hystart = HyStart::new(true, true, 8, false);
        let ack = Ack { rtt: rtt(millis), min_rtt: Span::from_millis(base), ..ack() };
        let start = Time::from_nanos(1_000_000_000);
        (0..100).find_map(|n: u64| {
            let now = start + Span::from_millis(spacing) * n;
            let ends = hystart.observe(now, &Ack { round_start: n == 0, ..ack }, window, Span::ZERO);
            ends.then_some((n as usize + 1, hystart.found()))
        })
    }

    #[test]
    fn a_train_longer_than_half_the_minimum_rtt_ends_slow_start() {
        // More than 20 ms after the first ACK: the 22nd at 1 ms spacing, the 12th at 2 ms.
        assert_eq!(round(1, 40, 40, 30.0), Some((22, Found::AckTrain)));
        assert_eq!(round(2, 40, 40, 30.0), Some((12, Found::AckTrain)));
        assert_eq!(round(3, 40, 40, 30.0), None);
    }

    #[test]
    fn eight_samples_above_the_threshold_end_slow_start_at_the_ninth() {
        // The allowed rise: an eighth of 40 is 5; of 16 it is 2, raised to 4; of 200 it is 25, lowered to 16.
        for (base, allowed) in [(40, 45), (16, 20), (200, 216)] {
            assert_eq!(round(5, allowed, base, 30.0), None, "{base}");
            assert_eq!(round(5, allowed + 1, base, 30.0), Some((9, Found::Delay)), "{base}");
        }
    }

    #[test]
    fn a_larger_divisor_allows_a_smaller_rise() {
        // A sixteenth of 160 ms is 10.
        for (millis, expected) in [(170, false), (171, true)] {
            let mut hystart = HyStart::new(false, true, 16, false);
            let ack = Ack { rtt: rtt(millis), min_rtt: Span::from_millis(160), ..ack() };
            assert_eq!((0..9).any(|_| hystart.observe(Time::ZERO, &ack, 30.0, Span::ZERO)), expected, "{millis}");
        }
    }

    #[test]
    fn a_queue_that_drains_after_eight_samples_counts_in_linux_of_old() {
        // Eight RTTs of 60 ms on a path of 40, where 45 are allowed. The ninth is 41.
        for (first_samples, ends) in [(false, None), (true, Some(8))] {
            let mut hystart = HyStart::new(false, true, 8, first_samples);
            let ended = (0..12).find(|&n| {
                let ack = Ack { rtt: rtt(if n < 8 { 60 } else { 41 }), min_rtt: Span::from_millis(40), ..ack() };
                hystart.observe(Time::ZERO, &ack, 30.0, Span::ZERO)
            });
            assert_eq!(ended, ends);
        }
    }

    #[test]
    fn a_window_below_sixteen_goes_on() {
        assert_eq!(round(1, 80, 40, 15.9), None);
    }

    #[test]
    fn each_sign_can_be_left_out() {
        let start = Time::from_nanos(1_000_000_000);
        let mut neither = HyStart::new(false, false, 8, false);
        for n in 0..100 {
            let now = start + Span::from_millis(1) * n;
            assert!(!neither.observe(now, &Ack { rtt: rtt(80), round_start: n == 0, ..ack() }, 30.0, Span::ZERO));
        }
    }

    #[test]
    fn a_new_round_starts_the_count_anew() {
        let mut hystart = HyStart::new(false, true, 8, false);
        for n in 0..40 {
            assert!(
                !hystart.observe(Time::ZERO, &Ack { rtt: rtt(80), round_start: n % 8 == 0, ..ack() }, 30.0, Span::ZERO),
                "{n}"
            );
        }
    }
}
