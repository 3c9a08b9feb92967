//! The arithmetic of Linux: windows in whole segments, and a counter of what was acknowledged between them.

use units::Span;

use crate::parameters::choices;
use crate::{Ack, Loss, Reno};

choices! {
    /// How a controller computes.
    pub enum Arithmetic {
        /// With real numbers, as its paper.
        Float = Word("float"),
        /// With the whole numbers of its module in Linux.
        Linux = Word("linux"),
    }
}

/// `snd_cwnd_cnt`: segments acknowledged since the window last grew in congestion avoidance.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Counter(u32);

impl Counter {
    /// A reduction or timeout begins.
    pub(crate) fn clear(&mut self) {
        self.0 = 0;
    }

    /// `credit` segments more to count: how many there are then.
    pub(crate) fn add(&mut self, credit: u32) -> u32 {
        self.0 += credit;
        self.0
    }
}

/// The window that `ack` may grow goes through slow start: the segments that are left for congestion avoidance, if any.
pub(crate) fn avoidance(reno: &mut Reno, ack: &Ack) -> Option<u32> {
    if !ack.window_limited {
        return None;
    }
    let credit = if reno.grows_exponentially(ack) { reno.slow_start(ack) } else { ack.avoidance_credit() };
    (credit > 0.0).then_some(credit as u32)
}

/// A loss takes the window to `threshold` whole segments, at least two; it does not raise it.
pub(crate) fn reduce(reno: &mut Reno, threshold: u32) {
    reno.threshold = f64::from(threshold).max(Reno::MINIMUM);
    reno.window = reno.window.min(reno.threshold);
}

/// A timeout: as [`reduce`] on the first of a row, and the window is one segment.
pub(crate) fn time_out(reno: &mut Reno, threshold: u32, loss: &Loss) {
    if !loss.again {
        reno.threshold = f64::from(threshold).max(Reno::MINIMUM);
    }
    reno.window = 1.0;
}

/// `rtt` in whole microseconds, in which Linux measures.
pub(crate) fn micros(rtt: Span) -> u64 {
    rtt.as_nanos() / 1000
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ack;

    #[test]
    fn slow_start_leaves_what_goes_beyond_the_threshold() {
        let mut reno = Reno { window: 8.0, threshold: 10.0 };
        let five = Ack { newly_acknowledged: 5, newly_delivered: 5, ..ack() };
        assert_eq!((avoidance(&mut reno, &five), reno.window), (Some(3), 10.0));
        assert_eq!(avoidance(&mut reno, &Ack { window_limited: false, ..five }), None);
    }
}
