//! H-TCP (Leith and Shorten, "H-TCP: TCP for high-speed and long-distance networks", PFLDnet 2004;
//! draft-leith-tcp-htcp).
//!
//! The increase grows with the time since the last congestion event. A loss keeps the share that just empties the
//! queue: the ratio of the smallest and the largest RTT.
//!
//! | rule | here |
//! | --- | --- |
//! | f(D) = 1 + 10 (D - D_L) + ((D - D_L)/2)^2 above D_L, else 1 | `HTcp::f` |
//! | RTT scaling: f times R_min/100 ms, the ratio within 0.1 and 2, f at least 1 | `HTcp::f` |
//! | w += 2 (1 - beta) f/w for each segment acknowledged | `HTcp::alpha` |
//! | beta = R_min/R_max within 0.5 and 0.8; 0.5 if the throughput moved by over 20 % between losses | `HTcp::adapt` |
//!
//! Notable differences from the paper:
//! - D begins when recovery from the last congestion event ends, as in Linux. The window does not grow before.
//! - The paper leaves R_max open. As in Linux it follows samples that exceed it by 20 ms at most, and each loss takes
//!   it 5 % of the way down to R_min.
//! - The throughput of an epoch is, as in Linux, the largest value of a moving average of the deliveries of each round
//!   trip, with weight 1/4 from the fourth round trip on ([`Measures`]).
//!
//! The module of Linux 3.5 differs from the paper by [`Version`]. The module of today's Linux is `linux/htcp.rs`.

use units::{Span, Time};

use crate::entry::{Aim, Entry, Form, Quantity};
use crate::parameters::parameters;
use crate::parts::epoch_measures::Measures;
use crate::parts::reno::delegate;
use crate::range::{above, from};
use crate::{Ack, Context, Controller, Loss, Moment, Probe, Reno, Undo};

/// The entry of H-TCP in the registry.
pub const ENTRY: Entry = Entry {
    name: "htcp",
    title: "H-TCP",
    summary: "Grows the faster the longer ago the last loss, and keeps the share of the window that empties the queue",
    source: "Leith and Shorten 2004; draft-leith-tcp-htcp-06",
    aim: Aim::General,
    parameters: Settings::PARAMETERS,
    probes: &[
        Quantity::new("alpha", "segments per RTT", "Increase"),
        Quantity::new("beta", "", "Share of the window kept by the last loss"),
        Quantity::new("rtt_max_ms", "ms", "R_max"),
        Quantity::new("throughput", "segments/s", "Largest throughput of this epoch"),
    ],
    make: |given| Ok(Box::new(HTcp::new(Settings::read(given)?))),
};

/// H-TCP of Linux 3.5 (`tcp_htcp.c`), in real numbers and without ticks.
pub(crate) const LINUX_3_5: Form = Form {
    parameters: ModuleSettings::PARAMETERS,
    probes: ENTRY.probes,
    make: |given| Ok(Box::new(HTcp::of_module(ModuleSettings::read(given)?))),
};

/// The RTT to which the increase is scaled, and how far the ratio may go.
const RTT_REFERENCE: f64 = 0.1;
const LEAST_RATIO: f64 = 0.5;
const GREATEST_RATIO: f64 = 10.0;

parameters! {
    /// The parameters.
    pub struct Settings {
        /// Time after a congestion event in which the increase is that of standard TCP
        delta_l: Span = Span::from_secs(1),
            unit "time", range from(Span::ZERO).up_to(Span::from_secs(100)), source "draft-leith-tcp-htcp-06, Delta_L";
        /// Change of throughput from epoch to epoch above which the next loss keeps beta_min
        delta_b: f64 = 0.2, range from(0.0).up_to(1000.0), source "draft-leith-tcp-htcp-06, Delta_B";
        /// Smallest share of the window kept on a loss
        beta_min: f64 = 0.5, range above(0.0).below(1.0), source "draft-leith-tcp-htcp-06, adaptive backoff";
        /// Largest share of the window kept on a loss
        beta_max: f64 = 0.8,
            range above(0.0).below(1.0).not_below("beta_min"), source "draft-leith-tcp-htcp-06, adaptive backoff";
        /// The increase is in proportion to the smallest RTT, so that flows gain alike whatever their RTT
        rtt_scaling: bool = true, source "draft-leith-tcp-htcp-06, RTT scaling; limits of Linux";
    }
}

parameters! {
    /// The parameter of the module.
    struct ModuleSettings {
        /// The increase is in proportion to the smallest RTT, so that flows gain alike whatever their RTT
        rtt_scaling: bool = true, source "Linux, use_rtt_scaling";
    }
}

/// The rules in which the paper and the module of Linux 3.5 differ.
#[derive(Clone, Copy, Debug)]
struct Version {
    /// The increase function is rounded down to a whole number.
    whole: bool,
    /// The share kept adapts after so many epochs in a row without a change of throughput.
    steady_epochs: u32,
    /// The share kept adapts above this R_min.
    adapt_above: Span,
    /// Segments for which an ACK counts in congestion avoidance.
    credit: fn(&Ack, &Moment) -> f64,
}

const PAPER: Version =
    Version { whole: false, steady_epochs: 1, adapt_above: Span::ZERO, credit: Ack::avoidance_credit };

/// The module counts the segments that an ACK covers, while the stack counts ACKs for other controllers.
const MODULE: Version = Version {
    whole: true,
    steady_epochs: 2,
    adapt_above: Span::from_millis(10),
    credit: |ack, _| f64::from(ack.covers()),
};

/// The state that a spurious congestion event restores.
#[derive(Clone, Copy, Debug, PartialEq)]
struct State {
    reno: Reno,
    /// The share kept by the last loss.
    beta: f64,
    /// Epochs in a row without a change of throughput.
    steady_epochs: u32,
    measures: Measures,
}

/// The controller.
#[derive(Clone, Copy, Debug)]
pub struct HTcp {
    version: Version,
    settings: Settings,
    state: State,
    undo: Undo<State>,
    in_recovery: bool,
    rtt_min: Span,
    alpha: f64,
}

impl HTcp {
    /// The paper's controller with `settings`.
    pub fn new(settings: Settings) -> Self {
        let measures = Measures::default();
        let state = State { reno: Reno::new(), beta: settings.beta_min, steady_epochs: 0, measures };
        Self {
            version: PAPER,
            settings,
            state,
            undo: Undo::default(),
            in_recovery: false,
            rtt_min: Span::ZERO,
            alpha: 1.0,
        }
    }

    /// The module of Linux 3.5. Its largest share kept is 102/128.
    fn of_module(ModuleSettings { rtt_scaling }: ModuleSettings) -> Self {
        let settings = Settings { rtt_scaling, beta_max: 0.797, ..Settings::default() };
        Self { version: MODULE, ..Self::new(settings) }
    }

    /// The increase function, `since` seconds after the last congestion event.
    fn f(&self, since: f64) -> f64 {
        let high_speed = since - self.settings.delta_l.as_secs_f64();
        let half = high_speed / 2.0;
        let rounded = |f: f64| if self.version.whole { f.floor() } else { f };
        let f = if high_speed > 0.0 { 1.0 + rounded(10.0 * high_speed + half * half) } else { 1.0 };
        if !self.settings.rtt_scaling || self.rtt_min.is_zero() {
            return f;
        }
        rounded(f / ratio(self.rtt_min)).max(1.0)
    }

    /// Segments a round trip, `since` seconds after the last congestion event.
    fn alpha(&self, since: f64) -> f64 {
        2.0 * (1.0 - self.state.beta) * self.f(since)
    }

    /// A congestion event: works out the share to keep, and begins a new epoch.
    fn adapt(&mut self, now: Time) {
        self.undo.remember(self.state);
        let Settings { delta_b, beta_min, beta_max, .. } = self.settings;
        let State { beta, steady_epochs, measures, .. } = &mut self.state;
        *steady_epochs = if measures.throughput_changed(delta_b) { 0 } else { *steady_epochs + 1 };
        let adapts = *steady_epochs >= self.version.steady_epochs && self.rtt_min > self.version.adapt_above;
        *beta = if adapts { measures.rtt_ratio(self.rtt_min).clamp(beta_min, beta_max) } else { beta_min };
        measures.end_epoch(now, self.rtt_min);
    }

    /// Takes the measures of `ack`.
    fn measure(&mut self, now: Time, ack: &Ack) {
        self.state.measures.observe(&mut self.rtt_min, ack);
        self.state.measures.deliver(now, self.rtt_min, ack);
    }
}

/// 100 ms over R_min, within limits: the increase function is divided by it.
fn ratio(rtt_min: Span) -> f64 {
    (RTT_REFERENCE / rtt_min.as_secs_f64()).clamp(LEAST_RATIO, GREATEST_RATIO)
}

impl Controller for HTcp {
    delegate!(state.reno: on_idle_restart, keep, window, slow_start_threshold);

    fn on_start(&mut self, cx: &mut Context<'_>) {
        self.state.reno.start(cx);
        self.state.measures.restart(cx.now);
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.measure(cx.now, ack);
        self.alpha = self.alpha(self.state.measures.since(cx.now));
        self.state.reno.grow_counting(cx, ack, self.version.credit, self.alpha);
    }

    fn on_duplicate_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        if !self.in_recovery {
            self.measure(cx.now, ack);
        }
    }

    fn on_loss(&mut self, cx: &mut Context<'_>, _loss: &Loss) {
        self.adapt(cx.now);
        self.in_recovery = true;
        self.state.reno.multiplicative_decrease(self.state.beta);
    }

    fn on_recovered(&mut self, cx: &mut Context<'_>) {
        self.in_recovery = false;
        self.state.measures.restart(cx.now);
    }

    fn on_timeout(&mut self, cx: &mut Context<'_>, loss: &Loss) {
        if !loss.again {
            self.adapt(cx.now);
        }
        self.in_recovery = false;
        self.state.measures.restart(cx.now);
        self.state.reno.timeout(self.state.beta, loss.again);
    }

    fn on_spurious(&mut self, cx: &mut Context<'_>) {
        self.in_recovery = false;
        if let Some(before) = self.undo.take() {
            let mut reno = self.state.reno;
            reno.restore(before.reno);
            self.state = State { reno, ..before };
            self.state.measures.begin_round(cx.now);
        }
    }

    fn probe(&self, out: &mut dyn Probe) {
        out.value("alpha", self.alpha);
        out.value("beta", self.state.beta);
        out.value("rtt_max_ms", self.state.measures.rtt_max.as_millis_f64());
        out.value("throughput", self.state.measures.throughput());
    }
}

#[cfg(test)]
mod tests;
