//! TCP-Illinois (Liu, Başar and Srikant, "TCP-Illinois: a loss- and delay-based congestion control algorithm for
//! high-speed networks", Performance Evaluation 65, 2008), and Illinois of higher order (Edwan, "Improved Algorithms
//! for TCP Congestion Control", thesis, Loughborough 2010, chapter 6): TCP-Q, TCP-C, TCP-Fq and TCP-Fs.
//!
//! Losses decide when the window shrinks. The queueing delay decides how fast it grows and how much it gives up: a
//! short queue means a large increase and a small decrease. In order n the n-th power of the delay decides.
//!
//! | rule, with d_a the mean queueing delay of a round trip, d_m the largest, d_i = eta_i d_m | here |
//! | --- | --- |
//! | alpha = alpha_max up to d_1, then k1/(k2 + d_a), alpha_min at d_m; (6.3) of the thesis | `Settings::alpha_at` |
//! | beta = beta_min up to d_2, beta_max from d_3, linear between; (6.4) | `Settings::beta_at` |
//! | TCP-Fs: beta = beta_min up to d_4, half way to beta_max at d_5 (section 6.2) | `Settings::smoothed_beta_at` |
//! | alpha_max again only after theta round trips in a row below d_1 | `Illinois::alpha` |
//! | standard TCP below the window threshold | `Illinois::decide` |
//!
//! Notable differences from the paper: the constants that it leaves to the implementation are Linux's. The extremes of
//! the RTT are of single samples, or of the means of round trips (`extrema`). The largest one is of samples that do not
//! contain a delayed ACK's wait. Linux counts theta over all round trips since the increase last was alpha_max, not
//! over round trips in a row: `theta_in_a_row = false`, the default of the orders of the thesis.
//!
//! Notable differences from the thesis: eta_3 goes up to 1, where (6.2) prints at most 0.5.
//!
//! Linux's module is `linux/illinois.rs`.

use units::Span;

use crate::entry::{Aim, Entry, Quantity};
use crate::parameters::{choices, over, parameters, with_defaults};
use crate::parts::reno::delegate;
use crate::range::{Literal, above, from};
use crate::{Ack, Context, Controller, Loss, Probe, Reno, Undo, Wants};

/// The entry of TCP-Illinois in the registry.
pub const ENTRY: Entry = Entry {
    name: "illinois",
    title: "TCP-Illinois",
    summary: "Reacts to losses alone, but grows faster and gives up less the shorter the queue",
    source: "Liu, Başar and Srikant 2008",
    aim: Aim::General,
    parameters: Settings::PARAMETERS,
    probes: &[
        Quantity::new("alpha", "segments per RTT", "Increase"),
        Quantity::new("beta", "", "Share of the window that a loss would take"),
        Quantity::new("delay_ms", "ms", "d_a, average queueing delay"),
        Quantity::new("delay_max_ms", "ms", "d_m, largest queueing delay"),
    ],
    make: |given| Ok(Box::new(Illinois::new(Settings::read(given)?))),
};

/// The orders of the thesis as entries of the registry: Illinois with these parameters.
macro_rules! orders {
    ($($entry:ident, $name:literal, $title:literal, $summary:literal, $others:expr;)+) => {$(
        #[doc = concat!("What the registry tells about ", $title, ".")]
        pub const $entry: Entry = Entry {
            name: $name,
            title: $title,
            summary: $summary,
            source: "Edwan 2010, section 6.2",
            parameters: &with_defaults::<{ Settings::PARAMETERS.len() }>(Settings::PARAMETERS, $others),
            make: |given| Ok(Box::new(Illinois::new(Settings::read(&over($others, given))?))),
            ..ENTRY
        };
    )+};
}

/// As Linux and the thesis count theta.
pub(super) const LINUX_THETA: (&str, Literal) = ("theta_in_a_row", Literal::Switch(false));

/// The parameters of the orders.
pub(super) const TCP_Q_VALUES: &[(&str, Literal)] = &[("order", Literal::Integer(2)), LINUX_THETA];
pub(super) const TCP_C_VALUES: &[(&str, Literal)] = &[("order", Literal::Integer(3)), LINUX_THETA];
pub(super) const TCP_FQ_VALUES: &[(&str, Literal)] = &[("form", Literal::Word("fq")), LINUX_THETA];
pub(super) const TCP_FS_VALUES: &[(&str, Literal)] = &[("form", Literal::Word("fs")), LINUX_THETA];

orders! {
    TCP_Q, "tcp-q", "TCP-Q", "TCP-Illinois with the square of the delay: more aggressive while the queue is not full",
        TCP_Q_VALUES;
    TCP_C, "tcp-c", "TCP-C", "TCP-Illinois with the third power of the delay", TCP_C_VALUES;
    TCP_FQ, "tcp-fq", "TCP-Fq", "TCP-Illinois with the square of the delay in the decrease alone", TCP_FQ_VALUES;
    TCP_FS, "tcp-fs", "TCP-Fs", "TCP-Illinois with a decrease that stays small up to a longer queue", TCP_FS_VALUES;
}

/// Standard TCP.
const ALPHA_BASE: f64 = 1.0;
const BETA_BASE: f64 = 0.5;

choices! {
    /// Which functions of the delay.
    pub enum Form {
        /// Both of the order given.
        Power = Word("power"),
        /// The increase of order 1, the decrease of order 2.
        Fq = Word("fq"),
        /// Both of order 1, and a decrease that begins to rise later and then rises faster.
        Fs = Word("fs"),
    }
}

choices! {
    /// The values whose least and largest are the extremes of the RTT.
    pub enum Extrema {
        /// Single samples.
        Sample = Word("sample"),
        /// The means of round trips.
        WindowAverage = Word("window_average"),
    }
}

parameters! {
    /// The parameters.
    pub struct Settings {
        /// Increase at the largest queueing delay
        alpha_min: f64 = 0.3, unit "segments per RTT", range above(0.0).up_to(1000.0), source "the paper's alpha_min";
        /// Increase with a short queue
        alpha_max: f64 = 10.0,
            unit "segments per RTT", range above(0.0).up_to(1000.0).not_below("alpha_min"),
            source "the paper's alpha_max";
        /// Share of the window given up on a loss with a short queue
        beta_min: f64 = 0.125, range above(0.0).below(1.0), source "the paper's beta_min";
        /// Share of the window given up on a loss with a long queue
        beta_max: f64 = 0.5, range above(0.0).below(1.0).not_below("beta_min"), source "the paper's beta_max";
        /// Share of the largest queueing delay up to which the increase is alpha_max
        eta_1: f64 = 0.01, range from(0.0).up_to(1.0), source "the paper's d_1";
        /// Share of the largest queueing delay up to which a loss takes beta_min
        eta_2: f64 = 0.1, range above(0.0).up_to(1.0).not_below("eta_1"), source "the paper's d_2";
        /// Share of the largest queueing delay from which a loss takes beta_max
        eta_3: f64 = 0.8, range above(0.0).up_to(1.0).not_below("eta_2"), source "the paper's d_3";
        /// Below this window it is standard TCP
        window_threshold: f64 = 15.0,
            unit "segments", range from(0.0).up_to(1_000_000.0), source "the paper's W_thresh";
        /// Round trips in a row with a short queue before the increase returns to alpha_max
        theta: u32 = 5, unit "round trips", range from(0).up_to(1000), source "the paper's theta";
        /// A longer queue begins the count of theta anew
        theta_in_a_row: bool = true, source "the paper's theta; false in Linux and in the thesis";
        /// Power of the delay that decides
        order: u32 = 1, range from(1).up_to(8), source "Edwan 2010, (6.3) and (6.4), n";
        /// Both functions of that order, or TCP-Fq: the square in the decrease alone, or TCP-Fs: a decrease that rises
        /// later
        form: Form = Form::Power, source "Edwan 2010, section 6.2";
        /// The least and the largest RTT are those of samples, or of the means of round trips
        extrema: Extrema = Extrema::Sample, source "Edwan 2010, section 6.1";
        /// After a loss the threshold is what should have been given up
        legacy_beta_bug: bool = false, source "Linux, tcp_illinois.c before 2.6.23, where it is true";
    }
}

impl Settings {
    /// The orders of increase and decrease.
    pub(super) fn orders(&self) -> (u32, u32) {
        match self.form {
            Form::Power => (self.order, self.order),
            Form::Fq => (1, 2),
            Form::Fs => (1, 1),
        }
    }

    /// The increase at delay `da` above d_1 of at most `dm`: k1/(k2 + da), with k1 and k2 such that it goes from
    /// alpha_max at d_1 to alpha_min at dm, by (6.3) of the thesis.
    pub(super) fn alpha_at(&self, da: f64, dm: f64) -> f64 {
        let share = share_of_powers(da, self.eta_1 * dm, dm, self.orders().0).min(1.0);
        self.alpha_max / (1.0 + share * (self.alpha_max / self.alpha_min - 1.0))
    }

    /// The decrease at delay `da` of at most `dm`, by (6.4) of the thesis.
    pub(super) fn beta_at(&self, da: f64, dm: f64) -> f64 {
        if self.form == Form::Fs {
            return self.smoothed_beta_at(da, dm);
        }
        let (d2, d3) = (self.eta_2 * dm, self.eta_3 * dm);
        if da <= d2 {
            self.beta_min
        } else if da >= d3 {
            self.beta_max
        } else {
            self.beta_min + (self.beta_max - self.beta_min) * share_of_powers(da, d2, d3, self.orders().1)
        }
    }

    /// The decrease of TCP-Fs: beta_min up to d_4, from there to d_5, the middle of d_2 and d_3, half the way, and then
    /// on the line of order 1.
    fn smoothed_beta_at(&self, da: f64, dm: f64) -> f64 {
        let (d2, d3) = (self.eta_2 * dm, self.eta_3 * dm);
        let d5 = f64::midpoint(d2, d3);
        let d4 = f64::midpoint(d2, d5);
        let range = self.beta_max - self.beta_min;
        if da <= d4 {
            self.beta_min
        } else if da >= d3 {
            self.beta_max
        } else if da < d5 {
            self.beta_min + range / 2.0 * (da - d4) / (d5 - d4)
        } else {
            self.beta_min + range * (da - d2) / (d3 - d2)
        }
    }
}

/// The place of d^n between low^n, which gives 0, and high^n, which gives 1.
fn share_of_powers(d: f64, low: f64, high: f64, n: u32) -> f64 {
    if n == 1 {
        return (d - low) / (high - low);
    }
    let power = |x: f64| (1..n).fold(x, |product, _| product * x);
    let low = power(low / high);
    (power(d / high) - low) / (1.0 - low)
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
    /// Round trips with a short queue since.
    low: u32,
    rtt_min: Span,
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
            rtt_min: Span::MAX,
            rtt_max: Span::ZERO,
            samples: Samples::default(),
            delay: 0.0,
            delay_max: 0.0,
        }
    }

    fn observe(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.undelayed_rtt() {
            if self.settings.extrema == Extrema::Sample {
                self.rtt_max = self.rtt_max.max(rtt);
            }
            self.samples.sum += rtt;
            self.samples.count += 1;
        }
    }

    /// A round trip ends: increase and decrease for the next one.
    fn decide(&mut self, min_rtt: Span) {
        let Samples { sum, count } = std::mem::take(&mut self.samples);
        if self.settings.extrema == Extrema::Sample {
            self.rtt_min = min_rtt;
        } else if count > 0 {
            let mean = sum / u64::from(count);
            (self.rtt_min, self.rtt_max) = (self.rtt_min.min(mean), self.rtt_max.max(mean));
        }
        if self.reno.window < self.settings.window_threshold {
            (self.alpha, self.beta) = (ALPHA_BASE, BETA_BASE);
            return;
        }
        if count == 0 || self.rtt_max <= self.rtt_min {
            return;
        }
        let base = self.rtt_min.as_secs_f64();
        let da = (sum.as_secs_f64() / f64::from(count) - base).max(0.0);
        let dm = self.rtt_max.as_secs_f64() - base;
        (self.delay, self.delay_max) = (da, dm);
        self.alpha = self.alpha(da, dm);
        self.beta = self.settings.beta_at(da, dm);
    }

    /// The increase: alpha_max with a short queue, after a longer one only once it was short theta times.
    fn alpha(&mut self, da: f64, dm: f64) -> f64 {
        let Settings { alpha_max, eta_1, theta, theta_in_a_row, .. } = self.settings;
        if da > eta_1 * dm {
            self.above = true;
            if theta_in_a_row {
                self.low = 0;
            }
            return self.settings.alpha_at(da, dm);
        }
        if self.above {
            self.low += 1;
            if self.low < theta {
                return self.alpha;
            }
            (self.low, self.above) = (0, false);
        }
        alpha_max
    }

    /// The share of the window that a loss keeps.
    fn kept(&self) -> f64 {
        if self.settings.legacy_beta_bug { self.beta } else { 1.0 - self.beta }
    }
}

impl Controller for Illinois {
    delegate!(reno: on_start, on_spurious(undo), on_idle_restart, keep, window, slow_start_threshold);

    fn wants(&self) -> Wants {
        Wants { exact_rtt: true, ..Wants::default() }
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.observe(ack);
        if ack.round_start {
            self.decide(ack.min_rtt);
        }
        self.reno.grow_by(cx, ack, self.alpha);
    }

    fn on_duplicate_ack(&mut self, _cx: &mut Context<'_>, ack: &Ack) {
        self.observe(ack);
    }

    fn on_loss(&mut self, _cx: &mut Context<'_>, _loss: &Loss) {
        self.undo.remember(self.reno);
        self.reno.multiplicative_decrease(self.kept());
    }

    fn on_timeout(&mut self, _cx: &mut Context<'_>, loss: &Loss) {
        self.undo.remember_first(loss, self.reno);
        self.reno.timeout(self.kept(), loss.again);
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
mod tests;
