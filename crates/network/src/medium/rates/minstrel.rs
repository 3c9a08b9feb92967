//! Minstrel, the usual adaptation of Linux (documented in `net/mac80211/rc80211_minstrel` and in Xia, Hart and Fu 2013,
//! "Evaluation of the Minstrel rate adaptation algorithm in IEEE 802.11g WLANs", ICC).
//!
//! Every 100 ms it updates the probability that an attempt succeeds at each rate (a moving average in which the old
//! value weighs 75 %). A frame is first sent at the rate of highest throughput, then at the second best, then at the
//! one of highest probability, then at the lowest. One frame in ten samples another rate: first if that is faster, and
//! only after the best has failed if it is slower.

use units::{Random, Span, Time};

use super::{Nominal, RateControl, Report};

/// How often probabilities are updated.
const UPDATE: Span = Span::from_millis(100);
/// The weight of the old value.
const OLD: f64 = 0.75;
/// One frame in so many samples another rate.
const SAMPLE_EVERY: u32 = 10;
/// Attempts at each rate of the chain before the next one.
const STAGE: u32 = 2;
/// A probability above which throughput counts it no higher: what is lost there has other causes.
const ENOUGH: f64 = 0.9;

#[derive(Clone, Copy, Debug, Default)]
struct Known {
    attempts: u32,
    successes: u32,
    /// `None` before the first update with an attempt.
    probability: Option<f64>,
}

/// The state of Minstrel between two stations.
#[derive(Clone, Debug)]
pub(crate) struct Minstrel {
    nominal: Nominal,
    rates: Vec<Known>,
    updated: Time,
    frames: u32,
    /// Highest throughput, the second of it, highest probability, lowest rate: indices into the ladder.
    chain: [usize; 4],
    /// The chain of the frame that is being sent.
    current: [usize; 4],
}

impl Minstrel {
    pub(crate) fn new(nominal: Nominal) -> Self {
        let top = nominal.ladder.len() - 1;
        let chain = [top, top.saturating_sub(1), 0, 0];
        let rates = vec![Known::default(); nominal.ladder.len()];
        Self { nominal, rates, updated: Time::ZERO, frames: 0, chain, current: chain }
    }

    fn update(&mut self, now: Time) {
        self.updated = now;
        for known in self.rates.iter_mut().filter(|known| known.attempts > 0) {
            let fresh = f64::from(known.successes) / f64::from(known.attempts);
            known.probability = Some(known.probability.map_or(fresh, |old| OLD * old + (1.0 - OLD) * fresh));
            (known.attempts, known.successes) = (0, 0);
        }
        let probability = |rate: &usize| self.rates[*rate].probability.unwrap_or(0.0);
        if self.rates.iter().all(|known| known.probability.is_none()) {
            return;
        }
        let throughput = |rate: &usize| probability(rate).min(ENOUGH) / self.nominal.micros(Nominal::LARGE, *rate, 1);
        let mut order: Vec<usize> = (0..self.rates.len()).collect();
        order.sort_by(|a, b| throughput(b).total_cmp(&throughput(a)));
        let surest = (0..self.rates.len()).max_by(|a, b| probability(a).total_cmp(&probability(b))).unwrap_or(0);
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
                let faster = sampled > best;
                let (first, second) = if faster { (sampled, best) } else { (best, sampled) };
                (self.current[0], self.current[1]) = (first, second);
            }
        }
        let stage = (tries / STAGE).min(3) as usize;
        self.nominal.ladder[self.current[stage]]
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
        let mut link = OneAnswer::new(Minstrel::new(nominal()));
        let used = link.frames(2000, |mode| mode < 5);
        let late = &used[1000..];
        let at_24 = late.iter().filter(|&&mode| mode == 4).count();
        // Every tenth frame samples: half of the samples are faster rates and fail.
        assert!(at_24 * 10 >= late.len() * 7, "{at_24} of {}", late.len());
    }

    #[test]
    fn it_climbs_again_when_the_channel_gets_better() {
        let mut link = OneAnswer::new(Minstrel::new(nominal()));
        link.frames(1000, |mode| mode < 2);
        let used = link.frames(3000, |_| true);
        assert!(used[2900..].iter().filter(|&&mode| mode == 7).count() >= 90);
    }
}
