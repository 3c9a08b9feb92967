//! SampleRate (Bicket 2005, "Bit-rate selection in wireless networks", master's thesis, MIT), the usual adaptation of
//! Atheros drivers.
//!
//! For each rate it keeps an average of how long a frame takes, retries and backoffs included, and sends at the rate
//! with the shortest. One frame in ten goes at another rate that could be faster if no frame were lost, and whose last
//! four frames did not all fail. What is older than ten seconds is forgotten. Times are reckoned for a nominal size, of
//! small and of large frames apart. It cannot tell collisions from noise.

use units::{Random, Span, Time};

use super::{Nominal, RateControl, Report};

/// The share of a new frame in the average.
const GAIN: f64 = 0.05;
/// One frame in so many samples another rate.
const SAMPLE_EVERY: u32 = 10;
/// Frames that failed in a row, after which a rate is left alone.
const MOST_FAILURES: u32 = 4;
/// After this time statistics are forgotten.
const EXPIRY: Span = Span::from_secs(10);

/// What is known of a rate.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    /// Average time of a frame in microseconds; `None` before the first.
    average: Option<f64>,
    failures: u32,
    last: Time,
}

/// What is known for frames of one size class.
#[derive(Clone, Debug)]
struct Class {
    rates: Vec<Known>,
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

impl SampleRate {
    pub(crate) fn new(nominal: Nominal) -> Self {
        let rates = nominal.ladder.len();
        let class = Class { rates: vec![Known::default(); rates], frames: 0, current: rates - 1 };
        Self { nominal, classes: [class.clone(), class] }
    }

    /// The rate with the shortest average; the fastest one that has not failed before any is known.
    fn best(&self, class: usize) -> usize {
        let rates = &self.classes[class].rates;
        let known = rates.iter().enumerate().filter_map(|(rate, known)| Some((rate, known.average?)));
        let best = known.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(rate, _)| rate);
        best.or_else(|| rates.iter().rposition(|known| known.failures < MOST_FAILURES)).unwrap_or(0)
    }

    /// Another rate that may be faster than the average of `best`.
    fn sample(&self, class: usize, best: usize, random: &mut Random) -> Option<usize> {
        let rates = &self.classes[class].rates;
        let average = rates[best].average?;
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
        let class = Nominal::class(bytes);
        if tries == 0 {
            for known in self.classes[class].rates.iter_mut().filter(|known| now.since(known.last) > EXPIRY) {
                *known = Known::default();
            }
            let best = self.best(class);
            self.classes[class].frames += 1;
            let samples = self.classes[class].frames.is_multiple_of(SAMPLE_EVERY);
            let other = if samples { self.sample(class, best, random) } else { None };
            self.classes[class].current = other.unwrap_or(best);
        }
        self.nominal.ladder[self.classes[class].current]
    }

    fn report(&mut self, now: Time, attempt: &Report) {
        if !attempt.last {
            return;
        }
        let class = Nominal::class(attempt.bytes);
        let rate = self.classes[class].current;
        let attempts = f64::from(attempt.tries + 1);
        // Of an A-MPDU each frame that was lost is sent again.
        let again = f64::from(attempt.frames) / f64::from(attempt.acknowledged.max(1));
        let micros = self.nominal.micros(class, rate, attempt.tries + 1) * (again / attempts).max(1.0);
        let known = &mut self.classes[class].rates[rate];
        known.last = now;
        known.failures = if attempt.acknowledged > 0 { 0 } else { known.failures + 1 };
        known.average = Some(known.average.map_or(micros, |average| average + GAIN * (micros - average)));
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
        // 48 and 54 Mbit/s never work: after one frame of seven attempts the average of 54 is worse than all others.
        let mut link = OneAnswer::new(SampleRate::new(nominal()));
        let used = link.frames(400, |mode| mode < 6);
        let late = &used[200..];
        let at_36 = late.iter().filter(|&&mode| mode == 5).count();
        assert!(at_36 * 10 >= late.len() * 9, "{at_36} of {}", late.len());
    }

    #[test]
    fn one_frame_in_ten_tries_a_rate_that_could_be_faster() {
        // 54 Mbit/s needs two attempts for each frame, about 560 us, so that 36 and 48 may be faster.
        let mut link = OneAnswer::new(SampleRate::new(nominal()));
        let mut odd = false;
        let used = link.frames(30, |mode| {
            odd = !odd;
            mode != 7 || !odd
        });
        assert!(used.iter().any(|&mode| mode != 7), "{used:?}");
    }
}
