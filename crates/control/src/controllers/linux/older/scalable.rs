//! Scalable TCP of Linux 3.5 (`tcp_scalable.c`). The paper's is `controllers/scalable.rs`, that of Linux since 5.6
//! `linux/scalable.rs`.
//!
//! Differences from the paper: min(cwnd, 50) ACKs add a segment, as most ACKs cover two, and a loss takes an eighth at
//! every window.

use crate::entry::Form;
use crate::parts::reno::delegate;
use crate::{Ack, Context, Controller, Loss, Reno, Undo};

/// The form of Scalable TCP.
pub(crate) const FORM: Form = Form { parameters: &[], probes: &[], make: |_| Ok(Box::new(Scalable::default())) };

/// Up to so many segments it is standard TCP, and above it takes so many ACKs for a segment (`TCP_SCALABLE_AI_CNT`).
const STANDARD: f64 = 50.0;
/// Increase for each segment counted.
const A: f64 = 0.02;
/// The share that a loss keeps (`TCP_SCALABLE_MD_SCALE`).
const KEPT: f64 = 0.875;

/// The controller.
#[derive(Clone, Copy, Debug, Default)]
struct Scalable {
    reno: Reno,
    undo: Undo,
}

impl Controller for Scalable {
    delegate!(reno: on_start, on_spurious(undo), on_idle_restart, keep, window, slow_start_threshold);

    fn on_ack(&mut self, _cx: &mut Context<'_>, ack: &Ack) {
        let increase = if self.reno.window <= STANDARD { 1.0 } else { A * self.reno.window };
        self.reno.grow_by(ack, increase);
    }

    fn on_loss(&mut self, _cx: &mut Context<'_>, _loss: &Loss) {
        self.undo.remember(self.reno);
        self.reno.multiplicative_decrease(KEPT);
    }

    fn on_timeout(&mut self, _cx: &mut Context<'_>, loss: &Loss) {
        self.undo.remember_first(loss, self.reno);
        self.reno.timeout(KEPT, loss.again);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{World, ack, loss};

    #[test]
    fn at_most_fifty_acks_add_a_segment_and_a_loss_takes_an_eighth() {
        let mut world = World::new();
        // One ACK adds 1/min(w, 50).
        for (window, after) in [(40.0, 40.025), (50.0, 50.02), (200.0, 200.02)] {
            let mut scalable = Scalable { reno: Reno { window, threshold: 2.0 }, ..Scalable::default() };
            scalable.on_ack(&mut world.context(), &ack());
            assert!((scalable.window() - after).abs() < 1e-12, "{}", scalable.window());
        }
        for reduce in [Scalable::on_loss, Scalable::on_timeout] {
            let mut scalable = Scalable { reno: Reno { window: 8.0, threshold: 2.0 }, ..Scalable::default() };
            reduce(&mut scalable, &mut world.context(), &loss());
            assert_eq!(scalable.slow_start_threshold(), 7.0);
        }
    }
}
