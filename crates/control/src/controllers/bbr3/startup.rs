//! Startup and Drain (sections 5.3.1 and 5.3.2): when the pipe is full, by a plateau of the delivery rate or by losses.

use super::{Bbr3, State};
use crate::Context;

/// Drain takes no longer.
const DRAIN_ROUNDS: u64 = 3;

impl Bbr3 {
    /// EnterStartup().
    pub(super) fn enter_startup(&mut self) {
        self.state = State::Startup;
    }

    /// ResetFullBW().
    pub(super) fn reset_full_bw(&mut self) {
        (self.full_bw, self.full_bw_count, self.full_bw_now) = (0.0, 0, false);
    }

    /// CheckFullBWReached().
    pub(super) fn check_full_bw_reached(&mut self) {
        if self.full_bw_now || !self.model.round_start || self.rs.is_app_limited {
            return;
        }
        let rate = self.rs.delivery_rate;
        if rate >= self.full_bw * self.settings.full_bw_growth {
            self.reset_full_bw();
            self.full_bw = rate;
            return;
        }
        self.full_bw_count += 1;
        self.full_bw_now = self.full_bw_count >= self.settings.full_bw_rounds;
        self.full_bw_reached |= self.full_bw_now;
    }

    /// CheckStartupDone().
    pub(super) fn check_startup_done(&mut self) {
        self.check_startup_high_loss();
        if self.state == State::Startup && self.full_bw_reached {
            self.enter_drain();
        }
    }

    /// CheckStartupHighLoss(): a round trip of recovery has lost too much, in too many places.
    fn check_startup_high_loss(&mut self) {
        if self.state != State::Startup || self.full_bw_reached || !self.loss_round_start {
            return;
        }
        let in_many_places = self.lost_ranges >= self.settings.startup_full_loss;
        if self.recovery_end.is_some() && in_many_places && self.is_inflight_too_high() {
            self.stop_startup();
        }
        self.lost_ranges = 0;
    }

    /// The pipe is full, as congestion shows.
    pub(super) fn stop_startup(&mut self) {
        self.undo.state = Some(State::Startup);
        self.full_bw_reached = true;
        self.model.inflight_longterm = self.bdp_multiple(1.0).max(self.model.inflight_latest);
    }

    /// EnterDrain().
    fn enter_drain(&mut self) {
        self.state = State::Drain;
        self.drain_start_round = self.model.round_count;
    }

    /// CheckDrainDone().
    pub(super) fn check_drain_done(&mut self, cx: &mut Context<'_>) {
        let too_long = self.model.round_count > self.drain_start_round + DRAIN_ROUNDS;
        if self.state == State::Drain && (self.inflight <= self.inflight_at(1.0) || too_long) {
            self.start_probe_bw_down(cx);
        }
    }
}
