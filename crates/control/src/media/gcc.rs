//! GCC, Google Congestion Control, the controller of WebRTC (draft-ietf-rmcat-gcc-02).
//!
//! | section | here |
//! | --- | --- |
//! | 5.1 to 5.4 arrival-time model, filter, over-use detector | `detector` |
//! | 5.5 rate control by the delay | [`Gcc::control`] |
//! | 6 loss-based control | [`Gcc::count_losses`] |
//!
//! The target is the smaller of both rates. libwebrtc has replaced the Kalman filter of the draft by a trendline since
//! 2016: `filter` chooses. Two details of 5.5 are open in the draft and follow libwebrtc: the deviation of the
//! convergence rate, and a decrease that would raise the rate is none. The draft says nothing about feedback that
//! fails: each timeout halves the rate, as in RFC 5348, section 4.4.

mod detector;
#[cfg(test)]
mod tests;

use units::{Rate, Span, Time};

use self::detector::{Detector, Signal};
use super::WITHOUT_LIMIT;
use super::received::ReceivedRate;
use crate::entry::{Aim, Entry, Quantity};
use crate::parameters::{choices, parameters};
use crate::range::{above, from};
use crate::{Ack, Context, Controller, Loss, Probe, Reports, SegmentReport, Wants};

/// The entry of GCC in the registry.
pub const ENTRY: Entry = Entry {
    name: "gcc",
    title: "GCC",
    summary: "An encoder's rate by the trend of the one-way delay, and by losses above a tenth",
    source: "draft-ietf-rmcat-gcc-02",
    aim: Aim::Delay,
    parameters: Settings::PARAMETERS,
    probes: &[
        Quantity::new("target_rate_bps", "bit/s", "The target of the encoder: the smaller of both rates"),
        Quantity::new("delay_rate_bps", "bit/s", "The rate by the delay, A_hat"),
        Quantity::new("loss_rate_bps", "bit/s", "The rate by losses, As_hat"),
        Quantity::new("received_rate_bps", "bit/s", "The rate of arrivals over the window, R_hat"),
        Quantity::new("offset_ms", "ms", "The output of the filter, m(i)"),
        Quantity::new("threshold_ms", "ms", "The threshold of the detector, del_var_th"),
        Quantity::new("state", "", "0 hold, 1 increase, 2 decrease"),
    ],
    make: |given| Ok(Box::new(Gcc::new(Settings::read(given)?))),
};

choices! {
    /// The filter of the delay variation.
    pub enum Filter {
        /// The slope of the accumulated variation, as in libwebrtc.
        Trendline = Word("trendline"),
        /// The Kalman filter of the draft.
        Kalman = Word("kalman"),
    }
}

parameters! {
    /// The parameters.
    pub struct Settings {
        /// Filter of the delay variation, with its gains of the threshold
        filter: Filter = Filter::Trendline, source "libwebrtc, TrendlineEstimator; section 5.3";
        /// Rate at the start
        start_rate: Rate = Rate::from_bits_per_second(300_000), unit "rate",
            range from(Rate::from_bits_per_second(1000)).up_to(Rate::from_mbit(10_000)),
            source "libwebrtc, kDefaultStartBitrate";
        /// Packets that leave within this time are a group
        burst_time: Span = Span::from_millis(5), unit "time",
            range from(Span::ZERO).up_to(Span::from_secs(1)), source "section 5.2, burst_time";
        /// Time above the threshold before over-use is signalled
        overuse_time: Span = Span::from_millis(10), unit "time",
            range from(Span::ZERO).up_to(Span::from_secs(1)), source "section 5.4, overuse_time_th";
        /// Share of the received rate that a decrease leaves
        beta: f64 = 0.85, range above(0.0).below(1.0), source "section 5.5, beta";
        /// Growth in a second, far from convergence
        eta: f64 = 1.08, range above(1.0).up_to(4.0), source "section 5.5, eta";
        /// Time over which the received rate is measured
        window: Span = Span::from_millis(500), unit "time",
            range from(Span::from_millis(10)).up_to(Span::from_secs(10)), source "section 5.5, T from 0.5 to 1 s";
        /// Share of losses below which the rate by losses grows
        low_loss: f64 = 0.02, range from(0.0).up_to(1.0), source "section 6";
        /// Share of losses above which it falls
        high_loss: f64 = 0.1, range from(0.0).up_to(1.0), source "section 6";
    }
}

/// A rate by losses grows by this factor.
const LOSS_GROWTH: f64 = 1.05;
/// So many packets make a share of losses (libwebrtc, `kLimitNumPackets`).
const LOSS_PACKETS: u64 = 20;
/// No rate is below this (libwebrtc, `kCongestionControllerMinBitrate`).
const LEAST: f64 = 5_000.0;
/// Weight of the old mean rate at decreases (section 5.5).
const MEMORY: f64 = 0.95;
/// The variance of these rates over their mean, in kbit/s: at first and at least, and at most (libwebrtc,
/// `LinkCapacityEstimator`).
const DEVIATIONS: [f64; 2] = [0.4, 2.5];

/// The state of the rate control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Hold = 0,
    Increase = 1,
    Decrease = 2,
}

/// The mean of the received rates at decreases, in kbit/s, and their variance over it.
#[derive(Clone, Copy, Debug)]
struct Convergence {
    mean: f64,
    variance: f64,
}

impl Convergence {
    /// Three standard deviations, in bits a second.
    fn band(self) -> f64 {
        3000.0 * (self.variance * self.mean).sqrt()
    }
}

/// The controller.
#[derive(Clone, Debug)]
pub struct Gcc {
    settings: Settings,
    detector: Detector,
    state: State,
    /// Bits a second: A_hat, As_hat.
    delay_rate: f64,
    loss_rate: f64,
    received: ReceivedRate,
    convergence: Option<Convergence>,
    updated_at: Time,
    /// Packets of which the fate has come to be known since the rate by losses was set, and how many were lost.
    counted: u64,
    lost: u64,
}

impl Gcc {
    /// A controller with `settings`.
    pub fn new(settings: Settings) -> Self {
        let rate = settings.start_rate.bits_per_second() as f64;
        Self {
            settings,
            detector: Detector::new(settings.filter, settings.burst_time, settings.overuse_time),
            state: State::Increase,
            delay_rate: rate,
            loss_rate: rate,
            received: ReceivedRate::new(settings.window),
            convergence: None,
            updated_at: Time::ZERO,
            counted: 0,
            lost: 0,
        }
    }

    fn target(&self) -> f64 {
        self.delay_rate.min(self.loss_rate)
    }

    /// Section 5.5: the state by the signal, and the rate by the state, `elapsed` seconds after the last time.
    fn control(&mut self, elapsed: f64, rtt: Span) {
        self.state = match (self.detector.signal, self.state) {
            (Signal::Overuse, _) => State::Decrease,
            (Signal::Underuse, _) | (Signal::Normal, State::Decrease) => State::Hold,
            (Signal::Normal, _) => State::Increase,
        };
        let received = self.received.rate();
        match self.state {
            State::Hold => {}
            State::Increase => self.increase(elapsed, rtt, received),
            State::Decrease => {
                let received = received.unwrap_or(self.delay_rate);
                self.delay_rate = self.delay_rate.min(self.settings.beta * received).max(LEAST);
                self.converge(received);
            }
        }
    }

    fn increase(&mut self, elapsed: f64, rtt: Span, received: Option<f64>) {
        let far = |convergence: Convergence| {
            received.is_some_and(|rate| rate > 1000.0 * convergence.mean + convergence.band())
        };
        if self.convergence.is_some_and(far) {
            self.convergence = None;
        }
        let before = self.delay_rate;
        let grown = if self.convergence.is_some() {
            // alpha = 0.5 min(t / response time, 1), of a packet.
            let response = 0.1 + rtt.as_secs_f64();
            let frame = before / 30.0;
            let packet = frame / (frame / (1200.0 * 8.0)).ceil();
            before + (0.5 * (elapsed / response).min(1.0) * packet).max(1000.0)
        } else {
            before * libm::pow(self.settings.eta, elapsed.min(1.0))
        };
        // A rate above what has arrived does not fall for that.
        let limit = received.map_or(f64::INFINITY, |rate| 1.5 * rate);
        self.delay_rate = grown.min(limit).max(before);
    }

    /// The rate at a decrease is a sign of the capacity.
    fn converge(&mut self, received: f64) {
        let rate = received / 1000.0;
        let [least, most] = DEVIATIONS;
        let known = self.convergence.filter(|known| received >= 1000.0 * known.mean - known.band());
        self.convergence = Some(known.map_or(Convergence { mean: rate, variance: least }, |known| {
            let mean = MEMORY * known.mean + (1.0 - MEMORY) * rate;
            let deviation = (mean - rate) * (mean - rate) / mean.max(1.0);
            let variance = MEMORY * known.variance + (1.0 - MEMORY) * deviation;
            Convergence { mean, variance: variance.clamp(least, most) }
        }));
    }

    /// Section 6: the rate by losses, once enough packets were counted.
    fn count_losses(&mut self) {
        if self.counted < LOSS_PACKETS {
            return;
        }
        let share = self.lost as f64 / self.counted as f64;
        (self.counted, self.lost) = (0, 0);
        if share > self.settings.high_loss {
            self.loss_rate *= 1.0 - 0.5 * share;
        } else if share < self.settings.low_loss {
            self.loss_rate *= LOSS_GROWTH;
        }
        self.loss_rate = self.loss_rate.max(LEAST);
    }
}

impl Controller for Gcc {
    fn wants(&self) -> Wants {
        Wants { segments: Reports::All, ..Wants::default() }
    }

    fn on_start(&mut self, cx: &mut Context<'_>) {
        self.updated_at = cx.now;
    }

    fn on_segment_delivered(&mut self, _cx: &mut Context<'_>, segment: &SegmentReport) {
        self.counted += 1;
        let (Some(delay), Some(payload)) = (segment.one_way_delay, segment.payload) else { return };
        let arrived = segment.sent.at + delay;
        self.received.note(arrived, payload.get() as f64 * 8.0);
        self.detector.on_packet(segment.sent.at, arrived);
    }

    fn on_segment_lost(&mut self, _cx: &mut Context<'_>, _segment: &SegmentReport) {
        self.counted += 1;
        self.lost += 1;
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        let elapsed = cx.now.since(self.updated_at).as_secs_f64();
        self.updated_at = cx.now;
        self.control(elapsed, ack.smoothed_rtt);
        self.count_losses();
        // The sender cannot tell what a rate above the target would lose.
        self.loss_rate = self.loss_rate.min(self.delay_rate.max(LEAST));
    }

    fn on_loss(&mut self, _cx: &mut Context<'_>, _loss: &Loss) {}

    fn on_timeout(&mut self, _cx: &mut Context<'_>, _loss: &Loss) {
        self.delay_rate = (0.5 * self.target()).max(LEAST);
        self.loss_rate = self.delay_rate;
    }

    fn on_idle_restart(&mut self, _cx: &mut Context<'_>) {}

    fn window(&self) -> f64 {
        WITHOUT_LIMIT
    }

    fn slow_start_threshold(&self) -> f64 {
        f64::INFINITY
    }

    fn pacing_rate(&self) -> Option<Rate> {
        Some(Rate::from_bits_per_second(self.target() as u64))
    }

    fn probe(&self, out: &mut dyn Probe) {
        out.value("target_rate_bps", self.target());
        out.value("delay_rate_bps", self.delay_rate);
        out.value("loss_rate_bps", self.loss_rate);
        out.value("received_rate_bps", self.received.rate().unwrap_or(0.0));
        out.value("offset_ms", self.detector.offset);
        out.value("threshold_ms", self.detector.threshold);
        out.value("state", f64::from(self.state as u8));
    }
}
