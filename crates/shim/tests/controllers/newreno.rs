//! NewReno, as a user writes it.
use control::{Ack, Context, Controller, Loss, Reno, Undo};

#[derive(Default)]
pub struct Mine {
    reno: Reno,
    undo: Undo,
}

impl Controller for Mine {
    fn on_start(&mut self, cx: &mut Context<'_>) {
        self.reno.start(cx);
    }
    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.reno.grow(cx, ack);
    }
    fn on_loss(&mut self, _cx: &mut Context<'_>, _loss: &Loss) {
        self.undo.remember(self.reno);
        self.reno.multiplicative_decrease(0.5);
    }
    fn on_timeout(&mut self, _cx: &mut Context<'_>, loss: &Loss) {
        self.undo.remember_first(loss, self.reno);
        self.reno.timeout(0.5, loss.again);
    }
    fn on_spurious(&mut self, _cx: &mut Context<'_>) {
        self.undo.restore(&mut self.reno);
    }
    fn on_idle_restart(&mut self, cx: &mut Context<'_>) {
        self.reno.idle_restart(cx);
    }
    fn keep(&mut self, window: f64) -> bool {
        self.reno.keep(window);
        true
    }
    fn window(&self) -> f64 {
        self.reno.window
    }
    fn slow_start_threshold(&self) -> f64 {
        self.reno.threshold
    }
}
