//! NewReno: additive increase, multiplicative decrease (RFC 5681, RFC 6582).
//!
//! Differences from the RFCs: the window is a real number of segments, so congestion avoidance adds exactly one segment
//! per window of counted segments instead of rounding each step. Halving starts from the window, not from FlightSize,
//! as Linux and FreeBSD do. Linux's reno is `linux/reno.rs`.
//!
//! | equation | here |
//! | --- | --- |
//! | RFC 5681 (2), slow start | [`Reno::slow_start`] |
//! | RFC 5681 (3), cwnd += SMSS*SMSS/cwnd | [`Reno::additive_increase`] |
//! | RFC 5681 (4), ssthresh = max(FlightSize/2, 2*SMSS) | [`Reno::multiplicative_decrease`] |

use crate::entry::{Aim, Entry};
use crate::parts::reno::delegate;
use crate::{Ack, Context, Controller, Loss, Reno, Undo};

/// The entry of NewReno in the registry.
pub const ENTRY: Entry = Entry {
    name: "newreno",
    title: "NewReno",
    summary: "Additive increase, multiplicative decrease: one segment a round trip, half the window on a loss",
    source: "RFC 5681; RFC 6582",
    aim: Aim::General,
    parameters: &[],
    probes: &[],
    make: |_| Ok(Box::new(NewReno::default())),
};

/// The share of the window kept on a loss.
const BETA: f64 = 0.5;

/// The controller.
#[derive(Clone, Copy, Debug, Default)]
pub struct NewReno {
    reno: Reno,
    undo: Undo,
}

impl Controller for NewReno {
    delegate!(reno: on_start, on_spurious(undo), on_idle_restart, keep, window, slow_start_threshold);

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.reno.grow(cx, ack);
    }

    fn on_loss(&mut self, _cx: &mut Context<'_>, _loss: &Loss) {
        self.undo.remember(self.reno);
        self.reno.multiplicative_decrease(BETA);
    }

    fn on_timeout(&mut self, _cx: &mut Context<'_>, loss: &Loss) {
        self.undo.remember_first(loss, self.reno);
        self.reno.timeout(BETA, loss.again);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{World, ack, loss};

    #[test]
    fn ten_segments_acknowledged_add_one_to_a_window_of_ten() {
        let mut world = World::new();
        let mut newreno = NewReno { reno: Reno { window: 10.0, threshold: 10.0 }, ..NewReno::default() };
        for _ in 0..10 {
            newreno.on_ack(&mut world.context(), &ack());
        }
        // Less than 11 by the growth of the divisor within the round: 10 + 1/10 + 1/10.1 + ... = 10.959.
        assert!((newreno.window() - 10.959).abs() < 0.001, "{}", newreno.window());
    }

    #[test]
    fn a_spurious_loss_gives_window_and_threshold_back() {
        let mut world = World::new();
        let mut newreno = NewReno { reno: Reno { window: 30.0, threshold: 20.0 }, ..NewReno::default() };
        newreno.on_loss(&mut world.context(), &loss());
        assert_eq!((newreno.window(), newreno.slow_start_threshold()), (15.0, 15.0));
        newreno.on_spurious(&mut world.context());
        assert_eq!((newreno.window(), newreno.slow_start_threshold()), (30.0, 20.0));
    }
}
