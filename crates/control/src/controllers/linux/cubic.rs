//! CUBIC of Linux 6 (`tcp_cubic.c`). The RFC's is `controllers/cubic.rs`, older kernels' are in `older.rs`.
//!
//! | rule of tcp_cubic.c | here |
//! | --- | --- |
//! | the count of segments for one more, from the cubic or Reno's window, computed at most each 32nd of a second | `Cubic::segments_for_one`, `Cubic::grow` |
//! | the target lies the smallest RTT ahead; 5 % a round trip at least while no loss has shown W_max | `Cubic::avoid_congestion` |
//! | C = 410 * 2^10 / 2^40 in units of its clock, beta = 717/1024 | `Settings` |
//! | time idle does not move the cubic on; a slow start does not end the epoch | `Controller::on_transmit_start` |
//! | a spurious loss gives back window and threshold, not the cubic | `Controller::on_spurious` |
//! | timeout: W_max is forgotten, HyStart begins anew (`bictcp_reset`) | `Controller::on_timeout` |
//!
//! Differences from Linux: the cubic is computed with real numbers, on an exact clock.

use units::{Span, Time};

use crate::controllers::cubic;
use crate::entry::Form;
use crate::parameters::parameters;
use crate::parts::linux::Counter;
use crate::parts::reno::delegate;
use crate::parts::slow_start::hystart::HyStart;
use crate::range::{above, from};
use crate::{Ack, Context, Controller, Counting, Loss, Marks, Probe, Reno, Undo, Wants};

/// The form of CUBIC.
pub(crate) const FORM: Form = Form {
    parameters: Settings::PARAMETERS,
    probes: cubic::ENTRY.probes,
    make: |given| Ok(Box::new(Cubic::new(Settings::read(given)?))),
};

parameters! {
    /// The parameters of the module.
    pub(crate) struct Settings {
        /// How steep the cubic is
        c as "C": f64 = 0.4004, unit "segments/s^3", range from(1e-6).up_to(1000.0), source "Linux, bic_scale";
        /// Share of the window kept on a loss
        beta: f64 = 0.7002, range above(0.0).below(1.0), source "Linux, beta";
        /// A loss below the last W_max puts the plateau lower, to leave room for new flows
        fast_convergence: bool = true, source "Linux, fast_convergence";
        /// The window is at least what Reno would have with the same losses
        reno_friendly: bool = true, source "Linux, tcp_friendliness";
        /// Slow start ends before a loss where HyStart sees the pipe full
        hystart: bool = true, source "Linux, hystart";
        /// HyStart looks at the length of ACK trains
        hystart_ack_train: bool = true, source "Linux, hystart_detect";
        /// HyStart looks at the smallest RTT of a round
        hystart_delay: bool = true, source "Linux, hystart_detect";
    }
}

/// The smallest RTT of a HyStart round may lie above that of all by one part in so many.
const HYSTART_DELAY_DIVISOR: u32 = 8;
/// At most so many segments are counted for one more while no loss has shown W_max.
const BEFORE_LOSS: f64 = 20.0;
/// A count stays valid so long while the window is the same.
const COUNT_LASTS: Span = Span::from_micros(31_250);
/// The smallest window after a mark.
const MINIMUM_AFTER_MARK: f64 = 1.0;

/// A stage of congestion avoidance.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    /// When it began, later by every idle time.
    start: Time,
    /// K: the time from then to W_max, seconds.
    k: f64,
}

/// The count of segments for one more, and when and for which window it was computed.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    window: f64,
    at: Time,
    segments: u32,
}

/// The controller.
#[derive(Clone, Copy, Debug)]
struct Cubic {
    settings: Settings,
    reno: Reno,
    undo: Undo,
    hystart: HyStart,
    counter: Counter,
    /// The window at the last loss; 0 while none has shown it.
    w_max: f64,
    /// The window before the threshold was last set.
    cwnd_prior: f64,
    /// The window of a Reno flow.
    w_est: f64,
    epoch: Option<Epoch>,
    /// A loss, and no timeout since, has shown where the path ends.
    loss_seen: bool,
    count: Count,
}

impl Cubic {
    fn new(settings: Settings) -> Self {
        let Settings { hystart_ack_train, hystart_delay, .. } = settings;
        Self {
            settings,
            reno: Reno::new(),
            undo: Undo::default(),
            hystart: HyStart::new(hystart_ack_train, hystart_delay, HYSTART_DELAY_DIVISOR, false),
            counter: Counter::new(),
            w_max: 0.0,
            cwnd_prior: 0.0,
            w_est: 0.0,
            epoch: None,
            loss_seen: false,
            count: Count::default(),
        }
    }

    /// Congestion avoidance begins.
    fn begin_epoch(&mut self, now: Time) -> Epoch {
        let cwnd_epoch = self.reno.window.floor();
        self.w_est = cwnd_epoch;
        let k = if self.w_max > cwnd_epoch {
            libm::cbrt((self.w_max - cwnd_epoch) / self.settings.c)
        } else {
            self.w_max = cwnd_epoch;
            0.0
        };
        Epoch { start: now, k }
    }

    /// An ACK in congestion avoidance that counts `credit` segments.
    fn avoid_congestion(&mut self, now: Time, ack: &Ack, credit: f64) {
        let epoch = match self.epoch {
            Some(epoch) => epoch,
            None => self.begin_epoch(now),
        };
        self.epoch = Some(epoch);
        let beta = self.settings.beta;
        let alpha = 3.0 * (1.0 - beta) / (1.0 + beta);
        self.w_est += alpha * (credit / self.reno.window).min(1.0);
        let ahead = ack.min_rtt.min(ack.smoothed_rtt);
        let from_plateau = now.since(epoch.start).as_secs_f64() + ahead.as_secs_f64() - epoch.k;
        let target = self.settings.c * from_plateau * from_plateau * from_plateau + self.w_max;
        self.grow(now, target, credit);
    }

    /// One segment more for each so many counted (`bictcp_update`, `tcp_cong_avoid_ai`).
    fn grow(&mut self, now: Time, target: f64, credit: f64) {
        let cwnd = self.reno.window.floor();
        if self.count.window != cwnd || now.since(self.count.at) > COUNT_LASTS {
            self.count = Count { window: cwnd, at: now, segments: self.segments_for_one(cwnd, target) };
        }
        self.counter.grow(&mut self.reno, self.count.segments, credit as u32, Counting::Segments);
    }

    /// The count of segments for one more.
    fn segments_for_one(&self, cwnd: f64, target: f64) -> u32 {
        // The distance of the target from W_max is rounded down.
        let target = if target < self.w_max { target.ceil() } else { target.floor() };
        let per_segment = |rise: f64| if rise > 0.0 { (cwnd / rise).floor() } else { f64::INFINITY };
        let mut count = per_segment(target - cwnd).min(100.0 * cwnd);
        if !self.loss_seen {
            count = count.min(BEFORE_LOSS);
        }
        if self.settings.reno_friendly {
            count = count.min(per_segment(self.w_est.floor() - cwnd));
        }
        count.max(2.0) as u32
    }

    /// Slow start. Returns the credit left for congestion avoidance.
    fn slow_start(&mut self, now: Time, ack: &Ack) -> f64 {
        let reno = &mut self.reno;
        if self.settings.hystart && self.hystart.observe(now, ack, reno.window) {
            reno.threshold = reno.window;
            self.cwnd_prior = reno.window;
            if !reno.grows_exponentially(ack) {
                return ack.avoidance_credit();
            }
        }
        if ack.window_limited { reno.slow_start(ack) } else { 0.0 }
    }

    /// Multiplicative decrease, to no window below `minimum` (`bictcp_recalc_ssthresh`).
    fn reduce(&mut self, minimum: f64) {
        let Settings { beta, fast_convergence, .. } = self.settings;
        let cwnd = self.reno.window.floor();
        let converges = fast_convergence && cwnd < self.w_max;
        self.w_max = if converges { (cwnd * (1.0 + beta) / 2.0).floor() } else { cwnd };
        self.cwnd_prior = cwnd;
        self.epoch = None;
        self.loss_seen = true;
        self.counter.clear();
        let kept = (cwnd * beta).floor();
        self.reno = Reno { window: kept.max(minimum).min(cwnd), threshold: kept.max(Reno::MINIMUM) };
    }
}

impl Controller for Cubic {
    delegate!(reno: on_idle_restart, keep, window, slow_start_threshold);

    fn wants(&self) -> Wants {
        Wants { transmit_start: true, ..Wants::default() }
    }

    fn on_start(&mut self, cx: &mut Context<'_>) {
        self.reno.start(cx);
        self.hystart.restart(cx.now);
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        let exponential = self.reno.grows_exponentially(ack);
        let credit = if exponential { self.slow_start(cx.now, ack) } else { ack.avoidance_credit() };
        if ack.window_limited && credit > 0.0 {
            self.avoid_congestion(cx.now, ack, credit);
        }
    }

    fn on_loss(&mut self, _cx: &mut Context<'_>, _loss: &Loss) {
        self.undo.remember(self.reno);
        self.reduce(Reno::MINIMUM);
    }

    fn on_ecn(&mut self, _cx: &mut Context<'_>, _marks: &Marks) {
        self.undo.forget();
        self.reduce(MINIMUM_AFTER_MARK);
    }

    fn on_timeout(&mut self, cx: &mut Context<'_>, loss: &Loss) {
        if !loss.again {
            self.undo.remember(self.reno);
            self.cwnd_prior = self.reno.window;
        }
        self.counter.clear();
        self.reno.timeout(self.settings.beta, loss.again);
        self.reno.threshold = self.reno.threshold.floor();
        self.loss_seen = false;
        self.w_max = 0.0;
        self.epoch = None;
        self.hystart.restart(cx.now);
    }

    fn on_spurious(&mut self, _cx: &mut Context<'_>) {
        if let Some(before) = self.undo.take()
            && self.reno.window < before.window
        {
            self.reno.restore(before);
        }
    }

    fn on_transmit_start(&mut self, cx: &mut Context<'_>, idle: Span) {
        if let Some(epoch) = &mut self.epoch {
            epoch.start = (epoch.start + idle).min(cx.now);
        }
    }

    fn probe(&self, out: &mut dyn Probe) {
        out.value("w_max", self.w_max);
        out.value("k_s", self.epoch.map_or(0.0, |epoch| epoch.k));
        out.value("w_est", self.w_est);
        out.value("cwnd_prior", self.cwnd_prior);
        out.value("hystart_found", f64::from(self.hystart.found() as u8));
    }
}

#[cfg(test)]
mod tests;
