//! SampleRate (Bicket 2005, "Bit-rate selection in wireless networks", master's thesis, MIT, chapter 5).
//!
//! For each rate it keeps how long frames took within the last ten seconds, retries and backoffs included, for each one
//! that arrived, and sends at the rate with the shortest time. One frame in ten goes at another rate that would be
//! faster if no frame were lost, and whose last four frames did not all fail. Times are reckoned for a nominal size, of
//! small and of large frames apart. It cannot tell collisions from noise.

use std::collections::VecDeque;

use units::{Random, Span, Time};

use super::{Nominal, RateControl, Report};

/// One frame in so many samples another rate.
const SAMPLE_EVERY: u32 = 10;
/// Frames that failed in a row, after which a rate is left alone.
const MOST_FAILURES: u32 = 4;
/// Older frames are forgotten.
const WINDOW: Span = Span::from_secs(10);

/// The statistics of a rate.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    /// Frames within the window: how long they took in nanoseconds, how many they are, how many of them arrived.
    nanos: u64,
    frames: u32,
    arrived: u32,
    failures: u32,
}

/// A frame within the window.
#[derive(Clone, Copy, Debug)]
struct Sent {
    at: Time,
    rate: usize,
    nanos: u64,
    arrived: bool,
}

/// The statistics for frames of one size class.
#[derive(Clone, Debug)]
struct Class {
    rates: Vec<Known>,
    window: VecDeque<Sent>,
    frames: u32,
    /// The rate of the frame that is being sent, an index into the ladder.
    current: usize,
}

/// The state of SampleRate between two stations.
#[derive(Clone, Debug)]
pub(crate) struct SampleRate {
    nominal: Nominal,
    classes: [Class; 2],
}

impl Known {
    /// Nanoseconds for each frame that arrived.
    fn average(&self) -> Option<f64> {
        (self.arrived > 0).then(|| self.nanos as f64 / f64::from(self.arrived))
    }
}

impl Class {
    /// Forgets what is older than the window.
    fn forget(&mut self, now: Time) {
        while let Some(old) = self.window.pop_front_if(|first| now.since(first.at) > WINDOW) {
            let known = &mut self.rates[old.rate];
            known.nanos -= old.nanos;
            known.frames -= 1;
            known.arrived -= u32::from(old.arrived);
            if known.frames == 0 {
                known.failures = 0;
            }
        }
    }

    /// The rate with the shortest average; before any frame arrived the fastest one that may be used.
    fn best(&self) -> usize {
        let averages = self.rates.iter().enumerate().filter_map(|(rate, known)| Some((rate, known.average()?)));
        let best = averages.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(rate, _)| rate);
        best.or_else(|| self.rates.iter().rposition(|known| known.failures < MOST_FAILURES)).unwrap_or(0)
    }
}

impl SampleRate {
    pub(crate) fn new(nominal: Nominal) -> Self {
        let rates = nominal.ladder.len();
        let known = vec![Known::default(); rates];
        let class = Class { rates: known, window: VecDeque::new(), frames: 0, current: rates - 1 };
        Self { nominal, classes: [class.clone(), class] }
    }

    /// Another rate that may be faster than the average of `best`.
    fn sample(&self, class: usize, best: usize, random: &mut Random) -> Option<usize> {
        let rates = &self.classes[class].rates;
        let average = rates[best].average()? / 1e3;
        let may_be_faster = |&rate: &usize| {
            rate != best && rates[rate].failures < MOST_FAILURES && self.nominal.micros(class, rate, 1) < average
        };
        let candidates: Vec<usize> = (0..rates.len()).filter(may_be_faster).collect();
        let chosen = (random.uniform() * candidates.len() as f64) as usize;
        candidates.get(chosen).copied()
    }
}

impl RateControl for SampleRate {
    fn choose(&mut self, now: Time, tries: u32, bytes: u32, random: &mut Random) -> u8 {
        let index = Nominal::class(bytes);
        if tries == 0 {
            let class = &mut self.classes[index];
            class.forget(now);
            class.frames += 1;
            let (best, samples) = (class.best(), class.frames.is_multiple_of(SAMPLE_EVERY));
            let other = if samples { self.sample(index, best, random) } else { None };
            self.classes[index].current = other.unwrap_or(best);
        }
        self.nominal.ladder[self.classes[index].current]
    }

    fn report(&mut self, now: Time, attempt: &Report) {
        if !attempt.last {
            return;
        }
        let index = Nominal::class(attempt.bytes);
        let rate = self.classes[index].current;
        let attempts = f64::from(attempt.tries + 1);
        // Each lost frame of an A-MPDU is sent again.
        let again = f64::from(attempt.frames) / f64::from(attempt.acknowledged.max(1));
        let micros = self.nominal.micros(index, rate, attempt.tries + 1) * (again / attempts).max(1.0);
        let (nanos, arrived) = ((micros * 1e3) as u64, attempt.acknowledged > 0);
        let class = &mut self.classes[index];
        class.window.push_back(Sent { at: now, rate, nanos, arrived });
        let known = &mut class.rates[rate];
        known.nanos += nanos;
        known.frames += 1;
        known.arrived += u32::from(arrived);
        known.failures = if arrived { 0 } else { known.failures + 1 };
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{OneAnswer, nominal};
    use super::*;

    #[test]
    fn without_losses_the_fastest_rate_is_kept() {
        let mut link = OneAnswer::new(SampleRate::new(nominal()));
        assert!(link.frames(200, |_| true).iter().all(|&mode| mode == 7));
    }

    #[test]
    fn a_rate_that_always_fails_is_left_for_the_best_that_works() {
        // 48 and 54 Mbit/s never work: after four frames each that failed they are not used within the window.
        let mut link = OneAnswer::new(SampleRate::new(nominal()));
        let used = link.frames(400, |mode| mode < 6);
        assert_eq!(used[..8], [7, 7, 7, 7, 6, 6, 6, 6]);
        assert!(used[8..].iter().all(|&mode| mode == 5), "{used:?}");
    }

    #[test]
    fn a_rate_that_failed_is_tried_again_after_ten_seconds() {
        let mut link = OneAnswer::new(SampleRate::new(nominal()));
        link.frames(400, |mode| mode < 6);
        link.wait(Span::from_secs(11));
        assert_eq!(link.frames(1, |_| true), [7]);
    }

    #[test]
    fn one_frame_in_ten_tries_a_rate_that_could_be_faster() {
        // 54 Mbit/s needs two attempts for each frame: `34 + 2 * 304 + 67.5 + 139.5 = 849 us`; all above 12 Mbit/s may
        // be faster. The first sample arrives at once at 48 Mbit/s or less, and its rate is the best from then on.
        let mut link = OneAnswer::new(SampleRate::new(nominal()));
        let mut odd = false;
        let used = link.frames(30, |mode| {
            odd = !odd;
            mode != 7 || !odd
        });
        assert!(used[..9].iter().all(|&mode| mode == 7) && used[9] != 7, "{used:?}");
        assert!(used[10..19].iter().all(|&mode| mode == used[9]), "{used:?}");
    }
}
