//! HighSpeed TCP of Linux (`tcp_highspeed.c`). The RFC's is `controllers/highspeed.rs`.
//!
//! Differences from the RFC: a and b come from a row of its table, b in 256ths rounded down. a(w)/w is added for each
//! ACK, however many segments it covers. The row is looked for on ACKs in congestion avoidance only, so the loss that
//! ends slow start halves at every window. Windows are whole segments.

use crate::controllers::highspeed::{self, decrease_256ths, row};
use crate::entry::Form;
use crate::parts::reno::{delegate, reduce};
use crate::{Ack, Context, Controller, Probe, Reno, Undo};

/// The form of HighSpeed TCP.
pub(crate) const FORM: Form =
    Form { parameters: &[], probes: highspeed::ENTRY.probes, make: |_| Ok(Box::new(HighSpeed::default())) };

/// The controller.
#[derive(Clone, Copy, Debug, Default)]
struct HighSpeed {
    reno: Reno,
    undo: Undo,
    /// The row of the last increase (`ai`).
    row: usize,
    /// What counts towards the next segment (`snd_cwnd_cnt`).
    counted: u32,
}

impl HighSpeed {
    /// a(w).
    fn a(&self) -> u32 {
        self.row as u32 + 1
    }

    /// b(w) in 256ths.
    fn b(&self) -> f64 {
        decrease_256ths(self.row)
    }

    /// The threshold after a congestion event (`hstcp_ssthresh`).
    fn threshold(&mut self) -> f64 {
        self.counted = 0;
        self.reno.window - (self.reno.window * self.b() / 256.0).floor()
    }
}

impl Controller for HighSpeed {
    delegate!(reno: on_start, on_spurious(undo), on_idle_restart, keep, window, slow_start_threshold);
    reduce!(settle_at: threshold);

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        if !ack.window_limited {
            return;
        }
        if self.reno.grows_exponentially(cx) {
            // Linux drops the rest of the ACK when slow start ends.
            self.reno.slow_start(cx, ack);
            return;
        }
        self.row = row(self.reno.window);
        self.counted += self.a();
        if f64::from(self.counted) >= self.reno.window {
            self.counted -= self.reno.window as u32;
            self.reno.window += 1.0;
        }
    }

    fn probe(&self, out: &mut dyn Probe) {
        out.value("a", f64::from(self.a()));
        out.value("b", self.b() / 256.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{World, ack, loss, probed};

    fn at(window: f64) -> HighSpeed {
        HighSpeed { reno: Reno { window, threshold: 2.0 }, ..HighSpeed::default() }
    }

    #[test]
    fn acks_count_and_not_the_segments_that_they_cover() {
        let mut world = World::new();
        let mut controller = at(50.0);
        let two = Ack { newly_acknowledged: 2, newly_delivered: 2, ..ack() };
        // From 39 to 118 segments a is 2: 25 ACKs make the 50 of a segment.
        for _ in 0..24 {
            controller.on_ack(&mut world.context(), &two);
        }
        assert_eq!(controller.window(), 50.0);
        controller.on_ack(&mut world.context(), &two);
        assert_eq!(controller.window(), 51.0);
    }

    #[test]
    fn the_loss_that_ends_slow_start_halves_and_later_ones_go_by_the_row() {
        let mut world = World::new();
        let mut controller = at(1001.0);
        controller.reno.threshold = f64::INFINITY;
        controller.on_ack(&mut world.context(), &ack());
        controller.on_loss(&mut world.context(), &loss());
        assert_eq!((controller.window(), controller.slow_start_threshold()), (501.0, 501.0));
        // 501 is in the row of 663, whose b is 89/256: 501 * 89/256 = 174.2.
        controller.on_ack(&mut world.context(), &ack());
        assert_eq!(probed(&controller, "a"), 6.0);
        controller.on_loss(&mut world.context(), &loss());
        assert_eq!(controller.window(), 501.0 - 174.0);
    }
}
