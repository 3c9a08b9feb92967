//! ProbeBW (section 5.3.3): DOWN, CRUISE, REFILL and UP, when each begins, and how BBR.inflight_longterm is raised.

use units::Span;

use super::{Bbr3, State};
use crate::Context;

/// The time between two probes: so long, and up to a second more.
const PROBE_WAIT: f64 = 2.0;
/// Round trips after which a Reno flow would have probed, at most.
const RENO_ROUNDS: f64 = 63.0;
/// Doublings of the slope of BBR.inflight_longterm, at most.
const MOST_UP_ROUNDS: u32 = 30;

/// BBR.ack_phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AckPhase {
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

impl Bbr3 {
    /// IsInAProbeBWState().
    pub(super) fn is_in_a_probe_bw_state(&self) -> bool {
        matches!(self.state, State::Down | State::Cruise | State::Refill | State::Up)
    }

    /// IsProbingBW().
    pub(super) fn is_probing_bw(&self) -> bool {
        matches!(self.state, State::Startup | State::Refill | State::Up)
    }

    /// StartProbeBW_DOWN().
    pub(super) fn start_probe_bw_down(&mut self, cx: &mut Context<'_>) {
        self.reset_congestion_signals();
        self.probe_up_acked_per_inc = f64::INFINITY;
        // PickProbeWait().
        self.rounds_since_probe_up = u64::from(cx.random.happens(0.5));
        self.bw_probe_wait = Span::from_secs_f64(PROBE_WAIT + cx.random.uniform());
        self.cycle_stamp = cx.now;
        self.ack_phase = AckPhase::ProbeStopping;
        self.start_round();
        self.state = State::Down;
    }

    /// StartProbeBW_CRUISE().
    pub(super) fn start_probe_bw_cruise(&mut self) {
        self.state = State::Cruise;
    }

    /// StartProbeBW_REFILL().
    pub(super) fn start_probe_bw_refill(&mut self) {
        self.model.reset_short_term();
        self.bw_probe_up_rounds = 0;
        self.bw_probe_up_acked = 0.0;
        self.prev_probe_precautionary = false;
        self.ack_phase = AckPhase::Refilling;
        self.start_round();
        self.state = State::Refill;
    }

    /// StartProbeBW_UP().
    fn start_probe_bw_up(&mut self) {
        self.ack_phase = AckPhase::ProbeStarting;
        self.start_round();
        self.reset_full_bw();
        self.full_bw = self.rs.delivery_rate;
        self.state = State::Up;
        self.raise_inflight_longterm_slope();
    }

    /// UpdateProbeBWCyclePhase().
    pub(super) fn update_probe_bw_cycle_phase(&mut self, cx: &mut Context<'_>) {
        if !self.full_bw_reached || self.adapt_long_term_model() {
            return;
        }
        let state = self.state;
        match state {
            State::Down | State::Cruise if self.is_time_to_probe_bw(cx) => self.start_probe_bw_refill(),
            State::Down if self.is_time_to_cruise() => self.start_probe_bw_cruise(),
            State::Refill if self.model.round_start => {
                self.is_bw_probe_sample = true;
                self.start_probe_bw_up();
            }
            State::Up if self.is_time_to_go_down() => {
                self.prev_probe_too_high = false;
                self.start_probe_bw_down(cx);
            }
            _ => {}
        }
    }

    /// IsTimeToProbeBW().
    fn is_time_to_probe_bw(&self, cx: &Context<'_>) -> bool {
        let reno_rounds = self.target_inflight().min(RENO_ROUNDS);
        cx.now > self.cycle_stamp + self.bw_probe_wait || self.rounds_since_probe_up as f64 >= reno_rounds
    }

    /// TargetInflight().
    pub(super) fn target_inflight(&self) -> f64 {
        self.bdp_multiple(1.0).min(self.cwnd)
    }

    /// IsTimeToCruise().
    fn is_time_to_cruise(&self) -> bool {
        let bdp = self.quantization_budget(self.multiple_of(self.model.max_bw(), 1.0));
        self.inflight <= self.inflight_with_headroom() && self.inflight <= bdp
    }

    /// IsTimeToGoDown().
    fn is_time_to_go_down(&mut self) -> bool {
        if self.prev_probe_too_high && self.inflight >= self.model.inflight_longterm {
            self.prev_probe_precautionary = true;
            return true;
        }
        if self.is_cwnd_limited && self.cwnd >= self.model.inflight_longterm {
            self.reset_full_bw();
            self.full_bw = self.rs.delivery_rate;
            return false;
        }
        self.full_bw_now
    }

    /// InflightWithHeadroom().
    pub(super) fn inflight_with_headroom(&self) -> f64 {
        let most = self.model.inflight_longterm;
        if most.is_infinite() {
            return most;
        }
        (most - (self.settings.headroom * most).max(1.0)).max(self.min_pipe_cwnd())
    }

    /// RaiseInflightLongtermSlope().
    fn raise_inflight_longterm_slope(&mut self) {
        let growth_this_round = f64::from(1_u32 << self.bw_probe_up_rounds);
        self.bw_probe_up_rounds = (self.bw_probe_up_rounds + 1).min(MOST_UP_ROUNDS);
        self.probe_up_acked_per_inc = (self.cwnd / growth_this_round).max(1.0);
    }

    /// ProbeInflightLongtermUpward().
    fn probe_inflight_longterm_upward(&mut self) {
        if !self.is_cwnd_limited || self.cwnd < self.model.inflight_longterm {
            return;
        }
        self.bw_probe_up_acked += self.rs.newly_acked;
        if self.bw_probe_up_acked >= self.probe_up_acked_per_inc {
            let delta = (self.bw_probe_up_acked / self.probe_up_acked_per_inc).floor();
            self.bw_probe_up_acked -= delta * self.probe_up_acked_per_inc;
            self.model.inflight_longterm += delta;
        }
        if self.model.round_start {
            self.raise_inflight_longterm_slope();
        }
    }

    /// AdaptLongTermModel(): whether it decided on the next state.
    fn adapt_long_term_model(&mut self) -> bool {
        let round_start = self.model.round_start;
        if self.ack_phase == AckPhase::ProbeStarting && round_start {
            self.ack_phase = AckPhase::ProbeFeedback;
        }
        if self.ack_phase == AckPhase::ProbeStopping && round_start {
            self.is_bw_probe_sample = false;
            self.ack_phase = AckPhase::Init;
            if self.is_in_a_probe_bw_state() && !self.rs.is_app_limited {
                self.model.advance_max_bw_filter();
            }
            if self.is_in_a_probe_bw_state() && self.prev_probe_precautionary && !self.prev_probe_too_high {
                self.start_probe_bw_refill();
                return true;
            }
        }
        if !self.is_inflight_too_high() && self.model.inflight_longterm.is_finite() {
            self.model.inflight_longterm = self.model.inflight_longterm.max(self.rs.tx_in_flight);
            if self.state == State::Up {
                self.probe_inflight_longterm_upward();
            }
        }
        false
    }
}
