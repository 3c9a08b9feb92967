//! TCP-Illinois (Liu, Başar and Srikant, "TCP-Illinois: a loss- and delay-based congestion control algorithm for
//! high-speed networks", Performance Evaluation 65, 2008).
//!
//! Losses decide when the window shrinks; the queueing delay decides how fast it grows and how much it gives up: a
//! short queue means a large increase and a small decrease.
//!
//! | rule, with d_a the mean queueing delay of a round trip, d_m the largest, d_i = eta_i d_m | here |
//! | --- | --- |
//! | alpha = alpha_max up to d_1, then k1/(k2 + d_a), alpha_min at d_m | `Settings::alpha_at` |
//! | beta = beta_min up to d_2, beta_max from d_3, linear between | `Settings::beta_at` |
//! | alpha_max again only after theta round trips in a row below d_1 | `Illinois::decide` |
//! | standard TCP below the window threshold | `Illinois::decide` |
//!
//! Notable differences from the paper: the constants that it leaves to the implementation are those of Linux. The
//! extremes of the RTT are those of single samples; the largest one is of samples that do not contain a delayed ACK's
//! wait. Linux counts theta over all round trips since the increase last was alpha_max, not those in a row.

use units::Span;

use crate::entry::{Entry, Quantity};
use crate::parameters::parameters;
use crate::parts::reno::delegate;
use crate::range::{above, from};
use crate::{Ack, Context, Controller, Loss, Probe, Reno, Undo};

/// What the registry tells about TCP-Illinois.
pub const ENTRY: Entry = Entry {
    name: "illinois",
    title: "TCP-Illinois",
    summary: "Reacts to losses alone, but grows faster and gives up less the shorter the queue",
    source: "Liu, Başar and Srikant 2008",
    parameters: Settings::PARAMETERS,
    probes: &[
        Quantity::new("alpha", "segments per RTT", "Increase"),
        Quantity::new("beta", "", "Share of the window that a loss would take"),
        Quantity::new("delay_ms", "ms", "d_a, average queueing delay"),
        Quantity::new("delay_max_ms", "ms", "d_m, largest queueing delay"),
    ],
    make: |given| Ok(Box::new(Illinois::new(Settings::read(given)?))),
};

/// Standard TCP.
const ALPHA_BASE: f64 = 1.0;
const BETA_BASE: f64 = 0.5;

parameters! {
    /// The parameters.
    pub struct Settings {
        /// Increase at the largest queueing delay
        alpha_min: f64 = 0.3, unit "segments per RTT", range above(0.0).up_to(1000.0), source "alpha_min";
        /// Increase with a short queue
        alpha_max: f64 = 10.0,
            unit "segments per RTT", range above(0.0).up_to(1000.0).not_below("alpha_min"), source "alpha_max";
        /// Share of the window given up on a loss with a short queue
        beta_min: f64 = 0.125, range above(0.0).below(1.0), source "beta_min";
        /// Share of the window given up on a loss with a long queue
        beta_max: f64 = 0.5, range above(0.0).below(1.0).not_below("beta_min"), source "beta_max";
        /// Share of the largest queueing delay up to which the increase is alpha_max
        eta_1: f64 = 0.01, range from(0.0).up_to(1.0), source "d_1";
        /// Share of the largest queueing delay up to which a loss takes beta_min
        eta_2: f64 = 0.1, range above(0.0).up_to(1.0).not_below("eta_1"), source "d_2";
        /// Share of the largest queueing delay from which a loss takes beta_max
        eta_3: f64 = 0.8, range above(0.0).up_to(1.0).not_below("eta_2"), source "d_3";
        /// Below this window it is standard TCP
        window_threshold: f64 = 15.0, unit "segments", range from(0.0).up_to(1_000_000.0), source "W_thresh";
        /// Round trips in a row with a short queue before the increase returns to alpha_max
        theta: u32 = 5, unit "round trips", range from(0).up_to(1000), source "theta";
    }
}

impl Settings {
    /// The increase at delay `da` above d_1 of at most `dm`: k1/(k2 + da), with k1 and k2 such that it goes from
    /// alpha_max at d_1 to alpha_min at dm.
    fn alpha_at(&self, da: f64, dm: f64) -> f64 {
        let d1 = self.eta_1 * dm;
        let share = ((da - d1) / (dm - d1)).min(1.0);
        self.alpha_max / (1.0 + share * (self.alpha_max / self.alpha_min - 1.0))
    }

    /// The decrease at delay `da` of at most `dm`.
    fn beta_at(&self, da: f64, dm: f64) -> f64 {
        let (d2, d3) = (self.eta_2 * dm, self.eta_3 * dm);
        if da <= d2 {
            self.beta_min
        } else if da >= d3 {
            self.beta_max
        } else {
            self.beta_min + (self.beta_max - self.beta_min) * (da - d2) / (d3 - d2)
        }
    }
}

/// The RTT samples of a round trip.
#[derive(Clone, Copy, Debug, Default)]
struct Samples {
    sum: Span,
    count: u32,
}

/// The controller.
#[derive(Clone, Copy, Debug)]
pub struct Illinois {
    settings: Settings,
    reno: Reno,
    undo: Undo,
    alpha: f64,
    beta: f64,
    /// The queue was longer than d_1 since the increase last was alpha_max.
    above: bool,
    /// Round trips in a row with a short queue since.
    low: u32,
    rtt_max: Span,
    samples: Samples,
    /// d_a and d_m of the last round trip, seconds.
    delay: f64,
    delay_max: f64,
}

impl Illinois {
    /// A controller with `settings`.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            reno: Reno::new(),
            undo: Undo::default(),
            alpha: settings.alpha_max,
            beta: BETA_BASE,
            above: false,
            low: 0,
            rtt_max: Span::ZERO,
            samples: Samples::default(),
            delay: 0.0,
            delay_max: 0.0,
        }
    }

    fn observe(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.undelayed_rtt() {
            self.rtt_max = self.rtt_max.max(rtt);
            self.samples.sum += rtt;
            self.samples.count += 1;
        }
    }

    /// A round trip ends: increase and decrease for the next one.
    fn decide(&mut self, min_rtt: Span) {
        let Samples { sum, count } = std::mem::take(&mut self.samples);
        if self.reno.window < self.settings.window_threshold {
            (self.alpha, self.beta) = (ALPHA_BASE, BETA_BASE);
            return;
        }
        if count == 0 || self.rtt_max <= min_rtt {
            return;
        }
        let base = min_rtt.as_secs_f64();
        let da = (sum.as_secs_f64() / f64::from(count) - base).max(0.0);
        let dm = self.rtt_max.as_secs_f64() - base;
        (self.delay, self.delay_max) = (da, dm);
        if da > self.settings.eta_1 * dm {
            (self.above, self.low) = (true, 0);
            self.alpha = self.settings.alpha_at(da, dm);
        } else if !self.above {
            self.alpha = self.settings.alpha_max;
        } else {
            self.low += 1;
            if self.low >= self.settings.theta {
                (self.low, self.above) = (0, false);
                self.alpha = self.settings.alpha_max;
            }
        }
        self.beta = self.settings.beta_at(da, dm);
    }
}

impl Controller for Illinois {
    delegate!(reno: on_start, on_spurious(undo), on_idle_restart, window, slow_start_threshold);

    fn on_ack(&mut self, _cx: &mut Context<'_>, ack: &Ack) {
        self.observe(ack);
        if ack.round_start {
            self.decide(ack.min_rtt);
        }
        self.reno.grow_by(ack, self.alpha);
    }

    fn on_duplicate_ack(&mut self, _cx: &mut Context<'_>, ack: &Ack) {
        self.observe(ack);
    }

    fn on_loss(&mut self, _cx: &mut Context<'_>, _loss: &Loss) {
        self.undo.remember(self.reno);
        self.reno.multiplicative_decrease(1.0 - self.beta);
    }

    fn on_timeout(&mut self, _cx: &mut Context<'_>, loss: &Loss) {
        self.undo.remember_first(loss, self.reno);
        self.reno.timeout(1.0 - self.beta, loss.again);
        (self.alpha, self.beta) = (ALPHA_BASE, BETA_BASE);
        (self.low, self.above) = (0, false);
        self.samples = Samples::default();
    }

    fn probe(&self, out: &mut dyn Probe) {
        out.value("alpha", self.alpha);
        out.value("beta", self.beta);
        out.value("delay_ms", self.delay * 1e3);
        out.value("delay_max_ms", self.delay_max * 1e3);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{World, ack, loss, probed, rtt};

    /// On a path of 100 ms on which the queue has been 100 ms long.
    fn at(window: f64) -> Illinois {
        let mut illinois = Illinois::new(Settings::default());
        illinois.reno = Reno { window, threshold: 2.0 };
        illinois.rtt_max = Span::from_millis(200);
        illinois
    }

    /// A round trip of 100 ms and this queueing delay.
    fn round(illinois: &mut Illinois, delay: u64) {
        let ack = Ack { rtt: rtt(100 + delay), min_rtt: Span::from_millis(100), round_start: true, ..ack() };
        illinois.on_ack(&mut World::new().context(), &ack);
    }

    #[test]
    fn increase_and_decrease_follow_their_curves_from_corner_to_corner() {
        // d_1 = 1 ms, d_2 = 10 ms, d_3 = 80 ms of d_m = 100 ms. alpha at 10 ms: 10/(1 + 9/99 * 97/3) = 2.538; at 45 ms:
        // 10/(1 + 44/99 * 97/3) = 0.6506. beta at 45 ms: 0.125 + 0.375 * 35/70.
        for (delay, alpha, beta) in [
            (1, 10.0, 0.125),
            (10, 2.538_46, 0.125),
            (45, 0.650_60, 0.3125),
            (50, 0.588_13, 0.339_29),
            (80, 0.373_02, 0.5),
            (100, 0.3, 0.5),
        ] {
            let mut illinois = at(100.0);
            round(&mut illinois, delay);
            let (a, b) = (probed(&illinois, "alpha"), probed(&illinois, "beta"));
            assert!((a - alpha).abs() < 1e-4 && (b - beta).abs() < 1e-4, "{delay} ms: {a}, {b}");
        }
    }

    #[test]
    fn the_delay_is_the_mean_of_the_round_trip() {
        let mut illinois = at(100.0);
        for delay in [20, 40] {
            let ack = Ack { rtt: rtt(100 + delay), min_rtt: Span::from_millis(100), ..ack() };
            illinois.on_ack(&mut World::new().context(), &ack);
        }
        round(&mut illinois, 90);
        assert!((probed(&illinois, "delay_ms") - 50.0).abs() < 1e-9);
    }

    #[test]
    fn the_largest_increase_returns_after_five_short_queues() {
        let mut illinois = at(100.0);
        round(&mut illinois, 50);
        for n in 1..=5 {
            round(&mut illinois, 0);
            let expected = if n < 5 { 0.588_13 } else { 10.0 };
            assert!((probed(&illinois, "alpha") - expected).abs() < 1e-4, "{n}");
        }
    }

    #[test]
    fn a_long_queue_begins_the_count_of_short_ones_anew() {
        let mut illinois = at(100.0);
        for delay in [50, 0, 0, 0, 0, 50, 0, 0, 0, 0] {
            round(&mut illinois, delay);
        }
        assert!((probed(&illinois, "alpha") - 0.588_13).abs() < 1e-4, "four in a row, twice");
        round(&mut illinois, 0);
        assert_eq!(probed(&illinois, "alpha"), 10.0);
    }

    #[test]
    fn below_the_window_threshold_it_is_standard_tcp() {
        let mut illinois = at(14.0);
        round(&mut illinois, 0);
        assert_eq!((probed(&illinois, "alpha"), probed(&illinois, "beta")), (1.0, 0.5));
    }

    #[test]
    fn a_window_of_acknowledgements_adds_alpha_and_a_loss_takes_beta() {
        let mut world = World::new();
        let mut illinois = at(100.0);
        illinois.on_ack(&mut world.context(), &Ack { newly_acknowledged: 100, newly_delivered: 100, ..ack() });
        assert_eq!(illinois.window(), 110.0);
        illinois.reno.window = 80.0;
        round(&mut illinois, 5);
        illinois.reno.window = 80.0;
        illinois.on_loss(&mut world.context(), &loss());
        assert_eq!(illinois.window(), 70.0);
        illinois.on_timeout(&mut world.context(), &loss());
        assert_eq!((illinois.slow_start_threshold(), probed(&illinois, "beta")), (61.25, 0.5));
    }
}
