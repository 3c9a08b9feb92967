//! SCReAM version 2, Self-Clocked Rate Adaptation for Multimedia (draft-ietf-ccwg-rfc8298bis-screamv2).
//!
//! | section | here |
//! | --- | --- |
//! | 4.2.1.3 share of marks, L4S | [`Scream::update_alpha`] |
//! | 4.2.1.4 increased queue delay | [`Scream::update_queue`] |
//! | 4.2.2.1 reference window reduction | [`Scream::reduce`] |
//! | 4.2.2.2 reference window increase | [`Scream::increase`] |
//! | 4.3.1 send window | [`Controller::window`] |
//! | 4.4 media rate control | [`Scream::target`] |
//!
//! The reference window is in bytes of media. Bytes in flight are the outstanding packets times the mean size of those
//! that the feedback reports. The optional parts are left out: the reduction of jitter, rate policers, undershoot, and
//! the compensation for competing flows. So are both corrections of the target by the queue and the frames of the
//! encoder, which the draft suggests as examples. A timeout of feedback, which the draft leaves open, counts as a loss.

#[cfg(test)]
mod tests;

use units::{Rate, Span, Time};

use super::WITHOUT_LIMIT;
use crate::entry::{Aim, Entry, Quantity};
use crate::parameters::parameters;
use crate::range::{above, from};
use crate::{Ack, Context, Controller, Loss, Probe, Reports, SegmentReport, Wants};

/// The entry of SCReAM in the registry.
pub const ENTRY: Entry = Entry {
    name: "scream",
    title: "SCReAM",
    summary: "A reference window by queue delay, losses and the share of marks, over the RTT the rate of an encoder",
    source: "draft-ietf-ccwg-rfc8298bis-screamv2",
    aim: Aim::Delay,
    parameters: Settings::PARAMETERS,
    probes: &[
        Quantity::new("target_rate_bps", "bit/s", "The target of the encoder"),
        Quantity::new("reference_window_bytes", "bytes", "The reference window, ref_wnd"),
        Quantity::new("inflection_bytes", "bytes", "The reference window at the last congestion, ref_wnd_i"),
        Quantity::new("queue_ms", "ms", "The queue delay, qdelay"),
        Quantity::new("mean_queue_ms", "ms", "Its average, qdelay_avg"),
        Quantity::new("alpha", "", "The average share of marked packets, l4s_alpha"),
    ],
    make: |given| Ok(Box::new(Scream::new(Settings::read(given)?))),
};

parameters! {
    /// The parameters.
    pub struct Settings {
        /// Marks are of L4S: packets leave with ECT(1), and the reduction follows the share of marks
        l4s: bool = false, source "section 4.2.2, IS_L4S";
        /// Queue delay at which the window halves; the reduction begins at half of it
        queue_target: Span = Span::from_millis(60), unit "time",
            range from(Span::from_millis(1)).up_to(Span::from_secs(1)), source "section 4.2.2, QDELAY_TARGET_LO";
        /// Smallest reference window
        min_window: f64 = 3000.0, unit "bytes",
            range from(1.0).up_to(1e6), source "section 4.2.2, MIN_REF_WND";
        /// Share of the window left by a loss
        beta_loss: f64 = 0.7, range above(0.0).below(1.0), source "section 4.2.2, BETA_LOSS";
        /// Share of the window left by a mark of classic ECN
        beta_ecn: f64 = 0.8, range above(0.0).below(1.0), source "section 4.2.2, BETA_ECN";
        /// Growth in an RTT as a share of the window, long after congestion
        growth: f64 = 0.02, range from(0.0).up_to(1.0), source "section 4.2.2, MUL_INCREASE_FACTOR";
        /// RTT below which flows share as if they had it
        virtual_rtt: Span = Span::from_millis(25), unit "time",
            range from(Span::from_millis(1)).up_to(Span::from_secs(1)), source "section 4.2.2, VIRTUAL_RTT";
    }
}

/// Weights of a rising and of a falling share of marks, and the longest time between its updates (section 4.2.1.3).
const ALPHA_UP: f64 = 1.0 / 8.0;
const ALPHA_DOWN: f64 = 1.0 / 128.0;
const ALPHA_INTERVAL: f64 = 0.01;
/// Weight of a queue delay above its average (section 4.2.1.4, QDELAY_AVG_G).
const QUEUE_WEIGHT: f64 = 1.0 / 4.0;
/// RTTs after congestion until the growth is not restrained (section 4.2.2, POST_CONGESTION_DELAY_RTT).
const CAUTIOUS_RTTS: f64 = 100.0;
/// The window grows up to this multiple of the bytes in flight (section 4.2.2, BYTES_IN_FLIGHT_HEAD_ROOM).
const HEADROOM: f64 = 1.5;
/// Bytes in flight may be this multiple of the window (section 4.3.1, REF_WND_OVERHEAD_MAX).
const OVERHEAD: f64 = 3.0;
/// Headers that the target leaves room for, and the share by which it stays below the rate of the window (section 4.4).
const PACKET_OVERHEAD: f64 = 20.0;
const BELOW: f64 = 1.2;

/// A sign of congestion.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Congestion {
    Loss,
    Mark,
    /// The share by which the average queue delay is beyond half the target, l4s_alpha_v.
    Queue(f64),
}

/// The controller.
#[derive(Clone, Debug)]
pub struct Scream {
    settings: Settings,
    /// ref_wnd and ref_wnd_i in bytes, and whether the latter follows the next congestion.
    window: f64,
    inflection: f64,
    inflection_due: bool,
    /// s_rtt in seconds, 0 before the first sample.
    rtt: f64,
    segment: f64,
    /// Bytes and packets since the last feedback, of them the marked ones.
    acked: f64,
    acked_marked: f64,
    packets: f64,
    /// A loss or a mark since the last reaction to congestion.
    lost: bool,
    marked: bool,
    /// The share of marks, its last update, and packets since that, of them the marked ones.
    alpha: f64,
    alpha_at: Time,
    counted: f64,
    counted_marked: f64,
    /// The smallest delay, the queue delay, its average and the last update of that, in seconds.
    base: f64,
    queue: f64,
    mean_queue: f64,
    queue_at: Time,
    /// The most bytes in flight in this round trip and in the last one, and when this one began.
    flight: [f64; 2],
    round_at: Time,
    /// The last congestion, and the last reaction to one.
    detected_at: Time,
    reacted_at: Time,
}

/// Seconds from `earlier` to `now`.
fn seconds(now: Time, earlier: Time) -> f64 {
    now.since(earlier).as_secs_f64()
}

impl Scream {
    /// A controller with `settings`.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            window: settings.min_window,
            inflection: 1.0,
            inflection_due: true,
            rtt: 0.0,
            segment: 1000.0,
            acked: 0.0,
            acked_marked: 0.0,
            packets: 0.0,
            lost: false,
            marked: false,
            alpha: 0.0,
            alpha_at: Time::ZERO,
            counted: 0.0,
            counted_marked: 0.0,
            base: f64::INFINITY,
            queue: 0.0,
            mean_queue: 0.0,
            queue_at: Time::ZERO,
            flight: [0.0; 2],
            round_at: Time::ZERO,
            detected_at: Time::ZERO,
            reacted_at: Time::ZERO,
        }
    }

    fn virtual_rtt(&self) -> f64 {
        self.settings.virtual_rtt.as_secs_f64()
    }

    /// The time in which the window falls at most once.
    fn interval(&self) -> f64 {
        self.virtual_rtt().min(self.rtt)
    }

    /// Section 4.2.1.3.
    fn update_alpha(&mut self, now: Time) {
        if seconds(now, self.alpha_at) < ALPHA_INTERVAL.min(self.rtt) || self.counted == 0.0 {
            return;
        }
        let share = self.counted_marked / self.counted;
        self.alpha = if share >= self.alpha {
            ALPHA_UP * share + (1.0 - ALPHA_UP) * self.alpha
        } else {
            (1.0 - ALPHA_DOWN) * self.alpha
        };
        self.alpha_at = now;
        (self.counted, self.counted_marked) = (0.0, 0.0);
    }

    /// Section 4.2.1.4.
    fn update_queue(&mut self, now: Time) {
        if seconds(now, self.queue_at) < self.interval() {
            return;
        }
        self.mean_queue = if self.queue < self.mean_queue {
            self.queue
        } else {
            QUEUE_WEIGHT * self.queue + (1.0 - QUEUE_WEIGHT) * self.mean_queue
        };
        self.queue_at = now;
    }

    /// Section 4.1.1: the most bytes in flight in a round trip.
    fn update_flight(&mut self, now: Time, bytes: f64) {
        if seconds(now, self.round_at) >= self.rtt {
            self.flight = [0.0, self.flight[0]];
            self.round_at = now;
        }
        self.flight[0] = self.flight[0].max(bytes);
    }

    /// Section 4.2.2.1, scl_t: how far the window is from its last inflection, from 0.1 to 1.
    fn distance(&self) -> f64 {
        let share = 8.0 * (self.window - self.inflection) / self.inflection;
        (share * share).clamp(0.1, 1.0)
    }

    /// The sign of congestion that counts now, if one does.
    fn congestion(&self, now: Time) -> Option<Congestion> {
        let half = self.settings.queue_target.as_secs_f64() / 2.0;
        if seconds(now, self.reacted_at) < self.interval() {
            None
        } else if self.lost {
            Some(Congestion::Loss)
        } else if self.marked {
            Some(Congestion::Mark)
        } else {
            (self.mean_queue > half).then(|| Congestion::Queue(((self.mean_queue - half) / half).min(1.0)))
        }
    }

    /// Section 4.2.2.1.
    fn reduce(&mut self, now: Time, distance: f64) {
        if self.lost || self.marked {
            self.detected_at = now;
        }
        let Some(congestion) = self.congestion(now) else { return };
        if std::mem::take(&mut self.inflection_due) {
            self.inflection = self.window;
        }
        // Reductions come each virtual RTT, and each shows its effect after an RTT.
        let often = (self.rtt / self.virtual_rtt()).max(1.0);
        let factor = match congestion {
            Congestion::Loss => self.settings.beta_loss,
            Congestion::Mark if self.settings.l4s => {
                let mut backoff = self.alpha / 2.0 / often;
                if self.queue < 0.25 * self.settings.queue_target.as_secs_f64() {
                    backoff *= distance.max(0.25);
                }
                if seconds(now, self.reacted_at) > CAUTIOUS_RTTS * self.rtt.max(self.virtual_rtt()) {
                    self.window = self.window.min(self.flight[1]);
                }
                1.0 - backoff
            }
            Congestion::Mark => self.settings.beta_ecn,
            Congestion::Queue(share) => 1.0 - share / 2.0 / often,
        };
        self.window = (factor * self.window).max(self.settings.min_window);
        (self.lost, self.marked) = (false, false);
        self.reacted_at = now;
    }

    /// Section 4.2.2.2.
    fn increase(&mut self, now: Time, distance: f64) {
        let cautious = seconds(now, self.detected_at) / (CAUTIOUS_RTTS * self.rtt.max(self.virtual_rtt()));
        let multiple = self.settings.growth * self.window / self.segment;
        let increment = (self.acked - self.acked_marked)
            * (self.segment / self.window).min(1.0)
            * (self.rtt / self.virtual_rtt()).min(1.0)
            * distance.max(0.25)
            * (1.0 + multiple * cautious.clamp(0.0, 1.0) * distance);
        let allowed = self.segment + HEADROOM * self.flight[0].max(self.flight[1]);
        if increment > 0.0 && self.window + increment <= allowed {
            self.window += increment;
            self.inflection_due = true;
        }
    }

    /// Section 4.4: bits a second, once there is an RTT.
    fn target(&self) -> Option<f64> {
        let small = ((self.segment / self.window).min(1.0) - 0.1).clamp(0.0, 0.2);
        let share = (1.0 - small) * self.segment / (self.segment + PACKET_OVERHEAD) / BELOW;
        (self.rtt > 0.0).then(|| share * 8.0 * self.window / self.rtt)
    }
}

impl Controller for Scream {
    fn wants(&self) -> Wants {
        Wants { segments: Reports::All, governs_marks: true, l4s: self.settings.l4s, ..Wants::default() }
    }

    fn on_segment_delivered(&mut self, _cx: &mut Context<'_>, segment: &SegmentReport) {
        let payload = segment.payload.map_or(0.0, |payload| payload.get() as f64);
        let marked = f64::from(u8::from(segment.marked));
        self.acked += payload;
        self.acked_marked += payload * marked;
        self.packets += 1.0;
        self.counted += 1.0;
        self.counted_marked += marked;
        self.marked |= segment.marked;
        if let Some(delay) = segment.one_way_delay {
            self.base = self.base.min(delay.as_secs_f64());
            self.queue = delay.as_secs_f64() - self.base;
        }
    }

    fn on_segment_lost(&mut self, _cx: &mut Context<'_>, segment: &SegmentReport) {
        // Section 4.1.2: lost packets below the highest that arrived count as acknowledged.
        self.acked += segment.payload.map_or(0.0, |payload| payload.get() as f64);
        self.packets += 1.0;
        self.lost = true;
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        let now = cx.now;
        self.segment = cx.segment_size.get() as f64;
        self.rtt = ack.smoothed_rtt.as_secs_f64();
        self.update_flight(now, f64::from(ack.in_flight_before) * self.acked / self.packets.max(1.0));
        self.update_alpha(now);
        self.update_queue(now);
        let distance = self.distance();
        self.reduce(now, distance);
        if !ack.application_limited {
            self.increase(now, distance);
        }
        (self.acked, self.acked_marked, self.packets) = (0.0, 0.0, 0.0);
    }

    fn on_loss(&mut self, _cx: &mut Context<'_>, _loss: &Loss) {}

    fn on_timeout(&mut self, cx: &mut Context<'_>, _loss: &Loss) {
        self.lost = true;
        let distance = self.distance();
        self.reduce(cx.now, distance);
        (self.acked, self.acked_marked, self.packets) = (0.0, 0.0, 0.0);
    }

    fn on_idle_restart(&mut self, _cx: &mut Context<'_>) {}

    fn window(&self) -> f64 {
        (OVERHEAD * self.window / self.segment).min(WITHOUT_LIMIT)
    }

    fn slow_start_threshold(&self) -> f64 {
        f64::INFINITY
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.target().map(|rate| Rate::from_bits_per_second(rate as u64))
    }

    fn probe(&self, out: &mut dyn Probe) {
        out.value("target_rate_bps", self.target().unwrap_or(0.0));
        out.value("reference_window_bytes", self.window);
        out.value("inflection_bytes", self.inflection);
        out.value("queue_ms", 1e3 * self.queue);
        out.value("mean_queue_ms", 1e3 * self.mean_queue);
        out.value("alpha", self.alpha);
    }
}
