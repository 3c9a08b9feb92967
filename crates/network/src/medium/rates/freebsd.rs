//! SampleRate as FreeBSD's driver of Atheros chips has it (`sys/dev/ath/ath_rate/sample`, FreeBSD 9).
//!
//! It differs from the thesis in this. Averages are moving, of weight 5 % after the first 20 frames, and no average
//! grows old. Other rates are sampled for 10 % of the time on the air, in turn, at most two steps above the one in use.
//! A rate is kept for a second, unless the best is twice as fast. A frame is sent four times at its rate, three times
//! one step lower, four times two steps lower, then at the lowest. The whole time counts for its first rate. Each later
//! rate counts the time from its own first attempt on. The first frame goes at 36 Mbit/s or the next lower rate.
//!
//! Not so in the driver: rates are chosen there when frames enter the ring of the chip, and here when they are sent.

use units::{Random, Span, Time};

use super::{Nominal, RateControl, Report};

/// The share of a new frame in the average.
const GAIN: f64 = 0.05;
/// Frames whose times are averaged alike before that.
const ALIKE: u32 = 20;
/// Frames that failed in a row, above which a rate is left alone.
const MOST_FAILURES: u32 = 3;
/// For so long.
const STALE: Span = Span::from_secs(10);
/// A rate is kept for so long.
const KEPT: Span = Span::from_secs(1);
/// Frames that may change the rate at once.
const QUICK: u32 = 20;
/// Steps above the rate in use that are sampled.
const MOST_STEPS: usize = 2;
/// The rate of the first frame in kbit/s.
const FIRST: u32 = 36_000;
/// The first contention window by which the driver reckons.
const CW: u32 = 63;
/// Attempts at the rate of a frame, a step lower, and two steps lower.
const SERIES: [u32; 3] = [4, 3, 4];

/// The statistics of a rate.
#[derive(Clone, Copy, Debug)]
struct Known {
    /// Average time of a frame in microseconds.
    average: f64,
    frames: u32,
    failures: u32,
    last: Time,
}

/// The statistics for frames of one size class.
#[derive(Clone, Debug)]
struct Class {
    rates: Vec<Known>,
    frames: u32,
    /// The rate in use, an index into the ladder, and since when.
    used: usize,
    since: Time,
    /// The rate of the frame that is being sent, and whether it is a sample.
    current: usize,
    samples: bool,
    /// The rate that was sampled last, how long that took, and frames since.
    sampled: usize,
    sample_micros: f64,
    since_sample: u32,
}

/// The state between two stations.
#[derive(Clone, Debug)]
pub(crate) struct Freebsd {
    nominal: Nominal,
    classes: [Class; 2],
    first: usize,
}

impl Freebsd {
    /// `kbit` are the rates of the ladder.
    pub(crate) fn new(nominal: Nominal, kbit: &[u32]) -> Self {
        let first = kbit.iter().rposition(|kbit| *kbit <= FIRST).unwrap_or(0);
        let class = |class| Class {
            rates: (0..nominal.ladder.len())
                .map(|rate| Known {
                    average: nominal.micros_from(CW, class, rate, 1),
                    frames: 0,
                    failures: 0,
                    last: Time::ZERO,
                })
                .collect(),
            frames: 0,
            used: 0,
            since: Time::ZERO,
            current: 0,
            samples: false,
            sampled: 0,
            sample_micros: 0.0,
            since_sample: 0,
        };
        Self { classes: [class(0), class(1)], nominal, first }
    }

    /// The next rate to sample: one that may be faster than the average of the one in use.
    fn sample(&self, index: usize, now: Time) -> usize {
        let class = &self.classes[index];
        let average = class.rates[class.used].average;
        let may_be_sampled = |rate: &usize| {
            let known = &class.rates[*rate];
            let failed = known.failures > MOST_FAILURES && now.since(known.last) < STALE;
            let may_be_faster = self.nominal.micros_from(CW, index, *rate, 1) <= average;
            *rate != class.used && may_be_faster && !failed && *rate <= class.used + MOST_STEPS
        };
        let rates = class.rates.len();
        let turn = (1..=rates).map(|step| (class.sampled + step) % rates);
        turn.into_iter().find(may_be_sampled).unwrap_or(class.used)
    }

    /// The rate of the attempt after `tries`.
    fn stage(&self, rate: usize, tries: u32) -> usize {
        let mut before = 0;
        for (step, attempts) in SERIES.iter().enumerate() {
            before += attempts;
            if tries < before {
                return rate.saturating_sub(step);
            }
        }
        0
    }

    /// How long so many attempts take, the first of them at the start of series `first`.
    fn micros(&self, index: usize, rate: usize, first: usize, mut attempts: u32) -> f64 {
        let mut micros = 0.0;
        for step in first..=SERIES.len() {
            let most = SERIES.get(step).copied().unwrap_or(u32::MAX);
            let series = attempts.min(most);
            if series == 0 {
                break;
            }
            let at = if step < SERIES.len() { rate.saturating_sub(step) } else { 0 };
            micros += self.nominal.micros_from(CW, index, at, series);
            attempts -= series;
        }
        micros
    }

    /// Counts a frame of so many attempts and `micros` for `rate`.
    fn count(&mut self, now: Time, index: usize, rate: usize, micros: f64, arrived: bool) {
        let known = &mut self.classes[index].rates[rate];
        let gain = if known.frames < ALIKE { 1.0 / f64::from(known.frames + 1) } else { GAIN };
        known.average += gain * (micros - known.average);
        known.frames += 1;
        known.last = now;
        known.failures = if arrived { 0 } else { known.failures + 1 };
        if !arrived && index != Nominal::LARGE {
            // A large frame would fail wherever a small one does.
            let large = &mut self.classes[Nominal::LARGE].rates[rate];
            large.failures += 1;
            large.frames += 1;
            large.last = now;
        }
    }
}

impl Class {
    /// The rate with the shortest average that does not fail.
    fn best(&self) -> Option<usize> {
        let usable = self.rates.iter().enumerate().filter(|(_, known)| known.failures <= MOST_FAILURES);
        usable.min_by(|a, b| a.1.average.total_cmp(&b.1.average)).map(|(rate, _)| rate)
    }

    /// Takes `best` into use, where it is time.
    fn switch(&mut self, now: Time, best: Option<usize>, first: usize) {
        let to = match best {
            Some(best) if self.frames > 0 => {
                let twice = 2.0 * self.rates[best].average < self.rates[self.used].average;
                (self.frames < QUICK || now.since(self.since) > KEPT || twice).then_some(best)
            }
            _ => (0..=first).rev().find(|rate| self.rates[*rate].failures == 0).or(Some(0)),
        };
        if let Some(to) = to {
            (self.used, self.since) = (to, now);
        }
    }
}

impl RateControl for Freebsd {
    fn choose(&mut self, now: Time, tries: u32, bytes: u32, _: &mut Random) -> u8 {
        let index = Nominal::class(bytes);
        if tries == 0 {
            let best = self.classes[index].best();
            let average = best.map_or(0.0, |best| self.classes[index].rates[best].average);
            let tenths = self.classes[index].since_sample / 10;
            let samples = self.classes[index].sample_micros < average * f64::from(tenths);
            let sampled = if samples { Some(self.sample(index, now)) } else { None };
            let class = &mut self.classes[index];
            if let Some(rate) = sampled {
                class.samples = rate != class.used;
                if class.samples {
                    class.sampled = rate;
                }
                (class.current, class.since_sample) = (rate, 0);
            } else {
                class.switch(now, best, self.first);
                class.since_sample += 1;
                (class.current, class.samples) = (class.used, false);
            }
            class.frames += 1;
        }
        self.nominal.ladder[self.stage(self.classes[index].current, tries)]
    }

    fn report(&mut self, now: Time, attempt: &Report) {
        if !attempt.last {
            return;
        }
        let index = Nominal::class(attempt.bytes);
        let rate = self.classes[index].current;
        let mut attempts = attempt.tries + 1;
        let arrived = attempt.acknowledged > 0;
        // Each lost frame of an A-MPDU is sent again.
        let again = f64::from(attempt.frames) / f64::from(attempt.acknowledged.max(1)) / f64::from(attempts);
        let whole = self.micros(index, rate, 0, attempts) * again.max(1.0);
        if self.classes[index].samples {
            self.classes[index].sample_micros = whole;
        }
        self.count(now, index, rate, whole, arrived && attempts <= SERIES[0]);
        for (step, most) in SERIES.iter().enumerate() {
            if attempts <= *most {
                break;
            }
            attempts -= most;
            let lower = if step + 1 < SERIES.len() { rate.saturating_sub(step + 1) } else { 0 };
            let micros = self.micros(index, rate, step + 1, attempts);
            self.count(now, index, lower, micros, arrived);
        }
    }
}

#[cfg(test)]
mod tests;
