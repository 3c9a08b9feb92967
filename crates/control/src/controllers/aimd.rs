//! AIMD: additive increase by `alpha`, multiplicative decrease to `beta` (Chiu and Jain 1989; Yang and Lam 2000 for
//! free parameters).
//!
//! NewReno with both constants free. With alpha = 3*(1 - beta)/(1 + beta) it has NewReno's mean window at the same
//! loss rate (RFC 9438, section 4.3).

use crate::entry::Entry;
use crate::parameters::parameters;
use crate::parts::reno::delegate;
use crate::range::above;
use crate::{Ack, Context, Controller, Loss, Reno, Undo};

/// What the registry tells about AIMD.
pub const ENTRY: Entry = Entry {
    name: "aimd",
    title: "AIMD",
    summary: "NewReno with a free increase per round trip and a free share kept on a loss",
    source: "Chiu and Jain 1989; Yang and Lam 2000",
    parameters: Settings::PARAMETERS,
    probes: &[],
    make: |given| Ok(Box::new(Aimd::new(Settings::read(given)?))),
};

parameters! {
    /// The parameters.
    pub struct Settings {
        /// Increase per round trip in congestion avoidance
        alpha: f64 = 1.0,
            unit "segments per RTT", range above(0.0).up_to(1000.0), source "RFC 5681, equation 3, for 1";
        /// Share of the window kept on a loss
        beta: f64 = 0.5, range above(0.0).below(1.0), source "RFC 5681, equation 4, for 0.5";
    }
}

/// The controller.
#[derive(Clone, Copy, Debug)]
pub struct Aimd {
    settings: Settings,
    reno: Reno,
    undo: Undo,
}

impl Aimd {
    /// A controller with `settings`.
    pub fn new(settings: Settings) -> Self {
        Self { settings, reno: Reno::new(), undo: Undo::default() }
    }
}

impl Controller for Aimd {
    delegate!(reno: on_start, on_spurious(undo), on_idle_restart, window, slow_start_threshold);

    fn on_ack(&mut self, _cx: &mut Context<'_>, ack: &Ack) {
        self.reno.grow_by(ack, self.settings.alpha);
    }

    fn on_loss(&mut self, _cx: &mut Context<'_>, _loss: &Loss) {
        self.undo.remember(self.reno);
        self.reno.multiplicative_decrease(self.settings.beta);
    }

    fn on_timeout(&mut self, _cx: &mut Context<'_>, loss: &Loss) {
        self.undo.remember_first(loss, self.reno);
        self.reno.timeout(self.settings.beta, loss.again);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{World, ack, loss};

    #[test]
    fn a_window_of_acknowledgements_adds_alpha_and_a_loss_keeps_beta() {
        let mut world = World::new();
        let mut aimd = Aimd::new(Settings { alpha: 0.2, beta: 0.875 });
        aimd.reno = Reno { window: 40.0, threshold: 2.0 };
        aimd.on_ack(&mut world.context(), &Ack { newly_acknowledged: 40, newly_delivered: 40, ..ack() });
        assert!((aimd.window() - 40.2).abs() < 1e-12);
        aimd.on_loss(&mut world.context(), &loss());
        assert!((aimd.window() - 35.175).abs() < 1e-12);
    }
}
