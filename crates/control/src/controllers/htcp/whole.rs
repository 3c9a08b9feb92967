//! H-TCP in the whole numbers of Linux: times in ticks of the kernel's clock, rates in segments a second, the increase
//! and the share kept in 128ths.
//!
//! | rule of tcp_htcp.c | here |
//! | --- | --- |
//! | R_min of all samples, rounded up to ticks; R_max of those in order, 20 ms above it at most | `Whole::measure` |
//! | B: segments acknowledged in a window of them that lasts R_min at least, averaged from the fourth R_min on | `Whole::acknowledge` |
//! | alpha, renewed when the window grows, and before a loss begins an epoch | `Whole::renew` |
//! | beta, and 5 % less of R_max, on a loss | `Whole::reduced` |
//! | the epoch begins with a reduction, and again when it is over | `Whole::enter`, `Whole::leave` |
//!
//! Differences from Linux: an ACK that advances the cumulative point ends disorder, whatever else is SACKed.

use units::{Span, Time};

use super::Settings;
use crate::parts::linux::{ticks, ticks_rounded_up};
use crate::{Ack, Probe, Reno};

/// 1 as a share or an increase.
const ONE: u32 = 128;
/// The RTT to which the increase is scaled is a tenth of a second; the ratio to it is in eighths, within these.
const RATIO: u64 = 8;
const LEAST_RATIO: u64 = 4;
const GREATEST_RATIO: u64 = 80;
/// How far a sample may exceed the largest RTT so far and count.
const RTT_STEP: Span = Span::from_millis(20);
/// So many R_min of an epoch have a throughput that is not averaged.
const UNSMOOTHED: u64 = 3;

/// What the connection goes through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Open,
    /// Something is SACKed.
    Disorder,
    /// A reduction is under way, or a timeout is repaired.
    Reducing,
}

/// State and parameters in whole numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Whole {
    hz: u64,
    phase: Phase,
    alpha: u32,
    beta: u32,
    beta_min: u32,
    beta_max: u32,
    /// Epochs in a row without a change of throughput (modeswitch).
    stable: u32,
    /// What the next ACK in congestion avoidance counts (pkts_acked), and what was counted (snd_cwnd_cnt).
    covered: u32,
    pub(super) counted: u32,
    /// R_min, 0 before the first sample, and R_max.
    rtt_min: u64,
    rtt_max: u64,
    /// When the epoch began (last_cong), and the one before, to which a spurious reduction returns.
    epoch: u64,
    epoch_before: Option<u64>,
    /// Segments acknowledged since then (packetcount, lasttime).
    acknowledged: u32,
    since: u64,
    /// Their rate on average, B: the largest of the epoch, and that of the epoch before (Bi, maxB, old_maxB).
    average: u64,
    most: u64,
    before: u64,
}

impl Whole {
    pub(super) fn new(settings: &Settings) -> Self {
        let share = |share: f64| ((share * f64::from(ONE)) as u32).max(1);
        Self {
            hz: u64::from(settings.hz),
            phase: Phase::Open,
            alpha: ONE,
            beta: share(settings.beta_min),
            beta_min: share(settings.beta_min),
            beta_max: share(settings.beta_max),
            stable: 0,
            covered: 1,
            counted: 0,
            rtt_min: 0,
            rtt_max: 0,
            epoch: 0,
            epoch_before: None,
            acknowledged: 0,
            since: 0,
            average: 0,
            most: 0,
            before: 0,
        }
    }

    /// The connection begins.
    pub(super) fn start(&mut self, now: Time) {
        self.epoch = ticks(now, self.hz);
    }

    /// An ACK that may grow the window.
    pub(super) fn on_ack(&mut self, settings: &Settings, reno: &mut Reno, now: Time, ack: &Ack) {
        let now = ticks(now, self.hz);
        self.acknowledge(now, ack, reno.window as u32);
        if self.phase == Phase::Disorder {
            self.phase = Phase::Open;
        }
        if !ack.window_limited {
            return;
        }
        if reno.grows_exponentially(ack) {
            // What slow start leaves of an ACK is lost.
            reno.slow_start(ack);
            return;
        }
        if u64::from(self.counted) * u64::from(self.alpha) / u64::from(ONE) >= reno.window as u64 {
            reno.window += 1.0;
            self.counted = 0;
            self.renew(settings, now);
        } else {
            self.counted += self.covered;
        }
        self.covered = 1;
    }

    /// An ACK in disorder or in a reduction.
    pub(super) fn on_duplicate_ack(&mut self, reno: &Reno, now: Time, ack: &Ack) {
        self.acknowledge(ticks(now, self.hz), ack, reno.window as u32);
        if self.phase == Phase::Open && ack.first_duplicate {
            self.phase = Phase::Disorder;
        }
    }

    /// Every ACK: the RTTs, and the throughput.
    fn acknowledge(&mut self, now: u64, ack: &Ack, window: u32) {
        // Linux measures before recovery ends.
        let phase = if ack.ends_recovery { Phase::Reducing } else { self.phase };
        if phase == Phase::Open {
            self.covered = ack.newly_acknowledged;
        }
        if let Some(rtt) = ack.rtt.filter(|rtt| !rtt.value.is_zero()) {
            self.measure(ticks_rounded_up(rtt.value, self.hz), phase);
        }
        if phase == Phase::Reducing {
            (self.acknowledged, self.since) = (0, now);
            return;
        }
        self.acknowledged += ack.newly_acknowledged;
        let elapsed = now - self.since;
        // A window of fewer segments than the increase wraps around in Linux.
        let enough = window.wrapping_sub((self.alpha / ONE).max(1));
        if self.acknowledged < enough || self.rtt_min == 0 || elapsed < self.rtt_min {
            return;
        }
        let rate = u64::from(self.acknowledged) * self.hz / elapsed;
        if (now - self.epoch) / self.rtt_min <= UNSMOOTHED {
            (self.average, self.most) = (rate, rate);
        } else {
            self.average = (3 * self.average + rate) / 4;
            self.most = self.most.max(self.average);
        }
        (self.acknowledged, self.since) = (0, now);
    }

    /// An RTT sample in ticks.
    fn measure(&mut self, rtt: u64, phase: Phase) {
        if self.rtt_min > rtt || self.rtt_min == 0 {
            self.rtt_min = rtt;
        }
        if phase == Phase::Open {
            self.rtt_max = self.rtt_max.max(self.rtt_min);
            if rtt <= self.rtt_max + ticks_rounded_up(RTT_STEP, self.hz) {
                self.rtt_max = self.rtt_max.max(rtt);
            }
        }
    }

    /// The increase at `now`.
    fn renew(&mut self, settings: &Settings, now: u64) {
        let mut f = 1;
        let low = ticks_rounded_up(settings.delta_l, self.hz);
        let high = (now - self.epoch).saturating_sub(low);
        if high > 0 {
            f = 1 + (10 * high + (high / 2) * (high / 2) / self.hz) / self.hz;
        }
        if settings.rtt_scaling && self.rtt_min > 0 {
            let ratio = (RATIO * self.hz / (10 * self.rtt_min)).clamp(LEAST_RATIO, GREATEST_RATIO);
            f = (RATIO * f / ratio).max(1);
        }
        // After hours without a loss it no longer fits, and Linux keeps what is left; of nothing, one segment.
        let alpha = (2 * f * u64::from(ONE - self.beta)) as u32;
        self.alpha = if alpha == 0 { ONE } else { alpha };
    }

    /// The threshold that a loss leaves of `window`: the share kept is worked out anew.
    pub(super) fn reduced(&mut self, settings: &Settings, now: Time, window: f64) -> f64 {
        let changed = self.most.abs_diff(self.before) as f64 > settings.delta_b * self.before as f64;
        self.before = self.most;
        self.stable = if changed { 0 } else { self.stable.saturating_add(1) };
        let long = self.rtt_min > ticks_rounded_up(settings.adapt_above, self.hz) && self.rtt_max > 0;
        self.beta = if !changed && self.stable >= settings.stable_epochs && long {
            ((u64::from(ONE) * self.rtt_min / self.rtt_max) as u32).clamp(self.beta_min, self.beta_max)
        } else {
            self.beta_min
        };
        self.renew(settings, ticks(now, self.hz));
        if self.rtt_min > 0 && self.rtt_max > self.rtt_min {
            self.rtt_max = self.rtt_min + (self.rtt_max - self.rtt_min) * 95 / 100;
        }
        (window as u64 * u64::from(self.beta) / u64::from(ONE)) as f64
    }

    /// A reduction begins, or a timeout.
    pub(super) fn enter(&mut self, now: Time) {
        self.phase = Phase::Reducing;
        self.counted = 0;
        self.epoch_before = Some(self.epoch);
        self.epoch = ticks(now, self.hz);
    }

    /// It is over.
    pub(super) fn leave(&mut self, now: Time) {
        self.phase = Phase::Open;
        if self.epoch_before.take().is_some() {
            self.epoch = ticks(now, self.hz);
        }
    }

    /// It was spurious.
    pub(super) fn undo(&mut self) {
        self.phase = Phase::Open;
        if let Some(epoch) = self.epoch_before.take() {
            self.epoch = epoch;
        }
    }

    /// Segments acknowledged, and since which tick.
    #[cfg(test)]
    pub(super) fn rate_so_far(&self) -> (u32, u64) {
        (self.acknowledged, self.since)
    }

    pub(super) fn probe(&self, out: &mut dyn Probe) {
        out.value("alpha", f64::from(self.alpha) / f64::from(ONE));
        out.value("beta", f64::from(self.beta) / f64::from(ONE));
        out.value("rtt_max_ms", (self.rtt_max * 1000) as f64 / self.hz as f64);
        out.value("throughput", self.most as f64);
    }
}
