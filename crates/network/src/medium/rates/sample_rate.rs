//! SampleRate (Bicket 2005, "Bit-rate selection in wireless networks", master's thesis, MIT, chapter 5).
//!
//! For each rate it keeps how long frames took within the last ten seconds, retries and backoffs included, for each one
//! that arrived, and sends at the rate with the shortest time. One frame in ten goes at another rate that would be
//! faster if no frame were lost, and whose last four frames did not all fail. Times are reckoned for a nominal size, of
//! small and of large frames apart. It cannot distinguish collisions from noise.

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
    /// Forgets results older than the window.
    fn forget(&mut self, now: Time) {
        while let Some(&old) = self.window.front().filter(|first| now.since(first.at) > WINDOW) {
            self.window.pop_front();
            let known = &mut self.rates[old.rate];
            known.nanos -= old.nanos;
            known.frames -= 1;
            known.arrived -= u32::from(old.arrived);
            if known.frames == 0 {
                known.failures = 0;
            }
        }
    }

    /// The rate with the shortest average. Before any frame arrived it is the fastest one that may be used.
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

    #[test]
    fn a_frame_takes_its_attempts_and_each_lost_frame_of_an_aggregate_again() {
        // One attempt at 54 Mbit/s takes 405.5 us and two take 849 us. One at 6 Mbit/s takes 2321.5 us.
        for (tries, frames, acknowledged, micros) in [
            (0, 1, 1, 405.5),
            (1, 1, 1, 849.0),
            (0, 4, 2, 811.0),
            (0, 4, 0, 1622.0),
            (1, 4, 1, 1698.0),
            (1, 4, 4, 849.0),
        ] {
            let mut control = SampleRate::new(nominal());
            control.report(Time::ZERO, &Report { mode: 7, bytes: 1536, frames, acknowledged, tries, last: true });
            let known = control.classes[1].rates[7];
            let arrived = u32::from(acknowledged > 0);
            assert_eq!((known.nanos as f64 / 1e3, known.frames, known.arrived), (micros, 1, arrived));
            assert_eq!(known.failures, 1 - arrived);
            assert_eq!(known.average(), (arrived > 0).then_some(micros * 1e3));
        }
        let mut control = SampleRate::new(nominal());
        let report = Report { mode: 7, bytes: 1536, frames: 1, acknowledged: 0, tries: 0, last: false };
        control.report(Time::ZERO, &report);
        assert_eq!(control.classes[1].rates[7].frames, 0, "it goes on");
    }

    #[test]
    fn frames_older_than_the_window_are_forgotten_with_their_failures() {
        let mut control = SampleRate::new(nominal());
        let at = |ms| Time::ZERO + Span::from_millis(ms);
        let lost = Report { mode: 7, bytes: 1536, frames: 1, acknowledged: 0, tries: 0, last: true };
        control.report(at(0), &lost);
        control.report(at(1), &Report { acknowledged: 1, ..lost });
        control.report(at(2), &lost);
        let known = |control: &SampleRate| {
            let Known { frames, arrived, failures, nanos } = control.classes[1].rates[7];
            (frames, arrived, failures, nanos / 100)
        };
        assert_eq!(known(&control), (3, 1, 1, 12_165));
        for (now, expected) in
            [(10_000, (3, 1, 1, 12_165)), (10_001, (2, 1, 1, 8110)), (10_002, (1, 0, 1, 4055)), (10_003, (0, 0, 0, 0))]
        {
            control.classes[1].forget(at(now));
            assert_eq!(known(&control), expected, "{now}");
        }
    }

    #[test]
    fn only_rates_that_may_be_faster_and_do_not_fail_are_sampled() {
        let mut control = SampleRate::new(nominal());
        let mut random = Random::stream(1, "rates", 0);
        assert_eq!(control.sample(1, 7, &mut random), None, "nothing is known");
        // 24 Mbit/s takes 1241.5 us on average: one attempt at 12 Mbit/s takes as long, at 18 and more it is faster.
        control.classes[1].rates[4] = Known { nanos: 2_483_000, frames: 2, arrived: 2, failures: 0 };
        control.classes[1].rates[7].failures = 4;
        control.classes[1].rates[6].failures = 3;
        let mut seen = [0; 8];
        (0..3000).for_each(|_| seen[control.sample(1, 4, &mut random).unwrap()] += 1);
        // A thousand each, with a standard deviation of 26.
        assert!([3, 5, 6].iter().all(|&rate| (850..1150).contains(&seen[rate])), "{seen:?}");
        assert_eq!(seen.iter().sum::<i32>(), seen[3] + seen[5] + seen[6]);
    }

    #[test]
    fn before_any_frame_arrived_the_fastest_that_does_not_fail_is_best() {
        let mut class = SampleRate::new(nominal()).classes[1].clone();
        assert_eq!(class.best(), 7);
        class.rates[7].failures = 4;
        class.rates[6].failures = 3;
        assert_eq!(class.best(), 6);
        class.rates.iter_mut().for_each(|known| known.failures = 4);
        assert_eq!(class.best(), 0);
        class.rates[2] = Known { nanos: 100, frames: 1, arrived: 1, failures: 0 };
        class.rates[3] = Known { nanos: 198, frames: 2, arrived: 2, failures: 0 };
        assert_eq!(class.best(), 3);
    }
}
