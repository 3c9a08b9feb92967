//! Template: a segment more a round trip, and a share of the window less for a loss.
//!
//! Differences from its source: none. It is where you begin: name the paper, and the place of each equation.
//!
//! | equation | here |
//! | --- | --- |
//! | w += 1 a round trip | [`Template::on_ack`] |
//! | w = beta w on a loss | [`Template::on_loss`] |

use crate::entry::{Aim, Entry};
use crate::parameters::parameters;
use crate::parts::reno::delegate;
use crate::range::above;
use crate::{Ack, Context, Controller, Loss, Reno, Undo};

/// Registry entry.
pub const ENTRY: Entry = Entry {
    name: "template",
    title: "Template",
    summary: "A segment more a round trip, a share of the window less for a loss",
    source: "name the paper",
    aim: Aim::General,
    parameters: Settings::PARAMETERS,
    probes: &[],
    make: |given| Ok(Box::new(Template::new(Settings::read(given)?))),
};

parameters! {
    /// The parameters.
    pub struct Settings {
        /// Share of the window kept on a loss
        beta: f64 = 0.7, range above(0.0).below(1.0), source "RFC 9438, section 4.6, for 0.7";
    }
}

/// The controller.
#[derive(Clone, Copy, Debug)]
pub struct Template {
    settings: Settings,
    reno: Reno,
    undo: Undo,
}

impl Template {
    /// A controller with `settings`.
    pub fn new(settings: Settings) -> Self {
        Self { settings, reno: Reno::new(), undo: Undo::default() }
    }
}

impl Controller for Template {
    delegate!(reno: on_start, on_spurious(undo), on_idle_restart, window, slow_start_threshold);

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.reno.grow_by(cx, ack, 1.0);
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
    fn a_window_of_acknowledgements_adds_a_segment_and_a_loss_keeps_beta() {
        let mut world = World::new();
        let mut controller = Template::new(Settings::default());
        controller.reno = Reno { window: 40.0, threshold: 2.0 };
        controller.on_ack(&mut world.context(), &Ack { newly_acknowledged: 40, newly_delivered: 40, ..ack() });
        assert!((controller.window() - 41.0).abs() < 1e-12);
        // 0.7 of 41.
        controller.on_loss(&mut world.context(), &loss());
        assert!((controller.window() - 28.7).abs() < 1e-12);
    }
}
