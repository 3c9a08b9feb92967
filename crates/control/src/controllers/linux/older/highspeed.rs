//! HighSpeed TCP of Linux 3.5 (`tcp_highspeed.c`), in real numbers. The RFC's is `controllers/highspeed.rs`, that of
//! Linux 6 `linux/highspeed.rs`.
//!
//! Differences from the RFC: a and b are those of the next row of its table (appendix B), b in 256ths rounded down.

use crate::controllers::highspeed::{self, TABLE, decrease, row};
use crate::entry::Form;
use crate::parts::reno::delegate;
use crate::{Ack, Context, Controller, Loss, Probe, Reno, Undo};

/// The form of HighSpeed TCP.
pub(crate) const FORM: Form =
    Form { parameters: &[], probes: highspeed::ENTRY.probes, make: |_| Ok(Box::new(HighSpeed::default())) };

/// The controller.
#[derive(Clone, Copy, Debug)]
struct HighSpeed {
    reno: Reno,
    undo: Undo,
    /// a(w) of the last ACK in congestion avoidance.
    a: f64,
}

impl Default for HighSpeed {
    /// A connection that has yet to find its path.
    fn default() -> Self {
        Self { reno: Reno::new(), undo: Undo::default(), a: 1.0 }
    }
}

impl HighSpeed {
    /// b(w) of the present window.
    fn b(&self) -> f64 {
        (decrease(f64::from(TABLE[row(self.reno.window)])) * 256.0).floor() / 256.0
    }
}

impl Controller for HighSpeed {
    delegate!(reno: on_start, on_spurious(undo), on_idle_restart, keep, window, slow_start_threshold);

    fn on_ack(&mut self, _cx: &mut Context<'_>, ack: &Ack) {
        if !self.reno.in_slow_start() {
            self.a = (row(self.reno.window) + 1) as f64;
        }
        // The ACK that ends slow start adds one segment a window.
        let a = if self.reno.in_slow_start() { 1.0 } else { self.a };
        self.reno.grow_by(ack, a);
    }

    fn on_loss(&mut self, _cx: &mut Context<'_>, _loss: &Loss) {
        self.undo.remember(self.reno);
        self.reno.multiplicative_decrease(1.0 - self.b());
    }

    fn on_timeout(&mut self, _cx: &mut Context<'_>, loss: &Loss) {
        self.undo.remember_first(loss, self.reno);
        self.reno.timeout(1.0 - self.b(), loss.again);
    }

    fn probe(&self, out: &mut dyn Probe) {
        out.value("a", self.a);
        out.value("b", self.b());
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
    fn it_takes_the_next_row() {
        // Up to 38 segments row 0; 39 to 118 row 1; beyond the last row the last.
        for (window, a, b) in [
            (38.9, 1.0, 128.0),
            (39.0, 2.0, 112.0),
            (118.0, 2.0, 112.0),
            (119.0, 3.0, 104.0),
            (347.0, 4.0, 98.0),
            (348.0, 5.0, 93.0),
            (1529.0, 10.0, 78.0),
            (200_000.0, 72.0, 24.0),
        ] {
            let mut controller = at(window);
            assert_eq!(controller.b() * 256.0, b, "{window}");
            controller.on_ack(&mut World::new().context(), &ack());
            assert_eq!(probed(&controller, "a"), a, "{window}");
        }
    }

    #[test]
    fn a_window_of_acks_adds_a_and_a_loss_takes_b() {
        let mut world = World::new();
        let mut controller = at(1058.0);
        controller.on_ack(&mut world.context(), &Ack { newly_acknowledged: 1058, newly_delivered: 1058, ..ack() });
        assert_eq!(controller.window(), 1066.0);
        // 1066 is in the row of 1284, whose b is 81/256: ln(1284/38) = 3.5201 of 7.6890 leaves 0.5 - 0.18313 = 0.31687.
        for reduce in [HighSpeed::on_loss, HighSpeed::on_timeout] {
            let mut controller = at(1066.0);
            reduce(&mut controller, &mut world.context(), &loss());
            assert_eq!(controller.slow_start_threshold(), 1066.0 * (1.0 - 81.0 / 256.0));
        }
    }
}
