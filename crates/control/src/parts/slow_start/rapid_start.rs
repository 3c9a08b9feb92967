//! Rapid Start (draft-kazuho-ccwg-rapid-start): the window triples in a round trip while no queue is seen to build, and
//! otherwise doubles. The first congestion event scales the window down so far that the queue empties a little, and
//! then by the segments that recovery finds delivered and lost, so that recovery ends with beta times the segments that
//! the path held.
//!
//! | draft | here |
//! | --- | --- |
//! | rtt_floor, queue_buildup_thresh = min(min_rtt + 4 ms, 1.1 min_rtt) | `RapidStart::observe` |
//! | silence_factor, ack_factor, loss_factor with K = 2/3 | [`Landing::new`], [`Landing::observe`] |
//! | no window below pre_recovery_cwnd * beta / 3 | [`Landing::observe`] |

use units::Span;

use super::Step;
use super::hystart_plus_plus::Rounds;
use crate::{Ack, Reno};

/// By how much the smallest RTT of a round may exceed the one of the connection.
const RISE: Span = Span::from_millis(4);
const RISE_PERCENT: u64 = 10;
/// K.
const K: f64 = 2.0 / 3.0;
/// The largest growth in a round trip: no window falls below what this made of the path.
const GROWTH: f64 = 3.0;

/// The search of one slow start.
#[derive(Clone, Copy, Debug)]
pub(super) struct RapidStart {
    rounds: Rounds,
}

impl RapidStart {
    pub(super) const fn new() -> Self {
        Self { rounds: Rounds::new() }
    }

    /// An ACK in slow start. Before the first sample of a round the smallest of the last one counts.
    pub(super) fn observe(&mut self, ack: &Ack) -> Step {
        self.rounds.observe(ack);
        let Rounds { last, current, .. } = self.rounds;
        let floor = if current == Span::MAX { last } else { current };
        let most = (ack.min_rtt + RISE).min(ack.min_rtt + ack.min_rtt * RISE_PERCENT / 100);
        Step::grow(if floor <= most { GROWTH - 1.0 } else { 1.0 })
    }
}

/// The first recovery.
#[derive(Clone, Copy, Debug)]
pub(super) struct Landing {
    /// It lasts until everything below is acknowledged.
    end: u64,
    beta: f64,
    window: f64,
    least: f64,
}

impl Landing {
    /// Recovery begins with a window of `before`, of which the controller would keep `beta`.
    pub(super) fn new(before: f64, beta: f64, end: u64) -> Self {
        let silence = beta + K * (1.0 - beta);
        Self { end, beta, window: before * silence, least: (before * beta / GROWTH).max(Reno::MINIMUM) }
    }

    /// `acked` segments were delivered and `lost` found lost.
    pub(super) fn observe(&mut self, acked: u32, lost: u32) {
        let ack_factor = K * (1.0 - self.beta);
        let loss_factor = self.beta + ack_factor;
        self.window -= ack_factor * f64::from(acked) + loss_factor * f64::from(lost);
        self.window = self.window.max(self.least);
    }

    pub(super) fn window(&self) -> f64 {
        self.window
    }

    /// Whether everything is acknowledged that was sent when it began.
    pub(super) fn is_over(&self, acknowledged_to: u64) -> bool {
        acknowledged_to >= self.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, rtt};

    #[test]
    fn the_window_triples_while_the_smallest_rtt_of_the_round_is_low() {
        // 10 % of 20 ms are 2 ms, 4 ms are less than 10 % of 100.
        for (base, millis, growth) in [(20, 22, 2.0), (20, 23, 1.0), (100, 104, 2.0), (100, 105, 1.0)] {
            let mut rapid = RapidStart::new();
            let ack = Ack { rtt: rtt(millis), min_rtt: Span::from_millis(base), acknowledged_to: 1, ..ack() };
            assert_eq!(rapid.observe(&ack), Step::grow(growth), "{millis} of {base} ms");
            // An ACK without a sample that begins a round goes by the last one.
            let next = Ack { rtt: None, acknowledged_to: 11, ..ack };
            assert_eq!(rapid.observe(&next), Step::grow(growth), "{millis} of {base} ms");
        }
    }

    #[test]
    fn recovery_ends_with_beta_times_what_the_path_held() {
        // 300 segments into a path that holds 100: 200 are lost. 300 * 5/6 = 250, less 100/3 and 200 * 5/6 is 50.
        let mut landing = Landing::new(300.0, 0.5, 300);
        assert!((landing.window() - 250.0).abs() < 1e-9);
        landing.observe(100, 0);
        landing.observe(0, 199);
        landing.observe(0, 1);
        assert!((landing.window() - 50.0).abs() < 1e-9, "{}", landing.window());
        // With CUBIC's 0.7 and 200 segments, of which 100 are lost: 180 - 20 - 90 = 70.
        let mut landing = Landing::new(200.0, 0.7, 200);
        landing.observe(100, 100);
        assert!((landing.window() - 70.0).abs() < 1e-9, "{}", landing.window());
        assert!(!landing.is_over(199) && landing.is_over(200));
    }

    #[test]
    fn no_window_falls_below_beta_of_a_third() {
        let mut landing = Landing::new(300.0, 0.5, 300);
        landing.observe(0, 300);
        assert_eq!(landing.window(), 50.0);
        let mut tiny = Landing::new(3.0, 0.5, 3);
        tiny.observe(0, 3);
        assert_eq!(tiny.window(), 2.0);
    }
}
