//! Auto rate fallback (Kamerman and Monteban 1997, "WaveLAN-II: a high-performance wireless LAN for the unlicensed
//! band", Bell Labs Technical Journal 2(3)).
//!
//! After two frames without an ACK in a row the rate goes one step down. After ten ACKs in a row, or fifteen frames
//! since the last step, it goes one step up. If the first frame at the new rate is not acknowledged, it goes down again
//! at once.

use units::{Random, Time};

use super::{RateControl, Report};

/// Frames without an ACK in a row after which the rate falls.
const FAILURES: u32 = 2;
/// ACKs in a row after which it rises.
const SUCCESSES: u32 = 10;
/// Frames since the last step after which it rises.
const TIMER: u32 = 15;

/// The state of auto rate fallback.
#[derive(Clone, Debug)]
pub(crate) struct AutoRateFallback {
    /// The rates from slow to fast.
    ladder: Vec<u8>,
    at: usize,
    successes: u32,
    failures: u32,
    frames: u32,
    /// The next frame is the first after a step up.
    probing: bool,
}

impl AutoRateFallback {
    /// Begins at the fastest of the rates `ladder`, which come from slow to fast.
    pub(crate) fn new(ladder: Vec<u8>) -> Self {
        let at = ladder.len() - 1;
        Self { ladder, at, successes: 0, failures: 0, frames: 0, probing: false }
    }

    fn step(&mut self, to: usize) {
        self.probing = to > self.at;
        (self.at, self.successes, self.failures, self.frames) = (to, 0, 0, 0);
    }
}

impl RateControl for AutoRateFallback {
    fn choose(&mut self, _: Time, _: u32, _: u32, _: &mut Random) -> u8 {
        self.ladder[self.at]
    }

    fn report(&mut self, _: Time, attempt: &Report) {
        let probing = std::mem::take(&mut self.probing);
        self.frames += 1;
        if attempt.acknowledged > 0 {
            self.successes += 1;
            self.failures = 0;
            if (self.successes >= SUCCESSES || self.frames >= TIMER) && self.at + 1 < self.ladder.len() {
                self.step(self.at + 1);
            }
            return;
        }
        self.successes = 0;
        self.failures += 1;
        if (probing || self.failures >= FAILURES) && self.at > 0 {
            self.step(self.at - 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rates of frames with these fates, and the one after them.
    fn rates(control: &mut AutoRateFallback, fates: &[bool]) -> Vec<u8> {
        let mut random = Random::stream(1, "test", 0);
        let mut rates = Vec::new();
        for &acknowledged in fates {
            let mode = control.choose(Time::ZERO, 0, 1536, &mut random);
            rates.push(mode);
            let acknowledged = u32::from(acknowledged);
            let report = Report { mode, bytes: 1536, frames: 1, acknowledged, tries: 0, last: true };
            control.report(Time::ZERO, &report);
        }
        rates.push(control.choose(Time::ZERO, 0, 1536, &mut random));
        rates
    }

    #[test]
    fn two_failures_in_a_row_lower_the_rate() {
        let mut control = AutoRateFallback::new(vec![0, 1, 2]);
        assert_eq!(rates(&mut control, &[false, true, false, false, false, false]), [2, 2, 2, 2, 1, 1, 0]);
        // There is none below.
        assert_eq!(rates(&mut control, &[false, false, false]), [0, 0, 0, 0]);
    }

    #[test]
    fn ten_successes_raise_it_and_a_failure_then_lowers_it_at_once() {
        let mut control = AutoRateFallback::new(vec![0, 1, 2]);
        rates(&mut control, &[false; 4]);
        assert_eq!(rates(&mut control, &[true; 10]), [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!(rates(&mut control, &[false]), [1, 0]);
    }

    #[test]
    fn after_fifteen_frames_a_success_raises_it() {
        let mut control = AutoRateFallback::new(vec![0, 1]);
        rates(&mut control, &[false; 2]);
        let mut fates = [true; 15];
        // No ten in a row: a failure at the seventh.
        fates[6] = false;
        assert_eq!(rates(&mut control, &fates)[14..], [0, 1]);
    }

    #[test]
    fn a_step_down_is_no_probe() {
        // Down after two failures: one more does not lower it again, the second does. At the top there is no probe.
        let mut control = AutoRateFallback::new(vec![0, 1, 2, 3]);
        assert_eq!(rates(&mut control, &[false, false, false, true, false]), [3, 3, 2, 2, 2, 2]);
        let mut top = AutoRateFallback::new(vec![0, 1]);
        assert_eq!(rates(&mut top, &[true; 20])[20], 1);
        assert_eq!(rates(&mut top, &[false]), [1, 1]);
        // After fourteen frames without ten in a row it stays.
        let mut low = AutoRateFallback::new(vec![0, 1]);
        rates(&mut low, &[false; 2]);
        let fates: Vec<bool> = (0..14).map(|frame| frame % 7 != 6).collect();
        assert_eq!(rates(&mut low, &fates)[14], 0);
    }
}
