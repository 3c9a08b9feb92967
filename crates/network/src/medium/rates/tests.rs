//! A link on which attempts at some rates succeed, for the tests of rate adaptations.

use units::{Random, Span, Time};

use super::{Nominal, RateControl, Report};
use crate::medium::{Phy, PhySettings, Standard};

/// The rates of 802.11a, 0 to 7.
pub(super) fn nominal() -> Nominal {
    Nominal::new(&Phy::new(&PhySettings::of(Standard::A), &[]), false)
}

/// A sender of frames of 1536 bytes, each at most seven times, one every millisecond.
pub(super) struct OneAnswer<C> {
    pub(super) control: C,
    random: Random,
    now: Time,
}

impl<C: RateControl> OneAnswer<C> {
    /// The rates of all attempts at one frame, which all fail but those that `works` names.
    pub(super) fn attempts(&mut self, mut works: impl FnMut(u8) -> bool, most: u32) -> Vec<u8> {
        self.now += Span::from_millis(1);
        let mut used = Vec::new();
        for tries in 0..most {
            let mode = self.control.choose(self.now, tries, 1536, &mut self.random);
            used.push(mode);
            let acknowledged = u32::from(works(mode));
            let last = acknowledged > 0 || tries + 1 == most;
            self.control.report(self.now, &Report { mode, bytes: 1536, frames: 1, acknowledged, tries, last });
            if last {
                break;
            }
        }
        used
    }

    /// So much time passes.
    pub(super) fn wait(&mut self, time: Span) {
        self.now += time;
    }

    pub(super) fn new(control: C) -> Self {
        Self { control, random: Random::stream(1, "rates", 0), now: Time::ZERO }
    }

    /// The rates of the first attempts at so many frames, where attempts succeed as `works` says.
    pub(super) fn frames(&mut self, count: usize, mut works: impl FnMut(u8) -> bool) -> Vec<u8> {
        (0..count).map(|_| self.frame(&mut works)).collect()
    }

    fn frame(&mut self, works: &mut impl FnMut(u8) -> bool) -> u8 {
        self.attempts(works, 7).first().copied().unwrap_or_default()
    }
}

#[test]
fn a_frame_takes_its_exchanges_and_mean_backoffs() {
    // 802.11a at 54 Mbit/s: `22 + 12,800 bits` are 60 symbols, so `260 + 16 + 28 = 304 us` after DIFS of 34 us. Then
    // 7.5 and 15.5 slots of 9 us.
    let nominal = nominal();
    assert_eq!(nominal.micros(Nominal::LARGE, 7, 1), 34.0 + 304.0 + 67.5);
    assert_eq!(nominal.micros(Nominal::LARGE, 7, 2), 34.0 + 2.0 * 304.0 + 67.5 + 139.5);
}
