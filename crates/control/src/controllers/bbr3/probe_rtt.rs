//! BBR.min_rtt and ProbeRTT (section 5.3.4), and what happens when sending resumes (section 5.4).

use units::Time;

use super::probe_bw::AckPhase;
use super::{Bbr3, State};
use crate::Context;

impl Bbr3 {
    /// UpdateMinRTT().
    pub(super) fn update_min_rtt(&mut self, now: Time) {
        self.probe_rtt_expired = now > self.probe_rtt_min_stamp + self.settings.probe_rtt_interval;
        if let Some(rtt) = self.rs.rtt
            && (rtt < self.probe_rtt_min_delay || self.probe_rtt_expired)
        {
            (self.probe_rtt_min_delay, self.probe_rtt_min_stamp) = (rtt, now);
        }
        let min_rtt_expired = now > self.min_rtt_stamp + self.settings.min_rtt_filter;
        if self.probe_rtt_min_delay < self.min_rtt || min_rtt_expired {
            (self.min_rtt, self.min_rtt_stamp) = (self.probe_rtt_min_delay, self.probe_rtt_min_stamp);
        }
    }

    /// CheckProbeRTT().
    pub(super) fn check_probe_rtt(&mut self, cx: &mut Context<'_>) {
        if self.state != State::ProbeRtt && self.probe_rtt_expired && !self.idle_restart {
            // As the last known window, before ProbeRTT takes it away.
            self.save_cwnd();
            self.state = State::ProbeRtt;
            self.probe_rtt_done_stamp = None;
            self.ack_phase = AckPhase::ProbeStopping;
            self.start_round();
            self.held_back.0 = self.delivered;
        }
        if self.state == State::ProbeRtt {
            self.handle_probe_rtt(cx);
        }
        if self.rs.delivered > 0.0 {
            self.idle_restart = false;
        }
    }

    /// HandleProbeRTT(), with MarkConnectionAppLimited().
    fn handle_probe_rtt(&mut self, cx: &mut Context<'_>) {
        self.held_back.1 = self.delivered + self.inflight as u64;
        if self.probe_rtt_done_stamp.is_none() && self.inflight <= self.probe_rtt_cwnd() {
            self.probe_rtt_done_stamp = Some(cx.now + self.settings.probe_rtt_duration);
            self.probe_rtt_round_done = false;
            self.start_round();
        } else if self.probe_rtt_done_stamp.is_some() {
            self.probe_rtt_round_done |= self.model.round_start;
            if self.probe_rtt_round_done {
                self.check_probe_rtt_done(cx);
            }
        }
    }

    /// CheckProbeRTTDone().
    fn check_probe_rtt_done(&mut self, cx: &mut Context<'_>) {
        if self.probe_rtt_done_stamp.is_some_and(|done| cx.now > done) {
            self.probe_rtt_min_stamp = cx.now;
            self.restore_cwnd();
            self.exit_probe_rtt(cx);
        }
    }

    /// ExitProbeRTT().
    fn exit_probe_rtt(&mut self, cx: &mut Context<'_>) {
        self.model.reset_short_term();
        if self.full_bw_reached {
            self.start_probe_bw_down(cx);
            self.start_probe_bw_cruise();
        } else {
            self.enter_startup();
        }
    }

    /// HandleRestartFromIdle().
    pub(super) fn restart_from_idle(&mut self, cx: &mut Context<'_>) {
        self.idle_restart = true;
        self.extra_acked_start = cx.now;
        if self.is_in_a_probe_bw_state() {
            self.set_pacing_rate_with_gain(1.0);
        } else if self.state == State::ProbeRtt {
            self.check_probe_rtt_done(cx);
        }
    }
}
