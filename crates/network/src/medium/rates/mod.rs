//! At which rate a frame is sent.

mod arf;
mod freebsd;
mod minstrel;
mod sample_rate;
#[cfg(test)]
mod tests;

use units::{Random, Span, Time};

use self::arf::AutoRateFallback;
use self::freebsd::Freebsd;
use self::minstrel::Minstrel;
use self::sample_rate::SampleRate;
use super::phy::{DSSS_CW_MIN, Phy};

/// How the rate of a frame is chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RateSettings {
    /// Always the fastest.
    #[default]
    Fastest,
    /// Always this one: an index into the rates of the physical layer.
    Fixed(u8),
    /// Auto rate fallback.
    Arf,
    /// SampleRate as its thesis has it.
    SampleRate,
    /// SampleRate as FreeBSD's driver of Atheros chips has it.
    SampleRateFreebsd,
    /// Minstrel.
    Minstrel,
}

/// A rate adaptation at work, between one sender and one receiver. Rates are indices into [`Phy::modes`].
pub trait RateControl: std::fmt::Debug + Send {
    /// The rate of the next attempt at a frame of `bytes`, which was sent `tries` times before.
    fn choose(&mut self, now: Time, tries: u32, bytes: u32, random: &mut Random) -> u8;

    /// An attempt ended.
    fn report(&mut self, now: Time, attempt: &Report);
}

/// The outcome of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// The rate.
    pub mode: u8,
    /// Bytes of the first frame.
    pub bytes: u32,
    /// Frames that were sent at once.
    pub frames: u32,
    /// Frames of these that were acknowledged.
    pub acknowledged: u32,
    /// Attempts at the first of them before this one.
    pub tries: u32,
    /// It was the last attempt at the first of them: acknowledged or given up.
    pub last: bool,
}

/// The rates of one direction between two stations.
#[derive(Debug)]
pub(crate) enum Rates {
    Fixed(u8),
    Adaptive(Box<dyn RateControl>),
}

impl Rates {
    pub(crate) fn new(settings: &RateSettings, phy: &Phy, dsss: bool) -> Self {
        match settings {
            RateSettings::Fastest => Self::Fixed(phy.fastest_for(dsss)),
            RateSettings::Fixed(mode) => Self::Fixed(*mode),
            RateSettings::Arf => Self::Adaptive(Box::new(AutoRateFallback::new(ladder(phy, dsss)))),
            RateSettings::SampleRate => Self::Adaptive(Box::new(SampleRate::new(Nominal::new(phy, dsss)))),
            RateSettings::SampleRateFreebsd => {
                let nominal = Nominal::new(phy, dsss);
                let kbit: Vec<u32> = nominal.ladder.iter().map(|mode| phy.modes[usize::from(*mode)].kbit).collect();
                Self::Adaptive(Box::new(Freebsd::new(nominal, &kbit)))
            }
            RateSettings::Minstrel => {
                let nominal = Nominal::new(phy, dsss);
                let aggregates = phy.modes[usize::from(nominal.ladder[0])].modulation.aggregates();
                Self::Adaptive(Box::new(Minstrel::new(nominal, aggregates)))
            }
        }
    }

    #[inline]
    pub(crate) fn choose(&mut self, now: Time, tries: u32, bytes: u32, random: &mut Random) -> u8 {
        match self {
            Self::Fixed(mode) => *mode,
            Self::Adaptive(control) => control.choose(now, tries, bytes, random),
        }
    }

    #[inline]
    pub(crate) fn report(&mut self, now: Time, attempt: &Report) {
        if let Self::Adaptive(control) = self {
            control.report(now, attempt);
        }
    }
}

/// The rates for data from slow to fast. Of equal ones it has the one with fewer streams.
fn ladder(phy: &Phy, dsss: bool) -> Vec<u8> {
    let mut modes: Vec<u8> = phy.data_modes_for(dsss).collect();
    modes.sort_by_key(|mode| phy.modes[usize::from(*mode)].kbit);
    modes.dedup_by_key(|mode| phy.modes[usize::from(*mode)].kbit);
    modes
}

/// How long frames take at each rate: of 250 bytes, and of 1600 (the size classes of SampleRate in FreeBSD).
#[derive(Clone, Debug)]
pub(crate) struct Nominal {
    /// The rates from slow to fast.
    pub(crate) ladder: Vec<u8>,
    /// The frame, SIFS and the ACK of each size class and rate, in microseconds.
    exchange: [Vec<f64>; 2],
    difs: f64,
    slot: f64,
    cw_min: u32,
    cw_max: u32,
}

impl Nominal {
    const SIZES: [u32; 2] = [250, 1600];
    /// The class of large frames.
    pub(crate) const LARGE: usize = 1;

    pub(crate) fn new(phy: &Phy, dsss: bool) -> Self {
        let ladder = ladder(phy, dsss);
        let micros = |span: Span| span.as_nanos() as f64 / 1e3;
        let exchange = Self::SIZES.map(|bytes| {
            let of = |&mode: &u8| phy.modes[usize::from(mode)].airtime(bytes) + phy.sifs + phy.ack(mode);
            ladder.iter().map(|mode| micros(of(mode))).collect()
        });
        let (difs, slot) = (micros(phy.difs()), micros(phy.slot));
        Self { exchange, difs, slot, cw_min: if dsss { DSSS_CW_MIN } else { phy.cw_min }, cw_max: phy.cw_max, ladder }
    }

    /// The size class of a frame.
    pub(crate) fn class(bytes: u32) -> usize {
        usize::from(bytes > Self::SIZES[0])
    }

    /// How many microseconds a frame takes on average that is sent so many `times` (Bicket 2005, equation 5.1): DIFS
    /// once, and for each attempt a backoff, the frame, SIFS and the ACK.
    pub(crate) fn micros(&self, class: usize, rate: usize, times: u32) -> f64 {
        self.micros_from(self.cw_min, class, rate, times)
    }

    /// The same where the first contention window is `cw`.
    pub(crate) fn micros_from(&self, cw: u32, class: usize, rate: usize, times: u32) -> f64 {
        let window = |attempt: u32| (((cw + 1) << attempt.min(16)) - 1).min(self.cw_max);
        let backoffs: f64 = (0..times).map(|attempt| f64::from(window(attempt)) / 2.0 * self.slot).sum();
        self.difs + self.exchange[class][rate] * f64::from(times) + backoffs
    }
}
