//! The controllers of s2n-quic: what the simulated TCP says becomes the calls of `s2n_quic_core`.
//!
//! A segment is a packet, and a retransmission a new one. Windows hold in recovery, too: its fast retransmission is the
//! one segment more. Two timeouts in a row are persistent congestion.

use std::collections::HashMap;
use std::time::Duration;

use control::{Ack, Context, Controller, Loss, Marks, Reports, SegmentReport, Transmission, Wants};
use num_rational::Ratio;
use s2n_quic_core::event::builder::{BbrState, SlowStartExitCause};
use s2n_quic_core::packet::number::PacketNumberSpace;
use s2n_quic_core::random::Generator;
use s2n_quic_core::recovery::bandwidth::{Bandwidth, RateSample};
use s2n_quic_core::recovery::bbr::BbrCongestionController;
use s2n_quic_core::recovery::congestion_controller::Publisher;
use s2n_quic_core::recovery::{CongestionController, CubicCongestionController, RttEstimator};
use s2n_quic_core::time::{Clock as _, NoopClock, Timestamp};
use units::{Random, Rate, Time};

/// s2n-quic's CUBIC.
pub type Cubic = Adapter<CubicCongestionController>;
/// s2n-quic's BBR, version 2.
pub type Bbr = Adapter<BbrCongestionController>;

/// A controller that is made when its connection starts.
pub trait Made: CongestionController {
    /// The controller of a connection with packets of so many bytes.
    fn made(packet: u16) -> Self;
}

impl Made for CubicCongestionController {
    fn made(packet: u16) -> Self {
        Self::new(packet, Default::default())
    }
}

impl Made for BbrCongestionController {
    fn made(packet: u16) -> Self {
        Self::new(packet, Default::default())
    }
}

/// One controller of s2n-quic.
pub struct Adapter<C: Made> {
    inner: C,
    packet: u32,
    rtt: RttEstimator,
    pacing: Pacing,
    sent: HashMap<u64, C::PacketInfo>,
    delivered: usize,
    newest: Option<(Time, C::PacketInfo)>,
    last_lost: Option<u64>,
    timeouts: u32,
}

impl<C: Made> Default for Adapter<C> {
    fn default() -> Self {
        Self {
            inner: C::made(1448),
            packet: 1448,
            rtt: RttEstimator::new(Duration::from_millis(333)),
            pacing: Pacing::default(),
            sent: HashMap::new(),
            delivered: 0,
            newest: None,
            last_lost: None,
            timeouts: 0,
        }
    }
}

impl<C: Made> Adapter<C> {
    /// An ACK of either kind, after the reports of its segments.
    fn acknowledged(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        if let Some(sample) = ack.rtt {
            let value = Duration::from_nanos(sample.value.as_nanos());
            self.rtt.update_rtt(Duration::ZERO, value, at(cx.now), true, PacketNumberSpace::ApplicationData);
        }
        let Some((left, info)) = self.newest.take() else { return };
        self.timeouts = 0;
        let bytes = std::mem::take(&mut self.delivered);
        self.inner.on_rtt_update(at(left), at(cx.now), &self.rtt, &mut self.pacing);
        let mut random = Draws(cx.random.clone());
        self.inner.on_ack(at(left), bytes, info, &self.rtt, &mut random, at(cx.now), &mut self.pacing);
        *cx.random = random.0;
    }
}

impl<C: Made> Controller for Adapter<C> {
    fn wants(&self) -> Wants {
        Wants { sent: true, segments: Reports::All, governs_recovery: true, ..Wants::default() }
    }

    fn on_start(&mut self, cx: &mut Context<'_>) {
        self.packet = cx.segment_size.get() as u32;
        self.inner = C::made(self.packet as u16);
    }

    fn on_sent(&mut self, cx: &mut Context<'_>, sent: &Transmission) {
        let limited = Some(sent.application_limited);
        let info = self.inner.on_packet_sent(at(cx.now), self.packet as usize, limited, &self.rtt, &mut self.pacing);
        self.sent.insert(sent.sequence, info);
    }

    fn on_segment_delivered(&mut self, _cx: &mut Context<'_>, segment: &SegmentReport) {
        let Some(info) = self.sent.remove(&segment.sequence) else { return };
        self.delivered += self.packet as usize;
        if self.newest.is_none_or(|(left, _)| left <= segment.sent.at) {
            self.newest = Some((segment.sent.at, info));
        }
    }

    fn on_segment_lost(&mut self, cx: &mut Context<'_>, segment: &SegmentReport) {
        let Some(info) = self.sent.remove(&segment.sequence) else { return };
        let new_burst = self.last_lost.is_none_or(|last| last + 1 != segment.sequence);
        self.last_lost = Some(segment.sequence);
        let mut random = Draws(cx.random.clone());
        let persistent = self.timeouts > 1;
        let (now, pacing) = (at(cx.now), &mut self.pacing);
        self.inner.on_packet_lost(self.packet, info, persistent, new_burst, &mut random, now, pacing);
        *cx.random = random.0;
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.acknowledged(cx, ack);
    }

    fn on_duplicate_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.acknowledged(cx, ack);
    }

    fn on_loss(&mut self, _cx: &mut Context<'_>, _loss: &Loss) {}

    fn on_ecn(&mut self, cx: &mut Context<'_>, _marks: &Marks) {
        self.inner.on_explicit_congestion(1, at(cx.now), &mut self.pacing);
    }

    fn on_timeout(&mut self, _cx: &mut Context<'_>, _loss: &Loss) {
        self.timeouts += 1;
    }

    fn on_idle_restart(&mut self, _cx: &mut Context<'_>) {}

    fn window(&self) -> f64 {
        let repeated = if self.inner.requires_fast_retransmission() { 1.0 } else { 0.0 };
        f64::from(self.inner.congestion_window()) / f64::from(self.packet) + repeated
    }

    fn slow_start_threshold(&self) -> f64 {
        f64::INFINITY
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.pacing.rate.map(|bytes| Rate::from_bits_per_second(8 * bytes))
    }

    fn send_quantum(&self) -> u32 {
        self.pacing.burst / self.packet
    }
}

/// The time of the simulation, from the first instant that a stack has.
fn at(now: Time) -> Timestamp {
    NoopClock.get_time() + Duration::from_nanos(now.as_nanos())
}

/// The pacing rate in bytes a second and the burst, as controllers publish them.
#[derive(Default)]
struct Pacing {
    rate: Option<u64>,
    burst: u32,
}

impl Publisher for Pacing {
    fn on_slow_start_exited(&mut self, _cause: SlowStartExitCause, _window: u32) {}
    fn on_delivery_rate_sampled(&mut self, _sample: RateSample) {}
    fn on_pacing_rate_updated(&mut self, rate: Bandwidth, burst: u32, _gain: Ratio<u64>) {
        (self.rate, self.burst) = (Some(rate.as_bytes_per_second()), burst);
    }
    fn on_bbr_state_changed(&mut self, _state: BbrState) {}
}

/// Random bytes from the stream of the flow.
struct Draws(Random);

impl Generator for Draws {
    fn public_random_fill(&mut self, to: &mut [u8]) {
        to.fill_with(|| (self.0.uniform() * 256.0) as u8);
    }
    fn private_random_fill(&mut self, to: &mut [u8]) {
        self.public_random_fill(to);
    }
}
