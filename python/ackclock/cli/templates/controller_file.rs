//! Template: a segment more a round trip, and a share of the window less for a loss.
//!
//! Try it: `ackclock compare newreno ./template.rs:Template`. docs/rust-controllers.md describes such files.

use control::{Ack, Context, Controller, Loss, Reno};

/// Share of the window kept on a loss.
const BETA: f64 = 0.7;

/// A window and a slow start threshold, in segments.
#[derive(Default)]
struct Template(Reno);

impl Controller for Template {
    fn on_start(&mut self, cx: &mut Context<'_>) {
        self.0.start(cx);
    }

    /// An ACK of new data: slow start, then a segment a round trip.
    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.0.grow(cx, ack);
    }

    /// Once a window of data.
    fn on_loss(&mut self, _cx: &mut Context<'_>, _loss: &Loss) {
        self.0.multiplicative_decrease(BETA);
    }

    /// All that was in flight counts as lost.
    fn on_timeout(&mut self, _cx: &mut Context<'_>, loss: &Loss) {
        self.0.timeout(BETA, loss.again);
    }

    fn on_idle_restart(&mut self, cx: &mut Context<'_>) {
        self.0.idle_restart(cx);
    }

    fn window(&self) -> f64 {
        self.0.window
    }

    fn slow_start_threshold(&self) -> f64 {
        self.0.threshold
    }
}
