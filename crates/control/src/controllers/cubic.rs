//! CUBIC (RFC 9438), with HyStart in slow start.
//!
//! | RFC 9438 | here |
//! | --- | --- |
//! | figure 1: W_cubic(t) = C*(t - K)^3 + W_max | `State::w_cubic` |
//! | figure 2: K = cbrt((W_max - cwnd_epoch)/C) | `State::begin_epoch` |
//! | section 4.2: target within cwnd and 1.5 cwnd | `Cubic::avoid_congestion` |
//! | section 4.3: W_est += alpha_cubic * segments_acked/cwnd | `Cubic::avoid_congestion` |
//! | sections 4.6, 4.7: multiplicative decrease, fast convergence | `State::reduce` |
//! | section 4.8: timeout | `State::time_out` |
//! | section 4.9: spurious congestion events | `Controller::on_spurious` |
//! | section 4.10: slow start | `parts/slow_start/hystart.rs` |
//! | section 5.8: application-limited periods do not count as time | `Cubic::discount_unused_time` |
//!
//! Notable differences from the RFC:
//! - The decrease starts from the window, not from FlightSize, as in Linux and FreeBSD. FlightSize is to guard against
//!   unused windows, and the window does not grow while it is not used.
//! - Slow start is left by the HyStart of Linux, not by HyStart++ (RFC 9406), which has a phase of slower growth.
//! - A window that comes out of slow start above W_max starts a new plateau there: K = 0 and W_max = cwnd, as after
//!   a timeout.
//!
//! Linux's module of today is `linux/cubic.rs`, the module of older kernels `linux/cubic_2_3.rs`. `freebsd/cubic.rs` is
//! FreeBSD's. `cubic` is the stack's, `cubic-rfc` the RFC's.

use units::{Span, Time};

use crate::entry::{Aim, Entry, Quantity};
use crate::parameters::parameters;
use crate::parts::reno::delegate;
use crate::parts::slow_start::hystart::HyStart;
use crate::range::{above, from};
use crate::{Ack, Context, Controller, Loss, Marks, Moment, Probe, Reno, TransmitStart, Undo, Wants};

/// The entry of CUBIC in the registry.
pub const ENTRY: Entry = Entry {
    name: "cubic",
    title: "CUBIC",
    summary: "Grows along a cubic of the time since the last loss, flat around the window at which that happened; as \
              the stack of the profile has it, by default Linux",
    source: "RFC 9438; Linux; FreeBSD",
    aim: Aim::General,
    parameters: Settings::PARAMETERS,
    probes: &[
        Quantity::new("w_max", "segments", "W_max"),
        Quantity::new("k_s", "s", "K, the time from a loss to the plateau"),
        Quantity::new("w_est", "segments", "W_est, what Reno would have"),
        Quantity::new("cwnd_prior", "segments", "cwnd_prior, the window before the last loss"),
        Quantity::new("hystart_found", "", "Cause of the end of slow start: 0 none, 1 an ACK train, 2 delay"),
    ],
    make: |given| Ok(Box::new(Cubic::new(Settings::read(given)?))),
};

/// The smallest window after a mark (RFC 9438, section 4.6).
pub(super) const MINIMUM_AFTER_MARK: f64 = 1.0;
/// The smallest RTT of a HyStart round may exceed the smallest of all by one part in so many.
const HYSTART_DELAY_DIVISOR: u32 = 8;

parameters! {
    /// The parameters.
    pub struct Settings {
        /// How steep the cubic is
        c as "C": f64 = 0.4, unit "segments/s^3", range from(1e-6).up_to(1000.0), source "section 5, constant C";
        /// Share of the window kept on a loss
        beta: f64 = 0.7, range above(0.0).below(1.0), source "section 4.6, beta_cubic";
        /// A loss below the last W_max puts the plateau lower, to leave room for new flows
        fast_convergence: bool = true, source "section 4.7";
        /// The window is at least what Reno would have with the same losses
        reno_friendly: bool = true, source "section 4.3";
        /// Slow start ends before a loss where HyStart sees the pipe full
        hystart: bool = true, source "section 4.10; Ha and Rhee 2011";
        /// HyStart looks at the length of ACK trains
        hystart_ack_train: bool = true, source "Ha and Rhee 2011";
        /// HyStart looks at the smallest RTT of a round
        hystart_delay: bool = true, source "Ha and Rhee 2011";
    }
}

/// The additive increase with which a decrease to `beta` gives Reno's mean window (section 4.3).
pub(super) fn alpha_cubic(beta: f64) -> f64 {
    3.0 * (1.0 - beta) / (1.0 + beta)
}

/// A stage of congestion avoidance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Epoch {
    /// t_epoch, later by every period in which the window was not used.
    pub(super) start: Time,
    /// K: the time from t_epoch to W_max, seconds.
    pub(super) k: f64,
}

/// The state that a spurious congestion event restores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct State {
    /// cwnd and ssthresh.
    pub(super) reno: Reno,
    /// The window at which the cubic is flat, 0 while no loss has shown it.
    pub(super) w_max: f64,
    /// The window before ssthresh was last set.
    pub(super) cwnd_prior: f64,
    /// The window of a Reno flow.
    pub(super) w_est: f64,
    pub(super) epoch: Option<Epoch>,
}

impl State {
    pub(super) const fn new() -> Self {
        Self { reno: Reno::new(), w_max: 0.0, cwnd_prior: 0.0, w_est: 0.0, epoch: None }
    }

    /// The cubic with constant `c`, `t` seconds into `epoch`.
    pub(super) fn w_cubic(&self, c: f64, epoch: Epoch, t: f64) -> f64 {
        let from_plateau = t - epoch.k;
        c * from_plateau * from_plateau * from_plateau + self.w_max
    }

    /// The stage of congestion avoidance, which begins at `now` where there is none.
    pub(super) fn begin_epoch(&mut self, c: f64, now: Time) -> Epoch {
        if let Some(epoch) = self.epoch {
            return epoch;
        }
        let cwnd_epoch = self.reno.window;
        self.w_est = cwnd_epoch;
        let k = if self.w_max > cwnd_epoch {
            libm::cbrt((self.w_max - cwnd_epoch) / c)
        } else {
            self.w_max = cwnd_epoch;
            0.0
        };
        let epoch = Epoch { start: now, k };
        self.epoch = Some(epoch);
        epoch
    }

    /// Slow start, which `hystart` may end. Returns the credit left for congestion avoidance.
    pub(super) fn slow_start(&mut self, at: &Moment, ack: &Ack, hystart: Option<&mut HyStart>) -> f64 {
        if hystart.is_some_and(|hystart| hystart.observe(at.now, ack, self.reno.window, Span::ZERO)) {
            self.reno.threshold = self.reno.window;
            self.cwnd_prior = self.reno.window;
            if !self.reno.grows_exponentially(at) {
                return ack.avoidance_credit(at);
            }
        }
        if ack.window_limited { self.reno.slow_start(at, ack) } else { 0.0 }
    }

    /// Multiplicative decrease to the share `kept`, to no window below `minimum`. `converging` is the share of the
    /// window that fast convergence makes W_max, `None` without it.
    pub(super) fn reduce(&mut self, kept: f64, converging: Option<f64>, minimum: f64) {
        let cwnd = self.reno.window;
        self.w_max = match converging {
            Some(share) if cwnd < self.w_max => cwnd * share,
            _ => cwnd,
        };
        self.cwnd_prior = cwnd;
        self.epoch = None;
        let kept = cwnd * kept;
        self.reno = Reno { window: kept.max(minimum).min(cwnd), threshold: kept.max(Reno::MINIMUM) };
    }

    /// A timeout that keeps the share `kept`: congestion avoidance after the coming slow start has its plateau where it
    /// begins.
    pub(super) fn time_out(&mut self, kept: f64, loss: &Loss) {
        if !loss.again {
            self.cwnd_prior = self.reno.window;
        }
        self.reno.timeout(kept, loss.again);
        self.w_max = 0.0;
        self.epoch = None;
    }

    /// The quantities that every CUBIC shows.
    pub(super) fn probe(&self, hystart: &HyStart, out: &mut dyn Probe) {
        out.value("w_max", self.w_max);
        out.value("k_s", self.epoch.map_or(0.0, |epoch| epoch.k));
        out.value("w_est", self.w_est);
        out.value("cwnd_prior", self.cwnd_prior);
        out.value("hystart_found", f64::from(hystart.found() as u8));
    }
}

/// The controller.
#[derive(Clone, Copy, Debug)]
pub struct Cubic {
    settings: Settings,
    state: State,
    undo: Undo<State>,
    hystart: HyStart,
    last_ack: Time,
}

impl Cubic {
    /// A controller with `settings`.
    pub fn new(settings: Settings) -> Self {
        let Settings { hystart_ack_train, hystart_delay, .. } = settings;
        Self {
            settings,
            state: State::new(),
            undo: Undo::default(),
            hystart: HyStart::new(hystart_ack_train, hystart_delay, HYSTART_DELAY_DIVISOR, false),
            last_ack: Time::ZERO,
        }
    }

    /// An ACK in congestion avoidance that counts `credit` segments.
    fn avoid_congestion(&mut self, now: Time, ack: &Ack, credit: f64) {
        let Settings { c, beta, reno_friendly, .. } = self.settings;
        let state = &mut self.state;
        let epoch = state.begin_epoch(c, now);
        let t = now.since(epoch.start).as_secs_f64();
        let cwnd = state.reno.window;
        // One ACK counts a window at most, as after a timeout it may cover far more than the window then is.
        let share = (credit / cwnd).min(1.0);

        let alpha = if state.w_est < state.cwnd_prior { alpha_cubic(beta) } else { 1.0 };
        state.w_est += alpha * share;

        if reno_friendly && state.w_cubic(c, epoch, t) < state.w_est {
            state.reno.window = cwnd.max(state.w_est);
        } else {
            let target = state.w_cubic(c, epoch, t + ack.smoothed_rtt.as_secs_f64()).clamp(cwnd, 1.5 * cwnd);
            state.reno.window += (target - cwnd) * share;
        }
    }

    /// Time in which the window is not used, so much of it until now, does not move the cubic on.
    fn discount_unused_time(&mut self, now: Time, unused: Span) {
        if let Some(epoch) = &mut self.state.epoch {
            epoch.start = (epoch.start + unused).min(now);
        }
        self.last_ack = now;
    }

    /// The share of a window below W_max that fast convergence makes the next W_max.
    fn converging(&self) -> Option<f64> {
        self.settings.fast_convergence.then_some((1.0 + self.settings.beta) / 2.0)
    }

    /// The share of the window that is `beta` of the outstanding segments, if these are fewer
    /// (flight_size, section 4.6).
    fn kept_of(&self, loss: &Loss) -> f64 {
        self.settings.beta * (f64::from(loss.flight_size()) / self.state.reno.window).min(1.0)
    }
}

impl Controller for Cubic {
    delegate!(state.reno: keep, window, slow_start_threshold);

    fn wants(&self) -> Wants {
        Wants { transmit_start: true, ..Wants::default() }
    }

    fn on_start(&mut self, cx: &mut Context<'_>) {
        self.state.reno.start(cx);
        self.hystart.restart(cx.now);
        self.last_ack = cx.now;
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        if !ack.window_limited {
            self.discount_unused_time(cx.now, cx.now.since(self.last_ack));
        }
        self.last_ack = cx.now;
        let credit = if self.state.reno.grows_exponentially(cx) {
            self.state.epoch = None;
            self.state.slow_start(cx, ack, self.settings.hystart.then_some(&mut self.hystart))
        } else {
            ack.avoidance_credit(cx)
        };
        if ack.window_limited && credit > 0.0 {
            self.avoid_congestion(cx.now, ack, credit);
        }
    }

    fn on_loss(&mut self, _cx: &mut Context<'_>, loss: &Loss) {
        self.undo.remember(self.state);
        self.state.reduce(self.kept_of(loss), self.converging(), Reno::MINIMUM);
    }

    fn on_ecn(&mut self, _cx: &mut Context<'_>, marks: &Marks) {
        self.undo.forget();
        self.state.reduce(self.kept_of(&marks.as_loss()), self.converging(), MINIMUM_AFTER_MARK);
    }

    fn on_timeout(&mut self, cx: &mut Context<'_>, loss: &Loss) {
        self.undo.remember_first(loss, self.state);
        self.state.time_out(self.kept_of(loss), loss);
        self.hystart.restart(cx.now);
    }

    fn on_spurious(&mut self, _cx: &mut Context<'_>) {
        if let Some(before) = self.undo.take()
            && self.state.reno.window < before.reno.window
        {
            self.state = before;
        }
    }

    fn on_idle_restart(&mut self, cx: &mut Context<'_>) {
        self.state.reno.idle_restart(cx);
    }

    fn on_transmit_start(&mut self, cx: &mut Context<'_>, start: &TransmitStart) {
        // The time up to the last ACK is discounted already.
        self.discount_unused_time(cx.now, start.idle.min(cx.now.since(self.last_ack)));
    }

    fn probe(&self, out: &mut dyn Probe) {
        self.state.probe(&self.hystart, out);
    }
}

#[cfg(test)]
mod tests;
