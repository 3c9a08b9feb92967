//! CUBIC of Linux 6 (`tcp_cubic.c`). The RFC's is `controllers/cubic.rs`, the module of older kernels `cubic_2_3.rs`.
//!
//! | rule of tcp_cubic.c | here |
//! | --- | --- |
//! | the segments for one more (`bictcp_update`): once a tick, for the same window once in 1/32 s | `Cubic::update` |
//! | the target lies the smallest RTT ahead; 5 % a round trip at least while no loss has shown W_max | `Cubic::count` |
//! | RTT samples (`bictcp_cubic_acked`): none in the first second of an epoch | `Cubic::take_sample` |
//! | HyStart looks below the threshold, also where a reduction takes the window there | `Cubic::look_for_end` |
//! | its rounds end with the cumulative point (`hystart_update`) | `Cubic::look_for_end` |
//! | an ACK train may be longer by what segmentation offload bunches (`hystart_ack_delay`) | `train_allowance` |
//! | C = 410 * 2^10 / 2^40 in units of its clock, beta = 717/1024 | `Settings` |
//! | time idle does not move the cubic on; a slow start does not end the epoch | `Controller::on_transmit_start` |
//! | a spurious loss gives back window and threshold, not the cubic | `Controller::on_spurious` |
//! | timeout: W_max is forgotten, HyStart begins anew (`bictcp_reset`) | `Controller::on_timeout` |
//!
//! Numbers are Linux's: C and beta in 1024ths, times in 1024ths of a second. Its cubic root takes 341/1024 for a third,
//! so that K comes out a thousandth short. Here it is within one part of Linux's.

use units::{Span, Time};

use crate::controllers::cubic;
use crate::entry::Form;
use crate::parameters::parameters;
use crate::parts::linux::{Counter, HZ, avoidance, jiffies, ticks, ticks_rounded_up};
use crate::parts::reno::delegate;
use crate::parts::slow_start::hystart::HyStart;
use crate::range::{above, from};
use crate::{Ack, Context, Controller, Counting, Loss, Marks, Probe, Reno, TransmitStart, Undo, Wants};

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
/// A count stays valid for so many ticks while the window is the same: a 32nd of a second.
const COUNT_LASTS: u64 = HZ as u64 / 32;
/// Reno's window grows by a segment for so many eighths of a window (beta_scale).
const RENO_EIGHTHS: f64 = 8.0;
/// Linux has C, beta and times in so many parts of one.
const PARTS: f64 = 1024.0;
/// The cubic root of Linux, as a share of the true one: three times 341/1024.
const ROOT: f64 = 1023.0 / 1024.0;
/// At most so much longer is an ACK train for segmentation offload.
const MOST_ALLOWANCE: Span = Span::from_millis(1);
/// Bytes in four trains of the largest size.
const TRAINS: f64 = 4.0 * 65_536.0;

/// A stage of congestion avoidance.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    /// The tick in which it began, later by every idle time.
    start: u64,
    /// K: the time from then to W_max, seconds.
    k: f64,
    /// The window on the plateau.
    plateau: f64,
}

/// The count of segments for one more, and in which tick and for which window it was computed.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    window: f64,
    at: u64,
    segments: u32,
}

/// The controller.
#[derive(Clone, Copy, Debug)]
struct Cubic {
    settings: Settings,
    reno: Reno,
    undo: Undo,
    hystart: HyStart,
    /// The HyStart round lasts until a segment from this number on is acknowledged (end_seq).
    round_end: u64,
    counter: Counter,
    /// The window at the last loss, 0 while none has shown it.
    w_max: f64,
    /// The window before the threshold was last set.
    cwnd_prior: f64,
    /// The window of a Reno flow, and the segments acknowledged towards its next one.
    w_est: f64,
    acknowledged: f64,
    epoch: Option<Epoch>,
    /// The smallest RTT sample, zero before the first.
    shortest: Span,
    count: Count,
}

impl Cubic {
    fn new(settings: Settings) -> Self {
        let Settings { c, beta, hystart_ack_train, hystart_delay, .. } = settings;
        let in_parts = |value: f64| (value * PARTS).round().max(1.0) / PARTS;
        Self {
            settings: Settings { c: in_parts(c), beta: in_parts(beta).min(1.0 - 1.0 / PARTS), ..settings },
            reno: Reno::new(),
            undo: Undo::default(),
            hystart: HyStart::new(hystart_ack_train, hystart_delay, HYSTART_DELAY_DIVISOR, false),
            round_end: 0,
            counter: Counter::new(),
            w_max: 0.0,
            cwnd_prior: 0.0,
            w_est: 0.0,
            acknowledged: 0.0,
            epoch: None,
            shortest: Span::ZERO,
            count: Count::default(),
        }
    }

    /// Congestion avoidance begins with the segments that an ACK counts.
    fn begin_epoch(&mut self, now: u64, cwnd: f64, credit: f64) -> Epoch {
        (self.w_est, self.acknowledged) = (cwnd, credit);
        if self.w_max > cwnd {
            let k = libm::cbrt((self.w_max - cwnd) / self.settings.c);
            Epoch { start: now, k: (k * ROOT * PARTS).floor() / PARTS, plateau: self.w_max }
        } else {
            Epoch { start: now, k: 0.0, plateau: cwnd }
        }
    }

    /// An ACK in congestion avoidance that counts `credit` segments: one segment more for each so many counted
    /// (`bictcp_update`, `tcp_cong_avoid_ai`).
    fn avoid_congestion(&mut self, now: u64, credit: f64) {
        self.update(now, credit);
        self.counter.grow(&mut self.reno, self.count.segments, credit as u32, Counting::Segments);
    }

    /// Computes the count anew where it is due.
    fn update(&mut self, now: u64, credit: f64) {
        self.acknowledged += credit;
        let cwnd = self.reno.window.floor();
        let Count { window, at, .. } = self.count;
        if window == cwnd && now - at <= COUNT_LASTS {
            return;
        }
        if self.epoch.is_none() || now != at {
            let epoch = self.epoch.unwrap_or_else(|| self.begin_epoch(now, cwnd, credit));
            self.epoch = Some(epoch);
            self.count = Count { window: cwnd, at: now, segments: self.count_of(&epoch, now, cwnd) };
        }
        if self.settings.reno_friendly {
            self.count.segments = self.count.segments.min(self.count_of_reno(cwnd));
        }
        self.count.segments = self.count.segments.max(2);
    }

    /// The count by the cubic.
    fn count_of(&self, epoch: &Epoch, now: u64, cwnd: f64) -> u32 {
        let elapsed = now - epoch.start + ticks_rounded_up(self.shortest, HZ.into());
        let seconds = (elapsed as f64 * PARTS / f64::from(HZ)).floor() / PARTS;
        let from_plateau = seconds - epoch.k;
        // The distance of the target from the plateau is rounded down.
        let rise = (self.settings.c * from_plateau * from_plateau * from_plateau).trunc();
        let target = epoch.plateau + rise;
        let count = if target > cwnd { (cwnd / (target - cwnd)).floor() } else { 100.0 * cwnd };
        if self.w_max == 0.0 { count.min(BEFORE_LOSS) as u32 } else { count as u32 }
    }

    /// The count by which the window reaches a Reno flow's in a round trip.
    fn count_of_reno(&mut self, cwnd: f64) -> u32 {
        let beta = self.settings.beta;
        let scale = (RENO_EIGHTHS * (1.0 + beta) / (1.0 - beta) / 3.0).floor();
        let for_one = (cwnd * scale / RENO_EIGHTHS).floor().max(1.0);
        while self.acknowledged > for_one {
            self.acknowledged -= for_one;
            self.w_est += 1.0;
        }
        if self.w_est > cwnd { (cwnd / (self.w_est - cwnd)) as u32 } else { u32::MAX }
    }

    /// Takes the RTT sample of an ACK (`bictcp_cubic_acked`), and ends slow start where HyStart says so.
    fn take_sample(&mut self, cx: &Context<'_>, ack: &Ack) {
        let Some(rtt) = ack.rtt else { return };
        let recovers = |epoch: Epoch| jiffies(cx, HZ.into()) < epoch.start + u64::from(HZ);
        if self.epoch.is_some_and(recovers) {
            return;
        }
        if self.shortest.is_zero() || rtt.value < self.shortest {
            self.shortest = rtt.value;
        }
        if self.settings.hystart {
            self.look_for_end(cx, ack);
        }
    }

    /// Ends slow start, or a reduction that has taken the window below the threshold, where HyStart says so.
    fn look_for_end(&mut self, cx: &Context<'_>, ack: &Ack) {
        let limit = f64::from(ack.limit);
        let window = if limit < self.reno.window.floor() { limit } else { self.reno.window };
        if !(Reno { window, ..self.reno }).grows_exponentially(cx) {
            return;
        }
        let allowance = train_allowance(cx, ack, window);
        let round_start = ack.acknowledged_to > self.round_end;
        if round_start {
            self.round_end = ack.sent_to;
        }
        let ack = Ack { min_rtt: self.shortest, round_start, ..*ack };
        if self.hystart.observe(cx.now, &ack, window, allowance) {
            // A reduction ends with the threshold as its window (tcp_end_cwnd_reduction).
            self.reno = Reno { window, threshold: window };
            self.cwnd_prior = window;
        }
    }

    /// Multiplicative decrease (`bictcp_recalc_ssthresh`).
    fn reduce(&mut self) {
        let Settings { beta, fast_convergence, .. } = self.settings;
        let cwnd = self.reno.window.floor();
        let converges = fast_convergence && cwnd < self.w_max;
        self.w_max = if converges { (cwnd * (1.0 + beta) / 2.0).floor() } else { cwnd };
        self.cwnd_prior = cwnd;
        self.epoch = None;
        self.counter.clear();
        let kept = (cwnd * beta).floor().max(Reno::MINIMUM);
        self.reno.settle_at(kept);
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
        self.take_sample(cx, ack);
        if let Some(credit) = avoidance(&mut self.reno, cx, ack) {
            self.avoid_congestion(jiffies(cx, HZ.into()), f64::from(credit));
        }
    }

    fn on_duplicate_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.take_sample(cx, ack);
    }

    fn on_loss(&mut self, _cx: &mut Context<'_>, _loss: &Loss) {
        self.undo.remember(self.reno);
        self.reduce();
    }

    fn on_ecn(&mut self, _cx: &mut Context<'_>, _marks: &Marks) {
        self.undo.forget();
        self.reduce();
    }

    fn on_timeout(&mut self, cx: &mut Context<'_>, loss: &Loss) {
        if !loss.again {
            self.undo.remember(self.reno);
            self.cwnd_prior = self.reno.window;
        }
        self.counter.clear();
        self.reno.timeout(self.settings.beta, loss.again);
        self.reno.threshold = self.reno.threshold.floor();
        (self.w_max, self.shortest, self.epoch, self.count) = (0.0, Span::ZERO, None, Count::default());
        self.hystart.restart(cx.now);
        self.round_end = loss.sent_to;
    }

    fn on_spurious(&mut self, _cx: &mut Context<'_>) {
        self.undo.restore(&mut self.reno);
    }

    fn on_transmit_start(&mut self, cx: &mut Context<'_>, start: &TransmitStart) {
        if let Some(epoch) = &mut self.epoch {
            let idle_since = Time::ZERO + cx.host_clock().since(Time::ZERO + start.idle);
            let (now, before) = (jiffies(cx, HZ.into()), ticks(idle_since, HZ.into()));
            epoch.start = (epoch.start + now - before).min(now);
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

/// By how much an ACK train may be longer, as Linux sends in trains: what four of the largest take at the pacing rate.
fn train_allowance(cx: &Context<'_>, ack: &Ack, window: f64) -> Span {
    let seconds = ack.smoothed_rtt.as_secs_f64();
    let rate = 2.0 * window * cx.segment_size.get() as f64 / seconds.max(1e-9);
    Span::from_secs_f64(TRAINS / rate).min(MOST_ALLOWANCE)
}

#[cfg(test)]
mod tests;
