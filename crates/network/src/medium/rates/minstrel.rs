//! Minstrel, the usual adaptation of Linux (documented in `net/mac80211/rc80211_minstrel` and in Xia, Hart and Fu 2013,
//! "Evaluation of the Minstrel rate adaptation algorithm in IEEE 802.11g WLANs", ICC).
//!
//! Every 100 ms it updates the probability that an attempt succeeds at each rate (a moving average in which the old
//! value weighs 75 %). A frame is first sent at the rate of highest throughput, then at the second best, then at the
//! one of highest probability, then at the lowest: at each as often as fits into 6 ms, but at most twice where an
//! attempt nearly always or hardly ever succeeds. A-MPDUs take so long that it is twice for all. One frame in ten
//! samples another rate: first if that is faster or was not tried for 2 s, and else only after the best has failed.

use units::{Random, Span, Time};

use super::{Nominal, RateControl, Report};

/// How often probabilities are updated.
const UPDATE: Span = Span::from_millis(100);
/// The weight of the old value.
const OLD: f64 = 0.75;
/// One frame in so many samples another rate.
const SAMPLE_EVERY: u32 = 10;
/// After so many updates without an attempt a slower rate is sampled first too.
const SKIPPED: u32 = 20;
/// Attempts at one rate of the chain take so long at most, in microseconds, backoffs included.
const STAGE: f64 = 6000.0;
/// Attempts at a rate whose probability is below the first or above the second of these, and of A-MPDUs.
const FEW: u32 = 2;
const HARDLY: f64 = 0.1;
const NEARLY_ALWAYS: f64 = 0.95;
/// A probability above which throughput counts it no higher, as losses there have other causes.
const ENOUGH: f64 = 0.9;

#[derive(Clone, Copy, Debug, Default)]
struct Known {
    attempts: u32,
    successes: u32,
    /// `None` before the first update with an attempt.
    probability: Option<f64>,
    /// Updates since the last one with an attempt.
    skipped: u32,
}

/// The state of Minstrel between two stations.
#[derive(Clone, Debug)]
pub(crate) struct Minstrel {
    nominal: Nominal,
    rates: Vec<Known>,
    /// Attempts at each rate that fit into a stage.
    most: Vec<u32>,
    updated: Time,
    frames: u32,
    /// Highest throughput, the second of it, highest probability, lowest rate: indices into the ladder.
    chain: [usize; 4],
    /// The chain of the frame that is being sent.
    current: [usize; 4],
}

impl Minstrel {
    pub(crate) fn new(nominal: Nominal, aggregates: bool) -> Self {
        let top = nominal.ladder.len() - 1;
        let chain = [top, top.saturating_sub(1), 0, 0];
        let rates = vec![Known::default(); nominal.ladder.len()];
        let fitting = |rate| (1..).take_while(|n| nominal.micros(Nominal::LARGE, rate, *n) <= STAGE).count() as u32;
        let most = (0..nominal.ladder.len()).map(|rate| if aggregates { FEW } else { fitting(rate).max(1) }).collect();
        Self { nominal, rates, most, updated: Time::ZERO, frames: 0, chain, current: chain }
    }

    /// How often a frame is sent at a rate before the next of the chain.
    fn attempts(&self, rate: usize) -> u32 {
        let probability = self.rates[rate].probability.unwrap_or(0.0);
        let most = self.most[rate];
        if (HARDLY..=NEARLY_ALWAYS).contains(&probability) { most } else { most.min(FEW) }
    }

    fn update(&mut self, now: Time) {
        self.updated = now;
        self.rates.iter_mut().for_each(|known| known.skipped += 1);
        for known in self.rates.iter_mut().filter(|known| known.attempts > 0) {
            let fresh = f64::from(known.successes) / f64::from(known.attempts);
            known.probability = Some(known.probability.map_or(fresh, |old| OLD * old + (1.0 - OLD) * fresh));
            (known.attempts, known.successes, known.skipped) = (0, 0, 0);
        }
        let probability = |rate: &usize| self.rates[*rate].probability.unwrap_or(0.0);
        if self.rates.iter().all(|known| known.probability.is_none()) {
            return;
        }
        let throughput = |rate: &usize| match probability(rate) {
            hardly if hardly < HARDLY => 0.0,
            probability => probability.min(ENOUGH) / self.nominal.micros(Nominal::LARGE, *rate, 1),
        };
        let mut order: Vec<usize> = (0..self.rates.len()).collect();
        order.sort_by(|a, b| throughput(b).total_cmp(&throughput(a)));
        // The rate of highest throughput among those that nearly always succeed.
        let sure = order.iter().find(|rate| probability(rate) >= NEARLY_ALWAYS);
        let surest = (0..self.rates.len()).max_by(|a, b| probability(a).total_cmp(&probability(b))).unwrap_or(0);
        let surest = *sure.unwrap_or(&surest);
        self.chain = [order[0], *order.get(1).unwrap_or(&order[0]), surest, 0];
    }

    /// A rate other than the best, at random.
    fn other(&self, random: &mut Random) -> usize {
        let others = self.rates.len() - 1;
        let drawn = ((random.uniform() * others as f64) as usize).min(others.saturating_sub(1));
        if drawn >= self.chain[0] { (drawn + 1).min(others) } else { drawn }
    }
}

impl RateControl for Minstrel {
    fn choose(&mut self, now: Time, tries: u32, _: u32, random: &mut Random) -> u8 {
        if tries == 0 {
            if now.since(self.updated) >= UPDATE {
                self.update(now);
            }
            self.current = self.chain;
            self.frames += 1;
            if self.frames.is_multiple_of(SAMPLE_EVERY) && self.rates.len() > 1 {
                let sampled = self.other(random);
                let best = self.chain[0];
                let at_once = sampled > best || self.rates[sampled].skipped >= SKIPPED;
                let (first, second) = if at_once { (sampled, best) } else { (best, sampled) };
                (self.current[0], self.current[1]) = (first, second);
            }
        }
        let mut left = tries;
        for rate in &self.current[..3] {
            let attempts = self.attempts(*rate);
            if left < attempts {
                return self.nominal.ladder[*rate];
            }
            left -= attempts;
        }
        self.nominal.ladder[self.current[3]]
    }

    fn report(&mut self, _: Time, attempt: &Report) {
        if let Some(rate) = self.nominal.ladder.iter().position(|mode| *mode == attempt.mode) {
            self.rates[rate].attempts += attempt.frames;
            self.rates[rate].successes += attempt.acknowledged;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{OneAnswer, nominal};
    use super::*;

    #[test]
    fn it_finds_the_fastest_rate_that_works() {
        let mut link = OneAnswer::new(Minstrel::new(nominal(), false));
        let used = link.frames(2000, |mode| mode < 5);
        let late = &used[1000..];
        let at_24 = late.iter().filter(|&&mode| mode == 4).count();
        // Every tenth frame samples: half of the samples are faster rates and fail.
        assert!(at_24 * 10 >= late.len() * 7, "{at_24} of {}", late.len());
    }

    #[test]
    fn it_climbs_again_when_the_channel_gets_better() {
        let mut link = OneAnswer::new(Minstrel::new(nominal(), false));
        link.frames(1000, |mode| mode < 2);
        let used = link.frames(3000, |_| true);
        assert!(used[2900..].iter().filter(|&&mode| mode == 7).count() >= 90);
    }

    #[test]
    fn a_frame_goes_at_each_rate_as_often_as_fits_into_6_ms() {
        // 54 Mbit/s: 34 us, n exchanges of 304 us, and half of windows of 15, 31, 63 ... slots of 9 us: five attempts
        // take 34 + 1520 + 2209.5 us, six 34 + 1824 + 4513 us. 6 Mbit/s: two take 34 + 4440 + 207 us, three 34 + 6660 +
        // 490.5 us.
        let fresh = Minstrel::new(nominal(), false);
        assert_eq!((fresh.most[7], fresh.most[0]), (5, 2));
        assert_eq!(Minstrel::new(nominal(), true).most, [2; 8]);
        // Three attempts in five succeed at 54 Mbit/s, and none at any other rate. Those are equally bad: the lowest is
        // the second best, with two attempts. The surest is the best again.
        let mut link = OneAnswer::new(fresh);
        let mut count = 0;
        link.frames(2000, |mode| {
            count += u32::from(mode == 7);
            mode == 7 && count % 5 < 3
        });
        assert_eq!(link.attempts(|_| false, 13), [7, 7, 7, 7, 7, 0, 0, 7, 7, 7, 7, 7, 0]);
    }

    #[test]
    fn a_rate_that_is_not_known_or_nearly_always_works_has_two_attempts() {
        let mut link = OneAnswer::new(Minstrel::new(nominal(), false));
        assert_eq!(link.attempts(|_| false, 7), [7, 7, 6, 6, 0, 0, 0]);
        let mut link = OneAnswer::new(Minstrel::new(nominal(), false));
        // All work: 54 and 48 Mbit/s, which were sampled after 2 s, and 54 of those that nearly always do.
        link.frames(4000, |_| true);
        assert_eq!(link.attempts(|_| false, 7), [7, 7, 6, 6, 7, 7, 0]);
    }

    /// After updates with these shares of ten attempts at each rate, with none for a rate without attempts.
    fn updated(shares: &[[Option<u32>; 8]]) -> Minstrel {
        let mut control = Minstrel::new(nominal(), false);
        for of_rates in shares {
            for (known, successes) in control.rates.iter_mut().zip(of_rates) {
                (known.attempts, known.successes) = (successes.map_or(0, |_| 10), successes.unwrap_or(0));
            }
            control.update(Time::ZERO);
        }
        control
    }

    const N: Option<u32> = None;

    #[test]
    fn probabilities_move_by_a_quarter_and_those_without_attempts_stay() {
        let control = updated(&[[N, N, N, N, N, N, Some(8), Some(4)], [N, N, N, N, N, N, N, Some(8)]]);
        // 0.4, then `0.75 x 0.4 + 0.25 x 0.8`.
        let known = [5, 6, 7].map(|rate| (control.rates[rate].probability, control.rates[rate].skipped));
        assert_eq!(known[..2], [(None, 2), (Some(0.8), 1)]);
        assert!((known[2].0.unwrap() - 0.5).abs() < 1e-12 && known[2].1 == 0);
        assert_eq!((control.rates[7].attempts, control.rates[7].successes), (0, 0));
    }

    #[test]
    fn the_chain_goes_by_throughput_then_by_probability() {
        // One attempt takes 405.5 us at 54 Mbit/s, 433.5 at 48 and 525.5 at 36. `0.5/405.5 = 0.00123`; `0.9/433.5 =
        // 0.00208`; a probability of 1 counts as 0.9: `0.9/525.5 = 0.00171`. Only 36 Mbit/s nearly always succeeds.
        let shares = [N, N, N, N, N, Some(10), Some(9), Some(5)];
        assert_eq!(updated(&[shares]).chain, [6, 5, 5, 0]);
        // Where none does it is the rate of the highest probability.
        let shares = [N, N, N, N, N, Some(7), Some(9), Some(5)];
        assert_eq!(updated(&[shares]).chain, [6, 5, 6, 0]);
        // One attempt in ten is not hardly any, less is: those are as good as rates without an attempt.
        assert_eq!(updated(&[[N, N, N, N, N, N, N, Some(1)]]).chain, [7, 0, 7, 0]);
        assert_eq!(updated(&[[N, N, N, N, N, N, N, Some(0)]]).chain[0], 0);
        // Nothing was attempted: the chain stays as it was.
        assert_eq!(updated(&[[N; 8]]).chain, [7, 6, 0, 0]);
    }

    #[test]
    fn another_rate_is_any_but_the_best() {
        let mut random = Random::stream(1, "rates", 0);
        for best in [0, 3, 7] {
            let mut control = Minstrel::new(nominal(), false);
            control.chain[0] = best;
            let mut seen = [0; 8];
            (0..7000).for_each(|_| seen[control.other(&mut random)] += 1);
            // A thousand each, with a standard deviation of 29.
            let even =
                |(rate, count): (usize, &u32)| if rate == best { *count == 0 } else { count.abs_diff(1000) < 150 };
            assert!(seen.iter().enumerate().all(even), "{best}: {seen:?}");
        }
    }

    #[test]
    fn every_tenth_frame_samples_a_faster_rate_first_and_a_slower_one_second() {
        let mut random = Random::stream(1, "rates", 0);
        let (mut faster, mut slower) = (0, 0);
        for _ in 0..50 {
            let mut control = Minstrel::new(nominal(), false);
            control.chain = [4, 4, 2, 0];
            for frame in 1..=10 {
                control.choose(Time::ZERO, 0, 1536, &mut random);
                assert_eq!(control.current == control.chain, frame < 10);
            }
            let [first, second, third, last] = control.current;
            assert_eq!((third, last), (2, 0));
            if first == 4 {
                assert!(second < 4, "{second}");
                slower += 1;
            } else {
                assert!(first > 4 && second == 4, "{first} {second}");
                faster += 1;
            }
            // A slower rate without an attempt for twenty updates goes first as well.
            control.rates.iter_mut().for_each(|known| known.skipped = 20);
            control.frames = 9;
            control.choose(Time::ZERO, 0, 1536, &mut random);
            assert!(control.current[0] != 4 && control.current[1] == 4);
        }
        assert!(faster > 10 && slower > 10, "{faster} {slower}");
    }

    #[test]
    fn probabilities_are_updated_every_100_ms() {
        let mut control = updated(&[]);
        let mut random = Random::stream(1, "rates", 0);
        let mut at = |micros| {
            control.choose(Time::ZERO + Span::from_micros(micros), 0, 1536, &mut random);
            control.updated
        };
        let ms = |millis| Time::ZERO + Span::from_millis(millis);
        assert_eq!([99_999, 100_000, 199_999, 230_000].map(&mut at), [Time::ZERO, ms(100), ms(100), ms(230)]);
    }

    #[test]
    fn a_report_counts_the_frames_of_its_rate() {
        let mut control = updated(&[]);
        let report = Report { mode: 5, bytes: 1536, frames: 4, acknowledged: 3, tries: 0, last: true };
        (0..2).for_each(|_| control.report(Time::ZERO, &report));
        assert_eq!((control.rates[5].attempts, control.rates[5].successes), (8, 6));
        assert!(control.rates.iter().enumerate().all(|(rate, known)| rate == 5 || known.attempts == 0));
    }
}
