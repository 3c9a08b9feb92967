//! The cycle of ProbeBW (section 5.3.3): when the next probe is due, whether its feedback is complete, and how fast it
//! raises BBR.inflight_longterm.

use units::{Span, Time};

use crate::Context;
use crate::parts::bounded::Bounded as _;

/// The time between two probes: so long, and up to a second more.
const PROBE_WAIT: f64 = 2.0;
/// Round trips after which a Reno flow would have probed, at most.
const RENO_ROUNDS: f64 = 63.0;
/// Doublings of the slope of BBR.inflight_longterm, at most.
const MOST_UP_ROUNDS: u32 = 30;

/// BBR.ack_phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AckPhase {
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

/// The probes for bandwidth.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProbeBw {
    ack_phase: AckPhase,
    is_sample: bool,
    prev_too_high: bool,
    prev_precautionary: bool,
    up_acked: f64,
    up_acked_per_inc: f64,
    up_rounds: u32,
    rounds_since_up: u64,
    wait: Span,
    cycle_stamp: Time,
}

impl ProbeBw {
    pub(super) const fn new() -> Self {
        Self {
            ack_phase: AckPhase::Init,
            is_sample: false,
            prev_too_high: false,
            prev_precautionary: false,
            up_acked: 0.0,
            up_acked_per_inc: f64::INFINITY,
            up_rounds: 0,
            rounds_since_up: 0,
            wait: Span::ZERO,
            cycle_stamp: Time::ZERO,
        }
    }

    /// BBR.is_bw_probe_sample: losses of segments that a probe sent say how much is too much.
    pub(super) fn is_sample(&self) -> bool {
        self.is_sample
    }

    /// BBR.prev_probe_too_high.
    pub(super) fn prev_too_high(&self) -> bool {
        self.prev_too_high
    }

    /// BBR.prev_probe_precautionary: the last probe stopped at the bound of the one before, and found it good.
    pub(super) fn was_good(&self) -> bool {
        self.prev_precautionary && !self.prev_too_high
    }

    /// The probe of a round that was at the bound of the one before stops there.
    pub(super) fn stop_at_bound(&mut self) {
        self.prev_precautionary = true;
    }

    /// The probe ends, whether or not it went `too_high`.
    pub(super) fn end_probe(&mut self, too_high: bool) {
        self.prev_too_high = too_high;
        if too_high {
            self.is_sample = false;
        }
    }

    /// A round trip begins.
    pub(super) fn count_round(&mut self) {
        self.rounds_since_up += 1;
    }

    /// StartProbeBW_DOWN(), with PickProbeWait().
    pub(super) fn down(&mut self, cx: &mut Context<'_>) {
        self.up_acked_per_inc = f64::INFINITY;
        self.rounds_since_up = u64::from(cx.random.happens(0.5));
        self.wait = Span::from_secs_f64(PROBE_WAIT + cx.random.uniform());
        self.cycle_stamp = cx.now;
        self.stop();
    }

    /// The feedback of the last probe is complete after one more round trip.
    pub(super) fn stop(&mut self) {
        self.ack_phase = AckPhase::ProbeStopping;
    }

    /// StartProbeBW_REFILL().
    pub(super) fn refill(&mut self) {
        self.up_rounds = 0;
        self.up_acked = 0.0;
        self.prev_precautionary = false;
        self.ack_phase = AckPhase::Refilling;
    }

    /// StartProbeBW_UP().
    pub(super) fn up(&mut self, cwnd: f64) {
        self.is_sample = true;
        self.ack_phase = AckPhase::ProbeStarting;
        self.raise_slope(cwnd);
    }

    /// IsTimeToProbeBW().
    pub(super) fn is_due(&self, now: Time, target_inflight: f64) -> bool {
        now > self.cycle_stamp + self.wait || self.rounds_since_up as f64 >= target_inflight.at_most(RENO_ROUNDS)
    }

    /// A round trip begins: whether the feedback of the last probe is complete with it.
    pub(super) fn completes(&mut self) -> bool {
        match self.ack_phase {
            AckPhase::ProbeStarting => self.ack_phase = AckPhase::ProbeFeedback,
            AckPhase::ProbeStopping => {
                self.is_sample = false;
                self.ack_phase = AckPhase::Init;
                return true;
            }
            AckPhase::Init | AckPhase::Refilling | AckPhase::ProbeFeedback => {}
        }
        false
    }

    /// ProbeInflightLongtermUpward(): the segments by which `newly_acked` raise the bound.
    pub(super) fn upward(&mut self, newly_acked: f64, cwnd: f64, round_begins: bool) -> f64 {
        self.up_acked += newly_acked;
        let mut delta = 0.0;
        if self.up_acked >= self.up_acked_per_inc {
            delta = (self.up_acked / self.up_acked_per_inc).floor();
            self.up_acked -= delta * self.up_acked_per_inc;
        }
        if round_begins {
            self.raise_slope(cwnd);
        }
        delta
    }

    /// RaiseInflightLongtermSlope().
    fn raise_slope(&mut self, cwnd: f64) {
        let growth_this_round = f64::from(1_u32 << self.up_rounds);
        self.up_rounds = (self.up_rounds + 1).min(MOST_UP_ROUNDS);
        self.up_acked_per_inc = (cwnd / growth_this_round).at_least(1.0);
    }

    /// When the cycle began.
    #[cfg(test)]
    pub(super) fn cycle_stamp(&self) -> Time {
        self.cycle_stamp
    }

    /// The last probe stopped at the bound of the one before.
    #[cfg(test)]
    pub(super) fn prev_precautionary(&self) -> bool {
        self.prev_precautionary
    }
}
