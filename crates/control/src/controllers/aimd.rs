//! AIMD: additive increase by `alpha`, multiplicative decrease to `beta` (Chiu and Jain 1989, and Yang and Lam 2000 for
//! free parameters).
//!
//! NewReno with both constants free. With alpha = 3*(1 - beta)/(1 + beta) it has NewReno's mean window at the same
//! loss rate (RFC 9438, section 4.3).
//!
//! With powers of the window it is any linear or binomial rule (Bansal and Balakrishnan, "Binomial congestion control
//! algorithms", INFOCOM 2001; Edwan 2010, sections 2.2 and 2.3):
//!
//! | rule | here |
//! | --- | --- |
//! | w += alpha/w^k a round trip | `Aimd::increase` |
//! | w -= b w^l on a loss, b = `decrease`, or 1 - beta | `Aimd::left` |
//!
//! The pair (k, l) is (0, 1) for AIMD, (0, 0) for AIAD, (-1, 1) for MIMD, (-1, 0) for MIAD, (1, 0) for IIAD, and (1/2,
//! 1/2) for SQRT. Rules with k + l = 1 and l <= 1 have NewReno's share up to a constant.

use crate::entry::{Aim, Entry};
use crate::parameters::parameters;
use crate::parts::reno::{delegate, reduce};
use crate::range::{above, from};
use crate::{Ack, Context, Controller, Reno, Undo};

/// The entry of AIMD in the registry.
pub const ENTRY: Entry = Entry {
    name: "aimd",
    title: "AIMD",
    summary: "NewReno with a free increase per round trip and a free share kept on a loss",
    source: "Chiu and Jain 1989; Yang and Lam 2000",
    aim: Aim::General,
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
        /// Power of the window by which the increase is divided
        k: f64 = 0.0, range from(-1.0).up_to(4.0), source "Bansal and Balakrishnan 2001, k";
        /// Power of the window that a loss takes
        l: f64 = 1.0, range from(0.0).up_to(1.0), source "Bansal and Balakrishnan 2001, l";
        /// Decrease on a loss, in units of that power; 0 for 1 - beta
        decrease: f64 = 0.0, range from(0.0).up_to(1_000_000.0), source "Bansal and Balakrishnan 2001, beta";
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

    /// Segments a round trip.
    fn increase(&self) -> f64 {
        let Settings { alpha, k, .. } = self.settings;
        if k == 0.0 { alpha } else { alpha / power(self.reno.window, k) }
    }

    /// The share of the window that a loss leaves, 0 if the loss takes all of it.
    fn left(&self) -> f64 {
        let Settings { beta, l, decrease, .. } = self.settings;
        if l == 1.0 && decrease == 0.0 {
            return beta;
        }
        let taken = if decrease > 0.0 { decrease } else { 1.0 - beta };
        (1.0 - taken * power(self.reno.window, l - 1.0)).max(0.0)
    }
}

/// w^n, without logarithms for the powers of the named rules.
fn power(w: f64, n: f64) -> f64 {
    if n == 1.0 {
        w
    } else if n == -1.0 {
        1.0 / w
    } else if n == 0.5 {
        w.sqrt()
    } else if n == -0.5 {
        1.0 / w.sqrt()
    } else {
        libm::pow(w, n)
    }
}

impl Controller for Aimd {
    delegate!(reno: on_start, on_spurious(undo), on_idle_restart, keep, window, slow_start_threshold);
    reduce!(keeping left);

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.reno.grow_by(cx, ack, self.increase());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{World, ack, loss};

    #[test]
    fn a_window_of_acknowledgements_adds_alpha_and_a_loss_keeps_beta() {
        let mut world = World::new();
        let mut aimd = Aimd::new(Settings { alpha: 0.2, beta: 0.875, ..Settings::default() });
        aimd.reno = Reno { window: 40.0, threshold: 2.0 };
        aimd.on_ack(&mut world.context(), &Ack { newly_acknowledged: 40, newly_delivered: 40, ..ack() });
        assert!((aimd.window() - 40.2).abs() < 1e-12);
        aimd.on_loss(&mut world.context(), &loss());
        assert!((aimd.window() - 35.175).abs() < 1e-12);
    }

    #[test]
    fn the_six_named_rules_grow_and_give_up_by_their_powers() {
        let mut world = World::new();
        // From 100 segments, alpha = 1, b = 0.5 for l = 1 and 4 else: the increase of a round trip, and the decrease on
        // a loss.
        for (name, k, l, increase, taken) in [
            ("AIMD", 0.0, 1.0, 1.0, 50.0),
            ("AIAD", 0.0, 0.0, 1.0, 4.0),
            ("MIMD", -1.0, 1.0, 100.0, 50.0),
            ("MIAD", -1.0, 0.0, 100.0, 4.0),
            ("IIAD", 1.0, 0.0, 0.01, 4.0),
            ("SQRT", 0.5, 0.5, 0.1, 40.0),
        ] {
            let decrease = if l == 1.0 { 0.0 } else { 4.0 };
            let mut aimd = Aimd::new(Settings { k, l, decrease, ..Settings::default() });
            aimd.reno = Reno { window: 100.0, threshold: 2.0 };
            aimd.on_ack(&mut world.context(), &Ack { newly_acknowledged: 100, newly_delivered: 100, ..ack() });
            assert!((aimd.window() - 100.0 - increase).abs() < 1e-9, "{name}: {}", aimd.window());
            aimd.reno.window = 100.0;
            aimd.on_loss(&mut world.context(), &loss());
            assert!((aimd.window() - 100.0 + taken).abs() < 1e-9, "{name}: {}", aimd.window());
        }
    }

    #[test]
    fn what_is_more_than_the_window_leaves_two_segments() {
        let mut aimd = Aimd::new(Settings { l: 0.0, decrease: 1000.0, ..Settings::default() });
        aimd.reno = Reno { window: 100.0, threshold: 2.0 };
        aimd.on_loss(&mut World::new().context(), &loss());
        assert_eq!(aimd.window(), 2.0);
    }

    #[test]
    fn a_share_to_give_up_takes_the_place_of_the_one_to_keep() {
        let mut aimd = Aimd::new(Settings { decrease: 0.25, beta: 0.5, ..Settings::default() });
        aimd.reno = Reno { window: 100.0, threshold: 2.0 };
        aimd.on_loss(&mut World::new().context(), &loss());
        assert_eq!(aimd.window(), 75.0);
    }
}
