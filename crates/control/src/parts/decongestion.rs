//! Common rules of YeAH and TCP-Gentle: when the queue is too long, how much of it a window gives up, and the decrease
//! on a loss.

use crate::parts::queue_meter::Estimate;

/// The limits, with the names of YeAH's module in Linux.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Limits {
    /// Q_max, segments.
    pub(crate) queue: u32,
    /// 1/phi is the largest ratio of queueing delay and smallest RTT.
    pub(crate) phi: u32,
    /// The part of the queue that a decongestion takes: 1/gamma.
    pub(crate) gamma: u32,
    /// A decongestion takes at most the window divided by 2^epsilon.
    pub(crate) epsilon: u32,
    /// A loss takes at least the window divided by 2^delta.
    pub(crate) delta: u32,
    /// After so many round trips with a long queue a loss halves: others do not give way.
    pub(crate) rho: u32,
    /// Whole segments.
    pub(crate) whole: bool,
}

impl Limits {
    fn rounded(&self, segments: f64) -> f64 {
        if self.whole { segments.floor() } else { segments }
    }

    /// More than Q_max own segments wait.
    pub(crate) fn exceeds_queue(&self, estimate: &Estimate) -> bool {
        estimate.queue > f64::from(self.queue)
    }

    /// The queue is too long, by segments or by time.
    pub(crate) fn is_long(&self, estimate: &Estimate) -> bool {
        let by_time = if self.whole {
            estimate.delay > estimate.base / u64::from(self.phi)
        } else {
            estimate.delay as f64 * f64::from(self.phi) > estimate.base as f64
        };
        by_time || self.exceeds_queue(estimate)
    }

    /// The window after a decongestion of `window` with `queue` segments waiting, not below `floor`.
    pub(crate) fn decongested(&self, window: f64, queue: f64, floor: f64) -> f64 {
        let share = self.rounded(window / f64::from(1u32 << self.epsilon));
        let part = self.rounded(queue / f64::from(self.gamma));
        (window - part.min(share)).max(floor)
    }

    /// The segments that a loss takes of `window` after `rounds` round trips with a long queue, the last of them with
    /// `queue` segments in it.
    pub(crate) fn cut(&self, window: f64, queue: f64, rounds: u32) -> f64 {
        let half = self.rounded(window / 2.0).max(2.0);
        if rounds >= self.rho {
            return half;
        }
        queue.min(half).max(self.rounded(window / f64::from(1u32 << self.delta)))
    }

    /// The window that a Reno flow might have, one round trip with a long queue later.
    pub(crate) fn virtual_window(&self, before: f64, window: f64) -> f64 {
        if before <= 2.0 { self.rounded(window / 2.0).max(2.0) } else { before + 1.0 }
    }

    /// That window after a loss.
    pub(crate) fn halved(&self, before: f64) -> f64 {
        self.rounded(before / 2.0).max(2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(whole: bool) -> Limits {
        Limits { queue: 80, phi: 8, gamma: 1, epsilon: 1, delta: 3, rho: 16, whole }
    }

    #[test]
    fn a_loss_takes_between_an_eighth_and_a_half() {
        // 100 segments: the queue of 30; at least 12.5, rounded down 12; at most 50; after 16 round trips 50.
        let of = |whole, queue, rounds| limits(whole).cut(100.0, queue, rounds);
        assert_eq!((of(false, 30.0, 15), of(false, 5.0, 0), of(true, 5.0, 0)), (30.0, 12.5, 12.0));
        assert_eq!((of(false, 70.0, 0), of(false, 5.0, 16)), (50.0, 50.0));
        assert_eq!(limits(true).cut(3.0, 0.0, 16), 2.0);
    }

    #[test]
    fn a_decongestion_takes_the_queue_but_half_at_most() {
        assert_eq!(limits(false).decongested(500.0, 90.0, 2.0), 410.0);
        assert_eq!(limits(true).decongested(101.0, 90.0, 2.0), 51.0);
        assert_eq!(limits(false).decongested(100.0, 90.0, 60.0), 60.0);
    }

    #[test]
    fn a_queue_is_long_above_80_segments_or_an_eighth_of_the_smallest_rtt() {
        let of = |queue, delay| limits(false).is_long(&Estimate { queue, delay, base: 800 });
        assert_eq!((of(80.0, 100), of(80.1, 100), of(1.0, 101)), (false, true, true));
    }
}
