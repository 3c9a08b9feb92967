//! BIC (Xu, Harfoush and Rhee, "Binary increase congestion control (BIC) for fast long-distance networks", INFOCOM
//! 2004).
//!
//! A binary search for the window that the path holds: between the window that the last loss left and the one at which
//! it happened the window goes half the way each round trip, but by S_max at most. Beyond, it looks for a new maximum
//! by steps that double.
//!
//! | rule | here |
//! | --- | --- |
//! | w < W_max: w += (W_max - w)/2 a round trip, within S_min and S_max | `Bic::increase` |
//! | w >= W_max: w += S_min, 2 S_min, 4 S_min, ... S_max a round trip | `Bic::increase` |
//! | loss: W_max = w, w -= beta w | `Bic::reduced` |
//! | fast convergence: W_max = w (2 - beta)/2 on a loss below the last one | `Bic::reduced` |
//! | up to the low window it is NewReno | `Bic::increase`, `Bic::reduced` |
//!
//! Notable differences from the paper: the increase of a round trip comes in equal parts with its ACKs. As long as no
//! loss has shown W_max the window grows by S_max.
//!
//! Linux's module is `linux/bic.rs`.

use crate::entry::{Aim, Entry, Quantity};
use crate::parameters::parameters;
use crate::parts::reno::delegate;
use crate::range::{above, from};
use crate::{Ack, Context, Controller, Loss, Probe, Reno, Undo};

/// The entry of BIC in the registry.
pub const ENTRY: Entry = Entry {
    name: "bic",
    title: "BIC",
    summary: "Searches between the windows after and at the last loss by halving, beyond by doubling its steps",
    source: "Xu, Harfoush and Rhee 2004; Linux",
    aim: Aim::General,
    parameters: Settings::PARAMETERS,
    probes: &[
        Quantity::new("w_max", "segments", "The window that the search aims at; 0 while no loss has shown one"),
        Quantity::new("increase", "segments per RTT", "Increase"),
    ],
    make: |given| Ok(Box::new(Bic::new(Settings::read(given)?))),
};

parameters! {
    /// The parameters.
    pub struct Settings {
        /// Largest increase
        s_max: f64 = 32.0, unit "segments per RTT", range above(0.0).up_to(10_000.0), source "the paper's S_max";
        /// Smallest increase
        s_min: f64 = 0.01, unit "segments per RTT", range above(0.0).up_to(10_000.0), source "the paper's S_min";
        /// Share of the window given up on a loss
        beta: f64 = 0.125, range above(0.0).below(1.0), source "the paper's beta";
        /// Up to this window it is NewReno
        low_window: u32 = 14, unit "segments", range from(0).up_to(1_000_000), source "the paper's low_window";
        /// A loss below the last W_max puts the next one lower, to leave room for new flows
        fast_convergence: bool = true, source "the paper's fast convergence";
    }
}

/// The controller.
#[derive(Clone, Copy, Debug)]
pub struct Bic {
    settings: Settings,
    reno: Reno,
    undo: Undo,
    /// W_max; 0 while unknown.
    w_max: f64,
    /// The window at the last loss.
    last_loss: f64,
    /// The step beyond W_max, 0 below it.
    probing: f64,
    increase: f64,
}

impl Bic {
    /// A controller with `settings`.
    pub fn new(settings: Settings) -> Self {
        let increase = settings.s_max;
        Self { settings, reno: Reno::new(), undo: Undo::default(), w_max: 0.0, last_loss: 0.0, probing: 0.0, increase }
    }

    fn is_low(&self) -> bool {
        self.reno.window <= f64::from(self.settings.low_window)
    }

    /// The increase for the round trip that begins.
    fn increase(&mut self) -> f64 {
        let Settings { s_max, s_min, .. } = self.settings;
        let step = if self.is_low() {
            return 1.0;
        } else if self.w_max == 0.0 {
            s_max
        } else if self.reno.window < self.w_max {
            self.probing = 0.0;
            (self.w_max - self.reno.window) / 2.0
        } else {
            self.probing = if self.probing == 0.0 { s_min } else { (2.0 * self.probing).min(s_max) };
            self.probing
        };
        step.max(s_min).min(s_max)
    }

    /// A congestion event: the threshold that it leaves.
    fn reduced(&mut self) -> f64 {
        let window = self.reno.window;
        let Settings { beta, fast_convergence, .. } = self.settings;
        self.probing = 0.0;
        let converges = fast_convergence && window < self.last_loss;
        self.w_max = if converges { window * (2.0 - beta) / 2.0 } else { window };
        self.last_loss = window;
        window * if self.is_low() { 0.5 } else { 1.0 - beta }
    }
}

impl Controller for Bic {
    delegate!(reno: on_start, on_spurious(undo), on_idle_restart, keep, window, slow_start_threshold);

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        if ack.round_start {
            self.increase = self.increase();
        }
        self.reno.grow_by(cx, ack, self.increase);
    }

    fn on_loss(&mut self, _cx: &mut Context<'_>, _loss: &Loss) {
        self.undo.remember(self.reno);
        let threshold = self.reduced();
        self.reno.reduce_to(threshold);
        self.increase = self.increase();
    }

    fn on_timeout(&mut self, _cx: &mut Context<'_>, loss: &Loss) {
        self.undo.remember_first(loss, self.reno);
        let threshold = if loss.again { self.reno.threshold } else { self.reduced() };
        self.reno.time_out_to(threshold, loss);
    }

    fn probe(&self, out: &mut dyn Probe) {
        out.value("w_max", self.w_max);
        out.value("increase", self.increase);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{World, ack, loss, probed};

    fn at(window: f64, w_max: f64) -> Bic {
        let mut bic = Bic::new(Settings::default());
        bic.reno = Reno { window, threshold: 2.0 };
        (bic.w_max, bic.last_loss) = (w_max, w_max);
        bic
    }

    /// A whole round trip: the increase is decided, and comes.
    fn round(bic: &mut Bic) -> f64 {
        let all = bic.window() as u32;
        let ack = Ack { round_start: true, newly_acknowledged: all, newly_delivered: all, ..ack() };
        bic.reno.window = f64::from(all);
        bic.on_ack(&mut World::new().context(), &ack);
        bic.window() - f64::from(all)
    }

    #[test]
    fn half_the_way_but_at_most_32_and_at_least_a_hundredth() {
        for (window, increase) in [(100.0, 32.0), (936.0, 32.0), (960.0, 20.0), (999.0, 0.5)] {
            assert!((round(&mut at(window, 1000.0)) - increase).abs() < 1e-9, "{window}");
        }
        assert!((round(&mut at(1000.0, 1000.001)) - 0.01).abs() < 1e-9);
    }

    #[test]
    fn beyond_the_maximum_the_step_doubles() {
        let mut bic = at(1000.0, 1000.0);
        let steps: Vec<f64> = (0..13).map(|_| (round(&mut bic) * 1e4).round() / 1e4).collect();
        assert_eq!(steps, [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 32.0]);
    }

    #[test]
    fn a_loss_takes_an_eighth_and_below_the_last_one_aims_lower() {
        let mut world = World::new();
        let mut bic = at(800.0, 0.0);
        bic.on_loss(&mut world.context(), &loss());
        assert_eq!((bic.window(), probed(&bic, "w_max"), probed(&bic, "increase")), (700.0, 800.0, 32.0));
        // 700 is below 800: 700 * 1.875/2 = 656.25.
        bic.on_loss(&mut world.context(), &loss());
        assert_eq!((bic.window(), probed(&bic, "w_max")), (612.5, 656.25));
    }

    #[test]
    fn up_to_the_low_window_it_is_newreno() {
        let mut bic = at(14.0, 1000.0);
        assert_eq!(round(&mut bic), 1.0);
        bic.reno.window = 14.0;
        bic.on_loss(&mut World::new().context(), &loss());
        assert_eq!(bic.window(), 7.0);
    }

    #[test]
    fn a_second_timeout_in_a_row_does_not_lower_the_aim() {
        let mut world = World::new();
        let mut bic = at(400.0, 0.0);
        bic.on_timeout(&mut world.context(), &loss());
        bic.on_timeout(&mut world.context(), &Loss { again: true, ..loss() });
        assert_eq!(probed(&bic, "w_max"), 400.0);
    }

    #[test]
    fn a_loss_at_the_window_of_the_last_one_does_not_converge_faster() {
        for (window, w_max) in [(100.0, 100.0), (99.0, 99.0 * (2.0 - 0.125) / 2.0)] {
            let mut bic = at(window, 100.0);
            bic.settings.beta = 0.125;
            bic.on_loss(&mut World::new().context(), &loss());
            assert_eq!(probed(&bic, "w_max"), w_max);
        }
    }
}
