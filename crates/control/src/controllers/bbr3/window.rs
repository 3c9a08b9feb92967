//! Pacing rate, send quantum and window (section 5.6).

use units::Span;

use super::{Bbr3, State};

/// A quantum takes so long at the pacing rate, and is no longer than this, in bytes; two segments at least.
const QUANTUM_SECONDS: f64 = 0.001;
const LONGEST_QUANTUM: f64 = 65_536.0;
const SHORTEST_QUANTUM: f64 = 2.0;
/// The offload budget of TCP, in quanta (section 5.5.8.1).
const OFFLOAD_QUANTA: f64 = 3.0;

impl Bbr3 {
    /// BBR.pacing_gain.
    fn pacing_gain(&self) -> f64 {
        match self.state {
            State::Startup => self.settings.startup_pacing_gain,
            State::Drain => self.settings.drain_pacing_gain,
            State::Down => self.settings.down_pacing_gain,
            State::Up => self.settings.up_pacing_gain,
            State::Cruise | State::Refill | State::ProbeRtt => 1.0,
        }
    }

    /// BBR.cwnd_gain.
    fn cwnd_gain(&self) -> f64 {
        match self.state {
            State::Up => self.settings.up_cwnd_gain,
            State::ProbeRtt => self.settings.probe_rtt_cwnd_gain,
            _ => self.settings.cwnd_gain,
        }
    }

    /// InitPacingRate().
    pub(super) fn init_pacing_rate(&mut self, rtt: Span) {
        self.pacing_rate = self.settings.startup_pacing_gain * self.initial_cwnd / rtt.as_secs_f64().max(1e-9);
    }

    /// SetPacingRateWithGain().
    pub(super) fn set_pacing_rate_with_gain(&mut self, gain: f64) {
        let rate = gain * self.model.bw() * (1.0 - self.settings.pacing_margin);
        if rate > 0.0 && (self.full_bw_reached || rate > self.pacing_rate) {
            self.pacing_rate = rate;
        }
    }

    /// SetPacingRate().
    pub(super) fn set_pacing_rate(&mut self, smoothed_rtt: Span) {
        if !self.has_seen_rtt && !smoothed_rtt.is_zero() {
            self.has_seen_rtt = true;
            self.init_pacing_rate(smoothed_rtt);
        }
        self.set_pacing_rate_with_gain(self.pacing_gain());
    }

    /// C.send_quantum, segments (SetSendQuantum()).
    pub(super) fn quantum(&self) -> f64 {
        let most = LONGEST_QUANTUM / self.segment;
        (self.pacing_rate * QUANTUM_SECONDS).min(most).max(SHORTEST_QUANTUM).floor()
    }

    pub(super) fn min_pipe_cwnd(&self) -> f64 {
        f64::from(self.settings.min_pipe_cwnd)
    }

    /// `gain` times the product of `bandwidth` and BBR.min_rtt.
    pub(super) fn multiple_of(&self, bandwidth: f64, gain: f64) -> f64 {
        if self.min_rtt == Span::MAX {
            return self.initial_cwnd;
        }
        gain * bandwidth * self.min_rtt.as_secs_f64()
    }

    /// BDPMultiple().
    pub(super) fn bdp_multiple(&self, gain: f64) -> f64 {
        self.multiple_of(self.model.bw(), gain)
    }

    /// QuantizationBudget().
    pub(super) fn quantization_budget(&self, inflight_cap: f64) -> f64 {
        let more = if self.state == State::Up { 2.0 } else { 0.0 };
        inflight_cap.max(OFFLOAD_QUANTA * self.quantum()).max(self.min_pipe_cwnd()) + more
    }

    /// Inflight().
    pub(super) fn inflight_at(&self, gain: f64) -> f64 {
        self.quantization_budget(self.bdp_multiple(gain))
    }

    /// ProbeRTTCwnd().
    pub(super) fn probe_rtt_cwnd(&self) -> f64 {
        self.bdp_multiple(self.settings.probe_rtt_cwnd_gain).max(self.min_pipe_cwnd())
    }

    /// SetCwnd(), with UpdateMaxInflight(), BoundCwndForProbeRTT() and BoundCwndForModel().
    pub(super) fn set_cwnd(&mut self) {
        let extra_acked = self.extra_acked.get() as f64;
        let max_inflight = self.quantization_budget(self.bdp_multiple(self.cwnd_gain()) + extra_acked);
        if self.full_bw_reached {
            self.cwnd = (self.cwnd + self.rs.newly_acked).min(max_inflight);
        } else if self.cwnd < max_inflight || (self.delivered as f64) < self.initial_cwnd {
            self.cwnd += self.rs.newly_acked;
        }
        self.cwnd = self.cwnd.max(self.min_pipe_cwnd());
        if self.state == State::ProbeRtt {
            self.cwnd = self.cwnd.min(self.probe_rtt_cwnd());
        }
        self.bound_cwnd_for_model();
    }

    fn bound_cwnd_for_model(&mut self) {
        let cap = match self.state {
            State::Down | State::Refill | State::Up => self.model.inflight_longterm,
            State::ProbeRtt | State::Cruise => self.inflight_with_headroom(),
            State::Startup | State::Drain => f64::INFINITY,
        };
        self.cwnd = self.cwnd.min(cap.min(self.model.inflight_shortterm).max(self.min_pipe_cwnd()));
    }
}
