//! BBR, version 3 (draft-ietf-ccwg-bbr-06).
//!
//! BBR goes by a model of the path: the bandwidth of the bottleneck, the smallest RTT, and, new in this version, how
//! much may be in flight before more than 2 % are lost. Short-term bounds follow losses while it cruises, long-term
//! ones what its probes found.
//!
//! | draft-ietf-ccwg-bbr-06 | here |
//! | --- | --- |
//! | 5.3.1 Startup, full pipe and high loss; 5.3.2 Drain | `startup.rs` |
//! | 5.3.3 ProbeBW: DOWN, CRUISE, REFILL, UP; precautionary probing | `probe_bw.rs` |
//! | 5.3.4 ProbeRTT; 5.5.7 BBR.min_rtt; 5.4 restart from idle | `probe_rtt.rs` |
//! | 5.5 rounds, BBR.max_bw, BBR.extra_acked | `model.rs` |
//! | 5.5.10 loss: inflight_longterm, the short-term model; 5.5.11 spurious recoveries | `congestion.rs` |
//! | 5.6 pacing rate, send quantum, window | `window.rs` |
//!
//! The names of states and variables are the draft's. Quantities are real numbers of segments and segments a second.
//! The draft leaves the answer to ECN open, but for that a mark is congestion: here a mark is what a loss of that round
//! trip would be, ends a probe as too high a loss would, and ends Startup. A path is taken to bring selective ACKs.

mod congestion;
mod model;
mod probe_bw;
mod probe_rtt;
mod startup;
#[cfg(test)]
mod tests;
mod window;

use units::{Rate, Span, Time};

use self::congestion::Undo;
use self::model::{Model, Sample};
use self::probe_bw::AckPhase;
use crate::entry::{Entry, Quantity};
use crate::parameters::parameters;
use crate::parts::windowed_max::WindowedMax;
use crate::range::{above, from};
use crate::{Ack, Context, Controller, Loss, Marks, Probe, Reports, SegmentReport, Wants};

/// What the registry tells about BBR version 3.
pub const ENTRY: Entry = Entry {
    name: "bbr3",
    title: "BBR version 3",
    summary: "Sends at the largest delivery rate seen, within what its probes found the path to hold without much loss",
    source: "draft-ietf-ccwg-bbr-06",
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

parameters! {
    /// The parameters.
    pub struct Settings {
        /// Gain of pacing in Startup
        startup_pacing_gain: f64 = 2.77, range above(1.0).up_to(10.0), source "BBR.StartupPacingGain, 4 ln 2";
        /// Gain of pacing in Drain
        drain_pacing_gain: f64 = 0.5, range above(0.0).up_to(1.0), source "BBR.DrainPacingGain";
        /// Gain of the window, but for UP and ProbeRTT
        cwnd_gain: f64 = 2.0, range from(1.0).up_to(10.0), source "BBR.DefaultCwndGain";
        /// Gain of pacing in UP
        up_pacing_gain: f64 = 1.25, range from(1.0).up_to(10.0), source "section 5.6.1";
        /// Gain of the window in UP
        up_cwnd_gain: f64 = 2.25, range from(1.0).up_to(10.0), source "section 5.6.1";
        /// Gain of pacing in DOWN
        down_pacing_gain: f64 = 0.9, range above(0.0).up_to(1.0), source "section 5.3.3.1";
        /// The share of a round trip that may be lost while it probes
        loss_thresh: f64 = 0.02, range above(0.0).below(1.0), source "BBR.LossThresh";
        /// What a round trip with losses leaves of the short-term bounds at least
        beta: f64 = 0.7, range above(0.0).up_to(1.0), source "BBR.Beta";
        /// Share of BBR.inflight_longterm that is left to others while it cruises
        headroom: f64 = 0.15, range from(0.0).below(1.0), source "BBR.Headroom";
        /// The smallest RTT is that of so long
        min_rtt_filter: Span = Span::from_secs(10),
            unit "time", range from(Span::from_millis(100)).up_to(Span::from_secs(3600)), source "BBR.MinRTTFilterLen";
        /// ProbeRTT comes when no smaller RTT was seen for so long
        probe_rtt_interval: Span = Span::from_secs(5),
            unit "time", range from(Span::from_millis(100)).up_to(Span::from_secs(3600)), source "BBR.ProbeRTTInterval";
        /// ProbeRTT takes at least so long
        probe_rtt_duration: Span = Span::from_millis(200),
            unit "time", range from(Span::ZERO).up_to(Span::from_secs(10)), source "BBR.ProbeRTTDuration";
        /// Gain of the window in ProbeRTT
        probe_rtt_cwnd_gain: f64 = 0.5, range above(0.0).up_to(1.0), source "BBR.ProbeRTTCwndGain";
        /// Growth of the delivery rate in a round trip below which the pipe may be full
        full_bw_growth: f64 = 1.25, range above(1.0).up_to(4.0), source "section 5.3.1.2";
        /// After so many of these round trips it is
        full_bw_rounds: u32 = 3, unit "round trips", range from(1).up_to(100), source "section 5.3.1.2";
        /// Ranges that must be lost in a round trip for Startup to end by loss
        startup_full_loss: u32 = 6, unit "ranges", range from(1).up_to(1000), source "BBRStartupFullLossCnt";
        /// Trains of ACKs count for so many round trips
        extra_acked_filter: u32 = 10, unit "round trips", range from(1).up_to(1000), source "BBR.ExtraAckedFilterLen";
        /// Least window
        min_pipe_cwnd: u32 = 4, unit "segments", range from(1).up_to(100), source "BBR.MinPipeCwnd";
        /// Share by which the pacing rate stays below the bandwidth
        pacing_margin: f64 = 0.01, range from(0.0).below(1.0), source "BBR.PacingMarginPercent";
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

/// The controller.
#[derive(Clone, Copy, Debug)]
pub struct Bbr3 {
    settings: Settings,
    state: State,
    /// Payload of a segment, bytes; C.InitialCwnd, C.cwnd and C.pacing_rate, this in segments a second.
    segment: f64,
    initial_cwnd: f64,
    cwnd: f64,
    pacing_rate: f64,
    has_seen_rtt: bool,
    /// Segments in flight and delivered, as of the last ACK.
    inflight: f64,
    delivered: u64,
    is_cwnd_limited: bool,
    /// RS.
    rs: Sample,
    model: Model,
    // BBR.extra_acked.
    extra_acked_start: Time,
    extra_acked_delivered: f64,
    extra_acked: WindowedMax,
    // Startup and Drain.
    full_bw: f64,
    full_bw_count: u32,
    full_bw_now: bool,
    full_bw_reached: bool,
    drain_start_round: u64,
    // ProbeBW.
    ack_phase: AckPhase,
    is_bw_probe_sample: bool,
    prev_probe_too_high: bool,
    prev_probe_precautionary: bool,
    bw_probe_up_acked: f64,
    probe_up_acked_per_inc: f64,
    bw_probe_up_rounds: u32,
    rounds_since_probe_up: u64,
    bw_probe_wait: Span,
    cycle_stamp: Time,
    // Loss.
    is_loss_in_round: bool,
    loss_round_start: bool,
    loss_round_delivered: u64,
    lost: u64,
    lost_ranges: u32,
    last_lost: Option<u64>,
    /// While losses are repaired: until everything below is acknowledged.
    recovery_end: Option<u64>,
    prior_cwnd: f64,
    undo: Undo,
    // ProbeRTT.
    min_rtt: Span,
    min_rtt_stamp: Time,
    probe_rtt_min_delay: Span,
    probe_rtt_min_stamp: Time,
    probe_rtt_expired: bool,
    probe_rtt_done_stamp: Option<Time>,
    probe_rtt_round_done: bool,
    /// Segments that left when so many were delivered do not show the bandwidth: those of the last ProbeRTT.
    held_back: (u64, u64),
    idle_restart: bool,
}

impl Bbr3 {
    /// A controller with `settings`.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            state: State::Startup,
            segment: 1.0,
            initial_cwnd: 1.0,
            cwnd: 1.0,
            pacing_rate: 0.0,
            has_seen_rtt: false,
            inflight: 0.0,
            delivered: 0,
            is_cwnd_limited: false,
            rs: Sample::default(),
            model: Model::new(),
            extra_acked_start: Time::ZERO,
            extra_acked_delivered: 0.0,
            extra_acked: WindowedMax::default(),
            full_bw: 0.0,
            full_bw_count: 0,
            full_bw_now: false,
            full_bw_reached: false,
            drain_start_round: 0,
            ack_phase: AckPhase::Init,
            is_bw_probe_sample: false,
            prev_probe_too_high: false,
            prev_probe_precautionary: false,
            bw_probe_up_acked: 0.0,
            probe_up_acked_per_inc: f64::INFINITY,
            bw_probe_up_rounds: 0,
            rounds_since_probe_up: 0,
            bw_probe_wait: Span::ZERO,
            cycle_stamp: Time::ZERO,
            is_loss_in_round: false,
            loss_round_start: false,
            loss_round_delivered: 0,
            lost: 0,
            lost_ranges: 0,
            last_lost: None,
            recovery_end: None,
            prior_cwnd: 0.0,
            undo: Undo::default(),
            min_rtt: Span::MAX,
            min_rtt_stamp: Time::ZERO,
            probe_rtt_min_delay: Span::MAX,
            probe_rtt_min_stamp: Time::ZERO,
            probe_rtt_expired: false,
            probe_rtt_done_stamp: None,
            probe_rtt_round_done: false,
            held_back: (u64::MAX, 0),
            idle_restart: false,
        }
    }

    /// UpdateOnACK().
    fn update_on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.generate_rate_sample(ack);
        if self.recovery_end.is_some_and(|end| ack.acknowledged_to >= end) {
            self.leave_recovery();
        }
        if self.rs.delivered > 0.0 {
            self.update_latest_delivery_signals();
            self.update_congestion_signals();
            self.update_ack_aggregation(cx.now);
            self.check_full_bw_reached();
        }
        self.check_startup_done();
        self.check_drain_done(cx);
        if self.rs.delivered > 0.0 {
            self.update_probe_bw_cycle_phase(cx);
        }
        self.update_min_rtt(cx.now);
        self.check_probe_rtt(cx);
        self.advance_latest_delivery_signals();
        self.set_pacing_rate(ack.smoothed_rtt);
        self.set_cwnd();
    }
}

impl Controller for Bbr3 {
    fn wants(&self) -> Wants {
        Wants { transmit_start: true, segments: Reports::Lost, governs_recovery: true, ..Wants::default() }
    }

    fn on_start(&mut self, cx: &mut Context<'_>) {
        self.segment = cx.segment_size.get().max(1) as f64;
        self.initial_cwnd = cx.initial_window.max(1.0);
        self.cwnd = self.initial_cwnd;
        (self.min_rtt_stamp, self.probe_rtt_min_stamp, self.extra_acked_start) = (cx.now, cx.now, cx.now);
        self.init_pacing_rate(Span::from_millis(1));
    }

    fn on_handshake(&mut self, _cx: &mut Context<'_>, rtt: Span) {
        self.min_rtt = rtt;
        self.has_seen_rtt = true;
        self.init_pacing_rate(rtt);
    }

    fn on_transmit_start(&mut self, cx: &mut Context<'_>, _idle: Span) {
        self.restart_from_idle(cx);
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
        self.cwnd
    }

    fn slow_start_threshold(&self) -> f64 {
        f64::INFINITY
    }

    fn pacing_rate(&self) -> Option<Rate> {
        Some(Rate::from_bits_per_second(((self.pacing_rate * self.segment * 8.0) as u64).max(1)))
    }

    fn send_quantum(&self) -> u32 {
        self.quantum() as u32
    }

    fn probe(&self, out: &mut dyn Probe) {
        let bound = |value: f64| if value.is_finite() { value } else { 0.0 };
        let known = self.min_rtt != Span::MAX;
        out.value("state", f64::from(self.state as u8));
        out.value("max_bw", self.model.max_bw());
        out.value("bw", self.model.bw());
        out.value("min_rtt_ms", if known { self.min_rtt.as_millis_f64() } else { 0.0 });
        out.value("inflight_longterm", bound(self.model.inflight_longterm));
        out.value("inflight_shortterm", bound(self.model.inflight_shortterm));
        out.value("extra_acked", self.extra_acked.get() as f64);
        out.value("round", self.model.round_count as f64);
        out.value("full_bw_reached", f64::from(u8::from(self.full_bw_reached)));
    }
}
