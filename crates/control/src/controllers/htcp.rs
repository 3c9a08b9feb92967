//! H-TCP (Leith and Shorten, "H-TCP: TCP for high-speed and long-distance networks", PFLDnet 2004;
//! draft-leith-tcp-htcp).
//!
//! The increase grows with the time since the last congestion event. The share kept on a loss is the one that just
//! empties the queue, the ratio of the smallest and the largest RTT.
//!
//! | rule | here |
//! | --- | --- |
//! | f(D) = 1 + 10 (D - D_L) + ((D - D_L)/2)^2 above D_L, else 1 | `HTcp::f` |
//! | RTT scaling: f times R_min/100 ms, the ratio within 0.1 and 2, f at least 1 | `HTcp::f` |
//! | w += 2 (1 - beta) f/w for each segment acknowledged | `HTcp::alpha` |
//! | beta = R_min/R_max within 0.5 and 0.8; 0.5 if the throughput changed by more than 20 % since the last loss | `HTcp::adapt` |
//!
//! Notable differences from the paper:
//! - D begins when recovery from the last congestion event ends, as in Linux; the window does not grow before.
//! - R_max, which the paper leaves open, is that of Linux: it follows samples that exceed it by 20 ms at most, and each
//!   loss takes it 5 % of the way down to R_min.
//! - The throughput of an epoch is, as in Linux, the largest value of a moving average of what each round trip
//!   delivered, with weight 1/4 from the fourth round trip on.
//! - The paper counts what its TCP counts. Linux counts segments while other controllers of its time count ACKs:
//!   `count_segments = true`. It also computes f in whole numbers (`whole_numbers`), waits for a second epoch without
//!   change of throughput (`stable_epochs = 2`) and for an R_min above 10 ms (`adapt_above`), and its cap is 102/128
//!   (`beta_max = 0.797`).
//!   The module of today is `linux/htcp.rs`.

use units::{Span, Time};

use crate::entry::{Entry, Quantity};
use crate::parameters::parameters;
use crate::parts::reno::delegate;
use crate::range::{above, from};
use crate::{Ack, Context, Controller, Loss, Probe, Reno, Undo};

/// The entry of H-TCP in the registry.
pub const ENTRY: Entry = Entry {
    name: "htcp",
    title: "H-TCP",
    summary: "Grows the faster the longer ago the last loss, and keeps the share of the window that empties the queue",
    source: "Leith and Shorten 2004; draft-leith-tcp-htcp-06",
    parameters: Settings::PARAMETERS,
    probes: &[
        Quantity::new("alpha", "segments per RTT", "Increase"),
        Quantity::new("beta", "", "Share of the window kept by the last loss"),
        Quantity::new("rtt_max_ms", "ms", "R_max"),
        Quantity::new("throughput", "segments/s", "Largest throughput of this epoch"),
    ],
    make: |given| Ok(Box::new(HTcp::new(Settings::read(given)?))),
};

/// The RTT to which the increase is scaled, and how far the ratio may go.
const RTT_REFERENCE: f64 = 0.1;
const LEAST_RATIO: f64 = 0.5;
const GREATEST_RATIO: f64 = 10.0;
/// How far a sample may exceed the largest RTT so far and count.
const RTT_STEP: Span = Span::from_millis(20);
/// The share of R_max - R_min that a loss keeps.
const RTT_MEMORY: f64 = 0.95;
/// Round trips of an epoch whose throughput counts unsmoothed, and the weight of a later one.
const UNSMOOTHED: f64 = 3.0;
const WEIGHT: f64 = 0.25;

parameters! {
    /// The parameters.
    pub struct Settings {
        /// Time after a congestion event in which the increase is that of standard TCP
        delta_l: Span = Span::from_secs(1),
            unit "time", range from(Span::ZERO).up_to(Span::from_secs(100)), source "Delta_L";
        /// Change of throughput from epoch to epoch above which the next loss keeps beta_min
        delta_b: f64 = 0.2, range from(0.0).up_to(1000.0), source "Delta_B";
        /// Smallest share of the window kept on a loss
        beta_min: f64 = 0.5, range above(0.0).below(1.0), source "adaptive back-off";
        /// Largest share of the window kept on a loss
        beta_max: f64 = 0.8,
            range above(0.0).below(1.0).not_below("beta_min"), source "adaptive back-off; 102/128 in Linux";
        /// The increase is in proportion to the smallest RTT, so that flows gain alike whatever their RTT
        rtt_scaling: bool = true, source "RTT scaling; limits of Linux";
        /// Epochs in a row without a change of throughput after which the share kept adapts to the RTTs
        stable_epochs: u32 = 1, unit "epochs", range from(0).up_to(1000), source "adaptive back-off; 2 in Linux";
        /// The share kept adapts only where the smallest RTT is above this
        adapt_above: Span = Span::ZERO,
            unit "time", range from(Span::ZERO).up_to(Span::from_secs(100)), source "10 ms in Linux";
        /// The increase function is rounded down to a whole number
        whole_numbers: bool = false, source "true in Linux";
        /// The increase counts the segments that an ACK covers, however the stack counts ACKs
        count_segments: bool = false, source "true in Linux";
    }
}

/// The throughput of an epoch, segments/s.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Throughput {
    round_start: Time,
    /// Segments delivered in this round trip.
    delivered: u32,
    average: f64,
    /// B: the largest average.
    most: f64,
    /// B of the epoch before.
    before: f64,
}

impl Throughput {
    fn begin_round(&mut self, now: Time) {
        self.round_start = now;
        self.delivered = 0;
    }

    /// A round trip ends `since` seconds into the epoch.
    fn end_round(&mut self, now: Time, since: f64, min_rtt: f64) {
        let elapsed = now.since(self.round_start).as_secs_f64();
        if elapsed > 0.0 && self.delivered > 0 {
            let sample = f64::from(self.delivered) / elapsed;
            if since <= UNSMOOTHED * min_rtt {
                self.average = sample;
                self.most = sample;
            } else {
                self.average += WEIGHT * (sample - self.average);
                self.most = self.most.max(self.average);
            }
        }
        self.begin_round(now);
    }
}

/// The state that a spurious congestion event restores.
#[derive(Clone, Copy, Debug, PartialEq)]
struct State {
    reno: Reno,
    /// The share kept by the last loss.
    beta: f64,
    /// When recovery from the last congestion event ended.
    epoch: Time,
    /// Epochs in a row without a change of throughput.
    stable: u32,
    rtt_max: Span,
    throughput: Throughput,
}

/// The controller.
#[derive(Clone, Copy, Debug)]
pub struct HTcp {
    settings: Settings,
    state: State,
    undo: Undo<State>,
    in_recovery: bool,
    rtt_min: Span,
    alpha: f64,
}

impl HTcp {
    /// A controller with `settings`.
    pub fn new(settings: Settings) -> Self {
        let state = State {
            reno: Reno::new(),
            beta: settings.beta_min,
            epoch: Time::ZERO,
            stable: 0,
            rtt_max: Span::ZERO,
            throughput: Throughput::default(),
        };
        Self { settings, state, undo: Undo::default(), in_recovery: false, rtt_min: Span::ZERO, alpha: 1.0 }
    }

    /// The increase function, `since` seconds after the last congestion event.
    fn f(&self, since: f64) -> f64 {
        let high_speed = since - self.settings.delta_l.as_secs_f64();
        let whole = |f: f64| if self.settings.whole_numbers { f.floor() } else { f };
        let half = high_speed / 2.0;
        let f = if high_speed > 0.0 { 1.0 + whole(10.0 * high_speed + half * half) } else { 1.0 };
        if !self.settings.rtt_scaling || self.rtt_min.is_zero() {
            return f;
        }
        let ratio = (RTT_REFERENCE / self.rtt_min.as_secs_f64()).clamp(LEAST_RATIO, GREATEST_RATIO);
        whole(f / ratio).max(1.0)
    }

    /// Segments a round trip, `since` seconds after the last congestion event.
    fn alpha(&self, since: f64) -> f64 {
        2.0 * (1.0 - self.state.beta) * self.f(since)
    }

    fn observe(&mut self, ack: &Ack) {
        if ack.min_rtt != Span::MAX {
            self.rtt_min = ack.min_rtt;
            self.state.rtt_max = self.state.rtt_max.max(ack.min_rtt);
        }
        if let Some(rtt) = ack.undelayed_rtt()
            && rtt <= self.state.rtt_max + RTT_STEP
        {
            self.state.rtt_max = self.state.rtt_max.max(rtt);
        }
    }

    /// A congestion event: works out the share to keep, and begins a new epoch.
    fn adapt(&mut self, now: Time) {
        self.undo.remember(self.state);
        let s = &self.settings;
        let Throughput { most, before, .. } = self.state.throughput;
        let changed = before == 0.0 || (most - before).abs() > s.delta_b * before;
        self.state.stable = if changed { 0 } else { self.state.stable + 1 };
        let adapts = !changed && self.state.stable >= s.stable_epochs && self.rtt_min > s.adapt_above;
        self.state.beta = if adapts {
            (self.rtt_min.as_secs_f64() / self.state.rtt_max.as_secs_f64()).clamp(s.beta_min, s.beta_max)
        } else {
            s.beta_min
        };
        self.state.throughput.before = most;
        self.state.rtt_max = self.rtt_min + self.state.rtt_max.saturating_sub(self.rtt_min).scale(RTT_MEMORY);
        self.restart(now);
    }

    /// The last congestion event is `now`.
    fn restart(&mut self, now: Time) {
        self.state.epoch = now;
        self.state.throughput.begin_round(now);
    }
}

impl Controller for HTcp {
    delegate!(state.reno: on_idle_restart, keep, window, slow_start_threshold);

    fn on_start(&mut self, cx: &mut Context<'_>) {
        self.state.reno.start(cx);
        self.restart(cx.now);
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.observe(ack);
        let since = cx.now.since(self.state.epoch).as_secs_f64();
        self.state.throughput.delivered += ack.newly_delivered;
        if ack.round_start {
            self.state.throughput.end_round(cx.now, since, self.rtt_min.as_secs_f64());
        }
        self.alpha = self.alpha(since);
        let reno = &mut self.state.reno;
        if self.settings.count_segments && !reno.grows_exponentially(ack) {
            if ack.window_limited {
                reno.additive_increase(f64::from(ack.covers()), self.alpha);
            }
        } else {
            reno.grow_by(ack, self.alpha);
        }
    }

    fn on_duplicate_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        if self.in_recovery {
            return;
        }
        self.observe(ack);
        self.state.throughput.delivered += ack.newly_delivered;
        if ack.round_start {
            let since = cx.now.since(self.state.epoch).as_secs_f64();
            self.state.throughput.end_round(cx.now, since, self.rtt_min.as_secs_f64());
        }
    }

    fn on_loss(&mut self, cx: &mut Context<'_>, _loss: &Loss) {
        self.adapt(cx.now);
        self.in_recovery = true;
        self.state.reno.multiplicative_decrease(self.state.beta);
    }

    fn on_recovered(&mut self, cx: &mut Context<'_>) {
        self.in_recovery = false;
        self.restart(cx.now);
    }

    fn on_timeout(&mut self, cx: &mut Context<'_>, loss: &Loss) {
        if !loss.again {
            self.adapt(cx.now);
        }
        self.in_recovery = false;
        self.restart(cx.now);
        self.state.reno.timeout(self.state.beta, loss.again);
    }

    fn on_spurious(&mut self, cx: &mut Context<'_>) {
        self.in_recovery = false;
        if let Some(before) = self.undo.take() {
            let mut reno = self.state.reno;
            reno.restore(before.reno);
            self.state = State { reno, ..before };
            self.state.throughput.begin_round(cx.now);
        }
    }

    fn probe(&self, out: &mut dyn Probe) {
        out.value("alpha", self.alpha);
        out.value("beta", self.state.beta);
        out.value("rtt_max_ms", self.state.rtt_max.as_millis_f64());
        out.value("throughput", self.state.throughput.most);
    }
}

#[cfg(test)]
mod tests;
