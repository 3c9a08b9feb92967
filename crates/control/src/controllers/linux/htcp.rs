//! H-TCP of Linux (`tcp_htcp.c`): times in ticks of the kernel's clock, rates in segments a second, the increase and
//! the share kept in 128ths. The paper's is `controllers/htcp.rs`.
//!
//! | rule of tcp_htcp.c | here |
//! | --- | --- |
//! | R_min of all samples, rounded up to ticks; R_max of those in order, 20 ms above it at most | `HTcp::measure` |
//! | B: segments that a window of at least R_min acknowledges, averaged from the fourth on | `HTcp::acknowledge` |
//! | alpha, renewed when the window grows, and before a loss begins an epoch | `HTcp::renew` |
//! | beta, and 5 % less of R_max, on a loss | `HTcp::threshold` |
//! | the epoch begins with a reduction, and again when it is over | `HTcp::enter`, `Controller::on_recovered` |
//!
//! The window grows on the ACK after the one that completes the count: with windows of ten segments it grows a sixth
//! less. Ratios of RTTs are so coarse that a path of 41 ms is one of 44 at 250 ticks a second.
//!
//! Differences from Linux: an ACK that advances the cumulative point ends disorder, whatever else is SACKed.

use units::Span;

use crate::controllers::htcp;
use crate::entry::Form;
use crate::parameters::parameters;
use crate::parts::linux::{self, jiffies, ticks_rounded_up};
use crate::parts::reno::delegate;
use crate::range::from;
use crate::{Ack, Context, Controller, Loss, Moment, Probe, Reno, Undo};

/// The form of H-TCP.
pub(crate) const FORM: Form = Form {
    parameters: Settings::PARAMETERS,
    probes: htcp::ENTRY.probes,
    make: |given| Ok(Box::new(HTcp::new(Settings::read(given)?))),
};

parameters! {
    /// The parameters.
    pub(crate) struct Settings {
        /// The increase is in proportion to the smallest RTT, so that flows gain alike whatever their RTT
        rtt_scaling: bool = true, source "Linux, use_rtt_scaling";
        /// Ticks of the kernel's clock
        hz: u32 = linux::HZ, unit "ticks per second", range from(100).up_to(1000), source "Linux, CONFIG_HZ";
    }
}

/// 1 as a share or an increase.
const ONE: u32 = 128;
/// The RTT to which the increase is scaled is a tenth of a second. The ratio to it is in eighths, within these.
const RATIO: u64 = 8;
const LEAST_RATIO: u64 = 4;
const GREATEST_RATIO: u64 = 80;
/// Standard TCP's increase for so long after a congestion event.
const DELTA_L: Span = Span::from_secs(1);
/// A larger change of the throughput, in fifths of it, makes the next loss keep the smallest share.
const FIFTH: u64 = 5;
/// The smallest and largest share kept, in 128ths.
const BETA_MIN: u32 = 64;
const BETA_MAX: u32 = 102;
/// Epochs without a change of throughput after which the share kept adapts, above this R_min.
const STABLE_EPOCHS: u32 = 2;
const ADAPT_ABOVE: Span = Span::from_millis(10);
/// How far a sample may exceed the largest RTT so far and count.
const RTT_STEP: Span = Span::from_millis(20);
/// So many R_min of an epoch have a throughput that is not averaged.
const UNSMOOTHED: u64 = 3;

/// The state of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Open,
    /// Something is SACKed.
    Disorder,
    /// A reduction is under way, or a timeout is repaired.
    Reducing,
}

/// The controller.
#[derive(Clone, Copy, Debug)]
struct HTcp {
    settings: Settings,
    reno: Reno,
    undo: Undo,
    phase: Phase,
    alpha: u32,
    beta: u32,
    /// Epochs in a row without a change of throughput (modeswitch).
    stable: u32,
    /// The segments that the next ACK in congestion avoidance counts (pkts_acked), and the segments counted
    /// (snd_cwnd_cnt).
    covered: u32,
    counted: u32,
    /// R_min, 0 before the first sample, and R_max.
    rtt_min: u64,
    rtt_max: u64,
    /// When the epoch began (last_cong), and the one before, to which a spurious reduction returns.
    epoch: u64,
    epoch_before: Option<u64>,
    /// Segments acknowledged since a time (packetcount, lasttime): at first since the host's start.
    acknowledged: u32,
    since: Option<u64>,
    /// Their rate on average, B: the largest of the epoch, and of the epoch before (Bi, maxB, old_maxB).
    average: u64,
    most: u64,
    before: u64,
}

impl HTcp {
    fn new(settings: Settings) -> Self {
        Self {
            settings,
            reno: Reno::new(),
            undo: Undo::default(),
            phase: Phase::Open,
            alpha: ONE,
            beta: BETA_MIN,
            stable: 0,
            covered: 1,
            counted: 0,
            rtt_min: 0,
            rtt_max: 0,
            epoch: 0,
            epoch_before: None,
            acknowledged: 0,
            since: None,
            average: 0,
            most: 0,
            before: 0,
        }
    }

    fn hz(&self) -> u64 {
        u64::from(self.settings.hz)
    }

    /// An ACK on a fully used window (`htcp_cong_avoid`).
    fn grow(&mut self, now: u64, at: &Moment, ack: &Ack) {
        if self.reno.grows_exponentially(at) {
            // Linux drops the rest of the ACK when slow start ends.
            self.reno.slow_start(at, ack);
            return;
        }
        if u64::from(self.counted) * u64::from(self.alpha) / u64::from(ONE) >= self.reno.window as u64 {
            self.reno.window += 1.0;
            self.counted = 0;
            self.renew(now);
        } else {
            self.counted += self.covered;
        }
        self.covered = 1;
    }

    /// Every ACK: the RTTs, and the throughput.
    fn acknowledge(&mut self, now: u64, ack: &Ack) {
        let window = self.reno.window as u32;
        // Linux measures before recovery ends.
        let phase = if ack.ends_recovery { Phase::Reducing } else { self.phase };
        if phase == Phase::Open {
            self.covered = ack.newly_acknowledged;
        }
        if let Some(rtt) = ack.rtt.filter(|rtt| !rtt.value.is_zero()) {
            self.measure(ticks_rounded_up(rtt.value, self.hz()), phase);
        }
        if phase == Phase::Reducing {
            (self.acknowledged, self.since) = (0, Some(now));
            return;
        }
        self.acknowledged += ack.newly_acknowledged;
        // The clock of Linux begins five minutes before its end, so the first measurement finds no rate.
        let elapsed = self.since.map_or(u64::from(u32::MAX), |since| now - since);
        // A window of fewer segments than the increase wraps around in Linux.
        let enough = window.wrapping_sub((self.alpha / ONE).max(1));
        if self.acknowledged < enough || self.rtt_min == 0 || elapsed < self.rtt_min {
            return;
        }
        let rate = u64::from(self.acknowledged) * self.hz() / elapsed;
        if (now - self.epoch) / self.rtt_min <= UNSMOOTHED {
            (self.average, self.most) = (rate, rate);
        } else {
            self.average = (3 * self.average + rate) / 4;
            self.most = self.most.max(self.average);
        }
        (self.acknowledged, self.since) = (0, Some(now));
    }

    /// An RTT sample in ticks.
    fn measure(&mut self, rtt: u64, phase: Phase) {
        if self.rtt_min > rtt || self.rtt_min == 0 {
            self.rtt_min = rtt;
        }
        if phase == Phase::Open {
            self.rtt_max = self.rtt_max.max(self.rtt_min);
            if rtt <= self.rtt_max + ticks_rounded_up(RTT_STEP, self.hz()) {
                self.rtt_max = self.rtt_max.max(rtt);
            }
        }
    }

    /// The increase at `now`.
    fn renew(&mut self, now: u64) {
        let (mut f, hz) = (1, self.hz());
        let low = ticks_rounded_up(DELTA_L, hz);
        let high = (now - self.epoch).saturating_sub(low);
        if high > 0 {
            f = 1 + (10 * high + (high / 2) * (high / 2) / hz) / hz;
        }
        if self.settings.rtt_scaling && self.rtt_min > 0 {
            let ratio = (RATIO * hz / (10 * self.rtt_min)).clamp(LEAST_RATIO, GREATEST_RATIO);
            f = (RATIO * f / ratio).max(1);
        }
        // After hours without a loss it no longer fits, and Linux keeps the lower bits. If they are zero it keeps one
        // segment.
        let alpha = (2 * f * u64::from(ONE - self.beta)) as u32;
        self.alpha = if alpha == 0 { ONE } else { alpha };
    }

    /// The threshold after a congestion event, with the share kept computed anew (`htcp_recalc_ssthresh`).
    fn threshold(&mut self, now: u64) -> f64 {
        let changed = FIFTH * self.most.abs_diff(self.before) > self.before;
        self.before = self.most;
        self.stable = if changed { 0 } else { self.stable.saturating_add(1) };
        let long = self.rtt_min > ticks_rounded_up(ADAPT_ABOVE, self.hz()) && self.rtt_max > 0;
        self.beta = if !changed && self.stable >= STABLE_EPOCHS && long {
            ((u64::from(ONE) * self.rtt_min / self.rtt_max) as u32).clamp(BETA_MIN, BETA_MAX)
        } else {
            BETA_MIN
        };
        self.renew(now);
        if self.rtt_min > 0 && self.rtt_max > self.rtt_min {
            self.rtt_max = self.rtt_min + (self.rtt_max - self.rtt_min) * 95 / 100;
        }
        (self.reno.window as u64 * u64::from(self.beta) / u64::from(ONE)) as f64
    }

    /// A reduction begins, or a timeout.
    fn enter(&mut self, now: u64) {
        self.phase = Phase::Reducing;
        self.counted = 0;
        self.epoch_before = Some(self.epoch);
        self.epoch = now;
    }
}

impl Controller for HTcp {
    delegate!(reno: on_idle_restart, keep, window, slow_start_threshold);

    fn on_start(&mut self, cx: &mut Context<'_>) {
        self.reno.start(cx);
        self.epoch = jiffies(cx, self.hz());
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        let now = jiffies(cx, self.hz());
        self.acknowledge(now, ack);
        if ack.ends_repair {
            self.on_recovered(cx);
        } else if self.phase == Phase::Disorder {
            self.phase = Phase::Open;
        }
        if ack.window_limited {
            self.grow(now, cx, ack);
        }
    }

    fn on_duplicate_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.acknowledge(jiffies(cx, self.hz()), ack);
        if ack.ends_repair {
            self.on_recovered(cx);
        } else if self.phase == Phase::Open && ack.first_duplicate {
            self.phase = Phase::Disorder;
        }
    }

    fn on_loss(&mut self, cx: &mut Context<'_>, _loss: &Loss) {
        self.undo.remember(self.reno);
        let now = jiffies(cx, self.hz());
        let threshold = self.threshold(now);
        self.reno.settle_at(threshold);
        self.enter(now);
    }

    fn on_recovered(&mut self, cx: &mut Context<'_>) {
        self.phase = Phase::Open;
        if self.epoch_before.take().is_some() {
            self.epoch = jiffies(cx, self.hz());
        }
    }

    fn on_timeout(&mut self, cx: &mut Context<'_>, loss: &Loss) {
        self.undo.remember_first(loss, self.reno);
        let now = jiffies(cx, self.hz());
        let threshold = if loss.again { self.reno.threshold } else { self.threshold(now) };
        self.reno.time_out_to(threshold, loss);
        self.enter(now);
    }

    fn on_spurious(&mut self, _cx: &mut Context<'_>) {
        self.phase = Phase::Open;
        if let Some(epoch) = self.epoch_before.take() {
            self.epoch = epoch;
        }
        self.undo.restore(&mut self.reno);
    }

    fn probe(&self, out: &mut dyn Probe) {
        out.value("alpha", f64::from(self.alpha) / f64::from(ONE));
        out.value("beta", f64::from(self.beta) / f64::from(ONE));
        out.value("rtt_max_ms", (self.rtt_max * 1000) as f64 / self.hz() as f64);
        out.value("throughput", self.most as f64);
    }
}

#[cfg(test)]
mod tests;
