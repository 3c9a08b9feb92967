//! BBR, version 3 (draft-ietf-ccwg-bbr-06).
//!
//! BBR goes by a model of the path: the bandwidth of the bottleneck, the smallest RTT, and, new in this version, how
//! much may be in flight before more than 2 % are lost. Short-term bounds follow losses while it cruises, long-term
//! ones what its probes found.
//!
//! | draft-ietf-ccwg-bbr-06 | component |
//! | --- | --- |
//! | 5.3.1.2 the pipe is full | [`FullPipe`], `full_pipe.rs` |
//! | 5.3.3 the cycle of ProbeBW | [`ProbeBw`], `probe_bw.rs` |
//! | 5.3.4 ProbeRTT; 5.5.7 BBR.min_rtt | [`ProbeRtt`], [`MinRtt`], `probe_rtt.rs` |
//! | 5.5.1 to 5.5.6 rounds, BBR.max_bw, bounds | [`Rounds`], [`Model`], `model.rs` |
//! | 5.5.9 BBR.extra_acked | [`Aggregation`], `aggregation.rs` |
//! | 5.5.10 and 5.5.11 losses, spurious recoveries | [`Losses`], `losses.rs` |
//! | 5.6 pacing rate, send quantum, window | [`Window`], `window.rs` |
//! | 5.2.3 the order in which an ACK asks them | `Bbr3::update_on_ack` |
//! | RFC 9959, with what an earlier connection saved | [`Resume`], `resume.rs` |
//! | 5.3 the states and what leads from one to the next | `states.rs` |
//!
//! Each component has its own state, which no other reads or writes but by its methods.
//!
//! The names of states and variables are the draft's. Quantities are real numbers of segments and segments a second.
//! The draft calls a mark congestion, and leaves the answer to ECN open. Here a mark counts as a loss of its round
//! trip, ends a probe as too high a loss would, and ends Startup. A path is taken to bring selective ACKs.

mod aggregation;
mod full_pipe;
mod losses;
mod model;
mod probe_bw;
mod probe_rtt;
mod resume;
mod states;
#[cfg(test)]
mod tests;
mod window;

use units::{Rate, Span};

use self::aggregation::Aggregation;
use self::full_pipe::FullPipe;
use self::losses::{BETA, Losses};
use self::model::{Model, Rounds, Sample};
use self::probe_bw::ProbeBw;
use self::probe_rtt::{MinRtt, ProbeRtt};
use self::resume::Resume;
use self::window::{STARTUP_PACING_GAIN, Window};
use crate::entry::{Aim, Entry, Quantity};
use crate::parameters::parameters;
use crate::parts::bounded::Bounded as _;
use crate::range::{above, from};
use crate::{Ack, Context, Controller, Loss, Marks, Probe, Reports, SegmentReport, TransmitStart, Wants};

/// Registry entry of BBR version 3.
pub const ENTRY: Entry = Entry {
    name: "bbr3",
    title: "BBR version 3",
    summary: "Sends at the largest delivery rate seen, within the flight that probes found to pass without much loss",
    source: "draft-ietf-ccwg-bbr-06",
    aim: Aim::General,
    parameters: Settings::PARAMETERS,
    probes: &[
        Quantity::new("state", "", "1 Startup, 2 Drain, 3 DOWN, 4 CRUISE, 5 REFILL, 6 UP, 7 ProbeRTT"),
        Quantity::new(
            "max_bw",
            "segments/s",
            "BBR.max_bw, the largest delivery rate of this probing cycle and the last",
        ),
        Quantity::new("bw", "segments/s", "BBR.bw, what of it the short-term bound leaves"),
        Quantity::new("min_rtt_ms", "ms", "BBR.min_rtt; 0 before the first sample"),
        Quantity::new("inflight_longterm", "segments", "BBR.inflight_longterm; 0 while there is no bound"),
        Quantity::new("inflight_shortterm", "segments", "BBR.inflight_shortterm; 0 while there is no bound"),
        Quantity::new("extra_acked", "segments", "BBR.extra_acked, how far trains of ACKs run ahead of the bandwidth"),
        Quantity::new("round", "round trips", "BBR.round_count"),
        Quantity::new("full_bw_reached", "", "1 once the pipe was full"),
    ],
    make: |given| Ok(Box::new(Bbr3::new(Settings::read(given)?))),
};

/// Gains of pacing in Drain, DOWN and UP (BBR.DrainPacingGain; sections 5.3.3.1 and 5.6.1).
const DRAIN_PACING_GAIN: f64 = 0.5;
const DOWN_PACING_GAIN: f64 = 0.9;
const UP_PACING_GAIN: f64 = 1.25;
/// Gains of the window: in UP, in ProbeRTT, and else (section 5.6.1; BBR.ProbeRTTCwndGain, BBR.DefaultCwndGain).
const UP_CWND_GAIN: f64 = 2.25;
const PROBE_RTT_CWND_GAIN: f64 = 0.5;
const DEFAULT_CWND_GAIN: f64 = 2.0;
/// The share of BBR.inflight_longterm that is left to others while it cruises (BBR.Headroom).
const HEADROOM: f64 = 0.15;
/// The smallest window (BBR.MinPipeCwnd).
const MIN_PIPE_CWND: f64 = 4.0;

parameters! {
    /// The parameters.
    pub struct Settings {
        /// The share of a round trip that may be lost while it probes
        loss_thresh: f64 = 0.02, range above(0.0).below(1.0), source "draft-ietf-ccwg-bbr-06, BBR.LossThresh";
        /// Share by which the pacing rate stays below the bandwidth
        pacing_margin: f64 = 0.01, range from(0.0).below(1.0), source "draft-ietf-ccwg-bbr-06, BBR.PacingMarginPercent";
        /// The window of an earlier connection, at half of whose rate Startup goes on (Careful Resume); 0 for none
        saved_window: f64 = 0.0,
            unit "segments", range from(0.0).up_to(100_000_000.0), source "RFC 9959, saved_cwnd";
        /// Its RTT
        saved_rtt: Span = Span::from_millis(100),
            unit "time", range from(Span::from_micros(1)).up_to(Span::from_secs(60)), source "RFC 9959, saved_RTT";
    }
}

/// BBR.state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum State {
    Startup = 1,
    Drain = 2,
    Down = 3,
    Cruise = 4,
    Refill = 5,
    Up = 6,
    ProbeRtt = 7,
}

impl State {
    /// IsInAProbeBWState().
    fn is_probe_bw(self) -> bool {
        matches!(self, Self::Down | Self::Cruise | Self::Refill | Self::Up)
    }

    /// IsProbingBW().
    fn is_probing_bw(self) -> bool {
        matches!(self, Self::Startup | Self::Refill | Self::Up)
    }
}

/// The offload budget of TCP, in quanta (section 5.5.8.1).
const OFFLOAD_QUANTA: f64 = 3.0;

/// The controller.
#[derive(Clone, Copy, Debug)]
pub struct Bbr3 {
    settings: Settings,
    state: State,
    /// RS.
    rs: Sample,
    rounds: Rounds,
    model: Model,
    aggregation: Aggregation,
    full_pipe: FullPipe,
    drain_start_round: u64,
    probe_bw: ProbeBw,
    losses: Losses,
    min_rtt: MinRtt,
    probe_rtt: ProbeRtt,
    resume: Resume,
    window: Window,
}

impl Bbr3 {
    /// A controller with `settings`.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            state: State::Startup,
            rs: Sample::default(),
            rounds: Rounds::default(),
            model: Model::new(),
            aggregation: Aggregation::new(),
            full_pipe: FullPipe::default(),
            drain_start_round: 0,
            probe_bw: ProbeBw::new(),
            losses: Losses::default(),
            min_rtt: MinRtt::new(),
            probe_rtt: ProbeRtt::new(),
            resume: Resume::new(settings.saved_window, settings.saved_rtt),
            window: Window::new(),
        }
    }

    /// UpdateOnACK().
    fn update_on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.rs = Sample::of(ack, |prior_delivered| self.probe_rtt.is_held_back(prior_delivered));
        self.losses.count(ack.lost);
        self.rounds.expect();
        if self.losses.is_repaired(ack.acknowledged_to) {
            self.leave_recovery();
        }
        let delivers = self.rs.delivered > 0.0;
        if delivers {
            self.update_model(cx);
        }
        self.check_resume();
        self.check_startup_done();
        self.check_drain_done(cx);
        if delivers {
            self.update_probe_bw_cycle_phase(cx);
        }
        self.min_rtt.update(cx.now, self.rs.rtt);
        self.check_probe_rtt(cx);
        // AdvanceLatestDeliverySignals().
        if self.losses.round_begins() && delivers {
            self.model.advance_latest(&self.rs);
        }
        if !ack.smoothed_rtt.is_zero() {
            self.window.see_rtt(ack.smoothed_rtt);
        }
        self.set_pacing_rate(self.pacing_gain());
        self.set_cwnd();
    }

    /// The part of UpdateOnACK() that rate samples feed: latest signals, congestion, aggregation and full pipe.
    fn update_model(&mut self, cx: &Context<'_>) {
        self.model.update_latest(&self.rs);
        self.losses.update_round(&self.rs);
        self.rounds.update(&self.rs);
        if self.rounds.begins() {
            self.probe_bw.count_round();
        }
        if !self.resume.is_retreating() {
            self.model.update_max_bw(&self.rs);
        }
        if self.losses.round_begins() && self.losses.take_round() && !self.state.is_probing_bw() {
            self.model.lower_bounds(BETA, self.window.cwnd());
        }
        let (acked, bw, cwnd) = (self.rs.newly_acked, self.model.bw(), self.window.cwnd());
        let is_full = self.full_pipe.is_reached();
        self.aggregation.update(cx.now, acked, bw, cwnd, (self.rounds.count(), is_full));
        if self.rounds.begins() {
            self.full_pipe.update(&self.rs);
        }
    }

    /// BBR.pacing_gain.
    fn pacing_gain(&self) -> f64 {
        match self.state {
            State::Startup => STARTUP_PACING_GAIN,
            State::Drain => DRAIN_PACING_GAIN,
            State::Down => DOWN_PACING_GAIN,
            State::Up => UP_PACING_GAIN,
            State::Cruise | State::Refill | State::ProbeRtt => 1.0,
        }
    }

    /// BBR.cwnd_gain.
    fn cwnd_gain(&self) -> f64 {
        match self.state {
            State::Up => UP_CWND_GAIN,
            State::ProbeRtt => PROBE_RTT_CWND_GAIN,
            _ => DEFAULT_CWND_GAIN,
        }
    }

    /// SetPacingRateWithGain().
    fn set_pacing_rate(&mut self, gain: f64) {
        let rate = gain * self.model.bw() * (1.0 - self.settings.pacing_margin);
        self.window.set_pacing_rate(rate.at_least(self.resume.rate()), self.full_pipe.is_reached());
    }

    /// `gain` times the product of `bandwidth` and BBR.min_rtt.
    fn multiple_of(&self, bandwidth: f64, gain: f64) -> f64 {
        self.min_rtt.get().map_or(self.window.initial_cwnd(), |min_rtt| gain * bandwidth * min_rtt.as_secs_f64())
    }

    /// BDPMultiple().
    fn bdp_multiple(&self, gain: f64) -> f64 {
        self.multiple_of(self.model.bw(), gain)
    }

    /// QuantizationBudget().
    fn quantization_budget(&self, inflight_cap: f64) -> f64 {
        let more = if self.state == State::Up { 2.0 } else { 0.0 };
        inflight_cap.at_least(OFFLOAD_QUANTA * self.window.quantum()).at_least(MIN_PIPE_CWND) + more
    }

    /// Inflight().
    fn inflight_at(&self, gain: f64) -> f64 {
        self.quantization_budget(self.bdp_multiple(gain))
    }

    /// TargetInflight().
    fn target_inflight(&self) -> f64 {
        self.bdp_multiple(1.0).at_most(self.window.cwnd())
    }

    /// InflightWithHeadroom().
    fn inflight_with_headroom(&self) -> f64 {
        let most = self.model.inflight_longterm();
        if most.is_infinite() {
            return most;
        }
        (most - (HEADROOM * most).at_least(1.0)).at_least(MIN_PIPE_CWND)
    }

    /// ProbeRTTCwnd().
    fn probe_rtt_cwnd(&self) -> f64 {
        self.bdp_multiple(PROBE_RTT_CWND_GAIN).at_least(MIN_PIPE_CWND)
    }

    /// SetCwnd(), with UpdateMaxInflight(), BoundCwndForProbeRTT() and BoundCwndForModel().
    fn set_cwnd(&mut self) {
        let most = self.bdp_multiple(self.cwnd_gain()) + self.aggregation.extra_acked();
        let min_rtt = self.min_rtt.get().unwrap_or_default();
        let resumed = self.resume.rate() * min_rtt.as_secs_f64() * self.cwnd_gain();
        let (max_inflight, least) = (self.quantization_budget(most.at_least(resumed)), MIN_PIPE_CWND.at_least(resumed));
        let Sample { newly_acked, total_delivered, .. } = self.rs;
        self.window.grow(newly_acked, max_inflight, total_delivered, self.full_pipe.is_reached());
        self.window.raise_to(least);
        if self.state == State::ProbeRtt {
            self.window.cap_at(self.probe_rtt_cwnd());
        }
        let cap = match self.state {
            State::Down | State::Refill | State::Up => self.model.inflight_longterm(),
            State::ProbeRtt | State::Cruise => self.inflight_with_headroom(),
            State::Startup | State::Drain => f64::INFINITY,
        };
        self.window.cap_at(cap.at_most(self.model.inflight_shortterm()).at_least(least));
    }
}

impl Controller for Bbr3 {
    fn wants(&self) -> Wants {
        Wants { transmit_start: true, segments: Reports::Lost, governs_recovery: true, ..Wants::default() }
    }

    fn on_start(&mut self, cx: &mut Context<'_>) {
        self.window.start(cx.segment_size.get().max(1) as f64, cx.initial_window.at_least(1.0));
        self.min_rtt.start(cx.now);
        self.aggregation.restart(cx.now);
        self.window.init_pacing_rate(Span::from_millis(1));
    }

    fn on_handshake(&mut self, _cx: &mut Context<'_>, rtt: Span) {
        self.min_rtt.set(rtt);
        self.window.see_rtt(rtt);
    }

    fn on_transmit_start(&mut self, cx: &mut Context<'_>, start: &TransmitStart) {
        if start.application_limited {
            self.restart_from_idle(cx);
        }
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.update_on_ack(cx, ack);
    }

    fn on_duplicate_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.update_on_ack(cx, ack);
    }

    fn on_segment_lost(&mut self, cx: &mut Context<'_>, segment: &SegmentReport) {
        self.handle_lost_packet(cx, segment);
    }

    fn on_loss(&mut self, _cx: &mut Context<'_>, loss: &Loss) {
        self.enter_fast_recovery(loss.sent_to);
    }

    fn on_ecn(&mut self, cx: &mut Context<'_>, marks: &Marks) {
        self.handle_marks(cx, marks);
    }

    fn on_recovered(&mut self, _cx: &mut Context<'_>) {
        self.leave_recovery();
    }

    fn on_timeout(&mut self, _cx: &mut Context<'_>, loss: &Loss) {
        self.enter_rto(loss);
    }

    fn on_spurious(&mut self, _cx: &mut Context<'_>) {
        self.handle_spurious_loss_detection();
    }

    fn on_idle_restart(&mut self, _cx: &mut Context<'_>) {}

    fn window(&self) -> f64 {
        self.window.cwnd()
    }

    fn slow_start_threshold(&self) -> f64 {
        f64::INFINITY
    }

    fn pacing_rate(&self) -> Option<Rate> {
        Some(Rate::from_bits_per_second(self.window.bits_per_second()))
    }

    fn send_quantum(&self) -> u32 {
        self.window.quantum() as u32
    }

    fn probe(&self, out: &mut dyn Probe) {
        let bound = |value: f64| if value.is_finite() { value } else { 0.0 };
        let min_rtt = self.min_rtt.get().map_or(0.0, Span::as_millis_f64);
        out.value("state", f64::from(self.state as u8));
        out.value("max_bw", self.model.max_bw());
        out.value("bw", self.model.bw());
        out.value("min_rtt_ms", min_rtt);
        out.value("inflight_longterm", bound(self.model.inflight_longterm()));
        out.value("inflight_shortterm", bound(self.model.inflight_shortterm()));
        out.value("extra_acked", self.aggregation.extra_acked());
        out.value("round", self.rounds.count() as f64);
        out.value("full_bw_reached", f64::from(u8::from(self.full_pipe.is_reached())));
    }
}
