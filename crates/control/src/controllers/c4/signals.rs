//! Signals of congestion, and the response to them: the faster a flow, the sooner.

use super::{BETA, C4, ENOUGH_FOR_LOSS, LEAST_MAX_RTT, NO_INCREASE_CONGESTED, State};
use crate::Ack;

/// The curve of the sensitivity: rates in bytes a second, and its values at them.
const CURVE: [(f64, f64); 3] = [(50_000.0, 0.0), (1_000_000.0, 0.92), (10_000_000.0, 1.0)];
/// Weight of a segment in the smoothed loss rate, and of an ACK in the smoothed share of marks.
const WEIGHT: f64 = 1.0 / 16.0;
/// A share of marks that counts at once.
const MANY_MARKS: f64 = 0.5;
/// The delay threshold is no larger, in seconds.
const LARGEST_THRESHOLD: f64 = 25e-3;
/// Deliveries in one ACK after which the smoothed loss rate is nothing.
const FORGOTTEN: u32 = 512;

/// A sign of congestion.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Signal {
    Delay,
    Loss,
    Mark,
}

impl C4 {
    pub(super) fn sensitivity(&self) -> f64 {
        let rate = self.nominal_rate;
        let [low, middle, high] = CURVE;
        let between = |(x0, y0): (f64, f64), (x1, y1): (f64, f64)| y0 + (y1 - y0) * (rate - x0) / (x1 - x0);
        match rate {
            _ if rate < low.0 => low.1,
            _ if rate < middle.0 => between(low, middle),
            _ if rate < high.0 => between(middle, high),
            _ => high.1,
        }
    }

    /// By how much an RTT may exceed the nominal max RTT, in seconds.
    pub(super) fn delay_threshold(&self) -> f64 {
        let fraction = 1.0 / 16.0 + (1.0 - self.sensitivity()) * 3.0 / 16.0;
        LARGEST_THRESHOLD.min(fraction * self.nominal_max_rtt)
    }

    pub(super) fn loss_threshold(&self) -> f64 {
        0.02 + 0.5 * (1.0 - self.sensitivity())
    }

    pub(super) fn mark_threshold(&self) -> f64 {
        (2.0 - self.sensitivity()) * 3.0 / 32.0
    }

    /// Responds to the congestion that `ack` shows, with `losses`.
    pub(super) fn respond(&mut self, ack: &Ack, losses: u64) {
        if self.counts_losses(ack, losses) {
            self.on_signal(Signal::Loss, BETA);
        }
        if self.counts_marks(ack) {
            let threshold = self.mark_threshold();
            self.on_signal(Signal::Mark, (self.ecn_alpha - threshold) / threshold);
        }
        if let Some(rtt) = ack.undelayed_rtt() {
            let threshold = self.delay_threshold();
            let excess = rtt.as_secs_f64() - self.nominal_max_rtt - threshold;
            if excess > 0.0 {
                self.on_signal(Signal::Delay, excess / threshold);
            }
        }
    }

    /// True if too many are lost.
    fn counts_losses(&mut self, ack: &Ack, losses: u64) -> bool {
        let mut excessive = false;
        for _ in 0..losses.min(FORGOTTEN.into()) {
            self.loss_rate += WEIGHT * (1.0 - self.loss_rate);
            excessive |= self.loss_rate > self.loss_threshold();
        }
        for _ in 0..ack.newly_delivered.min(FORGOTTEN) {
            self.loss_rate -= WEIGHT * self.loss_rate;
        }
        excessive
    }

    /// True if too many are marked.
    fn counts_marks(&mut self, ack: &Ack) -> bool {
        let repeated = if ack.ecn_echo { ack.newly_delivered } else { 0 };
        let marked = if ack.newly_marked > 0 { ack.newly_marked } else { repeated };
        let all = ack.newly_delivered.max(marked);
        if all == 0 || (marked == 0 && !self.has_seen_marks) {
            return false;
        }
        self.has_seen_marks = true;
        let share = f64::from(marked) / f64::from(all);
        self.ecn_alpha = if share >= MANY_MARKS { share } else { self.ecn_alpha + WEIGHT * (share - self.ecn_alpha) };
        self.ecn_alpha > self.mark_threshold()
    }

    /// Congestion, which takes the share `beta` of the rate. It does so only while it cruises, as at other times more
    /// was sent.
    fn on_signal(&mut self, signal: Signal, beta: f64) {
        match self.state {
            State::Initial => {
                let is_late = self.no_increase >= NO_INCREASE_CONGESTED;
                if if signal == Signal::Loss { self.delivered > ENOUGH_FOR_LOSS } else { is_late } {
                    self.leave_initial(true);
                }
            }
            State::Recovery => self.congested = true,
            State::Cruising | State::Resuming => {
                let kept = 1.0 - beta.min(BETA);
                self.nominal_rate *= kept;
                if signal == Signal::Loss {
                    self.nominal_max_rtt = (kept * self.nominal_max_rtt).max(LEAST_MAX_RTT);
                }
                self.enter_recovery(true);
            }
            State::Probing | State::Pushing => self.enter_recovery(true),
        }
    }
}
