//! NADA, Network-Assisted Dynamic Adaptation (RFC 8698): one congestion signal of delay, losses and marks.
//!
//! | section | here |
//! | --- | --- |
//! | 4.2 aggregate congestion signal, its warping | [`Nada::congestion`] |
//! | 4.3 accelerated ramp-up, gradual rate update | [`Nada::update`] |
//! | 5.1.1 queueing delay, its minimum filter | [`Nada::note_delay`] |
//! | 5.1.2 ratios of losses and marks | [`Nada::smooth_ratios`] |
//!
//! At equilibrium the signal is PRIO XREF RMAX / r. The ratios are updated with each feedback. The mean loss interval
//! is of closed intervals alone. With the open one, which RFC 5348, section 5.4, counts too, seven of them would always
//! be longer than the open one, and the warping would never end. The signal has a limit, as in the ns-3 modules of the
//! authors (ns3-rmcat): the square of a burst of losses would set any rate to the lowest, and then triple it. The RFC
//! leaves feedback that fails to the circuit breaker (RFC 8083): each timeout halves the rate, as in RFC 5348, section
//! 4.4. The pacer takes the place of the rate-shaping buffer of section 5.2.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use units::{Rate, Span, Time};

use super::WITHOUT_LIMIT;
use super::received::ReceivedRate;
use crate::entry::{Aim, Entry, Quantity};
use crate::parameters::parameters;
use crate::range::{above, from};
use crate::{Ack, Context, Controller, Loss, Probe, Reports, SegmentReport, Wants};

/// The entry of NADA in the registry.
pub const ENTRY: Entry = Entry {
    name: "nada",
    title: "NADA",
    summary: "An encoder's rate by one signal of delay, losses and marks, whose equilibrium is in proportion to 1/rate",
    source: "RFC 8698",
    aim: Aim::Delay,
    parameters: Settings::PARAMETERS,
    probes: &[
        Quantity::new("target_rate_bps", "bit/s", "The reference rate, r_ref"),
        Quantity::new("received_rate_bps", "bit/s", "The rate of arrivals, r_recv"),
        Quantity::new("signal_ms", "ms", "The aggregate congestion signal, x_curr"),
        Quantity::new("queue_ms", "ms", "The queueing delay behind the minimum filter, d_queue"),
        Quantity::new("loss_ratio", "", "The smoothed ratio of losses, p_loss"),
        Quantity::new("mark_ratio", "", "The smoothed ratio of marks, p_mark"),
        Quantity::new("mode", "", "0 accelerated ramp-up, 1 gradual update"),
    ],
    make: |given| Ok(Box::new(Nada::new(Settings::read(given)?))),
};

parameters! {
    /// The parameters.
    pub struct Settings {
        /// Weight of the flow
        priority: f64 = 1.0, range above(0.0).up_to(100.0), source "section 4.1, PRIO";
        /// Lowest rate
        min_rate: Rate = Rate::from_bits_per_second(150_000), unit "rate",
            range from(Rate::from_bits_per_second(1000)).up_to(Rate::from_mbit(10_000)), source "section 4.1, RMIN";
        /// Highest rate, also the scale of the equilibrium
        max_rate: Rate = Rate::from_bits_per_second(1_500_000), unit "rate",
            range from(Rate::from_bits_per_second(1000)).up_to(Rate::from_mbit(10_000)), source "section 4.1, RMAX";
        /// Congestion signal at the highest rate
        reference: Span = Span::from_millis(10), unit "time",
            range from(Span::from_millis(1)).up_to(Span::from_secs(1)), source "section 4.1, XREF";
        /// Gain of the gradual update
        kappa: f64 = 0.5, range above(0.0).up_to(10.0), source "section 4.1, KAPPA";
        /// Gain of the change of the signal
        eta: f64 = 2.0, range from(0.0).up_to(10.0), source "section 4.1, ETA";
        /// Upper bound of the RTT in the gains
        tau: Span = Span::from_millis(500), unit "time",
            range from(Span::from_millis(10)).up_to(Span::from_secs(10)), source "section 4.1, TAU";
        /// Time over which losses, marks, delays and the rate are observed
        window: Span = Span::from_millis(500), unit "time",
            range from(Span::from_millis(10)).up_to(Span::from_secs(10)), source "section 4.1, LOGWIN";
        /// Queueing delay below which the queue counts as empty
        empty: Span = Span::from_millis(10), unit "time",
            range from(Span::ZERO).up_to(Span::from_secs(1)), source "section 4.1, QEPS";
        /// Queueing delay above which it is warped while there are losses
        warp: Span = Span::from_millis(50), unit "time",
            range from(Span::from_millis(1)).up_to(Span::from_secs(10)), source "section 4.1, QTH";
        /// Queueing delay that the ramp-up may add
        bound: Span = Span::from_millis(50), unit "time",
            range from(Span::from_millis(1)).up_to(Span::from_secs(1)), source "section 4.1, QBOUND";
        /// Largest congestion signal
        largest: Span = Span::from_millis(500), unit "time",
            range from(Span::from_millis(1)).up_to(Span::from_secs(100)), source "ns3-rmcat, NADA_PARAM_XMAX";
        /// Signal of the reference ratio of losses
        loss_delay: Span = Span::from_millis(10), unit "time",
            range from(Span::ZERO).up_to(Span::from_secs(10)), source "section 4.1, DLOSS";
        /// Signal of the reference ratio of marks
        mark_delay: Span = Span::from_millis(2), unit "time",
            range from(Span::ZERO).up_to(Span::from_secs(10)), source "section 4.1, DMARK";
    }
}

/// GAMMA_MAX, LAMBDA, ALPHA, MULTILOSS, and both reference ratios, PLRREF and PMRREF.
const STEEPEST: f64 = 0.5;
const WARPING: f64 = 0.5;
const SMOOTHING: f64 = 0.1;
const EXPIRY: f64 = 7.0;
const REFERENCE_RATIO: f64 = 0.01;
/// The feedback interval and the delay of filters in the gain of the ramp-up, DELTA and DFILT.
const FEEDBACK: Span = Span::from_millis(100);
const FILTERING: Span = Span::from_millis(120);
/// Taps of the minimum filter (section 5.1.1).
const TAPS: usize = 15;
/// Weights of the loss intervals, the newest first (RFC 5348, section 5.4).
const WEIGHTS: [f64; 8] = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];

/// The packets of one feedback.
#[derive(Clone, Copy, Debug, Default)]
struct Batch {
    at: Time,
    packets: u32,
    lost: u32,
    marked: u32,
    /// The longest queueing delay, in seconds.
    longest: f64,
}

/// The controller.
#[derive(Clone, Debug)]
pub struct Nada {
    settings: Settings,
    /// The reference rate r_ref in bits a second.
    rate: f64,
    received: ReceivedRate,
    /// d_base, and the last delays, in seconds.
    base: f64,
    delays: VecDeque<f64>,
    loss_ratio: f64,
    mark_ratio: f64,
    /// The feedback of the last window, and the packets since the last one.
    batches: VecDeque<Batch>,
    batch: Batch,
    /// Packets since the last loss, and the intervals before, the newest first.
    since_loss: u64,
    intervals: VecDeque<u64>,
    /// x_curr and x_prev, in seconds.
    signal: f64,
    before: f64,
    updated_at: Time,
    gradual: bool,
}

impl Nada {
    /// A controller with `settings`.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            rate: settings.min_rate.bits_per_second() as f64,
            received: ReceivedRate::new(settings.window),
            base: f64::INFINITY,
            delays: VecDeque::new(),
            loss_ratio: 0.0,
            mark_ratio: 0.0,
            batches: VecDeque::new(),
            batch: Batch::default(),
            since_loss: 0,
            intervals: VecDeque::new(),
            signal: 0.0,
            before: 0.0,
            updated_at: Time::ZERO,
            gradual: false,
        }
    }

    /// Section 5.1.1: the smallest delay is the base.
    fn note_delay(&mut self, delay: f64) {
        self.base = self.base.min(delay);
        if self.delays.len() == TAPS {
            self.delays.pop_front();
        }
        self.delays.push_back(delay);
        self.batch.longest = self.batch.longest.max(delay - self.base);
    }

    /// d_queue: the smallest of the last delays above the base.
    fn queue(&self) -> f64 {
        self.delays.iter().copied().reduce(f64::min).map_or(0.0, |smallest| smallest - self.base)
    }

    /// The mean loss interval in packets, or `None` without a loss.
    fn loss_interval(&self) -> Option<f64> {
        let weighted: f64 = self.intervals.iter().zip(WEIGHTS).map(|(&n, weight)| n as f64 * weight).sum();
        let weights: f64 = WEIGHTS.iter().take(self.intervals.len()).sum();
        (weights > 0.0).then(|| weighted / weights)
    }

    /// Section 5.1.2, over the feedback of the window.
    fn smooth_ratios(&mut self) {
        let sum = |count: fn(&Batch) -> u32| f64::from(self.batches.iter().map(count).sum::<u32>());
        let packets = sum(|batch| batch.packets).max(1.0);
        let (lost, marked) = (sum(|batch| batch.lost) / packets, sum(|batch| batch.marked) / packets);
        self.loss_ratio += SMOOTHING * (lost - self.loss_ratio);
        self.mark_ratio += SMOOTHING * (marked - self.mark_ratio);
    }

    /// Section 4.2: the queueing delay, warped for seven mean loss intervals after a loss, and back within one more.
    fn warped(&self) -> f64 {
        let (queue, threshold) = (self.queue(), self.settings.warp.as_secs_f64());
        let Some(interval) = self.loss_interval().filter(|_| queue > threshold) else { return queue };
        let warped = threshold * libm::exp(-WARPING * (queue - threshold) / threshold);
        let expired = (self.since_loss as f64 / interval - EXPIRY).clamp(0.0, 1.0);
        expired * queue + (1.0 - expired) * warped
    }

    /// Section 4.2: x_curr in seconds.
    fn congestion(&self) -> f64 {
        let Settings { loss_delay, mark_delay, largest, .. } = self.settings;
        let square = |ratio: f64| (ratio / REFERENCE_RATIO) * (ratio / REFERENCE_RATIO);
        let marks = mark_delay.as_secs_f64() * square(self.mark_ratio);
        let losses = loss_delay.as_secs_f64() * square(self.loss_ratio);
        (self.warped() + marks + losses).min(largest.as_secs_f64())
    }

    /// True without a loss and without a queue within the window.
    fn is_free(&self) -> bool {
        let empty = self.settings.empty.as_secs_f64();
        self.batches.iter().all(|batch| batch.lost == 0 && batch.longest < empty)
    }

    /// Section 4.3, `elapsed` seconds (delta) after the last update.
    fn update(&mut self, elapsed: f64, rtt: Span) {
        let Settings { priority, min_rate, max_rate, reference, kappa, eta, tau, bound, .. } = self.settings;
        let (least, most) = (min_rate.bits_per_second() as f64, max_rate.bits_per_second() as f64);
        (self.before, self.signal) = (self.signal, self.congestion());
        self.gradual = !self.is_free();
        if self.gradual {
            let tau = tau.as_secs_f64();
            let offset = self.signal - priority * reference.as_secs_f64() * most / self.rate;
            let difference = self.signal - self.before;
            self.rate -= self.rate * kappa * (elapsed / tau * offset / tau + eta * difference / tau);
        } else {
            let gamma = (bound.as_secs_f64() / (rtt + FEEDBACK + FILTERING).as_secs_f64()).min(STEEPEST);
            self.rate = self.rate.max((1.0 + gamma) * self.received.rate().unwrap_or(self.rate));
        }
        self.rate = self.rate.clamp(least, most.max(least));
    }
}

impl Controller for Nada {
    fn wants(&self) -> Wants {
        Wants { segments: Reports::All, governs_marks: true, ..Wants::default() }
    }

    fn on_start(&mut self, cx: &mut Context<'_>) {
        self.updated_at = cx.now;
    }

    fn on_segment_delivered(&mut self, _cx: &mut Context<'_>, segment: &SegmentReport) {
        self.since_loss += 1;
        self.batch.packets += 1;
        self.batch.marked += u32::from(segment.marked);
        let (Some(delay), Some(payload)) = (segment.one_way_delay, segment.payload) else { return };
        self.received.note(segment.sent.at + delay, payload.get() as f64 * 8.0);
        self.note_delay(delay.as_secs_f64());
    }

    fn on_segment_lost(&mut self, _cx: &mut Context<'_>, _segment: &SegmentReport) {
        self.batch.packets += 1;
        self.batch.lost += 1;
        self.intervals.push_front(self.since_loss + 1);
        self.intervals.truncate(WEIGHTS.len());
        self.since_loss = 0;
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        let elapsed = cx.now.since(self.updated_at).as_secs_f64();
        self.updated_at = cx.now;
        self.batches.push_back(Batch { at: cx.now, ..std::mem::take(&mut self.batch) });
        while self.batches.front().is_some_and(|batch| cx.now.since(batch.at) > self.settings.window) {
            self.batches.pop_front();
        }
        self.smooth_ratios();
        self.update(elapsed, ack.smoothed_rtt);
    }

    fn on_loss(&mut self, _cx: &mut Context<'_>, _loss: &Loss) {}

    fn on_timeout(&mut self, _cx: &mut Context<'_>, _loss: &Loss) {
        self.rate = (0.5 * self.rate).max(self.settings.min_rate.bits_per_second() as f64);
    }

    fn on_idle_restart(&mut self, _cx: &mut Context<'_>) {}

    fn window(&self) -> f64 {
        WITHOUT_LIMIT
    }

    fn slow_start_threshold(&self) -> f64 {
        f64::INFINITY
    }

    fn pacing_rate(&self) -> Option<Rate> {
        Some(Rate::from_bits_per_second(self.rate as u64))
    }

    fn probe(&self, out: &mut dyn Probe) {
        out.value("target_rate_bps", self.rate);
        out.value("received_rate_bps", self.received.rate().unwrap_or(0.0));
        out.value("signal_ms", 1e3 * self.signal);
        out.value("queue_ms", 1e3 * self.queue());
        out.value("loss_ratio", self.loss_ratio);
        out.value("mark_ratio", self.mark_ratio);
        out.value("mode", f64::from(u8::from(self.gradual)));
    }
}
