//! The states and their transitions: Startup, Drain, ProbeBW, ProbeRTT, and the answers to losses and marks. The
//! components decide by themselves. Here they are asked in the draft's order.

use super::losses::{BETA, Undo, inflight_at_loss, is_inflight_too_high};
use super::{Bbr3, State};
use crate::parts::bounded::Bounded as _;
use crate::{Context, Loss, Marks, SegmentReport};

/// Drain takes no longer.
const DRAIN_ROUNDS: u64 = 3;

impl Bbr3 {
    /// A round trip of Startup begins or ends the use of the window of an earlier connection.
    pub(super) fn check_resume(&mut self) {
        if self.state == State::Startup && !self.full_pipe.is_reached() && self.rounds.begins() {
            let delivered = self.rs.total_delivered as f64 >= self.window.initial_cwnd() && !self.rs.is_app_limited;
            self.resume.begin_round(self.rounds.count(), delivered, self.min_rtt.get(), self.model.bw());
        }
    }

    /// Congestion while it sends at a rate that was saved: Drain follows (the Safe Retreat of RFC 9959).
    fn fail_resume(&mut self) {
        if self.resume.fail() && self.state == State::Startup {
            self.stop_startup();
        }
    }

    /// CheckStartupHighLoss() and CheckStartupDone().
    pub(super) fn check_startup_done(&mut self) {
        if self.state == State::Startup && !self.full_pipe.is_reached() && self.losses.round_begins() {
            let in_many_places = self.losses.take_many_ranges();
            if self.losses.in_recovery() && in_many_places && self.is_inflight_too_high() {
                self.stop_startup();
            }
        }
        if self.state == State::Startup && self.full_pipe.is_reached() {
            self.state = State::Drain;
            self.drain_start_round = self.rounds.count();
        }
    }

    /// The pipe is full, as congestion shows.
    fn stop_startup(&mut self) {
        self.losses.ended(State::Startup);
        self.full_pipe.set_reached();
        self.model.bound_after_startup(self.bdp_multiple(1.0));
    }

    /// CheckDrainDone().
    pub(super) fn check_drain_done(&mut self, cx: &mut Context<'_>) {
        let too_long = self.rounds.count() > self.drain_start_round + DRAIN_ROUNDS;
        if self.state == State::Drain && (self.rs.inflight <= self.inflight_at(1.0) || too_long) {
            self.start_probe_bw_down(cx);
        }
    }

    /// StartProbeBW_DOWN().
    fn start_probe_bw_down(&mut self, cx: &mut Context<'_>) {
        // ResetCongestionSignals().
        self.losses.take_round();
        self.model.reset_latest();
        self.probe_bw.down(cx);
        self.resume.stop();
        self.rounds.start(self.rs.total_delivered);
        self.state = State::Down;
    }

    /// StartProbeBW_REFILL().
    fn start_probe_bw_refill(&mut self) {
        self.model.reset_short_term();
        self.probe_bw.refill();
        self.rounds.start(self.rs.total_delivered);
        self.state = State::Refill;
    }

    /// StartProbeBW_UP().
    fn start_probe_bw_up(&mut self) {
        self.rounds.start(self.rs.total_delivered);
        self.full_pipe.restart(self.rs.delivery_rate);
        self.state = State::Up;
        self.probe_bw.up(self.window.cwnd());
    }

    /// UpdateProbeBWCyclePhase().
    pub(super) fn update_probe_bw_cycle_phase(&mut self, cx: &mut Context<'_>) {
        if !self.full_pipe.is_reached() || self.adapt_long_term_model() {
            return;
        }
        let state = self.state;
        match state {
            State::Down | State::Cruise if self.probe_bw.is_due(cx.now, self.target_inflight()) => {
                self.start_probe_bw_refill();
            }
            State::Down if self.is_time_to_cruise() => self.state = State::Cruise,
            State::Refill if self.rounds.begins() => self.start_probe_bw_up(),
            State::Up if self.is_time_to_go_down() => {
                self.probe_bw.end_probe(false);
                self.start_probe_bw_down(cx);
            }
            _ => {}
        }
    }

    /// IsTimeToCruise().
    fn is_time_to_cruise(&self) -> bool {
        let bdp = self.quantization_budget(self.multiple_of(self.model.max_bw(), 1.0));
        self.rs.inflight <= self.inflight_with_headroom() && self.rs.inflight <= bdp
    }

    /// IsTimeToGoDown().
    fn is_time_to_go_down(&mut self) -> bool {
        if self.probe_bw.prev_too_high() && self.rs.inflight >= self.model.inflight_longterm() {
            self.probe_bw.stop_at_bound();
            return true;
        }
        if self.rs.is_cwnd_limited && self.window.cwnd() >= self.model.inflight_longterm() {
            self.full_pipe.restart(self.rs.delivery_rate);
            return false;
        }
        self.full_pipe.is_now()
    }

    /// AdaptLongTermModel(): whether it decided on the next state.
    fn adapt_long_term_model(&mut self) -> bool {
        if self.rounds.begins() && self.probe_bw.completes() && self.state.is_probe_bw() {
            if !self.rs.is_app_limited {
                self.model.advance_max_bw_filter();
            }
            if self.probe_bw.was_good() {
                self.start_probe_bw_refill();
                return true;
            }
        }
        if !self.is_inflight_too_high() && self.model.inflight_longterm().is_finite() {
            self.model.raise_long_term(self.rs.tx_in_flight);
            let cwnd = self.window.cwnd();
            let uses_bound = self.rs.is_cwnd_limited && cwnd >= self.model.inflight_longterm();
            if self.state == State::Up && uses_bound {
                let delta = self.probe_bw.upward(self.rs.newly_acked, cwnd, self.rounds.begins());
                self.model.add_long_term(delta);
            }
        }
        false
    }

    /// CheckProbeRTT(), with EnterProbeRTT().
    pub(super) fn check_probe_rtt(&mut self, cx: &mut Context<'_>) {
        if self.state != State::ProbeRtt && self.min_rtt.is_expired() && !self.probe_rtt.is_idle_restart() {
            // As the last known window, before ProbeRTT takes it away.
            self.save_cwnd();
            self.state = State::ProbeRtt;
            self.probe_bw.stop();
            self.rounds.start(self.rs.total_delivered);
            self.probe_rtt.enter(self.rs.total_delivered);
        }
        if self.state == State::ProbeRtt {
            self.handle_probe_rtt(cx);
        }
        if self.rs.delivered > 0.0 {
            self.probe_rtt.set_idle_restart(false);
        }
    }

    /// HandleProbeRTT().
    fn handle_probe_rtt(&mut self, cx: &mut Context<'_>) {
        self.probe_rtt.hold_back(self.rs.total_delivered + self.rs.inflight as u64);
        if self.probe_rtt.is_drained() {
            if self.probe_rtt.is_round_done(self.rounds.begins()) {
                self.check_probe_rtt_done(cx);
            }
        } else if self.rs.inflight <= self.probe_rtt_cwnd() {
            self.probe_rtt.drain(cx.now);
            self.rounds.start(self.rs.total_delivered);
        }
    }

    /// CheckProbeRTTDone() and ExitProbeRTT().
    fn check_probe_rtt_done(&mut self, cx: &mut Context<'_>) {
        if !self.probe_rtt.is_done(cx.now) {
            return;
        }
        self.min_rtt.schedule_next(cx.now);
        self.window.restore();
        self.model.reset_short_term();
        if self.full_pipe.is_reached() {
            self.start_probe_bw_down(cx);
            self.state = State::Cruise;
        } else {
            self.state = State::Startup;
        }
    }

    /// HandleRestartFromIdle().
    pub(super) fn restart_from_idle(&mut self, cx: &mut Context<'_>) {
        self.probe_rtt.set_idle_restart(true);
        self.aggregation.restart(cx.now);
        if self.state.is_probe_bw() {
            self.set_pacing_rate(1.0);
        } else if self.state == State::ProbeRtt {
            self.check_probe_rtt_done(cx);
        }
    }

    fn is_inflight_too_high(&self) -> bool {
        is_inflight_too_high(&self.rs, self.settings.loss_thresh)
    }

    /// HandleInflightTooHigh().
    fn handle_inflight_too_high(&mut self, cx: &mut Context<'_>) {
        self.probe_bw.end_probe(true);
        if !self.rs.is_app_limited {
            let least = self.target_inflight() * BETA;
            self.model.bound_long_term(self.rs.tx_in_flight.at_least(least));
        }
        if self.state == State::Up {
            self.losses.ended(State::Up);
            self.start_probe_bw_down(cx);
        }
    }

    /// NoteLoss().
    fn note_loss(&mut self) {
        if self.losses.note(self.rs.total_delivered) {
            self.save_state_upon_loss();
        }
    }

    /// HandleLostPacket().
    pub(super) fn handle_lost_packet(&mut self, cx: &mut Context<'_>, packet: &SegmentReport) {
        self.note_loss();
        self.fail_resume();
        let lost = self.losses.add(packet.sequence, packet.sent.lost);
        if !self.probe_bw.is_sample() {
            return;
        }
        self.rs = self.rs.at_loss(f64::from(packet.sent.in_flight), lost, packet.sent.application_limited);
        if self.is_inflight_too_high() {
            self.rs.tx_in_flight = inflight_at_loss(&self.rs, self.settings.loss_thresh);
            self.handle_inflight_too_high(cx);
        }
    }

    /// Marks are congestion, to which the draft has no answer of its own.
    pub(super) fn handle_marks(&mut self, cx: &mut Context<'_>, marks: &Marks) {
        self.note_loss();
        self.fail_resume();
        if self.state == State::Startup {
            self.stop_startup();
        } else if self.probe_bw.is_sample() {
            self.rs.tx_in_flight = f64::from(marks.in_flight);
            self.handle_inflight_too_high(cx);
        }
    }

    /// SaveCwnd().
    fn save_cwnd(&mut self) {
        self.window.save(self.losses.in_recovery() || self.state == State::ProbeRtt);
    }

    /// SaveStateUponLoss().
    fn save_state_upon_loss(&mut self) {
        self.save_cwnd();
        self.losses.save(self.model.bounds());
    }

    /// OnEnterFastRecovery(). The state that its losses have ended stays remembered.
    pub(super) fn enter_fast_recovery(&mut self, end: u64) {
        self.save_cwnd();
        self.losses.enter_recovery(end);
    }

    /// OnEnterRTO().
    pub(super) fn enter_rto(&mut self, loss: &Loss) {
        if !loss.again {
            self.save_state_upon_loss();
        }
        self.fail_resume();
        self.losses.enter_recovery(loss.sent_to);
        self.window.collapse();
    }

    /// Everything lost is repaired.
    pub(super) fn leave_recovery(&mut self) {
        if self.losses.leave_recovery() {
            self.window.restore();
        }
    }

    /// HandleSpuriousLossDetection().
    pub(super) fn handle_spurious_loss_detection(&mut self) {
        let Undo { state, bounds } = self.losses.take_undo();
        self.window.restore();
        self.full_pipe.reset();
        self.model.restore(bounds);
        if state == Some(State::Startup) && self.state != State::Startup {
            self.full_pipe.forget();
            self.resume.stop();
            if self.state != State::ProbeRtt {
                self.state = State::Startup;
            }
        } else if state == Some(State::Up) && !matches!(self.state, State::Up | State::ProbeRtt) {
            self.start_probe_bw_refill();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controllers::bbr3::Settings;
    use State::{Cruise, Down, Drain, ProbeRtt, Refill, Startup, Up};

    #[test]
    fn a_spurious_loss_goes_back_to_the_state_that_it_ended() {
        // draft-ietf-ccwg-bbr, section 5.5.11: Startup and UP are resumed, but not out of ProbeRTT.
        for (ended, now, then, is_full) in [
            (None, Cruise, Cruise, true),
            (None, Startup, Startup, true),
            (Some(Startup), Drain, Startup, false),
            (Some(Startup), Cruise, Startup, false),
            (Some(Startup), Startup, Startup, true),
            (Some(Startup), ProbeRtt, ProbeRtt, false),
            (Some(Up), Down, Refill, true),
            (Some(Up), Cruise, Refill, true),
            (Some(Up), Up, Up, true),
            (Some(Up), ProbeRtt, ProbeRtt, true),
        ] {
            let mut bbr = Bbr3 { state: now, ..Bbr3::new(Settings::default()) };
            bbr.full_pipe.set_reached();
            if let Some(ended) = ended {
                bbr.losses.ended(ended);
            }
            bbr.handle_spurious_loss_detection();
            assert_eq!((bbr.state, bbr.full_pipe.is_reached()), (then, is_full), "{ended:?} {now:?}");
        }
    }
}
