//! CUBIC (RFC 9438), with HyStart in slow start.
//!
//! | RFC 9438 | here |
//! | --- | --- |
//! | figure 1: W_cubic(t) = C*(t - K)^3 + W_max | `Cubic::w_cubic` |
//! | figure 2: K = cbrt((W_max - cwnd_epoch)/C) | `Cubic::begin_epoch` |
//! | section 4.2: target within cwnd and 1.5 cwnd | `Cubic::avoid_congestion` |
//! | section 4.3: W_est += alpha_cubic * segments_acked/cwnd | `Cubic::avoid_congestion` |
//! | sections 4.6, 4.7: multiplicative decrease, fast convergence | `Cubic::reduce` |
//! | section 4.8: timeout | `Controller::on_timeout` |
//! | section 4.9: spurious congestion events | `Controller::on_spurious` |
//! | section 4.10: slow start | `parts/slow_start/hystart.rs` |
//! | section 5.8: application-limited periods do not count as time | `Cubic::discount_unused_time` |
//!
//! Notable differences from the RFC:
//! - The decrease starts from the window, not from FlightSize, as in Linux and FreeBSD; the window does not grow
//!   while it is not used, which is what FlightSize is to guard against.
//! - Slow start is left by the HyStart of Linux, not by HyStart++ (RFC 9406), which has a phase of slower growth.
//! - A window that comes out of slow start above W_max starts a new plateau there: K = 0 and W_max = cwnd, as after
//!   a timeout.
//!
//! Constants and choices of FreeBSD 9 and of older kernels (`linux/older.rs`) are parameters, by default as in the RFC.
//! Linux's module of today is `linux/cubic.rs`. `cubic` is the stack's, `cubic-rfc` the RFC's.

use units::{Span, Time};

use crate::entry::{Entry, Quantity};
use crate::parameters::{choices, parameters};
use crate::parts::reno::delegate;
use crate::parts::slow_start::hystart::HyStart;
use crate::range::{above, from};
use crate::{Ack, Context, Controller, Loss, Marks, Probe, Reno, Undo, Wants};

/// The entry of CUBIC in the registry.
pub const ENTRY: Entry = Entry {
    name: "cubic",
    title: "CUBIC",
    summary: "Grows along a cubic of the time since the last loss, flat around the window at which that happened; as \
              the stack of the profile has it, by default Linux",
    source: "RFC 9438; Linux; FreeBSD",
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
const MINIMUM_AFTER_MARK: f64 = 1.0;

choices! {
    /// Which RTT ahead the target lies.
    pub enum LookAhead {
        /// The smoothed RTT.
        Smoothed = Word("smoothed"),
        /// The smallest RTT of the connection.
        Minimum = Word("minimum"),
    }
}

choices! {
    /// When the clock of the cubic stands still.
    pub enum StopsWhile {
        /// While the window is not fully used.
        Unused = Word("unused"),
        /// Never.
        Never = Word("never"),
    }
}

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
        /// The window of Reno grows by 1 a round trip once it has reached the window before the loss
        reno_alpha_one: bool = true, source "section 4.3; false in Linux 3.5";
        /// Which RTT ahead on the cubic the target of an ACK lies
        look_ahead: LookAhead = LookAhead::Smoothed, source "section 4.2; the smallest in Linux 3.5";
        /// Least growth in congestion avoidance while no loss, or none since a timeout, has shown W_max
        growth_before_loss: f64 = 0.0,
            unit "segments per segment counted", range from(0.0).up_to(1.0), source "0.05 in Linux 3.5";
        /// Beyond the plateau the window grows by at most so many segments in 100 ms; 0 for no limit
        max_increment: f64 = 0.0,
            unit "segments", range from(0.0).up_to(1_000_000.0), source "16 in Linux 2.6.22";
        /// The cubic counts the segments that an ACK covers, however the stack counts ACKs
        count_segments: bool = false,
            source "true in Linux 3.5, which divides by the measured number of segments per ACK";
        /// When time does not move the cubic on: while the application leaves part of the window unused, or never
        stops_while: StopsWhile = StopsWhile::Unused, source "section 5.8; never in Linux before 4.3";
        /// A slow start after an idle time does not end the epoch
        keeps_epoch: bool = false, source "true in Linux";
        /// The first loss of a connection halves the window
        halve_first: bool = false, source "true in FreeBSD 9";
        /// Slow start ends before a loss where HyStart sees the pipe full
        hystart: bool = true, source "section 4.10; Ha and Rhee 2011";
        /// HyStart looks at the length of ACK trains
        hystart_ack_train: bool = true, source "Ha and Rhee 2011";
        /// HyStart looks at the smallest RTT of a round
        hystart_delay: bool = true, source "Ha and Rhee 2011";
        /// The smallest RTT of a round may lie above that of all by one part in so many, at least 4 and at most 16
        /// ms
        hystart_delay_divisor: u32 = 8, range from(1).up_to(1000), source "16 in Linux 3.5";
        /// The smallest RTT of a round is that of its first eight, whatever follows
        hystart_first_samples: bool = false, source "true in Linux before 5.8";
    }
}

impl Settings {
    /// The additive increase with which a decrease to beta gives Reno's mean window (section 4.3).
    fn alpha_cubic(&self) -> f64 {
        3.0 * (1.0 - self.beta) / (1.0 + self.beta)
    }
}

/// A stage of congestion avoidance.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Epoch {
    /// t_epoch, later by every period in which the window was not used.
    start: Time,
    /// K: the time from t_epoch to W_max, seconds.
    k: f64,
}

/// The state that a spurious congestion event restores.
#[derive(Clone, Copy, Debug, PartialEq)]
struct State {
    /// cwnd and ssthresh.
    reno: Reno,
    /// The window at which the cubic is flat; 0 while no loss has shown it.
    w_max: f64,
    /// The window before ssthresh was last set.
    cwnd_prior: f64,
    /// The window of a Reno flow.
    w_est: f64,
    epoch: Option<Epoch>,
    /// A loss, and no timeout since, has shown where the path ends.
    loss_seen: bool,
    /// The connection has had a congestion event.
    reduced: bool,
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
        Self {
            settings,
            state: State {
                reno: Reno::new(),
                w_max: 0.0,
                cwnd_prior: 0.0,
                w_est: 0.0,
                epoch: None,
                loss_seen: false,
                reduced: false,
            },
            undo: Undo::default(),
            hystart: HyStart::new(
                settings.hystart_ack_train,
                settings.hystart_delay,
                settings.hystart_delay_divisor,
                settings.hystart_first_samples,
            ),
            last_ack: Time::ZERO,
        }
    }

    /// The cubic, `t` seconds into `epoch`.
    fn w_cubic(&self, epoch: Epoch, t: f64) -> f64 {
        let from_plateau = t - epoch.k;
        self.settings.c * from_plateau * from_plateau * from_plateau + self.state.w_max
    }

    /// Congestion avoidance begins.
    fn begin_epoch(&mut self, now: Time) -> Epoch {
        let cwnd_epoch = self.state.reno.window;
        self.state.w_est = cwnd_epoch;
        let k = if self.state.w_max > cwnd_epoch {
            libm::cbrt((self.state.w_max - cwnd_epoch) / self.settings.c)
        } else {
            self.state.w_max = cwnd_epoch;
            0.0
        };
        Epoch { start: now, k }
    }

    /// An ACK in congestion avoidance that counts `credit` segments.
    fn avoid_congestion(&mut self, now: Time, ack: &Ack, credit: f64) {
        let epoch = match self.state.epoch {
            Some(epoch) => epoch,
            None => self.begin_epoch(now),
        };
        self.state.epoch = Some(epoch);
        let t = now.since(epoch.start).as_secs_f64();
        let cwnd = self.state.reno.window;
        // One ACK counts a window at most, as after a timeout it may cover far more than the window then is.
        let share = |counted: f64| (counted / cwnd).min(1.0);

        let below = self.state.w_est < self.state.cwnd_prior || !self.settings.reno_alpha_one;
        let alpha = if below { self.settings.alpha_cubic() } else { 1.0 };
        self.state.w_est += alpha * share(credit);

        let ahead = match self.settings.look_ahead {
            LookAhead::Smoothed => ack.smoothed_rtt,
            LookAhead::Minimum => ack.min_rtt.min(ack.smoothed_rtt),
        };
        let most = self.most_growth(t + ahead.as_secs_f64() >= epoch.k, ack.min_rtt);
        if self.settings.reno_friendly && self.w_cubic(epoch, t) < self.state.w_est {
            self.state.reno.window = cwnd.max(self.state.w_est);
        } else {
            let target = self.w_cubic(epoch, t + ahead.as_secs_f64()).clamp(cwnd, 1.5 * cwnd);
            let counted = if self.settings.count_segments { f64::from(ack.covers()).max(credit) } else { credit };
            let least = if self.state.loss_seen { 0.0 } else { self.settings.growth_before_loss * cwnd };
            self.state.reno.window += (target - cwnd).min(most).max(least) * share(counted);
        }
    }

    /// Segments that a round trip may add.
    fn most_growth(&self, beyond_plateau: bool, min_rtt: Span) -> f64 {
        let Settings { max_increment, .. } = self.settings;
        if max_increment == 0.0 || !beyond_plateau {
            return f64::INFINITY;
        }
        max_increment * min_rtt.as_secs_f64() / 0.1
    }

    /// Slow start. Returns the credit left for congestion avoidance.
    fn slow_start(&mut self, now: Time, ack: &Ack) -> f64 {
        if !self.settings.keeps_epoch {
            self.state.epoch = None;
        }
        let reno = &mut self.state.reno;
        if self.settings.hystart && self.hystart.observe(now, ack, reno.window) {
            reno.threshold = reno.window;
            self.state.cwnd_prior = reno.window;
            if !reno.grows_exponentially(ack) {
                return ack.avoidance_credit();
            }
        }
        if ack.window_limited { reno.slow_start(ack) } else { 0.0 }
    }

    /// Time in which the window is not used, so much of it until now, does not move the cubic on.
    fn discount_unused_time(&mut self, now: Time, unused: Span) {
        if let Some(epoch) = &mut self.state.epoch {
            epoch.start = (epoch.start + unused).min(now);
        }
        self.last_ack = now;
    }

    /// The share that this congestion event leaves.
    fn kept(&mut self) -> f64 {
        let first = !std::mem::replace(&mut self.state.reduced, true);
        if first && self.settings.halve_first { 0.5 } else { self.settings.beta }
    }

    /// Multiplicative decrease, to no window below `minimum`.
    fn reduce(&mut self, minimum: f64) {
        let Settings { beta, fast_convergence, .. } = self.settings;
        let cwnd = self.state.reno.window;
        let converges = fast_convergence && cwnd < self.state.w_max;
        self.state.w_max = if converges { cwnd * (1.0 + beta) / 2.0 } else { cwnd };
        self.state.cwnd_prior = cwnd;
        self.state.epoch = None;
        let kept = cwnd * self.kept();
        self.state.loss_seen = true;
        self.state.reno = Reno { window: kept.max(minimum).min(cwnd), threshold: kept.max(Reno::MINIMUM) };
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
        if !ack.window_limited && self.settings.stops_while == StopsWhile::Unused {
            self.discount_unused_time(cx.now, cx.now.since(self.last_ack));
        }
        self.last_ack = cx.now;
        let exponential = self.state.reno.grows_exponentially(ack);
        let credit = if exponential { self.slow_start(cx.now, ack) } else { ack.avoidance_credit() };
        if ack.window_limited && credit > 0.0 {
            self.avoid_congestion(cx.now, ack, credit);
        }
    }

    fn on_loss(&mut self, _cx: &mut Context<'_>, _loss: &Loss) {
        self.undo.remember(self.state);
        self.reduce(Reno::MINIMUM);
    }

    fn on_ecn(&mut self, _cx: &mut Context<'_>, _marks: &Marks) {
        self.undo.forget();
        self.reduce(MINIMUM_AFTER_MARK);
    }

    fn on_timeout(&mut self, cx: &mut Context<'_>, loss: &Loss) {
        if !loss.again {
            self.undo.remember(self.state);
            self.state.cwnd_prior = self.state.reno.window;
        }
        let kept = self.kept();
        self.state.reno.timeout(kept, loss.again);
        self.state.loss_seen = false;
        // The stage of congestion avoidance after the coming slow start has its plateau where it begins.
        self.state.w_max = 0.0;
        self.state.epoch = None;
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

    fn on_transmit_start(&mut self, cx: &mut Context<'_>, idle: Span) {
        match self.settings.stops_while {
            // The time up to the last ACK is discounted already.
            StopsWhile::Unused => self.discount_unused_time(cx.now, idle.min(cx.now.since(self.last_ack))),
            StopsWhile::Never => {}
        }
    }

    fn probe(&self, out: &mut dyn Probe) {
        out.value("w_max", self.state.w_max);
        out.value("k_s", self.state.epoch.map_or(0.0, |epoch| epoch.k));
        out.value("w_est", self.state.w_est);
        out.value("cwnd_prior", self.state.cwnd_prior);
        out.value("hystart_found", f64::from(self.hystart.found() as u8));
    }
}

#[cfg(test)]
mod tests;
