//! BBR, version 1, as Linux 6 has it (`tcp_bbr.c`; Cardwell, Cheng, Gunn, Yeganeh and Jacobson, "BBR:
//! congestion-based congestion control", ACM Queue 14(5), 2016; draft-cardwell-iccrg-bbr-congestion-control-00).
//!
//! BBR estimates the bandwidth of the bottleneck, the largest delivery rate of ten round trips, and the smallest RTT of
//! ten seconds. It sends at the bandwidth, in cycles a little faster and slower, and keeps at most twice the product of
//! the two in flight. A loss is no sign of congestion for it.
//!
//! | `tcp_bbr.c` | here |
//! | --- | --- |
//! | BBR.BtlBw, `bbr_update_bw`; the filter | `Bbr1::update_bandwidth` in `model.rs`; `WindowedMax` |
//! | a policer's rate, `bbr_lt_bw_sampling` | `policer.rs` |
//! | trains of ACKs, `bbr_update_ack_aggregation` | `aggregation.rs` |
//! | gains in ProbeBW, `bbr_update_cycle_phase` | `Bbr1::update_cycle` |
//! | the pipe is full, `bbr_check_full_bw_reached`; Drain | `Bbr1::check_full`, `Bbr1::check_drain` |
//! | RTprop and ProbeRTT, `bbr_update_min_rtt` | `Bbr1::update_min_rtt` |
//! | pacing rate less 1 %, `bbr_set_pacing_rate` | `Bbr1::set_pacing_rate` |
//! | window, packet conservation, `bbr_set_cwnd` | `window.rs` |
//!
//! Bandwidths are in 2^-24 segments a microsecond, gains in 1/256 and RTTs in whole microseconds, so that all rounds as
//! in Linux. Differences from `tcp_bbr.c`, `tcp_rate.c` and their callers in `tcp_input.c` and `tcp_output.c`:
//! - In recovery Linux takes a loss before the ACK that shows it, here after it. The window is the same.
//! - Marks (ECN) change nothing. In Linux they renew the window that is put back after recovery.
//! - Losses that a timer shows within a recovery count with the next ACK, in Linux with none.
//! - After a timeout the segments still in flight (RACK) come on top of the window during the repair. In Linux the
//!   window begins with them.
//! - Any RTT replaces an expired smallest one. In Linux the RTT of a lone segment that is not full does not
//!   (`is_ack_delayed`). The smallest RTT of ten seconds sizes trains, in Linux the one of 300 s, which matters below 3
//!   ms.
//! - An empty flight when sending begins counts as limited by the application, in Linux only if it was.

mod aggregation;
mod model;
mod policer;
#[cfg(test)]
mod tests;
mod window;

use units::{Rate, Span, Time};

use self::aggregation::Aggregation;
use self::policer::{Count, Policer};
use self::window::Repair;
use crate::entry::{Aim, Entry, Quantity};
use crate::parameters::parameters;
use crate::parts::linux::{self, micros};
use crate::parts::windowed_max::WindowedMax;
use crate::range::from;
use crate::{Ack, Context, Controller, Loss, Probe, TransmitStart, Wants};

/// The entry of BBR version 1 in the registry.
pub const ENTRY: Entry = Entry {
    name: "bbr1",
    title: "BBR version 1",
    summary: "Sends at the largest delivery rate seen, with twice the bandwidth-delay product in flight at most",
    source: "Cardwell et al. 2016, Linux 6",
    aim: Aim::General,
    parameters: Settings::PARAMETERS,
    probes: &[
        Quantity::new("mode", "", "1 Startup, 2 Drain, 3 ProbeBW, 4 ProbeRTT"),
        Quantity::new("bandwidth", "segments/s", "The largest delivery rate, or that of a policer"),
        Quantity::new("min_rtt_ms", "ms", "Smallest RTT; 0 before the first sample"),
        Quantity::new("pacing_gain", "", "Pacing rate over bandwidth"),
        Quantity::new("window_gain", "", "Window over bandwidth-delay product"),
        Quantity::new("round", "round trips", "Round trips since the start"),
        Quantity::new("extra_acked", "segments", "How far trains of ACKs run ahead of the bandwidth"),
        Quantity::new("policed", "", "1 while the bandwidth is that of a policer"),
        Quantity::new("prior_window", "segments", "The window that recovery and ProbeRTT put back"),
    ],
    make: |given| Ok(Box::new(Bbr1::new(Settings::read(given)?))),
};

/// Bandwidths are whole numbers of this part of a segment a microsecond (`BW_UNIT`).
const BANDWIDTH_UNIT: u64 = 1 << 24;
/// Gains are whole numbers of this part (`BBR_UNIT`).
const GAIN_UNIT: u64 = 256;
/// Phases of a cycle in ProbeBW: one above, one below, six at the bandwidth.
const CYCLE: usize = CYCLE_GAINS.len();
/// So many segments leave unpaced at the start (tcp_update_skb_after_send).
const UNPACED: u32 = 10;
/// The RTT that is assumed before the first sample.
const NOMINAL_RTT_MICROS: u64 = 1000;

/// Gains in 1/256, rounded as in Linux: of pacing and window in Startup (`bbr_high_gain`, 2/ln 2), and its inverse in
/// Drain.
const STARTUP_GAIN: u64 = GAIN_UNIT * 2885 / 1000 + 1;
const DRAIN_GAIN: u64 = GAIN_UNIT * 1000 / 2885;
/// Of the window in ProbeBW (`bbr_cwnd_gain`).
const WINDOW_GAIN: u64 = 2 * GAIN_UNIT;
/// Of pacing in the phases of ProbeBW (`bbr_pacing_gain`): one looks for more, one empties the queue.
const CYCLE_GAINS: [u64; 8] =
    [GAIN_UNIT * 5 / 4, GAIN_UNIT * 3 / 4, GAIN_UNIT, GAIN_UNIT, GAIN_UNIT, GAIN_UNIT, GAIN_UNIT, GAIN_UNIT];
/// The bandwidth is the largest delivery rate of so many round trips (`bbr_bw_rtts`: two more than a cycle has).
const BANDWIDTH_WINDOW: u64 = CYCLE as u64 + 2;
/// The smallest RTT is renewed when it is older (`bbr_min_rtt_win_sec`).
const MIN_RTT_WINDOW: Span = Span::from_secs(10);
/// ProbeRTT takes at least so long (`bbr_probe_rtt_mode_ms`).
const PROBE_RTT_TIME: Span = Span::from_millis(200);
/// Least window, also the window in ProbeRTT (`bbr_cwnd_min_target`).
const MIN_WINDOW: u32 = 4;
/// Growth of the bandwidth in a round trip below which the pipe may be full, in 1/256 (`bbr_full_bw_thresh`).
const FULL_GROWTH: u64 = GAIN_UNIT * 5 / 4;
/// After so many of these round trips it is (`bbr_full_bw_cnt`).
const FULL_ROUNDS: u32 = 3;
/// Microseconds of a second, less the margin by which pacing stays below the bandwidth (`bbr_pacing_margin_percent`).
const PACED_MICROS: u128 = 990_000;
/// Trains of ACKs count for so many round trips, at most twice (`bbr_extra_acked_win_rtts`).
const EXTRA_ACKED_WINDOW: u32 = 5;

parameters! {
    /// The parameters.
    pub struct Settings {
        /// Waits for ProbeRTT, and within it, end with the ticks of a clock of this rate
        hz: u32 = linux::HZ, unit "ticks per second", range from(100).up_to(1000), source "Linux, CONFIG_HZ";
        /// Look for policers, whose rate then is the bandwidth
        policers: bool = true, source "Linux, bbr_lt_bw_sampling";
    }
}

/// The state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Mode {
    Startup = 1,
    Drain = 2,
    ProbeBandwidth = 3,
    ProbeRtt = 4,
}

/// The controller.
#[derive(Clone, Copy, Debug)]
pub struct Bbr1 {
    settings: Settings,
    /// Payload of a segment, bytes.
    segment: u64,
    /// Pacing rate, bytes per second.
    rate: u64,
    /// Segments of a train at this rate: as counted for the window, and as it leaves.
    burst: u32,
    train: u32,
    /// The rate and the smallest RTT that these two are for.
    sized_for: (u64, Span),
    has_seen_rtt: bool,
    window: u32,
    threshold: f64,
    mode: Mode,
    pacing_gain: u64,
    window_gain: u64,
    // The bandwidth.
    bandwidths: WindowedMax,
    round: u64,
    round_start: bool,
    /// A round trip ends with the delivery of a segment that left when so many were delivered.
    next_round: u64,
    delivered_at: Time,
    policer: Policer,
    aggregation: Aggregation,
    // Startup.
    full: bool,
    full_bandwidth: u64,
    full_count: u32,
    // ProbeBW.
    cycle: usize,
    cycle_start: Time,
    // ProbeRTT.
    min_rtt: Span,
    min_rtt_at: Time,
    /// From when on few segments were in flight.
    probe_rtt_since: Option<Time>,
    probe_rtt_round_done: bool,
    /// The range of delivered counts in the last ProbeRTT. Segments that left at these counts do not show the
    /// bandwidth.
    held_back: (u64, u64),
    idle_restart: bool,
    lost: u64,
    repair: Repair,
}

impl Bbr1 {
    /// A controller with `settings`.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            segment: 1,
            rate: 0,
            burst: 1,
            train: 1,
            sized_for: (0, Span::ZERO),
            has_seen_rtt: false,
            window: 1,
            threshold: f64::INFINITY,
            mode: Mode::Startup,
            pacing_gain: STARTUP_GAIN,
            window_gain: STARTUP_GAIN,
            bandwidths: WindowedMax::default(),
            round: 0,
            round_start: false,
            next_round: 0,
            delivered_at: Time::ZERO,
            policer: Policer::default(),
            aggregation: Aggregation::new(),
            full: false,
            full_bandwidth: 0,
            full_count: 0,
            cycle: 0,
            cycle_start: Time::ZERO,
            min_rtt: Span::MAX,
            min_rtt_at: Time::ZERO,
            probe_rtt_since: None,
            probe_rtt_round_done: false,
            held_back: (u64::MAX, 0),
            idle_restart: false,
            lost: 0,
            repair: Repair::default(),
        }
    }

    fn bandwidth(&self) -> u64 {
        self.policer.bandwidth().unwrap_or(self.bandwidths.get())
    }

    /// Updates model and state, then rate and window, on an ACK (`bbr_main`).
    fn control(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        let losses = ack.lost.saturating_sub(self.lost) as u32;
        self.lost = ack.lost;
        if ack.newly_delivered > 0 {
            self.delivered_at = cx.now;
        }
        self.update_bandwidth(cx, ack, losses);
        self.update_cycle(cx, ack, losses);
        self.check_full(ack);
        self.check_drain(cx, ack);
        self.update_min_rtt(cx, ack);
        self.set_gains();
        self.set_pacing_rate(self.bandwidth(), self.pacing_gain, ack.smoothed_rtt);
        self.set_window(cx.now, ack, losses);
    }

    fn set_gains(&mut self) {
        (self.pacing_gain, self.window_gain) = match self.mode {
            Mode::Startup => (STARTUP_GAIN, STARTUP_GAIN),
            Mode::Drain => (DRAIN_GAIN, STARTUP_GAIN),
            Mode::ProbeBandwidth if self.policer.bandwidth().is_some() => (GAIN_UNIT, WINDOW_GAIN),
            Mode::ProbeBandwidth => (CYCLE_GAINS[self.cycle], WINDOW_GAIN),
            Mode::ProbeRtt => (GAIN_UNIT, GAIN_UNIT),
        };
    }

    fn pace(&self, bandwidth: u64, gain: u64) -> u64 {
        bytes_per_second(bandwidth, gain, self.segment)
    }

    /// Until the pipe is full the rate only rises.
    fn set_pacing_rate(&mut self, bandwidth: u64, gain: u64, smoothed_rtt: Span) {
        if !self.has_seen_rtt && !smoothed_rtt.is_zero() {
            self.has_seen_rtt = true;
            self.pace_initially(micros(smoothed_rtt).max(1));
        }
        let rate = self.pace(bandwidth, gain);
        if self.full || rate > self.rate {
            self.rate = rate;
        }
        self.size_trains();
    }

    /// The rate that sends the window in a round trip of `rtt` microseconds, with the gain of Startup.
    fn pace_initially(&mut self, rtt: u64) {
        self.rate = self.pace(u64::from(self.window) * BANDWIDTH_UNIT / rtt, STARTUP_GAIN);
        self.size_trains();
    }
}

/// `bandwidth` with `gain` and less the margin, for segments of `segment` bytes.
fn bytes_per_second(bandwidth: u64, gain: u64, segment: u64) -> u64 {
    let bytes = u128::from(bandwidth) * u128::from(segment) * u128::from(gain) / u128::from(GAIN_UNIT) * PACED_MICROS;
    (bytes / u128::from(BANDWIDTH_UNIT)) as u64
}

fn micros_between(start: Time, end: Time) -> u64 {
    micros(end.since(start))
}

impl Controller for Bbr1 {
    fn wants(&self) -> Wants {
        Wants { transmit_start: true, governs_marks: true, governs_recovery: true, ..Wants::default() }
    }

    fn on_start(&mut self, cx: &mut Context<'_>) {
        self.segment = cx.segment_size.get().max(1);
        self.window = (cx.initial_window as u32).max(1);
        self.min_rtt_at = cx.now;
        self.aggregation.restart(cx.now);
        self.pace_initially(NOMINAL_RTT_MICROS);
    }

    fn on_handshake(&mut self, _cx: &mut Context<'_>, rtt: Span) {
        self.min_rtt = rtt;
        self.has_seen_rtt = true;
        self.pace_initially(micros(rtt).max(1));
    }

    /// A pause that pacing made is no idle time: the gain of the cycle stays.
    fn on_transmit_start(&mut self, cx: &mut Context<'_>, start: &TransmitStart) {
        if !start.application_limited {
            return;
        }
        self.idle_restart = true;
        self.aggregation.restart(cx.now);
        match self.mode {
            Mode::ProbeBandwidth => self.set_pacing_rate(self.bandwidth(), GAIN_UNIT, Span::ZERO),
            Mode::ProbeRtt => self.check_probe_rtt_done(cx),
            Mode::Startup | Mode::Drain => {}
        }
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.control(cx, ack);
    }

    fn on_duplicate_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.control(cx, ack);
    }

    fn on_loss(&mut self, cx: &mut Context<'_>, loss: &Loss) {
        self.enter_recovery(cx.now, loss);
    }

    fn on_recovered(&mut self, _cx: &mut Context<'_>) {
        self.leave_repair();
    }

    fn on_timeout(&mut self, cx: &mut Context<'_>, loss: &Loss) {
        self.enter_loss(loss);
        self.lost += u64::from(loss.newly_lost);
        self.full_bandwidth = 0;
        // The end of a round trip, of which something was lost.
        self.round_start = true;
        self.look_for_policer(cx, self.repair.delivered, true, false);
    }

    fn on_spurious(&mut self, _cx: &mut Context<'_>) {
        self.full_bandwidth = 0;
        self.full_count = 0;
        let (delivered, delivered_at, lost) = (self.repair.delivered, self.delivered_at, self.lost);
        let [loses, round_start, application_limited] = [false; 3];
        self.policer.reset(&Count { delivered, delivered_at, lost, loses, round_start, application_limited });
        self.leave_repair();
    }

    fn on_idle_restart(&mut self, _cx: &mut Context<'_>) {}

    fn window(&self) -> f64 {
        self.window.into()
    }

    fn slow_start_threshold(&self) -> f64 {
        self.threshold
    }

    fn pacing_rate(&self) -> Option<Rate> {
        Some(Rate::from_bits_per_second(self.rate.saturating_mul(8).max(1)))
    }

    /// The first segments leave as fast as the sender can, as they do not yet count for its pacing. Later trains take
    /// no more than half the window (tcp_cwnd_test).
    fn send_quantum(&self) -> u32 {
        if self.repair.delivered == 0 { UNPACED } else { self.train.min((self.window / 2).max(1)) }
    }

    fn probe(&self, out: &mut dyn Probe) {
        let gain = |gain: u64| gain as f64 / GAIN_UNIT as f64;
        let known = self.min_rtt != Span::MAX;
        out.value("mode", f64::from(self.mode as u8));
        out.value("bandwidth", self.bandwidth() as f64 * 1e6 / BANDWIDTH_UNIT as f64);
        out.value("min_rtt_ms", if known { self.min_rtt.as_millis_f64() } else { 0.0 });
        out.value("pacing_gain", gain(self.pacing_gain));
        out.value("window_gain", gain(self.window_gain));
        out.value("round", self.round as f64);
        out.value("extra_acked", self.aggregation.extra() as f64);
        out.value("policed", f64::from(u8::from(self.policer.bandwidth().is_some())));
        out.value("prior_window", self.repair.prior_window.into());
    }
}
