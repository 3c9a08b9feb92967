//! At which rate a frame is sent.

mod arf;

use units::{Random, Span, Time};

use self::arf::AutoRateFallback;
use super::phy::Phy;

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
}

/// A rate adaptation at work, between one sender and one receiver. Rates are indices into [`Phy::modes`].
pub trait RateControl: std::fmt::Debug + Send {
    /// The rate of the next attempt at a frame, which was sent `tries` times before.
    fn choose(&mut self, now: Time, tries: u32, random: &mut Random) -> u8;

    /// An attempt ended.
    fn report(&mut self, now: Time, attempt: &Report);
}

/// What became of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// The rate.
    pub mode: u8,
    /// Frames that were sent at once.
    pub frames: u32,
    /// Frames of these that were acknowledged.
    pub acknowledged: u32,
    /// Attempts at the first of them before this one.
    pub tries: u32,
    /// It was the last attempt at the first of them: acknowledged or given up.
    pub last: bool,
    /// How long the sender was occupied: from the end of the wait for the medium to that of the ACK, or its time-out.
    pub occupied: Span,
}

/// The rates of one direction between two stations.
#[derive(Debug)]
pub(crate) enum Rates {
    Fixed(u8),
    Adaptive(Box<dyn RateControl>),
}

impl Rates {
    pub(crate) fn new(settings: &RateSettings, phy: &Phy) -> Self {
        match settings {
            RateSettings::Fastest => Self::Fixed(phy.fastest()),
            RateSettings::Fixed(mode) => Self::Fixed(*mode),
            RateSettings::Arf => Self::Adaptive(Box::new(AutoRateFallback::new(ladder(phy)))),
        }
    }

    #[inline]
    pub(crate) fn choose(&mut self, now: Time, tries: u32, random: &mut Random) -> u8 {
        match self {
            Self::Fixed(mode) => *mode,
            Self::Adaptive(control) => control.choose(now, tries, random),
        }
    }

    #[inline]
    pub(crate) fn report(&mut self, now: Time, attempt: &Report) {
        if let Self::Adaptive(control) = self {
            control.report(now, attempt);
        }
    }
}

/// The rates for data from slow to fast; of equal ones the one with fewer streams.
fn ladder(phy: &Phy) -> Vec<u8> {
    let mut modes: Vec<u8> = phy.data_modes().collect();
    modes.sort_by_key(|mode| phy.modes[usize::from(*mode)].kbit);
    modes.dedup_by_key(|mode| phy.modes[usize::from(*mode)].kbit);
    modes
}
