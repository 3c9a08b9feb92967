//! CUBIC of FreeBSD 9 (`cc_cubic.c`). The RFC's is `controllers/cubic.rs`.
//!
//! Differences from the RFC: the first loss of a connection halves the window, later ones leave four fifths
//! (`CUBIC_BETA`). Slow start has no HyStart. The cubic's clock runs on while nothing is sent (`t_last_cong`).

use crate::controllers::cubic::{self, Settings};
use crate::entry::Form;
use crate::{Ack, Context, Controller, Loss, Marks, Probe, Reno};

/// The form of CUBIC.
pub(crate) const FORM: Form =
    Form { parameters: &[], probes: cubic::ENTRY.probes, make: |_| Ok(Box::new(Cubic::new())) };

/// The share that the first loss of a connection keeps.
const KEPT_FIRST: f64 = 0.5;
/// The share that a later one keeps (`CUBIC_BETA`).
const BETA: f64 = 0.8;

/// The controller.
#[derive(Clone, Copy, Debug)]
struct Cubic(cubic::Cubic);

impl Cubic {
    fn new() -> Self {
        Self(cubic::Cubic::new(Settings { beta: BETA, hystart: false, ..Settings::default() }))
    }

    /// The share that this congestion event keeps.
    fn kept(&self) -> f64 {
        if self.0.has_reduced() { BETA } else { KEPT_FIRST }
    }
}

impl Controller for Cubic {
    fn on_start(&mut self, cx: &mut Context<'_>) {
        self.0.on_start(cx);
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.0.acknowledge(cx.now, ack);
    }

    fn on_loss(&mut self, _cx: &mut Context<'_>, _loss: &Loss) {
        self.0.lose(self.kept());
    }

    fn on_ecn(&mut self, _cx: &mut Context<'_>, _marks: &Marks) {
        self.0.yield_to_mark(self.kept());
    }

    fn keep(&mut self, window: f64) -> bool {
        self.0.keep(window)
    }

    fn on_timeout(&mut self, cx: &mut Context<'_>, loss: &Loss) {
        self.0.time_out(cx.now, self.kept(), loss);
    }

    fn on_spurious(&mut self, cx: &mut Context<'_>) {
        self.0.on_spurious(cx);
    }

    fn on_idle_restart(&mut self, cx: &mut Context<'_>) {
        self.0.on_idle_restart(cx);
    }

    fn window(&self) -> f64 {
        self.0.window()
    }

    fn slow_start_threshold(&self) -> f64 {
        self.0.slow_start_threshold()
    }

    fn reno(&mut self) -> Option<&mut Reno> {
        self.0.reno()
    }

    fn probe(&self, out: &mut dyn Probe) {
        self.0.probe(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{World, ack, loss};

    fn at_100() -> Cubic {
        let mut cubic = Cubic::new();
        cubic.reno().unwrap().window = 100.0;
        cubic
    }

    // cc_cubic.c: ticks - t_last_cong.
    #[test]
    fn the_clock_of_the_cubic_runs_on_while_nothing_is_sent() {
        let mut world = World::new();
        let mut cubic = at_100();
        assert!(!cubic.wants().transmit_start);
        cubic.on_loss(&mut world.context(), &loss());
        cubic.on_ack(&mut world.context(), &ack());
        let k = crate::testing::probed(&cubic, "k_s");
        assert!((k - 4.999).abs() < 0.01, "cbrt(50/0.4) = 5, not {k}");
        world.now += units::Span::from_secs(10);
        cubic.on_ack(&mut world.context(), &Ack { newly_acknowledged: 50, newly_delivered: 50, ..ack() });
        assert!((cubic.window() - 75.0).abs() < 0.01, "{}: the target is half a window away at most", cubic.window());
    }

    #[test]
    fn the_first_loss_halves() {
        let mut world = World::new();
        let mut cubic = at_100();
        cubic.on_loss(&mut world.context(), &loss());
        assert_eq!(cubic.window(), 50.0);
        cubic.on_loss(&mut world.context(), &loss());
        assert_eq!(cubic.window(), 40.0);
    }

    #[test]
    fn a_spurious_first_loss_leaves_the_next_one_to_halve() {
        let mut world = World::new();
        let mut cubic = at_100();
        cubic.on_loss(&mut world.context(), &loss());
        cubic.on_spurious(&mut world.context());
        assert_eq!(cubic.window(), 100.0);
        cubic.on_timeout(&mut world.context(), &loss());
        assert_eq!(cubic.slow_start_threshold(), 50.0);
        cubic.on_spurious(&mut world.context());
        cubic.on_loss(&mut world.context(), &loss());
        assert_eq!(cubic.window(), 50.0);
    }

    #[test]
    fn a_row_of_timeouts_halves_once() {
        let mut world = World::new();
        let mut cubic = at_100();
        cubic.on_timeout(&mut world.context(), &loss());
        cubic.on_timeout(&mut world.context(), &Loss { again: true, ..loss() });
        assert_eq!((cubic.window(), cubic.slow_start_threshold()), (1.0, 50.0));
    }

    #[test]
    fn a_mark_keeps_four_fifths_after_a_loss() {
        let mut world = World::new();
        let mut cubic = at_100();
        cubic.on_loss(&mut world.context(), &loss());
        let marks = Marks { in_flight: 50, acknowledged_to: 0, sent_to: 50, at: world.now };
        cubic.on_ecn(&mut world.context(), &marks);
        assert_eq!(cubic.window(), 40.0);
    }
}
