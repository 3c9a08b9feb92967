//! What losses change (sections 5.5.10 and 5.5.11): the long-term bound while it probes, the short-term ones while it
//! does not, and what a spurious recovery gives back.

use super::{Bbr3, State};
use crate::{Context, Loss, Marks, SegmentReport};

/// What a recovery began with.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Undo {
    /// BBR.undo_state: the state that a loss has ended.
    pub(super) state: Option<State>,
    bw_shortterm: f64,
    inflight_shortterm: f64,
    inflight_longterm: f64,
}

impl Bbr3 {
    /// UpdateLatestDeliverySignals().
    pub(super) fn update_latest_delivery_signals(&mut self) {
        self.loss_round_start = false;
        self.model.bw_latest = self.model.bw_latest.max(self.rs.delivery_rate);
        self.model.inflight_latest = self.model.inflight_latest.max(self.rs.delivered);
        if self.rs.prior_delivered >= self.loss_round_delivered {
            self.loss_round_delivered = self.delivered;
            self.loss_round_start = true;
        }
    }

    /// AdvanceLatestDeliverySignals().
    pub(super) fn advance_latest_delivery_signals(&mut self) {
        if self.loss_round_start && self.rs.delivered > 0.0 {
            (self.model.bw_latest, self.model.inflight_latest) = (self.rs.delivery_rate, self.rs.delivered);
        }
    }

    /// ResetCongestionSignals().
    pub(super) fn reset_congestion_signals(&mut self) {
        self.is_loss_in_round = false;
        (self.model.bw_latest, self.model.inflight_latest) = (0.0, 0.0);
    }

    /// UpdateCongestionSignals(), and once a round trip AdaptLowerBoundsFromCongestion().
    pub(super) fn update_congestion_signals(&mut self) {
        self.update_max_bw();
        if !self.loss_round_start {
            return;
        }
        if self.is_loss_in_round && !self.is_probing_bw() {
            self.lower_bounds();
        }
        self.is_loss_in_round = false;
    }

    /// InitLowerBounds() and LossLowerBounds().
    fn lower_bounds(&mut self) {
        let beta = self.settings.beta;
        let (max_bw, cwnd, model) = (self.model.max_bw(), self.cwnd, &mut self.model);
        if model.bw_shortterm.is_infinite() {
            model.bw_shortterm = max_bw;
        }
        if model.inflight_shortterm.is_infinite() {
            model.inflight_shortterm = cwnd;
        }
        model.bw_shortterm = model.bw_latest.max(beta * model.bw_shortterm);
        model.inflight_shortterm = model.inflight_latest.max(beta * model.inflight_shortterm);
    }

    /// IsInflightTooHigh().
    pub(super) fn is_inflight_too_high(&self) -> bool {
        self.rs.lost > self.rs.tx_in_flight * self.settings.loss_thresh
    }

    /// HandleInflightTooHigh().
    fn handle_inflight_too_high(&mut self, cx: &mut Context<'_>) {
        self.prev_probe_too_high = true;
        self.is_bw_probe_sample = false;
        if !self.rs.is_app_limited {
            let least = self.target_inflight() * self.settings.beta;
            self.model.inflight_longterm = self.rs.tx_in_flight.max(least);
        }
        if self.state == State::Up {
            self.undo.state = Some(State::Up);
            self.start_probe_bw_down(cx);
        }
    }

    /// NoteLoss().
    fn note_loss(&mut self) {
        if !self.is_loss_in_round {
            self.loss_round_delivered = self.delivered;
            self.save_state_upon_loss();
        }
        self.is_loss_in_round = true;
    }

    /// HandleLostPacket().
    pub(super) fn handle_lost_packet(&mut self, cx: &mut Context<'_>, packet: &SegmentReport) {
        self.note_loss();
        self.lost += 1;
        if self.last_lost.is_none_or(|last| packet.sequence != last + 1) {
            self.lost_ranges += 1;
        }
        self.last_lost = Some(packet.sequence);
        if !self.is_bw_probe_sample {
            return;
        }
        self.rs.tx_in_flight = f64::from(packet.sent.in_flight);
        self.rs.lost = self.lost.saturating_sub(packet.sent.lost) as f64;
        self.rs.is_app_limited = packet.sent.application_limited;
        if self.is_inflight_too_high() {
            self.rs.tx_in_flight = self.inflight_at_loss();
            self.handle_inflight_too_high(cx);
        }
    }

    /// InflightAtLoss(), for a packet of one segment.
    fn inflight_at_loss(&self) -> f64 {
        let thresh = self.settings.loss_thresh;
        let (inflight_prev, lost_prev) = (self.rs.tx_in_flight - 1.0, self.rs.lost - 1.0);
        inflight_prev + (thresh * inflight_prev - lost_prev) / (1.0 - thresh)
    }

    /// Marks are congestion, to which the draft has no answer of its own.
    pub(super) fn handle_marks(&mut self, cx: &mut Context<'_>, marks: &Marks) {
        self.note_loss();
        if self.state == State::Startup {
            self.stop_startup();
        } else if self.is_bw_probe_sample {
            self.rs.tx_in_flight = f64::from(marks.in_flight);
            self.handle_inflight_too_high(cx);
        }
    }

    /// SaveCwnd().
    pub(super) fn save_cwnd(&mut self) {
        let disturbed = self.recovery_end.is_some() || self.state == State::ProbeRtt;
        self.prior_cwnd = if disturbed { self.prior_cwnd.max(self.cwnd) } else { self.cwnd };
    }

    /// RestoreCwnd().
    pub(super) fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }

    /// SaveStateUponLoss().
    fn save_state_upon_loss(&mut self) {
        self.save_cwnd();
        let model = &self.model;
        self.undo = Undo {
            state: None,
            bw_shortterm: model.bw_shortterm,
            inflight_shortterm: model.inflight_shortterm,
            inflight_longterm: model.inflight_longterm,
        };
    }

    /// OnEnterFastRecovery(). What the losses that began it have ended stays remembered.
    pub(super) fn enter_fast_recovery(&mut self, end: u64) {
        self.save_cwnd();
        self.recovery_end = Some(end);
    }

    /// OnEnterRTO(): one segment, as all that was in flight is deemed lost.
    pub(super) fn enter_rto(&mut self, loss: &Loss) {
        if !loss.again {
            self.save_state_upon_loss();
        }
        self.recovery_end = Some(loss.sent_to);
        self.cwnd = 1.0;
    }

    /// Everything lost is repaired.
    pub(super) fn leave_recovery(&mut self) {
        if self.recovery_end.take().is_some() {
            self.restore_cwnd();
        }
    }

    /// HandleSpuriousLossDetection().
    pub(super) fn handle_spurious_loss_detection(&mut self) {
        self.recovery_end = None;
        self.restore_cwnd();
        self.is_loss_in_round = false;
        self.reset_full_bw();
        let Undo { state, bw_shortterm, inflight_shortterm, inflight_longterm } = self.undo;
        let model = &mut self.model;
        model.bw_shortterm = model.bw_shortterm.max(bw_shortterm);
        model.inflight_shortterm = model.inflight_shortterm.max(inflight_shortterm);
        model.inflight_longterm = model.inflight_longterm.max(inflight_longterm);
        if state == Some(State::Startup) && self.state != State::Startup {
            self.full_bw_reached = false;
            if self.state != State::ProbeRtt {
                self.enter_startup();
            }
        } else if state == Some(State::Up) && !matches!(self.state, State::Up | State::ProbeRtt) {
            self.start_probe_bw_refill();
        }
        self.undo.state = None;
    }
}
